/* SPDX-License-Identifier: MIT */
/*
 * Patches of text that is no site: what a function begins with, say. They are journalled as sites
 * are, and the batches do not touch them.
 */
#include "patch/apply.h"
#include "patch/patcher-private.h"

#include <errno.h>
#include <inttypes.h>

static bool overlap(rs_gva_t a, uint32_t a_size, rs_gva_t b, uint32_t b_size)
{
	return a.v < b.v + b_size && b.v < a.v + a_size;
}

static int check_room(const struct rs_patcher *patcher, const struct rs_text_patch *patch,
		      struct rs_error *err)
{
	for (guint i = 0; i < patcher->sites->len; i++) {
		const struct rs_patch_site *site =
			&g_array_index(patcher->sites, struct rs_patch_site, i);

		if (overlap(site->at, RS_SITE_BYTES, patch->at, patch->size))
			return rs_error_set(err, EEXIST, "a tracepoint lies there, at 0x%" PRIx64,
					    site->at.v);
	}
	for (guint i = 0; i < patcher->pokes->len; i++) {
		const struct rs_poke *poke = patcher->pokes->pdata[i];

		if (overlap(poke->patch.at, poke->patch.size, patch->at, patch->size))
			return rs_error_set(err, EEXIST, "this text is patched already");
	}
	return 0;
}

static int write_journal(struct rs_patcher *patcher, const struct rs_text_patch *patch,
			 uint64_t root, struct rs_error *err)
{
	struct rs_journal_record record = rs_journal_record_of(RS_JOURNAL_TEXT, root, patch);

	if (!patcher->journal)
		return 0;
	rs_patcher_name_process(patcher);
	return rs_journal_append(patcher->journal, &record, 1, err);
}

static int failure(enum rs_apply_outcome outcome, struct rs_error *err)
{
	switch (outcome) {
	case RS_APPLY_DONE:
		return 0;
	case RS_APPLY_CHANGED:
		return rs_error_set(err, EILSEQ, "the text there is another one by now");
	case RS_APPLY_UNREADABLE:
		return rs_error_set(err, EFAULT, "the text there cannot be read");
	default:
		return rs_error_set(err, EFAULT, "the text there cannot be written");
	}
}

static int apply(struct rs_patcher *patcher, const struct rs_text_patch *patch,
		 enum rs_apply_outcome *outcome, struct rs_error *err)
{
	uint64_t paused;
	int ret;

	patcher->busy = true;
	ret = rs_patch_apply(patcher->target, patch, 1, outcome, &paused, err);
	patcher->busy = false;
	/* It is written, though the guest may not go on yet: the target sees to that. */
	return ret && *outcome != RS_APPLY_DONE ? ret : failure(*outcome, err);
}

int rs_patcher_poke(struct rs_patcher *patcher, const struct rs_text_patch *patch, uint64_t root,
		    uint32_t *number, struct rs_error *err)
{
	enum rs_apply_outcome outcome = RS_APPLY_NOT_TRIED;
	struct rs_poke *poke;
	int ret;

	if (patcher->method == RS_PATCH_SELF)
		return rs_error_set(err, ENOTSUP, "the guest patches its own text");
	if (patcher->busy)
		return rs_error_set(err, EBUSY, "text is being patched");
	ret = check_room(patcher, patch, err);
	if (!ret)
		ret = write_journal(patcher, patch, root, err);
	if (ret)
		return ret;
	ret = apply(patcher, patch, &outcome, err);
	if (ret) {
		patcher->owed += outcome == RS_APPLY_UNCERTAIN;
		rs_patcher_settle(patcher, false);
		return ret;
	}
	poke = g_new0(struct rs_poke, 1);
	poke->number = ++patcher->pokes_made;
	poke->patch = *patch;
	poke->place = (struct rs_patch_site){.at = patch->at, .at_phys = patch->at_phys};
	g_ptr_array_add(patcher->pokes, poke);
	*number = poke->number;
	return 0;
}

static int undo(struct rs_patcher *patcher, guint index, struct rs_error *err)
{
	const struct rs_poke *poke = patcher->pokes->pdata[index];
	const struct rs_text_patch back = rs_text_reversed(&poke->patch);
	enum rs_apply_outcome outcome = RS_APPLY_NOT_TRIED;
	int ret = apply(patcher, &back, &outcome, err);

	/* The journal has it until then. */
	patcher->owed += ret && ret != -EILSEQ;
	g_ptr_array_remove_index(patcher->pokes, index);
	rs_patcher_settle(patcher, false);
	return ret;
}

int rs_patcher_unpoke(struct rs_patcher *patcher, uint32_t number, struct rs_error *err)
{
	for (guint i = 0; i < patcher->pokes->len; i++) {
		const struct rs_poke *poke = patcher->pokes->pdata[i];

		if (poke->number != number)
			continue;
		if (patcher->busy)
			return rs_error_set(err, EBUSY, "text is being patched");
		return undo(patcher, i, err);
	}
	return rs_error_set(err, ENOENT, "there is no such patch any more");
}

int rs_patcher_unpoke_all(struct rs_patcher *patcher, struct rs_error *err)
{
	int ret = 0;

	while (patcher->pokes->len && !patcher->busy) {
		int failed = undo(patcher, patcher->pokes->len - 1, ret ? NULL : err);

		ret = ret ? ret : failed;
	}
	return ret;
}
