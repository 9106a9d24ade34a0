/* SPDX-License-Identifier: MIT */
#include "cli/runner.h"

#include "cli/ends.h"
#include "cli/printer.h"
#include "cli/profile.h"
#include "cli/run_faults.h"
#include "cli/run_triggers.h"
#include "cli/summary.h"
#include "cli/verb.h"
#include "server/server.h"
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <poll.h>
#include <rs-trace-escape.h>
#include <rs-trace-live.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STOP_PATIENCE_MS 5000
#define UNHEARD_MS 3000 /* until somebody waits for a guest's agent in vain */
/* Until whoever waits for the start waits no more for an agent. */
#define PROGRAM_UNREADY_MS 3000
#define KERNEL_UNREADY_MS 30000
#define OUTPUT_LOOK_MS 50 /* between two looks whether a signal came */
#define SIGNAL_MS 300     /* between the deaths of a program and of us by one signal, at most */

enum { GLOB_MATCHED = 1, GLOB_MISSED };

enum {
	ON_SIGINT,
	ON_SIGTERM,
	ON_SIGHUP,
	ON_DURATION,
	ON_SETTLED,
	ON_UNHEARD,
	ON_UNREADY,
	ON_SIGNAL_LATE,
	N_WATCHES
};

struct runner {
	const struct rs_runner_config *config;
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_server *server;
	struct rs_printer *printer;
	struct rs_run_recording *recording;
	struct rs_run_faults *faults;
	struct rs_run_triggers *triggers;
	GMainLoop *loop;
	guint watches[N_WATCHES]; /* ids of GLib sources; 0: none */
	guint patience;
	int out_fd;
	int code;      /* exit code of the first failure */
	bool stopping; /* somebody has asked for the end */
	bool over;     /* the duration is */
	gint64 ran_us; /* g_get_monotonic_time() then; 0: it is not */
	int signalled; /* ... by this signal, the first; 0: none came */
	bool draining; /* the session has ended, and the rest is printed */
	bool printer_done;
	guint started;       /* sources that did not join */
	uint32_t first;      /* number of the source that reported first; 0: none has */
	GHashTable *greeted; /* of those, the ones whose agent has reported */
	GHashTable *judged;  /* of those, the ones whose end has been reported to the user */
	GHashTable *printed; /* source → its number in the printer */
	GHashTable *globs;   /* globs that were asked for → GLOB_* */
};

static void fail(struct runner *runner, int code)
{
	if (!runner->code)
		runner->code = code;
}

/* ---- the end ---- */

/* How messages call a source. */
static const char *name_of(const struct runner *runner, const struct rs_source *source)
{
	return runner->started > 1 ? rs_source_name(source) : "the guest";
}

/* Tells the user how a source ended, and notes the exit code. */
static void judge_end(struct runner *runner, const struct rs_source *source)
{
	const struct rs_target_end *end = rs_source_end(source);
	const struct rs_ends_view view = {.name = name_of(runner, source),
					  .quiet = runner->config->quiet,
					  .propagate = runner->config->propagate,
					  .stopping = runner->stopping,
					  .signalled = runner->signalled};

	/* The source was detached or given up, or its end was told before. */
	if (end && !rs_source_joined(source) && g_hash_table_add(runner->judged, (void *)source))
		fail(runner, rs_ends_tell(end, &view));
}

static void judge_ends(struct runner *runner)
{
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++)
		judge_end(runner, rs_session_source(runner->session, i));
}

