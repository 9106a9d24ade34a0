/* SPDX-License-Identifier: MIT */
#include "qemu/qmp.h"

#include "peer.h"
#include <errno.h>

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define READY GREETING "\1{\"return\": {}, \"id\": 1}\r\n"

static GString *seen;  /* events, in order */
static gint64 seen_at; /* when the last one was */

static void on_event(void *data, const char *event, gint64 at, JsonObject *payload)
{
	g_string_append_printf(seen, "%s%s ", event ? event : "closed", payload ? "+" : "");
	seen_at = at;
}

static const struct rs_monitor_listener listener = {.event = on_event};

static int connect_to(struct peer *peer, const char *bytes, size_t size, bool hang_up,
		      struct rs_monitor **qmp)
{
	struct rs_error err = {0};
	int rc;

	g_string_truncate(seen, 0);
	peer_start(peer, bytes, size, hang_up);
	rc = rs_qmp_connect(peer->path, NULL, 500, &listener, qmp, &err);
	if (rc < 0)
		g_assert_cmpstr(err.message, !=, "");
	return rc;
}

static int only_connect(const char *bytes, bool hang_up)
{
	struct rs_monitor *qmp = NULL;
	struct peer peer;
	int rc = connect_to(&peer, bytes, strlen(bytes), hang_up, &qmp);

	rs_monitor_destroy(qmp);
	peer_stop(&peer);
	return rc;
}

static void test_connect(void)
{
	struct rs_monitor *qmp = NULL;

	g_assert_cmpint(rs_qmp_connect("/nonexistent/x", NULL, 100, &listener, &qmp, NULL), ==,
			-ENOENT);
	g_assert_cmpint(only_connect(READY, false), ==, 0);
	g_assert_cmpint(only_connect("", false), ==, -ETIMEDOUT);
	g_assert_cmpint(only_connect("", true), ==, -EPIPE);
	g_assert_cmpint(
		only_connect(GREETING "\1{\"error\": {\"desc\": \"no\"}, \"id\": 1}\n", false), ==,
		-EREMOTEIO);
	g_assert_cmpint(only_connect("SSH-2.0-x\n1\n2\n3\n44\n55\n66\n77\n88\n99\n11\n22\n", false),
			==, -EPROTO);
}

static void test_answers(void)
{
	static const char bytes[] = READY "\1{\"event\": \"STOP\", \"data\": 3}\n"
					  "{\"return\": {\"old\": 1}, \"id\": 77}\n" /* not ours */
					  "{\"return\": {\"x\": [1, \"}\\\"\"]}, \"id\": 2}\n"
					  "\1{\"event\": \"RESUME\", \"data\": {}}\n"
					  "{\"error\": {\"class\": \"GenericError\", \"desc\": "
					  "\"no such thing\"}, \"id\": 3}\n"
					  "\1{\"event\": 5}\n[1,2]\n\"x\"\nnull\n{\"id\": 4}\n";
	struct rs_error err = {0};
	g_autoptr(JsonNode) reply = NULL;
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	g_assert_cmpint(connect_to(&peer, bytes, sizeof(bytes) - 1, true, &qmp), ==, 0);
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 500, &reply, &err), ==, 0);
	g_assert_true(JSON_NODE_HOLDS_OBJECT(reply));
	g_assert_true(json_object_has_member(json_node_get_object(reply), "x"));
	g_assert_cmpint(rs_monitor_call(qmp, "b", NULL, 500, NULL, &err), ==, -EREMOTEIO);
	g_assert_nonnull(strstr(err.message, "no such thing"));
	g_assert_cmpint(rs_monitor_call(qmp, "c", NULL, 500, NULL, &err), ==, -EPROTO);
	g_assert_cmpint(rs_monitor_call(qmp, "d", NULL, 500, NULL, &err), ==, -EPIPE);
	g_assert_cmpstr(seen->str, ==, "STOP RESUME+ closed ");
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

/* The event says when it was, unless that makes no sense: then it is now. */
static void check_moment(const char *time, gint64 age)
{
	g_autofree char *bytes = g_strdup_printf(
		READY "\1{\"event\": \"RESET\"%s}\n{\"return\": {}, \"id\": 2}\n", time);
	gint64 before = g_get_monotonic_time();
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	g_assert_cmpint(connect_to(&peer, bytes, strlen(bytes), false, &qmp), ==, 0);
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 500, NULL, NULL), ==, 0);
	g_assert_cmpstr(seen->str, ==, "RESET ");
	g_assert_cmpint(seen_at, >=, before - age - 1000);
	g_assert_cmpint(seen_at, <=, g_get_monotonic_time() - age + G_USEC_PER_SEC);
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

