/* SPDX-License-Identifier: MIT */
#include "cli/remains.h"

#include "machine/process.h"
#include "machine/reach.h"
#include "machine/rescue.h"
#include "patch/journal.h"
#include "session/session.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* ---- what there is ---- */

/*
 * The path of a QEMU that was started when its session was killed, before that told of its source.
 * NULL: there is none.
 */
static char *untold_qmp(const RsTraceRundirEntry *entry, const char *run_dir, guint number)
{
	g_autofree char *name = rs_trace_rundir_source_name(entry->name, number);
	g_autofree char *state = g_strdup_printf("%s/%s.qemu", run_dir, name);

	if (number <= entry->sources->len || !g_file_test(state, G_FILE_TEST_EXISTS))
		return NULL;
	return g_strdup_printf("%s/%s.qmp", run_dir, name);
}

static unsigned int remains_of_source(const RsTraceRundirEntry *entry, const char *run_dir,
				      guint number)
{
	const RsTraceRundirSource *source = rs_trace_rundir_entry_source(entry, number);
	g_autofree char *name = rs_trace_rundir_source_name(entry->name, number);
	g_autofree char *journal = g_strdup_printf("%s/%s.journal", run_dir, name);
	unsigned int remains = 0;

	if (source->program) {
		remains |= rs_machine_process_owed(journal) ? RS_REMAINS_TEXT : 0;
		remains |= rs_machine_process_waits(source->via) ? RS_REMAINS_PROGRAM : 0;
	} else if (source->via) {
		remains |= rs_machine_reach_owed(run_dir, name) ? RS_REMAINS_OTHER : 0;
		remains |= rs_machine_reach_memory(source->via) ? RS_REMAINS_MEMORY : 0;
	} else if (source->qmp) {
		remains |= rs_machine_guest_lives(source->qmp) ? RS_REMAINS_GUEST : 0;
	}
	return remains;
}

unsigned int rs_remains_of(const RsTraceRundirEntry *entry)
{
	g_autofree char *run_dir = rs_trace_rundir_path(NULL), *untold = NULL;
	unsigned int remains = 0;

	if (!run_dir)
		return 0;
	for (guint i = 1; i <= entry->sources->len; i++)
		remains |= remains_of_source(entry, run_dir, i);
	untold = untold_qmp(entry, run_dir, entry->sources->len + 1);
	if (untold && rs_machine_guest_lives(untold))
		remains |= RS_REMAINS_GUEST;
	return remains;
}

RsTraceRundirEntry *rs_remains_find(const char *via)
{
	g_autoptr(GPtrArray) all = rs_trace_rundir_list(NULL);

	for (guint i = 0; all && i < all->len; i++) {
		const RsTraceRundirEntry *entry = all->pdata[i];
		const RsTraceRundirSource *source = rs_trace_rundir_entry_source(entry, 1);

		if (source && source->via && rs_machine_reach_same(source->via, via))
			return rs_trace_rundir_find(entry->name, NULL);
	}
	return NULL;
}

/* ---- putting it right ---- */

/* Restores a program's text. -EAGAIN: some of it may still hold our bytes. */
static int put_right(const char *journal, struct rs_journal_report *report, struct rs_error *err)
{
	int ret = rs_machine_rescue_process(journal, report, err);

	if (!ret && report->kept)
		ret = rs_error_set(err, EAGAIN, "text of a program could not be put right: %s",
				   report->first_left);
	return ret;
}

int rs_remains_rescue(const char *name, struct rs_error *err)
{
	g_autoptr(GPtrArray) journals = NULL;
	int ret = rs_rundir_journals(name, &journals, err);

	/* If one of them cannot be put right, the others are all the same. */
	for (guint i = 0; journals && i < journals->len; i++) {
		const char *journal = journals->pdata[i];
		gsize stem = strlen(journal) - strlen("journal");
		g_autofree char *qmp = g_strdup_printf("%.*sqmp", (int)stem, journal);
		g_autofree char *kept = g_strdup_printf("%.*sqemu", (int)stem, journal);
		struct rs_journal_report report;
		int failed;

		if (rs_machine_guest_lives(qmp) || g_file_test(kept, G_FILE_TEST_EXISTS))
			failed = rs_error_set(ret ? NULL : err, EEXIST,
					      "a QEMU guest of an earlier session '%s' still runs",
					      name);
		else
			failed = put_right(journal, &report, ret ? NULL : err);
		if (!failed)
			g_unlink(journal);
		ret = ret ? ret : failed;
	}
	return ret;
}

/* -ENOENT: there is none, or it has ended. */
static int end_guest(const char *run_dir, const char *name, const char *qmp, struct rs_error *err)
{
	return qmp && rs_machine_guest_lives(qmp) ? rs_machine_end_guest(run_dir, name, err)
						  : -ENOENT;
}

