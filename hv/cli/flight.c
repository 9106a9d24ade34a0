/* SPDX-License-Identifier: MIT */
#include "cli/flight.h"

#include "cli/observe.h"
#include "cli/event_bell.h"
#include "cli/verb.h"
#include <glib-unix.h>
#include <rs-trace-live.h>
#include <signal.h>

#define LOOK_MS 20 /* between two looks at the guests' boots */

/* A source whose rings would be written. */
struct seen {
	RsTraceRegion *region;
	struct rs_file_source info;
	char *name;
	bool joined;
	RsTraceSymbolFile *program; /* what the session has of it; NULL: nothing */
	uint32_t boot;
	int recorded; /* its number in the recording; -1: it is not in it */
	int looked;   /* ... by the bell */
	bool reads;   /* the bell does */
	bool gone;
};

struct flight {
	struct rs_observation observation;
	RsDBusSession1 *session;
	const struct rs_flight_config *config;
	GHashTable *panicked; /* names of guests whose panic was told before their end */
	GPtrArray *sources;   /* struct seen *, all that ever came; its region NULL: it has gone */
	struct rs_event_bell *bell;     /* NULL: no event is one */
	struct rs_recording *recording; /* a snapshot that is being written; NULL: none is */
	const char *why;                /* it is */
	gint64 begun;                   /* monotonic us: it was */
	guint after;                    /* timer of its end; 0: none */
	unsigned written;
	int code;
};

/* ---- snapshots ---- */

static void free_seen(gpointer data)
{
	struct seen *seen = data;

	rs_trace_region_free(seen->region);
	rs_trace_symbol_file_unref(seen->program);
	g_free(seen->name);
	g_free(seen);
}

/* What sources that have gone leave is held only while somebody reads it. */
static void drop_gone(struct flight *f)
{
	for (guint i = 0; i < f->sources->len; i++) {
		struct seen *seen = f->sources->pdata[i];

		if (!seen->gone || f->recording || seen->reads)
			continue;
		g_clear_pointer(&seen->region, rs_trace_region_free);
		g_clear_pointer(&seen->program, rs_trace_symbol_file_unref);
	}
}

static void stop(struct flight *f)
{
	f->observation.stopped = true;
	if (f->observation.loop)
		g_main_loop_quit(f->observation.loop);
}

static void end_snapshot(struct flight *f)
{
	RsTraceRecorderStats stats;
	GError *error = NULL;
	int code;

	if (!f->recording)
		return;
	g_clear_handle_id(&f->after, g_source_remove);
	rs_recording_finish(f->recording, &stats, &error);
	code = rs_recording_has_begun(f->recording)
		       ? rs_record_tell(&f->config->record, f->why, &stats,
					(double)(g_get_monotonic_time() - f->begun) / 1e6, error)
		       : RS_CLI_FAILED;
	f->code = f->code ? f->code : code;
	g_clear_pointer(&f->recording, rs_recording_free);
	drop_gone(f);
	f->written++;
	/* A disk that is full now will not have room for the next one. */
	if (code || (f->config->snapshots && f->written >= f->config->snapshots) || f->config->now)
		stop(f);
}

/* The snapshot has all the bytes that it may have, or cannot be written. */
static void on_done(void *data)
{
	end_snapshot(data);
}

static gboolean on_after(gpointer data)
{
	struct flight *f = data;

	f->after = 0;
	end_snapshot(f);
	return G_SOURCE_REMOVE;
}

static void add_source(struct flight *f, struct seen *seen, RsTraceFrom from)
{
	g_autoptr(GError) error = NULL;
	RsTraceSource *pages =
		rs_trace_live_new(seen->region, from,
				  RS_TRACE_LIVE_WHOLE | rs_trace_live_flags(seen->joined), &error);

	if (!pages) {
		rs_cli_fail(0, "%s", error->message);
		return;
	}
	if (f->config->record.symbols && f->config->record.symbols->file)
		rs_trace_live_add_symbols(pages, f->config->record.symbols->file);
	if (seen->program)
		rs_trace_live_add_symbols(pages, seen->program);
	seen->recorded =
		rs_recording_add(f->recording, &seen->region->header, &seen->info, pages, NULL);
}

/* While one is being written, it has what others would have. */
static void begin_snapshot(struct flight *f, const char *why)
{
	struct rs_recording_config recording = f->config->record.recording;

	if (f->recording || f->observation.stopped)
		return;
	recording.done = on_done;
	recording.data = f;
	f->recording = rs_recording_new(&recording);
	f->why = why;
	f->begun = g_get_monotonic_time();
	for (guint i = 0; i < f->sources->len; i++) {
		struct seen *seen = f->sources->pdata[i];

		seen->recorded = -1;
		if (!seen->gone)
			add_source(f, seen, RS_TRACE_FROM_OLDEST);
	}
	rs_recording_start(f->recording);
	if (f->config->after > 0)
		f->after = g_timeout_add((guint)(f->config->after * 1000), on_after, f);
	else
		end_snapshot(f);
}

/* ---- triggers ---- */

static void on_event(void *data)
{
	begin_snapshot(data, "event");
}

static gboolean on_usr1(gpointer data)
{
	begin_snapshot(data, "signal");
	return G_SOURCE_CONTINUE;
}

