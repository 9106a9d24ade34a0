/* SPDX-License-Identifier: MIT */
/*
 * Makes the session that the user asked for, ready to be started: a machine for each source, and
 * the session over them. The claimed file then says how they are reached again. Main thread.
 */
#ifndef RS_HV_CLI_LAUNCH_H
#define RS_HV_CLI_LAUNCH_H

#include "machine/machine.h"
#include "session/rundir.h"
#include "session/session.h"

struct rs_launch_source {
	const char *name;                /* NULL: from what runs */
	struct rs_machine_config config; /* name, run_dir and origin_ns are filled in */
};

/* What runs: the path of the kernel or program. */
const char *rs_launch_what(const struct rs_launch_source *source);

/*
 * What an earlier session of that name has left patched is put right first. Errors: as
 * rs_machine_create's and rs_session_create's.
 */
int rs_launch(const char *name, struct rs_launch_source *sources, guint n,
	      struct rs_rundir_claim *claim, struct rs_session **out, struct rs_error *err);

/* After start: what can only be known then (whether a program's text can be written). */
int rs_launch_started(struct rs_session *session, void *data, struct rs_error *err);

/*
 * A session on the QEMU guests of one that died, `old`. Restores their text, and that of programs
 * which that session ran. Guests that have ended are left out; if all have, that is the error. The
 * caller has claimed the name, with `old` as it was: the numbers of its sources stay.
 * `lines` says for people what was found, a line for each source of which there is something to
 * say: GPtrArray of char *, to be unreffed. Errors: as rs_machine_attach's.
 */
int rs_launch_attach(const RsTraceRundirEntry *old, struct rs_session **out, GPtrArray **lines,
		     struct rs_error *err);

#endif
