/* SPDX-License-Identifier: MIT */
/*
 * Random walks: several peers and guests ask at the same time, in short turns, while processes join
 * and leave, providers die and come back, the guest boots anew, and its text cannot be written.
 *
 * At each rest every request is settled, and what is wanted, enabled, in the control word and in
 * the text agrees. In the end no text is left patched. The walks of a seed are the same each time.
 * RS_WALKS: how many walks; RS_SEED: of the first.
 */
#include "members.h"

#include <ringside/control.h>
#include <ringside/hypercall.h>
#include <ringside/record.h>

#define WALKS 6u
#define SEED 1064u
#define STUCK_ONCE 2035u /* its walk found a slot whose next provider waited for ever */
#define STEPS 700u
#define REST 350u /* steps between two rests */
#define PEERS 6u
#define SLOTS 20u /* of the machine's providers */
#define JOINED_SLOTS 10u
#define EVENTS_MAX 200u

static const char *const globs[] = {"*",         "pool:*",      "m*",   "sched:*",
				    "pool:take", "*/pool:done", "m1:*", "x*"};
static const char *const expressions[] = {"a == 1", "a == 2 || b < 3", "c ~ \"x*\" && a > 4",
					  "no_field == 1", "a == 1 && a == 2 && a == 3 || b == 9"};
static const char *const owners[] = {RS_OWNER_HOST, RS_OWNER_GUEST, "p1", "p2", "p3"};
static const char *const names[] = {"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", NULL};

static struct {
	struct fixture f;
	struct agent agents[USERS];
	bool there[USERS], reported[USERS];
	uint32_t slots[USERS];
	uint32_t asked[PEERS]; /* numbers of requests that are not settled; 0: none */
	char peers[PEERS];     /* their addresses are who they are */
	uint32_t machine_slots, number;
	bool machine_asked, trouble;
	GRand *random;
} walk;

static uint32_t any(uint32_t below)
{
	return (uint32_t)g_rand_int_range(walk.random, 0, (gint32)below);
}

#define ONE_OF(list) ((list)[any(G_N_ELEMENTS(list))])

static void turn_round(uint32_t times)
{
	GSource *timer;

	while (times-- > 0) {
		timer = g_main_context_find_source_by_user_data(NULL, walk.f.session);
		if (timer)
			g_source_set_ready_time(timer, 0);
		g_main_context_iteration(NULL, FALSE);
	}
}

/* ---- peers ---- */

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	g_assert_true(!ret || (ret < 0 && err->code));
	for (uint32_t i = 0; i < PEERS; i++) {
		if (walk.asked[i] == request)
			walk.asked[i] = 0;
	}
}

static void peer_asks(void)
{
	const uint32_t peer = any(PEERS);
	const struct rs_session_ask ask = {.from = &walk.peers[peer],
					   .owner = ONE_OF(owners),
					   .kind = any(3),
					   .glob = ONE_OF(globs),
					   .expression = any(4) ? ONE_OF(expressions) : NULL};
	struct rs_session_result result = {0};
	struct rs_error err = {0};

	if (walk.asked[peer])
		return;
	if (!rs_session_ask(walk.f.session, &ask, &result, &err))
		walk.asked[peer] = result.later;
	rs_session_result_clear(&result);
}

static void peer_goes(void)
{
	const uint32_t peer = any(PEERS);

	rs_session_drop_asks(walk.f.session, &walk.peers[peer]);
	walk.asked[peer] = 0;
}

static void owner_goes(void)
{
	rs_session_forget_owner(walk.f.session, owners[2 + any(3)]);
}

static void look(void)
{
	g_array_unref(rs_session_list(walk.f.session, any(2) ? NULL : ONE_OF(globs)));
	g_array_unref(rs_session_list_providers(walk.f.session));
}

/* ---- guests ---- */

