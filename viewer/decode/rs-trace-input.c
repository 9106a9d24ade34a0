/* SPDX-License-Identifier: MIT */
#include "rs-trace-input-private.h"
#include "rs-trace-error.h"

#include <string.h>

#define LANES_MAX RS_TRACE_LANE_PLACES /* of all sources that have not been read to their end */
#define NAMES_MAX 4096u                /* of sources, of which it is known who had them first */

/* ---- lanes ---- */

static gboolean is_old(const RsTraceInput *input, const RsTraceLane *lane)
{
	return lane->first && lane->first->window < (guint32)input->window;
}

static void add_page(RsTraceInput *input, RsTraceLane *lane, RsTraceStored *stored,
		     const struct rs_file_page *entry)
{
	if (!lane->first) {
		lane->source->busy++;
		input->shared->store.readers++;
		g_ptr_array_add(input->fresh, lane);
	}
	input->n_pages++;
	input->shared->store.places += sizeof(RsTraceLanePage);
	rs_trace_lane_push(lane, stored, entry, input->window, input->gaps);
}

static void drop_page(RsTraceInput *input, RsTraceLane *lane)
{
	gboolean was_old = is_old(input, lane);

	rs_trace_lane_pop(lane);
	input->n_pages--;
	input->shared->store.places -= sizeof(RsTraceLanePage);
	input->n_old -= was_old && !is_old(input, lane);
	if (lane->first)
		return;
	lane->source->busy--;
	input->shared->store.readers--;
}

static void note_error(RsTraceInput *input, GError *error)
{
	if (!input->shared->stopped && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		input->shared->stopped = error;
		return;
	}
	input->ended = TRUE;
	if (input->error)
		g_error_free(error);
	else
		input->error = error;
}

/* Pages that cannot be had are passed over. */
static void begin_page(RsTraceInput *input, RsTraceLane *lane)
{
	GError *error = NULL;

	while (lane->first && lane->first->stored && !rs_trace_lane_begin(lane, &error)) {
		if (error)
			note_error(input, g_steal_pointer(&error));
		drop_page(input, lane);
	}
}

/* Of a ring without a record: when its source's other rings have their newest so far. */
static guint64 time_without_record(const RsTraceInput *input, const RsTraceFileSource *source)
{
	const guint64 until = input->until[input->window & 1];
	guint64 ns = 0;

	for (guint i = 0; i < source->info.ring_count; i++)
		ns = MAX(ns, source->lanes[i].head.ns);
	return ns || until == G_MAXUINT64 ? ns : until;
}

/* The loss at a ring's end comes where its last record was. */
static gboolean take_last_loss(const RsTraceInput *input, RsTraceLane *lane, RsTraceLanePage *page)
{
	const guint64 ns = lane->head.ns ? lane->head.ns : time_without_record(input, lane->source);

	if (page->stored || !page->lost)
		return FALSE;
	lane->head = (RsTraceRecord){
		.kind = RS_TRACE_RECORD_LOSS,
		.ns = ns,
		.when = lane->head.when,
		.lost = page->lost,
		.ring = (guint16)lane->ring,
		.origin = lane->source->origin,
	};
	page->lost = 0;
	return TRUE;
}

static inline gboolean take_record(RsTraceInput *input, RsTraceLane *lane)
{
	GError *error = NULL;

	if (!lane->first->stored)
		return take_last_loss(input, lane, lane->first);
	if (!rs_trace_lane_next(lane, &error)) {
		if (error)
			note_error(input, error);
		return FALSE;
	}
	lane->head.ns = rs_trace_add_ns(lane->head.ns, input->shift);
	return TRUE;
}

/* Takes the ring's next record. FALSE: it has no more so far. */
static gboolean advance(RsTraceInput *input, RsTraceLane *lane)
{
	while (lane->first) {
		if (take_record(input, lane)) {
			/* Who claims to be later than its window's end holds up nobody else. */
			lane->order = MIN(lane->head.ns, input->until[lane->first->window & 1]);
			lane->head.sorted_ns = lane->order;
			return TRUE;
		}
		drop_page(input, lane);
		begin_page(input, lane);
	}
	return FALSE;
}

