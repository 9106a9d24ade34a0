/* SPDX-License-Identifier: MIT */
/* Engines on the host: whose they are, what state they are in, and that none is left attached. */
#include "session/engines.h"

#include "serving.h"
#include <errno.h>
#include <string.h>

struct fixture {
	struct serving guest;
	uint64_t id; /* of the command that the guest has */
};

/* Peers. */
static const char one[] = "one", two[] = "two";

static const struct rs_engine_wish wish_entry = {.events = 0x40}, no_events;

struct outcome {
	guint calls;
	int ret;
	uint32_t number;
	struct rs_error err;
};

static void on_done(void *data, int ret, const struct rs_engine_info *engine,
		    const struct rs_command_result *result, const struct rs_error *err)
{
	struct outcome *o = data;

	o->calls++;
	o->ret = ret;
	if (ret)
		o->err = *err;
	else
		o->number = engine->number;
}

/* ---- the guest ---- */

static void put(struct fixture *f, uint32_t slot, uint32_t number, const uint64_t args[4])
{
	const uint64_t all[6] = {args[0], args[1], args[2], args[3]};

	serving_put(&f->guest, slot, number, all);
	serving_look();
}

/* The task is done with a command, which yields `handle`, and waits for the next one. */
static void report(struct fixture *f, int64_t result, uint64_t handle)
{
	static const struct rs_cmd_thread thread = {
		.id = 7, .process = 5, .parent = 1, .comm = "worker"};
	struct rs_hcall_request *request = serving_request(&f->guest, 0);

	memcpy(request->data, &thread, sizeof(thread));
	request->data_size = sizeof(thread);
	put(f, 0, RS_HCALL_COMMAND, (const uint64_t[]){f->id, (uint64_t)result, handle, 0});
	f->id = 0;
}

/* With data: a thread, or a path. */
static void tell_news_with(struct fixture *f, const uint64_t args[4], const void *data,
			   uint32_t size)
{
	memcpy(serving_request(&f->guest, 1)->data, data, size);
	serving_request(&f->guest, 1)->data_size = size;
	put(f, 1, RS_HCALL_NEWS, args);
	serving_request(&f->guest, 1)->data_size = 0;
}

static void tell_news(struct fixture *f, uint64_t kind, uint64_t handle, uint64_t event,
		      int64_t value)
{
	put(f, 1, RS_HCALL_NEWS, (const uint64_t[]){kind, handle, event, (uint64_t)value});
	g_assert_cmpint(sham_response(f->guest.sham, 1)->sequence, ==,
			serving_request(&f->guest, 1)->sequence);
	g_assert_cmpint(sham_response(f->guest.sham, 1)->result, ==, 0);
}

/* Whether the guest has got another command. */
static bool has_command(struct fixture *f)
{
	return serving_answered(&f->guest, 0);
}

/* The command that the guest has got: its number, handle and next argument. */
static void expect(struct fixture *f, uint32_t number, uint64_t a, uint64_t b)
{
	const struct rs_hcall_response *response = sham_response(f->guest.sham, 0);

	g_assert_true(has_command(f));
	g_assert_cmpuint(response->values[1], ==, number);
	g_assert_cmpuint(response->values[2], ==, a);
	g_assert_cmpuint(response->values[3], ==, b);
	f->id = response->values[0];
}

/* ---- life ---- */