static void test_moments(void)
{
	gint64 now = g_get_real_time() - 1000 * G_USEC_PER_SEC;
	g_autofree char *then = g_strdup_printf(", \"timestamp\": {\"seconds\": %" G_GINT64_FORMAT
						", \"microseconds\": %" G_GINT64_FORMAT "}",
						now / G_USEC_PER_SEC, now % G_USEC_PER_SEC);

	check_moment(then, 1000 * G_USEC_PER_SEC);
	check_moment("", 0);
	check_moment(", \"timestamp\": 7", 0);
	check_moment(", \"timestamp\": {\"seconds\": 7}", 0);
	check_moment(", \"timestamp\": {\"seconds\": \"7\", \"microseconds\": 0}", 0);
	check_moment(", \"timestamp\": {\"seconds\": -7, \"microseconds\": 0}", 0);
	check_moment(", \"timestamp\": {\"seconds\": 7, \"microseconds\": 1000000}", 0);
	check_moment(", \"timestamp\": {\"seconds\": 9223372036854775807, \"microseconds\": 0}", 0);
}

/* The answer to a posted command comes late, and nobody waits for it. */
static void test_post(void)
{
	static const char bytes[] = READY "\1{\"return\": {}, \"id\": -1}\n"
					  "{\"return\": {\"x\": 1}, \"id\": 2}\n";
	g_autoptr(JsonNode) reply = NULL;
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	g_assert_cmpint(connect_to(&peer, bytes, sizeof(bytes) - 1, false, &qmp), ==, 0);
	g_assert_cmpint(rs_monitor_post(qmp, "inject-nmi", NULL), ==, 0);
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 500, &reply, NULL), ==, 0);
	g_assert_true(json_object_has_member(json_node_get_object(reply), "x"));
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

static void on_answered(void *data, JsonNode *reply)
{
	g_string_append(seen, "answer ");
}

/* Each probe is owed an answer, and any answer tells that the peer answers, for a while. */
static void test_probe(void)
{
	static const char bytes[] = READY "\1{\"event\": \"STOP\"}\n"
					  "{\"return\": {}, \"id\": -2}\n"
					  "\1{\"error\": {}, \"id\": -2}\n"
					  "{\"return\": {}, \"id\": -2}\n" /* of none */
					  "\1{\"return\": {}, \"id\": 2}\n";
	const struct rs_monitor_listener both = {.event = on_event, .answered = on_answered};
	struct rs_patience patience;
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	g_assert_cmpint(connect_to(&peer, bytes, sizeof(bytes) - 1, false, &qmp), ==, 0);
	rs_monitor_listen(qmp, &both);
	g_assert_false(rs_monitor_owes(qmp));
	while (rs_monitor_is_fresh(qmp))
		g_usleep(1000);
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(rs_monitor_probe(qmp, "query-status", NULL), ==, 0);
		patience = rs_patience_new(0, g_get_monotonic_time() + 5 * G_USEC_PER_SEC);
		g_assert_cmpint(rs_monitor_await(qmp, &patience, NULL), ==, 0);
		while (rs_monitor_owes(qmp))
			g_usleep(1000);
		while (rs_monitor_is_fresh(qmp))
			g_usleep(1000);
	}
	g_assert_cmpstr(seen->str, ==, "STOP answer answer answer ");
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 5000, NULL, NULL), ==, 0);
	g_assert_cmpstr(seen->str, ==, "STOP answer answer answer ");
	while (rs_monitor_is_fresh(qmp))
		g_usleep(1000);
	/* It says nothing more. */
	patience = rs_patience_new(0, g_get_monotonic_time() + 1000);
	g_assert_cmpint(rs_monitor_probe(qmp, "query-status", NULL), ==, 0);
	g_assert_cmpint(rs_monitor_await(qmp, &patience, NULL), ==, -ETIMEDOUT);
	g_assert_true(rs_monitor_is_silent(qmp) && rs_monitor_owes(qmp));
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

