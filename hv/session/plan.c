/* SPDX-License-Identifier: MIT */
#include "session/plan.h"
#include "session/private.h"

#include <errno.h>
#include <string.h>

/* ---- making plans ---- */

static struct event_state *state_of(const struct rs_plan *plan)
{
	return &plan->source->events[plan->id];
}

static void plan_clear(gpointer data)
{
	struct rs_plan *plan = data;

	rs_wishes_clear(&plan->wishes);
	g_clear_pointer(&plan->own, rs_program_unref);
	g_clear_pointer(&plan->program, rs_program_unref);
}

GArray *rs_plans_new(void)
{
	GArray *plans = g_array_new(FALSE, TRUE, sizeof(struct rs_plan));

	g_array_set_clear_func(plans, plan_clear);
	return plans;
}

struct rs_plan *rs_plans_add(GArray *plans, struct rs_source *source, const RsTraceEvent *event)
{
	const struct rs_plan plan = {.source = source, .id = event->id, .event = event};

	g_array_append_val(plans, plan);
	return rs_plan(plans, plans->len - 1);
}

bool rs_plan_is_current(const struct rs_plan *plan)
{
	return plan->taken && plan->version == state_of(plan)->version;
}

void rs_plan_take_wishes(struct rs_plan *plan)
{
	rs_turn_add(&plan->source->session->turn, RS_WORK_EVENT);
	plan->taken = true;
	plan->done = false;
	plan->version = state_of(plan)->version;
	rs_wishes_clear(&plan->wishes);
	rs_wishes_copy(&plan->wishes, &state_of(plan)->wishes);
}

/* Whether the guest asks for this, or nobody else wants it. */
static bool is_guests(const struct rs_plan *plan)
{
	const struct rs_owner *guest = plan->source->guest;

	for (const struct rs_wish *wish = plan->wishes.first; wish; wish = wish->next) {
		if (wish->wanted && wish->owner != guest)
			return plan->by_guest;
	}
	return true;
}

/* What is no larger than what is in force needs no room: the region bounds it. */
static int check_room(const struct rs_plan *plan, const GByteArray *joined, struct rs_error *err)
{
	const struct rs_program *now = state_of(plan)->program;

	if (now && joined->len <= now->bytes->len)
		return 0;
	return rs_program_check(&plan->source->session->programs, joined->len, is_guests(plan),
				err);
}

static void decide(struct rs_plan *plan, bool lenient, int *ret, struct rs_error *err)
{
	g_autoptr(GByteArray) joined = NULL;

	g_clear_pointer(&plan->program, rs_program_unref);
	/* Nothing is in force, and nothing takes room, until the session thaws. */
	if (plan->source->session->frozen) {
		plan->on = plan->overfull = false;
		plan->stack = 0;
		*ret = 0;
		return;
	}
	plan->on = rs_wishes_wanted(&plan->wishes);
	plan->stack = rs_source_takes_stacks(plan->source) ? rs_wishes_stack(&plan->wishes) : 0;
	*ret = rs_wishes_program(&plan->wishes, plan->event, &joined, err);
	plan->overfull = *ret != 0;
	if (!*ret && joined && !lenient)
		*ret = check_room(plan, joined, err);
	if (!*ret && joined)
		plan->program =
			rs_program_new(&plan->source->session->programs, joined, is_guests(plan));
}

int rs_plan_decide(struct rs_plan *plan, bool lenient, struct rs_error *err)
{
	int ret;

	for (const struct rs_wish *wish = plan->wishes.first; wish; wish = wish->next)
		rs_turn_add(&plan->source->session->turn, RS_WORK_WISH);
	decide(plan, lenient, &ret, err);
	if (!ret || lenient)
		return 0;
	return rs_error_prefix(err, "%s:%s", plan->event->system, plan->event->name);
}

void rs_result_keep(struct rs_session_result *result, const struct rs_plan *plan,
		    const struct rs_owner *but)
{
	/* The plan was carried out, so the event has its wishes. */
	const struct rs_wish *wish = state_of(plan)->wishes.first;
	bool kept = false;

	for (; wish; wish = wish->next) {
		const char *name = wish->owner->name;

		/* If an owner is excluded, count only those without a filter. */
		if (wish->owner == but || !wish->wanted || (but && wish->program))
			continue;
		kept = true;
		if (!result->kept_for)
			result->kept_for = g_ptr_array_new_with_free_func(g_free);
		if (!g_ptr_array_find_with_equal_func(result->kept_for, name, g_str_equal, NULL))
			g_ptr_array_add(result->kept_for, g_strdup(name));
	}
	result->kept += kept;
}

