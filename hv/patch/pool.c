/* SPDX-License-Identifier: MIT */
#include "patch/pool.h"

#include "patch/apply.h"
#include "target/memory.h"
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <ringside/native.h>
#include <string.h>

/* A word, so that it can be stored at once where the guest runs meanwhile. */
#define PATCH 8u

struct part {
	uint32_t begin, end;
	uint32_t front, back; /* what is filled: from `front` to `back` it is unused */
};

struct rs_text_pool {
	struct rs_target *target;
	uint64_t root;
	rs_gva_t at;
	struct part parts[2]; /* by enum rs_text_pool_part */
	uint32_t size;
	uint8_t *bytes;  /* what lies there, as read and as written */
	GArray *patches; /* of the next batch */
};

static bool is_unused(const uint8_t *bytes)
{
	for (uint32_t i = 0; i < RS_TEXT_POOL_ALIGN; i++)
		if (bytes[i] != RS_NATIVE_UNUSED)
			return false;
	return true;
}

/* What could not be written has left gaps, so the longest run is taken. */
static struct part find_unused(const struct rs_text_pool *pool, uint32_t begin, uint32_t end)
{
	struct part part = {begin, end, begin, begin};
	uint32_t from = begin;

	for (uint32_t at = begin; at < end; at += RS_TEXT_POOL_ALIGN) {
		if (!is_unused(pool->bytes + at))
			from = at + RS_TEXT_POOL_ALIGN;
		else if (at + RS_TEXT_POOL_ALIGN - from > part.back - part.front)
			part.front = from, part.back = at + RS_TEXT_POOL_ALIGN;
	}
	return part;
}

int rs_text_pool_open(struct rs_target *target, uint64_t root, rs_gva_t at, uint64_t size,
		      struct rs_text_pool **out, struct rs_error *err)
{
	uint32_t used = (uint32_t)MIN(size, RS_NATIVE_POOL_MAX) & ~(RS_TEXT_POOL_ALIGN - 1);
	const uint32_t split = RS_NATIVE_ENTRY_BYTES(used);
	struct rs_text_pool *pool;
	uint8_t *bytes;
	int ret;

	if (!used || at.v % RS_TEXT_POOL_ALIGN || at.v + size < at.v)
		return rs_error_set(err, EINVAL,
				    "the guest's pool of text, %" PRIu64 " bytes at 0x%" PRIx64
				    ", cannot be one",
				    size, at.v);
	bytes = g_malloc(used);
	ret = rs_target_read_virt(target, root, at, bytes, used, err);
	if (!ret) {
		pool = g_new0(struct rs_text_pool, 1);
		*pool = (struct rs_text_pool){
			.target = target, .root = root, .at = at, .size = used};
		pool->bytes = g_steal_pointer(&bytes);
		pool->patches = g_array_new(FALSE, TRUE, sizeof(struct rs_text_patch));
		pool->parts[RS_TEXT_POOL_ENTRIES] = find_unused(pool, 0, split);
		pool->parts[RS_TEXT_POOL_CODE] = find_unused(pool, split, used);
		*out = pool;
	}
	g_free(bytes);
	return ret;
}

void rs_text_pool_close(struct rs_text_pool *pool)
{
	if (!pool)
		return;
	g_array_unref(pool->patches);
	g_free(pool->bytes);
	g_free(pool);
}

uint32_t rs_text_pool_left(const struct rs_text_pool *pool, enum rs_text_pool_part part)
{
	return pool->parts[part].back - pool->parts[part].front;
}

static bool is_pending(const struct rs_text_pool *pool, uint32_t offset)
{
	for (guint i = 0; i < pool->patches->len; i++)
		if (g_array_index(pool->patches, struct rs_text_patch, i).at.v ==
		    pool->at.v + offset)
			return true;
	return false;
}

bool rs_text_pool_find(struct rs_text_pool *pool, enum rs_text_pool_part part, const void *bytes,
		       uint32_t size, uint32_t *offset)
{
	const uint32_t end = pool->parts[part].end;
	g_autofree uint8_t *now = NULL;
	uint32_t at = pool->parts[part].begin;

	if (!size || size > end - at)
		return false;
	while (memcmp(pool->bytes + at, bytes, size)) {
		at += RS_TEXT_POOL_ALIGN;
		if (at > end - size)
			return false;
	}
	if (!is_pending(pool, at)) {
		now = g_malloc(size);
		if (rs_text_pool_read(pool, at, now, size, NULL))
			return false;
		/* One look at the guest is enough: it may have something else each time. */
		memcpy(pool->bytes + at, now, size);
		if (memcmp(now, bytes, size))
			return false;
	}
	*offset = at;
	return true;
}