/* Returns whether all agents reported. `missing`: tells that of one that did not; NULL: nothing. */
static bool all_greeted(struct runner *runner, const char *missing)
{
	bool all = true;

	for (guint i = 0; i < rs_session_n_sources(runner->session); i++) {
		struct rs_source *source = rs_session_source(runner->session, i);

		if (rs_source_joined(source) || g_hash_table_contains(runner->greeted, source))
			continue;
		if (missing)
			rs_cli_fail(0, "%s %s", name_of(runner, source), missing);
		all = false;
	}
	return all;
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

static gboolean on_signal(struct runner *runner, int signal)
{
	if (!runner->signalled)
		runner->signalled = signal;
	if (runner->printer)
		rs_printer_hurry(runner->printer);
	rs_run_recording_hurry(runner->recording);
	if (!runner->draining)
		wind_down(runner, rs_ends_why(signal));
	return G_SOURCE_CONTINUE;
}

static gboolean on_sigint(gpointer data)
{
	return on_signal(data, SIGINT);
}

static gboolean on_sigterm(gpointer data)
{
	return on_signal(data, SIGTERM);
}

static gboolean on_sighup(gpointer data)
{
	return on_signal(data, SIGHUP);
}

/* Each source that has ended meanwhile is judged, but the last end is told after the trace. */
static gboolean on_signal_late(gpointer data)
{
	struct runner *runner = data;

	runner->watches[ON_SIGNAL_LATE] = 0;
	if (!rs_session_end(runner->session))
		judge_ends(runner);
	return G_SOURCE_REMOVE;
}

/* A terminal signals us as well as the program. Whoever is seen first, the end is the same. */
static bool await_signal(struct runner *runner, const struct rs_target_end *end)
{
	if (!rs_ends_by_shared_signal(end) || runner->signalled)
		return false;
	if (!runner->watches[ON_SIGNAL_LATE])
		runner->watches[ON_SIGNAL_LATE] = g_timeout_add(SIGNAL_MS, on_signal_late, runner);
	return true;
}

static gboolean on_duration(gpointer data)
{
	struct runner *runner = data;

	runner->watches[ON_DURATION] = 0;
	runner->over = true;
	runner->ran_us = g_get_monotonic_time();
	if (runner->config->core_late)
		rs_session_keep_core_now(runner->session);
	wind_down(runner, "its time is over");
	return G_SOURCE_REMOVE;
}

static void on_printer_done(void *data)
{
	struct runner *runner = data;

	runner->printer_done = true;
	if (!runner->draining)
		wind_down(runner, "the trace is wanted no longer");
}

/* The first source that did not join. NULL: there is none. */
static struct rs_source *find_first(const struct runner *runner)
{
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++) {
		struct rs_source *source = rs_session_source(runner->session, i);

		if (!rs_source_joined(source) && !rs_source_is_host(source))
			return source;
	}
	return NULL;
}

/*
 * Only of a guest that was stopped: when one has ended by itself we see somewhat later, and what it
 * did not do in between is no fault of its own.
 */
static uint64_t until_ns(const struct runner *runner, struct rs_source *source)
{
	const uint64_t origin = rs_source_region(source)->header.origin_ns;
	const uint64_t ns = (uint64_t)runner->ran_us * 1000;

	return runner->ran_us && ns > origin ? ns - origin : 0;
}

static bool look_for_matches(struct runner *runner, const char *when);

/* Without a word, whatever the exit code is. */
static bool has_matched_all(struct runner *runner)
{
	return look_for_matches(runner, NULL);
}

