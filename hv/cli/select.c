/* SPDX-License-Identifier: MIT */
#include "cli/select.h"

#include "session/event_glob.h"
#include <ringside/record.h>
#include <string.h>

static int check_one(const struct rs_verb *verb, const char *key, const char *value)
{
	g_autofree char *glob = g_strdup_printf("*%c%s=%s", RS_TRACE_EVENT_GLOB_SELECT, key, value);
	struct rs_error err = {0};

	/* What would begin a second term is no value. */
	g_strdelimit(glob, ",", ' ');
	if (rs_event_glob_check(glob, &err))
		return rs_cli_usage(verb, "--%s: %s", key, err.message);
	return RS_CLI_OK;
}

int rs_cli_select_check(const struct rs_verb *verb, const struct rs_cli_select *select)
{
	int code = select->level ? check_one(verb, "level", select->level) : RS_CLI_OK;

	if (code == RS_CLI_OK && select->any)
		code = check_one(verb, "keyword", select->any);
	if (code == RS_CLI_OK && select->all)
		code = check_one(verb, "keyword-all", select->all);
	return code;
}

int rs_cli_stack_check(const struct rs_verb *verb, int *stack)
{
	if (*stack != RS_CLI_NO_STACK && (*stack < 1 || *stack > (int)RS_STACK_MAX))
		return rs_cli_usage(verb, "--stack: 1 to %u frames", RS_STACK_MAX);
	*stack = MAX(*stack, 0);
	return RS_CLI_OK;
}

bool rs_cli_select_any(const struct rs_cli_select *select)
{
	return select->level || select->any || select->all;
}

static void add(GString *glob, bool *selects, const char *key, const char *value)
{
	if (!value)
		return;
	g_string_append_printf(glob, "%c%s=%s", *selects ? ',' : RS_TRACE_EVENT_GLOB_SELECT, key,
			       value);
	*selects = true;
}

static char *add_selection(const struct rs_cli_select *select, const char *glob)
{
	g_auto(GStrv) parts = rs_trace_event_glob_parts(glob);
	const char *included = parts[g_strv_length(parts) - 1];
	bool selects = strchr(included, RS_TRACE_EVENT_GLOB_SELECT);
	GString *text = g_string_new(glob);

	add(text, &selects, "level", select->level);
	add(text, &selects, "keyword", select->any);
	add(text, &selects, "keyword-all", select->all);
	return g_string_free(text, FALSE);
}

GStrv rs_cli_select_globs(const struct rs_cli_select *select, const char *list)
{
	GStrv globs = rs_trace_event_glob_split(list);

	for (char **glob = globs; *glob; glob++) {
		g_autofree char *given = *glob;

		*glob = add_selection(select, given);
	}
	return globs;
}

void rs_cli_select_lists(const struct rs_cli_select *select, GStrv *lists)
{
	g_auto(GStrv) given = g_steal_pointer(lists);
	g_autoptr(GStrvBuilder) all = g_strv_builder_new();

	for (char **list = given; list && *list; list++) {
		g_auto(GStrv) globs = rs_cli_select_globs(select, *list);

		g_strv_builder_addv(all, (const char **)globs);
	}
	if (given)
		*lists = g_strv_builder_end(all);
}

void rs_cli_select_clear(struct rs_cli_select *select)
{
	g_free(select->level);
	g_free(select->any);
	g_free(select->all);
}
