/* SPDX-License-Identifier: MIT */
#include "session/trigger_text.h"

#include "filter/filter.h"
#include "session/event_glob.h"
#include <errno.h>
#include <ringside/record.h>
#include <rs-trace-escape.h>
#include <string.h>

#define MARK " @ "
#define COUNT "count="

/* What an action is called, and what stands behind its '='. */
static const struct kind {
	const char *name;
	bool takes, needs;
} kinds[] = {
	[RS_TRIGGER_FREEZE] = {"freeze", false, false},
	[RS_TRIGGER_PAUSE] = {"pause", false, false},
	[RS_TRIGGER_SNAPSHOT] = {"snapshot", true, false},
	[RS_TRIGGER_STACK] = {"stack", true, false},
	[RS_TRIGGER_ENABLE] = {"enable", true, true},
	[RS_TRIGGER_DISABLE] = {"disable", true, true},
};

static void clear_action(gpointer data)
{
	g_free(((struct rs_trigger_action *)data)->arg);
}

void rs_trigger_text_free(struct rs_trigger_text *text)
{
	if (!text)
		return;
	g_free(text->glob);
	g_free(text->expression);
	g_free(text->place);
	g_array_unref(text->actions);
	g_free(text);
}

static void free_text(gpointer text)
{
	rs_trigger_text_free(text);
}

GPtrArray *rs_trigger_texts_new(void)
{
	return g_ptr_array_new_with_free_func(free_text);
}

struct rs_trigger_text *rs_trigger_text_copy(const struct rs_trigger_text *text)
{
	struct rs_trigger_text *copy = g_memdup2(text, sizeof(*text));

	copy->glob = g_strdup(text->glob);
	copy->expression = g_strdup(text->expression);
	copy->place = g_strdup(text->place);
	copy->actions = g_array_copy(text->actions);
	/* Not every GLib copies that. */
	g_array_set_clear_func(copy->actions, clear_action);
	for (guint i = 0; i < copy->actions->len; i++) {
		struct rs_trigger_action *action =
			&g_array_index(copy->actions, struct rs_trigger_action, i);

		action->arg = g_strdup(action->arg);
	}
	return copy;
}

/* ---- actions ---- */

static int refuse(const char *text, struct rs_error *err)
{
	g_autofree char *clean = rs_trace_escape(text, -1, NULL);

	return rs_error_set(err, EINVAL,
			    "'%s' is nothing that a trigger does: freeze, pause, snapshot[=FILE], "
			    "stack[=FRAMES], enable=GLOB, disable=GLOB",
			    clean);
}

/* Of a number from 1 on, and nothing else. */
static bool parse_number(const char *text, uint64_t most, uint64_t *out)
{
	return g_ascii_isdigit(*text) && g_ascii_string_to_unsigned(text, 10, 1, most, out, NULL);
}

static int check_arg(struct rs_trigger_action *action, struct rs_error *err)
{
	uint64_t frames = RS_TRIGGER_FRAMES;

	switch (action->act) {
	case RS_TRIGGER_STACK:
		if (action->arg && !parse_number(action->arg, RS_STACK_MAX, &frames))
			return rs_error_set(err, EINVAL, "stack=: 1 to %u frames", RS_STACK_MAX);
		g_clear_pointer(&action->arg, g_free);
		action->frames = (uint32_t)frames;
		return 0;
	case RS_TRIGGER_ENABLE:
	case RS_TRIGGER_DISABLE:
		return rs_event_glob_check(action->arg, err);
	default:
		return 0;
	}
}

static int parse_action(const char *text, struct rs_trigger_action *out, struct rs_error *err)
{
	const char *equals = strchr(text, '=');
	const size_t size = equals ? (size_t)(equals - text) : strlen(text);
	int ret;

	if (strlen(text) > RS_TRIGGER_TEXT_MAX)
		return rs_error_set(err, EINVAL, "an action has at most %u bytes",
				    RS_TRIGGER_TEXT_MAX);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (strlen(kinds[i].name) != size || strncmp(kinds[i].name, text, size))
			continue;
		if (equals ? !kinds[i].takes || !equals[1] : kinds[i].needs)
			break;
		*out = (struct rs_trigger_action){.act = (enum rs_trigger_act)i,
						  .arg = equals ? g_strdup(equals + 1) : NULL};
		ret = check_arg(out, err);
		if (ret)
			clear_action(out);
		return ret;
	}
	return refuse(text, err);
}

char *rs_trigger_action_format(const struct rs_trigger_action *action)
{
	const char *name = kinds[action->act].name;

	if (action->act == RS_TRIGGER_STACK)
		return g_strdup_printf("%s=%u", name, action->frames);
	return action->arg ? g_strconcat(name, "=", action->arg, NULL) : g_strdup(name);
}

char *rs_trigger_text_actions(const struct rs_trigger_text *text)
{
	g_autoptr(GString) all = g_string_new(NULL);

	for (guint i = 0; i < text->actions->len; i++) {
		g_autofree char *one = rs_trigger_action_format(
			&g_array_index(text->actions, struct rs_trigger_action, i));

		g_string_append_printf(all, "%s%s", i ? "; " : "", one);
	}
	return g_string_free(g_steal_pointer(&all), FALSE);
}