static void write_result(struct runner *runner)
{
	struct rs_source *source = find_first(runner);
	struct rs_source_stat stat;
	struct rs_ends_result result = {.over = runner->over,
					.signalled = runner->signalled,
					.agent = source &&
						 g_hash_table_contains(runner->greeted, source),
					.matched = has_matched_all(runner),
					.core = rs_session_has_core(runner->session),
					.until_ns = source ? until_ns(runner, source) : 0};

	rs_session_stat(runner->session, &stat);
	result.lost_no_ring = stat.lost_no_ring;
	result.lost_nested = stat.lost_nested;
	result.console_unread = stat.target.console_waiting + stat.target.console_lost;
	if (runner->config->result)
		fail(runner, rs_ends_write(runner->config->result,
					   source ? rs_source_end(source) : NULL, &result));
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

/*
 * Whether an event matches the glob, or has matched it before: a guest may have booted again, or a
 * process have gone. Prints a message if there was none so far. `when` NULL: prints nothing.
 */
static bool look_for_match(struct runner *runner, const char *glob, const char *when)
{
	int known = GPOINTER_TO_INT(g_hash_table_lookup(runner->globs, glob));
	g_autoptr(GArray) list = NULL;
	g_autofree char *shown = NULL, *suggestion = NULL;

	if (known == GLOB_MATCHED)
		return true;
	list = rs_session_list(runner->session, glob);
	if (!list->len && !when)
		return false;
	g_hash_table_insert(runner->globs, g_strdup(glob),
			    GINT_TO_POINTER(list->len ? GLOB_MATCHED : GLOB_MISSED));
	if (list->len)
		return true;
	shown = rs_trace_escape(glob, -1, NULL);
	suggestion = rs_session_suggest(runner->session, glob);
	if (known != GLOB_MISSED)
		rs_cli_fail(0, "no event matches '%s'%s%s", shown, when, suggestion);
	return false;
}

/* Tells once about each glob that nothing matches it. Returns whether all globs match something. */
static bool look_for_matches(struct runner *runner, const char *when)
{
	g_autoptr(GPtrArray) globs = g_ptr_array_new_with_free_func(g_free);
	bool all = true;

	for (char **glob = runner->config->enable; glob && *glob; glob++)
		g_ptr_array_add(globs, g_strdup(*glob));
	for (char **text = runner->config->filters; text && *text; text++) {
		g_autofree char *expression = NULL;
		char *glob;

		if (rs_session_split_filter(*text, &glob, &expression, NULL) == 0)
			g_ptr_array_add(globs, glob);
	}
	rs_run_triggers_add_globs(runner->config->triggers, globs);
	for (guint i = 0; i < globs->len; i++)
		all &= look_for_match(runner, globs->pdata[i], when);
	return all;
}

static void hint_off(const struct runner *runner)
{
	const struct rs_runner_config *config = runner->config;
	g_autoptr(GPtrArray) systems = g_ptr_array_new();
	g_autoptr(GArray) list = NULL;
	struct rs_source_stat stat;

	/* Whoever asked for events learns that there are none. A script reads JSON. */
	if (config->enable || config->quiet || (config->json && runner->out_fd == STDOUT_FILENO))
		return;
	rs_session_stat(runner->session, &stat);
	if (stat.frozen)
		rs_cli_tell_frozen(rs_session_name(runner->session));
	if (stat.frozen || stat.events_on)
		return;
	list = rs_session_list(runner->session, NULL);
	for (guint i = 0; i < list->len; i++)
		g_ptr_array_add(
			systems,
			(char *)g_array_index(list, struct rs_session_event, i).event->system);
	if (list->len)
		rs_cli_hint_off(rs_session_name(runner->session), systems, true);
}

/* Providers may need a moment after the agent's hello. */
static gboolean on_settled(gpointer data)
{
	struct runner *runner = data;

	runner->watches[ON_SETTLED] = 0;
	look_for_matches(runner, " so far");
	hint_off(runner);
	if (all_greeted(runner, NULL))
		rs_background_ready(runner->config->background);
	return G_SOURCE_REMOVE;
}

/* Whoever waits for the start learns what it has come to. */
static gboolean on_unready(gpointer data)
{
	struct runner *runner = data;

	runner->watches[ON_UNREADY] = 0;
	all_greeted(runner, "has no agent, or it has not reported so far; the session goes on");
	rs_background_ready(runner->config->background);
	return G_SOURCE_REMOVE;
}

/* A program's agent reports at once, if it has one. A kernel has to come up first. */
static guint unready_ms(const struct runner *runner)
{
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++) {
		const struct rs_source *source = rs_session_source(runner->session, i);

		if (!rs_source_joined(source) && !rs_source_is_program(source))
			return KERNEL_UNREADY_MS;
	}
	return PROGRAM_UNREADY_MS;
}

/* The guest runs already, so an agent would have reported. */
static gboolean on_unheard(gpointer data)
{
	struct runner *runner = data;

	runner->watches[ON_UNHEARD] = 0;
	if (!runner->first && !runner->code && !runner->config->quiet)
		rs_cli_fail(0, "no agent has reported so far%s", runner->config->agent_hint);
	return G_SOURCE_REMOVE;
}

/* The region of the source may be laid out anew from now on. */
static void on_source_printed(void *data, void *source)
{
	struct runner *runner = data;

	g_hash_table_remove(runner->printed, source);
	rs_source_release(source);
}

/* A process that joins now has recorded nothing yet. An earlier session may have left records. */
static RsTraceFrom from_of(const struct runner *runner, const struct rs_source *source)
{
	const RsTraceFrom from = runner->config->from;

	return rs_source_joined(source) && from != RS_TRACE_FROM_NOW ? RS_TRACE_FROM_START : from;
}

