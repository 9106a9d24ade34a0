/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's protobuf (perfetto.proto): a stream of packets. All but losses are of one sequence,
 * with interned names. A loss makes a reader forget what was interned in its sequence, so losses
 * have one of their own.
 */
#include "rs-trace-formats-private.h"
#include "rs-trace-perfetto-private.h"
#include "rs-trace-spans.h"
#include "rs-trace-text.h"

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>

typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent Event;
typedef Perfetto__Protos__TrackDescriptor Track;
#define PACKET_INIT PERFETTO__PROTOS__TRACE_PACKET__INIT
#define EVENT_INIT PERFETTO__PROTOS__TRACK_EVENT__INIT
#define TRACK_INIT PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT
#define TYPE(kind) PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_##kind
#define CLOCK(kind) PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_##kind

#define SEQUENCE 1u
#define SEQUENCE_LOST 2u
#define FLAG_CLEARED 1u
#define FLAG_NEEDS 2u

#define PACKETS_TAG 0x0a /* field 1 of Trace, a message */

/* What is interned for a class of events. */
typedef struct {
	guint64 name, span, category, first_field;
} Names;

typedef struct {
	const RsTraceExportConfig *config;
	RsSpans *spans;
	GByteArray *out;
	GHashTable *tracks;  /* that are told */
	GHashTable *running; /* tracks of vCPUs on which a slice is open */
	guint64 interned;    /* numbers that are given */
	guint64 origin;
	RsPfNotes notes;
} Pf;

/* ---- packets ---- */

#define HEAD 5u              /* bytes: a tag, and a length of four, as Perfetto itself writes it */
#define EVENT_BYTES_MAX 256u /* of a packet with an event, without notes, stack and texts */
#define NOTE_BYTES_MAX 64u   /* of a note or a frame, without its text */

/* Packs it into `room` bytes, which must be enough. What is packed is not measured before. */
static void put_in(Pf *pf, const Packet *packet, gsize room)
{
	guint at = pf->out->len;
	guint8 *head;
	gsize size;

#ifdef RS_FUZZING
	if (perfetto__protos__trace_packet__get_packed_size(packet) > room)
		abort();
#endif
	g_byte_array_set_size(pf->out, at + HEAD + (guint)room);
	head = pf->out->data + at;
	size = perfetto__protos__trace_packet__pack(packet, head + HEAD);
	*head++ = PACKETS_TAG;
	for (guint i = 0; i < HEAD - 1; i++)
		*head++ = (guint8)((size >> 7 * i & 0x7f) | (i < HEAD - 2 ? 0x80 : 0));
	g_byte_array_set_size(pf->out, at + HEAD + (guint)size);
}

static void put(Pf *pf, const Packet *packet)
{
	put_in(pf, packet, perfetto__protos__trace_packet__get_packed_size(packet));
}

static gboolean flush(Pf *pf, gsize at_least, GError **error)
{
	gboolean done;

	if (pf->out->len < at_least)
		return TRUE;
	done = g_output_stream_write_all(rs_trace_output_stream(pf->config->output), pf->out->data,
					 pf->out->len, NULL, pf->config->cancellable, error);
	g_byte_array_set_size(pf->out, 0);
	return done;
}

static Packet packet_of(guint sequence)
{
	Packet packet = PACKET_INIT;

	packet.has_trusted_packet_sequence_id = TRUE;
	packet.trusted_packet_sequence_id = sequence;
	if (sequence == SEQUENCE) {
		packet.has_sequence_flags = TRUE;
		packet.sequence_flags = FLAG_NEEDS;
	}
	return packet;
}

static void set_time(Pf *pf, Packet *packet, guint64 ns)
{
	packet->has_timestamp = TRUE;
	packet->timestamp = pf->origin + ns;
	packet->has_timestamp_clock_id = TRUE;
	packet->timestamp_clock_id = CLOCK(MONOTONIC);
}

static void put_event(Pf *pf, guint64 ns, Event *event)
{
	Packet packet = packet_of(SEQUENCE);

	set_time(pf, &packet, ns);
	packet.track_event = event;
	put(pf, &packet);
}

