/* SPDX-License-Identifier: MIT */
/* Both ends of each connection are here. GDBus's threads read and write them. */
#include "server/calls.h"

#include <sys/socket.h>

#define OBJECT "/a"
#define PEERS 3

struct end {
	GDBusConnection *connection;
	guint peer;
	struct host *host;
};

struct host {
	struct rs_calls *calls;
	struct end ends[PEERS];        /* of the server */
	GDBusConnection *peers[PEERS]; /* the other ends */
	guint ready;
	GString *served; /* a letter for each call, the peer's: a large one if it is dear */
	gint received;   /* atomic: by any of our ends */
	const char *last;
	guint meanwhile; /* 1 + who calls M while a dear call is made; 0: nobody does */
};

static const char xml[] = "<node><interface name='a.b'><method name='M'/><method name='Dear'/>"
			  "<property name='P' type='s' access='read'/></interface></node>";

static void on_connected(GObject *object, GAsyncResult *result, gpointer data)
{
	GDBusConnection **out = data;

	*out = g_dbus_connection_new_finish(result, NULL);
	g_assert_nonnull(*out);
}

static void connect_end(int fd, const char *guid, GDBusConnectionFlags flags, GDBusConnection **out)
{
	g_autoptr(GSocket) socket = g_socket_new_from_fd(fd, NULL);
	g_autoptr(GSocketConnection) stream = g_socket_connection_factory_create_connection(socket);

	g_dbus_connection_new(G_IO_STREAM(stream), guid,
			      flags | G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING, NULL, NULL,
			      on_connected, out);
}

static void send_calls(struct host *host, guint peer, guint calls);

static void serve(void *data, GDBusMethodInvocation *invocation)
{
	const struct end *end = data;
	struct host *host = end->host;
	bool dear;

	host->last = g_intern_string(g_dbus_method_invocation_get_method_name(invocation));
	dear = g_str_equal(host->last, "Dear");
	g_assert_true(g_dbus_method_invocation_get_connection(invocation) == end->connection);
	g_string_append_c(host->served, (char)((dear ? 'A' : 'a') + end->peer));
	if (dear && host->meanwhile) {
		send_calls(host, host->meanwhile - 1, 1);
		host->meanwhile = 0;
	}
	if (g_dbus_method_invocation_get_property_info(invocation))
		g_dbus_method_invocation_return_value(
			invocation, g_variant_new("(v)", g_variant_new_string("value")));
	else
		g_dbus_method_invocation_return_value(invocation, NULL);
}

/* On GDBus's thread. */
static GDBusMessage *count(GDBusConnection *connection, GDBusMessage *message, gboolean incoming,
			   gpointer data)
{
	if (incoming)
		g_atomic_int_inc((gint *)data);
	return message;
}

static const char *const dear_methods[] = {"Dear", NULL};
static struct rs_calls_object exported = {.dear = dear_methods, .serve = serve};

static void set_up(struct host *host, gconstpointer data)
{
	g_autofree char *guid = g_dbus_generate_guid();

	if (!exported.info)
		exported.info = g_dbus_node_info_new_for_xml(xml, NULL)->interfaces[0];
	host->calls = rs_calls_new();
	host->served = g_string_new(NULL);
	for (guint i = 0; i < PEERS; i++) {
		struct end *end = &host->ends[i];
		int fds[2];

		*end = (struct end){.peer = i, .host = host};
		g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
		connect_end(fds[0], guid, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER,
			    &end->connection);
		connect_end(fds[1], NULL, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT,
			    &host->peers[i]);
		while (!end->connection || !host->peers[i])
			g_main_context_iteration(NULL, TRUE);
		g_assert_true(rs_calls_export(host->calls, end->connection, OBJECT, &exported, end,
					      NULL));
		g_dbus_connection_add_filter(end->connection, count, &host->received, NULL);
		g_dbus_connection_start_message_processing(end->connection);
		g_dbus_connection_start_message_processing(host->peers[i]);
	}
}

