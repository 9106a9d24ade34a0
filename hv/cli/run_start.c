/* SPDX-License-Identifier: MIT */
#include "cli/run_start.h"

#include "cli/ends.h"
#include "cli/verb.h"
#include <errno.h>

#define UNHEARD_MS 3000 /* until somebody waits for a guest's agent in vain */
/* Until whoever waits for the start waits no more for an agent. */
#define PROGRAM_UNREADY_MS 3000
#define KERNEL_UNREADY_MS 30000

struct rs_run_start {
	struct rs_session *session;
	const struct rs_runner_config *config;
	struct rs_run_wishes *wishes;
	const struct rs_run_printing *printing;
	void (*up)(void *);
	void *data;
	GHashTable *greeted;             /* sources that did not join, whose agent has reported */
	uint32_t first;                  /* number of the source that reported first; 0: none has */
	guint settled, unheard, unready; /* ids of GLib sources; 0: none */
};

bool rs_run_start_has_greeted(const struct rs_run_start *start, struct rs_source *source)
{
	return g_hash_table_contains(start->greeted, source);
}

bool rs_run_start_all_greeted(const struct rs_run_start *start, const char *missing)
{
	bool all = true;

	for (guint i = 0; i < rs_session_n_sources(start->session); i++) {
		struct rs_source *source = rs_session_source(start->session, i);

		if (rs_source_joined(source) || rs_run_start_has_greeted(start, source))
			continue;
		if (missing)
			rs_cli_fail(0, "%s %s", rs_ends_name(start->session, source), missing);
		all = false;
	}
	return all;
}

/* Providers may need a moment after the agent's hello. */
static gboolean on_settled(gpointer data)
{
	struct rs_run_start *start = data;

	start->settled = 0;
	rs_run_wishes_look(start->wishes, " so far");
	/* Whoever asked for events learns that there are none. A script reads JSON. */
	if (!rs_run_printing_is_for_script(start->printing))
		rs_run_wishes_hint_off(start->wishes);
	if (rs_run_start_all_greeted(start, NULL)) {
		rs_background_ready(start->config->background);
		start->up(start->data);
	}
	return G_SOURCE_REMOVE;
}

/* Whoever waits for the start learns what it has come to. */
static gboolean on_unready(gpointer data)
{
	struct rs_run_start *start = data;

	start->unready = 0;
	/* What has no agent by now is no reason to wait on. */
	if (start->config->check) {
		start->up(start->data);
		return G_SOURCE_REMOVE;
	}
	rs_run_start_all_greeted(
		start, "has no agent, or it has not reported so far; the session goes on");
	rs_background_ready(start->config->background);
	return G_SOURCE_REMOVE;
}

/* A program's agent reports at once, if it has one. A kernel has to come up first. */
static guint unready_ms(const struct rs_run_start *start)
{
	for (guint i = 0; i < rs_session_n_sources(start->session); i++) {
		const struct rs_source *source = rs_session_source(start->session, i);

		if (!rs_source_joined(source) && !rs_source_is_program(source))
			return KERNEL_UNREADY_MS;
	}
	return PROGRAM_UNREADY_MS;
}

/* The guest runs already, so an agent would have reported. */
static gboolean on_unheard(gpointer data)
{
	struct rs_run_start *start = data;

	start->unheard = 0;
	if (!start->first && !start->config->quiet)
		rs_cli_fail(0, "no agent has reported so far%s", start->config->agent_hint);
	return G_SOURCE_REMOVE;
}

struct rs_run_start *rs_run_start_new(struct rs_session *session,
				      const struct rs_runner_config *config,
				      struct rs_run_wishes *wishes,
				      const struct rs_run_printing *printing, void (*up)(void *),
				      void *data)
{
	struct rs_run_start *start = g_new0(struct rs_run_start, 1);

	start->session = session;
	start->config = config;
	start->wishes = wishes;
	start->printing = printing;
	start->up = up;
	start->data = data;
	start->greeted = g_hash_table_new(NULL, NULL);
	if (config->agent_hint)
		start->unheard = g_timeout_add(UNHEARD_MS, on_unheard, start);
	if (config->background || config->check)
		start->unready = g_timeout_add(unready_ms(start), on_unready, start);
	return start;
}

void rs_run_start_free(struct rs_run_start *start)
{
	if (!start)
		return;
	g_clear_handle_id(&start->settled, g_source_remove);
	g_clear_handle_id(&start->unheard, g_source_remove);
	g_clear_handle_id(&start->unready, g_source_remove);
	g_hash_table_unref(start->greeted);
	g_free(start);
}

int rs_run_start_await_caller(struct rs_run_start *start, const bool *stopping,
			      struct rs_error *err)
{
	struct rs_background *background = start->config->background;

	rs_background_serves(background);
	while (rs_background_waits(background) && !*stopping)
		g_main_context_iteration(NULL, TRUE);
	if (*stopping || rs_background_is_alone(background))
		return rs_error_set(err, ECANCELED, "the session was ended before its guest began");
	return 0;
}

bool rs_run_start_hello(struct rs_run_start *start, struct rs_source *source)
{
	/*
	 * A program may have no agent, but start others that have one. Then it counts as greeted.
	 */
	g_hash_table_add(start->greeted,
			 rs_source_joined(source) ? rs_source_machine(source) : source);
	if (!start->first)
		start->first = rs_source_number(source);
	if (!start->settled && !rs_source_is_host(source))
		start->settled = g_timeout_add(RS_SESSION_START_MS, on_settled, start);
	return start->first != rs_source_number(source);
}

void rs_run_start_hush(struct rs_run_start *start)
{
	if (start)
		g_clear_handle_id(&start->unheard, g_source_remove);
}

void rs_run_start_look(struct rs_run_start *start)
{
	if (start->settled)
		rs_run_wishes_look(start->wishes, "");
}

void rs_run_start_finish(struct rs_run_start *start)
{
	if (!start->unheard)
		return;
	rs_run_start_hush(start);
	on_unheard(start);
}
