/* SPDX-License-Identifier: MIT */
/*
 * Requests that are not settled yet: each is first worked out in turns, and then settled when the
 * sites of its own events are as it asked for, whatever others ask for meanwhile, and the agents
 * that have more to do for it have done so.
 */
#include "session/plan.h"
#include "session/private.h"

#include <errno.h>
#include <ringside/atomic.h>

#define LINES 16u        /* of late problems that one request is told */
#define FOLLOW_POLL_MS 1 /* nothing else says that it has */

/* What a request waits for in a source that lives, and is patching or is followed. */
struct wait {
	struct rs_source *source;
	uint32_t min_event, max_event;
	uint64_t ticket;
	uint32_t generation; /* that the agent is to follow … */
	gint64 until;        /* … by this monotonic us; 0: it does not say what it follows */
	GHashTable *events;  /* ids: whose problems are the request's */
};

struct later {
	uint32_t number;
	const void *from;
	struct rs_asking *asking; /* while it is to be worked out; then NULL */
	bool working;             /* just now: `asking` is at work */
	GArray *waits;            /* of struct wait, once it is worked out */
	struct rs_session_result result;
	int ret;
	struct rs_error err; /* if `ret` */
	size_t told, left_out;
};

static void wait_clear(gpointer wait)
{
	g_hash_table_unref(((struct wait *)wait)->events);
}

static struct later *later_new(void)
{
	struct later *later = g_new0(struct later, 1);

	later->waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	g_array_set_clear_func(later->waits, wait_clear);
	return later;
}

static void later_free(gpointer data)
{
	struct later *later = data;

	rs_asking_free(later->asking);
	rs_session_result_clear(&later->result);
	g_array_unref(later->waits);
	g_free(later);
}

GPtrArray *rs_laters_new(void)
{
	return g_ptr_array_new_with_free_func(later_free);
}

static struct later *nth_later(const struct rs_session *session, guint i)
{
	return session->laters->pdata[i];
}

uint32_t rs_later_number(struct rs_session *session)
{
	if (!++session->laters_made) /* that means: done */
		session->laters_made = 1;
	return session->laters_made;
}

static uint32_t keep(struct rs_session *session, struct later *later)
{
	later->number = rs_later_number(session);
	g_ptr_array_add(session->laters, later);
	rs_session_hurry(session);
	return later->number;
}

/* ---- to be worked out ---- */

uint32_t rs_later_ask(struct rs_session *session, const void *from, struct rs_asking *asking)
{
	struct later *later = later_new();

	later->from = from;
	later->asking = asking;
	return keep(session, later);
}

/* `before`: those that come later in the list have come later. */
static bool blocks(const struct rs_session *session, const void *from, const struct rs_owner *owner,
		   guint before)
{
	for (guint i = 0; i < session->laters->len; i++) {
		const struct later *later = nth_later(session, i);

		if (!later->asking || i == before)
			continue;
		if (i < before && later->from == from)
			return true;
		if (rs_asking_owner(later->asking) == owner &&
		    (rs_asking_is_in_force(later->asking) ||
		     (i < before && rs_asking_forgets(later->asking))))
			return true;
	}
	return false;
}

bool rs_later_blocks(const struct rs_session *session, const void *from,
		     const struct rs_owner *owner)
{
	return blocks(session, from, owner, session->laters->len);
}

void rs_session_drop_asks(struct rs_session *session, const void *from)
{
	for (guint i = session->laters->len; i-- > 0;) {
		struct later *later = nth_later(session, i);

		if (later->from != from || !later->asking)
			continue;
		if (rs_asking_is_in_force(later->asking))
			later->from = later; /* it is done, and nobody is told */
		else
			g_ptr_array_remove_index(session->laters, i);
	}
}

void rs_later_drop_source(struct rs_session *session, const struct rs_source *source)
{
	for (guint i = 0; i < session->laters->len; i++) {
		const struct later *later = nth_later(session, i);

		if (later->asking)
			rs_asking_drop_source(later->asking, source);
		for (guint k = later->waits->len; k-- > 0;) {
			if (g_array_index(later->waits, struct wait, k).source == source)
				g_array_remove_index(later->waits, k);
		}
	}
}

/* ---- to be patched ---- */

static struct wait *wait_of(const struct later *later, const struct rs_source *source)
{
	for (guint i = 0; i < later->waits->len; i++) {
		struct wait *wait = &g_array_index(later->waits, struct wait, i);

		if (wait->source == source)
			return wait;
	}
	return NULL;
}

/*
 * A guest that stands still follows when it goes on. A program that joined may say what it likes,
 * and nobody waits for it.
 */
static bool follows(const struct rs_source *source)
{
	return !source->machine && !source->panicked && source->hello &&
	       source->info.flags & RS_GUEST_FOLLOWS && !source->ended && !source->target->held &&
	       !source->session->paused;
}

static bool has_followed(const struct wait *wait)
{
	const struct rs_guest_info *info =
		rs_trace_region_section(wait->source->region, RS_SEC_GUEST_INFO, NULL);
	/* Acquire: pairs with the agent's release once all is in force. */
	uint32_t applied = rs_load_acquire(&info->applied_generation);

	return !wait->until || (int32_t)(applied - wait->generation) >= 0 || !follows(wait->source);
}