static void hang_up(GDBusConnection *connection)
{
	g_dbus_connection_close_sync(connection, NULL, NULL);
	g_object_unref(connection);
}

static void tear_down(struct host *host, gconstpointer data)
{
	rs_calls_free(host->calls);
	for (guint i = 0; i < PEERS; i++) {
		hang_up(host->peers[i]);
		hang_up(host->ends[i].connection);
	}
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_string_free(host->served, TRUE);
}

static GDBusMessage *message_new(const char *interface, const char *method, GVariant *arguments)
{
	GDBusMessage *message = g_dbus_message_new_method_call(NULL, OBJECT, interface, method);

	if (arguments)
		g_dbus_message_set_body(message, arguments);
	g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
	return message;
}

/*
 * Sends so many calls, and waits until GDBus has given all of them to our main context, which is
 * not looked at meanwhile. A thread of GDBus answers Ping, and has dealt with the rest before.
 */
static void send_many(struct host *host, guint peer, const char *method, guint calls)
{
	gint before = g_atomic_int_get(&host->received);

	for (guint i = 0; i <= calls; i++) {
		g_autoptr(GDBusMessage) message =
			i < calls ? message_new("a.b", method, NULL)
				  : message_new("org.freedesktop.DBus.Peer", "Ping", NULL);

		g_assert_true(g_dbus_connection_send_message(
			host->peers[peer], message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
	}
	while (g_atomic_int_get(&host->received) < before + (gint)calls + 1)
		g_usleep(500);
}

static void send_calls(struct host *host, guint peer, guint calls)
{
	send_many(host, peer, "M", calls);
}

/* Each round makes one call at most. Returns how many rounds it took to make `calls` in all. */
static guint run_rounds(struct host *host, guint calls)
{
	guint rounds = 0;

	while (host->served->len < calls) {
		gsize before = host->served->len;

		g_main_context_iteration(NULL, FALSE);
		g_assert_cmpuint(host->served->len, <=, before + 1);
		rounds++;
	}
	return rounds;
}

/* Every peer has its turn, whatever the others ask. */
static void test_turns(struct host *host, gconstpointer data)
{
	send_calls(host, 0, 5);
	send_calls(host, 1, 2);
	send_calls(host, 2, 1);
	g_assert_cmpuint(run_rounds(host, 8), >=, 8);
	g_assert_cmpstr(host->served->str, ==, "abcabaaa");
}

/* Whoever calls what is cheap waits for one dear call, whoever makes how many of them. */
static void test_dear(struct host *host, gconstpointer data)
{
	send_many(host, 0, "Dear", 3);
	send_calls(host, 1, 2);
	send_many(host, 2, "Dear", 2);
	run_rounds(host, 7);
	g_assert_cmpstr(host->served->str, ==, "AbCbACA");
}

/* Those that are cheap keep nobody out either. */
static void test_cheap(struct host *host, gconstpointer data)
{
	send_calls(host, 0, 4);
	send_calls(host, 1, 4);
	send_many(host, 2, "Dear", 2);
	run_rounds(host, 10);
	g_assert_cmpstr(host->served->str, ==, "CabCababab");
}

/* One that comes while a dear call is made is before the next dear one. */
static void test_meanwhile(struct host *host, gconstpointer data)
{
	host->meanwhile = 1 + 1;
	send_many(host, 0, "Dear", 2);
	send_many(host, 2, "Dear", 1);
	run_rounds(host, 4);
	g_assert_cmpstr(host->served->str, ==, "AbCA");
}

/* The calls of one peer stay in their order. */
static void test_order(struct host *host, gconstpointer data)
{
	send_many(host, 0, "Dear", 1);
	send_calls(host, 0, 1);
	send_many(host, 0, "Dear", 1);
	send_calls(host, 0, 1);
	send_calls(host, 1, 1);
	run_rounds(host, 5);
	g_assert_cmpstr(host->served->str, ==, "AbaAa");
}

static gboolean on_urgent(gpointer data)
{
	g_string_append_c(((struct host *)data)->served, '!');
	return G_SOURCE_REMOVE;
}

/* What is urgent is looked at between two calls. */
static void test_urgent(struct host *host, gconstpointer data)
{
	send_calls(host, 0, 3);
	run_rounds(host, 1);
	g_idle_add_full(G_PRIORITY_HIGH, on_urgent, host, NULL);
	run_rounds(host, 4);
	g_assert_cmpstr(host->served->str, ==, "a!aa");
}

/* What a peer has asked goes with it. */
static void test_leaving(struct host *host, gconstpointer data)
{
	send_calls(host, 0, 4);
	send_calls(host, 1, 2);
	run_rounds(host, 1);
	rs_calls_drop(host->calls, host->ends[0].connection);
	rs_calls_drop(host->calls, host->ends[0].connection);
	run_rounds(host, 3);
	g_assert_cmpstr(host->served->str, ==, "abb");
	g_assert_false(rs_calls_step(host->calls));
	/* It is no object any more. */
	send_calls(host, 0, 1);
	send_calls(host, 1, 1);
	run_rounds(host, 4);
	g_assert_cmpstr(host->served->str, ==, "abbb");
}

/* The rest can be made at once. */
static void test_step(struct host *host, gconstpointer data)
{
	send_calls(host, 0, 2);
	send_calls(host, 1, 2);
	run_rounds(host, 1);
	g_assert_true(rs_calls_step(host->calls));
	g_assert_true(rs_calls_step(host->calls));
	g_assert_true(rs_calls_step(host->calls));
	g_assert_false(rs_calls_step(host->calls));
	g_assert_cmpstr(host->served->str, ==, "abab");
	/* Nothing is left of it in the loop, and it goes on. */
	send_calls(host, 2, 2);
	run_rounds(host, 6);
	g_assert_cmpstr(host->served->str, ==, "ababcc");
}

static void on_value(GObject *object, GAsyncResult *result, gpointer data)
{
	GVariant **out = data;

	*out = g_dbus_connection_call_finish(G_DBUS_CONNECTION(object), result, NULL);
	g_assert_nonnull(*out);
}

/* A property is asked for by a call as any other. */
static void test_property(struct host *host, gconstpointer data)
{
	g_autoptr(GVariant) value = NULL;
	g_autofree char *text = NULL;

	g_dbus_connection_call(host->peers[0], NULL, OBJECT, "org.freedesktop.DBus.Properties",
			       "Get", g_variant_new("(ss)", "a.b", "P"), NULL,
			       G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_value, &value);
	while (!value)
		g_main_context_iteration(NULL, TRUE);
	text = g_variant_print(value, FALSE);
	g_assert_cmpstr(text, ==, "(<'value'>,)");
	g_assert_cmpstr(host->last, ==, "Get");
	g_assert_cmpstr(host->served->str, ==, "a");
}

/* There is one object of a name. */
static void test_twice(struct host *host, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(rs_calls_export(host->calls, host->ends[0].connection, OBJECT, &exported,
				       &host->ends[0], &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_EXISTS);
	send_calls(host, 0, 1);
	run_rounds(host, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*body)(struct host *host, gconstpointer data);
	} tests[] = {
		{"/server/calls/dear", test_dear},
		{"/server/calls/cheap", test_cheap},
		{"/server/calls/meanwhile", test_meanwhile},
		{"/server/calls/order", test_order},
		{"/server/calls/turns", test_turns},
		{"/server/calls/urgent", test_urgent},
		{"/server/calls/leaving", test_leaving},
		{"/server/calls/step", test_step},
		{"/server/calls/twice", test_twice},
		{"/server/calls/property", test_property},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct host, NULL, set_up, tests[i].body, tear_down);
	return g_test_run();
}
