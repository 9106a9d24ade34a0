/* SPDX-License-Identifier: MIT */
#include "rs-trace-picker-private.h"
#include "rs-trace-heads-private.h"
#include "rs-trace-text.h"
#include "rs-trace-turn-private.h"
#include "rs-trace-value.h"
#include "rs-trace-wish-private.h"

#include <string.h>

#define STEP 64u /* records between looks at the clock */
#define NTHS_MAX (1u << 20)
#define INTERVAL 20000  /* us after which what was found is shown */
#define SHARE_MAX 0.999 /* of a search that goes on */

struct _RsTracePicker {
	gatomicrefcount refs; /* the owner's and the thread's */
	GStrv filters;
	RsTraceFiles *files;
	RsTraceTimeline *timeline;
	RsTracePulse *pulse;
	GCancellable *cancellable;
	GMutex lock;
	double progress;
	gboolean has_ended;
	GError *error; /* what is wrong with the filters so far, or with the files */

	/* Of the thread: */
	gboolean waits;      /* it reads when it is its turn */
	gboolean has_failed; /* `error` is of the files */
	RsTraceSelection *selection;
	RsTraceSelection *also; /* NULL: nothing else is asked for */
	char *text;             /* in small letters; NULL: nothing is looked for */
	GString *line;
	RsTraceHeads *shown_heads; /* of what `also` leaves; NULL: nobody asks for rows */
	GHashTable *counts;        /* matches of a ring: two numbers, its key and how many */
	GHashTable *nths;          /* under `lock`: by key_of() a match, those that are not 0 */
	RsTraceValues *values;     /* NULL: they are not asked for */
	char *field;               /* whose values these are */
	guint64 field_of;          /* RsTraceEvent.unique of the event that had it last; 0: none */
	guint field_at;            /* which of its fields it was */
	RsTraceHeads *heads;       /* of all that was judged */
	guint64 judged;            /* how many these were */
	gint64 shown;
};

static void unref(RsTracePicker *picker)
{
	if (!g_atomic_ref_count_dec(&picker->refs))
		return;
	g_strfreev(picker->filters);
	rs_trace_files_unref(picker->files);
	rs_trace_timeline_unref(picker->timeline);
	rs_trace_pulse_unref(picker->pulse);
	g_object_unref(picker->cancellable);
	rs_trace_selection_free(picker->selection);
	rs_trace_selection_free(picker->also);
	g_free(picker->text);
	g_string_free(picker->line, TRUE);
	g_clear_pointer(&picker->shown_heads, rs_trace_heads_free);
	g_clear_pointer(&picker->counts, g_hash_table_unref);
	g_clear_pointer(&picker->nths, g_hash_table_unref);
	rs_trace_values_unref(picker->values);
	g_free(picker->field);
	rs_trace_heads_free(picker->heads);
	g_clear_error(&picker->error);
	g_mutex_clear(&picker->lock);
	g_free(picker);
}

/* ---- its thread ---- */

static gboolean is_over(const RsTracePicker *picker)
{
	return g_cancellable_is_cancelled(picker->cancellable) || rs_trace_picker_is_alone(picker);
}

static gboolean is_in_vain(gconstpointer picker)
{
	return is_over(picker);
}

/* FALSE: nobody wants it any more. */
static gboolean begin_turn(const RsTracePicker *picker)
{
	return !picker->waits || rs_trace_turn_begin(is_in_vain, picker);
}

static void end_turn(const RsTracePicker *picker)
{
	if (picker->waits)
		rs_trace_turn_end();
}

static void show(RsTracePicker *picker, double progress)
{
	rs_trace_timeline_flush(picker->timeline);
	if (picker->values)
		rs_trace_values_flush(picker->values);
	g_mutex_lock(&picker->lock);
	picker->progress = progress;
	g_mutex_unlock(&picker->lock);
	rs_trace_pulse_beat(picker->pulse);
}

/* Takes `error` over. NULL: there is none (any more). */
static void set_error(RsTracePicker *picker, GError *error)
{
	g_mutex_lock(&picker->lock);
	g_clear_error(&picker->error);
	picker->error = error;
	g_mutex_unlock(&picker->lock);
}