/* ---- sources ---- */

static void free_source(gpointer data)
{
	rs_trace_file_source_free(data);
}

/* A source has the same index whenever one comes to where it joins. */
static guint find_index(RsTraceInput *input, guint64 at)
{
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(input->known, &at));

	RsTraceShared *shared = input->shared;
	guint index;

	if (known)
		return known - 1;
	index = shared->numbers ? rs_trace_numbers_get(shared->numbers, input->number, at)
				: shared->n_joined++;
	if (g_hash_table_size(input->known) < LANES_MAX)
		g_hash_table_insert(input->known, g_memdup2(&at, sizeof(at)),
				    GUINT_TO_POINTER(index + 1));
	return index;
}

static void remove_source(RsTraceInput *input, guint index)
{
	RsTraceFileSource *source = input->sources->pdata[index];

	rs_trace_file_source_add_stats(source, &input->gone);
	input->shared->n_lanes -= source->info.ring_count;
	input->n_left -= source->left;
	g_ptr_array_remove_index(input->sources, index);
}

/* Sources that have left and were read to their end go. */
static void drop_sources(RsTraceInput *input)
{
	for (guint i = input->sources->len; input->n_left && i-- > 0;) {
		const RsTraceFileSource *source = input->sources->pdata[i];

		if (source->left && !source->busy)
			remove_source(input, i);
	}
}

static void leave(RsTraceInput *input, RsTraceFileSource *source, guint number)
{
	source->left = TRUE;
	input->n_left++;
	g_hash_table_remove(input->joined, GUINT_TO_POINTER(number));
}

/*
 * Sources of different sessions may have one name, as those of two files of one guest. Then the
 * later one's name begins with its file's: "2.trace:demo".
 */
static void tell_apart(RsTraceInput *input, struct rs_file_source *info)
{
	const char *path = rs_trace_file_name(input->file);
	const guint64 *first;
	g_autofree char *file = NULL, *name = NULL;

	if (!path || !info->session_id) /* there is one file only; or it does not say */
		return;
	if (!input->shared->names)
		input->shared->names =
			g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	first = g_hash_table_lookup(input->shared->names, info->name);
	if (!first && g_hash_table_size(input->shared->names) < NAMES_MAX)
		g_hash_table_insert(input->shared->names, g_strdup(info->name),
				    g_memdup2(&info->session_id, sizeof(info->session_id)));
	if (!first || *first == info->session_id)
		return;
	file = g_path_get_basename(path);
	name = g_strdup_printf("%s:%s", file, info->name);
	g_strlcpy(info->name, name, sizeof(info->name));
}

static const char *join(RsTraceInput *input, const RsTraceFileBlock *block)
{
	RsTraceFileSource *source;
	struct rs_file_source info;

	if (!rs_take_sized_record(&info, sizeof(info), block->body, block->body_size,
				  RS_FILE_SOURCE_MIN_SIZE, 0) ||
	    !info.ring_count || info.ring_count > RS_MAX_CPUS || block->source > G_MAXUINT16)
		return "a source is described wrongly";
	if (input->shared->n_lanes + info.ring_count > LANES_MAX ||
	    rs_trace_told_is_full(&input->shared->told))
		return "there are too many sources";
	info.name[sizeof(info.name) - 1] = info.kind[sizeof(info.kind) - 1] = 0;
	tell_apart(input, &info);
	source =
		rs_trace_file_source_new(&info, find_index(input, block->at), &input->shared->told);
	source->hide_symbols = input->shared->hide_symbols;
	for (guint i = 0; i < input->sources->len; i++)
		rs_trace_origin_meet(source->origin,
				     ((RsTraceFileSource *)input->sources->pdata[i])->origin);
	input->shared->n_lanes += info.ring_count;
	g_ptr_array_add(input->sources, source);
	g_hash_table_insert(input->joined, GUINT_TO_POINTER(block->source), source);
	return NULL;
}

