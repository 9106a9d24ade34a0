/* SPDX-License-Identifier: MIT */
/* `ringside record`: keeps a running session's trace in a file. */
#include "cli/flight.h"
#include "cli/recording_options.h"

#include <string.h>
#include <unistd.h>

#define SNAPSHOTS 16 /* so that a trigger that is hit often does not fill the disk */

/* "panic", "event=EXPR" and so on. Fills `flight`. */
static int parse_triggers(const struct rs_verb *verb, char **on, struct rs_flight_config *flight)
{
	g_autoptr(GStrvBuilder) events = g_strv_builder_new();

	for (char **text = on; *text; text++) {
		if (g_str_equal(*text, "panic"))
			flight->panic = true;
		else if (g_str_equal(*text, "reset"))
			flight->reset = true;
		else if (g_str_equal(*text, "signal"))
			flight->signal = true;
		else if (g_str_has_prefix(*text, "event="))
			g_strv_builder_add(events, *text + strlen("event="));
		else
			return rs_cli_usage(verb, "--on: panic, reset, signal or event=EXPR");
	}
	flight->events = g_strv_builder_end(events);
	if (!*flight->events)
		g_clear_pointer(&flight->events, g_strfreev);
	return 0;
}

static int check_flight(const struct rs_verb *verb, char **on, gint snapshots, bool fresh,
			struct rs_flight_config *flight)
{
	const struct rs_recording_config *recording = &flight->record.recording;

	if (!on && (snapshots >= 0 || flight->after))
		return rs_cli_usage(verb, "--snapshots and --after are for --on");
	if (!(flight->after >= 0 && flight->after <= 1000000))
		return rs_cli_usage(verb, "--after: 0 to 1000000 seconds");
	if (on && (recording->rotate_bytes || recording->rotate_ms || fresh))
		return rs_cli_usage(verb, "--rotate and --new are not for --on");
	flight->snapshots = snapshots < 0 ? SNAPSHOTS : (unsigned)snapshots;
	return on ? parse_triggers(verb, on, flight) : 0;
}

static int record(const struct rs_verb *verb, RsDBusSession1 *session,
		  struct rs_flight_config *flight, const struct rs_recording_file_config *file,
		  bool triggers)
{
	struct rs_record_config *config = &flight->record;
	struct rs_error err = {0};
	int code;

	if (config->json && g_str_equal(file->path, "-"))
		return rs_cli_usage(verb, "--json needs standard output, where -o - records to");
	if (rs_recording_file_open(file, &config->recording.file, &err))
		return rs_cli_fail_error(&err);
	if (!config->quiet && !config->json)
		rs_cli_tell_still(session);
	code = triggers ? rs_flight(session, flight) : rs_record_session(session, config);
	rs_recording_file_free(config->recording.file);
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	gboolean fresh = FALSE, progress = FALSE, quiet = FALSE, json = FALSE;
	g_auto(RsRecordingTarget) target = {0};
	struct rs_recording_options limits = {0};
	g_auto(RsCliSymbols) symbols = {0};
	struct rs_flight_config flight = {0};
	struct rs_record_config *config = &flight.record;
	g_auto(GStrv) on = NULL;
	gint snapshots = -1;
	double duration = 0;
	const GOptionEntry options[] = {
		RS_RECORDING_TARGET(target),
		RS_RECORDING_OPTIONS(limits),
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"on", 0, 0, G_OPTION_ARG_STRING_ARRAY, &on,
		 "Write only once this happens, and then what the rings hold: panic, reset, "
		 "signal, "
		 "event=EXPR",
		 "TRIGGER"},
		{"snapshots", 0, 0, G_OPTION_ARG_INT, &snapshots,
		 "With --on: end after so many (" G_STRINGIFY(SNAPSHOTS) "; 0: no limit)", "N"},
		{"after", 0, 0, G_OPTION_ARG_DOUBLE, &flight.after,
		 "With --on: record so much longer", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{"progress", 0, 0, G_OPTION_ARG_NONE, &progress,
		 "Show each second how far it is, also where that is no terminal", NULL},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet,
		 "Show no progress, and nothing at the end", NULL},
		RS_CLI_SYMBOLS_FILE(symbols),
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Tell the end as a JSON object", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	struct rs_recording_file_config file = {0};
	int code = 0;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		rs_recording_target_fill(&target, &file);
		file.numbered = on != NULL;
		config->from = fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST;
		config->duration = duration;
		config->progress = progress || (!quiet && isatty(STDERR_FILENO));
		config->quiet = quiet;
		config->json = json;
		config->symbols = &symbols;
		code = rs_cli_check_limits(verb, 0, duration);
		if (!code)
			code = rs_recording_options_check(verb, &limits, &config->recording, &file);
		if (!code)
			code = check_flight(verb, on, snapshots, fresh, &flight);
		if (!code)
			code = rs_cli_symbols_take(verb, &symbols);
		if (!code)
			session = rs_cli_connect(verb, target.session, 0, &argc, argv, &code);
		if (session && argc > 1)
			code = rs_cli_usage(verb, "too many arguments");
		else if (session)
			code = record(verb, session, &flight, &file, on != NULL);
	}
	g_strfreev(flight.events);
	rs_recording_options_clear(&limits);
	return code;
}

const struct rs_verb rs_verb_record = {
	.name = "record",
	.args = "[NAME]",
	.summary = "keep a running session's trace in a file",
	.details =
		"Keeps what the rings still hold and then what comes, until the session ends "
		"or Ctrl-C,\n"
		"without consuming it. `ringside report` shows the file. What was written before "
		"a crash\n"
		"can be read.",
	.run = run,
};
