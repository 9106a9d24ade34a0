/* SPDX-License-Identifier: MIT */
#include "rs-trace-timeline-private.h"

#include "rs-trace-escape.h"

#include <string.h>

static void palette_init(RsTracePalette *palette)
{
	palette->colours = g_array_new(FALSE, FALSE, sizeof(guint32));
}

static void palette_add(RsTracePalette *palette, guint32 colour)
{
	g_array_append_val(palette->colours, colour);
}

static void source_free(gpointer data)
{
	g_free(((RsTraceTimelineSource *)data)->name);
	g_free(data);
}

static void ring_free(gpointer data)
{
	RsTraceTimelineRing *ring = data;

	rs_trace_series_free(ring->events);
	rs_trace_series_free(ring->tasks);
	rs_trace_series_free(ring->lasting);
	rs_trace_series_free(ring->owners);
	rs_trace_series_free(ring->gaps);
	g_array_unref(ring->losses);
	g_array_unref(ring->boots);
	g_free(ring);
}

static void task_free(gpointer data)
{
	RsTraceTimelineTask *task = data;

	rs_trace_series_free(task->states);
	g_free(task->comm);
	g_free(task);
}

static void class_free(gpointer data)
{
	RsTraceTimelineClass *class = data;

	g_free(class->system);
	g_free(class->name);
	g_free(class->label);
	g_free(class->format);
	g_free(class);
}

static void taken_free(gpointer data)
{
	RsTraceTakenSource *source = data;

	if (source)
		g_ptr_array_unref(source->rings);
	g_free(source);
}

static void add_fixed_class(RsTraceTimeline *timeline, const char *label, guint32 colour)
{
	RsTraceTimelineClass *class = g_new0(RsTraceTimelineClass, 1);

	class->system = g_strdup("");
	class->name = g_strdup("");
	class->label = g_strdup(label);
	class->colour = colour;
	g_ptr_array_add(timeline->classes, class);
	palette_add(&timeline->class_palette, colour);
}

/* Keys begin with a 64-bit number that is theirs. */
static guint task_hash(gconstpointer data)
{
	const RsTraceTaskKey *key = data;

	return key->pid * 2654435761u ^ key->machine * 40503u ^ key->boot * 97u;
}

static gboolean task_equal(gconstpointer a, gconstpointer b)
{
	const RsTraceTaskKey *x = a, *y = b;

	return x->pid == y->pid && x->machine == y->machine && x->boot == y->boot;
}

guint32 rs_trace_timeline_state_colour(RsTraceTaskState state)
{
	static const guint32 states[RS_TRACE_STATES] = {
		RS_TRACE_PALETTE_NONE, 0x2ec27e, 0xf5c211, 0xa5a3a0, 0xc061cb, 0x5e5c64};

	return state < RS_TRACE_STATES ? states[state] : RS_TRACE_PALETTE_NONE;
}

RsTraceTimeline *rs_trace_timeline_new(void)
{
	RsTraceTimeline *timeline = g_new0(RsTraceTimeline, 1);

	g_atomic_ref_count_init(&timeline->refs);
	g_mutex_init(&timeline->lock);
	palette_init(&timeline->class_palette);
	palette_init(&timeline->task_palette);
	palette_init(&timeline->state_palette);
	palette_init(&timeline->gap_palette);
	palette_add(&timeline->task_palette, RS_TRACE_PALETTE_NONE);
	palette_add(&timeline->task_palette, RS_TRACE_PALETTE_NONE);
	for (guint i = 0; i < RS_TRACE_STATES; i++)
		palette_add(&timeline->state_palette, rs_trace_timeline_state_colour(i));
	palette_add(&timeline->gap_palette, RS_TRACE_PALETTE_NONE);
	palette_add(&timeline->gap_palette, 0xe01b24);
	timeline->sources = g_ptr_array_new_with_free_func(source_free);
	timeline->rings = g_ptr_array_new_with_free_func(ring_free);
	timeline->tasks = g_ptr_array_new_with_free_func(task_free);
	timeline->classes = g_ptr_array_new_with_free_func(class_free);
	add_fixed_class(timeline, "loss", 0xe01b24);
	add_fixed_class(timeline, "boot", 0x1a5fb4);
	add_fixed_class(timeline, "unknown", 0x77767b);
	timeline->taken = g_ptr_array_new_with_free_func(taken_free);
	timeline->by_unique = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	timeline->by_label = g_hash_table_new(g_str_hash, g_str_equal);
	timeline->by_task = g_hash_table_new_full(task_hash, task_equal, g_free, NULL);
	timeline->states = g_array_new(FALSE, TRUE, sizeof(guint8));
	timeline->notes = g_array_sized_new(FALSE, FALSE, sizeof(RsTraceTimelineNote), BATCH + 16);
	return timeline;
}

