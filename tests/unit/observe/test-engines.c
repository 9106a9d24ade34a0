/* SPDX-License-Identifier: MIT */
/*
 * The client of engines, against a session whose guests a test plays: what is told and when, and
 * what is asked of the guest.
 */
#include "host.h"

#include <ringside/error.h>
#include <rs-trace-engines.h>
#include <string.h>

#define ENTRY RS_UTRACE_EVENT_SYSCALL_ENTRY
#define SIGNAL RS_UTRACE_EVENT_SIGNAL
#define HANDLE 0x700000001u

static const struct rs_cmd_thread worker = {.id = 7, .process = 5, .parent = 1, .comm = "w\x1b[2J"};

/* ---- what is told ---- */

struct watch {
	RsDBusSession1 *client;
	RsTraceEngines *engines;
	guint attached, stopped, gone, over, notified;
	guint64 removed, added; /* items of the list */
	char *reason;
	bool more; /* something was told */
};

static void on_attached(RsTraceEngines *engines, RsTraceEngine *engine, struct watch *watch)
{
	watch->attached++;
	watch->more = true;
}

static void on_stopped(RsTraceEngines *engines, RsTraceEngine *engine, struct watch *watch)
{
	g_assert_cmpint(rs_trace_engine_get_state(engine), ==, RS_TRACE_ENGINE_STOPPED);
	watch->stopped++;
	watch->more = true;
}

static void on_gone(RsTraceEngines *engines, RsTraceEngine *engine, struct watch *watch)
{
	g_assert_cmpint(rs_trace_engine_get_state(engine), ==, RS_TRACE_ENGINE_GONE);
	watch->gone++;
	watch->more = true;
}

static void on_over(RsTraceEngines *engines, const char *reason, int code, const char *text,
		    struct watch *watch)
{
	g_free(watch->reason);
	watch->reason = g_strdup(reason);
	watch->over++;
	watch->more = true;
}

static void on_items(GListModel *list, guint at, guint removed, guint added, struct watch *watch)
{
	watch->removed += removed;
	watch->added += added;
}

static void on_state(RsTraceEngine *engine, GParamSpec *spec, struct watch *watch)
{
	watch->notified++;
}

static struct watch *watch_new(struct host *host)
{
	struct watch *watch = g_new0(struct watch, 1);

	watch->client = host_connect(host);
	watch->engines = rs_trace_engines_new(watch->client);
	g_signal_connect(watch->engines, "attached", G_CALLBACK(on_attached), watch);
	g_signal_connect(watch->engines, "stopped", G_CALLBACK(on_stopped), watch);
	g_signal_connect(watch->engines, "gone", G_CALLBACK(on_gone), watch);
	g_signal_connect(watch->engines, "over", G_CALLBACK(on_over), watch);
	g_signal_connect(watch->engines, "items-changed", G_CALLBACK(on_items), watch);
	host_offer_all(host);
	return watch;
}

static void watch_free(struct watch *watch)
{
	g_signal_handlers_disconnect_by_data(watch->engines, watch);
	g_object_unref(watch->engines);
	g_object_unref(watch->client);
	g_free(watch->reason);
	g_free(watch);
}

/* Until `what` is `count`, and never more. */
static void wait_for(struct watch *watch, const guint *what, guint count)
{
	while (*what < count) {
		watch->more = false;
		sham_wait(&watch->more);
	}
	g_assert_cmpuint(*what, ==, count);
}

static guint listed(struct watch *watch)
{
	return g_list_model_get_n_items(G_LIST_MODEL(watch->engines));
}

/* ---- calls ---- */

struct answer {
	bool over;
	GAsyncResult *result;
};

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	struct answer *answer = data;

	answer->result = g_object_ref(result);
	answer->over = true;
}

static GAsyncResult *take(struct answer *answer)
{
	sham_wait(&answer->over);
	return answer->result;
}

static void check_done(struct answer *answer, RsTraceEngine *engine)
{
	GError *error = NULL;

	g_assert_true(rs_trace_engine_finish(engine, take(answer), &error));
	g_assert_no_error(error);
	g_clear_object(&answer->result);
	answer->over = false;
}