/* ---- blocks ---- */

gboolean rs_trace_input_page_fits(const RsTraceFileBlock *block, const struct rs_file_page *page)
{
	return page->from >= RS_RING_PAGE_HEADER && page->from <= page->to &&
	       page->to <= RS_RING_PAGE_MAX && page->at % RS_FILE_ALIGN == 0 &&
	       page->at <= block->place.size && page->to <= block->place.size - page->at;
}

static const char *take_pages(RsTraceInput *input, RsTraceFileSource *source,
			      const RsTraceFileBlock *block)
{
	RsTraceStored *stored = rs_trace_stored_new(&input->shared->store, input->file, block);
	const char *wrong = NULL;
	struct rs_file_page page;

	for (guint i = 0; i < block->count && !wrong; i++) {
		rs_trace_file_take(block, i, &page, sizeof(page));
		if (page.ring >= source->info.ring_count || !rs_trace_input_page_fits(block, &page))
			wrong = "a page does not fit its block";
		else if (rs_trace_input_wants(input, block, &page, i))
			add_page(input, &source->lanes[page.ring], stored, &page);
	}
	rs_trace_stored_unref(stored);
	return wrong;
}

static void take_lost(RsTraceInput *input, RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	struct rs_file_page page = {0};
	struct rs_file_lost lost;

	memcpy(&lost, block->body, sizeof(lost));
	if (lost.ring >= source->info.ring_count)
		return;
	page.lost = lost.lost;
	add_page(input, &source->lanes[lost.ring], NULL, &page);
}

static void tell_events(const RsTraceShared *shared, const RsTraceFileSource *source, guint slot)
{
	const RsTraceEvent *event;

	for (guint n = 0; (event = rs_trace_schema_nth_of(source->schema, slot, n)); n++)
		shared->event(event, source->origin, shared->event_data);
}

static const char *tell(RsTraceShared *shared, RsTraceFileSource *source,
			const RsTraceFileBlock *block)
{
	const char *wrong = rs_trace_file_source_take(source, block);
	struct rs_provider entry;

	/* Without a provider in it there is nothing to tell, and perhaps no schema. */
	if (block->kind != RS_FILE_PROVIDER || !block->count)
		return wrong;
	if (shared->event && block->arg <= G_MAXUINT16)
		tell_events(shared, source, (guint)block->arg);
	if (shared->provider) {
		rs_trace_file_take(block, 0, &entry, sizeof(entry));
		shared->provider(rs_trace_file_source_symbols(source), &entry,
				 shared->provider_data);
		rs_trace_file_source_count(source);
	}
	return wrong;
}

static const char *take(RsTraceInput *input, const RsTraceFileBlock *block)
{
	RsTraceFileSource *source =
		g_hash_table_lookup(input->joined, GUINT_TO_POINTER(block->source));

	if (block->kind == RS_FILE_SOURCE) {
		/* That the earlier one left may be what was damaged. */
		if (source && !input->gaps)
			return "two sources have one number";
		if (source)
			leave(input, source, block->source);
		return join(input, block);
	}
	if (block->kind == RS_FILE_INDEX || block->kind == RS_FILE_WINDOW)
		return NULL;
	if (!source)
		return "a block is of no source";
	if (block->kind == RS_FILE_PAGES)
		return take_pages(input, source, block);
	if (block->kind == RS_FILE_LOST)
		take_lost(input, source, block);
	else if (block->kind == RS_FILE_LEFT)
		leave(input, source, block->source);
	else
		return tell(input->shared, source, block);
	return NULL;
}

static gboolean is_cancelled(const RsTraceInput *input)
{
	return g_cancellable_is_cancelled(rs_trace_file_cancellable(input->file));
}

