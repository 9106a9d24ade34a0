/* SPDX-License-Identifier: MIT */
/*
 * What a record says of rings and tasks. Three rules keep a lane from telling more than the trace
 * does:
 *
 *   - A task has its vCPU from one of its records to the next one of the same task.
 *   - Between records of different tasks only a switch event says when the one took over from the
 *     other. Without one, nobody knows who had the vCPU in between.
 *   - Where records are lost, nobody knows who had the vCPU.
 *
 * What a record changes holds from one nanosecond after it on: the record of a switch still belongs
 * to the task that leaves.
 */
#include "rs-trace-timeline-private.h"

#include "rs-trace-value.h"

#include <string.h>

#define SOURCES_MAX 65536u

/* ---- colours ---- */

/* Of the colour circle, with a lightness that can be seen on white and on black. */
static guint32 colour_of_hash(guint64 hash)
{
	static const guint8 wheel[][3] = {
		{0x35, 0x84, 0xe4}, {0x26, 0xa2, 0x69}, {0xe5, 0xa5, 0x0a}, {0xe6, 0x61, 0x00},
		{0x91, 0x41, 0xac}, {0x98, 0x6a, 0x44}, {0x1a, 0xb2, 0xb8}, {0xd5, 0x6a, 0xa0},
		{0x6f, 0x8f, 0x1f}, {0x5e, 0x5c, 0xc8}, {0x4a, 0x90, 0x8a}, {0xb8, 0x6b, 0x6b}};
	const guint8 *base;
	int shift;

	hash *= G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	base = wheel[(hash >> 40) % G_N_ELEMENTS(wheel)];
	shift = (int)(hash >> 32 & 0x1f) - 16; /* so that tasks of one colour differ a little */
	return (guint32)CLAMP(base[0] + shift, 0, 255) << 16 |
	       (guint32)CLAMP(base[1] + shift, 0, 255) << 8 |
	       (guint32)CLAMP(base[2] - shift, 0, 255);
}

/* ---- notes ---- */

static void note(RsTraceTimeline *timeline, RsTraceTimelineNote what)
{
	g_array_append_val(timeline->notes, what);
}

static void note_runs(RsTraceTimeline *timeline, RsTraceTakenRing *ring, guint64 ns, guint32 tag)
{
	ring->tag = tag;
	note(timeline,
	     (RsTraceTimelineNote){NOTE_RUNS, .target = ring->number, .ns = ns, .tag = tag});
}

static void note_state(RsTraceTimeline *timeline, guint32 tag, guint64 ns, RsTraceTaskState state)
{
	guint task = tag - RS_TRACE_TASK_TAG_FIRST;

	if (tag < RS_TRACE_TASK_TAG_FIRST || g_array_index(timeline->states, guint8, task) == state)
		return;
	g_array_index(timeline->states, guint8, task) = (guint8)state;
	note(timeline, (RsTraceTimelineNote){NOTE_STATE, .target = task, .ns = ns, .tag = state});
}

/* ---- sources and rings ---- */

static RsTraceTakenSource *source_of(RsTraceTimeline *timeline, const RsTraceOrigin *origin)
{
	guint index = MIN(origin->index, SOURCES_MAX - 1);
	RsTraceTakenSource *taken;
	RsTraceTimelineSource *source;

	if (index >= timeline->taken->len)
		g_ptr_array_set_size(timeline->taken, (gint)index + 1);
	taken = g_ptr_array_index(timeline->taken, index);
	if (taken)
		return taken;
	source = g_new0(RsTraceTimelineSource, 1);
	source->index = index;
	source->name = g_strdup(origin->escaped ? origin->escaped : "");
	source->machine = origin->machine;
	source->number = origin->number;
	source->is_named = !!origin->name;
	source->has_vcpus = origin->machine == origin->index &&
			    strncmp(origin->info->kind, "host", sizeof(origin->info->kind)) != 0;
	taken = g_new0(RsTraceTakenSource, 1);
	taken->number = timeline->sources->len;
	taken->machine = origin->machine;
	taken->rings = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_index(timeline->taken, index) = taken;
	rs_trace_timeline_lock(timeline);
	g_ptr_array_add(timeline->sources, source);
	rs_trace_timeline_unlock(timeline);
	return taken;
}