/* The files cannot be read, or not further. Takes `error` over; NULL: they could be read. */
static void fail(RsTracePicker *picker, GError *error)
{
	if (!error)
		return;
	if (picker->has_failed || g_cancellable_is_cancelled(picker->cancellable)) {
		g_error_free(error);
		return;
	}
	picker->has_failed = TRUE;
	set_error(picker, error);
}

/*
 * What the filters lack, by what has come so far. A session may have an event with that field
 * later.
 */
static void check_filters(RsTracePicker *picker)
{
	GError *error = NULL;

	if (picker->has_failed)
		return;
	rs_trace_selection_finish(picker->selection, &error);
	set_error(picker, error);
}

/* Less than 1: a reader that has read the file to its end still has records to hand out. */
static double share_of(RsTraceReader *reader)
{
	guint64 done, total;

	rs_trace_reader_progress(reader, &done, &total);
	return total ? MIN((double)done / (double)total, SHARE_MAX) : 0;
}

/* Where `small` is in the line, of which only ASCII letters are made small. */
static gboolean has_text(GString *line, const char *small)
{
	g_string_ascii_down(line);
	return strstr(line->str, small) != NULL;
}

static gboolean is_wanted(RsTracePicker *picker, RsTraceReader *reader, const RsTraceRecord *record,
			  const RsTraceTask *task)
{
	if (!rs_trace_selection_matches(picker->selection, record, task))
		return FALSE;
	if (!picker->text)
		return TRUE;
	g_string_truncate(picker->line, 0);
	rs_trace_text_line(picker->line, record, task,
			   rs_trace_reader_n_sources(reader) > 1 ? RS_TRACE_TEXT_SOURCE
								 : RS_TRACE_TEXT_NONE);
	return has_text(picker->line, picker->text);
}

/* ---- which row of the shown ones a match is ---- */

static guint64 key_of(guint source, guint ring, guint64 index)
{
	return (guint64)source << 48 | (guint64)(ring & 0xffff) << 32 | index;
}

/* `nth`: so many shown records of its ring and its time are before it. Most are the first. */
static void note_match(RsTracePicker *picker, const RsTraceRecord *record, guint64 nth)
{
	guint64 ring = key_of(record->origin->index, record->ring, 0), *key, *index;

	if (record->origin->index > G_MAXUINT16) /* its key is another's */
		return;
	index = g_hash_table_lookup(picker->counts, &ring);
	if (!index) {
		index = g_new0(guint64, 2);
		index[0] = ring;
		g_hash_table_insert(picker->counts, index, index);
		index = g_hash_table_lookup(picker->counts, &ring);
	}
	if (nth && index[1] < G_MAXUINT32) {
		g_mutex_lock(&picker->lock);
		if (g_hash_table_size(picker->nths) < NTHS_MAX) {
			key = g_new(guint64, 1);
			*key = ring | index[1];
			g_hash_table_insert(picker->nths, key,
					    GSIZE_TO_POINTER(MIN(nth, G_MAXUINT32)));
		}
		g_mutex_unlock(&picker->lock);
	}
	index[1]++;
}

guint64 rs_trace_picker_nth(RsTracePicker *picker, guint source, guint ring, guint64 index)
{
	guint64 key = key_of(source, ring, index);
	gsize nth;

	if (!picker->nths || index >= G_MAXUINT32 || source > G_MAXUINT16)
		return 0;
	g_mutex_lock(&picker->lock);
	nth = GPOINTER_TO_SIZE(g_hash_table_lookup(picker->nths, &key));
	g_mutex_unlock(&picker->lock);
	return nth;
}

/* ---- values ---- */

/* NULL: it has none of that name. */
static const RsTraceField *find_field(RsTracePicker *picker, const RsTraceEvent *event)
{
	if (event->unique == picker->field_of)
		return &event->fields[picker->field_at];
	for (guint i = 0; i < event->n_fields; i++) {
		if (strcmp(event->fields[i].name, picker->field) != 0)
			continue;
		picker->field_of = event->unique;
		picker->field_at = i;
		return &event->fields[i];
	}
	return NULL;
}