static int make_patch(const struct rs_text_pool *pool, uint32_t offset, const uint8_t *bytes,
		      struct rs_text_patch *patch, struct rs_error *err)
{
	*patch = (struct rs_text_patch){.at = {pool->at.v + offset}, .size = PATCH, .unused = true};
	memset(patch->old_bytes, RS_NATIVE_UNUSED, PATCH);
	memcpy(patch->new_bytes, bytes, PATCH);
	return rs_target_translate(pool->target, pool->root, patch->at, &patch->at_phys, err);
}

/* `size` is a multiple of PATCH. What is unused already needs no patch. */
static int add(struct rs_text_pool *pool, uint32_t offset, const uint8_t *bytes, uint32_t size,
	       struct rs_error *err)
{
	guint before = pool->patches->len;
	int ret = 0;

	if (before * PATCH + size > RS_TEXT_POOL_WRITES && before)
		return 1;
	for (uint32_t i = 0; i < size && !ret; i += PATCH) {
		struct rs_text_patch patch;

		ret = make_patch(pool, offset + i, bytes + i, &patch, err);
		if (!ret && memcmp(patch.old_bytes, patch.new_bytes, PATCH))
			g_array_append_val(pool->patches, patch);
	}
	if (ret)
		g_array_set_size(pool->patches, before);
	else
		memcpy(pool->bytes + offset, bytes, size);
	return ret;
}

int rs_text_pool_add(struct rs_text_pool *pool, enum rs_text_pool_part which, const void *bytes,
		     uint32_t size, uint32_t *offset, struct rs_error *err)
{
	const uint32_t room = RS_ALIGN_UP(size, RS_TEXT_POOL_ALIGN);
	struct part *part = &pool->parts[which];
	g_autofree uint8_t *padded = NULL;
	uint32_t at;
	int ret;

	if (!size || rs_text_pool_left(pool, which) < room)
		return rs_error_set(err, ENOSPC, "the guest's pool of text is full");
	padded = g_malloc(room);
	memset(padded, RS_NATIVE_UNUSED, room);
	memcpy(padded, bytes, size);
	at = which == RS_TEXT_POOL_ENTRIES ? part->front : part->back - room;
	ret = add(pool, at, padded, room, err);
	if (ret)
		return ret;
	if (which == RS_TEXT_POOL_ENTRIES)
		part->front += room;
	else
		part->back -= room;
	*offset = at;
	return 0;
}

/* Of what was not written nobody knows what is there now. Returns how many these are. */
static guint forget_bad(struct rs_text_pool *pool, const enum rs_apply_outcome *outcomes)
{
	guint bad = 0;

	for (guint i = 0; i < pool->patches->len; i++) {
		uint64_t at = g_array_index(pool->patches, struct rs_text_patch, i).at.v;

		if (outcomes[i] == RS_APPLY_DONE)
			continue;
		memset(pool->bytes + (at - pool->at.v), RS_NATIVE_UNUSED, PATCH);
		bad++;
	}
	return bad;
}

/* Whether what could not be read would be read another time. */
static bool was_busy(const struct rs_text_pool *pool, const enum rs_apply_outcome *outcomes)
{
	for (guint i = 0; i < pool->patches->len; i++) {
		uint64_t at = g_array_index(pool->patches, struct rs_text_patch, i).at.v;
		uint8_t now[PATCH];
		int ret;

		if (outcomes[i] != RS_APPLY_UNREADABLE)
			continue;
		ret = rs_text_pool_read(pool, (uint32_t)(at - pool->at.v), now, PATCH, NULL);
		return !ret || rs_text_pool_is_busy(ret);
	}
	return false;
}

int rs_text_pool_write(struct rs_text_pool *pool, uint64_t *paused_ns, struct rs_error *err)
{
	guint count = pool->patches->len, bad;
	const struct rs_text_patch *patches = (const void *)pool->patches->data;
	g_autofree enum rs_apply_outcome *outcomes = g_new0(enum rs_apply_outcome, count);
	int ret;

	*paused_ns = 0;
	ret = count ? rs_patch_apply(pool->target, patches, count, outcomes, paused_ns, err) : 0;
	bad = forget_bad(pool, outcomes);
	if (!ret && bad)
		ret = rs_error_set(err, was_busy(pool, outcomes) ? EAGAIN : EIO,
				   "%u of %u places in the guest's pool of text were not "
				   "unused, or could not be written",
				   bad, count);
	g_array_set_size(pool->patches, 0);
	return ret;
}

int rs_text_pool_read(const struct rs_text_pool *pool, uint32_t offset, void *out, uint32_t size,
		      struct rs_error *err)
{
	return rs_target_read_virt(pool->target, pool->root, (rs_gva_t){pool->at.v + offset}, out,
				   size, err);
}
