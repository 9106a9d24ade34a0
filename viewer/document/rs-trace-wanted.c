/* SPDX-License-Identifier: MIT */
#include "rs-trace-wanted-private.h"

#include <string.h>

typedef struct {
	guint source, ring; /* these three are the key */
	guint64 ns;
	guint class;
	const char *system, *name; /* of an event; the timeline's */
	guint nth, left;           /* so many of its kind come before it */
	RsTraceTimelineLoss loss;
	RsTraceTimelineBoot boot;
	guint place; /* among those that were asked for */
	gboolean is_found;
} Want;

struct _RsTraceWanted {
	RsTraceTimeline *timeline;
	RsTraceSelection *selection; /* NULL: all records count */
	GArray *wants;               /* Want, by time */
	GHashTable *by_key;          /* Want -> index of the first of its key + 1 */
	guint next;                  /* those before it were found, or passed */
	guint n_left;                /* that were not found */
	guint64 last_ns;             /* of all */
	GPtrArray *rows;
	gboolean with_details;
};

/* ---- what is wanted ---- */

static guint want_hash(gconstpointer data)
{
	const Want *want = data;

	return g_int64_hash(&want->ns) ^ (want->source * 31 + want->ring) * 2654435761u;
}

static gboolean want_equal(gconstpointer a, gconstpointer b)
{
	const Want *x = a, *y = b;

	return x->ns == y->ns && x->ring == y->ring && x->source == y->source;
}

