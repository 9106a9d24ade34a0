/* SPDX-License-Identifier: MIT */
/*
 * The text of a trigger. One that is accepted keeps all promises of its struct, and written anew it
 * becomes the same; a mistake has a message for a terminal.
 */
#include "seed.h"
#include "session/trigger_text.h"

#include <ringside/record.h>
#include <stdlib.h>
#include <string.h>

void rs_fuzz_seeds(void)
{
	static const char *const texts[] = {
		"pause; count=1 @ sched:switch: next_comm ~ \"lz-*\"",
		"snapshot=/tmp/t.trace;stack=4;count=3 @ a:b",
		"freeze @ web/a:*@level=3",
		"enable=a:*; disable=b:c; stack; snapshot @ *",
		"pause;freeze;pause;freeze;pause;freeze;pause;freeze;pause @ a:b",
		"stack=65 @ a > 2",
		"stack @ a:b,!c:d@level=3: x",
	};
	char name[16];

	for (unsigned int i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_snprintf(name, sizeof(name), "trigger-%u", i);
		rs_fuzz_seed(name, texts[i], strlen(texts[i]));
	}
}

static void check_action(const struct rs_trigger_action *action)
{
	const bool switches = action->act == RS_TRIGGER_ENABLE || action->act == RS_TRIGGER_DISABLE;

	if (switches ? !action->arg || !*action->arg
		     : action->arg && (action->act != RS_TRIGGER_SNAPSHOT || !*action->arg))
		abort();
	if (action->act == RS_TRIGGER_STACK ? action->frames < 1 || action->frames > RS_STACK_MAX
					    : action->frames)
		abort();
}

static void check(const struct rs_trigger_text *text)
{
	if (!*text->glob || (text->expression && !*text->expression) ||
	    strlen(text->glob) > RS_TRIGGER_TEXT_MAX || text->actions->len < 1 ||
	    text->actions->len > RS_TRIGGER_ACTIONS_MAX || text->count > UINT32_MAX)
		abort();
	if (!text->count && rs_trigger_text_has(text, RS_TRIGGER_SNAPSHOT))
		abort();
	for (guint i = 0; i < text->actions->len; i++)
		check_action(&g_array_index(text->actions, struct rs_trigger_action, i));
}

static void check_same(const struct rs_trigger_text *text)
{
	g_autofree char *actions = rs_trigger_text_actions(text), *again_actions = NULL;
	g_autofree char *event = rs_trigger_text_event(text);
	g_autofree char *count =
		text->count ? g_strdup_printf("; count=%" G_GUINT64_FORMAT, text->count)
			    : g_strdup("");
	g_autofree char *line = g_strconcat(actions, count, " @ ", event, NULL);
	struct rs_trigger_text *again;

	if (rs_trigger_text_parse(line, &again, NULL))
		abort();
	again_actions = rs_trigger_text_actions(again);
	if (strcmp(actions, again_actions) || strcmp(text->glob, again->glob) ||
	    g_strcmp0(text->expression, again->expression) || text->count != again->count)
		abort();
	rs_trigger_text_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *line = g_strndup((const char *)data, size);
	struct rs_trigger_text *text = NULL;
	struct rs_error err = {0};

	if (rs_trigger_text_parse(line, &text, &err)) {
		if (text || err.code != 22 || !*err.message)
			abort();
		for (const char *at = err.message; *at; at++)
			if (*at != '\n' && ((guchar)*at < 0x20 || *at == 0x7f))
				abort();
		return 0;
	}
	check(text);
	check_same(text);
	rs_trigger_text_free(text);
	return 0;
}
