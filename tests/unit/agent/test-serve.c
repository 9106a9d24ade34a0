/* SPDX-License-Identifier: MIT */
/*
 * A task that carries out the host's commands, against hv's own slots on one mapping of the region:
 * built with ThreadSanitizer, all but GLib, and with ASan/UBSan.
 */
#include "answerer.h"

#include <glib.h>
#include <pthread.h>
#include <ringside/atomic.h>
#include <ringside/error.h>
#include <ringside/serve.h>
#include <sched.h>
#include <string.h>

#define HZ 1000000000ull
#define SECOND HZ
#define SESSION 77u
#define COMMANDS 2000u

static uint64_t now; /* the guest's clock */
static uint32_t stop;

/* ---- the guest ---- */

static struct rs_serve serve;

/* Takes the commands 10 to 12, and yields what it was given. */
static struct {
	struct rs_serve_handler handler;
	uint32_t runs, gone, last;
	uint32_t claims; /* not 0: so many bytes of data, instead */
	uint32_t news;   /* that it has to tell */
} mine;

static int32_t run_mine(struct rs_serve_handler *handler, const struct rs_command *command,
			struct rs_command_reply *reply)
{
	CHECK(handler == &mine.handler);
	CHECK(!reply->size);
	for (uint32_t i = 0; i < RS_CMD_ARGS; i++) {
		CHECK(!reply->values[i]);
		reply->values[i] = ~command->args[i];
	}
	for (uint32_t i = 0; i < command->size; i++)
		reply->data[i] = (uint8_t)(command->data[i] + 1);
	reply->size = mine.claims ? mine.claims : command->size;
	mine.runs++;
	mine.last = command->number;
	return (int32_t)command->args[0];
}

static void mine_gone(struct rs_serve_handler *handler)
{
	CHECK(handler == &mine.handler);
	mine.gone++;
}

static bool mine_news(struct rs_serve_handler *handler, struct rs_serve_news *news)
{
	CHECK(handler == &mine.handler);
	CHECK(!news->args[0] && !news->args[5] && !news->size);
	if (!mine.news)
		return false;
	news->args[0] = mine.news--;
	news->size = 4;
	memcpy(news->data, "word", 4);
	return true;
}

/* Takes the command 20, and has nothing to undo. */
static int32_t run_other(struct rs_serve_handler *handler, const struct rs_command *command,
			 struct rs_command_reply *reply)
{
	return -RS_ESRCH;
}

static struct rs_serve_handler other = {.first = 20, .last = 20, .run = run_other};

static uint64_t time_now(void)
{
	return __atomic_load_n(&now, __ATOMIC_RELAXED);
}

static void wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	while (nudged && rs_load_acquire(nudge) == seen && !rs_load_acquire(&stop))
		sched_yield();
}

static void boot(void)
{
	static const struct rs_trace_ops ops = {.wait_nudge = wait_nudge, .time_now = time_now};

	if (region)
		answerer_boot(&ops, HZ);
	else
		answerer_begin(&ops, HZ);
}

static void begin_task(void)
{
	serve = (struct rs_serve){0};
	memset(&mine, 0, sizeof(mine));
	mine.handler = (struct rs_serve_handler){
		.first = 10, .last = 12, .run = run_mine, .gone = mine_gone, .news = mine_news};
	rs_serve_add(&serve, &other);
	rs_serve_add(&serve, &mine.handler);
}

/* ---- the host ---- */

static struct rs_hcall_request request; /* the last one, and what names it */
static struct rs_ticket ticket;

/* Takes the request that the task has just made. */
static bool take_request(void)
{
	for (uint32_t i = 0; i < rs_slots_count(slots); i++) {
		if (!rs_slots_fresh(slots, i))
			continue;
		CHECK(rs_slots_take(slots, i, &request, &ticket) == 0);
		CHECK(rs_slots_accept(slots, &ticket) == 0);
		return true;
	}
	return false;
}

static int answer(uint64_t id, uint32_t number, uint64_t arg, const char *data)
{
	struct rs_hcall_response response = {.values = {id, number, arg, arg + 1, arg + 2, arg + 3},
					     .data_size = (uint32_t)strlen(data)};

	memcpy(response.data, data, strlen(data));
	return rs_slots_answer(slots, &ticket, &response);
}

static void command(uint32_t count, uint32_t number, uint64_t arg)
{
	CHECK(answer(RS_CMD_ID(SESSION, count), number, arg, "data") == 0);
}

static void beat(void)
{
	CHECK(answer(RS_CMD_ID(SESSION, 0), 0, 0, "") == 0);
}

static void refuse(void)
{
	struct rs_hcall_response response = {0};

	rs_response_set(&response, -RS_EACCES, "another task serves");
	CHECK(rs_slots_answer(slots, &ticket, &response) == 0);
}

