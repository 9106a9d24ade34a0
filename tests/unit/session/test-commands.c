/* SPDX-License-Identifier: MIT */
/* Commands to a guest: who takes them, in which order, and what ends them. The time is ours. */
#include "session/commands.h"

#include "serving.h"
#include <errno.h>
#include <string.h>

struct fixture {
	struct serving guest;
};

/* What came of a command. */
struct outcome {
	struct fixture *f;
	guint calls;
	int ret;
	int32_t result;
	uint64_t values[RS_CMD_ARGS];
	char data[16];
	uint32_t size;
	struct rs_error err;
	struct outcome *next;    /* to be sent from `done` */
	struct outcome *dropped; /* to be dropped from `done` */
	int next_ret;
};

static int send(struct fixture *f, struct outcome *outcome, uint32_t number, struct rs_error *err);

static void on_done(void *data, int ret, const struct rs_command_result *result,
		    const struct rs_error *err)
{
	struct outcome *o = data;

	o->calls++;
	o->ret = ret;
	g_assert_true((ret == 0) == (result != NULL));
	g_assert_true((ret == 0) == (err == NULL));
	if (err) {
		g_assert_cmpint(err->code, ==, -ret);
		o->err = *err;
	} else {
		o->result = result->result;
		memcpy(o->values, result->values, sizeof(o->values));
		memcpy(o->data, result->data, MIN(result->size, sizeof(o->data)));
		o->size = result->size;
	}
	if (o->next)
		o->next_ret = send(o->f, o->next, 99, NULL);
	if (o->dropped)
		rs_source_drop_commands(o->f->guest.source, o->dropped);
}

static int send(struct fixture *f, struct outcome *outcome, uint32_t number, struct rs_error *err)
{
	const struct rs_source_command command = {
		.number = number,
		.args = {number + 1, number + 2, number + 3, ~0ull},
		.data = "abc",
		.size = 3};
	const guint calls = outcome->calls;
	int ret;

	outcome->f = f;
	ret = rs_source_send_command(f->guest.source, &command, on_done, outcome, err);
	/* Never out of it. */
	g_assert_cmpuint(outcome->calls, ==, calls);
	return ret;
}

static int why_not(struct fixture *f, const char *says)
{
	struct outcome outcome = {0};
	struct rs_error err = {0};
	int ret = send(f, &outcome, 1, &err);

	g_assert_cmpint(err.code, ==, -ret);
	g_assert_nonnull(strstr(err.message, says));
	return ret;
}

/* ---- life ---- */

static void set_up_silent(struct fixture *f, gconstpointer data)
{
	serving_begin(&f->guest);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	serving_begin(&f->guest);
	serving_hello(&f->guest);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	serving_end(&f->guest);
}

static void pass(gint64 time)
{
	serving_now += time;
	serving_look();
}

/* ---- the guest's task ---- */

/* Puts a request there, which the session has not seen. */
static void put(struct fixture *f, uint32_t slot, uint64_t id, int64_t result)
{
	struct rs_hcall_request *request = serving_request(&f->guest, slot);

	memcpy(request->data, "yields", 6);
	request->data_size = 6;
	serving_put(&f->guest, slot, RS_HCALL_COMMAND,
		    (const uint64_t[]){id, (uint64_t)result, 70, 71, 72, 73});
}

/* The task says what came of a command, and asks for the next one. */
static void report(struct fixture *f, uint32_t slot, uint64_t id, int64_t result)
{
	put(f, slot, id, result);
	serving_look();
}

/* A task that waits now. */
static void offer(struct fixture *f, uint32_t slot)
{
	report(f, slot, 0, 0);
	g_assert_false(serving_answered(&f->guest, slot));
	g_assert_cmpuint(sham_response(f->guest.sham, slot)->accepted, ==,
			 serving_request(&f->guest, slot)->sequence);
}

/* The command's id in the answer, which must be there and have this number. */
static uint64_t taken(struct fixture *f, uint32_t slot, uint32_t number)
{
	const struct rs_hcall_response *response = sham_response(f->guest.sham, slot);

	g_assert_true(serving_answered(&f->guest, slot));
	g_assert_cmpint(response->result, ==, 0);
	g_assert_cmpuint(RS_CMD_SESSION(response->values[0]), !=, 0);
	g_assert_cmpuint(RS_CMD_COUNT(response->values[0]), !=, 0);
	g_assert_cmpuint(response->values[1], ==, number);
	return response->values[0];
}

