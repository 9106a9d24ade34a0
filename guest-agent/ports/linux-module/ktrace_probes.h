/* SPDX-License-Identifier: MIT */
/*
 * Makes ktrace's records from what the kernel's tracepoints show. A probe is registered while a
 * process is traced and the host wants an event that the probe can fire, and at no other time.
 *
 * Thread: one task of the module, which may sleep.
 */
#ifndef RS_KTRACE_PROBES_H
#define RS_KTRACE_PROBES_H

#include <linux/types.h>

/* The facilities that Linux is a source of. */
#define RS_KTRACE_LINUX                                                                            \
	(RS_KTRFAC_SYSCALL | RS_KTRFAC_SYSRET | RS_KTRFAC_NAMEI | RS_KTRFAC_GENIO |                \
	 RS_KTRFAC_PSIG | RS_KTRFAC_STRUCT | RS_KTRFAC_EXECARGS | RS_KTRFAC_EXECENV)

void rs_ktrace_probes_find(void);
/* Begins to watch processes, so that there are entries of them all. 0 or -ENOMEM. */
int rs_ktrace_probes_begin(void);
/* Registers and unregisters probes. Once no process is traced, none is watched. */
void rs_ktrace_probes_follow(void);
/* No record is made any more once this returns. Processes are still watched. */
void rs_ktrace_probes_stop(void);
/* Nothing is watched, and all processes are forgotten. */
void rs_ktrace_probes_free(void);

#endif
