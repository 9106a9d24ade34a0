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

static void add(GString *text, const char *key, const char *value)
{
	bool more = strchr(text->str, RS_TRACE_EVENT_GLOB_SELECT);

	if (value)
		g_string_append_printf(text, "%c%s=%s", more ? ',' : RS_TRACE_EVENT_GLOB_SELECT,
				       key, value);
}

char *rs_cli_select_glob(const struct rs_cli_select *select, const char *glob)
{
	GString *text = g_string_new(glob);

	add(text, "level", select->level);
	add(text, "keyword", select->any);
	add(text, "keyword-all", select->all);
	return g_string_free(text, FALSE);
}

void rs_cli_select_clear(struct rs_cli_select *select)
{
	g_free(select->level);
	g_free(select->any);
	g_free(select->all);
}