static void check_failed(struct answer *answer, RsTraceEngine *engine, RsTraceSessionError code)
{
	GError *error = NULL;

	g_assert_false(rs_trace_engine_finish(engine, take(answer), &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, (gint)code);
	g_clear_object(&answer->result);
	g_clear_error(&error);
	answer->over = false;
}

static void expect(struct host *host, uint32_t number, uint64_t a, uint64_t b)
{
	const struct rs_hcall_response *command = host_command(host->sham[0]);

	g_assert_cmpuint(command->values[1], ==, number);
	g_assert_cmpuint(command->values[2], ==, a);
	g_assert_cmpuint(command->values[3], ==, b);
}

static void carry_out(struct host *host, uint32_t number, uint64_t a, uint64_t b)
{
	expect(host, number, a, b);
	host_carry_out(host->sham[0], 0);
}

/* Of the guest's thread 7, which the test gives. To be unreffed. */
static RsTraceEngine *attach_to(struct host *host, struct watch *watch,
				const struct rs_cmd_thread *is)
{
	char source[] = "k", comm[] = "worker";
	const RsTraceEngineThread thread = {
		.source_number = 1, .id = 7, .process = 5, .source = source, .comm = comm};
	const struct host_result result = {.values = {HANDLE}, .data = is, .size = sizeof(*is)};
	struct answer answer = {0};
	RsTraceEngine *engine;
	GError *error = NULL;

	rs_trace_engines_attach_async(watch->engines, &thread, 1u << ENTRY, TRUE, NULL, on_answer,
				      &answer);
	expect(host, RS_CMD_ENGINE_ATTACH, 7, 1u << ENTRY);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &result);
	engine = rs_trace_engines_attach_finish(watch->engines, take(&answer), &error);
	g_assert_no_error(error);
	g_object_unref(answer.result);
	g_signal_connect(engine, "notify::state", G_CALLBACK(on_state), watch);
	return engine;
}

static RsTraceEngine *attach(struct host *host, struct watch *watch)
{
	return attach_to(host, watch, &worker);
}

static void stop(struct host *host, uint64_t event, int64_t value)
{
	host_news(host->sham[0], RS_NEWS_STOPPED, HANDLE, event, value);
}

static void ask_control(RsTraceEngine *engine, RsTraceEngineAction action, struct answer *answer)
{
	*answer = (struct answer){0};
	rs_trace_engine_control_async(engine, action, NULL, on_answer, answer);
}

/* ---- tests ---- */

static void test_an_attached_engine_is_listed(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch), item = NULL;

	g_assert_cmpuint(watch->attached, ==, 1);
	g_assert_cmpuint(watch->added, ==, 1);
	item = g_list_model_get_item(G_LIST_MODEL(watch->engines), 0);
	g_assert_true(item == engine && listed(watch) == 1);
	g_assert_true(rs_trace_engines_find(watch->engines, 0, 7) == engine);
	g_assert_true(rs_trace_engines_find(watch->engines, 1, 7) == engine);
	g_assert_null(rs_trace_engines_find(watch->engines, 2, 7));
	g_assert_cmpuint(rs_trace_engine_get_process(engine), ==, 5);
	g_assert_cmpstr(rs_trace_engine_get_source(engine), ==, "k");
	g_assert_null(rs_trace_engine_get_stop(engine));
	g_assert_null(rs_trace_engines_first_stopped(watch->engines));
	watch_free(watch);
}

/* Its id has been given to another thread since the guest was asked for its threads. */
static void test_an_engine_says_whom_it_is_attached_to(struct host *host)
{
	const struct rs_cmd_thread other = {.id = 7, .process = 6, .parent = 1, .comm = "o\x1b"};
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach_to(host, watch, &other);

	g_assert_cmpuint(rs_trace_engine_get_process(engine), ==, 6);
	g_assert_cmpstr(rs_trace_engine_get_comm(engine), ==, "o\\x1b");
	g_assert_cmpstr(rs_trace_engine_get_source(engine), ==, "k");
	g_assert_cmpuint(rs_trace_engine_get_thread(engine), ==, 7);
	watch_free(watch);
}