static void check_outcome(const struct outcome *outcome, int ret, const char *says)
{
	g_assert_cmpuint(outcome->calls, ==, 1);
	g_assert_cmpint(outcome->ret, ==, ret);
	if (says)
		g_assert_nonnull(strstr(outcome->err.message, says));
}

/* ---- one after the other ---- */

static void test_waiting_task_gets_the_command_at_once(struct fixture *f, gconstpointer data)
{
	const struct rs_hcall_response *response = sham_response(f->guest.sham, 3);
	struct outcome outcome = {0};
	uint64_t id;

	offer(f, 3);
	f->guest.sham->nudges = 0;
	g_assert_cmpint(send(f, &outcome, 7, NULL), ==, 0);
	id = taken(f, 3, 7);
	g_assert_cmpint(f->guest.sham->nudges, ==, 1);
	g_assert_cmpuint(response->values[2], ==, 8);
	g_assert_cmpuint(response->values[3], ==, 9);
	g_assert_cmpuint(response->values[4], ==, 10);
	g_assert_cmpuint(response->values[5], ==, ~0ull);
	g_assert_cmpmem(response->data, response->data_size, "abc", 3);
	report(f, 3, id, 5);
	check_outcome(&outcome, 0, NULL);
	g_assert_cmpint(outcome.result, ==, 5);
	for (uint32_t i = 0; i < RS_CMD_ARGS; i++)
		g_assert_cmpuint(outcome.values[i], ==, 70 + i);
	g_assert_cmpmem(outcome.data, outcome.size, "yields", 6);
	g_assert_false(serving_answered(&f->guest, 3));
	/* It was told once. */
	report(f, 3, id, 6);
	g_assert_cmpuint(outcome.calls, ==, 1);
}

static void test_commands_go_in_order(struct fixture *f, gconstpointer data)
{
	struct outcome outcome[3] = {{0}};
	uint64_t id[3];

	offer(f, 0);
	for (uint32_t i = 0; i < 3; i++)
		g_assert_cmpint(send(f, &outcome[i], 20 + i, NULL), ==, 0);
	for (uint32_t i = 0; i < 3; i++) {
		id[i] = taken(f, 0, 20 + i);
		report(f, 0, id[i], (int)i);
		check_outcome(&outcome[i], 0, NULL);
		g_assert_cmpint(outcome[i].result, ==, i);
		g_assert_cmpuint(id[i], ==, id[0] + i);
		g_assert_cmpuint(outcome[2].calls, ==, i == 2);
	}
	g_assert_false(serving_answered(&f->guest, 0));
}

static void test_done_may_send_the_next_command(struct fixture *f, gconstpointer data)
{
	struct outcome next = {0}, first = {.next = &next};
	uint64_t id;

	offer(f, 0);
	g_assert_cmpint(send(f, &first, 1, NULL), ==, 0);
	report(f, 0, taken(f, 0, 1), 0);
	check_outcome(&first, 0, NULL);
	g_assert_cmpint(first.next_ret, ==, 0);
	/* The very answer to the result. */
	id = taken(f, 0, 99);
	report(f, 0, id, 4);
	check_outcome(&next, 0, NULL);
	g_assert_cmpint(next.result, ==, 4);
}

static void test_results_are_bounded(struct fixture *f, gconstpointer data)
{
	static const struct {
		int64_t says;
		int32_t means;
	} cases[] = {{-2, -2},
		     {INT64_MAX, INT32_MAX},
		     {INT64_MIN, INT32_MIN},
		     {(int64_t)1 << 32, INT32_MAX}};

	offer(f, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct outcome outcome = {0};

		g_assert_cmpint(send(f, &outcome, 1, NULL), ==, 0);
		report(f, 0, taken(f, 0, 1), cases[i].says);
		check_outcome(&outcome, 0, NULL);
		g_assert_cmpint(outcome.result, ==, cases[i].means);
	}
}

static void test_no_more_than_64_commands_wait(struct fixture *f, gconstpointer data)
{
	struct outcome outcome[RS_COMMANDS_MAX] = {{0}};

	offer(f, 0);
	for (uint32_t i = 0; i < RS_COMMANDS_MAX; i++)
		g_assert_cmpint(send(f, &outcome[i], 100 + i, NULL), ==, 0);
	g_assert_cmpint(why_not(f, "too many"), ==, -EBUSY);
	report(f, 0, taken(f, 0, 100), 0);
	g_assert_cmpint(send(f, &outcome[0], 100 + RS_COMMANDS_MAX, NULL), ==, 0);
	g_assert_cmpint(why_not(f, "too many"), ==, -EBUSY);
	for (uint32_t i = 1; i <= RS_COMMANDS_MAX; i++)
		report(f, 0, taken(f, 0, 100 + i), 0);
	g_assert_false(serving_answered(&f->guest, 0));
	g_assert_cmpuint(outcome[0].calls, ==, 2);
	for (uint32_t i = 1; i < RS_COMMANDS_MAX; i++)
		check_outcome(&outcome[i], 0, NULL);
}

