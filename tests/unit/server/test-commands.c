/* SPDX-License-Identifier: MIT */
/* Ktrace: what peers ask of guests' agents. */
#include "host.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/error.h>
#include <string.h>

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
	g_autoptr(RsDBusSession1) c = host_connect(host);
	const struct rs_hcall_response *command;
	struct call call;

	host_offer_all(host);
	for (guint i = 0; i < G_N_ELEMENTS(operations); i++) {
		call = (struct call){0};
		rs_dbus_session1_call_ktrace(c, operations[i], 0x80000002u, 9 + (int)i,
					     g_variant_new_parsed(ONE), NULL, on_answer, &call);
		g_dbus_connection_flush_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(c)), NULL,
					     NULL);
		command = host_command(host->sham[0]);
		g_assert_cmpuint(command->values[1], ==, RS_CMD_KTRACE);
		g_assert_cmpuint(command->values[2], ==, i);
		g_assert_cmphex(command->values[3], ==, 0x80000002u);
		g_assert_cmpuint(command->values[4], ==, 9 + i);
		g_assert_cmpuint(command->values[5], ==, 0);
		host_carry_out(host->sham[0], i);
		check_ok(&call, i);
	}
	begin_call(c, "{'descend': <true>, 'source': <uint32 1>}", &call);
	command = host_command(host->sham[0]);
	g_assert_cmpint((int64_t)command->values[4], ==, -5);
	g_assert_cmpuint(command->values[5], ==, RS_KTROP_DESCEND);
	host_carry_out(host->sham[0], 3);
	check_ok(&call, 3);
}

static void test_wrong_options_are_refused(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host);

	host_offer_all(host);
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
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	host_offer_all(host);
	begin_call(c, TWO, &call);
	host_carry_out(host->sham[1], 4);
	check_ok(&call, 4);
	g_assert_cmpuint(sham_response(host->sham[0], 0)->values[1], ==, 0);
}

static void test_sources_are_summed(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	host_offer_all(host);
	begin_call(c, ALL, &call);
	host_carry_out(host->sham[1], 4);
	g_assert_false(call.over);
	host_carry_out(host->sham[0], 70000);
	check_ok(&call, 70004);
	/* Whatever guests claim. */
	begin_call(c, ALL, &call);
	host_carry_out(host->sham[0], INT64_MAX);
	host_carry_out(host->sham[1], INT64_MAX);
	check_ok(&call, 2u * INT32_MAX);
	/* Most have no such process, which is no problem. */
	begin_call(c, ALL, &call);
	host_carry_out(host->sham[0], -RS_ESRCH);
	host_carry_out(host->sham[1], 1);
	check_ok(&call, 1);
}

/* One does what is asked for, but of the other nobody knows. */
static void test_problems_of_one_source_are_told(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host);
	g_auto(GStrv) problems = NULL;
	struct call call;

	host_offer_all(host);
	begin_call(c, ALL, &call);
	host_command(host->sham[0]);
	host_report(host->sham[0], 0, 0);
	host_carry_out(host->sham[1], 1);
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
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	check_refused(c, "set", ALL, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED, "takes no commands");
	check_refused(c, "set", TWO, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED,
		      "other: this guest takes no");
	host_report(host->sham[1], 0, 0);
	begin_call(c, ALL, &call);
	host_carry_out(host->sham[1], -RS_ESRCH);
	check_error(&call, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, "no such process");
	begin_call(c, ALL, &call);
	host_carry_out(host->sham[1], 6);
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
	g_autoptr(RsDBusSession1) c = host_connect(host);

	host_offer_all(host);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct call call;

		begin_call(c, ONE, &call);
		host_carry_out(host->sham[0], cases[i].result);
		check_error(&call, cases[i].code, cases[i].says);
	}
}

static void test_claimed_session_refuses_others(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host), other = host_connect(host);
	struct call call;

	host_offer_all(host);
	g_assert_true(rs_dbus_session1_call_claim_sync(other, rs_trace_client_no_options(), NULL,
						       NULL, NULL));
	check_refused(c, "set", ALL, RS_TRACE_SESSION_ERROR_BUSY, "");
	begin_call(other, ONE, &call);
	host_carry_out(host->sham[0], 1);
	check_ok(&call, 1);
}

/* Whoever goes before the answer harms nobody: the guest is served on. */
static void test_peer_may_go_before_the_answer(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call lost, call;

	host_offer_all(host);
	for (guint i = 0; i < 3; i++) {
		RsDBusSession1 *hasty = host_connect(host);

		begin_call(hasty, ALL, &lost);
		host_command(host->sham[0]);
		g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(hasty)), NULL,
					     NULL);
		sham_wait(&lost.over);
		g_assert_false(lost.ok);
		g_clear_error(&lost.error);
		g_object_unref(hasty);
		host_carry_out(host->sham[0], 1);
		host_carry_out(host->sham[1], 1);
		begin_call(c, ALL, &call);
		host_carry_out(host->sham[0], 2);
		host_carry_out(host->sham[1], 2);
		check_ok(&call, 4);
	}
}

static void test_end_of_the_session_answers_calls(struct host *host)
{
	/* A client has one call at a time. */
	g_autoptr(RsDBusSession1) c = host_connect(host), other = host_connect(host);
	struct call call;

	host_offer_all(host);
	begin_call(c, ALL, &call);
	host_command(host->sham[0]);
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
	RsDBusSession1 *c = host_connect(host);

	host_offer_all(host);
	begin_call(c, ALL, &call);
	host_command(host->sham[0]);
	host_command(host->sham[1]);
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
		g_test_add(tests[i].path, struct host, &tests[i].body, host_set_up, host_run,
			   host_tear_down);
	return g_test_run();
}
