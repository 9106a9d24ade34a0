/* SPDX-License-Identifier: MIT */
#include "rs-trace-reader-private.h"
#include "rs-trace-error.h"

#include <string.h>

/* ---- files on one clock ---- */

static void free_input(gpointer data)
{
	rs_trace_input_free(data);
}

/* Time 0 is that of the earliest file, so no time is negative. */
static void add_input(RsTraceReader *reader, RsTraceFile *file, gint64 start)
{
	gint64 first = start;

	rs_trace_file_set_cancellable(file, reader->cancellable);
	g_ptr_array_add(reader->inputs, rs_trace_input_new(file, &reader->shared));
	g_array_append_val(reader->starts, start);
	for (guint i = 0; i < reader->starts->len; i++)
		first = MIN(first, g_array_index(reader->starts, gint64, i));
	for (guint i = 0; i < reader->starts->len; i++)
		rs_trace_reader_nth(reader, i)->shift =
			(guint64)(g_array_index(reader->starts, gint64, i) - first);
}

static gboolean is_same_boot(const struct rs_file_header *a, const struct rs_file_header *b)
{
	static const guint8 unknown[sizeof(a->host_boot)];

	return !memcmp(a->host_boot, b->host_boot, sizeof(a->host_boot)) &&
	       memcmp(a->host_boot, unknown, sizeof(unknown));
}

/* *start becomes base + to - from. FALSE: that is more than anybody's lifetime. */
static gboolean place(gint64 base, guint64 from, guint64 to, gint64 *start)
{
	guint64 distance = MAX(from, to) - MIN(from, to);

	if (distance > G_MAXINT64 / 4)
		return FALSE;
	*start = base + (to > from ? (gint64)distance : -(gint64)distance);
	return ABS(*start) <= G_MAXINT64 / 4;
}

/* When the file's time 0 is. FALSE: nobody knows. */
static gboolean find_start(const RsTraceReader *reader, const struct rs_file_header *header,
			   gint64 *start)
{
	for (guint pass = 0; pass < 2; pass++) {
		for (guint i = 0; i < reader->inputs->len; i++) {
			const struct rs_file_header *other =
				rs_trace_file_header(rs_trace_reader_nth(reader, i)->file);
			gint64 base = g_array_index(reader->starts, gint64, i);

			if (!pass && is_same_boot(header, other))
				return place(base, other->origin_ns, header->origin_ns, start);
			if (pass && header->wall_ns && other->wall_ns)
				return place(base, other->wall_ns, header->wall_ns, start);
		}
	}
	return FALSE;
}

gboolean rs_trace_reader_add(RsTraceReader *reader, RsTraceFile *file, GError **error)
{
	const char *why = NULL;
	gint64 start = 0;

	if (reader->started)
		why = "files can be added only before the first record is read";
	else if (reader->inputs->len && !find_start(reader, rs_trace_file_header(file), &start))
		why = "it was recorded on another host, or after another boot, and does not say at "
		      "what time: its records have no place among the others";
	if (why) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE, why);
		rs_trace_file_free(file);
		return FALSE;
	}
	add_input(reader, file, start);
	return TRUE;
}

void rs_trace_reader_add_at(RsTraceReader *reader, RsTraceFile *file, guint64 after_ns)
{
	g_return_if_fail(!reader->started);
	add_input(reader, file, (gint64)MIN(after_ns, G_MAXINT64 / 4));
}

const struct rs_file_header *rs_trace_reader_header(const RsTraceReader *reader)
{
	static const struct rs_file_header none;
	guint n = 0;

	if (!reader->inputs->len)
		return &none;
	while (rs_trace_reader_nth(reader, n)->shift)
		n++;
	return rs_trace_file_header(rs_trace_reader_nth(reader, n)->file);
}

/* ---- records ---- */

/* For each call that reads. What was cancelled before goes on. */
static inline void begin(RsTraceReader *reader, GCancellable *cancellable)
{
	reader->shared.paused = FALSE;
	if (reader->shared.stopped)
		g_clear_error(&reader->shared.stopped);
	/* For each record, so without a call as a rule. */
	if (reader->cancellable == cancellable || !g_set_object(&reader->cancellable, cancellable))
		return;
	for (guint i = 0; i < reader->inputs->len; i++)
		rs_trace_file_set_cancellable(rs_trace_reader_nth(reader, i)->file, cancellable);
}

static gboolean is_stopped(RsTraceReader *reader, GError **error)
{
	if (!reader->shared.stopped)
		return FALSE;
	g_propagate_error(error, g_steal_pointer(&reader->shared.stopped));
	return TRUE;
}

