/* SPDX-License-Identifier: MIT */
/*
 * Makes the session that the user asked for, ready to be started: a machine, and the session over
 * it. The claimed file then says how both are reached again. Main thread.
 */
#ifndef RS_HV_CLI_LAUNCH_H
#define RS_HV_CLI_LAUNCH_H

#include "machine/machine.h"
#include "session/rundir.h"
#include "session/session.h"

/* config->run_dir is filled in here. Errors: as rs_machine_create's and rs_session_create's. */
int rs_launch(const struct rs_machine_config *config, struct rs_rundir_claim *claim,
	      struct rs_session **out, struct rs_error *err);

/* After start: what can only be known then (whether a program's text can be written). */
int rs_launch_started(struct rs_session *session, void *data, struct rs_error *err);

/*
 * A session on a QEMU guest whose own session died. Restores the guest's text. `report` describes
 * the journal's records, and is to be freed; NULL: none. Errors: as rs_machine_attach's.
 */
int rs_launch_attach(const char *name, struct rs_rundir_claim *claim, struct rs_session **out,
		     char **report, struct rs_error *err);

#endif
