/* SPDX-License-Identifier: MIT */
#include "cli/recording_options.h"

#include "cli/args.h"
#include "cli/input.h"
#include <string.h>

#define ZSTD_LEVEL_MAX 19
#define SIZE_MIN (64u << 10) /* of a recording that holds more than it needs itself */
#define SECONDS_MAX 1000000000.0
#define WINDOW_MIN 10 /* ms; each costs up to a page of each ring */
#define WINDOW_MAX 60000

void rs_recording_target_fill(const struct rs_recording_target *target,
			      struct rs_recording_file_config *file)
{
	file->path = target->path ? target->path : RS_CLI_TRACE;
	file->force = target->force;
}

void rs_recording_target_clear(struct rs_recording_target *target)
{
	g_clear_pointer(&target->session, g_free);
	g_clear_pointer(&target->path, g_free);
}

void rs_recording_options_clear(struct rs_recording_options *options)
{
	g_clear_pointer(&options->max_size, g_free);
	g_clear_pointer(&options->rotate, g_free);
}

static int parse_size(const struct rs_verb *verb, const char *option, const char *text,
		      uint64_t *out)
{
	struct rs_error err = {0};

	if (rs_cli_parse_size(text, out, &err))
		return rs_cli_usage(verb, "--%s: %s", option, err.message);
	if (*out < SIZE_MIN)
		return rs_cli_usage(verb, "--%s: 64K at least", option);
	return 0;
}

/* "60s" is a time, and what has another unit is a size. A plain number could be both. */
static int parse_rotate(const struct rs_verb *verb, const char *text,
			struct rs_recording_config *config)
{
	char *end = NULL;
	double seconds;

	if (!*text || g_ascii_isdigit(text[strlen(text) - 1]))
		return rs_cli_usage(verb, "--rotate: a size such as 64M, or a time such as 60s");
	if (!g_str_has_suffix(text, "s"))
		return parse_size(verb, "rotate", text, &config->rotate_bytes);
	seconds = g_ascii_isdigit(*text) ? g_ascii_strtod(text, &end) : 0;
	if (!end || strcmp(end, "s") || !(seconds >= 0.001 && seconds <= SECONDS_MAX))
		return rs_cli_usage(verb, "--rotate: '%s' is no time, such as 60s", text);
	config->rotate_ms = (guint64)(seconds * 1000);
	return 0;
}

int rs_recording_options_check(const struct rs_verb *verb,
			       const struct rs_recording_options *options,
			       struct rs_recording_config *config,
			       struct rs_recording_file_config *file)
{
	int code = 0;

	if (options->compression < 0 || options->compression > ZSTD_LEVEL_MAX)
		return rs_cli_usage(verb, "--zstd: a level, 0 to %d", ZSTD_LEVEL_MAX);
	if (options->keep < 0 || (options->keep && !options->rotate && !file->numbered))
		return rs_cli_usage(verb, options->keep < 0 ? "--keep: a number, 1 or more"
							    : "--keep is for --rotate");
	if (options->window && (options->window < WINDOW_MIN || options->window > WINDOW_MAX))
		return rs_cli_usage(verb, "--window: milliseconds, %d to %d", WINDOW_MIN,
				    WINDOW_MAX);
	if (options->max_size)
		code = parse_size(verb, "max-size", options->max_size, &config->max_bytes);
	if (!code && options->rotate)
		code = parse_rotate(verb, options->rotate, config);
	config->compression = options->compression;
	config->window_ms = (guint)options->window;
	file->numbered |= options->rotate != NULL;
	file->keep = (unsigned)options->keep;
	return code;
}