static void guest_asks(struct sham *sham)
{
	switch (any(4)) {
	case 0:
		sham_request(sham, 0, RS_HCALL_SET_FILTER, 0, "*: a == 3");
		break;
	case 1:
		sham_request_args(
			sham, 0, RS_HCALL_CALLBACKS,
			(const uint64_t[]){FIRST + any(8), ++walk.number & 0xffff, any(2)}, NULL);
		break;
	default:
		sham_request(sham, 0, any(2) ? RS_HCALL_ENABLE : RS_HCALL_DISABLE, 0,
			     ONE_OF(globs));
	}
}

static void reports(uint32_t i)
{
	hello(&walk.agents[i]);
	walk.reported[i] = true;
	walk.slots[i] = 1;
}

static void comes(uint32_t i)
{
	if (walk.there[i] || take(&walk.f, &walk.agents[i], 100 + any(1000)))
		return;
	walk.there[i] = true;
	walk.reported[i] = false;
	if (any(2))
		reports(i);
}

static void goes(uint32_t i)
{
	struct agent *agent = &walk.agents[i];

	if (!walk.there[i] || any(2))
		return;
	rs_directory_leave(walk.f.memory, walk.f.size, agent->place.index, agent->pid);
	forget(agent);
	walk.there[i] = false;
}

static void describes(uint32_t i)
{
	struct sham *sham = &walk.agents[i].sham;

	if (walk.there[i] && !walk.reported[i]) {
		reports(i);
	} else if (walk.there[i] && walk.slots[i] < JOINED_SLOTS) {
		sham->odd = any(2);
		sham_provider(sham, any(2) ? "m1" : "xx", names + any(7));
		walk.slots[i]++;
	}
}

static void dies_or_returns(struct sham *sham, uint32_t slots)
{
	if (slots && any(2))
		sham_provider_dies(sham, any(slots));
	else if (slots)
		sham_provider_returns(sham, any(slots));
}

static void machine_describes(void)
{
	struct sham *sham = walk.f.sham;

	if (walk.machine_slots >= SLOTS || sham->events >= EVENTS_MAX)
		return;
	sham->odd = any(2);
	sham->more_sites = any(3);
	sham_provider(sham, any(2) ? "m1" : "m2", names + any(7));
	walk.machine_slots++;
}

static void boots(void)
{
	if (any(30))
		return;
	sham_hello(walk.f.sham, 0);
	walk.machine_slots = 0;
	walk.machine_asked = false;
}

static void is_in_the_way(void)
{
	struct sham *sham = walk.f.sham;

	switch (walk.trouble ? any(6) : 3 + any(3)) {
	case 0:
		sham->unstoppable = any(2);
		break;
	case 1:
		sham->read_only = any(2);
		break;
	case 2:
		sham->stone = any(2) ? 0 : FIRST + any(20);
		break;
	case 3:
		if (!rs_session_pause(walk.f.session, NULL)) {
			turn_round(any(3));
			rs_session_resume(walk.f.session, NULL);
		}
		break;
	case 4:
		rs_session_set_turn(walk.f.session, 1024u << any(6));
		break;
	default:
		if (sham->not_ready)
			sham_get_ready(sham);
		else
			sham->not_ready = true;
	}
}

/* ---- a walk ---- */

static void step(void)
{
	const uint32_t i = any(USERS), what = any(20);

	switch (what) {
	case 0:
		peer_goes();
		break;
	case 1:
		owner_goes();
		break;
	case 2:
	case 3:
		comes(i);
		break;
	case 4:
		goes(i);
		break;
	case 5:
		describes(i);
		break;
	case 6:
		if (walk.there[i] && walk.reported[i])
			dies_or_returns(&walk.agents[i].sham, walk.slots[i]);
		break;
	case 7:
		if (walk.there[i] && walk.reported[i])
			guest_asks(&walk.agents[i].sham);
		break;
	case 8:
		machine_describes();
		break;
	case 9:
		dies_or_returns(walk.f.sham, walk.machine_slots);
		break;
	case 10:
		guest_asks(walk.f.sham);
		walk.machine_asked = true;
		break;
	case 11:
		boots();
		break;
	case 12:
	case 13:
		is_in_the_way();
		break;
	case 14:
		look();
		break;
	default:
		peer_asks();
	}
}