static void test_each_stop_is_told_once(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	struct answer answer;

	for (guint i = 1; i <= 3; i++) {
		const RsTraceEngineStop *at;

		stop(host, ENTRY, 40 + i);
		wait_for(watch, &watch->stopped, i);
		at = rs_trace_engine_get_stop(engine);
		g_assert_cmpuint(at->event, ==, ENTRY);
		g_assert_cmpint(at->value, ==, 40 + i);
		g_assert_cmpuint(at->order, ==, i);
		g_assert_false(at->stepped);
		g_assert_true(rs_trace_engines_first_stopped(watch->engines) == engine);
		/* What the session says in between changes nothing. */
		rs_trace_engines_refresh_async(watch->engines, NULL, NULL, NULL);
		ask_control(engine, RS_TRACE_ENGINE_RESUME, &answer);
		carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_RESUME);
		check_done(&answer, engine);
		g_assert_null(rs_trace_engine_get_stop(engine));
		g_assert_cmpuint(watch->notified, ==, 2 * i);
	}
	watch_free(watch);
}

/* A list that was asked for before another one may be answered after it. */
static void test_lists_that_were_overtaken_are_dropped(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(GMainContext) aside = g_main_context_new();
	struct answer early = {0};
	RsTraceEngine *engine;

	/* Its answer has no engine yet, and is dispatched once there is one. */
	g_main_context_push_thread_default(aside);
	rs_trace_engines_refresh_async(watch->engines, NULL, on_answer, &early);
	g_main_context_pop_thread_default(aside);
	engine = attach(host, watch);
	while (!early.over)
		g_main_context_iteration(aside, TRUE);
	g_assert_true(rs_trace_engines_refresh_finish(watch->engines, early.result, NULL));
	g_object_unref(early.result);
	g_assert_cmpuint(watch->gone, ==, 0);
	g_assert_cmpuint(listed(watch), ==, 1);
	g_object_unref(engine);
	watch_free(watch);
}

static void test_only_the_last_step_is_told(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	struct answer answer = {0};

	stop(host, ENTRY, 1);
	wait_for(watch, &watch->stopped, 1);
	rs_trace_engine_step_async(engine, 3, FALSE, NULL, on_answer, &answer);
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_SINGLESTEP);
	check_done(&answer, engine);
	for (guint64 left = 3; left > 1; left--) {
		g_assert_cmpuint(rs_trace_engine_get_steps(engine), ==, left);
		host_news(host->sham[0], RS_NEWS_STEPPED, HANDLE, SIGNAL, 5);
		while (rs_trace_engine_get_steps(engine) == left)
			g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
		carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_SINGLESTEP);
	}
	g_assert_cmpuint(watch->stopped, ==, 1);
	host_news(host->sham[0], RS_NEWS_STEPPED, HANDLE, SIGNAL, 5);
	wait_for(watch, &watch->stopped, 2);
	g_assert_true(rs_trace_engine_get_stop(engine)->stepped);
	g_assert_cmpuint(rs_trace_engine_get_steps(engine), ==, 0);
	watch_free(watch);
}