static Event event_of(Perfetto__Protos__TrackEvent__Type type, guint64 track)
{
	Event event = EVENT_INIT;

	event.has_type = event.has_track_uuid = TRUE;
	event.type = type;
	event.track_uuid = track;
	return event;
}

/* ---- names ---- */

/* The trace's origin on the host's clocks. The header does not know how long the host slept. */
static void put_clocks(Pf *pf)
{
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock clocks[3], *ptrs[3];
	const struct rs_file_header *header = pf->config->header;
	const guint32 ids[3] = {CLOCK(MONOTONIC), CLOCK(BOOTTIME), CLOCK(REALTIME)};
	Packet packet = packet_of(SEQUENCE);

	for (guint i = 0; i < 3; i++) {
		perfetto__protos__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = TRUE;
		clocks[i].clock_id = ids[i];
		clocks[i].timestamp = ids[i] == CLOCK(REALTIME) ? header->wall_ns : pf->origin;
		ptrs[i] = &clocks[i];
	}
	snapshot.clocks = ptrs;
	snapshot.n_clocks = header->wall_ns ? 3 : 2;
	snapshot.has_primary_trace_clock = TRUE;
	snapshot.primary_trace_clock = CLOCK(MONOTONIC);
	packet.clock_snapshot = &snapshot;
	packet.sequence_flags = FLAG_CLEARED | FLAG_NEEDS;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = TRUE;
	put(pf, &packet);
}

/* The names get the next numbers, one after the other. */
static void intern_notes(Pf *pf, const char *const *names, guint n)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__DebugAnnotationName notes[RS_MAX_FIELDS], *ptrs[RS_MAX_FIELDS];
	Packet packet = packet_of(SEQUENCE);

	for (guint i = 0; i < n; i++) {
		perfetto__protos__debug_annotation_name__init(&notes[i]);
		notes[i].has_iid = TRUE;
		notes[i].iid = ++pf->interned;
		notes[i].name = (char *)names[i];
		ptrs[i] = &notes[i];
	}
	data.debug_annotation_names = ptrs;
	data.n_debug_annotation_names = n;
	packet.interned_data = &data;
	if (n)
		put(pf, &packet);
}

static guint64 intern_name(Pf *pf, const char *text, gboolean category)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__EventName name = PERFETTO__PROTOS__EVENT_NAME__INIT, *names = &name;
	Perfetto__Protos__EventCategory kind = PERFETTO__PROTOS__EVENT_CATEGORY__INIT,
					*kinds = &kind;
	Packet packet = packet_of(SEQUENCE);

	name.has_iid = kind.has_iid = TRUE;
	name.iid = kind.iid = ++pf->interned;
	name.name = kind.name = (char *)text;
	if (category) {
		data.event_categories = &kinds;
		data.n_event_categories = 1;
	} else {
		data.event_names = &names;
		data.n_event_names = 1;
	}
	packet.interned_data = &data;
	put(pf, &packet);
	return pf->interned;
}

static const Names *names_of(Pf *pf, RsSpanClass *class, const RsTraceEvent *event)
{
	const char *fields[RS_MAX_FIELDS];
	Names *names = class->data;

	if (names)
		return names;
	class->data = names = g_new0(Names, 1);
	names->name = intern_name(pf, class->name, FALSE);
	names->span = class->span ? intern_name(pf, class->span, FALSE) : names->name;
	names->category = intern_name(pf, event->system, TRUE);
	names->first_field = pf->interned + 1;
	for (guint i = 0; i < event->n_fields; i++)
		fields[i] = event->fields[i].name;
	intern_notes(pf, fields, event->n_fields);
	return names;
}

/* ---- tracks ---- */

static void put_track(Pf *pf, guint64 uuid, guint64 parent, Track *track)
{
	Packet packet = packet_of(SEQUENCE);

	track->has_uuid = TRUE;
	track->uuid = uuid;
	track->has_parent_uuid = parent != 0;
	track->parent_uuid = parent;
	packet.track_descriptor = track;
	put(pf, &packet);
}