/* Those of one key lie side by side. */
static int want_order(gconstpointer a, gconstpointer b)
{
	const Want *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* The first of an array of structs with a time at their start that is not earlier. */
static guint find_time(const GArray *array, gsize size, guint64 ns)
{
	guint low = 0, high = array->len;
	guint64 there;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		memcpy(&there, array->data + middle * size, sizeof(there));
		if (there < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Who begins in the middle of a file may see other losses and boots. What they say, the timeline
 * knows.
 */
static void take_other(const RsTraceTimelineRing *ring, Want *want)
{
	const gboolean is_loss = want->class == RS_TRACE_CLASS_LOSS;
	const GArray *array = is_loss ? ring->losses : ring->boots;
	guint at = find_time(array,
			     is_loss ? sizeof(RsTraceTimelineLoss) : sizeof(RsTraceTimelineBoot),
			     want->ns);

	if (want->nth >= array->len - at)
		return;
	want->is_found = TRUE;
	if (is_loss)
		want->loss = g_array_index(array, RsTraceTimelineLoss, at + want->nth);
	else
		want->boot = g_array_index(array, RsTraceTimelineBoot, at + want->nth);
}

static void add(RsTraceWanted *wanted, const RsTraceTimelineRow *row, guint place)
{
	const RsTraceTimelineRing *ring = rs_trace_timeline_ring(wanted->timeline, row->ring);
	const RsTraceTimelineClass *class = rs_trace_timeline_class(wanted->timeline, row->class);
	Want want = {
		.ns = row->ns,
		.class = row->class,
		.nth = row->nth,
		.left = row->nth,
		.place = place,
	};

	if (!ring || !class || row->nth == RS_TRACE_TIMELINE_NTH_UNKNOWN)
		return;
	want.source = ring->source;
	want.ring = ring->ring;
	want.system = class->system;
	want.name = class->name;
	if (want.class == RS_TRACE_CLASS_LOSS || want.class == RS_TRACE_CLASS_BOOT)
		take_other(ring, &want);
	wanted->n_left += !want.is_found;
	g_array_append_val(wanted->wants, want);
}

RsTraceWanted *rs_trace_wanted_new(const RsTraceTimeline *timeline, RsTraceSelection *selection,
				   const RsTraceTimelineRow *rows, guint n, gboolean with_details)
{
	RsTraceWanted *wanted = g_new0(RsTraceWanted, 1);

	wanted->timeline = rs_trace_timeline_ref((RsTraceTimeline *)timeline);
	wanted->selection = selection;
	wanted->with_details = with_details;
	wanted->wants = g_array_new(FALSE, FALSE, sizeof(Want));
	wanted->rows = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_row_unref);
	g_ptr_array_set_size(wanted->rows, (gint)n);
	rs_trace_timeline_lock(timeline);
	for (guint i = 0; i < n; i++)
		add(wanted, &rows[i], i);
	rs_trace_timeline_unlock(timeline);
	g_array_sort(wanted->wants, want_order);
	wanted->by_key = g_hash_table_new(want_hash, want_equal);
	for (guint i = wanted->wants->len; i-- > 0;)
		g_hash_table_replace(wanted->by_key, &g_array_index(wanted->wants, Want, i),
				     GUINT_TO_POINTER(i + 1));
	if (wanted->wants->len)
		wanted->last_ns = g_array_index(wanted->wants, Want, wanted->wants->len - 1).ns;
	return wanted;
}

void rs_trace_wanted_free(RsTraceWanted *wanted)
{
	rs_trace_timeline_unref(wanted->timeline);
	rs_trace_selection_free(wanted->selection);
	g_hash_table_unref(wanted->by_key);
	g_array_unref(wanted->wants);
	g_clear_pointer(&wanted->rows, g_ptr_array_unref);
	g_free(wanted);
}

/* ---- the search ---- */

gboolean rs_trace_wanted_next(RsTraceWanted *wanted, guint64 *ns)
{
	while (wanted->next < wanted->wants->len &&
	       g_array_index(wanted->wants, Want, wanted->next).is_found)
		wanted->next++;
	if (wanted->next == wanted->wants->len)
		return FALSE;
	*ns = g_array_index(wanted->wants, Want, wanted->next).ns;
	return TRUE;
}

guint64 rs_trace_wanted_last(const RsTraceWanted *wanted)
{
	return wanted->last_ns;
}

gboolean rs_trace_wanted_is_done(const RsTraceWanted *wanted)
{
	return !wanted->n_left;
}

void rs_trace_wanted_begin(RsTraceWanted *wanted)
{
	for (guint i = wanted->next; i < wanted->wants->len; i++) {
		Want *want = &g_array_index(wanted->wants, Want, i);

		want->left = want->nth;
	}
}

void rs_trace_wanted_pass(RsTraceWanted *wanted, guint64 ns)
{
	while (wanted->next < wanted->wants->len &&
	       g_array_index(wanted->wants, Want, wanted->next).ns < ns)
		wanted->next++;
}

gboolean rs_trace_wanted_again(RsTraceWanted *wanted)
{
	guint64 ns;

	wanted->next = 0;
	rs_trace_wanted_begin(wanted);
	return rs_trace_wanted_next(wanted, &ns);
}

static gboolean is_of(const Want *want, const RsTraceRecord *record)
{
	if (!record->event)
		return want->class == RS_TRACE_CLASS_UNKNOWN;
	return want->class >= RS_TRACE_CLASS_EVENTS &&
	       g_str_equal(want->name, record->event->name) &&
	       g_str_equal(want->system, record->event->system);
}

/* As `ringside report` prints it: sources have names if there are several. */
static RsTraceTextStyle style_of(const RsTraceWanted *wanted)
{
	gboolean several;

	rs_trace_timeline_lock(wanted->timeline);
	several = !!rs_trace_timeline_source(wanted->timeline, 1);
	rs_trace_timeline_unlock(wanted->timeline);
	return several ? RS_TRACE_TEXT_SOURCE : RS_TRACE_TEXT_NONE;
}

static void found(RsTraceWanted *wanted, Want *want, RsTraceReader *reader,
		  const RsTraceRecord *record)
{
	RsTraceRow *row;

	want->is_found = TRUE;
	wanted->n_left--;
	row = rs_trace_row_new(record, rs_trace_reader_task(reader),
			       rs_trace_reader_n_sources(reader) > 1 ? RS_TRACE_TEXT_SOURCE
								     : style_of(wanted),
			       wanted->with_details);
	row->sorted_ns = want->ns;
	wanted->rows->pdata[want->place] = row;
}

void rs_trace_wanted_take(RsTraceWanted *wanted, RsTraceReader *reader, const RsTraceRecord *record,
			  const RsTraceHead *head)
{
	const Want key = {.source = record->origin->index, .ring = record->ring, .ns = head->ns};
	guint first;

	if (head->ns > wanted->last_ns || record->kind != RS_TRACE_RECORD_EVENT)
		return;
	first = GPOINTER_TO_UINT(g_hash_table_lookup(wanted->by_key, &key));
	if (!first ||
	    (wanted->selection &&
	     !rs_trace_selection_matches(wanted->selection, record, rs_trace_reader_task(reader))))
		return;
	for (guint i = first - 1; i < wanted->wants->len; i++) {
		Want *want = &g_array_index(wanted->wants, Want, i);

		if (!want_equal(want, &key))
			break;
		if (want->is_found || !is_of(want, record))
			continue;
		if (!want->left)
			found(wanted, want, reader, record);
		else
			want->left--;
	}
}

/* ---- the end ---- */

/* The origin of a row that no record was read for. Free both. */
static RsTraceOrigin *make_origin(const RsTraceWanted *wanted, const Want *want,
				  struct rs_file_source *info)
{
	const RsTraceTimelineSource *source;
	gboolean is_named = FALSE;

	rs_trace_timeline_lock(wanted->timeline);
	source = rs_trace_timeline_source_of(wanted->timeline, want->source);
	if (source) {
		g_strlcpy(info->name, source->name, sizeof(info->name));
		info->number = source->number;
		is_named = source->is_named;
	}
	rs_trace_timeline_unlock(wanted->timeline);
	return rs_trace_origin_new(info, is_named, want->source, NULL);
}

static RsTraceRow *make_other(const RsTraceWanted *wanted, const Want *want)
{
	const gboolean is_loss = want->class == RS_TRACE_CLASS_LOSS;
	struct rs_file_source info = {.ring_count = want->ring + 1};
	RsTraceOrigin *origin = make_origin(wanted, want, &info);
	const RsTraceTask nobody = {.comm = ""};
	const RsTraceRecord record = {
		.kind = is_loss ? RS_TRACE_RECORD_LOSS : RS_TRACE_RECORD_BOOT,
		.ns = is_loss ? want->loss.own_ns : want->boot.own_ns,
		.sorted_ns = want->ns,
		.when.boot = want->boot.boot,
		.lost = want->loss.lost,
		.ring = (guint16)want->ring,
		.origin = origin,
	};
	RsTraceRow *row =
		rs_trace_row_new(&record, &nobody, style_of(wanted), wanted->with_details);

	rs_trace_origin_free(origin);
	return row;
}

GPtrArray *rs_trace_wanted_end(RsTraceWanted *wanted)
{
	for (guint i = 0; i < wanted->wants->len; i++) {
		const Want *want = &g_array_index(wanted->wants, Want, i);

		if (want->is_found && want->class <= RS_TRACE_CLASS_BOOT)
			wanted->rows->pdata[want->place] = make_other(wanted, want);
	}
	return g_steal_pointer(&wanted->rows);
}
