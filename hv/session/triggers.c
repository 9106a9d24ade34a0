/* SPDX-License-Identifier: MIT */
#include "session/triggers.h"

#include "base/ticks.h"
#include "session/private.h"
#include <errno.h>
#include <rs-trace-escape.h>

struct trigger {
	uint32_t number;
	struct rs_trigger_text *text;
	char *owner;
	uint64_t fired, hits;            /* hits: once it is spent */
	gint64 quiet_until;              /* monotonic us */
	uint32_t filtering, enabling;    /* requests that are not done yet; 0: none */
	uint32_t adding;                 /* both of them, for who waits; 0: nobody does */
	struct rs_session_result result; /* of both */
	int ret;
	struct rs_error err; /* if `ret` */
	bool refused;        /* it is to go */
	bool spent;
	char *problem;
};

struct rs_triggers {
	const struct rs_trigger_watcher *watcher;
	GPtrArray *all; /* of struct trigger */
	uint32_t made;
};

static void trigger_free(gpointer data)
{
	struct trigger *trigger = data;

	rs_trigger_text_free(trigger->text);
	rs_session_result_clear(&trigger->result);
	g_free(trigger->owner);
	g_free(trigger->problem);
	g_free(trigger);
}

static struct rs_triggers *triggers_of(struct rs_session *session)
{
	if (!session->triggers) {
		session->triggers = g_new0(struct rs_triggers, 1);
		session->triggers->all = g_ptr_array_new_with_free_func(trigger_free);
	}
	return session->triggers;
}

void rs_triggers_free(struct rs_triggers *triggers)
{
	if (!triggers)
		return;
	g_ptr_array_unref(triggers->all);
	g_free(triggers);
}

void rs_session_set_trigger_watcher(struct rs_session *session,
				    const struct rs_trigger_watcher *watcher)
{
	triggers_of(session)->watcher = watcher;
}

static struct trigger *find(const struct rs_session *session, uint32_t number)
{
	const GPtrArray *all = session->triggers ? session->triggers->all : NULL;

	for (guint i = 0; all && i < all->len; i++) {
		struct trigger *trigger = all->pdata[i];

		if (trigger->number == number)
			return trigger;
	}
	return NULL;
}

static void note_problem(struct rs_session *session, struct trigger *trigger, const char *what)
{
	g_free(trigger->problem);
	trigger->problem = g_strdup(what);
	rs_session_say(session, "trigger %u: %s", trigger->number, what);
}

/* ---- its wishes ---- */

/* What became of one of the two. */
static void note_result(struct rs_session *session, struct trigger *trigger,
			const struct rs_session_result *result)
{
	struct rs_session_result *both = &trigger->result;

	both->touched = MAX(both->touched, result->touched);
	both->pending |= result->pending;
	for (guint i = 0; result->problems && i < result->problems->len; i++) {
		const char *problem = result->problems->pdata[i];

		note_problem(session, trigger, problem);
		if (!both->problems)
			both->problems = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(both->problems, g_strdup(problem));
	}
}

static int ask(struct rs_session *session, struct trigger *trigger, struct rs_session_ask *ask,
	       uint32_t *later, struct rs_error *err)
{
	struct rs_session_result result = {0};
	int ret;

	ask->from = trigger;
	ask->owner = trigger->owner;
	ask->glob = trigger->text->glob;
	ret = rs_session_ask(session, ask, &result, err);
	*later = result.later;
	if (!ret)
		note_result(session, trigger, &result);
	rs_session_result_clear(&result);
	return ret;
}

/* The filter comes first, so that what the guest records for the trigger is what it looks for. */
static int wish(struct rs_session *session, struct trigger *trigger, bool ahead,
		struct rs_error *err)
{
	struct rs_session_ask filter = {.kind = RS_ASK_FILTER,
					.expression = trigger->text->expression,
					.place = trigger->text->place,
					.ahead = ahead};
	struct rs_session_ask enable = {.kind = RS_ASK_ENABLE,
					.stack = rs_trigger_text_stack(trigger->text),
					.ahead = ahead};
	int ret = 0;

	if (trigger->text->expression)
		ret = ask(session, trigger, &filter, &trigger->filtering, err);
	if (!ret)
		ret = ask(session, trigger, &enable, &trigger->enabling, err);
	return ret;
}

