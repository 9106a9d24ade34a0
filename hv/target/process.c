/* SPDX-License-Identifier: MIT */
#include "target/process.h"

#include <glib.h>
#include <stdlib.h>
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

bool rs_process_task_ended(pid_t tid)
{
	char path[64], *text = NULL, *state;
	bool ended = true;

	g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	if (g_file_get_contents(path, &text, NULL, NULL) && (state = strrchr(text, ')')))
		ended = state[1] != ' ' || state[2] == 'Z' || state[2] == 'X';
	g_free(text);
	return ended;
}

pid_t rs_process_living_task(pid_t pid)
{
	char path[64];
	const char *name;
	pid_t found = 0;
	GDir *dir;

	if (pid <= 0)
		return 0;
	if (!rs_process_task_ended(pid))
		return pid;
	g_snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = g_dir_open(path, 0, NULL);
	while (dir && !found && (name = g_dir_read_name(dir))) {
		pid_t tid = atoi(name);

		if (!rs_process_task_ended(tid))
			found = tid;
	}
	if (dir)
		g_dir_close(dir);
	return found;
}