static void print_source(struct runner *runner, struct rs_source *source, RsTraceFrom from)
{
	g_autoptr(GError) error = NULL;
	RsTraceSource *pages;
	guint number;

	if (!runner->printer || g_hash_table_contains(runner->printed, source))
		return;
	pages = rs_trace_live_new_beside(
		rs_source_region(source), rs_run_recording_consumers(runner->recording, source),
		from, RS_TRACE_LIVE_OWNER | rs_trace_live_flags(rs_source_joined(source)), &error);
	if (!pages) {
		fail(runner, rs_cli_fail(RS_CLI_FAILED, "%s", error->message));
		return;
	}
	if (runner->config->symbols)
		rs_cli_symbols_give_own(runner->config->symbols, source, pages);
	number = rs_printer_add(runner->printer, rs_source_name(source), rs_source_number(source),
				pages, source);
	rs_source_hold(source);
	g_hash_table_insert(runner->printed, source, GUINT_TO_POINTER(number));
}

static void record_source(struct runner *runner, struct rs_source *source)
{
	RsTraceFrom from = from_of(runner, source);
	int code = rs_run_recording_add(runner->recording, source, from);

	if (code)
		fail(runner, code);
}

/* No event of the source can be on yet, so its records are printed in their order. */
static void on_added(void *data, struct rs_source *source)
{
	struct runner *runner = data;

	record_source(runner, source);
	print_source(runner, source, from_of(runner, source));
}

static void on_hello(void *data, struct rs_source *source, const struct rs_guest_info *info)
{
	struct runner *runner = data;

	rs_run_faults_hello(runner->faults, source);
	/*
	 * A program may have no agent, but start others that have one. Then it counts as greeted.
	 */
	g_hash_table_add(runner->greeted,
			 rs_source_joined(source) ? rs_source_machine(source) : source);
	/* A kernel without an agent, with one process in it, is no reason to name the process. */
	if (!runner->first)
		runner->first = rs_source_number(source);
	else if (runner->first != rs_source_number(source) && runner->printer)
		rs_printer_name_sources(runner->printer);
	if (!runner->watches[ON_SETTLED] && !rs_source_is_host(source))
		runner->watches[ON_SETTLED] =
			g_timeout_add(RS_SESSION_START_MS, on_settled, runner);
}

static void on_doorbell(void *data)
{
	struct runner *runner = data;

	if (runner->printer)
		rs_printer_wake(runner->printer);
	rs_run_recording_wake(runner->recording);
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct runner *runner = data;
	gpointer number;

	/* Now, because the source's events go with it. */
	look_for_matches(runner, NULL);
	if (rs_source_joined(source) &&
	    g_hash_table_lookup_extended(runner->printed, source, NULL, &number))
		rs_printer_end(runner->printer, GPOINTER_TO_UINT(number));
	if (rs_source_joined(source))
		rs_run_recording_end(runner->recording, source);
	/* The last end is told after the trace is printed. */
	if (!await_signal(runner, end) && !rs_session_end(runner->session))
		judge_end(runner, source);
	if (rs_session_end(runner->session))
		g_main_loop_quit(runner->loop);
}

/* ---- life ---- */

static int ask(struct runner *runner, struct rs_error *err)
{
	const struct rs_runner_config *config = runner->config;
	int ret = 0;

	for (char **text = config->filters; text && *text && !ret; text++) {
		g_autofree char *glob = NULL, *expression = NULL;

		ret = rs_session_split_filter(*text, &glob, &expression, err);
		if (!ret)
			ret = rs_session_set_filter(runner->session, RS_OWNER_HOST, glob,
						    expression, NULL, err);
		if (!ret)
			rs_cli_tell_doubt(expression);
	}
	for (char **glob = config->enable; glob && *glob && !ret; glob++) {
		const struct rs_session_ask enable = {.owner = RS_OWNER_HOST,
						      .kind = RS_ASK_ENABLE,
						      .glob = *glob,
						      .stack = config->stack};

		ret = rs_session_ask(runner->session, &enable, NULL, err);
	}
	for (char **glob = config->disable; glob && *glob && !ret; glob++) {
		const struct rs_session_ask disable = {.owner = RS_OWNER_HOST,
						       .kind = RS_ASK_DISABLE,
						       .glob = *glob,
						       .ahead = true};

		ret = rs_session_ask(runner->session, &disable, NULL, err);
	}
	return ret;
}