/* Who has added it learns what became of that. The trigger may be gone after this. */
static void answer(struct rs_session *session, struct trigger *trigger)
{
	struct rs_session_result result = trigger->result;
	const uint32_t request = trigger->adding;
	const struct rs_error err = trigger->err;

	if (!request)
		return;
	trigger->adding = 0;
	trigger->result = (struct rs_session_result){0};
	rs_session_say_settled(session, request, trigger->ret, &result, &err);
	rs_session_result_clear(&result);
}

static void forget(struct rs_session *session, struct trigger *trigger)
{
	trigger->filtering = trigger->enabling = 0;
	rs_session_drop_asks(session, trigger);
	rs_session_forget_owner(session, trigger->owner);
}

/* Both are done. This may be in the midst of other requests, so none is made here. */
static void settle(struct rs_session *session, struct trigger *trigger)
{
	/* What the rings of a session that has ended hold is still looked at. */
	trigger->refused = trigger->ret && trigger->ret != -ESHUTDOWN;
	if (trigger->refused)
		rs_session_hurry(session);
	else
		answer(session, trigger);
}

void rs_triggers_settled(struct rs_session *session, uint32_t request, int ret,
			 const struct rs_session_result *result, const struct rs_error *err)
{
	const GPtrArray *all = session->triggers ? session->triggers->all : NULL;

	for (guint i = 0; all && i < all->len; i++) {
		struct trigger *trigger = all->pdata[i];

		if (trigger->filtering == request)
			trigger->filtering = 0;
		else if (trigger->enabling == request)
			trigger->enabling = 0;
		else
			continue;
		if (!ret) {
			note_result(session, trigger, result);
		} else if (!trigger->ret) {
			trigger->ret = ret;
			trigger->err = *err;
			note_problem(session, trigger, err->message);
		}
		if (!trigger->filtering && !trigger->enabling)
			settle(session, trigger);
		return;
	}
}

/* ---- coming and going ---- */

static bool has_reported(const struct rs_session *session)
{
	for (guint i = 0; i < session->sources->len; i++) {
		if (nth_source(session, i)->hello)
			return true;
	}
	return false;
}

/* A typing mistake is told now, and not when the trigger fires. */
static int check_action(struct rs_session *session, const struct rs_trigger_action *action,
			struct rs_error *err)
{
	g_autofree char *shown = NULL, *suggestion = NULL;
	g_autoptr(GArray) list = NULL;

	if (action->act != RS_TRIGGER_ENABLE && action->act != RS_TRIGGER_DISABLE)
		return 0;
	list = rs_session_list(session, action->arg);
	if (list->len || !has_reported(session))
		return 0;
	shown = rs_trace_escape(action->arg, -1, NULL);
	suggestion = rs_session_suggest(session, action->arg);
	return rs_error_set(err, ENOENT, "no event matches '%s'%s", shown, suggestion);
}

static int check(struct rs_session *session, const struct rs_trigger_text *text, bool ahead,
		 struct rs_error *err)
{
	const struct rs_triggers *triggers = triggers_of(session);
	guint armed = 0;
	int ret = 0;

	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	if (!triggers->watcher)
		return rs_error_set(err, ENOTSUP, "nobody reads records for triggers here");
	for (guint i = 0; i < triggers->all->len; i++)
		armed += !((const struct trigger *)triggers->all->pdata[i])->spent;
	if (armed >= RS_TRIGGERS_MAX)
		return rs_error_set(err, ENOSPC, "there are %u triggers already", RS_TRIGGERS_MAX);
	for (guint i = 0; !ahead && !ret && i < text->actions->len; i++)
		ret = check_action(session,
				   &g_array_index(text->actions, struct rs_trigger_action, i), err);
	return ret;
}

/* The oldest of those that are spent make room. */
static void drop_spent(struct rs_triggers *triggers)
{
	for (guint i = 0; triggers->all->len > RS_TRIGGERS_MAX && i < triggers->all->len;) {
		if (((const struct trigger *)triggers->all->pdata[i])->spent)
			g_ptr_array_remove_index(triggers->all, i);
		else
			i++;
	}
}

/* As rs_session_ask() does. */
static void tell_result(struct rs_session *session, struct trigger *trigger,
			struct rs_session_result *result)
{
	if (trigger->filtering || trigger->enabling) {
		trigger->adding = rs_later_number(session);
		result->later = trigger->adding;
		return;
	}
	*result = trigger->result;
	trigger->result = (struct rs_session_result){0};
}