static void take_value(RsTracePicker *picker, const RsTraceRecord *record)
{
	const RsTraceField *field = record->event ? find_field(picker, record->event) : NULL;
	const guint8 *bytes;
	guint64 bits;
	guint length;

	if (!field || field->kind < RS_KIND_UINT || field->kind > RS_KIND_FLAGS ||
	    !rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return;
	bits = rs_trace_load_integer(bytes, field->size, field->is_signed);
	rs_trace_values_append(picker->values, record->origin->index, record->ring,
			       record->sorted_ns,
			       field->is_signed ? (double)(gint64)bits : (double)bits);
}

/* The time of a row is the same in each timeline. */
static void judge(RsTracePicker *picker, RsTraceReader *reader, const RsTraceRecord *record)
{
	const RsTraceTask *task = rs_trace_reader_task(reader);
	const RsTraceHead *head = rs_trace_heads_take(picker->heads, record);
	RsTraceRecord moved;
	guint64 nth = 0;

	picker->judged++;
	if (head->ns != record->sorted_ns) {
		moved = *record;
		moved.sorted_ns = head->ns;
		record = &moved;
	}
	if (picker->also && !rs_trace_selection_matches(picker->also, record, task))
		return;
	if (picker->shown_heads) {
		head = rs_trace_heads_take(picker->shown_heads, record);
		nth = head->events + head->others - 1;
	}
	if (!is_wanted(picker, reader, record, task))
		return;
	if (picker->nths) /* first: who sees the match may ask at once */
		note_match(picker, record, nth);
	rs_trace_timeline_take(picker->timeline, record, task);
	if (picker->values)
		take_value(picker, record);
}

/* FALSE: there is no more so far, or it was cancelled. */
static gboolean take_some(RsTracePicker *picker, RsTraceReader *reader)
{
	GError *error = NULL;

	for (guint i = 0; i < STEP; i++) {
		const RsTraceRecord *record =
			rs_trace_reader_next(reader, picker->cancellable, &error);

		if (!record) {
			fail(picker, error);
			return FALSE;
		}
		judge(picker, reader, record);
	}
	return !is_over(picker) && !rs_trace_selection_is_over(picker->selection);
}

/* `is_whole`: the files have no more by now. */
static void take_all(RsTracePicker *picker, RsTraceReader *reader, gboolean is_whole)
{
	const guint64 before = picker->judged;
	gint64 now;

	while (take_some(picker, reader)) {
		now = g_get_monotonic_time();
		if (now - picker->shown < INTERVAL)
			continue;
		show(picker, share_of(reader));
		picker->shown = now;
	}
	is_whole &= !is_over(picker);
	check_filters(picker);
	if (picker->judged != before || (is_whole && picker->progress < 1))
		show(picker, is_whole ? 1 : share_of(reader));
}

static void know(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer data)
{
	rs_trace_selection_know(((RsTracePicker *)data)->selection, origin, event);
}

/* NULL: it failed. */
static RsTraceReader *open_files(RsTracePicker *picker)
{
	GError *error = NULL;
	RsTraceReader *reader = rs_trace_files_read(picker->files, picker->cancellable, &error);

	fail(picker, error);
	if (reader)
		rs_trace_reader_set_event_func(reader, know, picker);
	return reader;
}

/* FALSE: nothing can match. */
static gboolean learn(RsTracePicker *picker)
{
	return picker->judged > 0 ||
	       rs_trace_wish_learn(picker->selection, picker->files, picker->cancellable, NULL);
}

/* Whether there may be more than what was read so far. */
static gboolean goes_on(const RsTracePicker *picker)
{
	return !picker->has_failed && !is_over(picker) &&
	       !rs_trace_selection_is_over(picker->selection);
}

static void end(RsTracePicker *picker)
{
	check_filters(picker);
	g_mutex_lock(&picker->lock);
	picker->progress = 1;
	picker->has_ended = TRUE;
	g_mutex_unlock(&picker->lock);
	rs_trace_pulse_beat(picker->pulse);
}

static gpointer work(gpointer data)
{
	RsTracePicker *picker = data;
	/* Before its turn: what is not open yet may never be. */
	RsTraceReader *reader = open_files(picker);
	const gboolean is_live = rs_trace_files_are_live(picker->files);
	gboolean had_ended = !reader;
	guint64 size;

	while (!had_ended && goes_on(picker) && begin_turn(picker)) {
		/* Before it is read: then nothing is missed that is written meanwhile. */
		had_ended = rs_trace_files_have_ended(picker->files);
		size = rs_trace_files_size(picker->files);
		rs_trace_reader_set_growing(reader, !had_ended);
		if (learn(picker))
			take_all(picker, reader, had_ended || is_live);
		end_turn(picker);
		if (!had_ended)
			rs_trace_files_wait(picker->files, size, picker->cancellable);
	}
	g_clear_object(&reader);
	end(picker);
	unref(picker);
	return NULL;
}

/* ---- its owner ---- */

RsTracePicker *rs_trace_picker_new(const char *const *filters, RsTraceFiles *files,
				   RsTracePulse *pulse, GError **error)
{
	RsTraceSelection *selection = rs_trace_wish_select(filters, error);
	RsTracePicker *picker;

	if (!selection)
		return NULL;
	picker = g_new0(RsTracePicker, 1);
	g_atomic_ref_count_init(&picker->refs);
	g_mutex_init(&picker->lock);
	picker->selection = selection;
	picker->filters = g_strdupv((char **)filters);
	picker->files = rs_trace_files_ref(files);
	picker->timeline = rs_trace_timeline_new();
	picker->pulse = rs_trace_pulse_ref(pulse);
	picker->cancellable = g_cancellable_new();
	picker->heads = rs_trace_heads_new();
	picker->line = g_string_new(NULL);
	return picker;
}

void rs_trace_picker_wait_turn(RsTracePicker *picker)
{
	picker->waits = TRUE;
}

void rs_trace_picker_narrow(RsTracePicker *picker, const char *const *filters, const char *text)
{
	picker->also = filters && filters[0] ? rs_trace_wish_select(filters, NULL) : NULL;
	picker->text = text ? g_ascii_strdown(text, -1) : NULL;
	picker->shown_heads = rs_trace_heads_new();
	picker->counts = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	picker->nths = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void rs_trace_picker_read_values(RsTracePicker *picker, const char *field, RsTraceValues *values)
{
	picker->field = g_strdup(field);
	picker->values = rs_trace_values_ref(values);
}

RsTraceTimeline *rs_trace_picker_begin(RsTracePicker *picker)
{
	RsTraceTimeline *timeline = rs_trace_timeline_ref(picker->timeline);

	g_atomic_ref_count_inc(&picker->refs);
	g_thread_unref(g_thread_new("pick", work, picker));
	return timeline;
}

void rs_trace_picker_free(RsTracePicker *picker)
{
	if (!picker)
		return;
	g_cancellable_cancel(picker->cancellable);
	unref(picker);
}

gboolean rs_trace_picker_is_alone(const RsTracePicker *picker)
{
	return rs_trace_timeline_is_alone(picker->timeline);
}

RsTraceSelection *rs_trace_picker_select(const RsTracePicker *picker)
{
	return rs_trace_wish_select((const char *const *)picker->filters, NULL);
}

RsTraceTimeline *rs_trace_picker_timeline(const RsTracePicker *picker)
{
	return picker->timeline;
}

const char *const *rs_trace_picker_filters(const RsTracePicker *picker)
{
	return (const char *const *)picker->filters;
}

double rs_trace_picker_progress(RsTracePicker *picker)
{
	/* What it had of a session that has ended since is not known to be all. */
	const gboolean have_ended = rs_trace_files_have_ended(picker->files);
	double progress;

	g_mutex_lock(&picker->lock);
	progress = picker->progress;
	if (have_ended && !picker->has_ended)
		progress = MIN(progress, SHARE_MAX);
	g_mutex_unlock(&picker->lock);
	return progress;
}

GError *rs_trace_picker_error(RsTracePicker *picker)
{
	GError *error;

	g_mutex_lock(&picker->lock);
	error = picker->error ? g_error_copy(picker->error) : NULL;
	g_mutex_unlock(&picker->lock);
	return error;
}
