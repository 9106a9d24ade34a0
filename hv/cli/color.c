/* SPDX-License-Identifier: MIT */
#include "cli/color.h"

#include <string.h>
#include <unistd.h>

/* Also of no-color.org. */
static bool has_colors(int fd)
{
	const char *no = g_getenv("NO_COLOR"), *term = g_getenv("TERM");

	return fd >= 0 && isatty(fd) && !(no && *no) && g_strcmp0(term, "dumb") != 0;
}

int rs_cli_color_take(const struct rs_verb *verb, const char *when, int fd, bool *out)
{
	if (!when || strcmp(when, "auto") == 0)
		*out = has_colors(fd);
	else if (strcmp(when, "always") == 0)
		*out = true;
	else if (strcmp(when, "never") == 0)
		*out = false;
	else
		return rs_cli_usage(verb, "--color is auto, always or never, not '%s'", when);
	return RS_CLI_OK;
}

void rs_cli_append_painted(GString *out, bool color, const char *sgr, const char *text)
{
	if (color)
		g_string_append_printf(out, "\033[%sm%s\033[0m", sgr, text);
	else
		g_string_append(out, text);
}
