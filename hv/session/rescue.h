/* SPDX-License-Identifier: MIT */
/*
 * A hosted program outlives a session that was killed, with its text patched. Before a session of the same name begins
 * afresh, the journal is looked at for such a program. Session thread, before any target runs.
 */
#ifndef RS_HV_SESSION_RESCUE_H
#define RS_HV_SESSION_RESCUE_H

#include "base/error.h"
#include "patch/journal.h"

/*
 * Puts the text right of the process that the journal names, if it still lives; it runs on. 0 with
 * report->records == 0 where there is nothing to do (no journal, a machine's journal, a process that has ended).
 * Errors: as rs_journal_open, rs_hosted_attach and rs_journal_recover.
 */
int rs_session_rescue_process(const char *journal, struct rs_journal_report *report,
			      struct rs_error *err);

#endif
