/* SPDX-License-Identifier: MIT */
/*
 * Makes the session that the user asked for, ready to be started: a machine for each source, and
 * the session that takes them over. The session's file in the runtime directory then says how its
 * guests can be found again. Thread: main.
 */
#ifndef RS_HV_CLI_LAUNCH_H
#define RS_HV_CLI_LAUNCH_H

#include "machine/machine.h"
#include "machine/memory.h"
#include "server/rundir.h"
#include "session/session.h"

#define RS_CLI_HOST_OPTION(wish)                                                                   \
	{                                                                                          \
		"host", 0, 0, G_OPTION_ARG_NONE, &(wish),                                          \
			"The host is a source too: its own events are host:*", NULL                \
	}

struct rs_launch_source {
	const char *name;                /* NULL: made from the kernel's or program's name */
	struct rs_machine_config config; /* name, run_dir and origin_ns are filled in */
};

/* What runs: the path of the kernel, program or template, or the name of a domain. */
const char *rs_launch_what(const struct rs_launch_source *source);

/*
 * First restores the text of programs that an earlier session of that name has left patched.
 * Errors: -EAGAIN (some of it could not be put right), or as rs_machine_create(),
 * rs_machine_rescue_process() and rs_session_add_source() give them.
 */
int rs_launch(const char *name, struct rs_launch_source *sources, guint n,
	      struct rs_rundir_claim *claim, struct rs_session **out, struct rs_error *err);

/*
 * Makes a session on what somebody else has started. `via`: as in machine/reach.h. `lines`: as for
 * rs_launch_attach(). Errors: as rs_machine_reach() gives them, and those of rs_launch().
 */
int rs_launch_reach(const char *via, const struct rs_machine_memory_wish *memory,
		    struct rs_rundir_claim *claim, struct rs_session **out, GPtrArray **lines,
		    struct rs_error *err);

/*
 * To be called once the session has started, as rs_runner_config.started. `claim` is that of
 * rs_launch(). Only then is it known whether a program's text can be written. A program whose text
 * cannot be written is asked to patch itself. Its id goes into the session's file.
 */
int rs_launch_started(struct rs_session *session, struct rs_rundir_claim *claim,
		      struct rs_error *err);

/*
 * Makes the host a source of a session that one of these functions has made (option --host). Its
 * rings are as those of the first source, but not larger than 256 KiB. Errors: as
 * rs_session_add_host().
 */
int rs_launch_add_host(struct rs_session *session, struct rs_error *err);

/*
 * Makes a session on the QEMU guests and programs of the dead session `old`, and restores their
 * text. Those that have ended are left out, and programs whose memory cannot be had any more. If
 * none is left, that is the error. The caller has claimed the name with `old` unchanged, so the
 * numbers of its sources stay the same. `lines` tells people what was found, with a line for each
 * source of which there is something to tell: GPtrArray of char *, to be unreffed. It is set on
 * failure too. Errors: as rs_machine_attach() gives them.
 */
int rs_launch_attach(const RsTraceRundirEntry *old, struct rs_session **out, GPtrArray **lines,
		     struct rs_error *err);

#endif