static guint add_ring(RsTraceTimeline *timeline, guint source, guint number)
{
	RsTraceTimelineRing *ring;

	if (timeline->n_rings == RS_TRACE_TIMELINE_RINGS)
		return timeline->n_rings - 1;
	ring = g_new0(RsTraceTimelineRing, 1);
	ring->source = source;
	ring->ring = number;
	ring->events = rs_trace_series_new(RS_TRACE_SERIES_POINTS, &timeline->class_palette);
	ring->tasks = rs_trace_series_new(RS_TRACE_SERIES_SPANS, &timeline->task_palette);
	ring->lasting = rs_trace_series_new(RS_TRACE_SERIES_SPANS, &timeline->class_palette);
	ring->owners = rs_trace_series_new(RS_TRACE_SERIES_SPANS, NULL);
	ring->gaps = rs_trace_series_new(RS_TRACE_SERIES_SPANS, &timeline->gap_palette);
	ring->losses = g_array_new(FALSE, FALSE, sizeof(RsTraceTimelineLoss));
	ring->boots = g_array_new(FALSE, FALSE, sizeof(RsTraceTimelineBoot));
	rs_trace_timeline_lock(timeline);
	g_ptr_array_add(timeline->rings, ring);
	rs_trace_timeline_unlock(timeline);
	return timeline->n_rings++;
}

static RsTraceTakenRing *find_ring(const RsTraceTimeline *timeline, const RsTraceRecord *record)
{
	guint index = record->origin ? MIN(record->origin->index, SOURCES_MAX - 1) : 0;
	const RsTraceTakenSource *source =
		index < timeline->taken->len ? g_ptr_array_index(timeline->taken, index) : NULL;

	return source && record->ring < source->rings->len
		       ? g_ptr_array_index(source->rings, record->ring)
		       : NULL;
}

static RsTraceTakenRing *ring_of(RsTraceTimeline *timeline, RsTraceTakenSource *source,
				 const RsTraceRecord *record)
{
	RsTraceTakenRing *ring;

	if (record->ring >= source->rings->len)
		g_ptr_array_set_size(source->rings, record->ring + 1);
	ring = g_ptr_array_index(source->rings, record->ring);
	if (ring)
		return ring;
	ring = g_new0(RsTraceTakenRing, 1);
	ring->number = add_ring(timeline, record->origin->index, record->ring);
	ring->unasked = G_MAXUINT;
	g_ptr_array_index(source->rings, record->ring) = ring;
	return ring;
}

/* ---- tasks ---- */

static void add_task(RsTraceTimeline *timeline, const RsTraceTaskKey *key, const char *comm)
{
	RsTraceTimelineTask *task = g_new0(RsTraceTimelineTask, 1);
	const guint8 none = RS_TRACE_STATE_UNKNOWN;

	task->machine = key->machine;
	task->pid = key->pid;
	task->boot = key->boot;
	task->comm = g_strdup(comm);
	task->colour = colour_of_hash(((guint64)key->machine << 32 | key->pid) + 1);
	task->states = rs_trace_series_new(RS_TRACE_SERIES_SPANS, &timeline->state_palette);
	g_array_append_val(timeline->states, none);
	rs_trace_timeline_lock(timeline);
	g_ptr_array_add(timeline->tasks, task);
	g_array_append_val(timeline->task_palette.colours, task->colour);
	rs_trace_timeline_unlock(timeline);
}

/* The tag of a task, which is added if it is new. */
static guint32 task_of(RsTraceTimeline *timeline, guint machine, guint32 pid, guint32 boot)
{
	RsTraceTaskKey key = {machine, pid, boot, 0};
	RsTraceTaskKey *found;

	if (!pid)
		return RS_TRACE_TASK_TAG_IDLE;
	found = g_hash_table_lookup(timeline->by_task, &key);
	if (found)
		return found->tag;
	if (timeline->tasks->len == RS_TRACE_TIMELINE_TASKS)
		return RS_TRACE_TASK_TAG_FIRST + RS_TRACE_TIMELINE_TASKS - 1;
	if (timeline->tasks->len == RS_TRACE_TIMELINE_TASKS - 1)
		key = (RsTraceTaskKey){0}; /* of all that come now */
	key.tag = RS_TRACE_TASK_TAG_FIRST + timeline->tasks->len;
	add_task(timeline, &key, key.pid ? "<...>" : "(other)");
	g_hash_table_add(timeline->by_task, g_memdup2(&key, sizeof(key)));
	return key.tag;
}