static int open_output(struct runner *runner, struct rs_error *err)
{
	const char *path = runner->config->output;

	runner->out_fd = STDOUT_FILENO;
	/* What is counted must be read. */
	if (runner->config->quiet && runner->config->count)
		path = "/dev/null";
	if (!path || strcmp(path, "-") == 0)
		return 0;
	runner->out_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (runner->out_fd < 0)
		return rs_error_set(err, EIO, "%s: %s", path, g_strerror(errno));
	return 0;
}

static bool will_print(const struct runner *runner)
{
	bool consumed = false;

	/* A quiet session is for others to observe. But in drop mode somebody has to consume. */
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++)
		consumed |= rs_trace_region_ring_mode(rs_source_region(
				    rs_session_source(runner->session, i))) == RS_MODE_DROP;
	return !runner->config->quiet || runner->config->count || (consumed && !runner->recording);
}

/* Before the printer, so that pages wait for both. */
static int start_recording(struct runner *runner)
{
	int code;

	if (!runner->config->record)
		return 0;
	code = rs_run_recording_open(runner->config->record, &runner->recording);
	for (guint i = 0; !code && i < rs_session_n_sources(runner->session); i++)
		code = rs_run_recording_add(runner->recording,
					    rs_session_source(runner->session, i),
					    runner->config->from);
	rs_run_recording_start(runner->recording);
	return code;
}

static void start_printer(struct runner *runner, RsTraceFrom from)
{
	const struct rs_runner_config *config = runner->config;
	struct rs_printer_head head = {0};
	struct rs_printer_config printer = {
		.json = config->json,
		.head = &head,
		.style = config->style,
		.time = config->time,
		.view = config->view,
		/* The host reports first. */
		.source_names = rs_session_n_sources(runner->session) > 1,
		.count = config->count,
		.fd = config->quiet && !config->count ? -1 : runner->out_fd,
		.data = runner,
		.ended = on_source_printed,
		.done = on_printer_done,
	};

	rs_line_time_live(
		config->time,
		rs_source_region(rs_session_source(runner->session, 0))->header.origin_ns);
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++)
		rs_printer_count(&head, rs_source_region(rs_session_source(runner->session, i)));
	runner->printer = rs_printer_create(&printer);
	for (guint i = 0; i < rs_session_n_sources(runner->session); i++)
		if (!rs_source_end(rs_session_source(runner->session, i)))
			print_source(runner, rs_session_source(runner->session, i), from);
	rs_printer_start(runner->printer);
}

/* A quiet session may have nobody who reads its rings, as mode drop needs it. */
static void on_ring_mode(void *data, uint32_t mode)
{
	struct runner *runner = data;

	rs_run_recording_ring_mode(runner->recording, mode);
	if (mode == RS_MODE_DROP && !runner->printer && !runner->draining &&
	    !rs_run_recording_reads(runner->recording))
		start_printer(runner, RS_TRACE_FROM_NOW);
}

static int serve(struct runner *runner, struct rs_error *err)
{
	g_autofree char *path = NULL;
	int ret = rs_rundir_file(rs_session_name(runner->session), "sock", &path, err);

	return ret ? ret : rs_server_create(runner->session, path, &runner->server, err);
}

/* Nobody has heard of a session whose caller has gone before its start. */
static int await_caller(struct runner *runner, struct rs_error *err)
{
	struct rs_background *background = runner->config->background;

	rs_background_serves(background);
	while (rs_background_waits(background) && !runner->stopping)
		g_main_context_iteration(NULL, TRUE);
	if (runner->stopping || rs_background_is_alone(background))
		return rs_error_set(err, ECANCELED, "the session was ended before its guest began");
	return 0;
}

static int begin(struct runner *runner, struct rs_error *err)
{
	const struct rs_runner_config *config = runner->config;
	int ret = open_output(runner, err);

	/* A wish that cannot be had leaves the file as it was. */
	if (!ret)
		ret = ask(runner, err);
	if (!ret && (runner->code = start_recording(runner)))
		return -ECANCELED;
	if (!ret)
		ret = rs_run_triggers_new(runner->session, config->symbols, config->triggers,
					  &runner->triggers, err);
	if (!ret)
		ret = serve(runner, err);
	if (!ret) {
		if (will_print(runner))
			start_printer(runner, runner->config->from);
		runner->faults = rs_run_faults_new(runner->session, config->faults);
		if (config->mode != RS_PROFILE_ANY_MODE)
			ret = rs_session_set_ring_mode(runner->session, (uint32_t)config->mode,
						       err);
		if (!ret)
			ret = await_caller(runner, err);
	}
	if (!ret) {
		ret = rs_session_start(runner->session, err);
		/* A missing program must not look like a missing session or event. */
		if (ret == -ENOENT)
			ret = -(err->code = EIO);
	}
	if (!ret && config->started)
		ret = config->started(runner->session, config->data, err);
	return ret;
}

