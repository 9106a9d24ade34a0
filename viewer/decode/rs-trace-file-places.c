/* SPDX-License-Identifier: MIT */
/* Where the blocks of a file are that are not of pages. */
#include "rs-trace-error.h"
#include "rs-trace-file-private.h"

#include <string.h>

/* Of some 24 MB. A recorder writes one or a few each second. */
#define PLACES_MAX (1u << 20)
/*
 * How far before the end of a file the index is looked for that its recorder wrote last, and how
 * many times as far then. A fuzzer has only small files.
 */
#ifdef RS_FUZZING
#define SPAN_FIRST 64u
#else
#define SPAN_FIRST (64u << 10)
#endif
#define SPAN_GROWTH 4u

gboolean rs_trace_file_place_fits(RsTraceFile *file, const struct rs_file_place *place,
				  RsTraceFileBlock *out)
{
	struct rs_file_window window;

	if (!rs_trace_file_read(file, place->at, FALSE, out) || out->kind != place->kind ||
	    out->source != place->source)
		return FALSE;
	if (out->kind != RS_FILE_WINDOW)
		return TRUE;
	memcpy(&window, out->body, sizeof(window));
	return window.until_ns == place->until_ns;
}

static gboolean read_end(RsTraceFile *file, struct rs_file_end *end)
{
	guint64 size = rs_trace_file_size(file);
	RsTraceFileBlock block;

	if (size < RS_FILE_END_SIZE ||
	    !rs_trace_file_read(file, size - RS_FILE_END_SIZE, FALSE, &block) ||
	    block.kind != RS_FILE_END)
		return FALSE;
	memcpy(end, block.body, sizeof(*end));
	return TRUE;
}

/*
 * Appends the places of one block of the index, the last of them first. All of them lie one before
 * the other, and blocks of the index too: else a small file could keep a reader busy for ever. The
 * last place is looked at: if bytes are missing before the index, none is there.
 */
static gboolean take_index(RsTraceFile *file, GArray *places, guint64 *at, guint64 *before)
{
	const guint first = places->len;
	struct rs_file_place place;
	RsTraceFileBlock block;

	if (!rs_trace_file_read(file, *at, FALSE, &block) || block.kind != RS_FILE_INDEX ||
	    block.place.at > *before || block.count > PLACES_MAX - places->len)
		return FALSE;
	*before = *at;
	for (guint i = block.count; i-- > 0;) {
		rs_trace_file_take(&block, i, &place, sizeof(place));
		if (place.at >= *before)
			return FALSE;
		*before = place.at;
		g_array_append_val(places, place);
	}
	*before = MIN(*at, *before);
	*at = block.arg;
	return places->len == first ||
	       rs_trace_file_place_fits(file, &g_array_index(places, struct rs_file_place, first),
					&block);
}

static void reverse(GArray *places)
{
	struct rs_file_place *all = (void *)places->data, place;

	for (guint i = 0, j = places->len; i + 1 < j; i++) {
		place = all[i];
		all[i] = all[--j];
		all[j] = place;
	}
}

/* All blocks of the index, from the last one on. FALSE: one of them is damaged, or wrong. */
static gboolean take_indices(RsTraceFile *file, GArray *places, guint64 last)
{
	guint64 before = rs_trace_file_size(file);

	for (guint64 at = last; at;)
		if (!take_index(file, places, &at, &before))
			return FALSE;
	reverse(places);
	return TRUE;
}

/*
 * The last block of the index from `from` on, before `to`. A head that is not whole ends this.
 * 0: there is none.
 */
static guint64 find_index(RsTraceFile *file, guint64 from, guint64 to)
{
	guint64 at = from, found = 0;
	RsTraceFileBlock block;

	if (!rs_trace_file_find(file, &at, MIN(to, from + RS_FILE_HEAD_MAX + RS_FILE_BLOCK_MAX),
				&block))
		return 0;
	do {
		if (block.kind == RS_FILE_INDEX)
			found = at;
		at = block.place.at + block.place.stored;
	} while (at < to && rs_trace_file_read(file, at, FALSE, &block));
	return found;
}

