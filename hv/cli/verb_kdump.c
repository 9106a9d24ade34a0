/* SPDX-License-Identifier: MIT */
/* `ringside kdump`: what the guest's processes do, as kdump(1) of OpenBSD prints it. */
#include "cli/call_names.h"
#include "cli/choice.h"
#include "cli/follow.h"
#include "cli/replay.h"

#include <unistd.h>

/* What -t and -u say: the last one counts. GOption gives its callbacks no data of ours. */
static struct {
	char *letters, *label;
} chosen;

static gboolean on_letters(const char *option, const char *value, gpointer data, GError **error)
{
	g_clear_pointer(&chosen.label, g_free);
	g_free(chosen.letters);
	chosen.letters = g_strdup(value);
	return TRUE;
}

static gboolean on_label(const char *option, const char *value, gpointer data, GError **error)
{
	g_clear_pointer(&chosen.letters, g_free);
	g_free(chosen.label);
	chosen.label = g_strdup(value);
	return TRUE;
}

static void show(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
		 RsTraceTextStyle style, void *data)
{
	rs_trace_kdump_record(data, out, record, task, style);
}

static bool wants(const RsTraceRecord *record, const RsTraceTask *task, void *data)
{
	return rs_trace_kdump_wants(data, record, task);
}

/* ---- options ---- */

struct args {
	char *session, *calls, *file;
	gboolean fresh, loop, json;
	gint64 max_data, pid, count;
	double duration;
	RsTraceKdumpOptions kdump;
	RsCliChoice choice;
};

static bool parse(const struct rs_verb *verb, struct args *a, int *argc, char ***argv, int *code)
{
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &a->session, "The session", "NAME"},
		{"decimal", 'd', 0, G_OPTION_ARG_NONE, &a->kdump.decimal, "Numbers in decimal",
		 NULL},
		{"threads", 'H', 0, G_OPTION_ARG_NONE, &a->kdump.threads, "Thread ids too", NULL},
		{"file", 'f', 0, G_OPTION_ARG_FILENAME, &a->file,
		 "What ringside record wrote, in place of a session; - is standard input", "FILE"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &a->json, "One JSON object a line", NULL},
		{"loop", 'l', 0, G_OPTION_ARG_NONE, &a->loop,
		 "Wait for more (a running session is always followed)", NULL},
		{"plain", 'n', 0, G_OPTION_ARG_NONE, &a->kdump.plain,
		 "Errors without text, values in one base", NULL},
		{"relative", 'R', 0, G_OPTION_ARG_NONE, &a->kdump.relative,
		 "Time since the line before; with -T since the first line", NULL},
		{"absolute", 'T', 0, G_OPTION_ARG_NONE, &a->kdump.absolute,
		 "Time as ringside trace shows it", NULL},
		{"hex-ascii", 'X', 0, G_OPTION_ARG_NONE, &a->kdump.hex_ascii,
		 "Data in hexadecimal and as characters", NULL},
		{"hex", 'x', 0, G_OPTION_ARG_NONE, &a->kdump.hex, "Data in hexadecimal", NULL},
		{"max-data", 'm', 0, G_OPTION_ARG_INT64, &a->max_data,
		 "Show so many bytes of data at most", "BYTES"},
		{"pid", 'p', 0, G_OPTION_ARG_INT64, &a->pid, "Only this process", "PID"},
		{"points", 't', 0, G_OPTION_ARG_CALLBACK, on_letters,
		 "What to show: " RS_TRACE_KDUMP_LETTERS, "LETTERS"},
		{"label", 'u', 0, G_OPTION_ARG_CALLBACK, on_label,
		 "Only the data of user records with this label", "LABEL"},
		{"calls", 0, 0, G_OPTION_ARG_FILENAME, &a->calls,
		 "Names of system calls: lines of a number and a name", "FILE"},
		{"count", 0, 0, G_OPTION_ARG_INT64, &a->count,
		 "End after so many records (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &a->duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &a->fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		RS_CLI_CHOICE_FEW(a->choice),
		RS_CLI_CHOICE_TIMES(a->choice),
		{0}};

	a->max_data = G_MAXINT64;
	return rs_cli_parse(verb, options, argc, argv, code);
}