static guint watch_signal(struct runner *runner, int signal, GSourceFunc seen)
{
	return g_unix_signal_add_full(G_PRIORITY_HIGH, signal, seen, runner, NULL);
}

/* What Ctrl-\\ does must leave no text patched. Twice, it ends us at once. */
static void as_sigterm(int signal)
{
	raise(SIGTERM);
}

static void watch_sigquit(void)
{
	const struct sigaction quit = {.sa_handler = as_sigterm,
				       .sa_flags = SA_RESTART | (int)SA_RESETHAND};
	struct sigaction now;

	if (sigaction(SIGQUIT, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaction(SIGQUIT, &quit, NULL);
}

/* The last signal that came before there was a main loop; 0: none. */
static volatile sig_atomic_t early;

static void on_early(int signal)
{
	early = signal;
}

void rs_runner_expect_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction note = {.sa_handler = on_early,
				       .sa_flags = SA_RESTART | (int)SA_RESETHAND};
	struct sigaction now;

	for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(signals[i], &note, NULL);
	}
}

/* Before all else of the main loop, since peers and guests may keep it busy. */
static void add_watches(struct runner *runner)
{
	runner->watches[ON_SIGINT] = watch_signal(runner, SIGINT, on_sigint);
	runner->watches[ON_SIGTERM] = watch_signal(runner, SIGTERM, on_sigterm);
	runner->watches[ON_SIGHUP] = watch_signal(runner, SIGHUP, on_sighup);
	watch_sigquit();
	if (early)
		raise(early);
	if (runner->config->agent_hint)
		runner->watches[ON_UNHEARD] = g_timeout_add(UNHEARD_MS, on_unheard, runner);
	if (runner->config->background)
		runner->watches[ON_UNREADY] = g_timeout_add(unready_ms(runner), on_unready, runner);
	if (runner->config->duration > 0)
		runner->watches[ON_DURATION] = g_timeout_add_full(
			G_PRIORITY_HIGH, (guint)(runner->config->duration * 1000), on_duration,
			runner, NULL);
}

/*
 * It is a failure if nothing could be traced, unless somebody stopped the guest, perhaps before it
 * had come so far. A trace that has all the events it was asked for also ends so: the agent of a
 * slow source may not have reported by then.
 */
