/* SPDX-License-Identifier: MIT */
/* Applies patches in one pause, or to a guest that runs, see apply.h. While the guest is stopped
 * there is one read and one write for each patch, but no page-table walk and no file access. */
#include "patch/apply.h"

#include <glib.h>
#include <string.h>

struct work {
	struct rs_target *target;
	const struct rs_text_patch *patches;
	enum rs_apply_outcome *outcomes; /* NOT_TRIED: still to be written */
	size_t count;
	bool live; /* the guest is not paused */
	uint8_t (*now)[RS_TEXT_MAX];
};

/* Marks the patches that must not be written; returns the number of the others. */
static size_t compare_all(struct work *work)
{
	bool have =
		!rs_text_read_checked(work->target, work->patches, work->count, work->now, NULL);
	size_t left = 0;

	for (size_t i = 0; i < work->count; i++) {
		const struct rs_text_patch *patch = &work->patches[i];

		if (!have && rs_text_read_checked(work->target, patch, 1, &work->now[i], NULL))
			work->outcomes[i] = RS_APPLY_UNREADABLE;
		else if (memcmp(work->now[i], patch->old_bytes, patch->size))
			work->outcomes[i] = RS_APPLY_CHANGED;
		else
			left++;
	}
	return left;
}

static int write_checked(const struct work *work, const struct rs_text_patch *patches, size_t count,
			 bool *bad, struct rs_error *err)
{
	return work->live ? rs_text_write_live(work->target, patches, count, bad, err)
			  : rs_text_write_checked(work->target, patches, count, bad, err);
}

/* bad[i]: the i-th of those that are left. */
static int write_some(const struct work *work, size_t left, bool *bad, struct rs_error *err)
{
	struct rs_text_patch *some;
	size_t n = 0;
	int ret;

	if (!left)
		return 0;
	if (left == work->count)
		return write_checked(work, work->patches, left, bad, err);
	some = g_new(struct rs_text_patch, left);
	for (size_t i = 0; i < work->count; i++)
		if (work->outcomes[i] == RS_APPLY_NOT_TRIED)
			some[n++] = work->patches[i];
	ret = write_checked(work, some, n, bad, err);
	g_free(some);
	return ret;
}

/* Whether `now` can be what an incomplete write of the patch has left. */
static bool partly_ours(const struct rs_text_patch *patch, const uint8_t *now)
{
	for (unsigned int i = 0; i < patch->size; i++)
		if (now[i] != patch->old_bytes[i] && now[i] != patch->new_bytes[i])
			return false;
	return true;
}

/* After a failed write. Reads the text again to find out what it holds in the end. */
static enum rs_apply_outcome take_back(const struct work *work, const struct rs_text_patch *patch)
{
	const struct rs_text_patch back = rs_text_reversed(patch);
	struct rs_target *target = work->target;
	uint8_t now[RS_TEXT_MAX];
	bool bad = false;

	if (rs_text_read(target, patch, 1, &now, NULL))
		return RS_APPLY_UNCERTAIN;
	if (memcmp(now, patch->old_bytes, patch->size) && partly_ours(patch, now)) {
		write_checked(work, &back, 1, &bad, NULL);
		if (rs_text_read(target, patch, 1, &now, NULL))
			return RS_APPLY_UNCERTAIN;
	}
	if (!memcmp(now, patch->old_bytes, patch->size))
		return RS_APPLY_TAKEN_BACK;
	return memcmp(now, patch->new_bytes, patch->size) ? RS_APPLY_UNCERTAIN : RS_APPLY_DONE;
}

static int write_all(struct work *work, struct rs_error *err)
{
	size_t left = compare_all(work), n = 0;
	bool *bad = g_new0(bool, left);
	int ret = write_some(work, left, bad, err);

	for (size_t i = 0; i < work->count; i++) {
		bool failed;

		if (work->outcomes[i] != RS_APPLY_NOT_TRIED)
			continue;
		failed = bad[n++];
		work->outcomes[i] =
			ret || failed ? take_back(work, &work->patches[i]) : RS_APPLY_DONE;
		if (!ret && work->outcomes[i] == RS_APPLY_TAKEN_BACK)
			work->outcomes[i] = RS_APPLY_UNWRITABLE;
	}
	g_free(bad);
	return ret;
}

static int compare_and_write(struct work *work, uint64_t *paused_ns, struct rs_error *err)
{
	int ret, resumed;

	work->live = rs_text_writes_live(work->target, work->patches, work->count, 0);
	ret = work->live ? 0 : rs_target_pause(work->target, err);
	if (ret)
		work->live = rs_text_writes_live(work->target, work->patches, work->count, ret);
	if (ret && !work->live)
		return ret;
	ret = write_all(work, err);
	if (work->live)
		return ret;
	resumed = rs_target_resume(work->target, paused_ns, ret ? NULL : err);
	return ret ? ret : resumed;
}

int rs_patch_apply(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		   enum rs_apply_outcome *outcomes, uint64_t *paused_ns, struct rs_error *err)
{
	struct work work = {
		.target = target,
		.patches = patches,
		.outcomes = outcomes,
		.count = count,
		.now = g_malloc0(count * sizeof(*work.now)),
	};
	int ret;

	for (size_t i = 0; i < count; i++)
		outcomes[i] = RS_APPLY_NOT_TRIED;
	*paused_ns = 0;
	ret = rs_text_check_all(target, patches, count, err);
	if (!ret)
		ret = compare_and_write(&work, paused_ns, err);
	g_free(work.now);
	return ret;
}