static guint64 source_track(Pf *pf, const RsTraceExportItem *item)
{
	guint64 uuid = rs_track(RS_TRACK_SOURCE, item->source_index, 0);
	g_autofree char *name = NULL;
	Track track = TRACK_INIT;

	if (!rs_tracks_is_news(pf->tracks, uuid, 0, ""))
		return uuid;
	track.name = name = rs_trace_export_utf8(item->source->name, strlen(item->source->name));
	put_track(pf, uuid, 0, &track);
	return uuid;
}

static guint64 cpu_track(Pf *pf, const RsTraceExportItem *item, RsTrackKind kind)
{
	guint64 uuid = rs_track(kind, item->source_index, item->record->ring);
	g_autofree char *name = NULL;
	Track track = TRACK_INIT;

	if (!rs_tracks_is_news(pf->tracks, uuid, 0, ""))
		return uuid;
	track.name = name = g_strdup_printf(kind == RS_TRACK_IDLE ? "vCPU %u: pid 0" : "vCPU %u",
					    item->record->ring);
	put_track(pf, uuid,
		  kind == RS_TRACK_IDLE ? cpu_track(pf, item, RS_TRACK_CPU)
					: source_track(pf, item),
		  &track);
	return uuid;
}

/* The process of a task, under the name of its first thread. */
static void put_process(Pf *pf, const RsTraceExportItem *item, guint32 tgid, const char *comm)
{
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	guint64 uuid = rs_track(RS_TRACK_PROCESS, item->source_index, tgid);
	g_autofree char *name = NULL;
	Track track = TRACK_INIT;

	if (!rs_tracks_is_news(pf->tracks, uuid, 0, item->record->pid == tgid ? comm : ""))
		return;
	process.has_pid = TRUE;
	process.pid = rs_track_pid(item->record->origin->machine, tgid);
	if (item->record->pid == tgid)
		process.process_name = name = rs_trace_export_utf8(comm, strlen(comm));
	track.process = &process;
	put_track(pf, uuid, 0, &track);
}

static guint64 task_track(Pf *pf, const RsTraceExportItem *item)
{
	Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
	const char *comm = item->task->comm;
	guint32 pid = item->record->pid, tgid = item->task->tgid ? item->task->tgid : pid;
	guint64 uuid = rs_track(RS_TRACK_TASK, item->source_index, pid);
	g_autofree char *name = NULL;
	Track track = TRACK_INIT;

	if (!pid)
		return cpu_track(pf, item, RS_TRACK_IDLE);
	if (!rs_tracks_is_news(pf->tracks, uuid, tgid, comm))
		return uuid;
	put_process(pf, item, tgid, comm);
	thread.has_pid = thread.has_tid = TRUE;
	thread.pid = rs_track_pid(item->record->origin->machine, tgid);
	thread.tid = rs_track_pid(item->record->origin->machine, pid);
	thread.thread_name = name = rs_trace_export_utf8(comm, strlen(comm));
	track.thread = &thread;
	put_track(pf, uuid, 0, &track);
	return uuid;
}

/* ---- records ---- */

static void put_counter(Pf *pf, const RsTraceExportItem *item, const RsSpanClass *class)
{
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
	const RsTraceField *field = &item->record->event->fields[class->counter];
	guint64 uuid = rs_track(RS_TRACK_COUNTER, item->source_index, class->counter_id);
	Event event = event_of(TYPE(COUNTER), uuid);
	Track track = TRACK_INIT;
	guint64 value;

	if (!rs_spans_value(item->record, class->counter, &value))
		return;
	if (rs_tracks_is_news(pf->tracks, uuid, 0, "")) {
		track.name = class->counter_name;
		track.counter = &counter;
		put_track(pf, uuid, source_track(pf, item), &track);
	}
	if (!field->is_signed && value > G_MAXINT64) {
		event.counter_value_field_case =
			PERFETTO__PROTOS__TRACK_EVENT__COUNTER_VALUE_FIELD_DOUBLE_COUNTER_VALUE;
		event.double_counter_value = (double)value;
	} else {
		event.counter_value_field_case =
			PERFETTO__PROTOS__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE;
		event.counter_value = (int64_t)value;
	}
	put_event(pf, item->record->ns, &event);
}

static void stop_running(Pf *pf, guint64 ns, guint64 track)
{
	Event event = event_of(TYPE(SLICE_END), track);

	if (g_hash_table_remove(pf->running, &track))
		put_event(pf, ns, &event);
}