/* Finds the input with the earliest record, and up to when it stays that. */
static void choose(RsTraceReader *reader)
{
	reader->last = NULL;
	reader->limit = G_MAXUINT64;
	for (guint i = 0; i < reader->inputs->len; i++) {
		RsTraceLane *lane = rs_trace_input_first(rs_trace_reader_nth(reader, i));

		if (!lane)
			continue;
		if (reader->last && reader->last->order <= lane->order) {
			reader->limit = MIN(reader->limit, lane->order);
			continue;
		}
		if (reader->last)
			reader->limit = reader->last->order;
		reader->last = lane;
		reader->input = rs_trace_reader_nth(reader, i);
	}
	/* One that would come before may be missing. */
	if (reader->shared.stopped || reader->shared.paused)
		reader->last = NULL;
}

/* Goes to the next record. Afterwards reader->last has it, or is NULL. */
static void step(RsTraceReader *reader)
{
	reader->started = TRUE;
	if (reader->last)
		reader->last = rs_trace_input_next(reader->input);
	if (!reader->last || (reader->inputs->len > 1 && reader->last->order >= reader->limit))
		choose(reader);
}

const RsTraceRecord *rs_trace_reader_next(RsTraceReader *reader, GCancellable *cancellable,
					  GError **error)
{
	begin(reader, cancellable);
	for (guint i = 0; !reader->last && i < reader->inputs->len; i++)
		rs_trace_reader_nth(reader, i)->waits = FALSE;
	do
		step(reader);
	while (reader->last && !rs_trace_input_hold(reader->input, reader->last));
	if (reader->last) {
		reader->passed = rs_trace_add_ns(reader->last->order, 1);
		return &reader->last->head;
	}
	if (reader->shared.paused || is_stopped(reader, error))
		return NULL;
	for (guint i = 0; i < reader->inputs->len; i++) {
		if (!rs_trace_reader_nth(reader, i)->error)
			continue;
		g_propagate_error(error, g_steal_pointer(&rs_trace_reader_nth(reader, i)->error));
		break;
	}
	return NULL;
}

void rs_trace_reader_set_pausing(RsTraceReader *reader, gboolean pausing)
{
	reader->shared.pausing = pausing;
}

gboolean rs_trace_reader_is_paused(const RsTraceReader *reader)
{
	return reader->shared.paused;
}

const RsTraceTask *rs_trace_reader_task(RsTraceReader *reader)
{
	const RsTraceLane *lane = reader->last;
	RsTraceTask *task = &reader->task;

	*task = (RsTraceTask){.comm = ""};
	if (!lane || lane->head.kind != RS_TRACE_RECORD_EVENT)
		return task;
	rs_trace_cmdline_lookup(lane->source->names, lane->head.pid, lane->head.when, task);
	/* The table may have lost the task, or not have it yet. */
	if (lane->head.tgid)
		task->tgid = lane->head.tgid;
	return task;
}

void rs_trace_reader_set_provider_func(RsTraceReader *reader, RsTraceProviderFunc func,
				       gpointer data)
{
	reader->shared.provider = func;
	reader->shared.provider_data = data;
}

void rs_trace_reader_set_event_func(RsTraceReader *reader, RsTraceEventFunc func, gpointer data)
{
	reader->shared.event = func;
	reader->shared.event_data = data;
}

void rs_trace_reader_set_growing(RsTraceReader *reader, gboolean is_growing)
{
	reader->shared.is_growing = is_growing;
}

void rs_trace_reader_hide_symbols(RsTraceReader *reader)
{
	reader->shared.hide_symbols = TRUE;
}

const RsTraceSymbols *rs_trace_reader_symbols(const RsTraceReader *reader)
{
	return reader->last ? reader->last->source->symbols : NULL;
}

guint64 rs_trace_reader_n_windows(const RsTraceReader *reader)
{
	guint64 n = 0;

	for (guint i = 0; i < reader->inputs->len; i++)
		n += rs_trace_reader_nth(reader, i)->window;
	return n;
}

guint rs_trace_reader_n_sources(const RsTraceReader *reader)
{
	guint n = 0;

	for (guint i = 0; i < reader->inputs->len; i++)
		n += rs_trace_input_n_sources(rs_trace_reader_nth(reader, i));
	return n;
}

/* ---- places ---- */

static gboolean are_seekable(const RsTraceReader *reader)
{
	for (guint i = 0; i < reader->inputs->len; i++)
		if (!rs_trace_file_is_seekable(rs_trace_reader_nth(reader, i)->file))
			return FALSE;
	return TRUE;
}

/* Nothing is changed if one of them can only be a pipe. */
static gboolean can_be_sought(const RsTraceReader *reader, const char *why_not, GError **error)
{
	for (guint i = 0; i < reader->inputs->len; i++) {
		const RsTraceFile *file = rs_trace_reader_nth(reader, i)->file;

		if (rs_trace_file_is_seekable(file) || rs_trace_file_origin(file) >= 0)
			continue;
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, why_not);
		return FALSE;
	}
	return TRUE;
}