static void name_task(RsTraceTimeline *timeline, guint32 tag, const char *comm, guint32 tgid)
{
	RsTraceTimelineTask *task;

	if (tag < RS_TRACE_TASK_TAG_FIRST)
		return;
	task = g_ptr_array_index(timeline->tasks, tag - RS_TRACE_TASK_TAG_FIRST);
	if (!task->pid || (g_str_equal(task->comm, comm) && (!tgid || task->tgid == tgid)))
		return;
	rs_trace_timeline_lock(timeline);
	if (!g_str_equal(comm, "<...>") && *comm) {
		g_free(task->comm);
		task->comm = g_strdup(comm);
	}
	if (tgid)
		task->tgid = tgid;
	rs_trace_timeline_unlock(timeline);
}

/* ---- classes ---- */

static char *format_of(RsTraceTimeline *timeline, const RsTraceEvent *event)
{
	g_autofree char *format = rs_trace_event_format(event);
	gsize size = strlen(format) + 1;

	if (size > RS_TRACE_TIMELINE_FORMATS - timeline->formats)
		return NULL;
	timeline->formats += size;
	return g_steal_pointer(&format);
}

static guint add_class(RsTraceTimeline *timeline, const RsTraceEvent *event)
{
	g_autofree char *label = g_strconcat(event->system, ":", event->name, NULL);
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(timeline->by_label, label));
	gboolean is_last = timeline->classes->len == RS_TRACE_TIMELINE_CLASSES - 1;
	RsTraceTimelineClass *class;

	if (number)
		return number - 1;
	if (timeline->classes->len == RS_TRACE_TIMELINE_CLASSES)
		return RS_TRACE_TIMELINE_CLASSES - 1;
	class = g_new0(RsTraceTimelineClass, 1);
	class->system = g_strdup(is_last ? "" : event->system);
	class->name = g_strdup(is_last ? "" : event->name);
	class->label = is_last ? g_strdup("(other)") : g_steal_pointer(&label);
	class->format = is_last ? NULL : format_of(timeline, event);
	class->colour = colour_of_hash(g_str_hash(class->label));
	rs_trace_timeline_lock(timeline);
	g_ptr_array_add(timeline->classes, class);
	g_array_append_val(timeline->class_palette.colours, class->colour);
	rs_trace_timeline_unlock(timeline);
	g_hash_table_insert(timeline->by_label, class->label,
			    GUINT_TO_POINTER(timeline->classes->len));
	return timeline->classes->len - 1;
}

/* An integer field of that name. NULL: there is none. */
static const RsTraceField *integer(const RsTraceEvent *event, const char *name)
{
	const RsTraceField *field = rs_trace_event_field(event, name);

	return field &&
			       (field->size == 1 || field->size == 2 || field->size == 4 ||
				field->size == 8) &&
			       !field->elem_count && !field->is_later &&
			       field->kind <= RS_KIND_FLAGS
		       ? field
		       : NULL;
}

/* Demo guests and BSDs say switch and wakeup, Linux sched_switch, sched_wakeup and its kin. */
static void read_meaning(RsTraceTakenClass *class, const RsTraceEvent *event)
{
	const RsTraceField *last = event->n_fields ? &event->fields[event->n_fields - 1] : NULL;
	const char *name = event->name;

	if (last && last->kind == RS_KIND_UINT && g_str_has_suffix(last->name, "_ns"))
		class->duration = integer(event, last->name);
	if (!g_str_equal(event->system, "sched"))
		return;
	if (g_str_has_prefix(name, "sched_"))
		name += strlen("sched_");
	if (g_str_equal(name, "switch")) {
		class->next_pid = integer(event, "next_pid");
		class->prev_state = integer(event, "prev_state");
		class->next_comm = rs_trace_event_field(event, "next_comm");
	} else if (g_str_equal(name, "wakeup") || g_str_equal(name, "wakeup_new") ||
		   g_str_equal(name, "waking")) {
		class->woken = integer(event, "pid");
	}
}

/*
 * The fields belong to an event that its reader may free. By then the reader hands out no record of
 * it, and another event has another number.
 */
static const RsTraceTakenClass *class_of(RsTraceTimeline *timeline, const RsTraceEvent *event)
{
	RsTraceTakenClass **cached = &timeline->cache[event->unique % CACHE];
	RsTraceTakenClass *class = *cached;

	if (class && class->unique == event->unique)
		return class;
	class = g_hash_table_lookup(timeline->by_unique, &event->unique);
	if (!class) {
		class = g_new0(RsTraceTakenClass, 1);
		class->unique = event->unique;
		class->class = add_class(timeline, event);
		read_meaning(class, event);
		g_hash_table_insert(timeline->by_unique, &class->unique, class);
	}
	*cached = class;
	return class;
}

/* ---- records ---- */