static bool is_answered(void)
{
	const struct rs_hcall_request *request =
		rs_trace_region_section(walk.f.sham->region, RS_SEC_REQUEST, NULL);

	return !walk.machine_asked || sham_response(walk.f.sham, 0)->sequence == request->sequence;
}

static bool is_settled(void)
{
	for (uint32_t i = 0; i < PEERS; i++) {
		if (walk.asked[i])
			return false;
	}
	return is_answered();
}

static void check_event(const struct rs_session_event *event)
{
	const uint32_t *words =
		rs_trace_region_section(rs_source_region(event->source), RS_SEC_EVENT_CTL, NULL);
	const uint32_t id = event->event->id;
	bool wanted = false;

	for (const struct rs_wish *wish = event->wishes; wish; wish = wish->next)
		wanted |= wish->wanted;
	g_assert_cmpint(event->enabled, ==, wanted);
	g_assert_cmpint(!!(words[id] & RS_EVENT_ENABLED), ==, wanted);
	/* A note says why text is not as it should be, or that callbacks need it. */
	if (!walk.trouble && event->source == walk.f.machine && event->live && event->sites &&
	    !event->note)
		g_assert_cmpint(sham_patched(walk.f.sham, id), ==, wanted);
}

static void rest(void)
{
	struct sham *sham = walk.f.sham;
	g_autoptr(GArray) list = NULL;

	sham->unstoppable = sham->read_only = false;
	sham->stone = 0;
	if (sham->not_ready)
		sham_get_ready(sham);
	for (uint32_t i = 0; i < 20000 && (i < 200 || !is_settled()); i++)
		turn_round(1);
	g_assert_true(is_settled());
	list = rs_session_list(walk.f.session, NULL);
	for (guint i = 0; i < list->len; i++) {
		const struct rs_session_event *event =
			&g_array_index(list, struct rs_session_event, i);

		if (!rs_source_end(event->source))
			check_event(event);
	}
}

static void walk_about(uint32_t seed)
{
	static const struct rs_session_listener listener = {.settled = on_settled};

	walk = (typeof(walk)){.random = g_rand_new_with_seed(seed), .trouble = seed % 2};
	g_test_message("seed %u", seed);
	set_up(&walk.f, GINT_TO_POINTER(WITH_TEXT | WITH_JOURNAL));
	rs_session_add_listener(walk.f.session, &listener);
	sham_hello(walk.f.sham, 0);
	rs_session_set_turn(walk.f.session, 1024u << any(5));
	for (uint32_t i = 0; i < STEPS; i++) {
		step();
		turn_round(any(2) ? any(3) : 0);
		if (i % REST == REST - 1)
			rest();
	}
	for (uint32_t i = 0; i < USERS; i++) {
		if (walk.there[i])
			forget(&walk.agents[i]);
	}
	rs_session_destroy(walk.f.session);
	for (uint32_t i = 0; i < walk.f.sham->events; i++)
		g_assert_false(sham_patched(walk.f.sham, FIRST + i));
	free_machine(&walk.f);
	g_rand_free(walk.random);
}

static uint32_t from_environment(const char *name, uint32_t otherwise)
{
	const char *text = g_getenv(name);

	return text ? (uint32_t)g_ascii_strtoull(text, NULL, 10) : otherwise;
}

static void test_walks(void)
{
	const uint32_t first = from_environment("RS_SEED", SEED);
	const uint32_t count = from_environment("RS_WALKS", WALKS);

	for (uint32_t i = 0; i < count; i++)
		walk_about(first + i);
	walk_about(STUCK_ONCE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/random/walks", test_walks);
	return g_test_run();
}
