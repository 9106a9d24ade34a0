/* SPDX-License-Identifier: MIT */
/*
 * When a session is killed, its hosted programs go on with patched text. Before a new session of
 * the same name begins, it looks for such programs in the journals that are left. Thread: main.
 * Trust: a journal is parsed as hostile bytes (hv/patch/journal.h).
 */
#ifndef RS_HV_MACHINE_RESCUE_H
#define RS_HV_MACHINE_RESCUE_H

#include "base/error.h"
#include "patch/journal.h"

/*
 * `journal` is a path. Restores the text of the process that the journal names, if this process
 * still lives, and lets it go on. Returns 0 with report->records == 0 if there is nothing to do:
 * there is no journal, it is a guest's journal, or the process has ended. Errors: as
 * rs_journal_open(), rs_hosted_attach() and rs_journal_recover() give them.
 */
int rs_machine_rescue_process(const char *journal, struct rs_journal_report *report,
			      struct rs_error *err);

#endif