RsTraceTimeline *rs_trace_timeline_ref(RsTraceTimeline *timeline)
{
	g_atomic_ref_count_inc(&timeline->refs);
	return timeline;
}

void rs_trace_timeline_unref(RsTraceTimeline *timeline)
{
	if (!timeline || !g_atomic_ref_count_dec(&timeline->refs))
		return;
	g_ptr_array_unref(timeline->sources);
	g_ptr_array_unref(timeline->rings);
	g_ptr_array_unref(timeline->tasks);
	g_ptr_array_unref(timeline->classes);
	g_ptr_array_unref(timeline->taken);
	g_hash_table_unref(timeline->by_unique);
	g_hash_table_unref(timeline->by_label);
	g_hash_table_unref(timeline->by_task);
	g_array_unref(timeline->states);
	g_array_unref(timeline->notes);
	g_array_unref(timeline->class_palette.colours);
	g_array_unref(timeline->task_palette.colours);
	g_array_unref(timeline->state_palette.colours);
	g_array_unref(timeline->gap_palette.colours);
	g_mutex_clear(&timeline->lock);
	g_free(timeline);
}

gboolean rs_trace_timeline_is_alone(const RsTraceTimeline *timeline)
{
	return g_atomic_ref_count_compare((gatomicrefcount *)&timeline->refs, 1);
}

/* ---- writing down ---- */

static void write_event(RsTraceTimeline *timeline, const RsTraceTimelineNote *note)
{
	RsTraceTimelineRing *ring = g_ptr_array_index(timeline->rings, note->target);
	RsTraceTimelineClass *class = g_ptr_array_index(timeline->classes, note->tag);
	RsTraceTimelineTask *task;

	rs_trace_series_append(ring->owners, rs_trace_series_count(ring->events), note->task);
	rs_trace_series_append(ring->events, note->ns, note->tag);
	class->count++;
	if (!timeline->end_ns)
		timeline->first_ns = note->ns;
	timeline->first_ns = MIN(timeline->first_ns, note->ns);
	timeline->end_ns = MAX(timeline->end_ns, note->ns + (note->ns < G_MAXUINT64));
	if (note->task < RS_TRACE_TASK_TAG_FIRST)
		return;
	task = g_ptr_array_index(timeline->tasks, note->task - RS_TRACE_TASK_TAG_FIRST);
	if (!task->events++)
		task->first_ns = note->ns;
	task->last_ns = note->ns;
}

static void write_loss(RsTraceTimeline *timeline, const RsTraceTimelineNote *note)
{
	RsTraceTimelineRing *ring = g_ptr_array_index(timeline->rings, note->target);
	RsTraceTimelineLoss loss = {note->ns, note->since, note->lost, note->own_ns};

	g_array_append_val(ring->losses, loss);
	ring->lost += note->lost;
	timeline->lost += note->lost;
}

static void write_boot(RsTraceTimeline *timeline, const RsTraceTimelineNote *note)
{
	RsTraceTimelineRing *ring = g_ptr_array_index(timeline->rings, note->target);
	RsTraceTimelineBoot boot = {note->ns, note->own_ns, note->tag};

	g_array_append_val(ring->boots, boot);
}

static void write_note(RsTraceTimeline *timeline, const RsTraceTimelineNote *note)
{
	RsTraceTimelineRing *ring;
	RsTraceTimelineTask *task;

	switch (note->kind) {
	case NOTE_EVENT:
		write_event(timeline, note);
		break;
	case NOTE_RUNS:
		ring = g_ptr_array_index(timeline->rings, note->target);
		rs_trace_series_append(ring->tasks, note->ns, note->tag);
		break;
	case NOTE_GAP:
		ring = g_ptr_array_index(timeline->rings, note->target);
		rs_trace_series_append(ring->gaps, note->ns, note->tag);
		break;
	case NOTE_LASTS:
		ring = g_ptr_array_index(timeline->rings, note->target);
		rs_trace_series_append(ring->lasting, note->since, note->tag);
		rs_trace_series_append(ring->lasting, note->ns, RS_TRACE_CLASS_NONE);
		break;
	case NOTE_LOSS:
		write_loss(timeline, note);
		break;
	case NOTE_BOOT:
		write_boot(timeline, note);
		break;
	case NOTE_STATE:
		task = g_ptr_array_index(timeline->tasks, note->target);
		rs_trace_series_append(task->states, note->ns, note->tag);
		break;
	}
}