static int end_one(const RsTraceRundirEntry *old, const char *run_dir, guint number,
		   struct rs_error *err)
{
	const RsTraceRundirSource *source = rs_trace_rundir_entry_source(old, number);
	g_autofree char *name = rs_trace_rundir_source_name(old->name, number);
	g_autofree char *untold = untold_qmp(old, run_dir, number);
	g_autofree char *journal = NULL;
	struct rs_journal_report report;
	int ret = rs_rundir_file(name, "journal", &journal, err);

	if (!ret && untold)
		ret = end_guest(run_dir, name, untold, err);
	else if (!ret && !source)
		return 0;
	else if (!ret && source->program)
		ret = put_right(journal, &report, err);
	else if (!ret && source->via)
		ret = rs_machine_rescue_reached(run_dir, name, source->via, journal, &report, err);
	else if (!ret)
		ret = end_guest(run_dir, name, source->qmp, err);
	if (rs_remains_has_ended(ret)) {
		rs_machine_forget_guest(run_dir, name);
		ret = 0;
	}
	/* The text that it is about is no more, or is right again. */
	if (!ret)
		g_unlink(journal);
	else
		rs_error_prefix(err, "%s", source ? source->name : name);
	return ret;
}

int rs_remains_end(const RsTraceRundirEntry *old, struct rs_error *err)
{
	g_autofree char *run_dir = NULL;
	GError *error = NULL;
	int ret = 0;

	run_dir = rs_trace_rundir_path(&error);
	if (!run_dir)
		return rs_error_take(err, EIO, error);

	/* And one that it has not told of. */
	for (guint i = 1; i <= old->sources->len + 1; i++) {
		int failed = end_one(old, run_dir, i, ret ? NULL : err);

		ret = ret ? ret : failed;
	}
	return ret;
}

static void put_programs_right(const RsTraceRundirEntry *entry)
{
	for (guint i = 0; i < entry->sources->len; i++) {
		g_autofree char *name = rs_trace_rundir_source_name(entry->name, i + 1);
		g_autofree char *journal = NULL;
		struct rs_journal_report report;

		if (((const RsTraceRundirSource *)entry->sources->pdata[i])->program &&
		    !rs_rundir_file(name, "journal", &journal, NULL))
			rs_machine_rescue_process(journal, &report, NULL);
	}
}

/* ---- its name ---- */

unsigned int rs_remains_release(struct rs_rundir_claim *claim, bool let_go)
{
	g_autoptr(RsTraceRundirEntry) entry =
		rs_trace_rundir_find(rs_rundir_claim_name(claim), NULL);
	const unsigned int remains = entry ? rs_remains_of(entry) : 0;

	if (entry && !remains)
		rs_remains_end(entry, NULL);
	/* What is to be put right is lost, and not let go of. */
	if (let_go && (remains & RS_REMAINS_KEPT) == RS_REMAINS_GUEST)
		rs_rundir_say(claim, RS_TRACE_RUNDIR_DETACHED);
	rs_rundir_release(claim, remains & RS_REMAINS_KEPT);
	return remains;
}

void rs_remains_sweep(void)
{
	g_autoptr(GPtrArray) all = rs_trace_rundir_list(NULL);

	for (guint i = 0; all && i < all->len; i++) {
		const RsTraceRundirEntry *entry = all->pdata[i];
		struct rs_rundir_claim *claim = NULL;

		if (entry->live)
			continue;
		put_programs_right(entry);
		if (!rs_remains_of(entry) && !rs_rundir_claim(entry, &claim, NULL))
			rs_remains_release(claim, false);
	}
}

/*
 * A guest whose session died may go on in its QEMU with patched text. A new session of that name
 * would overwrite the file and the journal that lead back to it. A program's text is put right
 * before that, and its id leads to it.
 */
static int check_not_lost(const char *name, struct rs_error *err)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, NULL);

	if (!entry || entry->live ||
	    !(rs_remains_of(entry) & (RS_REMAINS_GUEST | RS_REMAINS_OTHER)))
		return 0;
	return rs_error_set(err, EEXIST,
			    "a guest of '%s' runs on without its session: 'ringside attach %s' "
			    "takes it up, 'ringside stop %s' ends it",
			    name, name, name);
}

static int claim_name(const char *name, struct rs_rundir_claim **out, struct rs_error *err)
{
	g_autoptr(RsTraceRundirEntry) entry = NULL;
	int ret = rs_session_check_name(name, err);

	if (!ret)
		ret = check_not_lost(name, err);
	if (ret)
		return ret;
	entry = rs_trace_rundir_find(name, NULL);
	if (!entry)
		entry = rs_trace_rundir_entry_new(name);
	return rs_rundir_claim(entry, out, err);
}

static bool is_taken(const RsTraceRundirEntry *entry)
{
	return rs_remains_of(entry);
}

int rs_remains_claim(const char *name, const char *what, struct rs_rundir_claim **out,
		     struct rs_error *err)
{
	g_autofree char *base = NULL;

	rs_remains_sweep();
	if (name)
		return claim_name(name, out, err);
	base = rs_session_name_for(what);
	return rs_rundir_claim_free(base, is_taken, out, err);
}