static void set_up(struct fixture *f, gconstpointer data)
{
	serving_begin(&f->guest);
	serving_hello(&f->guest);
	report(f, 0, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	serving_end(&f->guest);
}

static uint32_t attach(struct fixture *f, const void *owner, uint64_t handle)
{
	struct outcome o = {0};

	g_assert_cmpint(rs_engine_attach(f->guest.source, owner, 7, &wish_entry, on_done, &o, NULL),
			==, 0);
	expect(f, RS_CMD_ENGINE_ATTACH, 7, 0x40);
	report(f, 0, handle);
	g_assert_cmpuint(o.calls, ==, 1);
	g_assert_cmpint(o.ret, ==, 0);
	return o.number;
}

static guint count_of(struct fixture *f, const void *owner)
{
	struct rs_engine_iter iter;
	guint n = 0;

	rs_engine_iter_init(&iter, f->guest.session, owner);
	while (rs_engine_iter_next(&iter))
		n++;
	return n;
}

/* His only one. */
static struct rs_engine_info info_of(struct fixture *f, const void *owner)
{
	struct rs_engine_iter iter;
	const struct rs_engine_info *info;

	g_assert_cmpuint(count_of(f, owner), ==, 1);
	rs_engine_iter_init(&iter, f->guest.session, owner);
	info = rs_engine_iter_next(&iter);
	g_assert_nonnull(info);
	return *info;
}

static int send(struct fixture *f, const void *owner, uint32_t number, uint64_t how,
		struct outcome *o, struct rs_error *err)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
						  .args = {0, how}};

	return rs_engine_send(f->guest.session, owner, number, &command, on_done, o, err);
}

/* ---- tests ---- */

static void test_an_engine_is_its_owners(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	const struct rs_engine_info info = info_of(f, one);
	struct outcome o = {0};

	g_assert_cmpuint(info.number, ==, number);
	g_assert_true(info.source == f->guest.source);
	g_assert_cmpint(info.state, ==, RS_ENGINE_RUNNING);
	g_assert_cmpuint(info.thread.id, ==, 7);
	g_assert_cmpuint(info.thread.process, ==, 5);
	g_assert_cmpstr(info.thread.comm, ==, "worker");
	g_assert_cmpuint(count_of(f, two), ==, 0);
	g_assert_cmpint(send(f, two, number, RS_UTRACE_RESUME, &o, NULL), ==, -EBADF);
	g_assert_cmpint(send(f, one, number + 1, RS_UTRACE_RESUME, &o, NULL), ==, -EBADF);
	g_assert_cmpuint(o.calls, ==, 0);
	g_assert_false(has_command(f));
}