/* The task asks for a command, and the host takes that. */
static void wait_for_command(void)
{
	CHECK(rs_serve_step(&serve) == 1);
	CHECK(take_request());
	CHECK(request.number == RS_HCALL_COMMAND);
	CHECK(rs_serve_step(&serve) == 0);
}

/* A command that the task has carried out, so there is something to undo. */
static void carry_out_one(void)
{
	wait_for_command();
	command(1, 11, 5);
	CHECK(rs_serve_step(&serve) == 1);
	wait_for_command();
	CHECK(mine.runs == 1 && mine.gone == 0);
}

/* ---- what a command is ---- */

static void test_handler_runs_and_its_result_goes_back(void)
{
	const uint64_t id = RS_CMD_ID(SESSION, 9);

	wait_for_command();
	CHECK(request.args[0] == 0 && request.data_size == 0);
	CHECK(answer(id, 11, 1000, "data") == 0);
	CHECK(rs_serve_step(&serve) == 1);
	CHECK(mine.runs == 1 && mine.last == 11);
	wait_for_command();
	CHECK(request.args[0] == id && request.args[1] == 1000);
	for (uint32_t i = 0; i < RS_CMD_ARGS; i++)
		CHECK(request.args[2 + i] == ~(1000ull + i));
	CHECK(request.data_size == 4);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(request.data[i] == "data"[i] + 1);
	/* It is told once. */
	beat();
	CHECK(rs_serve_step(&serve) == 1);
	wait_for_command();
	CHECK(request.args[0] == 0 && request.data_size == 0);
	CHECK(mine.runs == 1 && mine.gone == 0);
}

static void test_handlers_take_their_numbers(void)
{
	static const struct {
		uint32_t number;
		int64_t result;
	} cases[] = {{9, -RS_ENOSYS},  {10, 3},         {12, 3},
		     {13, -RS_ENOSYS}, {20, -RS_ESRCH}, {UINT32_MAX, -RS_ENOSYS}};

	wait_for_command();
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		command(i + 1, cases[i].number, 3);
		CHECK(rs_serve_step(&serve) == 1);
		wait_for_command();
		CHECK(request.args[0] == RS_CMD_ID(SESSION, i + 1));
		CHECK((int64_t)request.args[1] == cases[i].result);
		/* Nothing of another command's. */
		if (cases[i].result < 0)
			CHECK(!request.args[2] && !request.args[5] && !request.data_size);
	}
	CHECK(mine.runs == 2);
}

static void test_reply_that_is_too_large_is_cut(void)
{
	mine.claims = RS_CMD_DATA + 1;
	wait_for_command();
	command(1, 10, 0);
	CHECK(rs_serve_step(&serve) == 1);
	wait_for_command();
	CHECK(request.data_size == RS_CMD_DATA);
}

/* ---- news ---- */

static void check_news(uint64_t number)
{
	CHECK(take_request());
	CHECK(request.number == RS_HCALL_NEWS && request.args[0] == number);
	CHECK(request.data_size == 4 && memcmp(request.data, "word", 4) == 0);
}

/* One after the other, and the next command only after the host has taken them. */
static void test_news_go_with_the_task(void)
{
	struct rs_ticket waiting;

	wait_for_command();
	waiting = ticket;
	mine.news = 2;
	CHECK(rs_serve_step(&serve) == 1);
	CHECK(rs_serve_step(&serve) == 0);
	check_news(2);
	CHECK(answer(0, 0, 0, "") == 0);
	CHECK(rs_serve_step(&serve) == 1);
	check_news(1);
	/* A command that comes meanwhile. */
	{
		const struct rs_ticket told = ticket;

		ticket = waiting;
		command(1, 11, 5);
		CHECK(rs_serve_step(&serve) == 0 && mine.runs == 0);
		ticket = told;
	}
	CHECK(answer(0, 0, 0, "") == 0);
	CHECK(rs_serve_step(&serve) == 1 && mine.runs == 1);
	CHECK(mine.news == 0);
}

/* The host reads slots in any order, and must not hear of a stop before what came of a command. */
static void test_news_wait_for_the_result_before_them(void)
{
	wait_for_command();
	command(1, 11, 5);
	CHECK(rs_serve_step(&serve) == 1 && mine.runs == 1);
	CHECK(rs_serve_step(&serve) == 1);
	mine.news = 1;
	CHECK(rs_serve_step(&serve) == 0);
	CHECK(take_request() && request.number == RS_HCALL_COMMAND && request.args[0]);
	CHECK(rs_serve_step(&serve) == 1);
	check_news(1);
	CHECK(answer(0, 0, 0, "") == 0);
	CHECK(rs_serve_step(&serve) == 0);
}

