/* SPDX-License-Identifier: MIT */
/* `ringside trace`: the session's trace as it comes. */
#include "cli/choice.h"
#include "cli/follow.h"

#include <unistd.h>

/* Thread: the printer's. */
static bool wants(const RsTraceRecord *record, const RsTraceTask *task, void *data)
{
	g_autoptr(GError) error = NULL;
	bool was_over = rs_trace_selection_is_over(data);
	bool wanted = rs_trace_selection_matches(data, record, task);

	/* The events may still come that a filter fits, but of this one somebody must know now. */
	if (!was_over && rs_trace_selection_is_over(data) &&
	    !rs_trace_selection_finish(data, &error))
		rs_cli_fail(0, "%s", error->message);
	return wanted;
}

static int follow(const struct rs_verb *verb, RsDBusSession1 *session,
		  struct rs_printer_config *printer, const struct rs_cli_symbols *symbols,
		  const RsCliChoice *choice, bool fresh, double duration)
{
	g_autoptr(RsTraceSelection) selection = NULL;
	g_autoptr(GError) error = NULL;
	int code = rs_cli_choice_take(choice, &selection);

	if (code)
		return code;
	if (selection) {
		printer->wants = wants;
		printer->show_data = selection;
	}
	code = rs_cli_follow(session, printer, symbols,
			     fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST, duration);
	if (code || !selection || rs_trace_selection_finish(selection, &error))
		return code;
	if (rs_trace_selection_is_over(selection))
		return RS_CLI_USAGE; /* and it has been said */
	rs_cli_fail(0, "%s", error->message);
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_auto(RsCliChoice) choice = {0};
	g_autofree char *name = NULL;
	gboolean json = FALSE, fresh = FALSE;
	struct rs_printer_style style = {0};
	g_auto(RsCliSymbols) symbols = {0};
	double duration = 0;
	gint64 count = 0;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "One JSON object a line", NULL},
		RS_PRINTER_STYLE_OPTIONS(style),
		{"count", 'n', 0, G_OPTION_ARG_INT64, &count,
		 "End after so many events (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		RS_CLI_SYMBOLS_FILE(symbols),
		RS_CLI_SYMBOLS_NONE(symbols),
		RS_CLI_CHOICE_OPTIONS(choice),
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	struct rs_printer_config printer = {.fd = STDOUT_FILENO};
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_check_limits(verb, count, duration);
	if (!code)
		code = rs_cli_symbols_take(verb, &symbols);
	if (code)
		return code;
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	printer.json = json;
	printer.style = style;
	printer.count = (uint64_t)count;
	return follow(verb, session, &printer, &symbols, &choice, fresh, duration);
}

const struct rs_verb rs_verb_trace = {
	.name = "trace",
	.args = "[NAME]",
	.summary = "follow a running session's trace",
	.details = "Shows what the rings still hold and then what comes, without consuming it: any "
		   "number of\n"
		   "observers can look on.",
	.run = run,
};
