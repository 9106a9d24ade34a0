/* SPDX-License-Identifier: MIT */
/*
 * The trace event format of chrome://tracing, as an object with an array: times in microseconds
 * with three decimals. Each source has a process of its vCPUs, with a thread for each.
 */
#include "rs-trace-escape.h"
#include "rs-trace-formats-private.h"
#include "rs-trace-json.h"
#include "rs-trace-spans.h"
#include "rs-trace-stack.h"
#include "rs-trace-text.h"

#include <glib/gi18n.h>
#include <string.h>

#define CPUS_PID 0x7f000000 /* of the vCPUs of the first source; those of others follow */

/* The task that runs on a vCPU. */
typedef struct {
	guint64 track;
	guint64 since;
	char *name;
	guint64 pid;
} Running;

typedef struct {
	const RsTraceExportConfig *config;
	RsSpans *spans;
	GString *out;
	GHashTable *tracks;  /* that are told */
	GHashTable *running; /* Running, by track of the vCPU */
	gboolean begun;      /* an event is in the array */
} Chrome;

/* ---- pieces ---- */

static void put_string(GString *out, const char *text, gsize size)
{
	g_string_append_c(out, '"');
	rs_trace_append_json_escaped(out, text, size);
	g_string_append_c(out, '"');
}

static void put_number(GString *out, guint64 value, guint digits)
{
	char buffer[24], *at = buffer + sizeof(buffer);

	for (; digits || value; digits -= digits > 0, value /= 10)
		*--at = (char)('0' + value % 10);
	g_string_append_len(out, at, buffer + sizeof(buffer) - at);
}

static void put_us(GString *out, guint64 ns)
{
	put_number(out, ns / 1000, 1);
	g_string_append_c(out, '.');
	put_number(out, ns % 1000, 3);
}

