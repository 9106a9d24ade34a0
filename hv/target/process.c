/* SPDX-License-Identifier: MIT */
#include "target/process.h"

#include <glib.h>
#include <string.h>

uint64_t rs_process_start_time(pid_t pid)
{
	char path[64], *text = NULL, *at;
	uint64_t start = 0;

	g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	/* Field 22; the name in field 2 may hold anything, so count from its last parenthesis. */
	if (g_file_get_contents(path, &text, NULL, NULL) && (at = strrchr(text, ')'))) {
		char **fields = g_strsplit(at + 1, " ", 24);

		if (g_strv_length(fields) > 20)
			start = g_ascii_strtoull(fields[20], NULL, 10);
		g_strfreev(fields);
	}
	g_free(text);
	return start;
}
