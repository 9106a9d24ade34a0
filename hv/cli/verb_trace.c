/* SPDX-License-Identifier: MIT */
/* `ringside trace`: the session's trace as it comes. */
#include "cli/choice.h"
#include "cli/follow.h"

#include <unistd.h>

static int follow(RsDBusSession1 *session, struct rs_printer_config *printer,
		  const struct rs_cli_symbols *symbols, const RsCliChoice *choice, bool fresh,
		  double duration)
{
	g_autoptr(RsTraceSelection) selection = NULL;
	int code = rs_cli_choice_take(choice, &selection);

	if (code)
		return code;
	printer->view = selection;
	code = rs_cli_follow(session, printer, symbols,
			     fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST, duration, NULL);
	return rs_cli_choice_finish(selection, code);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_auto(RsCliChoice) choice = {0};
	g_autofree char *name = NULL;
	gboolean json = FALSE, fresh = FALSE;
	g_auto(RsPrinterStyle) style = {0};
	struct rs_line_time time;
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
	code = rs_printer_style_take(verb, &style, STDOUT_FILENO);
	if (!code)
		code = rs_cli_check_limits(verb, count, duration);
	if (!code)
		code = rs_line_time_take(verb, style.time, style.ns, json, &time);
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
	printer.time = &time;
	printer.count = (uint64_t)count;
	return follow(session, &printer, &symbols, &choice, fresh, duration);
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
