/* SPDX-License-Identifier: MIT */
#include "cli/trigger_snapshot.h"

#include "cli/record_session.h"
#include <errno.h>
#include <rs-trace-live.h>

/* What the rings hold, twice, since guests write on; and descriptions, clocks and names. */
#define MORE_BYTES (64ull << 20)

struct rs_trigger_snapshot {
	struct rs_recording *recording;
	struct rs_recording_config config;
	GPtrArray *held; /* of struct rs_source: those that are still read */
	char *why;
	gint64 begun;
	guint telling; /* id of a GLib source; 0: none */
	void (*done)(void *data);
	void *data;
};

static gboolean tell_done(gpointer data)
{
	struct rs_trigger_snapshot *snapshot = data;

	snapshot->telling = 0;
	snapshot->done(snapshot->data);
	return G_SOURCE_REMOVE;
}

/* Not out of the recording's own call. */
static void on_done(void *data)
{
	struct rs_trigger_snapshot *snapshot = data;

	if (!snapshot->telling)
		snapshot->telling = g_idle_add(tell_done, snapshot);
}

static void on_read(void *source, void *data)
{
	struct rs_trigger_snapshot *snapshot = data;

	if (g_ptr_array_remove(snapshot->held, source))
		rs_source_release(source);
	if (!snapshot->held->len)
		on_done(snapshot);
}

/* A ring may hold what it held before its size changed, too. */
static uint64_t ring_bytes(struct rs_session *session)
{
	uint64_t bytes = 0;

	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		const struct rs_source *source = rs_session_source(session, i);

		bytes += rs_source_ring_bytes(source) *
			 rs_source_region(source)->header.ring_count *
			 (rs_source_ring_max(source) ? 2 : 1);
	}
	return bytes;
}

static int add_source(struct rs_trigger_snapshot *snapshot, struct rs_source *source,
		      const struct rs_cli_symbols *symbols, struct rs_error *err)
{
	const RsTraceRegion *region = rs_source_region(source);
	const struct rs_source *machine = rs_source_machine(source);
	RsTraceSource *pages = rs_trace_live_new(
		region, RS_TRACE_FROM_OLDEST,
		RS_TRACE_LIVE_WHOLE | rs_trace_live_flags(rs_source_joined(source)), NULL);
	struct rs_file_source info;
	int number;

	/* A region whose memory was cut has nothing to be kept. */
	if (!pages)
		return 0;
	if (symbols)
		rs_cli_symbols_give_own(symbols, source, pages);
	rs_record_describe(&info, rs_source_number(source), rs_source_name(source),
			   rs_source_kind(source), machine ? rs_source_number(machine) : 0);
	number = rs_recording_add(snapshot->recording, &region->header, &info, pages, source);
	if (number < 0)
		return rs_error_set(err, EIO, "%s", rs_recording_problem(snapshot->recording));
	rs_source_hold(source);
	g_ptr_array_add(snapshot->held, source);
	/* What is there is wanted, and no more. */
	rs_recording_end(snapshot->recording, number);
	return 0;
}

static void destroy(struct rs_trigger_snapshot *snapshot)
{
	g_clear_handle_id(&snapshot->telling, g_source_remove);
	rs_recording_free(snapshot->recording);
	for (guint i = 0; i < snapshot->held->len; i++)
		rs_source_release(snapshot->held->pdata[i]);
	g_ptr_array_unref(snapshot->held);
	rs_recording_file_free(snapshot->config.file);
	g_free(snapshot->why);
	g_free(snapshot);
}

int rs_trigger_snapshot_new(struct rs_session *session, const char *path, const char *why,
			    const struct rs_cli_symbols *symbols, void (*done)(void *data),
			    void *data, struct rs_trigger_snapshot **out, struct rs_error *err)
{
	const struct rs_recording_file_config file = {.path = path, .numbered = true};
	struct rs_trigger_snapshot *snapshot = g_new0(struct rs_trigger_snapshot, 1);
	int ret;

	snapshot->config =
		(struct rs_recording_config){.max_bytes = 2 * ring_bytes(session) + MORE_BYTES,
					     .ended = on_read,
					     .done = on_done,
					     .data = snapshot};
	snapshot->why = g_strdup(why);
	snapshot->begun = g_get_monotonic_time();
	snapshot->done = done;
	snapshot->data = data;
	snapshot->held = g_ptr_array_new();
	ret = rs_recording_file_open(&file, &snapshot->config.file, err);
	snapshot->recording = rs_recording_new(&snapshot->config);
	for (guint i = 0; !ret && i < rs_session_n_sources(session); i++)
		ret = add_source(snapshot, rs_session_source(session, i), symbols, err);
	if (!ret && !snapshot->held->len)
		ret = rs_error_set(err, EIO, "no memory is left that was traced");
	if (ret) {
		destroy(snapshot);
		return rs_error_prefix(err, "the snapshot was not written");
	}
	rs_recording_start(snapshot->recording);
	*out = snapshot;
	return 0;
}

char *rs_trigger_snapshot_finish(struct rs_trigger_snapshot *snapshot)
{
	RsTraceRecorderStats stats;
	GError *error = NULL;
	char *problem = NULL;

	if (!snapshot)
		return NULL;
	rs_recording_finish(snapshot->recording, &stats, &error);
	if (error)
		problem = g_strdup_printf("the snapshot was not written as a whole: %s",
					  error->message);
	rs_record_tell(&(struct rs_record_config){.recording = snapshot->config}, snapshot->why,
		       &stats, (double)(g_get_monotonic_time() - snapshot->begun) / 1e6, error);
	destroy(snapshot);
	return problem;
}
