/* SPDX-License-Identifier: MIT */
/*
 * A hosted program outlives a session that was killed, with its text patched. Before a new session
 * of the same name begins, it looks for such programs in the journals that were left. Main thread.
 */
#ifndef RS_HV_MACHINE_RESCUE_H
#define RS_HV_MACHINE_RESCUE_H

#include "base/error.h"
#include "patch/journal.h"

/*
 * Restores the text of the process that the journal names, if it still lives, and lets it run on.
 * Returns 0 with report->records == 0 if there is nothing to do: there is no journal, it is a
 * machine's journal, or the process has ended.
 * Errors: as rs_journal_open, rs_hosted_attach and rs_journal_recover.
 */
int rs_machine_rescue_process(const char *journal, struct rs_journal_report *report,
			      struct rs_error *err);

#endif
