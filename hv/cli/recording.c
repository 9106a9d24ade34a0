/* SPDX-License-Identifier: MIT */
#include "cli/recording.h"

#include "cli/verb.h"
#include <rs-trace-pump.h>
#include <time.h>

struct rs_recording {
	struct rs_recording_config config;
	RsTracePump *pump;
	RsTraceSink *recorder; /* of the pump; NULL: no source came so far */
	GPtrArray *sources;    /* struct source * */
	char *problem;         /* why the file could not be opened; NULL: it was, or is to be */
	bool begun;            /* sources may be read */
	bool reads;            /* the pump does */
	bool urgent;           /* full rings refuse records until it has read them */
};

struct source {
	struct rs_file_source info;
	void *source; /* for `ended` */
};

/* The wall's clock where the trace's clock is 0, and which boot of this machine it is. */
static void set_clock(RsTraceWriterConfig *file)
{
	g_autofree char *text = NULL;
	struct timespec wall;
	guint64 now, mono = (guint64)g_get_monotonic_time() * 1000;
	guint at = 0;

	clock_gettime(CLOCK_REALTIME, &wall);
	now = (guint64)wall.tv_sec * 1000000000 + (guint64)wall.tv_nsec;
	file->wall_ns = now - (mono - file->origin_ns);
	if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
		return;
	for (const char *c = text; at < 2 * sizeof(file->host_boot) && *c; c++) {
		if (!g_ascii_isxdigit(*c))
			continue;
		file->host_boot[at / 2] |= (guint8)(g_ascii_xdigit_value(*c) << (at % 2 ? 0 : 4));
		at++;
	}
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	*out = ((const struct source *)source)->info;
}

static GOutputStream *next_file(guint64 number, gpointer data, GError **error)
{
	return rs_recording_file_next(((struct rs_recording *)data)->config.file, error);
}

static void on_ended(gpointer source, gpointer data)
{
	struct rs_recording *recording = data;

	if (recording->config.ended)
		recording->config.ended(((struct source *)source)->source, recording->config.data);
}

static void on_done(gpointer data)
{
	struct rs_recording *recording = data;

	if (recording->config.done)
		recording->config.done(recording->config.data);
}

/* The first source tells the origin of time, which all of them share. */
static void open_trace(struct rs_recording *recording, const struct rs_region_header *header)
{
	const struct rs_recording_config *config = &recording->config;
	RsTraceRecorderConfig recorder = {
		.file = {.origin_ns = header->origin_ns, .compression = config->compression},
		.describe = describe,
		.data = recording,
		.window_ms = config->window_ms,
		.max_bytes = config->max_bytes,
		.rotate_bytes = config->rotate_bytes,
		.rotate_ms = config->rotate_ms,
	};
	RsTracePumpConfig pump = {.ended = on_ended, .done = on_done, .data = recording};
	g_autoptr(GError) error = NULL;
	g_autoptr(GOutputStream) stream = rs_recording_file_next(config->file, &error);

	set_clock(&recorder.file);
	if (config->rotate_bytes || config->rotate_ms)
		recorder.next = next_file;
	recorder.stream = stream;
	recording->recorder = pump.sink = stream ? rs_trace_recorder_new(&recorder, &error) : NULL;
	if (!recording->recorder) {
		g_autofree char *path = rs_recording_file_path(config->file);

		recording->problem = g_strdup_printf("%s: %s", path, error->message);
		rs_cli_fail(0, "%s", recording->problem);
		return;
	}
	recording->pump = rs_trace_pump_new(&pump);
}

struct rs_recording *rs_recording_new(const struct rs_recording_config *config)
{
	struct rs_recording *recording = g_new0(struct rs_recording, 1);

	recording->config = *config;
	recording->sources = g_ptr_array_new_with_free_func(g_free);
	return recording;
}

void rs_recording_free(struct rs_recording *recording)
{
	if (!recording)
		return;
	rs_trace_pump_free(recording->pump);
	g_ptr_array_unref(recording->sources);
	g_free(recording->problem);
	g_free(recording);
}

int rs_recording_add(struct rs_recording *recording, const struct rs_region_header *header,
		     const struct rs_file_source *info, RsTraceSource *pages, void *source)
{
	struct source *entry;
	int number;

	if (!recording->pump && !recording->problem)
		open_trace(recording, header);
	if (recording->problem) {
		pages->ops->free(pages);
		return -1;
	}
	entry = g_new0(struct source, 1);
	entry->info = *info;
	entry->info.session_id = header->session_id;
	entry->source = source;
	g_ptr_array_add(recording->sources, entry);
	if (recording->config.consumes && header->ring_mode == RS_MODE_DROP)
		recording->urgent = true;
	if (recording->urgent)
		rs_recording_set_urgent(recording);
	number = (int)rs_trace_pump_add(recording->pump, pages, entry);
	if (recording->begun)
		rs_recording_start(recording);
	return number;
}

const char *rs_recording_problem(const struct rs_recording *recording)
{
	return recording->problem;
}

void rs_recording_start(struct rs_recording *recording)
{
	recording->begun = true;
	if (!recording->pump || recording->reads)
		return;
	recording->reads = true;
	rs_trace_pump_start(recording->pump);
}

void rs_recording_end(struct rs_recording *recording, int number)
{
	rs_trace_pump_end(recording->pump, (guint)number);
}

void rs_recording_set_urgent(struct rs_recording *recording)
{
	recording->urgent = true;
	if (recording->pump)
		rs_trace_pump_set_urgent(recording->pump, !recording->config.compression);
}

void rs_recording_wake(struct rs_recording *recording)
{
	if (recording->pump)
		rs_trace_pump_wake(recording->pump);
}

void rs_recording_progress(const struct rs_recording *recording, RsTraceRecorderStats *out)
{
	*out = (RsTraceRecorderStats){0};
	if (recording->recorder)
		rs_trace_recorder_progress(recording->recorder, out);
}

gboolean rs_recording_finish(struct rs_recording *recording, RsTraceRecorderStats *out,
			     GError **error)
{
	*out = (RsTraceRecorderStats){0};
	if (!recording->pump)
		return TRUE;
	rs_recording_file_end(recording->config.file);
	rs_trace_pump_finish(recording->pump);
	return rs_trace_recorder_result(recording->recorder, out, error);
}

bool rs_recording_has_begun(const struct rs_recording *recording)
{
	return recording->pump != NULL;
}