/* The peer goes away. */
static void test_post_to_nobody(void)
{
	struct rs_monitor *qmp = NULL;
	struct peer peer;
	int rc = 0;

	g_assert_cmpint(connect_to(&peer, READY, strlen(READY), true, &qmp), ==, 0);
	while (rc == 0 || rc == -EAGAIN)
		rc = rs_monitor_post(qmp, "inject-nmi", NULL);
	g_assert_cmpint(rc, ==, -EPIPE);
	g_assert_cmpint(rs_monitor_post(qmp, "inject-nmi", NULL), ==, -EPIPE);
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

/* A peer that has not read for so long that it cannot be asked is silent. */
static void test_deaf(void)
{
	struct rs_monitor *qmp = NULL;
	struct peer peer;
	int rc = 0;

	g_assert_cmpint(connect_to(&peer, READY, strlen(READY), false, &qmp), ==, 0);
	g_atomic_int_set(&peer.deaf, 1);
	while (rc == 0)
		rc = rs_monitor_post(qmp, "inject-nmi", NULL);
	g_assert_cmpint(rc, ==, -EAGAIN);
	g_assert_false(rs_monitor_is_silent(qmp));
	rs_monitor_doubt(qmp);
	g_assert_true(rs_monitor_is_silent(qmp));
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 500, NULL, NULL), ==, -EAGAIN);
	g_atomic_int_set(&peer.deaf, 0);
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

/* Nesting that would overflow a recursive parser's stack, and a line without end. */
static void test_bombs(void)
{
	g_autoptr(GString) bytes = g_string_new(READY);
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	for (int i = 0; i < 900000; i++)
		g_string_append_c(bytes, '[');
	g_string_append_c(bytes, '\n');
	for (unsigned i = 0; i < 3 * RS_QMP_LINE_MAX; i++)
		g_string_append_c(bytes, 'x');
	g_string_append(bytes, "\n\n\1{\"return\": {}, \"id\": 2}\n");

	g_assert_cmpint(connect_to(&peer, bytes->str, bytes->len, false, &qmp), ==, 0);
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 5000, NULL, NULL), ==, 0);
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

/* What json-glib makes of such a line is not all freed, so nobody may say it without end. */
static void test_garbage(void)
{
	g_autoptr(GString) bytes = g_string_new(READY);
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	for (int i = 0; i < 15; i++)
		g_string_append(bytes, "no JSON\n");
	g_string_append(bytes, "\1{\"return\": {}, \"id\": 2}\n"
			       "\1no JSON\n{\"return\": {}, \"id\": 3}\n{\"event\": \"STOP\"}\n");
	g_assert_cmpint(connect_to(&peer, bytes->str, bytes->len, false, &qmp), ==, 0);
	g_assert_cmpint(rs_monitor_call(qmp, "a", NULL, 5000, NULL, NULL), ==, 0);
	g_assert_cmpint(rs_monitor_call(qmp, "b", NULL, 5000, NULL, NULL), ==, -EPIPE);
	rs_monitor_drain(qmp);
	g_assert_cmpstr(seen->str, ==, "closed ");
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

static void test_from_context(void)
{
	static const char bytes[] = READY "{\"event\": \"SHUTDOWN\", \"data\": {}}\n";
	g_autoptr(GMainContext) context = g_main_context_new();
	struct rs_monitor *qmp = NULL;
	struct peer peer;

	g_string_truncate(seen, 0);
	peer_start(&peer, bytes, sizeof(bytes) - 1, true);
	g_assert_cmpint(rs_qmp_connect(peer.path, context, 500, &listener, &qmp, NULL), ==, 0);
	while (!strstr(seen->str, "closed"))
		g_main_context_iteration(context, TRUE);
	g_assert_cmpstr(seen->str, ==, "SHUTDOWN+ closed ");
	g_assert_false(g_main_context_pending(context));
	rs_monitor_destroy(qmp);
	peer_stop(&peer);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	seen = g_string_new(NULL);
	g_test_add_func("/qmp/connect", test_connect);
	g_test_add_func("/qmp/answers", test_answers);
	g_test_add_func("/qmp/moments", test_moments);
	g_test_add_func("/qmp/post", test_post);
	g_test_add_func("/qmp/probe", test_probe);
	g_test_add_func("/qmp/post-to-nobody", test_post_to_nobody);
	g_test_add_func("/qmp/deaf", test_deaf);
	g_test_add_func("/qmp/bombs", test_bombs);
	g_test_add_func("/qmp/garbage", test_garbage);
	g_test_add_func("/qmp/from-context", test_from_context);
	return g_test_run();
}
