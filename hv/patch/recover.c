/* SPDX-License-Identifier: MIT */
/* Playing a journal back, see journal.h. */
#include "patch/journal-private.h"

#include "patch/insn.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int read_bytes(struct rs_target *target, const struct rs_journal_record *record,
		      uint8_t *out, struct rs_error *err)
{
	if (target->ops->read_phys) {
		if (!record->at_phys)
			return rs_error_set(err, EFAULT, "no physical address is recorded");
		return target->ops->read_phys(target, (rs_gpa_t){record->at_phys}, out,
					      record->size, err);
	}
	return target->ops->read_virt(target, (rs_gva_t){record->at}, out, record->size, err);
}

static void leave_alone(struct rs_journal_report *report, const struct rs_journal_record *record,
			const char *why)
{
	if (!report->left_alone++)
		g_snprintf(report->first_left, sizeof(report->first_left), "0x%" PRIx64 " %s",
			   record->at, why);
}

/* Something is wrong with the target itself: an error. With this record: counted, and 0. */
static int recover_one(struct rs_target *target, const struct rs_journal_record *record,
		       struct rs_journal_report *report, struct rs_error *err)
{
	struct rs_error why = {0};
	uint8_t now[8];
	int ret;

	if (!rs_insn_is_switch_on(record->old_bytes, record->new_bytes, record->size) ||
	    !rs_insn_in_one_word((rs_gva_t){record->at})) {
		leave_alone(report, record, "is not a change that we make");
		return 0;
	}
	if (read_bytes(target, record, now, &why)) {
		leave_alone(report, record, "cannot be read");
		return 0;
	}
	if (!memcmp(now, record->old_bytes, record->size)) {
		report->untouched++;
		return 0;
	}
	if (memcmp(now, record->new_bytes, record->size)) {
		leave_alone(report, record, "holds other bytes than ours");
		return 0;
	}
	ret = target->ops->write_text(target, (rs_gva_t){record->at}, (rs_gpa_t){record->at_phys},
				      record->old_bytes, record->size, err);
	if (!ret)
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
	ret = target->ops->pause(target, err);
	if (ret) {
		rs_error_prefix(err, "recovery");
		return ret;
	}
	for (guint i = 0; i < journal->records->len && !ret; i++)
		ret = recover_one(target,
				  &g_array_index(journal->records, struct rs_journal_record, i),
				  &found, err);
	resumed = target->ops->resume(target, ret ? NULL : err);
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
