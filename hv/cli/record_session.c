/* SPDX-License-Identifier: MIT */
#include "cli/record_session.h"

#include "cli/observe.h"
#include "cli/recording_report.h"
#include "cli/verb.h"
#include <glib-unix.h>
#include <rs-trace-live.h>
#include <stdio.h>

struct recorder {
	struct rs_observation observation;
	const struct rs_record_config *config;
	struct rs_recording *recording;
	bool failed;
	RsDBusSession1 *session;
};

void rs_record_describe(struct rs_file_source *out, uint32_t number, const char *name,
			const char *kind, uint32_t machine)
{
	*out = (struct rs_file_source){.number = number, .machine = machine};
	g_strlcpy(out->name, name, sizeof(out->name));
	g_strlcpy(out->kind, kind, sizeof(out->kind));
}

static void on_done(void *data)
{
	struct recorder *r = data;

	r->observation.stopped = true;
	g_main_loop_quit(r->observation.loop);
}

static gboolean on_usr1(gpointer data)
{
	rs_cli_fail(0, "SIGUSR1 makes a snapshot only with --on signal: the recording goes on");
	return G_SOURCE_CONTINUE;
}

static int come(const char *name, const RsTraceClientSource *source, RsTraceRegion *region,
		RsTraceFrom from, void *data)
{
	struct recorder *r = data;
	const struct rs_region_header header = region->header;
	g_autoptr(GError) error = NULL;
	struct rs_file_source info;
	RsTraceSource *pages;
	int number;

	pages = rs_trace_live_new_take(
		region, from, RS_TRACE_LIVE_WHOLE | rs_trace_live_flags(source->joined), &error);
	if (!pages) {
		rs_cli_fail(0, "%s: %s", name, error->message);
		return -1;
	}
	if (r->config->symbols)
		rs_cli_symbols_give(r->config->symbols, r->session, source->number, pages);
	rs_record_describe(&info, source->number, source->name, source->kind, source->machine);
	number = rs_recording_add(r->recording, &header, &info, pages, NULL);
	r->failed |= number < 0;
	if (r->failed)
		on_done(r);
	return number;
}

static void gone(int number, void *data)
{
	rs_recording_end(((struct recorder *)data)->recording, number);
}

static void begin(void *data)
{
	rs_recording_start(((struct recorder *)data)->recording);
}

static void hurry(void *data)
{
	rs_recording_file_hurry(((struct recorder *)data)->config->recording.file);
}

int rs_record_tell(const struct rs_record_config *config, const char *why,
		   const RsTraceRecorderStats *stats, double seconds, GError *error)
{
	g_autofree char *path = rs_recording_file_path(config->recording.file);
	g_autofree char *label = rs_recording_file_label(config->recording.file, stats->files);
	g_autofree char *text = config->json ? rs_recording_json(stats, path, why, seconds)
					     : rs_recording_text(stats);
	int code = RS_CLI_OK;

	if (error)
		code = rs_cli_fail(
			RS_CLI_FAILED,
			"%s: %s: what was written by then can be read, %" G_GUINT64_FORMAT
			" events or more were not written",
			path, error->message, stats->refused);
	g_clear_error(&error);
	if (stats->full)
		rs_cli_fail(0, "%s has all the bytes that it may have: the recording ends", path);
	if (config->json)
		printf("%s\n", text);
	else if (!config->quiet)
		g_printerr("%s: %s%s%s, %.1f s\n", label, why ? why : "", why ? ": " : "", text,
			   seconds);
	return code;
}

static int finish(struct recorder *r, double seconds)
{
	RsTraceRecorderStats stats;
	GError *error = NULL;
	int code;

	if (!rs_recording_has_begun(r->recording))
		return r->failed ? RS_CLI_FAILED
				 : rs_cli_fail(RS_CLI_FAILED,
					       "no source came, and nothing was recorded");
	rs_recording_finish(r->recording, &stats, &error);
	code = rs_record_tell(r->config, NULL, &stats, seconds, error);
	if (code == RS_CLI_OK && r->observation.lost && !r->observation.stopped)
		code = rs_cli_fail(RS_CLI_FAILED, "the session went away");
	return code;
}

int rs_record_session(RsDBusSession1 *session, const struct rs_record_config *config)
{
	struct rs_recording_config recording = config->recording;
	const gint64 begun = g_get_monotonic_time();
	struct rs_recording_meter *meter = NULL;
	const guint usr1 = g_unix_signal_add(SIGUSR1, on_usr1, NULL);
	struct recorder r = {
		.observation =
			{.come = come, .gone = gone, .begin = begin, .hurry = hurry, .data = &r},
		.config = config,
		.session = session,
	};
	int code;

	recording.done = on_done;
	recording.data = &r;
	r.recording = rs_recording_new(&recording);
	if (config->progress)
		meter = rs_recording_meter_new(r.recording);
	rs_cli_observe(session, config->from, config->duration, &r.observation);
	rs_recording_meter_free(meter);
	code = finish(&r, (double)(g_get_monotonic_time() - begun) / 1e6);
	rs_recording_free(r.recording);
	g_source_remove(usr1);
	return code;
}