static void test_steps_end_early(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	struct answer answer = {0};

	/* By whoever has seen enough: the one that is being made is the last. */
	stop(host, ENTRY, 1);
	wait_for(watch, &watch->stopped, 1);
	rs_trace_engine_step_async(engine, 1000, TRUE, NULL, on_answer, &answer);
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_BLOCKSTEP);
	check_done(&answer, engine);
	rs_trace_engine_end_steps(engine);
	host_news(host->sham[0], RS_NEWS_STEPPED, HANDLE, SIGNAL, 5);
	wait_for(watch, &watch->stopped, 2);
	g_assert_true(rs_trace_engine_get_stop(engine)->stepped);

	/* By another event. */
	rs_trace_engine_step_async(engine, 1000, FALSE, NULL, on_answer, &answer);
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_SINGLESTEP);
	check_done(&answer, engine);
	stop(host, ENTRY, 1);
	wait_for(watch, &watch->stopped, 3);
	g_assert_false(rs_trace_engine_get_stop(engine)->stepped);
	g_assert_cmpuint(rs_trace_engine_get_steps(engine), ==, 0);

	/* By a guest that does not make the next one. */
	rs_trace_engine_step_async(engine, 2, FALSE, NULL, on_answer, &answer);
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_SINGLESTEP);
	check_done(&answer, engine);
	host_news(host->sham[0], RS_NEWS_STEPPED, HANDLE, SIGNAL, 5);
	while (rs_trace_engine_get_steps(engine) == 2)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	expect(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_SINGLESTEP);
	host_carry_out(host->sham[0], -RS_ENOSYS);
	wait_for(watch, &watch->stopped, 4);
	g_assert_true(rs_trace_engine_get_stop(engine)->stepped);
	g_assert_cmpuint(rs_trace_engine_get_steps(engine), ==, 0);
	watch_free(watch);
}

static void test_what_follows_is_told(struct host *host)
{
	const struct rs_cmd_thread child = {.id = 9, .process = 5, .parent = 1, .comm = "child"};
	const uint64_t news[4] = {RS_NEWS_ATTACHED, HANDLE + 1, HANDLE};
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	RsTraceEngine *follower;

	g_assert_true(rs_trace_engine_get_follow(engine));
	g_assert_cmpuint(rs_trace_engine_get_followed(engine), ==, 0);
	host_news_with(host->sham[0], news, &child, sizeof(child));
	wait_for(watch, &watch->attached, 2);
	follower = rs_trace_engines_find(watch->engines, 0, 9);
	g_assert_nonnull(follower);
	g_assert_cmpuint(rs_trace_engine_get_followed(follower), ==,
			 rs_trace_engine_get_number(engine));
	g_assert_true(rs_trace_engines_by_number(watch->engines,
						 rs_trace_engine_get_number(follower)) == follower);
	g_assert_cmpstr(rs_trace_engine_get_comm(follower), ==, "child");
	g_assert_true(rs_trace_engine_get_follow(follower));
	host_news(host->sham[0], RS_NEWS_REFUSED, HANDLE, 3, 0);
	while (rs_trace_engine_get_refused(engine) != 3)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	watch_free(watch);
}

static void test_the_path_of_an_exec_is_told(struct host *host)
{
	const uint64_t news[4] = {RS_NEWS_STOPPED, HANDLE, RS_UTRACE_EVENT_EXEC};
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);

	host_news_with(host->sham[0], news, "/bin/\x1b", 6);
	wait_for(watch, &watch->stopped, 1);
	g_assert_cmpstr(rs_trace_engine_get_stop(engine)->path, ==, "/bin/\\x1b");
	watch_free(watch);
}

static void test_changes_reach_the_guest(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	g_autoptr(GBytes) bytes = g_bytes_new_static("abc", 3);
	const struct host_result written = {.result = 2};
	const struct rs_hcall_response *command;
	struct answer answer = {0};

	stop(host, ENTRY, 1);
	wait_for(watch, &watch->stopped, 1);
	rs_trace_engine_write_async(engine, 0x1000, bytes, NULL, on_answer, &answer);
	expect(host, RS_CMD_ENGINE_SET_MEMORY, HANDLE, 0x1000);
	command = host_command(host->sham[0]);
	g_assert_cmpmem(command->data, command->data_size, "abc", 3);
	host_report_all(host->sham[0], command->values[0], &written);
	g_assert_cmpint(rs_trace_engine_write_finish(engine, take(&answer), NULL), ==, 2);
	g_clear_object(&answer.result);
	answer.over = false;

	rs_trace_engine_set_signal_async(engine, RS_TRACE_ENGINE_IGNORE, 9, NULL, on_answer,
					 &answer);
	carry_out(host, RS_CMD_ENGINE_SET_SIGNAL, HANDLE, 9);
	check_done(&answer, engine);
	rs_trace_engine_set_exit_code_async(engine, -3, NULL, on_answer, &answer);
	carry_out(host, RS_CMD_ENGINE_SET_EXIT, HANDLE, (uint64_t)-3);
	check_done(&answer, engine);
	rs_trace_engine_set_events_async(engine, 1u << RS_UTRACE_EVENT_EXEC, FALSE, NULL, on_answer,
					 &answer);
	carry_out(host, RS_CMD_ENGINE_SET_EVENTS, HANDLE, 1u << RS_UTRACE_EVENT_EXEC);
	check_done(&answer, engine);
	g_assert_false(rs_trace_engine_get_follow(engine));
	watch_free(watch);
}

