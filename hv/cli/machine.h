/* SPDX-License-Identifier: MIT */
/*
 * From what the user asked for to a session that can be started: region, target, session. The one place that
 * knows all kinds of target. Main thread.
 */
#ifndef RS_HV_CLI_MACHINE_H
#define RS_HV_CLI_MACHINE_H

#include "session/rundir.h"
#include "session/session.h"

struct rs_machine_config {
	const char *name;
	const char *kernel;          /* kernel or, with `hosted`, unused */
	char **hosted;               /* a program and its arguments; NULL: a machine */
	const char *accel;           /* "auto", "kvm" or "tcg" */
	const char *initrd, *append; /* may be NULL */
	const char *serial;          /* a file, "-" (standard error) or "none" */
	uint32_t cpus;               /* 0: 2 for a machine, all for a program */
	uint64_t memory;             /* bytes; 0: a default */
	uint64_t ring_bytes;         /* per vCPU */
	uint32_t ring_mode;
};

/*
 * Makes the session, not yet started, and writes to `claim` how it can be reached again. Errors: as the
 * target's and rs_region_create's.
 */
int rs_machine_create(const struct rs_machine_config *config, struct rs_rundir_claim *claim,
		      struct rs_session **out, struct rs_error *err);

/* After start: what can only be known then (whether a program's text can be written). */
int rs_machine_started(struct rs_session *session, void *data, struct rs_error *err);

/* A session on a QEMU guest whose own session died; puts its text right. */
int rs_machine_attach(const char *name, struct rs_rundir_claim *claim, struct rs_session **out,
		      char **report, struct rs_error *err);

/* "512", "64K", "16M", "1G" in bytes. -EINVAL. */
int rs_machine_parse_size(const char *text, uint64_t *out, struct rs_error *err);

/* The bundled demo guest; to be freed. -ENOENT: it is not where it should be. */
int rs_machine_demo(char **out, struct rs_error *err);

#endif
