/* SPDX-License-Identifier: MIT */
#include "cli/run_apart.h"

#include "cli/ends.h"
#include "cli/follow.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

bool rs_run_apart_asked(const struct rs_run_apart_options *o)
{
	return o->background || o->stay;
}

int rs_run_apart_check(const struct rs_verb *verb, const struct rs_run_apart_options *o,
		       const struct rs_run_apart_view *view)
{
	if (!rs_run_apart_asked(o))
		return o->log ? rs_cli_usage(verb, "--log is for --background and --stay") : 0;
	if (o->background && o->stay)
		return rs_cli_usage(verb, "--background prints no trace, and --stay does: one of "
					  "them is enough");
	if (o->background && view->printer.count)
		return rs_cli_usage(verb, "--count is of a trace that is printed: --stay does");
	if (o->stay && view->quiet)
		return rs_cli_usage(verb, "--stay prints the trace: without it, --background");
	if (o->stay && view->core_late)
		return rs_cli_usage(verb, "--core-late is for a --duration that ends the guest, "
					  "and with --stay it ends only the trace");
	if (view->has_text)
		return rs_cli_usage(verb, "--text is not for --background and --stay: ringside "
					  "trace prints the trace wherever you want");
	if (g_strcmp0(view->output, "-") == 0)
		return rs_cli_usage(verb, "-o - is not for --background and --stay: the session "
					  "has no standard output");
	return 0;
}

static void print_json(const struct rs_background *b, const char *name)
{
	g_autoptr(JsonBuilder) out = json_builder_new();

	json_builder_begin_object(out);
	rs_cli_add_text(out, "name", name);
	rs_cli_add_number(out, "pid", (uint64_t)rs_background_pid(b));
	rs_cli_add_text(out, "log", rs_background_log(b));
	json_builder_end_object(out);
	rs_cli_print_json(out);
}

/* What the guest wrote may say why it ended. */
static void tell_log(const struct rs_background *b)
{
	const char *log = rs_background_log(b);
	GStatBuf at;

	if (log && g_stat(log, &at) == 0 && at.st_size > 0)
		rs_cli_fail(0, "what the guest wrote is in %s", log);
}

/*
 * The session has ended before it was ready. Its exit code is ours, but 0 promises a session, or
 * with --propagate-exit a guest that ended well.
 */
static int tell_end(struct rs_background *b, const struct rs_run_apart_view *view)
{
	const int signal = rs_background_signal(b);
	const char *why = rs_ends_why(signal);
	int code = rs_background_reap(b);

	if (code == RS_CLI_OK && signal)
		code = rs_cli_fail(RS_CLI_FAILED, "the session was ended before it was ready%s%s",
				   why ? ": " : "", why ? why : "");
	else if (code == RS_CLI_OK)
		code = rs_cli_fail(view->propagate ? RS_CLI_OK : RS_CLI_FAILED,
				   "the session has ended already, and nothing failed in it");
	if (!view->quiet)
		tell_log(b);
	return code;
}

/* A session whose name nobody has learnt is ended. */
static int print_name(const struct rs_run_apart_view *view, struct rs_background *b,
		      const char *name)
{
	if (view->printer.json)
		print_json(b, name);
	else
		puts(name);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return RS_CLI_OK;
	rs_cli_fail(0, "the session is ended, since its name could not be written: %s",
		    g_strerror(errno));
	rs_background_end(b);
	rs_background_reap(b);
	return RS_CLI_FAILED;
}

static int leave(const struct rs_run_apart_view *view, struct rs_background *b, const char *name)
{
	int code;

	if (!rs_background_await_ready(b) || rs_background_signal(b))
		return tell_end(b, view);
	code = print_name(view, b, name);
	if (code == RS_CLI_OK && !view->printer.json && !view->quiet)
		rs_cli_fail(0, "what the guest writes goes to %s", rs_background_log(b));
	return code;
}

static void on_begun(void *data)
{
	rs_background_look_on(data);
}

static int show(const struct rs_verb *verb, struct rs_run_apart_view *view, struct rs_background *b,
		const char *name)
{
	g_autoptr(RsDBusSession1) session = NULL;
	struct rs_cli_following following = {.begun = on_begun, .data = b};
	int argc = 1, code, ended;

	session = rs_cli_connect(verb, name, 0, &argc, NULL, &code);
	/* Our own signals end the view, and not the session. */
	if (session)
		code = rs_cli_follow(session, &view->printer, view->symbols, RS_TRACE_FROM_START,
				     view->duration, &following);
	else
		rs_background_abandon(b);
	if (!session || following.over) {
		ended = rs_background_reap(b);
		return ended ? ended : code;
	}
	rs_cli_fail(0, "the session goes on: ringside trace %s shows it, ringside stop %s ends it",
		    name, name);
	return code;
}

int rs_run_apart_wait(const struct rs_verb *verb, const struct rs_run_apart_options *o,
		      struct rs_run_apart_view *view, struct rs_background *b)
{
	const char *name = rs_background_await_name(b);

	if (!name)
		return tell_end(b, view);
	return o->stay ? show(verb, view, b, name) : leave(view, b, name);
}

void rs_run_apart_options_clear(struct rs_run_apart_options *o)
{
	g_free(o->log);
}