void rs_trace_timeline_flush(RsTraceTimeline *timeline)
{
	rs_trace_timeline_lock(timeline);
	for (guint i = 0; i < timeline->notes->len; i++)
		write_note(timeline, &g_array_index(timeline->notes, RsTraceTimelineNote, i));
	rs_trace_timeline_unlock(timeline);
	g_array_set_size(timeline->notes, 0);
}

void rs_trace_timeline_set_end(RsTraceTimeline *timeline, guint64 ns)
{
	__atomic_store_n(&timeline->live_end, ns, __ATOMIC_RELAXED);
}

/* ---- looking ---- */

void rs_trace_timeline_lock(const RsTraceTimeline *timeline)
{
	g_mutex_lock((GMutex *)&timeline->lock);
}

void rs_trace_timeline_unlock(const RsTraceTimeline *timeline)
{
	g_mutex_unlock((GMutex *)&timeline->lock);
}

void rs_trace_timeline_span(const RsTraceTimeline *timeline, guint64 *first_ns, guint64 *end_ns)
{
	*first_ns = timeline->first_ns;
	*end_ns = timeline->end_ns;
	if (timeline->end_ns)
		*end_ns = MAX(*end_ns, __atomic_load_n(&timeline->live_end, __ATOMIC_RELAXED));
}

guint64 rs_trace_timeline_lost(const RsTraceTimeline *timeline)
{
	return timeline->lost;
}

gsize rs_trace_timeline_size(const RsTraceTimeline *timeline)
{
	gsize size = 0;

	for (guint i = 0; i < timeline->rings->len; i++) {
		const RsTraceTimelineRing *ring = g_ptr_array_index(timeline->rings, i);

		size += rs_trace_series_size(ring->events) + rs_trace_series_size(ring->tasks) +
			rs_trace_series_size(ring->owners) + rs_trace_series_size(ring->gaps) +
			rs_trace_series_size(ring->lasting) +
			ring->losses->len * sizeof(RsTraceTimelineLoss);
	}
	for (guint i = 0; i < timeline->tasks->len; i++) {
		const RsTraceTimelineTask *task = g_ptr_array_index(timeline->tasks, i);

		size += sizeof(*task) + rs_trace_series_size(task->states);
	}
	return size;
}

static gconstpointer nth(const GPtrArray *array, guint n)
{
	return n < array->len ? g_ptr_array_index(array, n) : NULL;
}

const RsTraceTimelineSource *rs_trace_timeline_source(const RsTraceTimeline *timeline, guint n)
{
	return nth(timeline->sources, n);
}

const RsTraceTimelineRing *rs_trace_timeline_ring(const RsTraceTimeline *timeline, guint n)
{
	return nth(timeline->rings, n);
}

const RsTraceTimelineTask *rs_trace_timeline_task(const RsTraceTimeline *timeline, guint n)
{
	return nth(timeline->tasks, n);
}

const RsTraceTimelineClass *rs_trace_timeline_class(const RsTraceTimeline *timeline, guint n)
{
	return nth(timeline->classes, n);
}

guint rs_trace_timeline_loss_rank(const RsTraceTimelineRing *ring, guint64 ns)
{
	guint low = 0, high = ring->losses->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(ring->losses, RsTraceTimelineLoss, middle).ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const RsTraceTimelineSource *rs_trace_timeline_source_of(const RsTraceTimeline *timeline,
							 guint index)
{
	for (guint i = 0; i < timeline->sources->len; i++) {
		const RsTraceTimelineSource *source = g_ptr_array_index(timeline->sources, i);

		if (source->index == index)
			return source;
	}
	return NULL;
}

const RsTraceTimelineTask *rs_trace_timeline_task_of_tag(const RsTraceTimeline *timeline,
							 guint32 tag)
{
	return tag < RS_TRACE_TASK_TAG_FIRST
		       ? NULL
		       : rs_trace_timeline_task(timeline, tag - RS_TRACE_TASK_TAG_FIRST);
}