/* Another task runs on the vCPU, or none. */
static void put_switch(Pf *pf, const RsTraceExportItem *item, const RsSpanClass *class)
{
	guint64 track = cpu_track(pf, item, RS_TRACK_CPU), pid;
	Event event = event_of(TYPE(SLICE_BEGIN), track);
	g_autofree char *name = NULL;

	stop_running(pf, item->record->ns, track);
	if (!rs_spans_value(item->record, class->next_pid, &pid) || !pid)
		return;
	event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME;
	event.name = name = rs_spans_comm(item->record, class->next_comm, pid);
	put_event(pf, item->record->ns, &event);
	g_hash_table_add(pf->running, g_memdup2(&track, sizeof(track)));
}

/* ---- call stacks ---- */

static void append_utf8(GString *out, const char *text, gsize size)
{
	g_autofree char *plain = rs_trace_export_utf8(text, size);

	g_string_append(out, plain);
}

typedef struct {
	Perfetto__Protos__TrackEvent__Callstack stack;
	Perfetto__Protos__TrackEvent__Callstack__Frame frames[RS_STACK_MAX], *ptrs[RS_STACK_MAX];
	gsize at[RS_STACK_MAX]; /* of the names, in `text` */
	GString *text;
} Stack;

/* The outermost comes first. */
static void set_stack(Event *event, Stack *stack, const RsTraceRecord *record)
{
	guint n = MIN(record->n_stack, RS_STACK_MAX);

	perfetto__protos__track_event__callstack__init(&stack->stack);
	stack->text = g_string_new(NULL);
	for (guint i = 0; i < n; i++) {
		stack->at[i] = stack->text->len;
		rs_trace_export_frame(stack->text, record, n - 1 - i, append_utf8);
		g_string_append_c(stack->text, 0);
	}
	for (guint i = 0; i < n; i++) {
		perfetto__protos__track_event__callstack__frame__init(&stack->frames[i]);
		stack->frames[i].function_name = stack->text->str + stack->at[i];
		stack->ptrs[i] = &stack->frames[i];
	}
	stack->stack.frames = stack->ptrs;
	stack->stack.n_frames = n;
	event->callstack = &stack->stack;
}

/* ---- events ---- */

/* The notes and the stack of a record with its event. */
static void put_whole(Pf *pf, Event *event, const RsTraceRecord *record, guint64 first_field)
{
	Stack stack; /* large, so it is only filled if there is one */
	Packet packet = packet_of(SEQUENCE);

	stack.text = NULL;
	rs_pf_notes_take(&pf->notes, record, first_field);
	event->debug_annotations = pf->notes.ptrs;
	event->n_debug_annotations = pf->notes.n;
	if (record->n_stack)
		set_stack(event, &stack, record);
	set_time(pf, &packet, record->ns);
	packet.track_event = event;
	put_in(pf, &packet,
	       EVENT_BYTES_MAX + pf->notes.text->len + (stack.text ? stack.text->len : 0) +
		       NOTE_BYTES_MAX *
			       (gsize)(pf->notes.n + pf->notes.elements->len + record->n_stack));
	if (stack.text)
		g_string_free(stack.text, TRUE);
}

/* The end of a slice has no name of its own, as it is the begin's. */
static void put_known(Pf *pf, const RsTraceExportItem *item)
{
	const RsTraceRecord *record = item->record;
	RsSpanClass *class = rs_spans_class(pf->spans, record->event);
	const Names *names = names_of(pf, class, record->event);
	guint64 track = task_track(pf, item), category = names->category;
	Event event = event_of(TYPE(INSTANT), track), end = event_of(TYPE(SLICE_END), track);
	RsSpanStep step = rs_spans_step(pf->spans, track, 0, class);

	for (guint n = step.inside; n; n--)
		put_event(pf, record->ns, &end);
	event.type = step.phase == RS_SPAN_INSTANT ? TYPE(INSTANT)
		     : step.phase == RS_SPAN_BEGIN ? TYPE(SLICE_BEGIN)
						   : TYPE(SLICE_END);
	event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME_IID;
	event.name_iid = step.phase == RS_SPAN_INSTANT ? names->name : names->span;
	event.category_iids = &category;
	event.n_category_iids = 1;
	put_whole(pf, &event, record, names->first_field);
	if (class->counter >= 0)
		put_counter(pf, item, class);
	if (class->next_pid >= 0)
		put_switch(pf, item, class);
}