/* The data of pages of a file are loaded later. */
static const char *load_and_take(RsTraceInput *input, RsTraceFileBlock *block)
{
	g_autoptr(GBytes) data = NULL;

	input->gaps += block->after_gap;
	if (!block->data && block->place.size && block->kind != RS_FILE_PAGES &&
	    rs_trace_head_most_data(block->kind)) {
		data = rs_trace_file_load(input->file, &block->place, NULL);
		if (!data && is_cancelled(input)) {
			rs_trace_file_seek(input->file, block->at); /* it comes again */
			return NULL;
		}
		if (!data)
			return "a block's data cannot be read";
		block->data = data;
	}
	return take(input, block);
}

void rs_trace_input_take(RsTraceInput *input, RsTraceFileBlock *block)
{
	const char *wrong = load_and_take(input, block);

	if (!wrong)
		return;
	rs_trace_file_reject(input->file, block, wrong);
	input->gaps++;
}

/* ---- windows ---- */

/* Lanes that have something again take their place in the order. */
static void prime(RsTraceInput *input)
{
	for (guint i = 0; i < input->fresh->len; i++) {
		RsTraceLane *lane = input->fresh->pdata[i];

		begin_page(input, lane);
		lane->has_head = advance(input, lane);
		if (lane->has_head)
			rs_trace_order_add(&input->order, lane);
	}
	g_ptr_array_set_size(input->fresh, 0);
}

static void count_old(RsTraceInput *input)
{
	input->n_old = 0;
	for (guint i = 0; i < input->order.n; i++)
		input->n_old += is_old(input, rs_trace_order_nth(&input->order, i));
}

/* Whether to go on without the window's end, and perhaps without the right order. */
static gboolean is_full(RsTraceInput *input)
{
	const RsTraceStore *store = &input->shared->store;
	gboolean full = store->places >= RS_TRACE_INPUT_PLACES ||
			input->n_left >= RS_TRACE_INPUT_LEFT ||
			store->held >= rs_trace_store_room(store, RS_TRACE_INPUT_HELD);

	input->unordered |= full;
	return full;
}

/* Whether all blocks up to the end of a window, or of the file, are there. */
static gboolean has_window(const RsTraceInput *input)
{
	guint64 at = rs_trace_file_at(input->file), size = rs_trace_file_size(input->file);
	RsTraceFileBlock block;

	while (rs_trace_file_read(input->file, at, FALSE, &block)) {
		at = block.place.at + block.place.stored;
		if (at > size)
			return FALSE;
		if (block.kind == RS_FILE_WINDOW || block.kind == RS_FILE_END)
			return TRUE;
	}
	return FALSE;
}

/* Whether it may change what records refer to that were handed out: not only pages and names. */
static gboolean is_telling(const RsTraceFileBlock *block)
{
	switch (block->kind) {
	case RS_FILE_SOURCE:
	case RS_FILE_BOOTS:
	case RS_FILE_PROVIDER:
	case RS_FILE_SYMBOLS:
		return TRUE;
	default:
		return FALSE;
	}
}

/* While it is pausing, such a block is left alone, and comes again. Its gap was counted then. */
static gboolean pause_before(RsTraceInput *input, const RsTraceFileBlock *block)
{
	if (!input->shared->pausing || !is_telling(block))
		return FALSE;
	input->gaps += block->after_gap;
	rs_trace_file_seek(input->file, block->at);
	input->shared->paused = TRUE;
	return TRUE;
}

/* Reads blocks up to the end of a window, or of the file. */
static void load_window(RsTraceInput *input)
{
	gboolean with_data = !rs_trace_file_is_seekable(input->file);
	guint64 *until = &input->until[++input->window & 1];
	RsTraceFileStatus status;
	RsTraceFileBlock block;
	GError *error = NULL;

	*until = G_MAXUINT64;
	input->shared->n_windows++;
	while ((status = rs_trace_file_next(input->file, with_data, &block, &error)) ==
	       RS_TRACE_FILE_BLOCK) {
		if (pause_before(input, &block))
			break;
		rs_trace_input_take(input, &block);
		if (block.kind == RS_FILE_WINDOW)
			*until = rs_trace_add_ns(
				((const struct rs_file_window *)block.body)->until_ns,
				input->shift);
		if (block.kind == RS_FILE_WINDOW || is_full(input))
			break;
	}
	if (input->shared->paused) {
		input->window--; /* as below */
		return;
	}
	input->cut |= status == RS_TRACE_FILE_CUT;
	input->ended = status == RS_TRACE_FILE_CUT || status == RS_TRACE_FILE_END;
	if (error)
		note_error(input, error);
	if (input->shared->stopped) {
		input->window--; /* the next call goes on with it */
		return;
	}
	prime(input);
	count_old(input);
}

