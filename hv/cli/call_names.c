/* SPDX-License-Identifier: MIT */
#include "cli/call_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *own_name(gint64 code, gpointer data)
{
	return g_hash_table_lookup(data, &code);
}

/* "NUMBER NAME" becomes an entry. FALSE: the line is wrong. */
static gboolean add_name(GHashTable *names, char *line)
{
	gint64 number;
	char *end;

	g_strstrip(line);
	if (!*line || *line == '#')
		return TRUE;
	errno = 0;
	number = g_ascii_strtoll(line, &end, 0);
	if (errno || end == line || !g_ascii_isspace(*end))
		return FALSE;
	g_hash_table_replace(names, g_memdup2(&number, sizeof(number)), g_strdup(g_strstrip(end)));
	return TRUE;
}

/* To be freed. NULL: it cannot be read, or is no file of names; *code is an exit code. */
static char *read_names(const char *path, int *code)
{
	g_autofree char *text = g_malloc(RS_CALL_NAMES_SIZE + 1);
	FILE *file = fopen(path, "re");
	size_t size = 0;
	int error = errno;

	if (file) {
		size = fread(text, 1, RS_CALL_NAMES_SIZE + 1, file);
		error = ferror(file) ? errno : 0;
		fclose(file);
	}
	if (error) {
		*code = rs_cli_fail(RS_CLI_FAILED, "%s: %s", path, g_strerror(error));
		return NULL;
	}
	if (size > RS_CALL_NAMES_SIZE) {
		*code = rs_cli_fail(RS_CLI_FAILED, "%s: names of calls are %u KiB at most", path,
				    RS_CALL_NAMES_SIZE / 1024);
		return NULL;
	}
	text[size] = '\0';
	return g_steal_pointer(&text);
}

int rs_call_names_init(struct rs_call_names *names, const struct rs_verb *verb, const char *path)
{
	g_autoptr(GHashTable) own = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	int code = RS_CLI_OK;

	*names = (struct rs_call_names){.name = rs_trace_kdump_linux_call};
	if (!path)
		return 0;
	text = read_names(path, &code);
	if (!text)
		return code;
	own = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++)
		if (!add_name(own, lines[i]))
			return rs_cli_usage(verb, "%s, line %u: not a number and a name", path,
					    i + 1);
	names->name = own_name;
	names->own = g_steal_pointer(&own);
	return 0;
}

void rs_call_names_deinit(struct rs_call_names *names)
{
	g_clear_pointer(&names->own, g_hash_table_unref);
}

const char *rs_call_name(const struct rs_call_names *names, gint64 number)
{
	return names->name(number, names->own);
}

gint64 rs_call_number(const struct rs_call_names *names, const char *name)
{
	for (gint64 number = 0; number < 4096; number++)
		if (g_strcmp0(rs_call_name(names, number), name) == 0)
			return number;
	return -1;
}