/* ---- who is gone ---- */

static void test_silence_of_five_seconds_is_the_end(void)
{
	carry_out_one();
	for (int i = 0; i < 4; i++) {
		now += SECOND;
		CHECK(rs_serve_step(&serve) == 0);
	}
	now += SECOND - 1;
	CHECK(rs_serve_step(&serve) == 0 && mine.gone == 0);
	now += 1;
	CHECK(rs_serve_step(&serve) == 0 && mine.gone == 1);
	/* Once. */
	now += 10 * SECOND;
	CHECK(rs_serve_step(&serve) == 0 && mine.gone == 1);
	/* It was only slow. */
	command(2, 11, 5);
	CHECK(rs_serve_step(&serve) == 1 && mine.runs == 2);
	wait_for_command();
	for (int i = 0; i < 4; i++) {
		now += SECOND;
		CHECK(rs_serve_step(&serve) == 0 && mine.gone == 1);
	}
	now += SECOND;
	CHECK(rs_serve_step(&serve) == 0 && mine.gone == 2);
}

static void test_beat_ends_silence(void)
{
	carry_out_one();
	for (int i = 0; i < 20; i++) {
		now += SECOND;
		CHECK(rs_serve_step(&serve) == 0);
		beat();
		CHECK(rs_serve_step(&serve) == 1);
		wait_for_command();
	}
	CHECK(mine.gone == 0);
}

/* It was paused: no matter how long, that is a second. */
static void test_standing_still_is_no_silence(void)
{
	carry_out_one();
	for (int i = 0; i < 4; i++) {
		now += 3600 * SECOND;
		CHECK(rs_serve_step(&serve) == 0 && mine.gone == 0);
	}
	now += 3600 * SECOND;
	CHECK(rs_serve_step(&serve) == 0 && mine.gone == 1);
}

static void test_another_session_takes_over(void)
{
	carry_out_one();
	CHECK(answer(RS_CMD_ID(SESSION + 1, 1), 10, 1, "") == 0);
	CHECK(rs_serve_step(&serve) == 1);
	CHECK(mine.gone == 1 && mine.runs == 2);
	wait_for_command();
	/* So does its beat. */
	CHECK(answer(RS_CMD_ID(SESSION + 2, 0), 0, 0, "") == 0);
	CHECK(rs_serve_step(&serve) == 1 && mine.gone == 2);
}

/* Who has done nothing has nothing to undo. */
static void test_nobody_is_told_before_the_first_command(void)
{
	wait_for_command();
	beat();
	CHECK(rs_serve_step(&serve) == 1);
	wait_for_command();
	for (int i = 0; i < 7; i++, now += SECOND)
		CHECK(rs_serve_step(&serve) == 0);
	refuse();
	CHECK(rs_serve_step(&serve) == -RS_EACCES);
	CHECK(mine.gone == 0);
}

static void test_refused_task_may_ask_again(void)
{
	carry_out_one();
	refuse();
	CHECK(rs_serve_step(&serve) == -RS_EACCES && mine.gone == 1);
	wait_for_command();
	CHECK(request.args[0] == 0);
}

/* However often the task asks, an ended session gets no request, and the task may sleep. */
static void test_ended_session_is_not_asked(void)
{
	carry_out_one();
	rs_store(&control->flags, RS_CONTROL_STOP);
	for (int i = 0; i < 3; i++)
		CHECK(rs_serve_step(&serve) == -RS_EACCES);
	CHECK(mine.gone == 1 && !take_request());
	/* Another one takes the region over. */
	rs_store(&control->flags, 0);
	wait_for_command();
	CHECK(request.args[0] == 0);
}

/* What the host has answered before its end counts. */
static void test_answer_before_the_end_is_taken(void)
{
	wait_for_command();
	command(1, 10, 5);
	rs_store(&control->flags, RS_CONTROL_STOP);
	CHECK(rs_serve_step(&serve) == 1 && mine.runs == 1);
	CHECK(rs_serve_step(&serve) == -RS_EACCES && mine.gone == 1);
	rs_store(&control->flags, 0);
	wait_for_command();
	/* For whom it was has gone. */
	CHECK(request.args[0] == 0 && request.data_size == 0);
}

static void test_dead_host_is_not_asked(void)
{
	carry_out_one();
	rs_agent_host_gone();
	for (int i = 0; i < 3; i++)
		CHECK(rs_serve_step(&serve) == -RS_EHOSTUNREACH);
	CHECK(mine.gone == 1 && !take_request());
}

