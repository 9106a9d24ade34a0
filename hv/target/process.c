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

/* The thread's state as proc(5) names it; 0: there is no such thread. */
static char state_of(pid_t tid)
{
	char path[64], *text = NULL, *name_end, state = 0;

	g_snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	if (g_file_get_contents(path, &text, NULL, NULL) && (name_end = strrchr(text, ')')) &&
	    name_end[1] == ' ')
		state = name_end[2];
	g_free(text);
	return state;
}

bool rs_process_task_ended(pid_t tid)
{
	char state = state_of(tid);

	return !state || state == 'Z' || state == 'X';
}

pid_t rs_process_tracer(pid_t tid)
{
	static const char key[] = "\nTracerPid:";
	char path[64], *text = NULL, *at;
	pid_t tracer = 0;

	g_snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	/* The name, on the first line, may hold anything but a line's end. */
	if (g_file_get_contents(path, &text, NULL, NULL) && (at = strstr(text, key)))
		tracer = (pid_t)strtol(at + strlen(key), NULL, 10);
	g_free(text);
	return tracer;
}

bool rs_process_task_activity(pid_t tid, char *state, uint64_t *ran_ns)
{
	char path[64], *text = NULL;

	*state = state_of(tid);
	*ran_ns = 0;
	/* Without this file, which a kernel may lack, a thread that ran unseen seems asleep. */
	g_snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	if (g_file_get_contents(path, &text, NULL, NULL))
		*ran_ns = g_ascii_strtoull(text, NULL, 10);
	g_free(text);
	return *state && *state != 'Z' && *state != 'X';
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