static gboolean on_look(gpointer data)
{
	struct flight *f = data;
	bool booted = false;

	for (guint i = 0; i < f->sources->len; i++) {
		struct seen *seen = f->sources->pdata[i];
		struct rs_guest_info info;

		if (seen->gone || !rs_trace_region_guest_info(seen->region, &info, NULL))
			continue;
		booted |= seen->boot && info.boot != seen->boot;
		seen->boot = info.boot;
	}
	if (booted)
		begin_snapshot(f, "reset");
	return G_SOURCE_CONTINUE;
}

/* One whose machine goes on, for now. */
static void panicked(const char *name, void *data)
{
	struct flight *f = data;

	if (!f->config->panic)
		return;
	g_hash_table_add(f->panicked, g_strdup(name));
	begin_snapshot(f, "panic");
}

static bool is_panic(const char *reason)
{
	return g_str_equal(reason, "panic") || g_str_equal(reason, "triple-fault");
}

/* What ran it has gone: a QEMU that was killed, a program with a bad pointer. */
static bool is_crash(const char *reason)
{
	return g_str_equal(reason, "gone") || g_str_equal(reason, "fault");
}

/*
 * Of processes that joined nobody knows how they ended. In a guest anybody may have one, which says
 * what it likes, as often as it likes.
 */
static bool has_joined(const struct flight *f, const char *name)
{
	for (guint i = 0; i < f->sources->len; i++) {
		const struct seen *seen = f->sources->pdata[i];

		if (seen->joined && g_str_equal(seen->name, name))
			return true;
	}
	return false;
}

static void ended(const char *name, const char *reason, void *data)
{
	struct flight *f = data;

	if (has_joined(f, name))
		return;
	/* Once for each panic. */
	if (f->config->panic && is_panic(reason) && !g_hash_table_contains(f->panicked, name))
		begin_snapshot(f, "panic");
	else if (f->config->panic && is_crash(reason))
		begin_snapshot(f, "crash");
	else if (f->config->reset && g_str_equal(reason, "reset"))
		begin_snapshot(f, "reset");
}

/* ---- sources ---- */

static int come(const char *name, const RsTraceClientSource *source, RsTraceRegion *region,
		RsTraceFrom from, void *data)
{
	struct flight *f = data;
	struct seen *seen = g_new0(struct seen, 1);

	seen->region = region;
	seen->name = g_strdup(source->name);
	seen->joined = source->joined;
	seen->recorded = seen->looked = -1;
	rs_record_describe(&seen->info, source->number, source->name, source->kind,
			   source->machine);
	if (f->config->record.symbols)
		seen->program = rs_trace_client_open_symbols(f->session, source->number, NULL);
	g_ptr_array_add(f->sources, seen);
	if (f->recording)
		add_source(f, seen, from);
	if (f->bell)
		seen->looked = rs_event_bell_add(f->bell, source->name, source->number, region,
						 rs_trace_live_flags(source->joined), &seen->reads);
	return (int)f->sources->len - 1;
}

static void gone(int number, void *data)
{
	struct flight *f = data;
	struct seen *seen = f->sources->pdata[number];

	seen->gone = true;
	if (f->recording && seen->recorded >= 0)
		rs_recording_end(f->recording, seen->recorded);
	if (f->bell)
		rs_event_bell_end(f->bell, seen->looked);
	drop_gone(f);
}

static void begin(void *data)
{
	struct flight *f = data;

	if (f->config->now)
		begin_snapshot(f, "snapshot");
	if (f->bell)
		rs_event_bell_start(f->bell);
}

static void hurry(void *data)
{
	rs_recording_file_hurry(((struct flight *)data)->config->record.recording.file);
}

static int finish(struct flight *f)
{
	g_autoptr(GError) error = NULL;

	end_snapshot(f);
	if (f->bell && !rs_event_bell_finish(f->bell, &error) && !f->written && !f->code)
		f->code = rs_cli_fail(RS_CLI_FAILED, "--on event: %s", error->message);
	if (!f->code && f->observation.lost && !f->observation.stopped)
		f->code = rs_cli_fail(RS_CLI_FAILED, "the session went away");
	if (!f->written && !f->code && !f->config->record.quiet)
		rs_cli_fail(0, "nothing happened, and nothing was written");
	return f->code;
}

int rs_flight(RsDBusSession1 *session, const struct rs_flight_config *config)
{
	struct flight f = {
		.observation = {.come = come,
				.gone = gone,
				.ended = ended,
				.panicked = panicked,
				.begin = begin,
				.hurry = hurry,
				.data = &f},
		.session = session,
		.config = config,
	};
	g_autoptr(GError) error = NULL;
	guint sources[2] = {0};

	if (config->events) {
		f.bell = rs_event_bell_new((const char *const *)config->events, on_event, &f,
					   &error);
		if (!f.bell)
			return rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
	}
	f.panicked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	f.sources = g_ptr_array_new_with_free_func(free_seen);
	if (config->signal)
		sources[0] = g_unix_signal_add(SIGUSR1, on_usr1, &f);
	if (config->reset)
		sources[1] = g_timeout_add(LOOK_MS, on_look, &f);
	rs_cli_observe(session, RS_TRACE_FROM_OLDEST, config->record.duration, &f.observation);
	for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
		g_clear_handle_id(&sources[i], g_source_remove);
	finish(&f);
	rs_event_bell_free(f.bell);
	g_ptr_array_unref(f.sources);
	g_hash_table_unref(f.panicked);
	return f.code;
}