/* For the sites of these plans, all of one source. */
static void add_wait(struct later *later, const GArray *plans)
{
	struct wait wait = {.min_event = UINT32_MAX};

	if (!plans->len)
		return;
	wait.source = rs_plan(plans, 0)->source;
	if (follows(wait.source)) {
		wait.generation = rs_publisher_generation(wait.source->publisher);
		wait.until =
			g_get_monotonic_time() + (gint64)wait.source->session->follow_ms * 1000;
	}
	if (!wait.source->patching && has_followed(&wait))
		return;
	wait.events = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < plans->len; i++) {
		uint32_t id = rs_plan(plans, i)->id;

		wait.min_event = MIN(wait.min_event, id);
		wait.max_event = MAX(wait.max_event, id);
		g_hash_table_add(wait.events, GUINT_TO_POINTER(id));
	}
	wait.ticket = rs_source_sites_ticket(wait.source, wait.min_event, wait.max_event);
	g_array_append_val(later->waits, wait);
}

static bool is_settled(const struct later *later)
{
	for (guint i = 0; i < later->waits->len; i++) {
		const struct wait *wait = &g_array_index(later->waits, struct wait, i);

		if (!rs_source_sites_settled(wait->source, wait->ticket) ||
		    (!has_followed(wait) && g_get_monotonic_time() < wait->until))
			return false;
	}
	return !later->asking;
}

static void add_waits(struct later *later, const struct rs_asking *asking)
{
	const GArray *plans;

	for (guint i = 0; (plans = rs_asking_done(asking, i)); i++)
		add_wait(later, plans);
}

uint32_t rs_later_wait(struct rs_session *session, const struct rs_asking *asking,
		       struct rs_session_result *result)
{
	struct later *later = later_new();

	add_waits(later, asking);
	if (is_settled(later)) {
		later_free(later);
		return 0;
	}
	later->result = *result;
	*result = (struct rs_session_result){0};
	return keep(session, later);
}

static void add_problem(struct later *later, char *line)
{
	if (!later->result.problems)
		later->result.problems = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(later->result.problems, line);
}

void rs_source_note_late(const struct rs_source *source, uint32_t event, const char *line)
{
	const struct rs_session *session = source->session;

	for (guint i = 0; i < session->laters->len; i++) {
		struct later *later = nth_later(session, i);
		const struct wait *wait = wait_of(later, source);

		if (!wait ||
		    (event && !g_hash_table_contains(wait->events, GUINT_TO_POINTER(event))))
			continue;
		if (later->told == LINES) {
			later->left_out++;
			continue;
		}
		later->told++;
		add_problem(later, session->sources->len > 1
					   ? g_strconcat(source->name, ": ", line, NULL)
					   : g_strdup(line));
	}
}

static void note_silence(struct later *later, const struct wait *wait)
{
	if (!has_followed(wait))
		add_problem(later, g_strdup_printf("%s: not in force so far: the guest's agent has "
						   "not followed for %u s",
						   wait->source->name,
						   wait->source->session->follow_ms / 1000));
}

int rs_later_poll_ms(const struct rs_session *session)
{
	for (guint i = 0; i < session->laters->len; i++) {
		const struct later *later = nth_later(session, i);

		for (guint k = 0; k < later->waits->len; k++)
			if (!has_followed(&g_array_index(later->waits, struct wait, k)))
				return FOLLOW_POLL_MS;
	}
	return G_MAXINT;
}

/* ---- going on ---- */

/* It is worked out, or refused. */
static void end_asking(struct later *later, int ret)
{
	later->ret = ret;
	if (!ret)
		add_waits(later, later->asking);
	g_clear_pointer(&later->asking, rs_asking_free);
}

/* One after the other, so that a long one does not keep short ones from being done. */
bool rs_later_go_on(struct rs_session *session)
{
	/* Others may be settled, and leave the list, meanwhile. */
	for (guint left = session->laters->len;
	     left && session->laters->len && !rs_turn_over(&session->turn); left--) {
		struct later *later;
		guint at = session->next_ask % session->laters->len;
		int ret;

		session->next_ask = at + 1;
		later = nth_later(session, at);
		if (!later->asking ||
		    blocks(session, later->from, rs_asking_owner(later->asking), at))
			continue;
		later->working = true;
		ret = rs_asking_go_on(later->asking, &later->result, &later->err);
		later->working = false;
		if (ret != 1)
			end_asking(later, ret);
	}
	rs_session_settle(session);
	for (guint i = 0; i < session->laters->len; i++) {
		if (nth_later(session, i)->asking)
			return true;
	}
	return false;
}

static void say_settled(struct rs_session *session, struct later *later)
{
	if (later->left_out)
		add_problem(later, g_strdup_printf("and %zu sites more likewise", later->left_out));
	for (guint i = 0; i < later->waits->len; i++)
		note_silence(later, &g_array_index(later->waits, struct wait, i));
	rs_session_say_settled(session, later->number, later->ret, &later->result, &later->err);
	later_free(later);
}

void rs_session_settle(struct rs_session *session)
{
	bool over = session->detached || rs_session_over(session);

	for (guint i = 0; i < session->laters->len;) {
		struct later *later = nth_later(session, i);

		if (over && later->asking && !later->working)
			end_asking(later, rs_session_refuse_over(session, &later->err));
		if (is_settled(later))
			say_settled(session, g_ptr_array_steal_index(session->laters, i));
		else
			i++;
	}
}