/* ---- what shall be in force ---- */

static bool program_changes(const struct rs_plan *plan)
{
	const struct rs_program *now = state_of(plan)->program, *next = plan->program;

	/* An event that goes off keeps its program until the end. */
	if (!plan->on || now == next)
		return false;
	return !now || !next || now->bytes->len != next->bytes->len ||
	       memcmp(now->bytes->data, next->bytes->data, now->bytes->len) != 0;
}

static int publish(const struct rs_plan *plan, const struct rs_program *program,
		   struct rs_error *err)
{
	struct rs_publisher *publisher = plan->source->publisher;
	const struct rs_filter_program *data = program ? (const void *)program->bytes->data : NULL;

	return is_guests(plan) ? rs_publisher_set_guest_filter(publisher, plan->id, data, err)
			       : rs_publisher_set_filter(publisher, plan->id, data, err);
}

/* What the guest wants takes no room that others need. */
static int publish_without_guest(struct rs_plan *plan, struct rs_error *err)
{
	struct rs_owner *guest = plan->source->guest;
	const struct rs_wish *wish = rs_wishes_of(&plan->wishes, guest);
	int ret = publish(plan, plan->program, err);

	if (ret != -ENOSPC || is_guests(plan) || !wish || !wish->program)
		return ret;
	rs_wishes_forget(&plan->wishes, guest);
	g_clear_pointer(&plan->program, rs_program_unref);
	rs_plan_decide(plan, true, NULL);
	plan->guest_ended = true;
	return publish(plan, plan->program, err);
}

/* Restores the old program. If there is no room for it, more is recorded than was asked for. */
static void take_back(const struct rs_plan *plan)
{
	struct event_state *state = state_of(plan);

	if (!program_changes(plan))
		return;
	if (!publish(plan, state->program, NULL)) {
		rs_source_native_due(plan->source, plan->event->id);
		return;
	}
	publish(plan, NULL, NULL);
	g_clear_pointer(&state->program, rs_program_unref);
	rs_source_say(plan->source, "%s:%s is recorded without a filter: no space is left for it",
		      plan->event->system, plan->event->name);
}

/* Plans of one source, all or nothing. */
static int publish_all(struct rs_plan *plans, guint count, struct rs_error *err)
{
	guint done = 0;
	int ret = 0;

	for (; done < count; done++) {
		ret = program_changes(&plans[done]) ? publish_without_guest(&plans[done], err) : 0;
		if (ret)
			break;
	}
	while (ret && done-- > 0)
		take_back(&plans[done]);
	return ret;
}

/* ---- on and off, in one source ---- */

/* `ids` are those whose state really changes. */
static int switch_on(struct rs_source *source, const GArray *ids, GPtrArray *problems,
		     struct rs_error *err)
{
	const uint32_t *id = (const uint32_t *)ids->data;
	int ret;

	if (!ids->len)
		return 0;
	/* The word before the text, since the word decides about an event that fires in between. */
	for (guint i = 0; i < ids->len; i++)
		rs_publisher_set_enabled(source->publisher, id[i], true, NULL);
	ret = rs_source_sites_switch(source, id, ids->len, true, problems, err);
	for (guint i = 0; i < ids->len; i++) {
		if (ret)
			rs_publisher_set_enabled(source->publisher, id[i], false, NULL);
		else
			source->events[id[i]].on = true;
	}
	return ret;
}

int rs_source_switch_off(struct rs_source *source, const GArray *ids, GPtrArray *problems,
			 struct rs_error *err)
{
	const uint32_t *id = (const uint32_t *)ids->data;
	int ret;

	if (!ids->len)
		return 0;
	ret = rs_source_sites_switch(source, id, ids->len, false, problems, err);
	/*
	 * The word alone decides for the guest, so the event is off even if its text was not
	 * restored.
	 */
	for (guint i = 0; i < ids->len; i++) {
		rs_publisher_set_enabled(source->publisher, id[i], false, NULL);
		source->events[id[i]].on = false;
	}
	return ret;
}

/* Whether the event is off, but a site of it is not: its text could not be restored. */
static bool text_left(const struct rs_plan *plan)
{
	return !plan->on && !state_of(plan)->called &&
	       rs_source_sites_on_of(plan->source, plan->id);
}

/* The ids of the plans whose events go on, or off. */
static GArray *changing(const struct rs_plan *plans, guint count, bool on)
{
	GArray *ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (guint i = 0; i < count; i++) {
		if (plans[i].on == on && (state_of(&plans[i])->on != on || text_left(&plans[i])))
			g_array_append_val(ids, plans[i].id);
	}
	return ids;
}