static void test_a_step_that_is_refused_changes_nothing(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	struct answer answer = {0};

	stop(host, ENTRY, 1);
	wait_for(watch, &watch->stopped, 1);
	rs_trace_engine_step_async(engine, 9, FALSE, NULL, on_answer, &answer);
	expect(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_SINGLESTEP);
	host_carry_out(host->sham[0], -RS_ENOSYS);
	check_failed(&answer, engine, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED);
	g_assert_cmpuint(rs_trace_engine_get_steps(engine), ==, 0);
	g_assert_nonnull(rs_trace_engine_get_stop(engine));
	watch_free(watch);
}

static void test_one_that_is_gone_is_told_and_listed_no_more(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	struct answer answer;

	host_news(host->sham[0], RS_NEWS_GONE, HANDLE, 0, 0);
	wait_for(watch, &watch->gone, 1);
	g_assert_cmpuint(listed(watch), ==, 0);
	g_assert_cmpuint(watch->removed, ==, 1);
	ask_control(engine, RS_TRACE_ENGINE_RESUME, &answer);
	check_failed(&answer, engine, RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE);
	watch_free(watch);
}

static void test_one_that_is_detached_is_not_told(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	struct answer answer;

	ask_control(engine, RS_TRACE_ENGINE_DETACH, &answer);
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_DETACH);
	check_done(&answer, engine);
	g_assert_cmpint(rs_trace_engine_get_state(engine), ==, RS_TRACE_ENGINE_GONE);
	g_assert_cmpuint(listed(watch), ==, 0);
	rs_trace_engines_refresh_async(watch->engines, NULL, on_answer, &answer);
	g_assert_true(rs_trace_engines_refresh_finish(watch->engines, take(&answer), NULL));
	g_object_unref(answer.result);
	g_assert_cmpuint(watch->gone, ==, 0);
	g_assert_cmpuint(watch->attached, ==, 1);
	watch_free(watch);
}

/* Whoever drops the object wants its threads to go on. */
static void test_who_goes_detaches(struct host *host)
{
	struct watch *watch = watch_new(host);
	RsDBusSession1 *client = g_object_ref(watch->client);
	RsTraceEngines *engines = watch->engines;

	g_object_unref(attach(host, watch));
	g_object_add_weak_pointer(G_OBJECT(engines), (gpointer *)&engines);
	watch_free(watch);
	/* A list that it has asked for may be on its way. */
	while (engines)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_DETACH);
	g_object_unref(client);
}

static void test_a_broken_connection_is_over_once(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	GDBusConnection *connection = g_dbus_proxy_get_connection(G_DBUS_PROXY(watch->client));
	struct answer answer;

	g_assert_true(g_dbus_connection_close_sync(connection, NULL, NULL));
	wait_for(watch, &watch->over, 1);
	g_assert_null(watch->reason);
	g_assert_cmpint(rs_trace_engine_get_state(engine), ==, RS_TRACE_ENGINE_GONE);
	g_assert_cmpuint(watch->gone, ==, 0);
	g_assert_cmpuint(listed(watch), ==, 0);
	ask_control(engine, RS_TRACE_ENGINE_RESUME, &answer);
	check_failed(&answer, engine, RS_TRACE_SESSION_ERROR_GONE);
	g_assert_cmpuint(watch->over, ==, 1);
	watch_free(watch);
	/* The guest's threads go on. */
	carry_out(host, RS_CMD_ENGINE_CONTROL, HANDLE, RS_UTRACE_DETACH);
}