static void test_a_stop_is_noted_and_ended_by_resume(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	struct outcome o = {0};

	tell_news(f, RS_NEWS_STOPPED, 1001, 6, -3);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
	g_assert_cmpuint(info_of(f, one).stop, ==, 1);
	g_assert_cmpuint(info_of(f, one).event, ==, 6);
	g_assert_cmpint(info_of(f, one).value, ==, -3);
	g_assert_cmpint(send(f, one, number, RS_UTRACE_SINGLESTEP, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_SINGLESTEP);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
	report(f, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_RUNNING);
	tell_news(f, RS_NEWS_STOPPED, 1001, 12, 5);
	g_assert_cmpuint(info_of(f, one).stop, ==, 2);
	/* What fails changes nothing. */
	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_RESUME);
	report(f, -22, 0);
	g_assert_cmpint(o.ret, ==, -EINVAL);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
	/* And a stop is no run. */
	g_assert_cmpint(send(f, one, number, RS_UTRACE_STOP, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_STOP);
	report(f, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
}

/* The guest has a slot for each, and they are read in any order. */
static void test_news_that_make_no_sense_are_nothing(struct fixture *f, gconstpointer data)
{
	attach(f, one, 1001);
	tell_news(f, RS_NEWS_STOPPED, 1002, 6, 0);
	tell_news(f, RS_NEWS_STOPPED, 0, 6, 0);
	tell_news(f, RS_NEWS_STOPPED, 1001, RS_UTRACE_EVENTS, 0);
	tell_news(f, RS_NEWS_STOPPED, 1001, ~0ull, 0);
	tell_news(f, 77, 1001, 6, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_RUNNING);
	tell_news(f, RS_NEWS_GONE, 1001, 5, 9);
	tell_news(f, RS_NEWS_STOPPED, 1001, 6, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
}

static void test_a_step_is_told_as_one(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	struct outcome o = {0};

	tell_news(f, RS_NEWS_STEPPED, 1001, 12, 77);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
	g_assert_true(info_of(f, one).stepped);
	g_assert_cmpuint(info_of(f, one).event, ==, 12);
	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_RESUME);
	report(f, 0, 0);
	tell_news(f, RS_NEWS_STOPPED, 1001, 12, 5);
	g_assert_false(info_of(f, one).stepped);
	tell_news(f, RS_NEWS_STEPPED, 1001, RS_UTRACE_EVENTS, 0);
	g_assert_cmpuint(info_of(f, one).stop, ==, 2);
}

static void test_the_path_of_an_exec_is_bounded(struct fixture *f, gconstpointer data)
{
	static const uint64_t args[] = {RS_NEWS_STOPPED, 1001, RS_UTRACE_EVENT_EXEC, 0};
	char path[2 * RS_NEWS_DATA];

	attach(f, one, 1001);
	tell_news_with(f, args, "/bin/x", 6);
	g_assert_cmpstr(info_of(f, one).path, ==, "/bin/x");
	memset(path, 'x', sizeof(path));
	tell_news_with(f, args, path, sizeof(path));
	g_assert_cmpuint(strlen(info_of(f, one).path), ==, RS_NEWS_DATA);
}

static const struct rs_cmd_thread child = {.id = 8, .process = 8, .parent = 5, .comm = "child"};

static void tell_follower(struct fixture *f, uint64_t handle, uint64_t maker)
{
	tell_news_with(f, (const uint64_t[]){RS_NEWS_ATTACHED, handle, maker, 0}, &child,
		       sizeof(child));
}

static void test_an_engine_that_follows_is_its_owners(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	const struct rs_engine_info *info;
	struct rs_engine_iter iter;
	struct outcome o = {0};

	tell_follower(f, 1002, 1001);
	g_assert_cmpuint(count_of(f, one), ==, 2);
	rs_engine_iter_init(&iter, f->guest.session, one);
	g_assert_cmpuint(rs_engine_iter_next(&iter)->follows, ==, 0);
	info = rs_engine_iter_next(&iter);
	g_assert_cmpuint(info->follows, ==, number);
	g_assert_cmpuint(info->number, ==, number + 1);
	g_assert_cmpuint(info->thread.id, ==, 8);
	g_assert_cmpstr(info->thread.comm, ==, "child");
	g_assert_cmpint(info->state, ==, RS_ENGINE_RUNNING);
	tell_news(f, RS_NEWS_STOPPED, 1002, 6, 3);
	g_assert_cmpint(info->state, ==, RS_ENGINE_STOPPED);
	g_assert_cmpint(send(f, one, number + 1, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1002, RS_UTRACE_RESUME);
	report(f, 0, 0);
	/* One that is there already, and one that is none, are nothing. */
	tell_follower(f, 1002, 1001);
	tell_follower(f, 1001, 1001);
	tell_follower(f, 0, 1001);
	g_assert_cmpuint(count_of(f, one), ==, 2);
	g_assert_false(has_command(f));
	/* The owner of both goes. */
	rs_engine_drop_owner(f->guest.session, one);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1002, RS_UTRACE_DETACH);
	report(f, 0, 0);
	g_assert_false(has_command(f));
}

static void test_who_follows_nobody_is_detached(struct fixture *f, gconstpointer data)
{
	tell_follower(f, 1002, 1001);
	expect(f, RS_CMD_ENGINE_CONTROL, 1002, RS_UTRACE_DETACH);
	report(f, 0, 0);
	/* Its maker's owner is just going. */
	attach(f, one, 1001);
	rs_engine_drop_owner(f->guest.session, one);
	tell_follower(f, 1003, 1001);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1003, RS_UTRACE_DETACH);
	report(f, 0, 0);
	g_assert_cmpuint(count_of(f, one), ==, 0);
}

static void test_threads_that_cannot_be_followed_are_counted(struct fixture *f, gconstpointer data)
{
	struct rs_engine_iter iter;

	attach(f, one, 1001);
	tell_news(f, RS_NEWS_REFUSED, 1001, 3, 0);
	g_assert_cmpuint(info_of(f, one).refused, ==, 3);
	/* Here they count against the bound. */
	for (uint32_t i = 1; i < RS_ENGINES_MAX; i++)
		tell_follower(f, 2000 + i, 1001);
	g_assert_cmpuint(count_of(f, one), ==, RS_ENGINES_MAX);
	for (uint32_t i = 0; i < 2; i++) {
		tell_follower(f, 3000 + i, 1001);
		expect(f, RS_CMD_ENGINE_CONTROL, 3000 + i, RS_UTRACE_DETACH);
		report(f, 0, 0);
	}
	rs_engine_iter_init(&iter, f->guest.session, one);
	g_assert_cmpuint(rs_engine_iter_next(&iter)->refused, ==, 5);
	tell_news(f, RS_NEWS_REFUSED, 1001, ~0ull, 0);
	rs_engine_iter_init(&iter, f->guest.session, one);
	g_assert_cmpuint(rs_engine_iter_next(&iter)->refused, ==, UINT32_MAX);
}

static void test_a_handle_is_of_one_engine(struct fixture *f, gconstpointer data)
{
	struct outcome o = {0};

	attach(f, one, 1001);
	g_assert_cmpint(rs_engine_attach(f->guest.source, two, 7, &no_events, on_done, &o, NULL),
			==, 0);
	expect(f, RS_CMD_ENGINE_ATTACH, 7, 0);
	report(f, 0, 1001);
	g_assert_cmpint(o.ret, ==, -EPROTO);
	g_assert_cmpuint(count_of(f, two), ==, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_RUNNING);
	tell_news(f, RS_NEWS_STOPPED, 1001, 6, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
}

static void test_what_the_guest_has_left_is_gone(struct fixture *f, gconstpointer data)
{
	attach(f, one, 1001);
	attach(f, two, 1005);
	tell_news(f, RS_NEWS_LEFT, 1004, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
	g_assert_cmpint(info_of(f, two).state, ==, RS_ENGINE_RUNNING);
	rs_engine_forget_gone(f->guest.session, one);
	serving_look();
	g_assert_false(has_command(f));
}

static void test_dead_engines_take_no_room(struct fixture *f, gconstpointer data)
{
	/* Their owner never looks. */
	for (uint32_t i = 0; i < 3 * RS_ENGINES_MAX; i++) {
		attach(f, one, 2000 + i);
		tell_news(f, RS_NEWS_GONE, 2000 + i, 5, 0);
	}
	attach(f, two, 1001);
	g_assert_cmpuint(count_of(f, one), <=, RS_ENGINES_MAX + 1);
	g_assert_cmpuint(count_of(f, one), >=, RS_ENGINES_MAX - 1);
}

static void test_peers_have_room_while_others_are_detached(struct fixture *f, gconstpointer data)
{
	struct outcome o[RS_COMMANDS_MAX - 1] = {0};
	uint32_t number;

	for (uint32_t i = 0; i < 200; i++)
		attach(f, one, 2000 + i);
	number = attach(f, two, 1001);
	rs_engine_drop_owner(f->guest.session, one);
	serving_look();
	for (guint i = 0; i < G_N_ELEMENTS(o); i++)
		g_assert_cmpint(send(f, two, number, RS_UTRACE_RESUME, &o[i], NULL), ==, 0);
	for (guint i = 0; i < 200 + G_N_ELEMENTS(o); i++) {
		g_assert_true(has_command(f));
		f->id = sham_response(f->guest.sham, 0)->values[0];
		report(f, 0, 0);
	}
	g_assert_false(has_command(f));
	for (guint i = 0; i < G_N_ELEMENTS(o); i++)
		g_assert_cmpuint(o[i].calls, ==, 1);
}

static void test_what_nobody_has_is_detached_in_the_end(struct fixture *f, gconstpointer data)
{
	struct outcome o = {0};

	/* An attach that is told late, and news, while the guest is paused. */
	g_assert_cmpint(rs_engine_attach(f->guest.source, one, 7, &no_events, on_done, &o, NULL),
			==, 0);
	expect(f, RS_CMD_ENGINE_ATTACH, 7, 0);
	serving_now += 5001 * MS;
	serving_look();
	g_assert_cmpint(o.ret, ==, -ETIMEDOUT);
	g_assert_cmpint(rs_session_pause(f->guest.session, NULL), ==, 0);
	report(f, 0, 1001);
	tell_news(f, RS_NEWS_STOPPED, 1002, 6, 0);
	serving_look();
	g_assert_false(has_command(f));
	g_assert_cmpint(rs_session_resume(f->guest.session, NULL), ==, 0);
	serving_look();
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1002, RS_UTRACE_DETACH);
	report(f, 0, 0);
	g_assert_false(has_command(f));
}

/* A guest may make up as many as it likes. */
static void test_engines_that_a_guest_makes_up_are_bounded(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_pause(f->guest.session, NULL), ==, 0);
	for (uint32_t i = 0; i < 5 * RS_ENGINES_MAX; i++)
		tell_news(f, RS_NEWS_STOPPED, 2000 + i, 6, 0);
	g_assert_cmpint(rs_session_resume(f->guest.session, NULL), ==, 0);
	serving_look();
	for (uint32_t i = 0; i < 4 * RS_ENGINES_MAX; i++) {
		expect(f, RS_CMD_ENGINE_CONTROL, 2000 + i, RS_UTRACE_DETACH);
		report(f, 0, 0);
	}
	g_assert_false(has_command(f));
	attach(f, one, 1001);
}

static void test_what_is_gone_is_told_once(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	struct outcome o = {0};

	tell_news(f, RS_NEWS_GONE, 1001, 5, 9);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, -EBADF);
	rs_engine_forget_gone(f->guest.session, two);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
	rs_engine_forget_gone(f->guest.session, one);
	g_assert_cmpuint(count_of(f, one), ==, 0);
}