static gboolean load(const RsTraceRecord *record, const RsTraceField *field, guint64 *out)
{
	const guint8 *bytes;
	guint length;

	if (!field ||
	    !rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length) ||
	    length != field->size)
		return FALSE;
	*out = rs_trace_load_integer(bytes, length, field->is_signed);
	return TRUE;
}

static RsTraceTaskState state_of_word(const char *word)
{
	if (g_str_equal(word, "running") || g_str_equal(word, "ready") || word[0] == 'R')
		return RS_TRACE_STATE_RUNNABLE;
	if (g_str_equal(word, "dead") || g_str_equal(word, "zombie") || word[0] == 'X' ||
	    word[0] == 'Z')
		return RS_TRACE_STATE_DEAD;
	if (g_str_equal(word, "stopped") || g_str_equal(word, "traced") || word[0] == 'T' ||
	    g_str_equal(word, "t"))
		return RS_TRACE_STATE_STOPPED;
	return RS_TRACE_STATE_BLOCKED;
}

/* What a task that leaves its vCPU does now: by the field's own words, or else by Linux's bits. */
static RsTraceTaskState state_of(const RsTraceField *field, guint64 value)
{
	for (guint i = 0; i < field->n_symbols; i++)
		if (field->symbols[i].value == value)
			return state_of_word(field->symbols[i].name);
	if (!(value & 0xff))
		return RS_TRACE_STATE_RUNNABLE;
	if (value & (0x10 | 0x20))
		return RS_TRACE_STATE_DEAD;
	return value & (0x4 | 0x8) ? RS_TRACE_STATE_STOPPED : RS_TRACE_STATE_BLOCKED;
}

static void take_switch(RsTraceTimeline *timeline, const RsTraceTakenSource *source,
			RsTraceTakenRing *ring, const RsTraceTakenClass *class,
			const RsTraceRecord *record, guint64 ns)
{
	guint64 pid, state;
	const guint8 *name;
	guint length;
	guint32 next;

	if (!load(record, class->next_pid, &pid))
		return;
	next = task_of(timeline, source->machine, (guint32)pid, record->when.boot);
	if (class->next_comm && class->next_comm->kind == RS_KIND_STRING &&
	    rs_trace_field_bytes(class->next_comm, record->payload, record->size, &name, &length) &&
	    length) {
		g_autofree char *comm = g_strndup((const char *)name, length);

		name_task(timeline, next, comm, 0);
	}
	if (next == ring->tag)
		return;
	if (load(record, class->prev_state, &state))
		note_state(timeline, ring->tag, ns + 1, state_of(class->prev_state, state));
	else
		note_state(timeline, ring->tag, ns + 1, RS_TRACE_STATE_UNKNOWN);
	note_runs(timeline, ring, ns + 1, next);
	note_state(timeline, next, ns + 1, RS_TRACE_STATE_RUNNING);
}

static void take_wakeup(RsTraceTimeline *timeline, const RsTraceTakenSource *source,
			const RsTraceTakenClass *class, const RsTraceRecord *record, guint64 ns)
{
	guint64 pid;
	guint32 tag;

	if (!load(record, class->woken, &pid))
		return;
	tag = task_of(timeline, source->machine, (guint32)pid, record->when.boot);
	if (tag >= RS_TRACE_TASK_TAG_FIRST &&
	    g_array_index(timeline->states, guint8, tag - RS_TRACE_TASK_TAG_FIRST) !=
		    RS_TRACE_STATE_RUNNING)
		note_state(timeline, tag, ns + 1, RS_TRACE_STATE_RUNNABLE);
}

/* Nobody knows who has the vCPU from then on. */
static void lose_sight(RsTraceTimeline *timeline, RsTraceTakenRing *ring, guint64 ns)
{
	note_state(timeline, ring->tag, ns, RS_TRACE_STATE_UNKNOWN);
	note_runs(timeline, ring, ns, RS_TRACE_TASK_TAG_UNKNOWN);
}

/*
 * A moment is no duration, and what began long before the end of what was told last is no part of
 * what the ring did one after the other: a sum, say. Clocks may differ a little.
 */
static void take_duration(RsTraceTimeline *timeline, RsTraceTakenRing *ring,
			  const RsTraceTakenClass *class, const RsTraceRecord *record, guint64 ns)
{
	guint64 duration, since;

	if (!load(record, class->duration, &duration) || duration == 0 || duration > ns)
		return;
	since = MAX(ns - duration, ring->lasted);
	if (since >= ns || since - (ns - duration) > duration / 8)
		return;
	ring->lasted = ns;
	note(timeline, (RsTraceTimelineNote){NOTE_LASTS, .target = ring->number,
					     .tag = class->class, .since = since, .ns = ns});
}

