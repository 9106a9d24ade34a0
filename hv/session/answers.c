/* SPDX-License-Identifier: MIT */
/* Takes requests of the guest, from a port or a mailbox, and answers them at once or later. */
#include "session/private.h"
#include "session/slots.h"

#include <errno.h>
#include <string.h>

/* For what somebody in the guest waits. */
enum wait_for {
	NOTHING,
	CHANGE,  /* of the generation */
	LOOK,    /* at all that it has described */
	PATCHED, /* until sites are patched as it asked */
	ASKING,  /* until what it asks for is worked out */
};

struct wait {
	enum wait_for what;
	struct rs_ticket ticket;
	uint32_t number; /* LOOK: RS_HCALL_*, and the slot that it is about */
	uint64_t slot;
	uint64_t value, sites;    /* PATCHED: of the answer; the sites' ticket */
	struct rs_asking *asking; /* ASKING: owned */
};

struct rs_requests {
	struct rs_slots *slots;
	struct wait *waits; /* by slot */
	uint32_t askings;   /* of them that are ASKING */
	uint32_t next;      /* the slot behind the one whose asking was done last */
	uint64_t taken,
		bad; /* requests from ports and mailboxes; those of them that were refused */
};

/* ---- nudges ---- */

/* RS_GUEST_NUDGE_*: interrupts that the guest takes and the target can raise. */
static uint32_t nudge_ways(const struct rs_source *source)
{
	uint32_t ways = source->info.flags & source->target->ops->nudges;

	if (source->info.nudge_vector < 32 || source->info.nudge_vector > 255)
		ways &= ~RS_GUEST_NUDGE_VECTOR;
	return ways & (RS_GUEST_NUDGE_VECTOR | RS_GUEST_NUDGE_NMI);
}

void rs_source_promise_nudges(struct rs_source *source)
{
	bool can = nudge_ways(source) != 0;

	rs_publisher_set_flags(source->publisher, can ? RS_CONTROL_NUDGES : 0,
			       can ? 0 : RS_CONTROL_NUDGES);
}

int rs_source_nudge(struct rs_source *source, struct rs_error *err)
{
	struct rs_target *target = source->target;
	uint32_t ways = source->hello ? nudge_ways(source) : 0;
	bool by_vector = ways & RS_GUEST_NUDGE_VECTOR;

	if (source->ended)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	rs_publisher_nudge(source->publisher);
	if (!ways)
		return rs_error_set(err, ENOTSUP, "this guest cannot be interrupted");
	return target->ops->nudge(target, by_vector ? source->info.nudge_vector : 0, err);
}

/* ---- answers that come later ---- */

bool rs_source_wait_control(struct rs_source *source, const struct rs_hcall_request *request,
			    const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	uint32_t now = rs_publisher_generation(source->publisher);

	response->values[0] = now;
	if (!source_alive(source))
		rs_response_set(response, -RS_EACCES, "the session has ended");
	if (!source_alive(source) || request->args[0] != now)
		return true;
	source->requests->waits[ticket->slot] = (struct wait){.what = CHANGE, .ticket = *ticket};
	return false;
}

bool rs_source_wait_look(struct rs_source *source, const struct rs_hcall_request *request,
			 const struct rs_ticket *ticket, struct rs_hcall_response *response)
{
	if ((!source->unfinished && !source->patching) || !source_alive(source)) {
		rs_source_answer_look(source, request->number, request->args[0], response);
		return true;
	}
	source->requests->waits[ticket->slot] = (struct wait){.what = LOOK,
							      .ticket = *ticket,
							      .number = request->number,
							      .slot = request->args[0]};
	rs_session_hurry(source->session);
	return false;
}

bool rs_source_wait_patched(struct rs_source *source, const struct rs_ticket *ticket,
			    const struct rs_hcall_response *response)
{
	uint64_t sites = rs_source_sites_ticket(source, 0, UINT16_MAX);

	if (response->result || rs_source_sites_settled(source, sites))
		return true;
	source->requests->waits[ticket->slot] = (struct wait){
		.what = PATCHED, .ticket = *ticket, .value = response->values[0], .sites = sites};
	return false;
}