static void test_the_end_of_the_session_is_told(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	RsDBusSession1 *other = host_connect(host);

	g_assert_true(rs_dbus_session1_call_stop_sync(other, "enough", rs_trace_client_no_options(),
						      NULL, NULL, NULL));
	wait_for(watch, &watch->over, 1);
	g_assert_nonnull(watch->reason);
	g_assert_cmpint(rs_trace_engine_get_state(engine), ==, RS_TRACE_ENGINE_GONE);
	g_object_unref(other);
	watch_free(watch);
}

/* Also if it was closed before anybody listened. */
static void test_a_connection_that_was_closed_before_is_over(struct host *host)
{
	RsDBusSession1 *client = host_connect(host);
	struct watch watch = {0};

	g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(client)), NULL, NULL);
	watch.engines = rs_trace_engines_new(client);
	g_signal_connect(watch.engines, "over", G_CALLBACK(on_over), &watch);
	wait_for(&watch, &watch.over, 1);
	g_object_unref(watch.engines);
	g_object_unref(client);
}

/* The second call is made once the answer to the first one was dispatched. */
static gpointer show_registers_and_code(gpointer data)
{
	const uint64_t values[RS_X86_64_REGISTERS + 2] = {[RS_X86_64_RIP] = 0x401000,
							  [RS_X86_64_REGISTERS] = 21,
							  [RS_X86_64_REGISTERS + 1] = 22};
	const struct host_result registers = {.result = RS_X86_64_REGISTERS,
					      .values = {ENTRY, 1, 9, 2},
					      .data = values,
					      .size = sizeof(values)};
	const struct host_result code = {.result = 3, .data = "abc", .size = 3};
	struct host *host = data;

	expect(host, RS_CMD_ENGINE_REGISTERS, HANDLE, 0);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &registers);
	expect(host, RS_CMD_ENGINE_MEMORY, HANDLE, 0x401000);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &code);
	return NULL;
}

static void test_a_look_reads_registers_call_and_code(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	g_autoptr(RsTraceEngineView) view = NULL;
	GThread *guest = g_thread_new("guest", show_registers_and_code, host);
	struct answer answer = {0};

	rs_trace_engine_look_async(engine, 90, NULL, on_answer, &answer);
	view = rs_trace_engine_look_finish(engine, take(&answer), NULL);
	g_thread_join(guest);
	g_object_unref(answer.result);
	g_assert_cmpuint(view->count, ==, RS_X86_64_REGISTERS);
	g_assert_cmphex(view->values[RS_X86_64_RIP], ==, 0x401000);
	g_assert_true(view->has_call && view->call == 9 && view->n_arguments == 2);
	g_assert_cmpuint(view->arguments[1], ==, 22);
	g_assert_cmpmem(g_bytes_get_data(view->code, NULL), g_bytes_get_size(view->code), "abc", 3);
	watch_free(watch);
}