/* What was a pipe begins anew: it is to be sought. */
static gboolean make_seekable(RsTraceReader *reader, GError **error)
{
	for (guint i = 0; i < reader->inputs->len; i++) {
		RsTraceInput *input = rs_trace_reader_nth(reader, i);

		if (rs_trace_file_is_seekable(input->file))
			continue;
		if (!rs_trace_file_make_seekable(input->file, error))
			return FALSE;
		rs_trace_input_reset(input);
	}
	return TRUE;
}

/* The record that the next call hands out is not this one any more. */
static void forget_last(RsTraceReader *reader)
{
	if (reader->last)
		rs_trace_input_next(reader->input);
	reader->last = NULL;
}

gboolean rs_trace_reader_seek(RsTraceReader *reader, guint64 ns, GCancellable *cancellable,
			      GError **error)
{
	gboolean back = ns < reader->passed;
	RsTraceLane *lane;

	if (back && !can_be_sought(reader, "a pipe cannot be read a second time", error))
		return FALSE;
	if (g_cancellable_set_error_if_cancelled(cancellable, error))
		return FALSE;
	begin(reader, cancellable);
	forget_last(reader);
	if (back && !make_seekable(reader, error))
		return FALSE;
	reader->started = TRUE;
	for (guint i = 0; i < reader->inputs->len; i++) {
		RsTraceInput *input = rs_trace_reader_nth(reader, i);

		if (rs_trace_file_is_seekable(input->file) &&
		    !rs_trace_input_seek(input, ns, error))
			return FALSE;
		lane = rs_trace_input_first(input);
		while (lane && lane->order < ns)
			lane = rs_trace_input_next(input);
	}
	return !is_stopped(reader, error);
}

gboolean rs_trace_reader_seek_last(RsTraceReader *reader, guint64 n, GCancellable *cancellable,
				   GError **error)
{
	guint64 total = 0, have;

	if (!can_be_sought(reader, "where a pipe ends is not known before it has ended", error))
		return FALSE;
	if (g_cancellable_set_error_if_cancelled(cancellable, error))
		return FALSE;
	begin(reader, cancellable);
	forget_last(reader);
	if (!make_seekable(reader, error))
		return FALSE;
	for (guint i = 0; i < reader->inputs->len; i++) {
		if (!rs_trace_input_seek_last(rs_trace_reader_nth(reader, i), n, &have, error))
			return FALSE;
		total += have;
	}
	/* Losses and boots before the first of these events go too. */
	for (guint64 skip = total - MIN(total, n); skip; skip -= !!reader->last) {
		do
			step(reader);
		while (reader->last && reader->last->head.kind != RS_TRACE_RECORD_EVENT);
		if (!reader->last)
			break;
	}
	reader->started = TRUE;
	return !is_stopped(reader, error);
}

void rs_trace_reader_progress(RsTraceReader *reader, guint64 *done, guint64 *total)
{
	gboolean known = are_seekable(reader);
	guint64 at, size;

	*done = *total = 0;
	for (guint i = 0; i < reader->inputs->len; i++) {
		rs_trace_file_progress(rs_trace_reader_nth(reader, i)->file, &at, &size);
		*done += at;
		*total += known ? size : 0;
	}
}

/* ---- the reader ---- */

G_DEFINE_FINAL_TYPE(RsTraceReader, rs_trace_reader, G_TYPE_OBJECT)

static void rs_trace_reader_init(RsTraceReader *reader)
{
	reader->inputs = g_ptr_array_new_with_free_func(free_input);
	reader->starts = g_array_new(FALSE, FALSE, sizeof(gint64));
	reader->shared.told.used = &reader->shared.store.told;
	rs_trace_descriptor_pool_init(&reader->shared.told.pool, reader->shared.told.used,
				      RS_TRACE_TOLD_BYTES);
}

static void finalize(GObject *object)
{
	RsTraceReader *reader = RS_TRACE_READER(object);

	g_ptr_array_unref(reader->inputs);
	g_array_unref(reader->starts);
	rs_trace_descriptor_pool_deinit(&reader->shared.told.pool);
	g_free(reader->shared.store.page);
	g_clear_pointer(&reader->shared.names, g_hash_table_unref);
	g_clear_pointer(&reader->shared.numbers, rs_trace_numbers_unref);
	g_clear_object(&reader->cancellable);
	g_clear_error(&reader->shared.stopped);
	G_OBJECT_CLASS(rs_trace_reader_parent_class)->finalize(object);
}

static void rs_trace_reader_class_init(RsTraceReaderClass *class)
{
	G_OBJECT_CLASS(class)->finalize = finalize;
}

RsTraceReader *rs_trace_reader_new(RsTraceFile *file)
{
	RsTraceReader *reader = g_object_new(RS_TRACE_TYPE_READER, NULL);

	add_input(reader, file, 0);
	return reader;
}