int rs_session_add_trigger(struct rs_session *session, struct rs_trigger_text *text, bool ahead,
			   uint32_t *number, struct rs_session_result *result, struct rs_error *err)
{
	struct rs_triggers *triggers = triggers_of(session);
	struct trigger *trigger;
	int ret = check(session, text, ahead, err);

	if (ret)
		return ret;
	trigger = g_new0(struct trigger, 1);
	trigger->number = triggers->made + 1;
	trigger->text = text;
	trigger->owner = g_strdup_printf(RS_TRIGGER_OWNER "%u", trigger->number);
	/* It looks before the event can come. */
	ret = triggers->watcher->watch(triggers->watcher->data, trigger->number, text->glob,
				       text->expression,
				       rs_trigger_text_has(text, RS_TRIGGER_STACK), err);
	if (!ret) {
		ret = wish(session, trigger, ahead, err);
		if (ret) {
			forget(session, trigger);
			triggers->watcher->unwatch(triggers->watcher->data, trigger->number);
		}
	}
	if (ret) {
		trigger->text = NULL; /* it stays the caller's */
		trigger_free(trigger);
		return ret;
	}
	*number = ++triggers->made;
	g_ptr_array_add(triggers->all, trigger);
	drop_spent(triggers);
	if (result)
		tell_result(session, trigger, result);
	return 0;
}

/* It looks no more. */
static void disarm(struct rs_session *session, struct trigger *trigger)
{
	const struct rs_trigger_watcher *watcher = session->triggers->watcher;

	if (trigger->spent)
		return;
	trigger->spent = true;
	if (watcher) {
		trigger->hits = watcher->hits(watcher->data, trigger->number);
		watcher->unwatch(watcher->data, trigger->number);
	}
	forget(session, trigger);
}

static void drop(struct rs_session *session, struct trigger *trigger)
{
	GPtrArray *all = session->triggers->all;
	guint at;

	disarm(session, trigger);
	if (g_ptr_array_find(all, trigger, &at))
		g_ptr_array_steal_index(all, at);
	if (!trigger->ret)
		trigger->ret = rs_error_set(&trigger->err, ECANCELED,
					    "trigger %u was removed before it was in force",
					    trigger->number);
	answer(session, trigger);
	trigger_free(trigger);
}

void rs_triggers_go_on(struct rs_session *session)
{
	const GPtrArray *all = session->triggers ? session->triggers->all : NULL;

	for (guint i = 0; all && i < all->len;) {
		struct trigger *trigger = all->pdata[i];

		if (trigger->refused)
			drop(session, trigger);
		else
			i++;
	}
}

int rs_session_remove_trigger(struct rs_session *session, uint32_t number, struct rs_error *err)
{
	struct trigger *trigger = find(session, number);

	if (!trigger)
		return rs_error_set(err, ENOENT, "there is no trigger %u", number);
	drop(session, trigger);
	return 0;
}

GArray *rs_session_list_triggers(struct rs_session *session)
{
	const struct rs_triggers *triggers = triggers_of(session);
	const struct rs_trigger_watcher *watcher = triggers->watcher;
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct rs_trigger_info));

	for (guint i = 0; i < triggers->all->len; i++) {
		const struct trigger *trigger = triggers->all->pdata[i];
		struct rs_trigger_info info = {
			.number = trigger->number,
			.text = trigger->text,
			.fired = trigger->fired,
			.hits = trigger->hits,
			.spent = trigger->spent,
			.problem = trigger->problem,
		};

		if (watcher && !trigger->spent)
			info.hits = watcher->hits(watcher->data, trigger->number);
		g_array_append_val(list, info);
	}
	return list;
}

uint64_t rs_session_triggers_lost(struct rs_session *session)
{
	const struct rs_trigger_watcher *watcher = triggers_of(session)->watcher;

	return watcher ? watcher->lost(watcher->data) : 0;
}

/* ---- firing ---- */