/* However often it does, no slot is lost, and an earlier life's result goes to nobody. */
static void test_agent_may_begin_anew(void)
{
	for (uint32_t i = 0; i < 2 * rs_slots_count(slots); i++) {
		wait_for_command();
		command(i + 1, 10, 5);
		CHECK(rs_serve_step(&serve) == 1);
		CHECK(mine.runs == i + 1 && mine.gone == i);
		if (i % 2)
			wait_for_command();
		rs_agent_fini();
		if (i % 3 == 0)
			CHECK(rs_serve_step(&serve) == -RS_EHOSTUNREACH);
		boot();
		CHECK(rs_serve_step(&serve) == 1 && mine.gone == i + 1);
		CHECK(take_request());
		CHECK(request.args[0] == 0 && request.data_size == 0);
		beat();
		CHECK(rs_serve_step(&serve) == 1);
	}
}

/* That is no end: somebody else's requests are under way. */
static void test_task_waits_for_a_slot(void)
{
	g_autofree struct rs_hcall_ticket *others =
		g_new(struct rs_hcall_ticket, rs_slots_count(slots));
	struct rs_hcall_response response = {0};
	uint32_t taken = 0;

	wait_for_command();
	command(1, 10, 5);
	CHECK(rs_serve_step(&serve) == 1);
	while (rs_hypercall_begin(&others[taken], RS_HCALL_COMMAND, NULL, NULL, 0) == 0)
		taken++;
	CHECK(taken == rs_slots_count(slots));
	CHECK(rs_serve_step(&serve) == 0 && mine.gone == 0);
	for (uint32_t i = 0; i < taken; i++) {
		struct rs_hcall_reply reply;
		int32_t result;

		CHECK(take_request());
		CHECK(rs_slots_answer(slots, &ticket, &response) == 0);
		for (uint32_t k = 0; k < taken; k++)
			if (others[k].slot == (int)ticket.slot)
				CHECK(rs_hypercall_poll(&others[k], &result, &reply));
	}
	wait_for_command();
	CHECK(request.args[0] == RS_CMD_ID(SESSION, 1));
	CHECK(mine.gone == 0);
}

/* ---- side by side ---- */

static void *run_task(void *result)
{
	*(int32_t *)result = rs_serve_run(&serve);
	return NULL;
}

static void await_request(void)
{
	while (!take_request())
		sched_yield();
}

static void nudge(void)
{
	rs_store_release(&control->nudge, control->nudge + 1);
}

static void test_task_and_host_side_by_side(void)
{
	pthread_t task;
	int32_t result = 0;

	stop = 0;
	control->flags = RS_CONTROL_NUDGES;
	CHECK(!pthread_create(&task, NULL, run_task, &result));
	for (uint32_t i = 1; i <= COMMANDS; i++) {
		await_request();
		CHECK(request.args[0] == (i > 1 ? RS_CMD_ID(SESSION, i - 1) : 0));
		CHECK(i == 1 || request.args[1] == i - 1);
		if (i % 7 == 0) { /* each kind of command, and none */
			beat();
			nudge();
			await_request();
		}
		command(i, 10 + i % 3, i);
		nudge();
	}
	await_request();
	CHECK(request.args[1] == COMMANDS);
	rs_store(&control->flags, RS_CONTROL_NUDGES | RS_CONTROL_STOP);
	CHECK(rs_slots_refuse_all(slots, "the session has ended") == 1);
	nudge();
	pthread_join(task, NULL);
	CHECK(result == -RS_EACCES);
	CHECK(mine.runs == COMMANDS && mine.gone == 1);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
#define TEST(name) {#name, test_##name}
		TEST(handler_runs_and_its_result_goes_back),
		TEST(handlers_take_their_numbers),
		TEST(reply_that_is_too_large_is_cut),
		TEST(news_go_with_the_task),
		TEST(news_wait_for_the_result_before_them),
		TEST(silence_of_five_seconds_is_the_end),
		TEST(beat_ends_silence),
		TEST(standing_still_is_no_silence),
		TEST(another_session_takes_over),
		TEST(nobody_is_told_before_the_first_command),
		TEST(refused_task_may_ask_again),
		TEST(ended_session_is_not_asked),
		TEST(answer_before_the_end_is_taken),
		TEST(dead_host_is_not_asked),
		TEST(agent_may_begin_anew),
		TEST(task_waits_for_a_slot),
		TEST(task_and_host_side_by_side),
	};

	printf("1..%zu\n", G_N_ELEMENTS(tests));
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		boot();
		begin_task();
		tests[i].run();
		/* The task's slot is free for the next test. */
		rs_agent_fini();
		rs_serve_step(&serve);
		answerer_end();
		region = NULL;
		printf("ok %zu %s\n", i + 1, tests[i].name);
	}
	return 0;
}
