/* SPDX-License-Identifier: MIT */
/*
 * Recovery from a journal, see journal.h. The records are taken in pieces. A piece is read while
 * the guest runs, and only what still holds our bytes is written, in a pause of its own.
 */
#include "patch/apply.h"
#include "patch/insn.h"
#include "patch/journal-private.h"

#include <inttypes.h>
#include <string.h>

#define PIECE 1024u /* patches in one pause: about 20 ms in QEMU */

struct recovery {
	struct rs_journal *journal;
	struct rs_target *target;
	struct rs_journal_report found;
	bool *keep; /* of each record: it stays in the journal */
	/* The piece: patches that do not overlap, and of which record each is. */
	guint count;
	guint record[PIECE];
	struct rs_text_patch patches[PIECE];
	uint8_t now[PIECE][RS_TEXT_MAX];
	enum rs_apply_outcome outcomes[PIECE];
	GHashTable *words; /* of the piece: which bytes of each word of text it changes */
};

static const struct rs_journal_record *record_at(const struct recovery *work, guint index)
{
	return &g_array_index(work->journal->records, struct rs_journal_record, index);
}

/* `keep`: the text may hold our bytes, so a later recovery shall look again. */
static void leave_alone(struct recovery *work, guint index, const char *why, bool keep)
{
	struct rs_journal_report *found = &work->found;

	if (!found->left_alone++)
		g_snprintf(found->first_left, sizeof(found->first_left), "0x%" PRIx64 " %s",
			   record_at(work, index)->at, why);
	found->kept += keep;
	work->keep[index] = keep;
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

/* ---- a piece ---- */

/* Notes the byte at `place`. False: the piece changes it already. */
static bool take_byte(struct recovery *work, uint64_t place)
{
	gpointer word = (gpointer)(uintptr_t)(place / 8);
	guint taken = GPOINTER_TO_UINT(g_hash_table_lookup(work->words, word));
	guint bit = 1u << place % 8;

	if (taken & bit)
		return false;
	g_hash_table_insert(work->words, word, GUINT_TO_POINTER(taken | bit));
	return true;
}

/*
 * Whether the piece has room for the patch, and changes none of its bytes. Text that was patched
 * twice goes back in two pieces, the newer patch first.
 */
static bool fits(struct recovery *work, const struct rs_text_patch *patch)
{
	struct rs_text_piece pieces[2];
	unsigned int n = rs_text_pieces(patch, pieces);
	bool fits = work->count < PIECE;

	if (!work->target->ops->read_phys) {
		pieces[0] = (struct rs_text_piece){{patch->at.v}, 0, patch->size};
		n = 1;
	}
	for (unsigned int k = 0; k < n; k++)
		for (unsigned int i = 0; i < pieces[k].size && fits; i++)
			fits = take_byte(work, pieces[k].at.v + i);
	return fits;
}

/* Reads the piece while the guest runs, and keeps in it what holds our bytes. */
static void look(struct recovery *work)
{
	bool have =
		!rs_text_read_checked(work->target, work->patches, work->count, work->now, NULL);
	guint kept = 0;

	for (guint i = 0; i < work->count; i++) {
		const struct rs_text_patch patch = work->patches[i];
		const guint record = work->record[i];

		if (!have && rs_text_read_checked(work->target, &patch, 1, &work->now[i], NULL)) {
			leave_alone(work, record, "cannot be read", true);
		} else if (!memcmp(work->now[i], patch.new_bytes, patch.size)) {
			work->found.untouched++;
		} else if (memcmp(work->now[i], patch.old_bytes, patch.size)) {
			leave_alone(work, record, "holds other bytes than ours", false);
		} else {
			work->record[kept] = record;
			work->patches[kept++] = patch;
		}
	}
	work->count = kept;
}

static void note(struct recovery *work, guint record, enum rs_apply_outcome outcome)
{
	switch (outcome) {
	case RS_APPLY_DONE:
		work->found.restored++;
		break;
	case RS_APPLY_CHANGED:
		leave_alone(work, record, "holds other bytes than ours", false);
		break;
	case RS_APPLY_UNREADABLE:
		leave_alone(work, record, "cannot be read", true);
		break;
	default:
		leave_alone(work, record, "cannot be written", true);
	}
}

static int restore_piece(struct recovery *work, struct rs_error *err)
{
	uint64_t paused;
	int ret = 0;

	look(work);
	if (work->count)
		ret = rs_patch_apply(work->target, work->patches, work->count, work->outcomes,
				     &paused, err);
	for (guint i = 0; i < work->count && !ret; i++)
		note(work, work->record[i], work->outcomes[i]);
	work->count = 0;
	g_hash_table_remove_all(work->words);
	return ret;
}

/* ---- all of them ---- */

static int add(struct recovery *work, guint index, struct rs_error *err)
{
	const struct rs_journal_record *record = record_at(work, index);
	struct rs_text_patch back;
	int ret = 0;

	work->found.records++;
	if (work->target->ops->read_phys && !record->at_phys) {
		leave_alone(work, index, "has no place in memory", false);
		return 0;
	}
	if (!way_back(work->target, record, &back)) {
		leave_alone(work, index, "is not a change that we make", false);
		return 0;
	}
	if (!fits(work, &back)) {
		ret = restore_piece(work, err);
		fits(work, &back);
	}
	work->record[work->count] = index;
	work->patches[work->count++] = back;
	return ret;
}

/* Fails only if something is wrong with the target. A problem of a record itself is counted. */
static int restore_all(struct recovery *work, const struct rs_journal_exempt *exempt,
		       struct rs_error *err)
{
	int ret = 0;

	/* The newest first, so that text that was patched twice goes back through both patches. */
	for (guint i = work->journal->records->len; i-- > 0 && !ret;) {
		if (exempt && exempt->is(exempt->data, record_at(work, i)))
			work->keep[i] = true;
		else
			ret = add(work, i, err);
	}
	return ret || !work->count ? ret : restore_piece(work, err);
}

int rs_journal_recover_but(struct rs_journal *journal, struct rs_target *target,
			   const struct rs_journal_exempt *exempt, struct rs_journal_report *report,
			   struct rs_error *err)
{
	struct recovery *work = g_new0(struct recovery, 1);
	int ret;

	work->journal = journal;
	work->target = target;
	work->keep = g_new0(bool, journal->records->len);
	work->words = g_hash_table_new(NULL, NULL);
	ret = restore_all(work, exempt, err);
	if (!ret)
		ret = rs_journal_keep(journal, work->keep, err);
	if (ret)
		rs_error_prefix(err, "recovery");
	else
		*report = work->found;
	g_hash_table_unref(work->words);
	g_free(work->keep);
	g_free(work);
	return ret;
}

int rs_journal_recover(struct rs_journal *journal, struct rs_target *target,
		       struct rs_journal_report *report, struct rs_error *err)
{
	return rs_journal_recover_but(journal, target, NULL, report, err);
}