int rs_source_answer(struct rs_source *source, const struct rs_ticket *ticket,
		     const struct rs_hcall_response *response)
{
	int ret = -ESHUTDOWN;

	if (!source->ended)
		ret = rs_slots_answer(source->requests->slots, ticket, response);
	if (!ret)
		rs_source_nudge(source, NULL);
	return ret;
}

bool rs_source_owes(struct rs_source *source, const struct rs_ticket *ticket)
{
	return !rs_slots_accept(source->requests->slots, ticket);
}

static void clear_wait(struct rs_requests *requests, uint32_t slot)
{
	struct wait *wait = &requests->waits[slot];

	requests->askings -= wait->what == ASKING;
	rs_asking_free(wait->asking);
	*wait = (struct wait){0};
}

void rs_source_wait_asking(struct rs_source *source, const struct rs_ticket *ticket,
			   struct rs_asking *asking)
{
	struct rs_requests *requests = source->requests;

	clear_wait(requests, ticket->slot);
	requests->waits[ticket->slot] =
		(struct wait){.what = ASKING, .ticket = *ticket, .asking = asking};
	requests->askings++;
	rs_session_hurry(source->session);
}

bool rs_source_asks(const struct rs_source *source)
{
	return source->requests->askings;
}

/*
 * True: it is done, and answered, or nobody waits for it any more. The guest may boot anew
 * meanwhile, or end, so the request does not lie in its slot while it is worked out.
 */
static bool ask_on(struct rs_source *source, uint32_t slot)
{
	struct wait *wait = &source->requests->waits[slot];
	struct rs_asking *asking = g_steal_pointer(&wait->asking);
	const struct rs_ticket ticket = wait->ticket;
	struct rs_hcall_response response = {0};
	bool done = rs_source_ask(source, asking, &response);
	bool waited_for = wait->what == ASKING && !wait->asking;

	if (waited_for && !done) {
		wait->asking = asking;
		return false;
	}
	rs_asking_free(asking);
	if (!waited_for)
		return true;
	clear_wait(source->requests, slot);
	if (rs_source_wait_patched(source, &ticket, &response))
		rs_source_answer(source, &ticket, &response);
	return true;
}

/* One after the other, so that those who ask are done as early as can be. */
void rs_source_ask_on(struct rs_source *source)
{
	struct rs_requests *requests = source->requests;
	const uint32_t count = rs_slots_count(requests->slots);

	while (requests->askings && !rs_turn_over(&source->session->turn)) {
		const uint32_t slot = requests->next % count;

		if (requests->waits[slot].what == ASKING && !ask_on(source, slot))
			return;
		requests->next = slot + 1;
	}
}

void rs_source_forget_askings(struct rs_source *source)
{
	struct rs_requests *requests = source->requests;

	for (uint32_t i = 0; i < rs_slots_count(requests->slots); i++) {
		if (requests->waits[i].what == ASKING)
			clear_wait(requests, i);
	}
}

/* The guest may not wait any more, which does not matter. */
static void answer_wait(struct rs_source *source, struct wait *wait, uint64_t generation)
{
	const enum wait_for what = wait->what;
	struct rs_hcall_response response = {0};

	wait->what = NOTHING;
	if (what == LOOK)
		rs_source_answer_look(source, wait->number, wait->slot, &response);
	else
		response.values[0] = what == PATCHED ? wait->value : generation;
	rs_source_answer(source, &wait->ticket, &response);
}

static void answer_waits(struct rs_source *source, enum wait_for what, uint64_t generation)
{
	struct rs_requests *requests = source->requests;

	for (uint32_t i = 0; i < rs_slots_count(requests->slots); i++) {
		struct wait *wait = &requests->waits[i];

		if (wait->what == what &&
		    (what != PATCHED || rs_source_sites_settled(source, wait->sites)))
			answer_wait(source, wait, generation);
	}
}