/* ---- who takes none ---- */

static void test_agent_that_has_not_reported_takes_none(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(why_not(f, "has not reported"), ==, -EAGAIN);
}

static void test_guest_without_a_task_takes_none(struct fixture *f, gconstpointer data)
{
	struct outcome outcome = {0};

	g_assert_cmpint(why_not(f, "no task"), ==, -ENOTSUP);
	offer(f, 0);
	g_assert_cmpint(send(f, &outcome, 1, NULL), ==, 0);
	rs_source_drop_commands(f->guest.source, &outcome);
}

static void test_paused_guest_takes_none(struct fixture *f, gconstpointer data)
{
	struct outcome outcome = {0};

	offer(f, 0);
	g_assert_cmpint(rs_session_pause(f->guest.session, NULL), ==, 0);
	g_assert_cmpint(why_not(f, "paused"), ==, -EAGAIN);
	g_assert_cmpint(rs_session_resume(f->guest.session, NULL), ==, 0);
	g_assert_cmpint(send(f, &outcome, 1, NULL), ==, 0);
	taken(f, 0, 1);
	rs_source_drop_commands(f->guest.source, &outcome);
}

/* Of several sources the message names the one. */
static void test_failures_name_the_source(struct fixture *f, gconstpointer data)
{
	struct outcome outcome = {0};
	struct rs_source *other;
	struct sham *sham;

	serving_add(&f->guest, &sham, &other);
	g_assert_cmpint(why_not(f, "k: this guest takes no commands"), ==, -ENOTSUP);
	offer(f, 0);
	g_assert_cmpint(send(f, &outcome, 1, NULL), ==, 0);
	pass((RS_COMMAND_MS + 1) * MS);
	check_outcome(&outcome, -ETIMEDOUT, "k: the guest did not");
	rs_session_destroy(f->guest.session);
	f->guest.session = NULL;
	sham_free(sham);
}

/* ---- tasks ---- */

static void test_another_id_is_no_result(struct fixture *f, gconstpointer data)
{
	offer(f, 0);
	for (int i = 0; i < 4; i++) {
		struct outcome outcome = {0}, next = {0};
		uint64_t id;

		g_assert_cmpint(send(f, &outcome, 1, NULL), ==, 0);
		g_assert_cmpint(send(f, &next, 2, NULL), ==, 0);
		id = taken(f, 0, 1);
		/* None, a later one, an earlier one, another session's. */
		report(f, 0, i == 0 ? 0 : i == 1 ? id + 1 : i == 2 ? id - 1 : id ^ 1ull << 32, 3);
		check_outcome(&outcome, -EAGAIN, "did not finish");
		/* The next one is not harmed. */
		report(f, 0, taken(f, 0, 2), 8);
		check_outcome(&next, 0, NULL);
		g_assert_cmpint(next.result, ==, 8);
	}
}

static void test_the_newest_task_serves(struct fixture *f, gconstpointer data)
{
	struct outcome outcome = {0};

	offer(f, 0);
	offer(f, 1);
	g_assert_true(serving_answered(&f->guest, 0));
	g_assert_cmpint(sham_response(f->guest.sham, 0)->result, ==, -RS_EACCES);
	g_assert_cmpstr((const char *)sham_response(f->guest.sham, 0)->data, ==,
			"another task serves");
	g_assert_cmpint(send(f, &outcome, 5, NULL), ==, 0);
	report(f, 1, taken(f, 1, 5), 2);
	check_outcome(&outcome, 0, NULL);
	/* The same slot again is the same task, which has given up its request. */
	offer(f, 1);
	offer(f, 1);
}

/* The slot holds something else by now, so nobody waits there. */
static void test_task_that_has_gone_takes_none(struct fixture *f, gconstpointer data)
{
	struct outcome outcome = {0};

	offer(f, 2);
	sham_request(f->guest.sham, 2, RS_HCALL_LOG, 0, "it was killed");
	g_assert_cmpint(send(f, &outcome, 5, NULL), ==, 0);
	serving_look();
	g_assert_true(serving_answered(&f->guest, 2));
	g_assert_cmpuint(sham_response(f->guest.sham, 2)->values[0], ==, 0);
	report(f, 4, 0, 0);
	report(f, 4, taken(f, 4, 5), 2);
	check_outcome(&outcome, 0, NULL);
}

