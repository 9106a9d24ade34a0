/* SPDX-License-Identifier: MIT */
/*
 * Requests of the agent against a host that answers some at once, some late and in another order:
 * built with ThreadSanitizer, all but GLib, and with ASan/UBSan. The host takes and answers by hv's
 * own slots, on one mapping of the region.
 */
#include "answerer.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <ringside/atomic.h>
#include <sched.h>

#define ASKERS 4u
#define ASKS 1000u
#define KEPT_MAX 16u
#define SLOTS_MAX 64u

static uint32_t stop;
static uint32_t sleeps;

/* ---- the host ---- */

struct kept {
	struct rs_ticket ticket;
	uint64_t value;
};

struct host {
	struct kept kept[KEPT_MAX];
	uint32_t count, late, at_once;
};

/* What every answer holds: a mark of the question. */
static uint64_t answer_to(uint64_t question)
{
	return question * 0x9e3779b97f4a7c15ull + 1;
}

static int answer(struct host *host, const struct rs_ticket *ticket, uint64_t question)
{
	struct rs_hcall_response response = {.result = (int32_t)(question & 0xffff)};

	for (uint32_t i = 0; i < 6; i++)
		response.values[i] = answer_to(question + i);
	return rs_slots_answer(slots, ticket, &response);
}

/* One that was kept, not the oldest; then the nudge. */
static void answer_late(struct host *host)
{
	uint32_t at = host->late * 7 % host->count;

	CHECK(answer(host, &host->kept[at].ticket, host->kept[at].value) == 0);
	host->kept[at] = host->kept[--host->count];
	host->late++;
	rs_store_release(&control->nudge, control->nudge + 1);
}

static void serve(struct host *host, uint32_t slot)
{
	struct rs_hcall_request request;
	struct rs_ticket ticket;

	if (!rs_slots_fresh(slots, slot))
		return;
	CHECK(rs_slots_take(slots, slot, &request, &ticket) == 0);
	CHECK(request.args[1] == ~request.args[0]);
	if (request.args[0] % 3 && host->count < KEPT_MAX) {
		CHECK(rs_slots_accept(slots, &ticket) == 0);
		host->kept[host->count++] = (struct kept){ticket, request.args[0]};
		return;
	}
	CHECK(answer(host, &ticket, request.args[0]) == 0);
	host->at_once++;
}

static void *run_host(void *data)
{
	struct host *host = data;

	while (!rs_load_acquire(&stop)) {
		for (uint32_t i = 0; i < rs_slots_count(slots); i++)
			serve(host, i);
		/* However busy the machine is, somebody sleeps once. */
		if (host->count && __atomic_load_n(&sleeps, __ATOMIC_RELAXED))
			answer_late(host);
	}
	return NULL;
}

/* ---- the guest ---- */

static void check_reply(int32_t result, const struct rs_hcall_reply *reply, uint64_t question)
{
	CHECK(result == (int32_t)(question & 0xffff));
	for (uint32_t i = 0; i < 6; i++)
		CHECK(reply->values[i] == answer_to(question + i));
}

static void wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	__atomic_fetch_add(&sleeps, 1, __ATOMIC_RELAXED);
	/* Like a port that halts: without the look before it, this would never end. */
	while (nudged && rs_load_acquire(nudge) == seen && !rs_load_acquire(&stop))
		sched_yield();
}

static void *asker(void *data)
{
	uint64_t me = (uintptr_t)data;

	for (uint64_t i = 0; i < ASKS; i++) {
		uint64_t question = me << 32 | i, second = question | 1ull << 62;
		uint64_t args[6] = {question, ~question}, more[6] = {second, ~second};
		struct rs_hcall_ticket ticket;
		struct rs_hcall_reply reply;
		int32_t result;

		/* One request does not wait, and one that waits comes in between. */
		CHECK(rs_hypercall_begin(&ticket, 100, more, NULL, 0) == 0);
		result = rs_hypercall(100, args, NULL, 0, &reply);
		check_reply(result, &reply, question);
		while (!rs_hypercall_poll(&ticket, &result, &reply))
			sched_yield();
		check_reply(result, &reply, second);
	}
	return NULL;
}

static const struct rs_trace_ops ops = {.wait_nudge = wait_nudge};