void rs_source_commit(struct rs_source *source)
{
	answer_waits(source, CHANGE, rs_publisher_commit(source->publisher));
}

void rs_source_looked(struct rs_source *source)
{
	if (!source->unfinished && !source->patching)
		answer_waits(source, LOOK, 0);
	answer_waits(source, PATCHED, 0);
}

void rs_source_refuse_requests(struct rs_source *source)
{
	for (uint32_t i = 0; i < rs_slots_count(source->requests->slots); i++)
		clear_wait(source->requests, i);
	if (rs_slots_refuse_all(source->requests->slots, "the session has ended"))
		rs_source_nudge(source, NULL);
}

/* ---- requests that come ---- */

static bool is_bad(int32_t result)
{
	return result == -RS_ENOSYS || result == -RS_EINVAL || result == -RS_E2BIG;
}

static bool take_request(struct rs_source *source, uint32_t slot, struct rs_target_end *end)
{
	struct rs_requests *requests = source->requests;
	struct rs_hcall_response response = {0};
	struct rs_hcall_request request;
	struct rs_ticket ticket;
	bool ends, now = true;

	requests->taken++;
	rs_turn_add(&source->session->turn, RS_WORK_REQUEST);
	if (rs_slots_take(requests->slots, slot, &request, &ticket)) {
		requests->bad++;
		return false;
	}
	/* Nobody waits for the former answer, so do not work for it. */
	if (requests->waits[slot].what == ASKING)
		clear_wait(requests, slot);
	ends = rs_request_ends(&request, end);
	if (!ends)
		now = rs_source_serve(source, &request, &ticket, &response);
	requests->bad += is_bad(response.result);
	if (now)
		rs_slots_answer(requests->slots, &ticket, &response);
	else
		rs_slots_accept(requests->slots, &ticket);
	return ends;
}

bool rs_source_hypercall(void *data, uint32_t slot, struct rs_target_end *end)
{
	struct rs_source *source = data;

	rs_turn_begin(&source->session->turn);
	return take_request(source, slot, end);
}

/* A request in a mailbox causes no exit, so the session looks at all mailboxes now and then. */
bool rs_source_poll_mailboxes(struct rs_source *source)
{
	struct rs_slots *slots = source->requests->slots;
	struct rs_target_end end;
	bool any = false;

	for (uint32_t i = 0; i < rs_slots_count(slots) && !source->ended; i++) {
		if (!rs_slots_fresh(slots, i))
			continue;
		any = true;
		if (rs_turn_over(&source->session->turn))
			break;
		if (!take_request(source, i, &end))
			continue;
		if (end.reason == RS_END_PANIC && source->target->ops->borrowed) {
			rs_source_note_panic(source, end.text);
			continue;
		}
		/* Keep the reason that the guest gave. The target's own end, which follows, does
		 * not replace it. */
		rs_source_set_ended(source, &end);
		source->target->ops->stop(source->target, "the guest has ended");
	}
	return any;
}

/* ---- their life ---- */

struct rs_requests *rs_requests_create(const RsTraceRegion *region)
{
	struct rs_requests *requests = g_new0(struct rs_requests, 1);

	requests->slots = rs_slots_create(region);
	requests->waits = g_new0(struct wait, rs_slots_count(requests->slots));
	return requests;
}

void rs_requests_destroy(struct rs_requests *requests)
{
	if (!requests)
		return;
	for (uint32_t i = 0; i < rs_slots_count(requests->slots); i++)
		clear_wait(requests, i);
	rs_slots_destroy(requests->slots);
	g_free(requests->waits);
	g_free(requests);
}

void rs_requests_stat(const struct rs_requests *requests, struct rs_source_stat *out)
{
	out->hypercalls = requests->taken;
	out->bad_hypercalls = requests->bad;
	out->late_answers = rs_slots_dropped(requests->slots);
}