static void take_event(RsTraceTimeline *timeline, const RsTraceTakenSource *source,
		       RsTraceTakenRing *ring, const RsTraceRecord *record, const RsTraceTask *task,
		       guint64 ns)
{
	const RsTraceTakenClass *class = record->event ? class_of(timeline, record->event) : NULL;

	if (ring->pid != record->pid || ring->boot != record->when.boot ||
	    ring->own == RS_TRACE_TASK_TAG_UNKNOWN) {
		ring->pid = record->pid;
		ring->boot = record->when.boot;
		ring->own = task_of(timeline, source->machine, record->pid, record->when.boot);
	}
	if (task) {
		name_task(timeline, ring->own, task->comm, task->tgid);
		ring->unasked = 0;
	} else if (ring->unasked < G_MAXUINT - 1) {
		ring->unasked++;
	}
	if (ring->own != ring->tag) {
		if (ring->tag != RS_TRACE_TASK_TAG_UNKNOWN)
			lose_sight(timeline, ring, MIN(ring->last_ns + 1, ns));
		note_runs(timeline, ring, ns, ring->own);
		note_state(timeline, ring->own, ns, RS_TRACE_STATE_RUNNING);
	}
	note(timeline, (RsTraceTimelineNote){NOTE_EVENT, .target = ring->number, .ns = ns,
					     .tag = class ? class->class : RS_TRACE_CLASS_UNKNOWN,
					     .task = ring->own});
	if (class && class->duration)
		take_duration(timeline, ring, class, record, ns);
	if (class && class->next_pid)
		take_switch(timeline, source, ring, class, record, ns);
	else if (class && class->woken)
		take_wakeup(timeline, source, class, record, ns);
}

static void take_loss(RsTraceTimeline *timeline, RsTraceTakenRing *ring,
		      const RsTraceRecord *record, guint64 ns)
{
	guint64 since = ring->last_ns ? MIN(ring->last_ns + 1, ns) : ns;

	lose_sight(timeline, ring, since);
	if (!ring->in_gap)
		note(timeline, (RsTraceTimelineNote){NOTE_GAP, .target = ring->number, .ns = since,
						     .tag = 1});
	ring->in_gap = TRUE;
	note(timeline, (RsTraceTimelineNote){NOTE_EVENT, .target = ring->number, .ns = ns,
					     .tag = RS_TRACE_CLASS_LOSS});
	note(timeline,
	     (RsTraceTimelineNote){NOTE_LOSS, .target = ring->number, .ns = ns, .since = since,
				   .lost = record->lost, .own_ns = record->ns});
}

guint64 rs_trace_timeline_time_of(const RsTraceRecord *record, guint64 last_ns)
{
	return MAX(last_ns, MIN(record->sorted_ns, G_MAXINT64));
}

gboolean rs_trace_timeline_wants_task(const RsTraceTimeline *timeline, const RsTraceRecord *record)
{
	const RsTraceTakenRing *ring;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return FALSE;
	ring = find_ring(timeline, record);
	return !ring || ring->pid != record->pid || ring->boot != record->when.boot ||
	       ring->unasked >= ASK_TASK;
}

void rs_trace_timeline_take(RsTraceTimeline *timeline, const RsTraceRecord *record,
			    const RsTraceTask *task)
{
	RsTraceTakenSource *source = source_of(timeline, record->origin);
	RsTraceTakenRing *ring = ring_of(timeline, source, record);
	guint64 ns = rs_trace_timeline_time_of(record, ring->last_ns);

	if (record->kind == RS_TRACE_RECORD_LOSS) {
		take_loss(timeline, ring, record, ns);
	} else {
		if (ring->in_gap)
			note(timeline,
			     (RsTraceTimelineNote){NOTE_GAP, .target = ring->number, .ns = ns});
		ring->in_gap = FALSE;
		if (record->kind == RS_TRACE_RECORD_EVENT) {
			take_event(timeline, source, ring, record, task, ns);
		} else {
			lose_sight(timeline, ring, ns);
			note(timeline, (RsTraceTimelineNote){NOTE_EVENT, .target = ring->number,
							     .ns = ns, .tag = RS_TRACE_CLASS_BOOT});
			note(timeline,
			     (RsTraceTimelineNote){NOTE_BOOT, .target = ring->number, .ns = ns,
						   .tag = record->when.boot, .own_ns = record->ns});
		}
	}
	ring->last_ns = ns;
	if (timeline->notes->len >= BATCH)
		rs_trace_timeline_flush(timeline);
}
