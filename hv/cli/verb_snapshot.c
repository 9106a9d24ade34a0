/* SPDX-License-Identifier: MIT */
/* `ringside snapshot`: what a running session's rings hold now. */
#include "cli/flight.h"
#include "cli/recording_options.h"

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	gboolean quiet = FALSE, json = FALSE;
	g_auto(RsRecordingTarget) target = {0};
	struct rs_recording_options limits = {0};
	const GOptionEntry options[] = {
		RS_RECORDING_TARGET(target),
		RS_RECORDING_ZSTD(limits),
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Say nothing at the end", NULL},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Say it as a JSON object", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	struct rs_recording_file_config file = {0};
	static const struct rs_cli_symbols symbols; /* what the session has */
	struct rs_flight_config config = {.now = true, .record.symbols = &symbols};
	struct rs_error err = {0};
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	config.record.quiet = quiet;
	config.record.json = json;
	rs_recording_target_fill(&target, &file);
	code = rs_recording_options_check(verb, &limits, &config.record.recording, &file);
	if (!code && json && g_str_equal(file.path, "-"))
		code = rs_cli_usage(verb, "--json needs standard output, where -o - records to");
	if (!code)
		session = rs_cli_connect(verb, target.session, 0, &argc, argv, &code);
	if (session && argc > 1)
		code = rs_cli_usage(verb, "too many arguments");
	else if (session && rs_recording_file_open(&file, &config.record.recording.file, &err))
		code = rs_cli_fail_error(&err);
	if (!session || code)
		return code;
	if (!quiet && !json)
		rs_cli_tell_still(session);
	code = rs_flight(session, &config);
	rs_recording_file_free(config.record.recording.file);
	return code;
}

const struct rs_verb rs_verb_snapshot = {
	.name = "snapshot",
	.args = "[NAME]",
	.summary = "keep what a running session's rings hold now",
	.details = "Writes a file as `record` does, of what is there, and ends. `record --on` does "
		   "so when\n"
		   "something happens.",
	.run = run,
};