/* Returns 0, or RS_CLI_USAGE after a message. */
static int check(const struct rs_verb *verb, struct args *a, bool has_pid)
{
	const char *at;

	if (rs_cli_check_limits(verb, a->count, a->duration))
		return RS_CLI_USAGE;
	if (a->file && (a->session || a->loop || a->fresh || a->duration > 0))
		return rs_cli_usage(verb, "-f reads a file: -s, -l, --new and --duration are of a "
					  "session");
	if (!a->file && rs_cli_choice_is_made(&a->choice))
		return rs_cli_usage(verb, "-F, --cpu, --comm, --from and --until are of a file: "
					  "they need -f");
	if (a->max_data < 0)
		return rs_cli_usage(verb, "-m: a number of bytes, 0 or more");
	if (has_pid && (a->pid < 1 || a->pid > G_MAXUINT32))
		return rs_cli_usage(verb, "-p: a process id, 1 to 4294967295");
	at = chosen.letters ? rs_trace_kdump_points(chosen.letters, &a->kdump.points) : NULL;
	if (at && !*at)
		return rs_cli_usage(verb, "-t: no letter (" RS_TRACE_KDUMP_LETTERS ")");
	if (at)
		return rs_cli_usage(
			verb, "-t: there is no letter '%c' (" RS_TRACE_KDUMP_LETTERS ")", *at);
	a->kdump.max_data = (guint64)a->max_data;
	a->kdump.pid = (guint32)a->pid;
	a->kdump.label = chosen.label;
	return 0;
}

/*
 * Says once why nothing may be shown: no guest has events of ktrace, or all of them are off. They
 * may come, so this is no error.
 */
static void hint(RsDBusSession1 *session)
{
	g_autoptr(GVariant) events = NULL;
	gboolean on = FALSE;
	gsize n;

	if (!rs_dbus_session1_call_list_sync(session, "ktrace:*", rs_trace_client_no_options(),
					     &events, NULL, NULL, NULL))
		return;
	n = g_variant_n_children(events);
	for (gsize i = 0; i < n && !on; i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(events, i);

		g_variant_lookup(row, "enabled", "b", &on);
	}
	if (!n)
		rs_cli_fail(0, "there are no events of ktrace yet: see ringside list");
	else if (!on)
		rs_cli_fail(0, "all events of ktrace are off: 'ringside ktrace -p PID' chooses a "
			       "process and switches them on");
}

static int dump(const struct rs_verb *verb, struct args *a, const struct rs_call_names *names,
		int argc, char **argv)
{
	struct rs_printer_config printer = {.fd = STDOUT_FILENO};
	g_autoptr(RsDBusSession1) session = NULL;
	RsTraceKdump kdump;
	int code = 0;

	a->kdump.call_name = names->name;
	a->kdump.data = names->own;
	rs_trace_kdump_init(&kdump, &a->kdump);
	printer.show_data = &kdump;
	printer.json = a->json;
	if (a->json)
		printer.wants = wants;
	else
		printer.show = show;
	printer.count = (uint64_t)a->count;
	if (a->file && argc == 1) {
		struct rs_cli_input input = {.paths = (const char *[]){a->file, NULL}};

		code = rs_cli_choice_take(&a->choice, &input.selection);
		return code ? code : rs_cli_replay(&input, &printer, 1);
	}
	if (a->file)
		return rs_cli_usage(verb, "too many arguments");
	session = rs_cli_connect(verb, a->session, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	hint(session);
	return rs_cli_follow(session, &printer, NULL,
			     a->fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST, a->duration,
			     NULL);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct args a = {.pid = G_MININT64};
	struct rs_call_names names = {0};
	bool has_pid;
	int code;

	g_clear_pointer(&chosen.letters, g_free);
	g_clear_pointer(&chosen.label, g_free);
	if (parse(verb, &a, &argc, &argv, &code)) {
		has_pid = a.pid != G_MININT64;
		if (!has_pid)
			a.pid = 0;
		code = check(verb, &a, has_pid);
		if (!code)
			code = rs_call_names_init(&names, verb, a.calls);
		if (!code)
			code = dump(verb, &a, &names, argc, argv);
	}
	rs_call_names_deinit(&names);
	g_free(a.session);
	g_free(a.calls);
	g_free(a.file);
	rs_cli_choice_clear(&a.choice);
	g_clear_pointer(&chosen.letters, g_free);
	g_clear_pointer(&chosen.label, g_free);
	return code;
}

const struct rs_verb rs_verb_kdump = {
	.name = "kdump",
	.args = "[NAME]",
	.summary = "follow what the guest's processes do, as kdump(1) prints it",
	.details = "Shows the events of the system ktrace. `ringside ktrace -p PID` switches them "
		   "on and\nchooses a process, and `ringside enable 'ktrace:*'` switches them on.\n"
		   "Letters of -t: c calls, i I/O, n names, s signals, t structures, u user data, "
		   "x and X\n"
		   "strings and environment of exec, e emulation, w context switches, p pledge; "
		   "+ all but X.",
	.run = run,
};
