/* SPDX-License-Identifier: MIT */
#include "cli/run_recording.h"

#include "cli/record_session.h"
#include "cli/verb.h"
#include <rs-trace-live.h>

struct rs_run_recording {
	struct rs_run_recording_config config;
	struct rs_recording *recording; /* NULL: it has ended */
	GHashTable *consumers;          /* source → RsTraceConsumers */
	GHashTable *held;               /* source → its number in the recording */
	gint64 begun;
	int code; /* of its end */
};

static void on_ended(void *source, void *data)
{
	struct rs_run_recording *r = data;

	g_hash_table_remove(r->consumers, source);
	if (g_hash_table_remove(r->held, source))
		rs_source_release(source);
}

static void release_all(struct rs_run_recording *r)
{
	g_autoptr(GList) sources = g_hash_table_get_keys(r->held);

	for (const GList *at = sources; at; at = at->next)
		on_ended(at->data, r);
}

/* Afterwards it holds nothing up: no source, and no ring that others read. */
static void end(struct rs_run_recording *r)
{
	const struct rs_record_config config = {
		.recording = r->config.recording,
		.quiet = r->config.quiet,
	};
	const double seconds = (double)(g_get_monotonic_time() - r->begun) / 1e6;
	RsTraceRecorderStats stats;
	GError *error = NULL;

	if (!r->recording)
		return;
	rs_recording_finish(r->recording, &stats, &error);
	if (rs_recording_has_begun(r->recording))
		r->code = rs_record_tell(&config, NULL, &stats, seconds, error);
	g_clear_pointer(&r->recording, rs_recording_free);
	release_all(r);
}

/* The session goes on without it. */
static void on_done(void *data)
{
	end(data);
}

int rs_run_recording_open(const struct rs_run_recording_config *config,
			  struct rs_run_recording **out)
{
	struct rs_recording_config recording = config->recording;
	struct rs_run_recording *r;
	struct rs_error err = {0};

	if (rs_recording_file_open(&config->file, &recording.file, &err))
		return rs_cli_fail_error(&err);
	r = g_new0(struct rs_run_recording, 1);
	recording.ended = on_ended;
	recording.done = on_done;
	recording.data = r;
	recording.consumes = true;
	r->config = *config;
	r->config.recording = recording;
	r->recording = rs_recording_new(&recording);
	r->consumers =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)rs_trace_consumers_unref);
	r->held = g_hash_table_new(NULL, NULL);
	r->begun = g_get_monotonic_time();
	*out = r;
	return 0;
}

RsTraceConsumers *rs_run_recording_consumers(struct rs_run_recording *r, struct rs_source *source)
{
	RsTraceConsumers *consumers;

	if (!r || !r->recording)
		return NULL;
	consumers = g_hash_table_lookup(r->consumers, source);
	if (!consumers) {
		consumers = rs_trace_consumers_new(rs_source_region(source));
		g_hash_table_insert(r->consumers, source, consumers);
	}
	return consumers;
}

int rs_run_recording_add(struct rs_run_recording *r, struct rs_source *source, RsTraceFrom from)
{
	const RsTraceLiveFlags flags = RS_TRACE_LIVE_OWNER | RS_TRACE_LIVE_WHOLE |
				       (r && !r->config.alone ? RS_TRACE_LIVE_UNARMED : 0) |
				       rs_trace_live_flags(rs_source_joined(source));
	const struct rs_source *machine;
	struct rs_file_source info;
	g_autoptr(GError) error = NULL;
	const RsTraceRegion *region;
	RsTraceSource *pages;
	int number;

	if (!r || !r->recording || g_hash_table_contains(r->held, source))
		return 0;
	region = rs_source_region(source);
	pages = rs_trace_live_new_beside(region, rs_run_recording_consumers(r, source), from, flags,
					 &error);
	if (!pages)
		return rs_cli_fail(RS_CLI_FAILED, "%s", error->message);
	if (r->config.symbols)
		rs_cli_symbols_give_own(r->config.symbols, source, pages);
	machine = rs_source_machine(source);
	rs_record_describe(&info, rs_source_number(source), rs_source_name(source),
			   rs_source_kind(source), machine ? rs_source_number(machine) : 0);
	number = rs_recording_add(r->recording, &region->header, &info, pages, source);
	if (number < 0)
		return RS_CLI_FAILED;
	rs_source_hold(source);
	g_hash_table_insert(r->held, source, GINT_TO_POINTER(number));
	return 0;
}

void rs_run_recording_start(struct rs_run_recording *r)
{
	if (r && r->recording)
		rs_recording_start(r->recording);
}

void rs_run_recording_end(struct rs_run_recording *r, struct rs_source *source)
{
	gpointer number;

	if (r && r->recording && g_hash_table_lookup_extended(r->held, source, NULL, &number))
		rs_recording_end(r->recording, GPOINTER_TO_INT(number));
}

bool rs_run_recording_reads(const struct rs_run_recording *r)
{
	return r && r->recording;
}

void rs_run_recording_ring_mode(struct rs_run_recording *r, uint32_t mode)
{
	if (rs_run_recording_reads(r) && mode == RS_MODE_DROP)
		rs_recording_set_urgent(r->recording);
}

void rs_run_recording_wake(struct rs_run_recording *r)
{
	if (r && r->recording)
		rs_recording_wake(r->recording);
}

void rs_run_recording_hurry(struct rs_run_recording *r)
{
	if (r && r->recording)
		rs_recording_file_hurry(r->config.recording.file);
}

int rs_run_recording_finish(struct rs_run_recording *r)
{
	int code;

	if (!r)
		return 0;
	end(r);
	code = r->code;
	rs_recording_file_free(r->config.recording.file);
	g_hash_table_unref(r->consumers);
	g_hash_table_unref(r->held);
	g_free(r);
	return code;
}