static void test_a_guest_that_has_let_go_is_believed(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	struct outcome o = {0};

	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_RESUME);
	report(f, -9, 0);
	g_assert_cmpint(o.ret, ==, -EBADF);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
}

static void test_engines_of_a_peer_that_goes_are_detached(struct fixture *f, gconstpointer data)
{

	attach(f, one, 1001);
	attach(f, two, 1002);
	rs_engine_drop_owner(f->guest.session, one);
	g_assert_cmpuint(count_of(f, one), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	g_assert_false(has_command(f));
	g_assert_cmpint(info_of(f, two).state, ==, RS_ENGINE_RUNNING);
}

static void test_what_cannot_be_detached_now_is_later(struct fixture *f, gconstpointer data)
{
	attach(f, one, 1001);
	g_assert_cmpint(rs_session_pause(f->guest.session, NULL), ==, 0);
	rs_engine_drop_owner(f->guest.session, one);
	serving_look();
	g_assert_false(has_command(f));
	g_assert_cmpint(rs_session_resume(f->guest.session, NULL), ==, 0);
	serving_look();
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	/* The guest's task does not do it, and is asked again. */
	report(f, -11, 0);
	serving_look();
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	serving_look();
	g_assert_false(has_command(f));
}

static void test_a_peer_that_goes_while_it_attaches(struct fixture *f, gconstpointer data)
{
	struct outcome o = {0};

	g_assert_cmpint(rs_engine_attach(f->guest.source, one, 7, &no_events, on_done, &o, NULL),
			==, 0);
	expect(f, RS_CMD_ENGINE_ATTACH, 7, 0);
	rs_engine_drop_calls(f->guest.session, &o);
	rs_engine_drop_owner(f->guest.session, one);
	report(f, 0, 1001);
	g_assert_cmpuint(o.calls, ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	g_assert_false(has_command(f));
}

static void test_attach_fails(struct fixture *f, gconstpointer data)
{
	static const struct {
		int64_t result;
		uint64_t handle;
		int ret;
	} cases[] = {{-3, 0, -ESRCH},    {-22, 0, -EINVAL},    {-28, 0, -ENOSPC},
		     {-38, 0, -ENOTSUP}, {-12345, 0, -EPROTO}, {0, 0, -EPROTO}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct outcome o = {0};

		g_assert_cmpint(
			rs_engine_attach(f->guest.source, one, 7, &no_events, on_done, &o, NULL),
			==, 0);
		expect(f, RS_CMD_ENGINE_ATTACH, 7, 0);
		report(f, cases[i].result, cases[i].handle);
		g_assert_cmpuint(o.calls, ==, 1);
		g_assert_cmpint(o.ret, ==, cases[i].ret);
		g_assert_cmpuint(count_of(f, one), ==, 0);
	}
}

static void test_there_is_a_bound(struct fixture *f, gconstpointer data)
{
	struct outcome o = {0};
	struct rs_error err = {0};

	for (uint32_t i = 0; i < RS_ENGINES_MAX; i++)
		attach(f, one, 2000 + i);
	g_assert_cmpint(rs_engine_attach(f->guest.source, two, 7, &no_events, on_done, &o, &err),
			==, -ENOSPC);
	g_assert_nonnull(strstr(err.message, "256"));
}

/* The peer has sent both at once: the stop was told before the guest let its thread go. */
static void test_a_resume_ends_the_stop_that_was_told_before(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	struct outcome o = {0};

	g_assert_cmpint(send(f, one, number, RS_UTRACE_STOP, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_STOP);
	report(f, 0, 0);
	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	tell_news(f, RS_NEWS_STOPPED, 1001, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_RESUME);
	report(f, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_RUNNING);
}

static void test_an_attach_that_comes_late_is_undone(struct fixture *f, gconstpointer data)
{
	struct outcome o = {0};

	g_assert_cmpint(rs_engine_attach(f->guest.source, one, 7, &no_events, on_done, &o, NULL),
			==, 0);
	expect(f, RS_CMD_ENGINE_ATTACH, 7, 0);
	serving_now += 5001 * MS;
	serving_look();
	g_assert_cmpuint(o.calls, ==, 1);
	g_assert_cmpint(o.ret, ==, -ETIMEDOUT);
	report(f, 0, 1001);
	g_assert_cmpuint(o.calls, ==, 1);
	g_assert_cmpuint(count_of(f, one), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, 0, 0);
	g_assert_false(has_command(f));
}

static void test_a_resume_that_comes_late_is_noted(struct fixture *f, gconstpointer data)
{
	uint32_t number = attach(f, one, 1001);
	struct outcome o = {0};

	tell_news(f, RS_NEWS_STOPPED, 1001, 6, 0);
	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_RESUME);
	serving_now += 5001 * MS;
	serving_look();
	g_assert_cmpint(o.ret, ==, -ETIMEDOUT);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_STOPPED);
	report(f, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_RUNNING);
}

static void test_an_engine_that_nobody_knows_is_detached(struct fixture *f, gconstpointer data)
{
	tell_news(f, RS_NEWS_STOPPED, 4004, 6, 0);
	expect(f, RS_CMD_ENGINE_CONTROL, 4004, RS_UTRACE_DETACH);
	report(f, 0, 0);
	tell_news(f, RS_NEWS_GONE, 4004, 5, 0);
	g_assert_false(has_command(f));
}

/* More than may wait for the guest at once, which is paused at first. */
static void test_what_is_given_up_is_detached_in_the_end(struct fixture *f, gconstpointer data)
{
	for (uint32_t i = 0; i < 100; i++)
		attach(f, one, 2000 + i);
	g_assert_cmpint(rs_session_pause(f->guest.session, NULL), ==, 0);
	serving_now += 5001 * MS;
	serving_look();
	/* A beat, without a command. */
	g_assert_true(has_command(f));
	g_assert_cmpint(rs_session_resume(f->guest.session, NULL), ==, 0);
	rs_engine_drop_owner(f->guest.session, one);
	report(f, 0, 0);
	for (uint32_t i = 0; i < 100; i++) {
		serving_look();
		g_assert_true(has_command(f));
		f->id = sham_response(f->guest.sham, 0)->values[0];
		g_assert_cmpuint(sham_response(f->guest.sham, 0)->values[3], ==, RS_UTRACE_DETACH);
		report(f, 0, 0);
	}
	serving_look();
	g_assert_false(has_command(f));
}

static void test_a_session_that_stood_still_gives_them_up(struct fixture *f, gconstpointer data)
{
	attach(f, one, 1001);
	serving_now += 4000 * MS;
	serving_look();
	/* A beat, after which the guest's task asks again. */
	g_assert_true(has_command(f));
	report(f, 0, 0);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_RUNNING);
	serving_now += 5000 * MS;
	serving_look();
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
	expect(f, RS_CMD_ENGINE_CONTROL, 1001, RS_UTRACE_DETACH);
	report(f, -9, 0);
	g_assert_false(has_command(f));
}

