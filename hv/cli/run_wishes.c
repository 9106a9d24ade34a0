/* SPDX-License-Identifier: MIT */
#include "cli/run_wishes.h"

#include "cli/run_triggers.h"
#include "cli/verb.h"
#include <rs-trace-escape.h>

struct wanted {
	char *glob;
	bool matched, told; /* that nothing matches it */
};

struct rs_run_wishes {
	struct rs_session *session;
	const struct rs_runner_config *config;
	GHashTable *globs; /* char * of a struct wanted → itself */
	GPtrArray *wanted; /* of struct wanted, in the order of the messages */
};

static void free_wanted(gpointer data)
{
	struct wanted *wanted = data;

	g_free(wanted->glob);
	g_free(wanted);
}

struct rs_run_wishes *rs_run_wishes_new(struct rs_session *session,
					const struct rs_runner_config *config)
{
	struct rs_run_wishes *wishes = g_new0(struct rs_run_wishes, 1);

	wishes->session = session;
	wishes->config = config;
	wishes->globs = g_hash_table_new(g_str_hash, g_str_equal);
	wishes->wanted = g_ptr_array_new_with_free_func(free_wanted);
	return wishes;
}

void rs_run_wishes_free(struct rs_run_wishes *wishes)
{
	if (!wishes)
		return;
	g_hash_table_unref(wishes->globs);
	g_ptr_array_unref(wishes->wanted);
	g_free(wishes);
}

/* ---- asking ---- */

static void note(struct rs_run_wishes *wishes, const char *glob)
{
	struct wanted *wanted;

	if (g_hash_table_contains(wishes->globs, glob))
		return;
	wanted = g_new0(struct wanted, 1);
	wanted->glob = g_strdup(glob);
	g_hash_table_insert(wishes->globs, wanted->glob, wanted);
	g_ptr_array_add(wishes->wanted, wanted);
}

static int ask_filter(struct rs_run_wishes *wishes, const char *text, const char *place,
		      struct rs_error *err)
{
	g_autofree char *glob = NULL, *expression = NULL;
	struct rs_session_ask filter;
	int ret = rs_session_split_filter(text, &glob, &expression, err);

	if (ret)
		return ret;
	note(wishes, glob);
	filter = (struct rs_session_ask){.owner = RS_OWNER_HOST,
					 .kind = RS_ASK_FILTER,
					 .glob = glob,
					 .expression = expression,
					 .place = place};
	ret = rs_session_ask(wishes->session, &filter, NULL, err);
	if (!ret)
		rs_cli_tell_doubt(expression);
	return ret;
}

static void note_triggers(struct rs_run_wishes *wishes)
{
	g_autoptr(GPtrArray) globs = g_ptr_array_new_with_free_func(g_free);

	rs_run_triggers_add_globs(wishes->config->triggers, globs);
	for (guint i = 0; i < globs->len; i++)
		note(wishes, globs->pdata[i]);
}

int rs_run_wishes_ask(struct rs_run_wishes *wishes, struct rs_error *err)
{
	const struct rs_runner_config *config = wishes->config;
	char **place = config->places;
	int ret = 0;

	for (char **glob = config->enable; glob && *glob; glob++)
		note(wishes, *glob);
	for (char **text = config->filters; text && *text && !ret; text++) {
		ret = ask_filter(wishes, *text, place && *place ? *place : NULL, err);
		if (place && *place)
			place++;
	}
	note_triggers(wishes);
	for (char **glob = config->enable; glob && *glob && !ret; glob++) {
		const struct rs_session_ask enable = {.owner = RS_OWNER_HOST,
						      .kind = RS_ASK_ENABLE,
						      .glob = *glob,
						      .stack = config->stack};

		ret = rs_session_ask(wishes->session, &enable, NULL, err);
	}
	for (char **glob = config->disable; glob && *glob && !ret; glob++) {
		const struct rs_session_ask disable = {.owner = RS_OWNER_HOST,
						       .kind = RS_ASK_DISABLE,
						       .glob = *glob,
						       .ahead = true};

		ret = rs_session_ask(wishes->session, &disable, NULL, err);
	}
	return ret;
}

/* ---- what has come of it ---- */

static bool look_for(struct rs_run_wishes *wishes, struct wanted *wanted, const char *when)
{
	g_autofree char *shown = NULL, *suggestion = NULL;
	g_autoptr(GArray) list = NULL;

	if (wanted->matched)
		return true;
	list = rs_session_list(wishes->session, wanted->glob);
	wanted->matched = list->len > 0;
	if (wanted->matched || !when || wanted->told)
		return wanted->matched;
	wanted->told = true;
	shown = rs_trace_escape(wanted->glob, -1, NULL);
	suggestion = rs_session_suggest(wishes->session, wanted->glob);
	rs_cli_fail(0, "no event matches '%s'%s%s", shown, when, suggestion);
	return false;
}

bool rs_run_wishes_look(struct rs_run_wishes *wishes, const char *when)
{
	bool all = true;

	for (guint i = 0; i < wishes->wanted->len; i++)
		all &= look_for(wishes, wishes->wanted->pdata[i], when);
	return all;
}

void rs_run_wishes_hint_off(const struct rs_run_wishes *wishes)
{
	g_autoptr(GPtrArray) systems = g_ptr_array_new();
	g_autoptr(GArray) list = NULL;
	struct rs_source_stat stat;

	if (wishes->config->enable || wishes->config->quiet)
		return;
	rs_session_stat(wishes->session, &stat);
	if (stat.frozen)
		rs_cli_tell_frozen(rs_session_name(wishes->session));
	if (stat.frozen || stat.events_on)
		return;
	list = rs_session_list(wishes->session, NULL);
	for (guint i = 0; i < list->len; i++)
		g_ptr_array_add(
			systems,
			(char *)g_array_index(list, struct rs_session_event, i).event->system);
	if (list->len)
		rs_cli_hint_off(rs_session_name(wishes->session), systems, true);
}
