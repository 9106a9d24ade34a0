/* SPDX-License-Identifier: MIT */
#include "cli/runner.h"

#include "cli/ends.h"
#include "cli/profile.h"
#include "cli/run_check.h"
#include "cli/run_faults.h"
#include "cli/run_printing.h"
#include "cli/run_signals.h"
#include "cli/run_start.h"
#include "cli/run_triggers.h"
#include "cli/run_wishes.h"
#include "cli/verb.h"
#include "server/server.h"
#include <errno.h>
#include <inttypes.h>

#define STOP_PATIENCE_MS 5000
#define CONSOLE_LOOK_MS 50 /* between two looks whether a console was read */

struct runner {
	const struct rs_runner_config *config;
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_server *server;
	struct rs_run_wishes *wishes;
	struct rs_run_signals *signals;
	struct rs_run_printing *printing;
	struct rs_run_start *start;
	struct rs_run_recording *recording;
	struct rs_run_faults *faults;
	struct rs_run_triggers *triggers;
	GMainLoop *loop;
	guint patience, duration; /* ids of GLib sources; 0: none */
	int code;                 /* exit code of the first failure */
	bool stopping;            /* somebody has asked for the end */
	bool over;                /* the duration is */
	gint64 ran_us;            /* g_get_monotonic_time() then; 0: it is not */
	bool draining;            /* the session has ended, and the rest is printed */
	GHashTable *judged;       /* sources that did not join, whose end has been told */
};

static void fail(struct runner *runner, int code)
{
	if (!runner->code)
		runner->code = code;
	if (runner->code)
		rs_run_start_hush(runner->start);
}

/* ---- the end ---- */

/* Tells the user how a source ended, and notes the exit code. */
static void judge_end(struct runner *runner, const struct rs_source *source)
{
	const struct rs_target_end *end = rs_source_end(source);
	const struct rs_ends_view view = {.name = rs_ends_name(runner->session, source),
					  .quiet = runner->config->quiet,
					  .propagate = runner->config->propagate,
					  .stopping = runner->stopping,
					  .signalled = rs_run_signals_first(runner->signals)};

	/* The source was detached or given up, or its end was told before. */
	if (end && !rs_source_joined(source) && g_hash_table_add(runner->judged, (void *)source))
		fail(runner, rs_ends_tell(end, &view));
}

static void judge_ends(struct runner *runner)
{
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++)
		judge_end(runner, rs_session_source(runner->session, i));
}

static gboolean on_impatient(gpointer data)
{
	struct runner *runner = data;

	runner->patience = 0;
	rs_cli_fail(0, "the guest does not end; leaving it");
	fail(runner, RS_CLI_FAILED);
	g_main_loop_quit(runner->loop);
	return G_SOURCE_REMOVE;
}

static void wind_down(struct runner *runner, const char *why)
{
	if (rs_session_end(runner->session) || runner->config->detach) {
		g_main_loop_quit(runner->loop);
		return;
	}
	if (runner->stopping) {
		/* Asked twice: end at once. */
		g_main_loop_quit(runner->loop);
		return;
	}
	runner->stopping = true;
	runner->patience = g_timeout_add(STOP_PATIENCE_MS, on_impatient, runner);
	rs_session_stop(runner->session, why);
}

static void on_signal(void *data, int signal)
{
	struct runner *runner = data;

	rs_run_printing_hurry(runner->printing);
	rs_run_recording_hurry(runner->recording);
	if (!runner->draining)
		wind_down(runner, rs_ends_why(signal));
}

/* Each source that has ended meanwhile is judged, but the last end is told after the trace. */
static void on_signal_late(void *data)
{
	struct runner *runner = data;

	if (!rs_session_end(runner->session))
		judge_ends(runner);
}

static gboolean on_duration(gpointer data)
{
	struct runner *runner = data;

	runner->duration = 0;
	runner->over = true;
	runner->ran_us = g_get_monotonic_time();
	if (runner->config->core_late)
		rs_session_keep_core_now(runner->session);
	wind_down(runner, "its time is over");
	return G_SOURCE_REMOVE;
}