static void test_many(struct host *host)
{
	pthread_t threads[ASKERS], server;

	stop = 0;
	control->flags = RS_CONTROL_NUDGES;
	CHECK(!pthread_create(&server, NULL, run_host, host));
	for (uintptr_t i = 0; i < ASKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, asker, (void *)i));
	for (uint32_t i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	rs_store_release(&stop, 1);
	pthread_join(server, NULL);
	CHECK(host->count == 0 && host->late > 0 && host->at_once > 0 && sleeps > 0);
	CHECK(host->late + host->at_once == 2 * ASKERS * ASKS);
	CHECK(rs_slots_dropped(slots) == 0);
	printf("# %u late, %u at once, %u sleeps\n", host->late, host->at_once, sleeps);
}

static void begin(struct host *host, uint64_t question, struct rs_hcall_ticket *ticket,
		  struct rs_ticket *theirs)
{
	uint64_t args[6] = {question, ~question};
	struct rs_hcall_request request;

	CHECK(rs_hypercall_begin(ticket, 100, args, NULL, 0) == 0);
	CHECK(rs_slots_take(slots, (uint32_t)ticket->slot, &request, theirs) == 0);
	CHECK(rs_slots_accept(slots, theirs) == 0);
}

/*
 * Nobody gets an answer that is meant for an earlier boot, and the guest does not reuse a sequence
 * that the host may still write.
 */
static void test_reboot(struct host *host)
{
	struct rs_hcall_request *requests = rs_trace_region_section(region, RS_SEC_REQUEST, NULL);
	struct rs_hcall_response *responses =
		rs_trace_region_section(region, RS_SEC_RESPONSE, NULL);
	uint32_t n_slots = rs_slots_count(slots);
	struct rs_hcall_ticket before, after;
	struct rs_ticket old, now;
	struct rs_hcall_reply reply;
	int32_t result;

	begin(host, 1, &before, &old);
	for (uint32_t i = 0; i < n_slots; i++)
		responses[i].accepted = requests[i].sequence + 1; /* to a boot that is gone */
	rs_agent_fini();
	answerer_boot(&ops, 0);
	for (uint32_t i = 0; i < n_slots - 1; i++) {
		uint32_t promised[SLOTS_MAX], answered[SLOTS_MAX];

		for (uint32_t k = 0; k < n_slots; k++) {
			promised[k] = responses[k].accepted;
			answered[k] = responses[k].sequence;
		}
		/* The slot of the boot before counts as taken, since it was in this process. */
		begin(host, 2, &after, &now);
		CHECK(after.slot != before.slot);
		CHECK(after.sequence != promised[after.slot]);
		CHECK(after.sequence != answered[after.slot]);
		CHECK(answer(host, &old, 1) == -ESTALE);
		CHECK(!rs_hypercall_poll(&after, &result, &reply));
		CHECK(answer(host, &now, 2) == 0);
		CHECK(rs_hypercall_poll(&after, &result, &reply));
		check_reply(result, &reply, 2);
	}
	CHECK(!rs_hypercall_poll(&before, &result, &reply));
}

/* All slots wait: there is none for another request, and each can still be answered. */
static void test_all_taken(struct host *host)
{
	uint32_t n_slots = rs_slots_count(slots);
	g_autofree struct rs_hcall_ticket *mine = g_new(struct rs_hcall_ticket, n_slots);
	g_autofree struct rs_ticket *theirs = g_new(struct rs_ticket, n_slots);
	struct rs_hcall_reply reply;
	uint32_t taken = 0;
	int32_t result;

	while (taken < n_slots) {
		uint64_t args[6] = {taken, ~(uint64_t)taken};
		struct rs_hcall_request request;

		if (rs_hypercall_begin(&mine[taken], 100, args, NULL, 0))
			break;
		CHECK(rs_slots_take(slots, (uint32_t)mine[taken].slot, &request, &theirs[taken]) ==
		      0);
		CHECK(rs_slots_accept(slots, &theirs[taken]) == 0);
		taken++;
	}
	CHECK(taken >= n_slots - 1);
	CHECK(rs_agent_log("no room") == -RS_EHOSTUNREACH);
	for (uint32_t i = taken; i-- > 0;) {
		CHECK(answer(host, &theirs[i], i) == 0);
		CHECK(rs_hypercall_poll(&mine[i], &result, &reply));
		check_reply(result, &reply, i);
	}
}

int main(void)
{
	struct host host = {0};

	answerer_begin(&ops, 0);
	printf("1..3\n");
	test_many(&host);
	printf("ok 1 late and at once\n");
	test_all_taken(&host);
	printf("ok 2 all slots taken\n");
	test_reboot(&host);
	printf("ok 3 reboot\n");
	rs_agent_fini();
	answerer_end();
	return 0;
}