static int switch_events(struct rs_session *session, const struct rs_trigger_action *action,
			 struct rs_error *err)
{
	/* The last wish counts, and the events may still come. */
	const struct rs_session_ask ask = {
		.from = session->triggers,
		.owner = RS_OWNER_HOST,
		.kind = action->act == RS_TRIGGER_ENABLE ? RS_ASK_ENABLE : RS_ASK_DISABLE,
		.glob = action->arg,
		.ahead = true,
	};

	return rs_session_ask(session, &ask, NULL, err);
}

static int act(struct rs_session *session, const struct trigger *trigger,
	       const struct rs_trigger_action *action, struct rs_error *err)
{
	const struct rs_trigger_watcher *watcher = session->triggers->watcher;
	int ret;

	/* The guests go on without us. What they have left is still there. */
	if (session->detached && action->act != RS_TRIGGER_SNAPSHOT)
		return -ESHUTDOWN;
	switch (action->act) {
	case RS_TRIGGER_FREEZE:
		return rs_session_set_frozen(session, true, err);
	case RS_TRIGGER_PAUSE:
		ret = session->paused ? 0 : rs_session_pause(session, err);
		/* Everybody is to see that the guests stand still. */
		session->stirred |= !ret;
		return ret;
	case RS_TRIGGER_SNAPSHOT:
		return watcher->snapshot(watcher->data, trigger->number, action->arg, err);
	case RS_TRIGGER_ENABLE:
	case RS_TRIGGER_DISABLE:
		return switch_events(session, action, err);
	default: /* the message shows the stack */
		return 0;
	}
}

static const struct rs_source *find_source(const struct rs_session *session, uint32_t number)
{
	for (guint i = 0; i < session->sources->len; i++) {
		if (nth_source(session, i)->number == number)
			return nth_source(session, i);
	}
	return NULL;
}

/* Before anything is done: the host's source may be frozen, too. */
static void tell(struct rs_session *session, const struct trigger *trigger,
		 const struct rs_trigger_hit *hit)
{
	const struct rs_source *source = find_source(session, hit->source);
	g_autofree char *what = rs_trigger_text_actions(trigger->text);
	g_autofree char *shown = rs_trace_escape(what, -1, NULL);
	uint64_t now = rs_monotonic_ns(), late = 0;

	if (source) {
		now -= MIN(now, source->region->header.origin_ns);
		late = now - MIN(now, hit->ns);
		rs_host_note_trigger(source, trigger->number, hit->event, what, late);
	}
	rs_session_say(session, "trigger %u: %s%s%s, %.1f ms ago: %s%s%s", trigger->number,
		       source && session->sources->len > 1 ? source->name : "",
		       source && session->sources->len > 1 ? "/" : "", hit->event,
		       (double)late / 1e6, shown, hit->text ? "\n" : "",
		       hit->text ? hit->text : "");
}

static void fire(struct rs_session *session, struct trigger *trigger,
		 const struct rs_trigger_hit *hit)
{
	/* It may be removed by what is done. */
	const uint32_t number = trigger->number;

	trigger->fired++;
	tell(session, trigger, hit);
	for (guint i = 0; i < trigger->text->actions->len; i++) {
		const struct rs_trigger_action *action =
			&g_array_index(trigger->text->actions, struct rs_trigger_action, i);
		struct rs_error err = {0};
		int ret = act(session, trigger, action, &err);

		trigger = find(session, number);
		if (!trigger)
			return;
		/* What ends soon after need not be paused. */
		if (ret && ret != -ESHUTDOWN)
			note_problem(session, trigger, err.message);
	}
	if (trigger->fired != trigger->text->count)
		return;
	disarm(session, trigger);
	answer(session, trigger);
}

uint32_t rs_session_trigger_hit(struct rs_session *session, uint32_t number,
				const struct rs_trigger_hit *hit)
{
	struct trigger *trigger = find(session, number);
	const gint64 now = g_get_monotonic_time();

	if (!trigger || trigger->spent)
		return RS_TRIGGER_GAP_MS;
	if (now < trigger->quiet_until)
		return (uint32_t)((trigger->quiet_until - now) / 1000 + 1);
	trigger->quiet_until = now + RS_TRIGGER_GAP_MS * 1000;
	fire(session, trigger, hit);
	return RS_TRIGGER_GAP_MS;
}

void rs_session_trigger_failed(struct rs_session *session, uint32_t number, const char *why)
{
	struct trigger *trigger = find(session, number);

	if (trigger)
		note_problem(session, trigger, why);
}