static void on_printed(void *data)
{
	struct runner *runner = data;

	if (!runner->draining)
		wind_down(runner, "the trace is wanted no longer");
}

static void on_up(void *data)
{
	struct runner *runner = data;

	if (runner->config->check && !runner->draining)
		wind_down(runner, "its events were checked");
}

static void write_result(struct runner *runner)
{
	struct rs_source *source = rs_ends_first(runner->session);
	struct rs_ends_result result = {.over = runner->over,
					.signalled = rs_run_signals_first(runner->signals),
					.agent = source &&
						 rs_run_start_has_greeted(runner->start, source),
					/* Without a word, whatever the exit code is. */
					.matched = rs_run_wishes_look(runner->wishes, NULL)};

	fail(runner,
	     rs_ends_write_first(runner->config->result, runner->session, runner->ran_us, &result));
}

/* ---- from the session ---- */

static void on_message(void *data, const char *text)
{
	rs_cli_fail(0, "%s", text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	struct runner *runner = data;

	/* A guest that is on its way out need not do what was asked before: its end comes. */
	if (runner->stopping)
		return;
	fail(runner, rs_cli_fail_error(err));
	wind_down(runner, "it cannot be traced as asked");
}

static void on_ring_mode(void *data, uint32_t mode)
{
	struct runner *runner = data;

	rs_run_recording_ring_mode(runner->recording, mode);
	fail(runner, rs_run_printing_ring_mode(runner->printing, mode));
}

/*
 * No event of the source can be on yet, so its records are printed in their order. A process that
 * joins now has recorded nothing yet. An earlier session may have left records.
 */
static void on_added(void *data, struct rs_source *source)
{
	struct runner *runner = data;
	RsTraceFrom from = runner->config->from;

	if (rs_source_joined(source) && from != RS_TRACE_FROM_NOW)
		from = RS_TRACE_FROM_START;
	fail(runner, rs_run_recording_add(runner->recording, source, from));
	fail(runner, rs_run_printing_add(runner->printing, source, from));
}

static void on_hello(void *data, struct rs_source *source, const struct rs_guest_info *info)
{
	struct runner *runner = data;

	rs_run_faults_hello(runner->faults, source);
	/* A kernel without an agent, with one process in it, is no reason to name the process. */
	if (rs_run_start_hello(runner->start, source))
		rs_run_printing_name_sources(runner->printing);
}

static void on_doorbell(void *data)
{
	struct runner *runner = data;

	rs_run_printing_wake(runner->printing);
	rs_run_recording_wake(runner->recording);
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct runner *runner = data;

	/* Now, because the source's events go with it. */
	rs_run_wishes_look(runner->wishes, NULL);
	if (rs_source_joined(source)) {
		rs_run_printing_end(runner->printing, source);
		rs_run_recording_end(runner->recording, source);
	}
	/* The last end is told after the trace is printed. */
	if (!rs_run_signals_may_follow(runner->signals, end) && !rs_session_end(runner->session))
		judge_end(runner, source);
	if (rs_session_end(runner->session))
		g_main_loop_quit(runner->loop);
}

/* ---- life ---- */

/* What the user has asked for, as far as it can be known before the guest begins. */
static int wish(struct runner *runner, struct rs_error *err)
{
	const struct rs_runner_config *config = runner->config;
	int ret = rs_run_wishes_ask(runner->wishes, err);

	if (!ret && config->mode != RS_PROFILE_ANY_MODE)
		ret = rs_session_check_ring_mode(runner->session, (uint32_t)config->mode, err);
	if (!ret)
		ret = rs_run_triggers_new(runner->session, config->symbols, config->triggers,
					  &runner->triggers, err);
	return ret;
}

/* Neither file is changed before both are there. Returns an exit code, after a message. */
static int open_outputs(struct runner *runner)
{
	struct rs_error err = {0};

	if (rs_run_printing_open(runner->printing, &err))
		return rs_cli_fail_error(&err);
	return runner->config->record
		       ? rs_run_recording_open(runner->config->record, &runner->recording)
		       : 0;
}

/* Before the printer, so that pages wait for both. Returns an exit code, after a message. */
static int start_recording(struct runner *runner)
{
	int code = 0;

	for (guint i = 0; !code && i < rs_session_n_sources(runner->session); i++)
		code = rs_run_recording_add(runner->recording,
					    rs_session_source(runner->session, i),
					    runner->config->from);
	rs_run_recording_start(runner->recording);
	return code;
}

static int serve(struct runner *runner, struct rs_error *err)
{
	g_autofree char *path = NULL;
	int ret = rs_rundir_file(rs_session_name(runner->session), "sock", &path, err);

	return ret ? ret : rs_server_create(runner->session, path, &runner->server, err);
}

static int begin(struct runner *runner, struct rs_error *err)
{
	const struct rs_runner_config *config = runner->config;
	int ret = wish(runner, err);

	/* A wish that cannot be had leaves files as they were. */
	if (!ret)
		runner->code = open_outputs(runner);
	if (!ret && !runner->code)
		runner->code = start_recording(runner);
	if (runner->code)
		return -ECANCELED;
	if (!ret)
		ret = serve(runner, err);
	if (!ret) {
		fail(runner, rs_run_printing_begin(runner->printing, runner->recording));
		runner->faults = rs_run_faults_new(runner->session, config->faults);
		/* Whoever reads the rings knows where they are before their mode changes. */
		if (config->mode != RS_PROFILE_ANY_MODE)
			ret = rs_session_set_ring_mode(runner->session, (uint32_t)config->mode,
						       err);
		if (!ret)
			ret = rs_run_start_await_caller(runner->start, &runner->stopping, err);
	}
	if (!ret) {
		ret = rs_session_start(runner->session, err);
		/* A missing program must not look like a missing session or event. */
		if (ret == -ENOENT)
			ret = -(err->code = EIO);
	}
	if (!ret && config->started)
		ret = config->started(runner->session, config->claim, err);
	return ret;
}

/*
 * It is a failure if nothing could be traced, unless somebody stopped the guest, perhaps before it
 * had come so far. A trace that has all the events it was asked for also ends so: the agent of a
 * slow source may not have reported by then.
 */
static void judge_trace(struct runner *runner)
{
	const struct rs_target_end *end = rs_session_end(runner->session);
	bool stopped = rs_run_signals_first(runner->signals) ||
		       (end && end->reason == RS_END_KILLED && !runner->stopping);

	if (runner->code || stopped || runner->config->detach)
		return;
	if (!rs_run_start_all_greeted(
		    runner->start, "has no agent, or it never reported: nothing could be traced")) {
		if (!rs_run_printing_is_done(runner->printing))
			fail(runner, RS_CLI_FAILED);
	} else if (!rs_run_wishes_look(runner->wishes, "")) {
		fail(runner, RS_CLI_NOT_FOUND);
	}
}

static gboolean on_tick(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

/* Waits for who reads the consoles of guests that have ended, unless a signal comes. */
static void drain_consoles(struct runner *runner)
{
	guint tick = g_timeout_add(CONSOLE_LOOK_MS, on_tick, NULL);
	struct rs_source_stat stat;
	uint64_t unread;

	for (;;) {
		rs_session_stat(runner->session, &stat);
		if (rs_run_signals_first(runner->signals) || !stat.target.console_waiting)
			break;
		g_main_context_iteration(NULL, TRUE);
	}
	g_source_remove(tick);
	unread = stat.target.console_waiting + stat.target.console_lost;
	if (unread)
		rs_cli_fail(0, "%" PRIu64 " bytes of the guest's console could not be written",
			    unread);
}

static void finish(struct runner *runner)
{
	struct rs_error err = {0};

	fail(runner, rs_run_faults_finish(g_steal_pointer(&runner->faults),
					  !rs_run_signals_first(runner->signals)));
	g_clear_handle_id(&runner->patience, g_source_remove);
	if (!runner->code)
		rs_run_start_look(runner->start);
	if (runner->config->check && rs_run_start_all_greeted(runner->start, NULL))
		fail(runner, rs_run_check_events(runner->session));
	if (runner->config->claim)
		rs_rundir_say(runner->config->claim, RS_TRACE_RUNDIR_ENDING);
	/* First restore the text: a guest that goes on running must be as it was. */
	if (rs_session_detach(runner->session, &err))
		fail(runner, rs_cli_fail_error(&err));
	runner->draining = true;
	rs_run_printing_drain(runner->printing);
	rs_run_triggers_finish(runner->triggers);
	fail(runner, rs_run_printing_finish(runner->printing));
	fail(runner, rs_run_recording_finish(g_steal_pointer(&runner->recording)));
	if (rs_session_end(runner->session))
		drain_consoles(runner);
	rs_run_signals_wait(runner->signals);
	rs_run_start_finish(runner->start);
	judge_ends(runner);
	judge_trace(runner);
	rs_run_printing_summarise(runner->printing);
	if (runner->config->result)
		write_result(runner);
}

/* Signals before all else of the main loop, since peers and guests may keep it busy. */
static void open_parts(struct runner *runner)
{
	const struct rs_runner_config *config = runner->config;
	const struct rs_run_signals_config signals = {
		.came = on_signal, .late = on_signal_late, .data = runner};

	runner->loop = g_main_loop_new(NULL, FALSE);
	runner->judged = g_hash_table_new(NULL, NULL);
	runner->wishes = rs_run_wishes_new(runner->session, config);
	runner->signals = rs_run_signals_new(&signals);
	runner->printing =
		rs_run_printing_new(runner->session, config, runner->signals, on_printed, runner);
	runner->start = rs_run_start_new(runner->session, config, runner->wishes, runner->printing,
					 on_up, runner);
	if (config->duration > 0)
		runner->duration =
			g_timeout_add_full(G_PRIORITY_HIGH, (guint)(config->duration * 1000),
					   on_duration, runner, NULL);
	runner->listener = (struct rs_session_listener){.data = runner,
							.message = on_message,
							.failed = on_failed,
							.ring_mode = on_ring_mode,
							.added = on_added,
							.hello = on_hello,
							.doorbell = on_doorbell,
							.ended = on_ended};
	rs_session_add_listener(runner->session, &runner->listener);
}

static void close_parts(struct runner *runner)
{
	rs_run_printing_free(runner->printing);
	rs_server_destroy(runner->server);
	rs_run_triggers_free(runner->triggers);
	rs_session_remove_listener(runner->session, &runner->listener);
	g_clear_handle_id(&runner->duration, g_source_remove);
	g_clear_handle_id(&runner->patience, g_source_remove);
	rs_run_start_free(runner->start);
	rs_run_signals_free(runner->signals);
	rs_run_wishes_free(runner->wishes);
	g_hash_table_unref(runner->judged);
	g_main_loop_unref(runner->loop);
}

int rs_runner_run(struct rs_session *session, const struct rs_runner_config *config)
{
	struct runner runner = {.config = config, .session = session};
	struct rs_error err = {0};

	rs_session_keep_core(session, config->core);
	open_parts(&runner);
	if (begin(&runner, &err)) {
		if (!runner.code)
			fail(&runner, rs_cli_fail_error(&err));
		rs_run_faults_finish(g_steal_pointer(&runner.faults), false);
		rs_run_recording_finish(g_steal_pointer(&runner.recording));
	} else {
		if (!rs_session_end(session) && !runner.code)
			g_main_loop_run(runner.loop);
		finish(&runner);
	}
	close_parts(&runner);
	rs_session_destroy(session);
	return runner.code;
}