static void test_dropped_commands_tell_nobody(struct fixture *f, gconstpointer data)
{
	struct outcome mine = {0}, others = {0};

	offer(f, 0);
	g_assert_cmpint(send(f, &mine, 1, NULL), ==, 0);
	g_assert_cmpint(send(f, &mine, 2, NULL), ==, 0);
	g_assert_cmpint(send(f, &others, 3, NULL), ==, 0);
	rs_source_drop_commands(f->guest.source, &mine);
	report(f, 0, taken(f, 0, 1), 0);
	report(f, 0, taken(f, 0, 2), 0);
	report(f, 0, taken(f, 0, 3), 0);
	g_assert_cmpuint(mine.calls, ==, 0);
	check_outcome(&others, 0, NULL);
}

/* ---- time ---- */

static void test_guest_hears_from_us_each_second(struct fixture *f, gconstpointer data)
{
	const struct rs_hcall_response *response = sham_response(f->guest.sham, 0);
	struct outcome outcome = {0};
	uint64_t session = 0;

	for (int i = 0; i < 3; i++) {
		offer(f, 0);
		pass(RS_CMD_BEAT_MS * MS - 1);
		g_assert_false(serving_answered(&f->guest, 0));
		f->guest.sham->nudges = 0;
		pass(1);
		g_assert_true(serving_answered(&f->guest, 0));
		g_assert_cmpint(f->guest.sham->nudges, >, 0);
		g_assert_cmpint(response->result, ==, 0);
		g_assert_cmpuint(RS_CMD_COUNT(response->values[0]), ==, 0);
		g_assert_cmpuint(response->data_size, ==, 0);
		g_assert_true(!i || RS_CMD_SESSION(response->values[0]) == session);
		session = RS_CMD_SESSION(response->values[0]);
		g_assert_cmpuint(session, !=, 0);
	}
	/* Between two requests a command waits for the next one. */
	g_assert_cmpint(send(f, &outcome, 6, NULL), ==, 0);
	report(f, 0, 0, 0);
	g_assert_cmpuint(RS_CMD_SESSION(taken(f, 0, 6)), ==, session);
	rs_source_drop_commands(f->guest.source, &outcome);
}

static void test_guest_that_takes_too_long(struct fixture *f, gconstpointer data)
{
	struct outcome sent = {0}, waiting = {0}, later = {0}, next = {0};
	uint64_t id;

	offer(f, 0);
	g_assert_cmpint(send(f, &sent, 1, NULL), ==, 0);
	g_assert_cmpint(send(f, &waiting, 2, NULL), ==, 0);
	id = taken(f, 0, 1);
	pass(1);
	g_assert_cmpint(send(f, &later, 3, NULL), ==, 0);
	pass(RS_COMMAND_MS * MS - 1);
	g_assert_cmpuint(sent.calls + waiting.calls, ==, 0);
	pass(1);
	check_outcome(&sent, -ETIMEDOUT, "did not carry out");
	check_outcome(&waiting, -ETIMEDOUT, "no task of the guest took");
	g_assert_cmpuint(later.calls, ==, 0);
	/* Its answer comes too late, and what still waits is next. */
	report(f, 0, id, 9);
	report(f, 0, taken(f, 0, 3), 8);
	check_outcome(&later, 0, NULL);
	g_assert_cmpint(later.result, ==, 8);
	g_assert_cmpuint(sent.calls, ==, 1);
	g_assert_cmpint(send(f, &next, 4, NULL), ==, 0);
	taken(f, 0, 4);
	rs_source_drop_commands(f->guest.source, &next);
}

/* ---- boots and ends ---- */

static void test_boot_fails_all_commands(struct fixture *f, gconstpointer data)
{
	struct outcome sent = {0}, waiting = {0}, next = {0};
	uint64_t id;

	offer(f, 0);
	g_assert_cmpint(send(f, &sent, 1, NULL), ==, 0);
	g_assert_cmpint(send(f, &waiting, 2, NULL), ==, 0);
	id = taken(f, 0, 1);
	serving_hello(&f->guest);
	check_outcome(&sent, -EAGAIN, "booted again");
	check_outcome(&waiting, -EAGAIN, "booted again");
	g_assert_cmpint(why_not(f, "no task"), ==, -ENOTSUP);
	offer(f, 0);
	g_assert_cmpint(send(f, &next, 3, NULL), ==, 0);
	g_assert_cmpuint(taken(f, 0, 3), >, id);
	rs_source_drop_commands(f->guest.source, &next);
}