static const struct rs_trigger_action *find(const struct rs_trigger_text *text,
					    enum rs_trigger_act act)
{
	for (guint i = 0; i < text->actions->len; i++) {
		const struct rs_trigger_action *action =
			&g_array_index(text->actions, struct rs_trigger_action, i);

		if (action->act == act)
			return action;
	}
	return NULL;
}

bool rs_trigger_text_has(const struct rs_trigger_text *text, enum rs_trigger_act act)
{
	return find(text, act);
}

uint32_t rs_trigger_text_stack(const struct rs_trigger_text *text)
{
	const struct rs_trigger_action *stack = find(text, RS_TRIGGER_STACK);

	return stack ? stack->frames : 0;
}

/* ---- the event ---- */

char *rs_trigger_text_event(const struct rs_trigger_text *text)
{
	return text->expression ? g_strconcat(text->glob, ": ", text->expression, NULL)
				: g_strdup(text->glob);
}

static int check_event(const struct rs_trigger_text *text, struct rs_error *err)
{
	if (!*text->glob)
		return rs_error_set(err, EINVAL, "a trigger needs the GLOB of an event");
	if (strlen(text->glob) > RS_TRIGGER_TEXT_MAX ||
	    (text->expression && strlen(text->expression) > RS_TRIGGER_TEXT_MAX))
		return rs_error_set(err, EINVAL, "a glob, or an expression, has at most %u bytes",
				    RS_TRIGGER_TEXT_MAX);
	return rs_event_glob_check(text->glob, err) ?: rs_event_glob_check_names(text->glob, err);
}

int rs_trigger_text_new(const char *glob, const char *expression, const char *const *actions,
			uint64_t count, struct rs_trigger_text **out, struct rs_error *err)
{
	struct rs_trigger_text *text = g_new0(struct rs_trigger_text, 1);
	int ret;

	text->glob = g_strstrip(g_strdup(glob));
	text->expression = g_strstrip(g_strdup(expression ? expression : ""));
	if (!*text->expression)
		g_clear_pointer(&text->expression, g_free);
	text->count = count;
	text->actions = g_array_new(FALSE, FALSE, sizeof(struct rs_trigger_action));
	g_array_set_clear_func(text->actions, clear_action);
	ret = check_event(text, err);
	for (; !ret && *actions; actions++) {
		struct rs_trigger_action action;

		if (text->actions->len == RS_TRIGGER_ACTIONS_MAX)
			ret = rs_error_set(err, EINVAL, "a trigger does at most %u things",
					   RS_TRIGGER_ACTIONS_MAX);
		else
			ret = parse_action(*actions, &action, err);
		if (!ret)
			g_array_append_val(text->actions, action);
	}
	if (!ret && !text->actions->len)
		ret = rs_error_set(err, EINVAL, "a trigger does something: pause, for example");
	if (ret) {
		rs_trigger_text_free(text);
		return ret;
	}
	/* The disk has an end. */
	if (!count && rs_trigger_text_has(text, RS_TRIGGER_SNAPSHOT))
		text->count = RS_TRIGGER_SNAPSHOTS;
	*out = text;
	return 0;
}

int rs_trigger_text_new_on(const char *event, const char *const *actions, uint64_t count,
			   struct rs_trigger_text **out, struct rs_error *err)
{
	g_autofree char *glob = NULL, *expression = NULL, *shown = NULL;

	rs_filter_split_event(event, &glob, &expression);
	if (glob)
		return rs_trigger_text_new(glob, expression, actions, count, out, err);
	shown = rs_trace_escape(event, -1, NULL);
	return rs_error_set(err, EINVAL,
			    "the event of a trigger is GLOB or 'GLOB: EXPRESSION', not '%s'",
			    shown);
}

/* ---- one line ---- */

static int parse_count(const char *text, uint64_t *count, struct rs_error *err)
{
	if (*count)
		return rs_error_set(err, EINVAL, "count= is given twice");
	if (!parse_number(text, UINT32_MAX, count))
		return rs_error_set(err, EINVAL, "count=: 1 to %u", UINT32_MAX);
	return 0;
}

int rs_trigger_text_parse(const char *line, struct rs_trigger_text **out, struct rs_error *err)
{
	const char *mark = strstr(line, MARK);
	g_autoptr(GPtrArray) actions = g_ptr_array_new();
	g_autofree char *what = NULL;
	g_auto(GStrv) parts = NULL;
	uint64_t count = 0;

	if (!mark)
		return rs_error_set(err, EINVAL,
				    "a trigger is ACTION[; ACTION…][; count=N] @ "
				    "EVENT[: EXPRESSION]");
	what = g_strndup(line, (gsize)(mark - line));
	parts = g_strsplit(what, ";", -1);
	for (char **part = parts; *part; part++) {
		const char *one = g_strstrip(*part);
		int ret = 0;

		if (g_str_has_prefix(one, COUNT))
			ret = parse_count(one + strlen(COUNT), &count, err);
		else if (*one)
			g_ptr_array_add(actions, (gpointer)one);
		if (ret)
			return ret;
	}
	g_ptr_array_add(actions, NULL);
	return rs_trigger_text_new_on(mark + strlen(MARK), (const char *const *)actions->pdata,
				      count, out, err);
}