/*
 * FALSE: there is no more, or not yet. How late its records may be is not known before a window has
 * ended, so nothing is taken of one that grows.
 */
static gboolean load_more(RsTraceInput *input)
{
	if (input->ended || input->waits || input->shared->stopped || input->shared->paused)
		return FALSE;
	input->waits = input->shared->is_growing && rs_trace_file_is_seekable(input->file) &&
		       !has_window(input);
	if (input->waits)
		return FALSE;
	/* Sources that have left may go, and of a pipe nothing can be read again. */
	input->shared->paused = input->shared->pausing &&
				(input->n_left || !rs_trace_file_is_seekable(input->file));
	if (input->shared->paused)
		return FALSE;
	drop_sources(input);
	load_window(input);
	return TRUE;
}

RsTraceLane *rs_trace_input_first(RsTraceInput *input)
{
	while (!input->n_old && load_more(input))
		;
	/* The next window may have records that come before those of this one. */
	if (input->shared->stopped || input->shared->paused || (input->waits && !input->n_old))
		return NULL;
	return rs_trace_order_first(&input->order);
}

gboolean rs_trace_input_hold(RsTraceInput *input, RsTraceLane *lane)
{
	GError *error = NULL;
	gboolean held = rs_trace_lane_hold(lane, &error);

	if (error)
		note_error(input, error);
	return held;
}

RsTraceLane *rs_trace_input_next(RsTraceInput *input)
{
	RsTraceLane *lane = rs_trace_order_first(&input->order);

	lane->has_head = advance(input, lane);
	if (lane->has_head)
		rs_trace_order_update(&input->order, lane);
	else
		rs_trace_order_drop(&input->order, lane);
	return input->n_old ? rs_trace_order_first(&input->order) : rs_trace_input_first(input);
}

/* ---- the input ---- */

void rs_trace_input_reset(RsTraceInput *input)
{
	for (guint i = 0; i < input->sources->len; i++) {
		RsTraceFileSource *source = input->sources->pdata[i];

		for (guint ring = 0; ring < source->info.ring_count; ring++)
			while (source->lanes[ring].first)
				drop_page(input, &source->lanes[ring]);
	}
	while (input->sources->len)
		remove_source(input, input->sources->len - 1);
	g_hash_table_remove_all(input->joined);
	rs_trace_order_clear(&input->order);
	g_ptr_array_set_size(input->fresh, 0);
	g_clear_pointer(&input->floors, g_hash_table_unref);
	g_clear_error(&input->error);
	input->window = input->n_old = input->gaps = 0;
	input->ended = input->cut = input->waits = FALSE;
	input->gone = (RsTraceDecoderStats){0};
}

RsTraceInput *rs_trace_input_new(RsTraceFile *file, RsTraceShared *shared)
{
	RsTraceInput *input = g_new0(RsTraceInput, 1);

	input->file = file;
	input->shared = shared;
	input->number = shared->n_files++;
	input->sources = g_ptr_array_new_with_free_func(free_source);
	input->joined = g_hash_table_new(NULL, NULL);
	input->known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	input->fresh = g_ptr_array_new();
	return input;
}

void rs_trace_input_free(RsTraceInput *input)
{
	rs_trace_input_reset(input);
	g_ptr_array_unref(input->sources);
	g_hash_table_unref(input->joined);
	g_hash_table_unref(input->known);
	g_ptr_array_unref(input->fresh);
	if (input->places)
		g_array_unref(input->places);
	rs_trace_file_free(input->file);
	g_free(input);
}
