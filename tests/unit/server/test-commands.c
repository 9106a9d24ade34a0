/* SPDX-License-Identifier: MIT */
/*
 * Ktrace: what peers ask of guests' agents. Server and clients are in threads of their own, as if
 * they were two processes. The clients' thread also plays the guests' tasks.
 */
#include "server/server.h"

#include <rs-trace-client.h>
#include <rs-trace-session-error.h>
#include "sham.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <ringside/atomic.h>
#include <ringside/command.h>
#include <ringside/error.h>
#include <string.h>

#define GUESTS 2u

struct host {
	char *path;
	struct sham *sham[GUESTS];
	struct rs_session *session;
	struct rs_server *server;
	void (*body)(struct host *host);
};

static void set_up(struct host *host, gconstpointer data)
{
	static const char *const names[] = {"k", "other"};
	g_autofree char *dir = g_dir_make_tmp("server-XXXXXX", NULL);

	host->path = g_build_filename(dir, "s.sock", NULL);
	g_assert_cmpint(rs_session_create("t", &host->session, NULL), ==, 0);
	for (guint i = 0; i < GUESTS; i++) {
		const struct rs_source_config config = {.kernel = names[i]};

		host->sham[i] = sham_new(1, RS_CHANNEL_MAILBOX);
		g_assert_cmpint(rs_session_add_source(host->session, &config, host->sham[i]->region,
						      &host->sham[i]->target, NULL, NULL),
				==, 0);
	}
	g_assert_cmpint(rs_server_create(host->session, host->path, &host->server, NULL), ==, 0);
	g_assert_cmpint(rs_session_start(host->session, NULL), ==, 0);
	for (guint i = 0; i < GUESTS; i++)
		sham_hello(host->sham[i], RS_GUEST_SELF_PATCH);
	rs_session_refresh(host->session);
}

static void tear_down(struct host *host, gconstpointer data)
{
	g_autofree char *dir = g_path_get_dirname(host->path);

	rs_server_destroy(host->server);
	rs_session_destroy(host->session);
	for (guint i = 0; i < GUESTS; i++)
		sham_free(host->sham[i]);
	g_rmdir(dir);
	g_free(host->path);
}

static gpointer run_body(gpointer data)
{
	gpointer *pair = data;
	struct host *host = pair[0];
	g_autoptr(GMainContext) context = g_main_context_new();

	g_main_context_push_thread_default(context);
	host->body(host);
	/* GDBus lets go of a proxy's signals from here. */
	while (g_main_context_iteration(context, FALSE))
		;
	g_main_context_pop_thread_default(context);
	g_main_loop_quit(pair[1]);
	return NULL;
}

static void run_test(struct host *host, gconstpointer data)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	gpointer pair[2] = {host, loop};
	GThread *thread;

	host->body = *(void (*const *)(struct host *))data;
	thread = g_thread_new("clients", run_body, pair);
	g_main_loop_run(loop);
	g_thread_join(thread);
	g_main_loop_unref(loop);
}

static RsDBusSession1 *connect_to(struct host *host)
{
	RsDBusSession1 *client = rs_trace_client_connect_path(host->path, NULL);

	g_assert_nonnull(client);
	return client;
}

/* ---- a guest's task, in slot 0 ---- */

static struct rs_hcall_request *request_of(struct sham *sham)
{
	return rs_trace_region_element(sham->region, RS_SEC_REQUEST, 0);
}

/* Says what came of a command, and waits until the session has taken that. */
static void report(struct sham *sham, uint64_t id, int64_t result)
{
	struct rs_hcall_request *request = request_of(sham);
	const struct rs_hcall_response *response = sham_response(sham, 0);

	request->number = RS_HCALL_COMMAND;
	request->args[0] = id;
	request->args[1] = (uint64_t)result;
	request->data_size = 0;
	rs_store_release(&request->sequence, request->sequence + 1);
	while (rs_load_acquire(&response->accepted) != request->sequence &&
	       rs_load_acquire(&response->sequence) != request->sequence)
		g_usleep(500);
}

static void offer_all(struct host *host)
{
	for (guint i = 0; i < GUESTS; i++)
		report(host->sham[i], 0, 0);
}

/* The command that the task is given, which must come. Beats are passed over. */
static const struct rs_hcall_response *wait_command(struct sham *sham)
{
	const struct rs_hcall_response *response = sham_response(sham, 0);

	for (;;) {
		while (rs_load_acquire(&response->sequence) != request_of(sham)->sequence)
			g_usleep(500);
		g_assert_cmpint(response->result, ==, 0);
		if (RS_CMD_COUNT(response->values[0]))
			return response;
		report(sham, 0, 0);
	}
}

static void carry_out(struct sham *sham, int64_t result)
{
	report(sham, wait_command(sham)->values[0], result);
}

/* ---- calls ---- */

struct call {
	bool over, ok;
	guint changed;
	GVariant *more;
	GError *error;
};

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	struct call *call = data;

	call->ok = rs_dbus_session1_call_ktrace_finish(RS_DBUS_SESSION1(object), &call->changed,
						       &call->more, result, &call->error);
	call->over = true;
}

