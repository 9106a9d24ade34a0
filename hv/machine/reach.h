/* SPDX-License-Identifier: MIT */
/*
 * Machines that somebody else has started, and pieces of memory. `via` says how one is reached, and
 * a session's file keeps it:
 *
 *     shm:PATH             a memory alone (machine/memory.h): its agents patch themselves
 *     qmp:PATH             a QEMU that listens for QMP at that socket (qemu/adopt.h)
 *     libvirt:URI#UUID#…   a domain of libvirt (machine/domain.h)
 *     pid:PID:START        a program of this host (machine/process.h)
 *
 * Thread: main.
 */
#ifndef RS_HV_MACHINE_REACH_H
#define RS_HV_MACHINE_REACH_H

#include "machine/machine.h"
#include "machine/domain.h"
#include "machine/memory.h"
#include "qemu/adopt.h"

struct rs_machine_reach {
	const char *via;
	const char *run_dir, *name;           /* for the files of the source */
	struct rs_machine_memory_wish memory; /* `path` and `size` are filled in */
};

/* What people call it: the last part of its path, or the like. To be freed. */
char *rs_machine_reach_name(const char *via);
/* Whether both lead to one machine, or one memory, as far as they say. */
bool rs_machine_reach_same(const char *via, const char *other);

/*
 * `lines` (of char *) gets what people are to know. Errors: -EINVAL `via` is of no known kind; as
 * rs_machine_open_memory(), rs_machine_take_memory(), rs_qmp_connect(), rs_qemu_adopt() and
 * rs_machine_open_domain() and rs_machine_reach_process().
 */
int rs_machine_reach(const struct rs_machine_reach *wish, struct rs_machine *out, GPtrArray *lines,
		     struct rs_error *err);

/*
 * The same for a QEMU whose monitor is connected already. Takes the monitor over, on failure too.
 * `pids`: of pid_t, as struct rs_qemu_adopt_config has them. `owner`: likewise.
 */
int rs_machine_reach_qemu(struct rs_monitor *monitor, const GArray *pids,
			  const struct rs_machine_device *device, const struct rs_qemu_owner *owner,
			  const struct rs_machine_reach *wish, struct rs_machine *out,
			  GPtrArray *lines, struct rs_error *err);

/* Whether that is a memory alone, which is still there. */
bool rs_machine_reach_memory(const char *via);

/*
 * Whether something of a dead session is still to be put right there: its text, its gdb stub.
 * `name` is that of the source's files.
 */
bool rs_machine_reach_owed(const char *run_dir, const char *name);

#endif