static void put_unknown(Pf *pf, const RsTraceExportItem *item)
{
	Event event = event_of(TYPE(INSTANT), task_track(pf, item));

	event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME;
	event.name = (char *)"unknown";
	put_whole(pf, &event, item->record, 0);
}

static void put_loss(Pf *pf, const RsTraceExportItem *item)
{
	Perfetto__Protos__DebugAnnotation note = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT,
					  *notes = &note;
	guint64 track = cpu_track(pf, item, RS_TRACK_CPU);
	Event event = event_of(TYPE(INSTANT), track);
	Packet packet = packet_of(SEQUENCE_LOST);

	stop_running(pf, item->record->ns, track);
	note.name_field_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__NAME_FIELD_NAME;
	note.name = (char *)"lost";
	note.value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
	note.uint_value = item->record->lost;
	event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME;
	event.name = (char *)"LOST";
	event.debug_annotations = &notes;
	event.n_debug_annotations = 1;
	set_time(pf, &packet, item->record->ns);
	packet.has_previous_packet_dropped = TRUE;
	packet.previous_packet_dropped = 1;
	packet.track_event = &event;
	put(pf, &packet);
}

static void put_boot(Pf *pf, const RsTraceExportItem *item)
{
	guint64 track = cpu_track(pf, item, RS_TRACK_CPU);
	g_autofree char *name = g_strdup_printf("boot %u", item->record->when.boot);
	Event event = event_of(TYPE(INSTANT), track);

	stop_running(pf, item->record->ns, track);
	event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME;
	event.name = name;
	put_event(pf, item->record->ns, &event);
}

/* ---- the format ---- */

static void pf_free(gpointer self)
{
	Pf *pf = self;

	rs_spans_free(pf->spans);
	g_byte_array_unref(pf->out);
	g_hash_table_unref(pf->tracks);
	g_hash_table_unref(pf->running);
	rs_pf_notes_clear(&pf->notes);
	g_free(pf);
}

static gpointer pf_open(const RsTraceExportConfig *config, GError **error)
{
	/* No field can have a dot in its name. */
	static const char *const names[] = {"ringside.cpu", "ringside.flags", "ringside.cut", "id",
					    "raw"};
	RsSpans *spans = rs_spans_new(config, g_free, error);
	Pf *pf;

	if (!spans)
		return NULL;
	pf = g_new0(Pf, 1);
	pf->config = config;
	pf->spans = spans;
	pf->origin = config->header->origin_ns;
	pf->out = g_byte_array_sized_new(2 * RS_TRACE_EXPORT_BUFFER);
	pf->tracks = rs_tracks_new();
	pf->running = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	rs_pf_notes_init(&pf->notes);
	put_clocks(pf);
	intern_notes(pf, names, G_N_ELEMENTS(names));
	return pf;
}

static gboolean pf_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Pf *pf = self;

	if (item->record->kind == RS_TRACE_RECORD_LOSS)
		put_loss(pf, item);
	else if (item->record->kind == RS_TRACE_RECORD_BOOT)
		put_boot(pf, item);
	else if (item->record->event)
		put_known(pf, item);
	else
		put_unknown(pf, item);
	return flush(pf, RS_TRACE_EXPORT_BUFFER, error);
}

static guint64 pf_too_deep(gpointer self)
{
	return rs_spans_too_deep(((Pf *)self)->spans);
}

static gboolean pf_close(gpointer self, GError **error)
{
	return flush(self, 1, error);
}

const RsTraceExportFormat rs_trace_export_perfetto = {
	.name = "perfetto",
	.summary = N_("Perfetto's protobuf: ui.perfetto.dev, trace_processor"),
	.suffix = ".pftrace",
	.open = pf_open,
	.record = pf_record,
	.close = pf_close,
	.too_deep = pf_too_deep,
	.free = pf_free,
};