static void begin_call(RsDBusSession1 *client, const char *options, struct call *call)
{
	*call = (struct call){0};
	rs_dbus_session1_call_ktrace(client, "set", 0x108, -5, g_variant_new_parsed(options), NULL,
				     on_answer, call);
	g_dbus_connection_flush_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(client)), NULL, NULL);
}

static void check_ok(struct call *call, guint changed)
{
	sham_wait(&call->over);
	g_assert_no_error(call->error);
	g_assert_cmpuint(call->changed, ==, changed);
	g_assert_cmpuint(g_variant_n_children(call->more), ==, 0);
	g_variant_unref(call->more);
}

static void check_error(struct call *call, RsTraceSessionError code, const char *says)
{
	sham_wait(&call->over);
	g_assert_false(call->ok);
	g_assert_error(call->error, RS_TRACE_SESSION_ERROR, (gint)code);
	g_assert_nonnull(strstr(call->error->message, says));
	g_clear_error(&call->error);
}

/* An answer that needs no guest. */
static void check_refused(RsDBusSession1 *client, const char *operation, const char *options,
			  RsTraceSessionError code, const char *says)
{
	struct call call = {.over = true};

	call.ok = rs_dbus_session1_call_ktrace_sync(client, operation, 2, 1,
						    g_variant_new_parsed(options), NULL, NULL, NULL,
						    &call.error);
	check_error(&call, code, says);
}

/* ---- tests ---- */

#define ONE "{'source': <uint32 1>}"
#define TWO "{'source': <uint32 2>}"
#define ALL "@a{sv} {}"

static void test_what_is_asked_reaches_the_guest(struct host *host)
{
	static const char *const operations[] = {"set", "clear", "clear-all"};
	g_autoptr(RsDBusSession1) c = connect_to(host);
	const struct rs_hcall_response *command;
	struct call call;

	offer_all(host);
	for (guint i = 0; i < G_N_ELEMENTS(operations); i++) {
		call = (struct call){0};
		rs_dbus_session1_call_ktrace(c, operations[i], 0x80000002u, 9 + (int)i,
					     g_variant_new_parsed(ONE), NULL, on_answer, &call);
		g_dbus_connection_flush_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(c)), NULL,
					     NULL);
		command = wait_command(host->sham[0]);
		g_assert_cmpuint(command->values[1], ==, RS_CMD_KTRACE);
		g_assert_cmpuint(command->values[2], ==, i);
		g_assert_cmphex(command->values[3], ==, 0x80000002u);
		g_assert_cmpuint(command->values[4], ==, 9 + i);
		g_assert_cmpuint(command->values[5], ==, 0);
		carry_out(host->sham[0], i);
		check_ok(&call, i);
	}
	begin_call(c, "{'descend': <true>, 'source': <uint32 1>}", &call);
	command = wait_command(host->sham[0]);
	g_assert_cmpint((int64_t)command->values[4], ==, -5);
	g_assert_cmpuint(command->values[5], ==, RS_KTROP_DESCEND);
	carry_out(host->sham[0], 3);
	check_ok(&call, 3);
}

static void test_wrong_options_are_refused(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);

	offer_all(host);
	check_refused(c, "set", "{'hue': <'red'>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "'hue'");
	check_refused(c, "set", "{'source': <'k'>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
		      "'source'");
	check_refused(c, "set", "{'descend': <uint32 1>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
		      "'descend'");
	check_refused(c, "set", "{'source': <uint32 3>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
		      "source");
	check_refused(c, "set", "{'source': <uint32 0>}", RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
		      "source");
	check_refused(c, "reset", ALL, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "'clear-all'");
	check_refused(c, "", ALL, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "'clear-all'");
}

static void test_a_source_is_chosen_by_its_number(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	struct call call;

	offer_all(host);
	begin_call(c, TWO, &call);
	carry_out(host->sham[1], 4);
	check_ok(&call, 4);
	g_assert_cmpuint(sham_response(host->sham[0], 0)->values[1], ==, 0);
}

static void test_sources_are_summed(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	struct call call;

	offer_all(host);
	begin_call(c, ALL, &call);
	carry_out(host->sham[1], 4);
	g_assert_false(call.over);
	carry_out(host->sham[0], 70000);
	check_ok(&call, 70004);
	/* Whatever guests claim. */
	begin_call(c, ALL, &call);
	carry_out(host->sham[0], INT64_MAX);
	carry_out(host->sham[1], INT64_MAX);
	check_ok(&call, 2u * INT32_MAX);
	/* Most have no such process, which is no problem. */
	begin_call(c, ALL, &call);
	carry_out(host->sham[0], -RS_ESRCH);
	carry_out(host->sham[1], 1);
	check_ok(&call, 1);
}