static void judge_trace(struct runner *runner)
{
	const struct rs_target_end *end = rs_session_end(runner->session);
	bool stopped =
		runner->signalled || (end && end->reason == RS_END_KILLED && !runner->stopping);

	if (runner->code || stopped || runner->config->detach)
		return;
	if (!all_greeted(runner, "has no agent, or it never reported: nothing could be traced")) {
		if (!runner->printer_done)
			fail(runner, RS_CLI_FAILED);
	} else if (!look_for_matches(runner, "")) {
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
	guint tick = g_timeout_add(OUTPUT_LOOK_MS, on_tick, NULL);
	struct rs_source_stat stat;
	uint64_t unread;

	runner->draining = true;
	for (;;) {
		rs_session_stat(runner->session, &stat);
		if (runner->signalled || !stat.target.console_waiting)
			break;
		g_main_context_iteration(NULL, TRUE);
	}
	g_source_remove(tick);
	unread = stat.target.console_waiting + stat.target.console_lost;
	if (unread)
		rs_cli_fail(0, "%" PRIu64 " bytes of the guest's console could not be written",
			    unread);
}

/* Prints what the rings still hold. Signals are heard meanwhile, as nobody may read the output. */
static void drain(struct runner *runner)
{
	g_autoptr(GList) numbers = NULL;

	if (!runner->printer)
		return;
	runner->draining = true;
	numbers = g_hash_table_get_values(runner->printed);
	for (const GList *at = numbers; at; at = at->next)
		rs_printer_end(runner->printer, GPOINTER_TO_UINT(at->data));
	while (g_hash_table_size(runner->printed) && !runner->printer_done)
		g_main_context_iteration(NULL, TRUE);
}

/* A line can be written without waiting. False: nobody reads the output, and a signal came. */
static bool await_output(const struct runner *runner)
{
	struct pollfd fd = {.fd = runner->out_fd, .events = POLLOUT};

	while (!runner->signalled && poll(&fd, 1, OUTPUT_LOOK_MS) == 0)
		g_main_context_iteration(NULL, FALSE);
	return poll(&fd, 1, 0) != 0;
}

static void summarise(struct runner *runner, const struct rs_printer_stats *stats)
{
	bool json = runner->config->json && !stats->closed && !stats->unread;

	if (!runner->config->quiet)
		rs_summary_print(runner->session, stats,
				 json && await_output(runner) ? runner->out_fd : -1);
}

static void finish(struct runner *runner)
{
	struct rs_printer_stats stats = {0};
	struct rs_error err = {0};
	int code = rs_run_faults_finish(g_steal_pointer(&runner->faults), !runner->signalled);

	fail(runner, code);
	g_clear_handle_id(&runner->patience, g_source_remove);
	/* The session ended before on_settled() could tell it. */
	if (runner->watches[ON_SETTLED] && !runner->code)
		look_for_matches(runner, "");
	if (runner->config->claim)
		rs_rundir_say(runner->config->claim, RS_TRACE_RUNDIR_ENDING);
	/* First restore the text: a guest that goes on running must be as it was. */
	if (rs_session_detach(runner->session, &err))
		fail(runner, rs_cli_fail_error(&err));
	drain(runner);
	rs_run_triggers_finish(runner->triggers);
	rs_printer_finish(runner->printer, &stats);
	code = rs_run_recording_finish(g_steal_pointer(&runner->recording));
	if (code)
		fail(runner, code);
	if (rs_session_end(runner->session))
		drain_consoles(runner);
	if (stats.error)
		fail(runner, rs_cli_fail(RS_CLI_FAILED, "the trace could not be written: %s",
					 g_strerror(stats.error)));
	while (runner->watches[ON_SIGNAL_LATE] && !runner->signalled)
		g_main_context_iteration(NULL, TRUE);
	if (runner->watches[ON_UNHEARD]) {
		g_source_remove(runner->watches[ON_UNHEARD]);
		on_unheard(runner);
	}
	judge_ends(runner);
	judge_trace(runner);
	summarise(runner, &stats);
	write_result(runner);
}

int rs_runner_run(struct rs_session *session, const struct rs_runner_config *config)
{
	struct runner runner = {.config = config, .session = session, .out_fd = -1};
	struct rs_error err = {0};

	runner.loop = g_main_loop_new(NULL, FALSE);
	for (guint i = 0; i < rs_session_n_sources(session); i++)
		runner.started += !rs_source_joined(rs_session_source(session, i));
	runner.greeted = g_hash_table_new(NULL, NULL);
	runner.judged = g_hash_table_new(NULL, NULL);
	runner.printed = g_hash_table_new(NULL, NULL);
	runner.globs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	runner.listener = (struct rs_session_listener){.data = &runner,
						       .message = on_message,
						       .failed = on_failed,
						       .ring_mode = on_ring_mode,
						       .added = on_added,
						       .hello = on_hello,
						       .doorbell = on_doorbell,
						       .ended = on_ended};
	rs_session_add_listener(session, &runner.listener);
	rs_session_keep_core(session, config->core);
	add_watches(&runner);
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
	rs_printer_destroy(runner.printer);
	rs_server_destroy(runner.server);
	rs_run_triggers_free(runner.triggers);
	rs_session_remove_listener(session, &runner.listener);
	for (size_t i = 0; i < G_N_ELEMENTS(runner.watches); i++)
		g_clear_handle_id(&runner.watches[i], g_source_remove);
	g_clear_handle_id(&runner.patience, g_source_remove);
	g_hash_table_unref(runner.globs);
	g_hash_table_unref(runner.printed);
	g_hash_table_unref(runner.greeted);
	g_hash_table_unref(runner.judged);
	g_main_loop_unref(runner.loop);
	rs_session_destroy(session);
	if (runner.out_fd > STDERR_FILENO)
		close(runner.out_fd);
	return runner.code;
}