/* The beginning of an event, up to its place. */
static void begin(Chrome *chrome, const char *phase, gint32 pid, gint32 tid)
{
	GString *out = chrome->out;

	g_string_append(out, chrome->begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	chrome->begun = TRUE;
	g_string_append(out, phase);
	g_string_append(out, "\",\"pid\":");
	put_number(out, (guint32)pid, 1);
	g_string_append(out, ",\"tid\":");
	put_number(out, (guint32)tid, 1);
}

static void put_time(Chrome *chrome, guint64 ns)
{
	g_string_append(chrome->out, ",\"ts\":");
	put_us(chrome->out, ns);
}

static void put_name(Chrome *chrome, const char *name)
{
	g_string_append(chrome->out, ",\"name\":");
	put_string(chrome->out, name, strlen(name));
}

/* ---- tracks ---- */

static void put_metadata(Chrome *chrome, const char *what, gint32 pid, gint32 tid, const char *name)
{
	begin(chrome, "M", pid, tid);
	put_name(chrome, what);
	g_string_append(chrome->out, ",\"args\":{\"name\":");
	put_string(chrome->out, name, strlen(name));
	g_string_append(chrome->out, "}}");
}

typedef struct {
	gint32 pid, tid;
} Place;

static Place place_of_cpu(Chrome *chrome, const RsTraceExportItem *item, gboolean idle)
{
	guint ring = item->record->ring;
	Place place = {(gint32)(CPUS_PID + (item->source_index & 0xffffff)),
		       (gint32)(2 * ring + idle)};
	g_autofree char *name = NULL;

	if (!rs_tracks_is_news(
		    chrome->tracks,
		    rs_track(idle ? RS_TRACK_IDLE : RS_TRACK_CPU, item->source_index, ring), 0, ""))
		return place;
	name = g_strdup_printf("vCPUs of %s", item->source->name);
	put_metadata(chrome, "process_name", place.pid, 0, name);
	g_free(name);
	name = g_strdup_printf(idle ? "vCPU %u: pid 0" : "vCPU %u", ring);
	put_metadata(chrome, "thread_name", place.pid, place.tid, name);
	return place;
}

static Place place_of_task(Chrome *chrome, const RsTraceExportItem *item)
{
	const char *comm = item->task->comm;
	guint32 pid = item->record->pid, tgid = item->task->tgid ? item->task->tgid : pid;
	const guint machine = item->record->origin->machine;
	Place place = {rs_track_pid(machine, tgid), rs_track_pid(machine, pid)};

	if (!pid)
		return place_of_cpu(chrome, item, TRUE);
	if (!rs_tracks_is_news(chrome->tracks, rs_track(RS_TRACK_TASK, item->source_index, pid),
			       tgid, comm))
		return place;
	if (pid == tgid)
		put_metadata(chrome, "process_name", place.pid, place.tid, comm);
	put_metadata(chrome, "thread_name", place.pid, place.tid, comm);
	return place;
}

/* ---- records ---- */

static void put_args(Chrome *chrome, const RsTraceRecord *record)
{
	char flags[5];

	rs_trace_text_flags(record->context, flags);
	g_string_append(chrome->out, ",\"args\":{\"cpu\":");
	put_number(chrome->out, record->ring, 1);
	g_string_append(chrome->out, ",\"flags\":\"");
	g_string_append_len(chrome->out, flags, sizeof(flags));
	g_string_append(chrome->out,
			record->cut ? "\",\"cut\":true,\"fields\":" : "\",\"fields\":");
	rs_trace_json_fields(chrome->out, record);
	rs_trace_stack_json(chrome->out, record);
	g_string_append_c(chrome->out, '}');
}

static void put_end(Chrome *chrome, gint32 pid, gint32 tid, guint64 ns)
{
	begin(chrome, "E", pid, tid);
	put_time(chrome, ns);
	g_string_append_c(chrome->out, '}');
}

static void stop_running(Chrome *chrome, const RsTraceExportItem *item)
{
	guint64 track = rs_track(RS_TRACK_CPU, item->source_index, item->record->ring);
	Running *running = g_hash_table_lookup(chrome->running, &track);
	guint64 ns = item->record->ns;
	Place place;

	if (!running)
		return;
	place = place_of_cpu(chrome, item, FALSE);
	begin(chrome, "X", place.pid, place.tid);
	put_time(chrome, running->since);
	g_string_append(chrome->out, ",\"dur\":");
	put_us(chrome->out, ns > running->since ? ns - running->since : 0);
	put_name(chrome, running->name);
	g_string_append(chrome->out, ",\"args\":{\"pid\":");
	put_number(chrome->out, running->pid, 1);
	g_string_append(chrome->out, "}}");
	g_hash_table_remove(chrome->running, &track);
}

static void put_switch(Chrome *chrome, const RsTraceExportItem *item, const RsSpanClass *class)
{
	Running *running;
	guint64 pid;

	stop_running(chrome, item);
	if (!rs_spans_value(item->record, class->next_pid, &pid) || !pid)
		return;
	running = g_new0(Running, 1);
	running->track = rs_track(RS_TRACK_CPU, item->source_index, item->record->ring);
	running->since = item->record->ns;
	running->pid = pid;
	running->name = rs_spans_comm(item->record, class->next_comm, pid);
	g_hash_table_add(chrome->running, running);
}

static void put_counter(Chrome *chrome, const RsTraceExportItem *item, const RsSpanClass *class)
{
	const RsTraceField *field = &item->record->event->fields[class->counter];
	Place place = place_of_cpu(chrome, item, FALSE);
	guint64 value;

	if (!rs_spans_value(item->record, class->counter, &value))
		return;
	begin(chrome, "C", place.pid, 0);
	put_time(chrome, item->record->ns);
	put_name(chrome, class->counter_name);
	g_string_append(chrome->out, ",\"args\":{\"value\":");
	if (field->is_signed && (gint64)value < 0) {
		g_string_append_c(chrome->out, '-');
		value = -value;
	}
	put_number(chrome->out, value, 1);
	g_string_append(chrome->out, "}}");
}

static void put_event(Chrome *chrome, const RsTraceExportItem *item)
{
	static const char *const phases[] = {"i", "B", "E"};
	const RsTraceRecord *record = item->record;
	RsSpanClass *class = record->event ? rs_spans_class(chrome->spans, record->event) : NULL;
	Place place = place_of_task(chrome, item);
	RsSpanStep step = {.phase = RS_SPAN_INSTANT, .process = place.pid};
	RsSpanPhase phase;

	if (class)
		step = rs_spans_step(chrome->spans, rs_track_of(item), place.pid, class);
	phase = step.phase;
	for (; step.inside; step.inside--)
		put_end(chrome, step.processes[step.inside - 1], place.tid, record->ns);
	/* A viewer finds an end's begin by both, and the thread group may have become known. */
	begin(chrome, phases[phase], step.process, place.tid);
	put_time(chrome, record->ns);
	put_name(chrome, !class ? "unknown" : phase == RS_SPAN_INSTANT ? class->name : class->span);
	if (class) {
		g_string_append(chrome->out, ",\"cat\":\"");
		g_string_append(chrome->out, record->event->system);
		g_string_append_c(chrome->out, '"');
	}
	if (phase == RS_SPAN_INSTANT)
		g_string_append(chrome->out, ",\"s\":\"t\"");
	put_args(chrome, record);
	g_string_append_c(chrome->out, '}');
	if (class && class->counter >= 0)
		put_counter(chrome, item, class);
	if (class && class->next_pid >= 0)
		put_switch(chrome, item, class);
}

/* A loss or a boot, after which nobody knows what runs. */
static void put_note(Chrome *chrome, const RsTraceExportItem *item)
{
	const RsTraceRecord *record = item->record;
	gboolean loss = record->kind == RS_TRACE_RECORD_LOSS;
	Place place = place_of_cpu(chrome, item, FALSE);

	stop_running(chrome, item);
	begin(chrome, "i", place.pid, place.tid);
	put_time(chrome, record->ns);
	put_name(chrome, loss ? "LOST" : "BOOT");
	g_string_append(chrome->out, loss ? ",\"s\":\"t\",\"args\":{\"lost\":"
					  : ",\"s\":\"p\",\"args\":{\"boot\":");
	put_number(chrome->out, loss ? record->lost : record->when.boot, 1);
	g_string_append(chrome->out, "}}");
}

/* ---- the format ---- */

static void running_free(gpointer data)
{
	g_free(((Running *)data)->name);
	g_free(data);
}

static void chrome_free(gpointer self)
{
	Chrome *chrome = self;

	rs_spans_free(chrome->spans);
	g_string_free(chrome->out, TRUE);
	g_hash_table_unref(chrome->tracks);
	g_hash_table_unref(chrome->running);
	g_free(chrome);
}

static gpointer chrome_open(const RsTraceExportConfig *config, GError **error)
{
	RsSpans *spans = rs_spans_new(config, NULL, error);
	Chrome *chrome;

	if (!spans)
		return NULL;
	chrome = g_new0(Chrome, 1);
	chrome->config = config;
	chrome->spans = spans;
	chrome->out = g_string_sized_new(2 * RS_TRACE_EXPORT_BUFFER);
	chrome->tracks = rs_tracks_new();
	chrome->running = g_hash_table_new_full(g_int64_hash, g_int64_equal, running_free, NULL);
	g_string_append_printf(chrome->out,
			       "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tracer\":\"ringside\","
			       "\"wall_ns\":\"%" G_GUINT64_FORMAT "\"},\"traceEvents\":[",
			       config->header->wall_ns);
	return chrome;
}

static gboolean chrome_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Chrome *chrome = self;

	if (item->record->kind == RS_TRACE_RECORD_EVENT)
		put_event(chrome, item);
	else
		put_note(chrome, item);
	return chrome->out->len < RS_TRACE_EXPORT_BUFFER ||
	       rs_trace_export_flush(chrome->config, chrome->out, error);
}