/* One does what is asked for, but of the other nobody knows. */
static void test_problems_of_one_source_are_told(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	g_auto(GStrv) problems = NULL;
	struct call call;

	offer_all(host);
	begin_call(c, ALL, &call);
	wait_command(host->sham[0]);
	report(host->sham[0], 0, 0);
	carry_out(host->sham[1], 1);
	sham_wait(&call.over);
	g_assert_no_error(call.error);
	g_assert_cmpuint(call.changed, ==, 1);
	g_assert_true(g_variant_lookup(call.more, "problems", "^as", &problems));
	g_assert_cmpuint(g_strv_length(problems), ==, 1);
	g_assert_cmpstr(problems[0], ==, "k: the guest's task did not finish the command");
	g_variant_unref(call.more);
}

/* If nobody does it, the guest that looked for the process has the word. */
static void test_no_task_and_no_process(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	struct call call;

	check_refused(c, "set", ALL, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED, "takes no commands");
	check_refused(c, "set", TWO, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED,
		      "other: this guest takes no");
	report(host->sham[1], 0, 0);
	begin_call(c, ALL, &call);
	carry_out(host->sham[1], -RS_ESRCH);
	check_error(&call, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, "no such process");
	begin_call(c, ALL, &call);
	carry_out(host->sham[1], 6);
	check_ok(&call, 6);
}

static void test_guests_errors_are_explained(struct host *host)
{
	static const struct {
		int64_t result;
		RsTraceSessionError code;
		const char *says;
	} cases[] = {
		{-RS_ENOSYS, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED, "cannot do that"},
		{-RS_EPERM, RS_TRACE_SESSION_ERROR_FAILED, "does not let us"},
		{-RS_EINVAL, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "does not know what"},
		{-77, RS_TRACE_SESSION_ERROR_FAILED, "the number -77"},
		{INT64_MIN, RS_TRACE_SESSION_ERROR_FAILED, "the number -2147483648"},
	};
	g_autoptr(RsDBusSession1) c = connect_to(host);

	offer_all(host);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct call call;

		begin_call(c, ONE, &call);
		carry_out(host->sham[0], cases[i].result);
		check_error(&call, cases[i].code, cases[i].says);
	}
}

static void test_claimed_session_refuses_others(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host), other = connect_to(host);
	struct call call;

	offer_all(host);
	g_assert_true(rs_dbus_session1_call_claim_sync(other, rs_trace_client_no_options(), NULL,
						       NULL, NULL));
	check_refused(c, "set", ALL, RS_TRACE_SESSION_ERROR_BUSY, "");
	begin_call(other, ONE, &call);
	carry_out(host->sham[0], 1);
	check_ok(&call, 1);
}

/* Whoever goes before the answer harms nobody: the guest is served on. */
static void test_peer_may_go_before_the_answer(struct host *host)
{
	g_autoptr(RsDBusSession1) c = connect_to(host);
	struct call lost, call;

	offer_all(host);
	for (guint i = 0; i < 3; i++) {
		RsDBusSession1 *hasty = connect_to(host);

		begin_call(hasty, ALL, &lost);
		wait_command(host->sham[0]);
		g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(hasty)), NULL,
					     NULL);
		sham_wait(&lost.over);
		g_assert_false(lost.ok);
		g_clear_error(&lost.error);
		g_object_unref(hasty);
		carry_out(host->sham[0], 1);
		carry_out(host->sham[1], 1);
		begin_call(c, ALL, &call);
		carry_out(host->sham[0], 2);
		carry_out(host->sham[1], 2);
		check_ok(&call, 4);
	}
}

static void test_end_of_the_session_answers_calls(struct host *host)
{
	/* A client has one call at a time. */
	g_autoptr(RsDBusSession1) c = connect_to(host), other = connect_to(host);
	struct call call;

	offer_all(host);
	begin_call(c, ALL, &call);
	wait_command(host->sham[0]);
	g_assert_true(rs_dbus_session1_call_stop_sync(other, "enough", rs_trace_client_no_options(),
						      NULL, NULL, NULL));
	check_error(&call, RS_TRACE_SESSION_ERROR_ENDED, "ended");
	check_refused(c, "set", ALL, RS_TRACE_SESSION_ERROR_ENDED, "the session has ended");
	check_refused(c, "set", ONE, RS_TRACE_SESSION_ERROR_ENDED, "ended");
}

/* The call waits on: the session goes with it. */
static void test_session_may_go_before_the_answer(struct host *host)
{
	static struct call call;
	RsDBusSession1 *c = connect_to(host);

	offer_all(host);
	begin_call(c, ALL, &call);
	wait_command(host->sham[0]);
	wait_command(host->sham[1]);
	g_object_unref(c);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*body)(struct host *host);
	} tests[] = {
#define TEST(name) {"/server/commands/" #name, test_##name}
		TEST(what_is_asked_reaches_the_guest),  TEST(wrong_options_are_refused),
		TEST(a_source_is_chosen_by_its_number), TEST(sources_are_summed),
		TEST(problems_of_one_source_are_told),  TEST(no_task_and_no_process),
		TEST(guests_errors_are_explained),      TEST(claimed_session_refuses_others),
		TEST(peer_may_go_before_the_answer),    TEST(end_of_the_session_answers_calls),
		TEST(session_may_go_before_the_answer),
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct host, &tests[i].body, set_up, run_test, tear_down);
	return g_test_run();
}
