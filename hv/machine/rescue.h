/* SPDX-License-Identifier: MIT */
/*
 * When a session is killed, its programs and QEMU guests go on with patched text. Here they are put
 * right without a session. Thread: main.
 * Trust: a journal is parsed as hostile bytes (hv/patch/journal.h).
 */
#ifndef RS_HV_MACHINE_RESCUE_H
#define RS_HV_MACHINE_RESCUE_H

#include "base/error.h"
#include "patch/journal.h"
#include <stdbool.h>

/*
 * `journal` is a path. Restores the text of the process that the journal names, if this process
 * still lives, and lets it go on. Returns 0 with report->records == 0 if there is nothing to do:
 * there is no journal, it is a guest's journal, or the process has ended. Errors: as
 * rs_journal_open(), rs_hosted_attach() and rs_journal_recover() give them.
 */
int rs_machine_rescue_process(const char *journal, struct rs_journal_report *report,
			      struct rs_error *err);

/*
 * Whether text of a process that still lives is to be put right by that journal. True also if the
 * journal cannot be read, since nobody knows then.
 */
bool rs_machine_process_owed(const char *journal);

/*
 * rs_machine_rescue_process() for the QEMU guest that DIR/NAME.qemu names, whose regions cannot be
 * used any more. Errors: as rs_qemu_attach() gives them (-ENOENT, -ESRCH: it has ended), and as
 * above.
 */
int rs_machine_rescue_guest(const char *run_dir, const char *name, const char *journal,
			    struct rs_journal_report *report, struct rs_error *err);

/*
 * The same for what `via` reaches (machine/reach.h). Its regions are not touched. What is a memory
 * alone has no text of ours.
 */
int rs_machine_rescue_reached(const char *run_dir, const char *name, const char *via,
			      const char *journal, struct rs_journal_report *report,
			      struct rs_error *err);

/*
 * Ends the QEMU guest that DIR/NAME.qemu names, and waits for its end. Errors: as rs_qemu_attach()
 * gives them; -ETIMEDOUT.
 */
int rs_machine_end_guest(const char *run_dir, const char *name, struct rs_error *err);
/* Removes what is in DIR about a guest that has ended. */
void rs_machine_forget_guest(const char *run_dir, const char *name);

/* Whether a QEMU listens at its control socket, which is a path. */
bool rs_machine_guest_lives(const char *qmp);

#endif
