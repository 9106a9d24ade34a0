/* SPDX-License-Identifier: MIT */
#include "session/private.h"

#include "filter/filter.h"
#include <errno.h>
#include <string.h>

int rs_filter_failed(const char *expression, const struct rs_filter_error *why,
		     struct rs_error *err)
{
	g_autofree char *text = rs_filter_error_render(why, expression);

	return rs_error_set(err, EBADMSG, "bad filter\n%s", text);
}

static void unref_program(gpointer program)
{
	if (program)
		g_byte_array_unref(program);
}

/* Compiles all programs before any is published: all or nothing. One may be NULL: see filter.h. */
static int compile_all(const GArray *plans, const char *expression, GPtrArray *programs,
		       struct rs_error *err)
{
	g_autofree const RsTraceEvent **events = g_new0(const RsTraceEvent *, plans->len + 1);
	struct rs_filter_error why = {0};

	for (guint i = 0; i < plans->len; i++)
		events[i] = rs_plan(plans, i)->event;
	g_ptr_array_set_size(programs, (gint)plans->len);
	if (rs_filter_compile(events, plans->len, expression, (GByteArray **)programs->pdata, &why))
		return rs_filter_failed(expression, &why, err);
	return 0;
}

static int set_filter(struct plan *plan, const struct asker *asker, const char *expression,
		      GByteArray *program, struct rs_error *err)
{
	struct rs_owner *owner = rs_asker_owner(asker, plan->ref.source);

	if (program && owner == plan->ref.source->guest && !rs_owner_guest_may(program))
		return rs_error_set(err, E2BIG, "%s:%s: %s", plan->event->system, plan->event->name,
				    RS_GUEST_FILTER_TOO_LARGE);
	rs_wishes_set_filter(&plan->wishes, owner, program ? expression : NULL, program);
	return 0;
}

/* Counts events of which another owner wants everything, although this one set a filter. */
static void note_kept(const GArray *plans, const struct asker *asker,
		      struct rs_session_result *result)
{
	for (guint i = 0; i < plans->len; i++) {
		const struct plan *plan = rs_plan(plans, i);
		struct rs_owner *owner = rs_asker_owner(asker, plan->ref.source);
		const struct rs_wish *wish = rs_wishes_of(&rs_plan_state(plan)->wishes, owner);

		if (wish && wish->wanted && wish->program && !plan->program && !plan->overfull)
			rs_result_keep(result, plan, owner);
	}
}

static int filter_refs(const struct asker *asker, const GArray *refs, const char *expression,
		       struct rs_session_result *result, struct rs_error *err)
{
	g_autoptr(GPtrArray) programs = g_ptr_array_new_with_free_func(unref_program);
	g_autoptr(GArray) plans = rs_plans_new(refs);
	int ret = 0;

	if (!refs->len)
		return 0;
	if (expression)
		ret = compile_all(plans, expression, programs, err);
	for (guint i = 0; i < plans->len && !ret; i++)
		ret = set_filter(rs_plan(plans, i), asker, expression,
				 expression ? programs->pdata[i] : NULL, err);
	if (!ret)
		ret = rs_plans_carry_out(plans, false, NULL, err);
	if (!ret)
		note_kept(plans, asker, result);
	return ret;
}

int rs_events_set_filter(struct rs_session *session, const struct asker *asker, const char *glob,
			 const char *expression, struct rs_session_result *result,
			 struct rs_error *err)
{
	g_autofree char *stripped = expression ? g_strstrip(g_strdup(expression)) : NULL;
	struct rs_session_result unused = {0}, *out = result ? result : &unused;
	const char *text = stripped && *stripped ? stripped : NULL;
	struct rs_filter_error why = {0};
	g_autoptr(GArray) refs = NULL;
	int ret;

	if (text && rs_filter_check(text, &why))
		return rs_filter_failed(text, &why, err);
	ret = rs_events_match(session, asker, glob, &refs, err);
	if (!ret)
		ret = rs_asker_check_room(session, asker, RS_RULE_FILTER, glob, text, err);
	if (!ret)
		ret = filter_refs(asker, refs, text, out, err);
	if (!ret) {
		rs_asker_add_rule(session, asker, RS_RULE_FILTER, glob, text, refs->len > 0);
		out->touched = refs->len;
		out->pending = !refs->len;
		rs_session_say_changed(session);
	}
	rs_session_result_clear(&unused);
	return ret;
}

int rs_session_set_filter(struct rs_session *session, const char *owner, const char *glob,
			  const char *expression, struct rs_session_result *result,
			  struct rs_error *err)
{
	struct asker asker;
	int ret = rs_asker_init(&asker, session, owner, err);

	return ret ? ret : rs_events_set_filter(session, &asker, glob, expression, result, err);
}

int rs_session_split_filter(const char *text, char **glob, char **expression, struct rs_error *err)
{
	const char *colon = strstr(text, ": ");

	if (!colon) {
		/* "GLOB:" clears; "system:name:expr" has its expression after the second colon. */
		colon = strchr(text, ':');
		if (colon && colon[1] && strchr(colon + 1, ':'))
			colon = strchr(colon + 1, ':');
		else if (colon && colon[1])
			colon = NULL;
	}
	if (!colon || colon == text)
		return rs_error_set(err, EINVAL,
				    "a filter is written 'GLOB: EXPRESSION', such as "
				    "'sched:switch: prev != 0'");
	*glob = g_strndup(text, (gsize)(colon - text));
	*expression = g_strdup(colon + 1);
	g_strstrip(*glob);
	g_strstrip(*expression);
	return 0;
}
