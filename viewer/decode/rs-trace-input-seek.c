/* SPDX-License-Identifier: MIT */
/* Goes to places of a trace file: by its windows, and by how many events are behind a place. */
#include "rs-trace-error.h"
#include "rs-trace-input-private.h"

#include <string.h>

typedef struct rs_file_place Place;

static const Place *nth(const RsTraceInput *input, guint n)
{
	return &g_array_index(input->places, Place, n);
}

static gboolean is_cancelled(const RsTraceInput *input, GError **error)
{
	GCancellable *cancellable = rs_trace_file_cancellable(input->file);

	return g_cancellable_set_error_if_cancelled(cancellable, error);
}

static gboolean find_places(RsTraceInput *input, GError **error)
{
	guint64 before = rs_trace_file_at(input->file);
	gboolean complete;

	if (!input->places)
		input->places =
			rs_trace_file_places(input->file, !input->scanned, &complete, error);
	rs_trace_file_seek(input->file, before);
	return !!input->places;
}

/* A place is wrong: from now on all are those that the blocks themselves have. FALSE: error. */
static gboolean distrust_index(RsTraceInput *input, GError **error)
{
	if (is_cancelled(input, error)) /* what was not read is not wrong */
		return FALSE;
	if (input->scanned) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "the file has changed while it was read");
		return FALSE;
	}
	g_clear_pointer(&input->places, g_array_unref);
	input->scanned = TRUE;
	input->counted = FALSE;
	return TRUE;
}

static guint count_sources(RsTraceInput *input)
{
	RsTraceFileBlock block;
	guint n = 0;

	for (guint i = 0; input->places && i < input->places->len; i++) {
		const Place *place = nth(input, i);

		if (place->kind != RS_FILE_SOURCE)
			continue;
		if (!rs_trace_file_place_fits(input->file, place, &block))
			return 0;
		n++;
	}
	return n;
}

guint rs_trace_input_n_sources(RsTraceInput *input)
{
	if (!input->counted && rs_trace_file_is_seekable(input->file)) {
		input->counted = TRUE;
		if (!input->places && !input->scanned)
			input->places = rs_trace_file_index(input->file);
		input->n_listed = count_sources(input);
	}
	return MAX(input->n_listed, g_hash_table_size(input->known));
}

static gboolean is_told(guint kind)
{
	return (kind >= RS_FILE_SOURCE && kind <= RS_FILE_NAMES) || kind == RS_FILE_SYMBOLS;
}

/* That a source left may have been in what is damaged before `at`, as when all is read. */
static void note_gap(RsTraceInput *input, guint64 at)
{
	const RsTraceFileDamage *damage = rs_trace_file_damage(input->file);

	if (!input->gaps && damage->gaps && damage->first < at)
		input->gaps = 1;
}

/*
 * Takes what was told before `at`, and goes on there. FALSE: the index is wrong, or a read was
 * cancelled.
 */
static gboolean begin_at(RsTraceInput *input, guint64 at)
{
	guint64 end = 0; /* of the last block: none that is listed may overlap it */
	RsTraceFileBlock block;

	rs_trace_input_reset(input);
	for (guint i = 0; i < input->places->len && nth(input, i)->at < at; i++) {
		const Place *place = nth(input, i);

		if (!is_told(place->kind))
			continue;
		if (!rs_trace_file_place_fits(input->file, place, &block) ||
		    (place->at < end && !input->scanned))
			return FALSE;
		end = block.place.at + block.place.stored;
		note_gap(input, place->at);
		rs_trace_input_take(input, &block);
	}
	note_gap(input, at);
	rs_trace_file_seek(input->file, at);
	return TRUE;
}

/* ---- by time ---- */

/* The last window that ends before `ns`. NULL: none. */
static const Place *window_before(const RsTraceInput *input, guint64 ns)
{
	const Place *before = NULL;

	for (guint i = 0; i < input->places->len; i++) {
		const Place *place = nth(input, i);

		if (place->kind != RS_FILE_WINDOW)
			continue;
		if (rs_trace_add_ns(place->until_ns, input->shift) >= ns)
			break;
		before = place;
	}
	return before;
}

static gboolean begin_before(RsTraceInput *input, guint64 ns)
{
	const Place *window = window_before(input, ns);
	RsTraceFileBlock block;

	if (!window)
		return begin_at(input, rs_trace_file_header(input->file)->header_size);
	return rs_trace_file_place_fits(input->file, window, &block) && begin_at(input, window->at);
}

gboolean rs_trace_input_seek(RsTraceInput *input, guint64 ns, GError **error)
{
	do {
		if (!find_places(input, error))
			return FALSE;
		if (begin_before(input, ns))
			return !is_cancelled(input, error);
	} while (distrust_index(input, error));
	return FALSE;
}

/* ---- from the end ---- */

/* The first page of a ring that is wanted, and how many records there are from it on. */
typedef struct {
	guint64 key;
	guint64 at;
	guint index;
	guint64 n;
} Floor;

typedef struct {
	RsTraceInput *input;
	GHashTable *floors; /* key -> Floor */
	guint8 *bytes;
	guint64 n;     /* wanted */
	guint64 total; /* found */
} Search;