static void test_a_call_can_be_cancelled(struct host *host)
{
	struct watch *watch = watch_new(host);
	g_autoptr(RsTraceEngine) engine = attach(host, watch);
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	struct answer answer = {0};
	GError *error = NULL;

	rs_trace_engine_read_async(engine, 0x1000, 8, cancellable, on_answer, &answer);
	expect(host, RS_CMD_ENGINE_MEMORY, HANDLE, 0x1000);
	g_cancellable_cancel(cancellable);
	g_assert_null(rs_trace_engine_read_finish(engine, take(&answer), &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	g_clear_error(&error);
	g_object_unref(answer.result);
	host_carry_out(host->sham[0], 0);
	watch_free(watch);
}

static void test_names_are_escaped(struct host *host)
{
	const struct host_result result = {
		.result = 1, .values = {sizeof(worker)}, .data = &worker, .size = sizeof(worker)};
	struct watch *watch = watch_new(host);
	g_autoptr(GPtrArray) threads = NULL;
	const RsTraceEngineThread *thread;
	struct answer answer = {0};

	rs_trace_engines_threads_async(watch->engines, 1, NULL, on_answer, &answer);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &result);
	threads = rs_trace_engines_threads_finish(watch->engines, take(&answer), NULL);
	g_object_unref(answer.result);
	g_assert_cmpuint(threads->len, ==, 1);
	thread = threads->pdata[0];
	g_assert_cmpuint(thread->id, ==, 7);
	g_assert_cmpuint(thread->parent, ==, 1);
	g_assert_cmpstr(thread->comm, ==, "w\\x1b[2J");
	watch_free(watch);
}

/* ---- names ---- */

static void test_names_of_events(void)
{
	for (guint i = 0; i < RS_UTRACE_EVENTS; i++)
		g_assert_cmphex(rs_trace_engine_event_mask(rs_trace_engine_event_name(i)), ==,
				1u << i);
	g_assert_null(rs_trace_engine_event_name(RS_UTRACE_EVENTS));
	g_assert_cmphex(rs_trace_engine_event_mask("syscall"), ==, RS_UTRACE_EVENT_SYSCALL);
	g_assert_cmphex(rs_trace_engine_event_mask("signal_all"), ==, RS_UTRACE_EVENT_SIGNAL_ALL);
	g_assert_cmphex(rs_trace_engine_event_mask("sys"), ==, 0);
	for (guint i = 0; i < 32; i++)
		g_assert_true(rs_trace_engine_event_is_signal(i) ==
			      !!(RS_UTRACE_EVENT_SIGNAL_ALL >> i & 1));
}

/* Each number once, and each name finds its own. */
static void test_registers(void)
{
	const RsTraceRegisterSet *set = rs_trace_register_set(RS_ARCH_X86_64);
	guint64 seen = 0;

	for (guint i = 0; i < set->count; i++) {
		const RsTraceRegister *reg = &set->registers[i];

		g_assert_true(rs_trace_register_find(set, reg->name, strlen(reg->name)) == reg);
		seen |= 1ull << reg->number;
	}
	g_assert_cmphex(seen, ==, (1ull << RS_X86_64_REGISTERS) - 1);
	g_assert_cmpuint(rs_trace_register_find(set, "PC+8", 2)->number, ==, set->pc);
	g_assert_null(rs_trace_register_find(set, "r", 1));
	g_assert_null(rs_trace_register_find(NULL, "rax", 3));
	g_assert_null(rs_trace_register_set(0));
}

#define ADD(name)                                                                                  \
	do {                                                                                       \
		static void (*const body)(struct host *) = test_##name;                            \
		g_test_add("/observe/engines/" #name, struct host, &body, host_set_up, host_run,   \
			   host_tear_down);                                                        \
	} while (0)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(an_attached_engine_is_listed);
	ADD(an_engine_says_whom_it_is_attached_to);
	ADD(each_stop_is_told_once);
	ADD(lists_that_were_overtaken_are_dropped);
	ADD(only_the_last_step_is_told);
	ADD(steps_end_early);
	ADD(a_step_that_is_refused_changes_nothing);
	ADD(what_follows_is_told);
	ADD(the_path_of_an_exec_is_told);
	ADD(changes_reach_the_guest);
	ADD(one_that_is_gone_is_told_and_listed_no_more);
	ADD(one_that_is_detached_is_not_told);
	ADD(who_goes_detaches);
	ADD(a_broken_connection_is_over_once);
	ADD(the_end_of_the_session_is_told);
	ADD(a_connection_that_was_closed_before_is_over);
	ADD(a_look_reads_registers_call_and_code);
	ADD(a_call_can_be_cancelled);
	ADD(names_are_escaped);
	g_test_add_func("/observe/engines/names-of-events", test_names_of_events);
	g_test_add_func("/observe/engines/registers", test_registers);
	return g_test_run();
}