static guint64 chrome_too_deep(gpointer self)
{
	return rs_spans_too_deep(((Chrome *)self)->spans);
}

/* What still runs has no end, so it is a slice that begins. */
static gboolean chrome_close(gpointer self, GError **error)
{
	Chrome *chrome = self;
	GHashTableIter iter;
	gpointer key;

	g_hash_table_iter_init(&iter, chrome->running);
	while (g_hash_table_iter_next(&iter, &key, NULL)) {
		const Running *running = key;

		begin(chrome, "B", (gint32)(CPUS_PID + (running->track >> 32 & 0xffffff)),
		      (gint32)(2 * (guint32)running->track));
		put_time(chrome, running->since);
		put_name(chrome, running->name);
		g_string_append(chrome->out, ",\"args\":{\"pid\":");
		put_number(chrome->out, running->pid, 1);
		g_string_append(chrome->out, "}}");
	}
	g_string_append(chrome->out, "\n]}\n");
	return rs_trace_export_flush(chrome->config, chrome->out, error);
}

const RsTraceExportFormat rs_trace_export_chrome = {
	.name = "chrome",
	.is_text = TRUE,
	.summary = N_("Chrome's trace event JSON: chrome://tracing, ui.perfetto.dev, speedscope"),
	.suffix = ".json",
	.open = chrome_open,
	.record = chrome_record,
	.close = chrome_close,
	.too_deep = chrome_too_deep,
	.free = chrome_free,
};
