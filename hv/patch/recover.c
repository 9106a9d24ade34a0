/* SPDX-License-Identifier: MIT */
/* Recovery from a journal, see journal.h. */
#include "patch/journal-private.h"

#include "patch/insn.h"

#include <inttypes.h>
#include <string.h>

static void leave_alone(struct rs_journal_report *report, const struct rs_journal_record *record,
			const char *why)
{
	if (!report->left_alone++)
		g_snprintf(report->first_left, sizeof(report->first_left), "0x%" PRIx64 " %s",
			   record->at, why);
}

/* The patch that undoes the record's. False: we never make such a record. */
static bool way_back(struct rs_target *target, const struct rs_journal_record *record,
		     struct rs_text_patch *back)
{
	*back = (struct rs_text_patch){
		.at = {record->at},
		.at_phys = {record->at_phys},
		.next_phys = {record->next_phys},
		.size = (uint8_t)record->size,
	};
	memcpy(back->old_bytes, record->new_bytes, sizeof(back->old_bytes));
	memcpy(back->new_bytes, record->old_bytes, sizeof(back->new_bytes));
	if (record->size > RS_TEXT_MAX || rs_text_check(target, back, NULL))
		return false;
	if (record->kind == RS_JOURNAL_SITE)
		return rs_insn_is_switch_on(record->old_bytes, record->new_bytes, record->size) &&
		       rs_insn_in_one_word((rs_gva_t){record->at});
	return record->kind == RS_JOURNAL_TEXT;
}

/* Fails only if something is wrong with the target. A problem of the record itself is counted. */
static int recover_one(struct rs_target *target, const struct rs_journal_record *record,
		       struct rs_journal_report *report, struct rs_error *err)
{
	struct rs_text_patch back;
	uint8_t now[1][RS_TEXT_MAX];
	bool bad = false;
	int ret;

	if (target->ops->read_phys && !record->at_phys) {
		leave_alone(report, record, "has no place in memory");
		return 0;
	}
	if (!way_back(target, record, &back)) {
		leave_alone(report, record, "is not a change that we make");
		return 0;
	}
	if (rs_text_read(target, &back, 1, now, NULL)) {
		leave_alone(report, record, "cannot be read");
		return 0;
	}
	if (!memcmp(now[0], back.new_bytes, back.size)) {
		report->untouched++;
		return 0;
	}
	if (memcmp(now[0], back.old_bytes, back.size)) {
		leave_alone(report, record, "holds other bytes than ours");
		return 0;
	}
	ret = rs_text_write_checked(target, &back, 1, &bad, err);
	if (!ret && bad)
		leave_alone(report, record, "cannot be written");
	else if (!ret)
		report->restored++;
	return ret;
}

int rs_journal_recover(struct rs_journal *journal, struct rs_target *target,
		       struct rs_journal_report *report, struct rs_error *err)
{
	struct rs_journal_report found = {.records = journal->records->len};
	int ret = 0, resumed;

	if (!found.records) {
		*report = found;
		return 0;
	}
	ret = rs_target_pause(target, err);
	if (ret) {
		rs_error_prefix(err, "recovery");
		return ret;
	}
	/* The newest first, so that text that was patched twice goes back through both patches. */
	for (guint i = journal->records->len; i-- > 0 && !ret;)
		ret = recover_one(target,
				  &g_array_index(journal->records, struct rs_journal_record, i),
				  &found, err);
	resumed = rs_target_resume(target, NULL, ret ? NULL : err);
	if (!ret)
		ret = resumed;
	if (!ret)
		ret = rs_journal_clear(journal, err);
	if (ret) {
		rs_error_prefix(err, "recovery");
		return ret;
	}
	*report = found;
	return 0;
}