/* A task that waited is gone with its boot, so nobody takes a command. */
static void test_boot_takes_the_task_with_it(struct fixture *f, gconstpointer data)
{
	offer(f, 0);
	serving_hello(&f->guest);
	g_assert_cmpint(why_not(f, "no task"), ==, -ENOTSUP);
}

/* A task of the new boot may ask before anybody has noticed the boot. */
static void test_task_of_an_unseen_boot_serves(struct fixture *f, gconstpointer data)
{
	struct outcome outcome = {0};

	offer(f, 0);
	sham_hello(f->guest.sham, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_VECTOR);
	offer(f, 1);
	rs_session_refresh(f->guest.session);
	g_assert_cmpint(send(f, &outcome, 3, NULL), ==, 0);
	report(f, 1, taken(f, 1, 3), 0);
	check_outcome(&outcome, 0, NULL);
}

static void test_end_fails_all_commands(struct fixture *f, gconstpointer data)
{
	struct outcome next = {0}, waiting = {0}, sent = {.next = &next, .dropped = &waiting};

	offer(f, 0);
	g_assert_cmpint(send(f, &sent, 1, NULL), ==, 0);
	g_assert_cmpint(send(f, &waiting, 2, NULL), ==, 0);
	rs_session_stop(f->guest.session, "enough");
	check_outcome(&sent, -ESHUTDOWN, "has ended");
	g_assert_cmpint(sent.next_ret, ==, -ESHUTDOWN);
	g_assert_cmpuint(waiting.calls + next.calls, ==, 0);
	g_assert_cmpint(why_not(f, "has ended"), ==, -ESHUTDOWN);
}

static void test_detach_fails_all_commands(struct fixture *f, gconstpointer data)
{
	struct outcome next = {0}, waiting = {0}, sent = {.next = &next};

	offer(f, 0);
	g_assert_cmpint(send(f, &sent, 1, NULL), ==, 0);
	g_assert_cmpint(send(f, &waiting, 2, NULL), ==, 0);
	put(f, 1, 0, 0);
	g_assert_cmpint(rs_session_detach(f->guest.session, NULL), ==, 0);
	check_outcome(&sent, -ESHUTDOWN, "the session has ended");
	check_outcome(&waiting, -ESHUTDOWN, "the session has ended");
	g_assert_cmpint(sent.next_ret, ==, -ESHUTDOWN);
	g_assert_cmpuint(next.calls, ==, 0);
	serving_look();
	g_assert_true(serving_answered(&f->guest, 1));
	g_assert_cmpint(sham_response(f->guest.sham, 1)->result, ==, -RS_EACCES);
}

static void test_task_that_waits_is_told_of_the_end(struct fixture *f, gconstpointer data)
{
	offer(f, 0);
	g_assert_cmpint(rs_session_detach(f->guest.session, NULL), ==, 0);
	g_assert_true(serving_answered(&f->guest, 0));
	g_assert_cmpint(sham_response(f->guest.sham, 0)->result, ==, -RS_EACCES);
	/* Nobody is there for a beat. */
	pass(2 * RS_CMD_BEAT_MS * MS);
	g_assert_cmpint(sham_response(f->guest.sham, 0)->result, ==, -RS_EACCES);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD_WITH(set_up, name)                                                                     \
	g_test_add("/commands/" #name, struct fixture, NULL, set_up, test_##name, tear_down)
#define ADD(name) ADD_WITH(set_up, name)
	ADD(waiting_task_gets_the_command_at_once);
	ADD(commands_go_in_order);
	ADD(done_may_send_the_next_command);
	ADD(results_are_bounded);
	ADD(no_more_than_64_commands_wait);
	ADD_WITH(set_up_silent, agent_that_has_not_reported_takes_none);
	ADD(guest_without_a_task_takes_none);
	ADD(paused_guest_takes_none);
	ADD(failures_name_the_source);
	ADD(another_id_is_no_result);
	ADD(the_newest_task_serves);
	ADD(task_that_has_gone_takes_none);
	ADD(dropped_commands_tell_nobody);
	ADD(guest_hears_from_us_each_second);
	ADD(guest_that_takes_too_long);
	ADD(boot_fails_all_commands);
	ADD(boot_takes_the_task_with_it);
	ADD(task_of_an_unseen_boot_serves);
	ADD(end_fails_all_commands);
	ADD(detach_fails_all_commands);
	ADD(task_that_waits_is_told_of_the_end);
	return g_test_run();
}