/* The same, going back from the file's end. Each part of the file is looked at once. */
static guint64 find_last_index(RsTraceFile *file)
{
	const guint64 size = rs_trace_file_size(file);
	guint64 span = SPAN_FIRST, to = size, found = 0;

	while (!found && span < size) {
		found = find_index(file, size - span, to);
		to = size - span;
		span = span > size / SPAN_GROWTH ? size : span * SPAN_GROWTH;
	}
	return found;
}

/*
 * From where the file is on. `listing`: the last block of the index, or, if there is none, the end.
 * FALSE: there are too many, or the file cannot be read.
 */
static gboolean scan(RsTraceFile *file, GArray *places, RsTraceFileBlock *listing,
		     gboolean *complete, GError **error)
{
	RsTraceFileStatus status;
	RsTraceFileBlock block;

	while ((status = rs_trace_file_next(file, FALSE, &block, error)) == RS_TRACE_FILE_BLOCK) {
		struct rs_file_place place = {
			.at = block.at,
			.kind = block.kind,
			.source = block.source,
		};
		struct rs_file_window window;

		if (block.kind == RS_FILE_INDEX)
			*listing = block;
		if (block.kind == RS_FILE_PAGES || block.kind == RS_FILE_INDEX)
			continue;
		if (block.kind == RS_FILE_WINDOW) {
			memcpy(&window, block.body, sizeof(window));
			place.until_ns = window.until_ns;
		}
		if (places->len == PLACES_MAX) {
			g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
					    "the file has too many blocks to go to one of them");
			return FALSE;
		}
		g_array_append_val(places, place);
	}
	*complete = status == RS_TRACE_FILE_END;
	if (*complete && !listing->at)
		*listing = block;
	return status != RS_TRACE_FILE_ERROR;
}

/*
 * Where those begin that no index has. `last`: the last block of the index of a file without an
 * end.
 */
static guint64 take_index_of_cut(RsTraceFile *file, GArray *places, guint64 last)
{
	RsTraceFileBlock block;

	if (last && take_indices(file, places, last) &&
	    rs_trace_file_read(file, last, FALSE, &block))
		return block.place.at + block.place.stored;
	g_array_set_size(places, 0);
	return rs_trace_file_header(file)->header_size;
}

GArray *rs_trace_file_index(RsTraceFile *file)
{
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(struct rs_file_place));
	struct rs_file_end end;

	if (!read_end(file, &end) || !take_indices(file, places, end.index))
		return NULL;
	return g_steal_pointer(&places);
}

/* Without a word, nobody would know why it takes so long, or that something is wrong. */
static void blame_index(RsTraceFile *file, const RsTraceFileBlock *listing)
{
	if (listing->at && !rs_trace_file_damage(file)->gaps)
		rs_trace_file_reject(file, listing, "the index does not fit the file's blocks");
}

GArray *rs_trace_file_places(RsTraceFile *file, gboolean believe, gboolean *complete,
			     GError **error)
{
	const guint64 header_size = rs_trace_file_header(file)->header_size;
	g_autoptr(GArray) places = NULL;
	guint64 last = 0, at = header_size;
	gboolean has_end;
	RsTraceFileBlock listing = {0};
	struct rs_file_end end;

	g_return_val_if_fail(rs_trace_file_is_seekable(file), NULL);
	places = believe ? rs_trace_file_index(file) : NULL;
	*complete = !!places;
	if (places)
		return g_steal_pointer(&places);
	places = g_array_new(FALSE, FALSE, sizeof(struct rs_file_place));
	/* If there is an end, an index that lies elsewhere is wrong. */
	has_end = read_end(file, &end);
	if (believe && !has_end)
		last = find_last_index(file);
	if (last)
		at = take_index_of_cut(file, places, last);
	rs_trace_file_seek(file, at);
	if (!scan(file, places, &listing, complete, error))
		return NULL;
	if (at == header_size && (!believe || has_end || last))
		blame_index(file, &listing);
	return g_steal_pointer(&places);
}