static guint64 key_of(const RsTraceFileBlock *block, const struct rs_file_page *page)
{
	return (guint64)block->source << 32 | page->ring;
}

gboolean rs_trace_input_wants(const RsTraceInput *input, const RsTraceFileBlock *block,
			      const struct rs_file_page *page, guint index)
{
	guint64 key = key_of(block, page);
	const Floor *floor = input->floors ? g_hash_table_lookup(input->floors, &key) : NULL;

	return !floor || block->at > floor->at || (block->at == floor->at && index >= floor->index);
}

static Floor *floor_of(Search *search, guint64 key)
{
	Floor *floor = g_hash_table_lookup(search->floors, &key);

	if (floor)
		return floor;
	floor = g_new0(Floor, 1);
	floor->key = key;
	g_hash_table_insert(search->floors, &floor->key, floor);
	return floor;
}

/* Counts a ring's newest pages until it has as many events as are wanted of all rings. */
static void count_page(Search *search, RsTraceStored *stored, const RsTraceFileBlock *block,
		       guint index)
{
	struct rs_file_page page;
	guint n = 0;
	Floor *floor;

	rs_trace_file_take(block, index, &page, sizeof(page));
	if (!rs_trace_input_page_fits(block, &page))
		return;
	floor = floor_of(search, key_of(block, &page));
	if (floor->n >= search->n)
		return;
	if (rs_trace_stored_page(stored, page.at, page.crc, search->bytes, page.to, NULL))
		n = rs_trace_page_count(search->bytes, page.from, page.to, NULL);
	floor->at = block->at;
	floor->index = index;
	floor->n += n;
	search->total += n;
}

static void count_block(Search *search, guint64 at)
{
	RsTraceInput *input = search->input;
	RsTraceStored *stored;
	RsTraceFileBlock block;

	if (!rs_trace_file_read(input->file, at, FALSE, &block))
		return;
	stored = rs_trace_stored_new(&input->shared->store, input->file, &block);
	for (guint i = block.count; i-- > 0;)
		count_page(search, stored, &block, i);
	rs_trace_stored_unref(stored);
}

/* Counts the pages between two windows' ends, the newest first. FALSE: error. */
static gboolean count_part(Search *search, guint64 from, guint64 to, GError **error)
{
	g_autoptr(GArray) blocks = g_array_new(FALSE, FALSE, sizeof(guint64));
	RsTraceFileStatus status;
	RsTraceFileBlock block;

	rs_trace_file_seek(search->input->file, from);
	while ((status = rs_trace_file_next(search->input->file, FALSE, &block, error)) ==
		       RS_TRACE_FILE_BLOCK &&
	       block.at < to)
		if (block.kind == RS_FILE_PAGES)
			g_array_append_val(blocks, block.at);
	for (guint i = blocks->len; i-- > 0;)
		count_block(search, g_array_index(blocks, guint64, i));
	return status != RS_TRACE_FILE_ERROR;
}

/*
 * Goes back window by window until there are enough events. One window more may have some that are
 * as late. Returns where to begin; 0: error, or, if none is set, the index is wrong.
 */
static guint64 search_back(Search *search, GError **error)
{
	const RsTraceInput *input = search->input;
	guint64 first = rs_trace_file_header(input->file)->header_size, from, to = G_MAXUINT64;
	RsTraceFileBlock block;
	guint more = 2;

	for (guint i = input->places->len; to > first; to = from) {
		while (i && nth(input, i - 1)->kind != RS_FILE_WINDOW)
			i--;
		if (i && !rs_trace_file_place_fits(input->file, nth(input, i - 1), &block))
			return 0;
		from = i ? nth(input, --i)->at : first;
		if (!count_part(search, from, to, error))
			return 0;
		if (search->total >= search->n && !--more)
			return from;
	}
	return first;
}

/* FALSE: error, or, if none is set, the index is wrong. */
static gboolean begin_last(Search *search, GError **error)
{
	g_autoptr(GError) local = NULL;
	guint64 at;

	search->floors = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	search->total = 0;
	at = search_back(search, &local);
	if (at && begin_at(search->input, at)) {
		search->input->floors = search->floors;
		return TRUE;
	}
	g_hash_table_unref(search->floors);
	if (local)
		g_propagate_error(error, g_steal_pointer(&local));
	return FALSE;
}

gboolean rs_trace_input_seek_last(RsTraceInput *input, guint64 n, guint64 *have, GError **error)
{
	Search search = {.input = input, .n = MAX(n, 1)};
	guint64 before = rs_trace_file_at(input->file);
	g_autoptr(GError) local = NULL;
	gboolean begun = FALSE;

	search.bytes = g_malloc(RS_RING_PAGE_MAX);
	do
		begun = find_places(input, &local) && begin_last(&search, &local);
	while (!begun && !local && distrust_index(input, &local));
	g_free(search.bytes);
	*have = search.total;
	if (begun && !is_cancelled(input, &local))
		return TRUE;
	g_clear_pointer(&input->floors, g_hash_table_unref);
	rs_trace_file_seek(input->file, before);
	g_propagate_error(error, g_steal_pointer(&local));
	return FALSE;
}