/* Makes the plan the event's state. */
static void settle(struct rs_plan *plan)
{
	struct event_state *state = state_of(plan);

	if (!plan->on && state->program)
		publish(plan, NULL, NULL);
	if (plan->overfull && !state->overfull)
		rs_source_say(plan->source,
			      "%s:%s is recorded without a filter: those of all owners together "
			      "are too large",
			      plan->event->system, plan->event->name);
	if (plan->guest_ended)
		rs_source_say(plan->source,
			      "%s:%s is not recorded for the guest any more: no space is left for "
			      "its filter",
			      plan->event->system, plan->event->name);
	state->overfull = plan->overfull;
	state->stack = plan->stack;
	rs_wishes_clear(&state->wishes);
	state->wishes = plan->wishes;
	plan->wishes = (struct rs_wishes){0};
	plan->done = true;
	g_clear_pointer(&state->program, rs_program_unref);
	state->program = plan->program ? rs_program_ref(plan->program) : NULL;
	rs_source_native_due(plan->source, plan->id);
	g_clear_pointer(&state->filter, g_free);
	plan->version = ++state->version;
}

/* ---- in force ---- */

/* Lines about one source, for whoever asked and for listeners. */
static void tell(struct rs_source *source, const GPtrArray *lines, struct rs_session_result *result)
{
	bool several = source->session->sources->len > 1;

	for (guint i = 0; i < lines->len; i++) {
		const char *line = lines->pdata[i];

		rs_source_say(source, "%s", line);
		if (!result)
			continue;
		if (!result->problems)
			result->problems = g_ptr_array_new_with_free_func(g_free);
		g_ptr_array_add(result->problems,
				several ? g_strconcat(source->name, ": ", line, NULL)
					: g_strdup(line));
	}
}

/* `back`: as they were. */
static void set_stacks(const struct rs_plan *plans, guint count, bool back)
{
	for (guint i = 0; i < count; i++)
		rs_publisher_set_stack(plans->source->publisher, plans[i].id,
				       back ? state_of(&plans[i])->stack : plans[i].stack, NULL);
}

/* Where it fails, all is as before. */
static int begin(struct rs_plan *plans, guint count, GPtrArray *lines, struct rs_error *err)
{
	g_autoptr(GArray) on = changing(plans, count, true);
	struct rs_source *source = plans->source;
	int ret;

	if (source->ended)
		return rs_error_set(err, ESHUTDOWN, "it has ended");
	ret = publish_all(plans, count, err);
	if (ret)
		return ret;
	set_stacks(plans, count, false);
	ret = switch_on(source, on, lines, err);
	if (ret)
		set_stacks(plans, count, true);
	for (guint i = 0; ret && i < count; i++)
		take_back(&plans[i]);
	return ret;
}

static int carry_out(struct rs_plan *plans, guint count, struct rs_session_result *result,
		     struct rs_error *err)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) off = changing(plans, count, false);
	struct rs_source *source = plans->source;
	struct rs_error left = {0};
	int ret = begin(plans, count, lines, err);

	/* Events whose text cannot be put back are off too. */
	if (!ret && rs_source_switch_off(source, off, lines, &left))
		g_ptr_array_add(lines, g_strdup_printf("events are off, but their text was not put "
						       "back: %s",
						       left.message));
	for (guint i = 0; !ret && i < count; i++)
		settle(&plans[i]);
	rs_source_commit(source);
	/* Whoever asked is told if the target has ended in the pause. */
	rs_source_take_waiting_end(source);
	if (!ret && source->ended)
		ret = rs_error_set(err, ESHUTDOWN, "it has ended");
	if (!ret)
		tell(source, lines, result);
	return ret;
}

int rs_plans_carry_out(GArray *plans, struct rs_session_result *result, struct rs_error *err)
{
	struct rs_error unused = {0};

	return plans->len ? carry_out(rs_plan(plans, 0), plans->len, result, err ? err : &unused)
			  : 0;
}

bool rs_source_takes_stacks(const struct rs_source *source)
{
	return source->info.flags & RS_GUEST_STACKS;
}

static void tell_line(struct rs_source *source, char *line, struct rs_session_result *result)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(lines, line);
	tell(source, lines, result);
}

void rs_source_tell_no_stacks(struct rs_source *source, struct rs_session_result *result)
{
	tell_line(source, g_strdup("its agent takes no call stacks: the records come without"),
		  result);
}

void rs_result_fail(struct rs_session_result *result, struct rs_source *source, const char *why)
{
	tell_line(source, g_strdup_printf("nothing was changed there: %s", why), result);
	if (!result->failed)
		result->failed = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_array_append_val(result->failed, source->number);
}