static void test_all_are_gone_with_the_boot(struct fixture *f, gconstpointer data)
{
	attach(f, one, 1001);
	sham_hello(f->guest.sham, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_VECTOR);
	rs_session_refresh(f->guest.session);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
	rs_engine_drop_owner(f->guest.session, one);
	serving_look();
}

static void test_all_are_gone_with_the_guest(struct fixture *f, gconstpointer data)
{
	struct outcome o = {0};
	uint32_t number = attach(f, one, 1001);

	g_assert_cmpint(send(f, one, number, RS_UTRACE_RESUME, &o, NULL), ==, 0);
	rs_session_stop(f->guest.session, "test");
	g_assert_cmpint(o.ret, ==, -ESHUTDOWN);
	g_assert_cmpint(info_of(f, one).state, ==, RS_ENGINE_GONE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
	g_test_add("/session/engines/" #name, struct fixture, NULL, set_up, test_##name, tear_down)
	ADD(an_engine_is_its_owners);
	ADD(a_stop_is_noted_and_ended_by_resume);
	ADD(news_that_make_no_sense_are_nothing);
	ADD(a_step_is_told_as_one);
	ADD(the_path_of_an_exec_is_bounded);
	ADD(an_engine_that_follows_is_its_owners);
	ADD(who_follows_nobody_is_detached);
	ADD(threads_that_cannot_be_followed_are_counted);
	ADD(a_handle_is_of_one_engine);
	ADD(what_the_guest_has_left_is_gone);
	ADD(dead_engines_take_no_room);
	ADD(peers_have_room_while_others_are_detached);
	ADD(what_nobody_has_is_detached_in_the_end);
	ADD(engines_that_a_guest_makes_up_are_bounded);
	ADD(what_is_gone_is_told_once);
	ADD(a_guest_that_has_let_go_is_believed);
	ADD(engines_of_a_peer_that_goes_are_detached);
	ADD(what_cannot_be_detached_now_is_later);
	ADD(a_peer_that_goes_while_it_attaches);
	ADD(attach_fails);
	ADD(there_is_a_bound);
	ADD(a_resume_ends_the_stop_that_was_told_before);
	ADD(an_attach_that_comes_late_is_undone);
	ADD(a_resume_that_comes_late_is_noted);
	ADD(an_engine_that_nobody_knows_is_detached);
	ADD(what_is_given_up_is_detached_in_the_end);
	ADD(a_session_that_stood_still_gives_them_up);
	ADD(all_are_gone_with_the_boot);
	ADD(all_are_gone_with_the_guest);
	return g_test_run();
}
