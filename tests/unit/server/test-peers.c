/* SPDX-License-Identifier: MIT */
/*
 * Peers that never read, never say who they are, or come and go at once. The server runs in the
 * main thread. The peers run in a thread of their own, and some of them speak D-Bus by hand, since
 * GDBus always reads.
 */
#include "server/gate.h"
#include "server/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define OBJECT "/t"
#define INTERFACE "org.ringside.Test"
#define ANSWER_SIZE 100000

static char *dir, *path;
static struct rs_peers *peers;
static gint joined, left, answered; /* atomic */

/* ---- the server ---- */

static void on_call(GDBusConnection *connection, const char *sender, const char *object,
		    const char *interface, const char *method, GVariant *arguments,
		    GDBusMethodInvocation *invocation, gpointer data)
{
	g_autofree char *answer = g_strnfill(ANSWER_SIZE, 'x');

	g_dbus_method_invocation_return_value(invocation, g_variant_new("(s)", answer));
	g_atomic_int_inc(&answered);
}

/* ---- GDBus's thread stands still ---- */

static GMutex stuck_lock;
static GCond stuck_cond;
static int stuck; /* 1: it is to stand still; 2: it does; 0: it is to go on */

static GDBusMessage *on_stuck(GDBusConnection *connection, GDBusMessage *message, gboolean incoming,
			      gpointer data)
{
	g_mutex_lock(&stuck_lock);
	if (stuck == 1) {
		stuck = 2;
		g_cond_broadcast(&stuck_cond);
		while (stuck)
			g_cond_wait(&stuck_cond, &stuck_lock);
	}
	g_mutex_unlock(&stuck_lock);
	return message;
}

static bool on_joined(void *data, GDBusConnection *connection)
{
	static const GDBusInterfaceVTable vtable = {.method_call = on_call};
	static GDBusNodeInfo *info;

	if (!info)
		info = g_dbus_node_info_new_for_xml(
			"<node><interface name='" INTERFACE "'><method name='Ask'>"
			"<arg type='s' direction='out'/></method></interface></node>",
			NULL);
	g_dbus_connection_register_object(connection, OBJECT, info->interfaces[0], &vtable, NULL,
					  NULL, NULL);
	if (stuck)
		g_dbus_connection_add_filter(connection, on_stuck, NULL, NULL);
	g_atomic_int_inc(&joined);
	return true;
}

static void on_left(void *data, GDBusConnection *connection)
{
	g_atomic_int_inc(&left);
}

static void serve(void)
{
	const struct rs_peers_config config = {.joined = on_joined, .left = on_left};
	struct rs_error err = {0};

	dir = g_dir_make_tmp("peers-XXXXXX", NULL);
	path = g_build_filename(dir, "s", NULL);
	joined = left = answered = 0;
	g_assert_cmpint(rs_peers_create(path, &config, &peers, &err), ==, 0);
}

static void end(void)
{
	rs_peers_destroy(peers);
	g_assert_cmpint(g_rmdir(dir), ==, 0); /* the socket has gone */
	g_free(path);
	g_free(dir);
}

static gboolean on_quit(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer run_and_quit(gpointer data)
{
	gpointer *pair = data;

	((void (*)(void))pair[0])();
	g_idle_add(on_quit, pair[1]); /* the loop may not even run yet */
	return NULL;
}

static void with_clients(void (*body)(void))
{
	g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
	gpointer pair[2] = {body, loop};
	GThread *thread = g_thread_new("peers", run_and_quit, pair);

	g_main_loop_run(loop);
	g_thread_join(thread);
}

/* ---- peers by hand ---- */

static int plug(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd;
}

static void send_text(int fd, const char *text, gsize size)
{
	g_assert_cmpint(send(fd, text, size, MSG_NOSIGNAL), ==, (gssize)size);
}

static void await_line(int fd, const char *start)
{
	char line[256] = "";

	for (guint i = 0; i < sizeof(line) - 1 && !strchr(line, '\n'); i++)
		g_assert_cmpint(read(fd, line + i, 1), ==, 1);
	g_assert_true(g_str_has_prefix(line, start));
}

/* A peer that has said who it is, and reads nothing from then on. */
static int join_by_hand(void)
{
	g_autofree char *uid = g_strdup_printf("%u", getuid());
	g_autoptr(GString) hello = g_string_new("AUTH EXTERNAL ");
	int fd = plug();

	for (const char *c = uid; *c; c++)
		g_string_append_printf(hello, "%02x", *c);
	g_string_append(hello, "\r\n");
	send_text(fd, "", 1);
	send_text(fd, hello->str, hello->len);
	await_line(fd, "OK ");
	send_text(fd, "BEGIN\r\n", 7);
	return fd;
}

/* `pad`: bytes of an argument, which it should not have; 0: none. */
static GBytes *call(guint32 serial, gsize pad)
{
	g_autoptr(GDBusMessage) message =
		g_dbus_message_new_method_call(NULL, OBJECT, INTERFACE, "Ask");
	gsize size;
	guchar *blob;

	if (pad) {
		g_autofree char *text = g_strnfill(pad, 'x');

		g_dbus_message_set_body(message, g_variant_new("(s)", text));
	}
	g_dbus_message_set_serial(message, serial);
	blob = g_dbus_message_to_blob(message, &size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
	return g_bytes_new_take(blob, size);
}

/* False: the connection was cut off. */
static bool send_call(int fd, guint32 serial, gsize pad)
{
	g_autoptr(GBytes) bytes = call(serial, pad);
	gsize size, at = 0;
	const char *data = g_bytes_get_data(bytes, &size);

	while (at < size) {
		gssize sent = send(fd, data + at, size - at, MSG_NOSIGNAL);

		if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
			return false;
		g_assert_cmpint(sent, >, 0);
		at += (gsize)sent;
	}
	return true;
}

/* Sends so many that all of them fit into the socket. */
static void ask_without_reading(int fd, guint n)
{
	for (guint i = 0; i < n; i++)
		g_assert_true(send_call(fd, i + 1, 0));
}

/* The next message of the server. */
static GDBusMessage *read_message(int fd)
{
	guint8 header[16];
	g_autofree guint8 *bytes = NULL;
	GDBusMessage *message;
	gssize size;

	g_assert_cmpint(recv(fd, header, sizeof(header), MSG_WAITALL), ==, sizeof(header));
	size = g_dbus_message_bytes_needed(header, sizeof(header), NULL);
	g_assert_cmpint(size, >=, sizeof(header));
	bytes = g_malloc0((gsize)size);
	memcpy(bytes, header, sizeof(header));
	size -= (gssize)sizeof(header);
	g_assert_cmpint(recv(fd, bytes + sizeof(header), (gsize)size, MSG_WAITALL), ==, size);
	message = g_dbus_message_new_from_blob(bytes, (gsize)size + sizeof(header),
					       G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
	g_assert_nonnull(message);
	return message;
}

static void await_answer(int fd, guint32 serial)
{
	g_autoptr(GDBusMessage) message = read_message(fd);

	g_assert_cmpint(g_dbus_message_get_message_type(message), ==,
			G_DBUS_MESSAGE_TYPE_METHOD_RETURN);
	g_assert_cmpuint(g_dbus_message_get_reply_serial(message), ==, serial);
}

static void await_left(gint n)
{
	while (g_atomic_int_get(&left) < n)
		g_usleep(1000);
}

static GDBusConnection *join(void)
{
	g_autofree char *address = g_strdup_printf("unix:path=%s", path);
	GDBusConnection *connection = NULL;

	/* In a crowd there is little time for it, and this machine may be busy. */
	for (guint i = 0; !connection && i < 50; i++)
		connection = g_dbus_connection_new_for_address_sync(
			address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, NULL);
	g_assert_nonnull(connection);
	return connection;
}

static void ask(GDBusConnection *connection)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GVariant) answer = g_dbus_connection_call_sync(
		connection, NULL, OBJECT, INTERFACE, "Ask", NULL, G_VARIANT_TYPE("(s)"),
		G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);

	g_assert_no_error(error);
	g_assert_nonnull(answer);
}

/* ---- the tests ---- */

#define MANY 64u

/* Each unread answer has 100,000 bytes. So many of them are more than the sockets hold. */
static void flood(void)
{
	g_autoptr(GDBusConnection) other = join();
	int fd = join_by_hand(), room;
	socklen_t size = sizeof(room);
	guint held;

	g_assert_cmpint(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &size), ==, 0);
	held = 2 * ((guint)room / ANSWER_SIZE + 1) + 1; /* by two sockets, and one that waits */
	ask_without_reading(fd, MANY);
	for (guint i = 0; i < MANY; i++)
		ask(other);
	if (held < MANY)
		g_assert_cmpint(g_atomic_int_get(&answered), <=, MANY + held);
	/* Once it reads, each of its calls is answered. */
	for (guint i = 0; i < MANY; i++)
		await_answer(fd, i + 1);
	g_assert_cmpint(g_atomic_int_get(&left), ==, 0);
	ask_without_reading(fd, MANY);
	close(fd);
	await_left(1);
	ask(other);
}

static void test_flood(void)
{
	serve();
	with_clients(flood);
	end();
}

/* A peer that reads its answers may ask as often as it likes. */
static void many(void)
{
	g_autoptr(GDBusConnection) connection = join();

	for (guint i = 0; i < MANY; i++)
		ask(connection);
	g_assert_cmpint(g_atomic_int_get(&left), ==, 0);
}

static void test_many(void)
{
	serve();
	with_clients(many);
	end();
}

/* Calls that want no answer, and have none. */
static void silent_calls(void)
{
	g_autoptr(GDBusConnection) connection = join();

	for (guint i = 0; i < MANY; i++) {
		g_autoptr(GDBusMessage) message =
			g_dbus_message_new_method_call(NULL, OBJECT, INTERFACE, "Ask");

		g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
		g_assert_true(g_dbus_connection_send_message(
			connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
		ask(connection);
	}
	g_assert_cmpint(g_atomic_int_get(&left), ==, 0);
}

/* GDBus answers calls that it does not pass on, whatever they want. */
static void silent_by_hand(void)
{
	g_autoptr(GDBusMessage) nowhere =
		g_dbus_message_new_method_call(NULL, "/nowhere", "a.b", "C");
	g_autoptr(GDBusMessage) wrong =
		g_dbus_message_new_method_call(NULL, OBJECT, INTERFACE, "Ask");
	GDBusMessage *const messages[] = {nowhere, wrong};
	int fd = join_by_hand();

	g_dbus_message_set_body(wrong, g_variant_new("(s)", "x"));
	for (guint i = 0; i < MANY; i++) {
		GDBusMessage *message = messages[i % 2];
		g_autofree guchar *blob = NULL;
		gsize size;

		g_dbus_message_set_serial(message, 7);
		g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
		blob = g_dbus_message_to_blob(message, &size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
		send_text(fd, (const char *)blob, size);
		/* Whatever its serial is. */
		g_assert_true(send_call(fd, i % 3 ? i + 1 : 7, 0));
		await_answer(fd, i % 3 ? i + 1 : 7);
	}
	close(fd);
	await_left(1);
}

static void test_silent_by_hand(void)
{
	serve();
	with_clients(silent_by_hand);
	end();
}

static void test_silent_calls(void)
{
	serve();
	with_clients(silent_calls);
	end();
}

/* One that is too large, among others that are large. */
static void large(void)
{
	g_autoptr(GDBusConnection) other = join();
	int fd = join_by_hand();

	while (g_atomic_int_get(&joined) < 2)
		g_usleep(1000);
	g_assert_true(send_call(fd, 1, RS_GATE_CALL_MAX / 2));
	ask(other);
	g_assert_cmpint(g_atomic_int_get(&left), ==, 0);
	send_call(fd, 2, RS_GATE_CALL_MAX + 1);
	await_left(1);
	close(fd);
	ask(other);
}

static void test_large(void)
{
	serve();
	with_clients(large);
	end();
}

/* Its queue is full when the server ends: that must not wait for it. */
static void leave_full(void)
{
	int fd = join_by_hand(); /* left open */

	ask_without_reading(fd, MANY);
}

static void test_full_at_the_end(void)
{
	serve();
	with_clients(leave_full);
	end();
}

static void ask_for_ever(void)
{
	send_call(join_by_hand(), 1, 0);
	g_mutex_lock(&stuck_lock);
	while (stuck != 2)
		g_cond_wait(&stuck_cond, &stuck_lock);
	g_mutex_unlock(&stuck_lock);
}

/* The server ends all the same. */
static void test_stuck_at_the_end(void)
{
	stuck = 1;
	serve();
	with_clients(ask_for_ever);
	end();
	g_mutex_lock(&stuck_lock);
	stuck = 0;
	g_cond_broadcast(&stuck_cond);
	g_mutex_unlock(&stuck_lock);
}

static void say_nothing(void)
{
	int silent[200];

	for (guint i = 0; i < G_N_ELEMENTS(silent) / 2; i++)
		silent[i] = plug();
	g_object_unref(join());
	for (guint i = G_N_ELEMENTS(silent) / 2; i < G_N_ELEMENTS(silent); i++)
		silent[i] = plug();
	for (guint i = 0; i < G_N_ELEMENTS(silent); i++) {
		struct pollfd fd = {.fd = silent[i], .events = POLLIN};

		poll(&fd, 1, -1); /* it is sent away */
		close(silent[i]);
	}
	g_object_unref(join());
}

static guint count_fds(void)
{
	g_autoptr(GDir) open_files = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = 0;

	while (g_dir_read_name(open_files))
		n++;
	return n;
}

static void test_silent(void)
{
	serve();
	with_clients(say_nothing);
	end();
}

/* So many looks in a row must find no descriptor too many: the last peers may not be here yet. */
#define CALM 50u

static void come_and_go(void)
{
	guint before, calm = 0;

	g_object_unref(join()); /* what GDBus keeps for good is there now */
	before = count_fds();
	for (guint i = 0; i < 300; i++) {
		close(plug());
		close(join_by_hand());
	}
	g_object_unref(join());
	/* One that closed at once may have joined or not. */
	for (guint i = 0; calm < CALM && i < 20000; i++) {
		calm = count_fds() <= before ? calm + 1 : 0;
		g_usleep(1000);
	}
	g_assert_cmpuint(calm, ==, CALM);
	while (g_atomic_int_get(&left) < g_atomic_int_get(&joined))
		g_usleep(1000);
}

static void test_come_and_go(void)
{
	serve();
	with_clients(come_and_go);
	end();
}

/* ---- signals ---- */

#define TOLD 20000u

static gboolean tell(gpointer data)
{
	for (guint32 i = 1; i <= TOLD; i++)
		rs_peers_tell(peers, OBJECT, INTERFACE, "Changed", g_variant_new("(u)", i), true);
	rs_peers_tell(peers, OBJECT, INTERFACE, "Ended", g_variant_new("()"), false);
	return G_SOURCE_REMOVE;
}

/* Reads whole messages until the newest number has come. Returns how many did. */
static guint read_signals(int fd)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	guint32 number = 0;
	guint n = 0;

	while (number < TOLD) {
		guint8 part[4096];
		gssize got = read(fd, part, sizeof(part)), size;

		g_assert_cmpint(got, >, 0);
		g_byte_array_append(bytes, part, (guint)got);
		while ((size = g_dbus_message_bytes_needed(bytes->data, bytes->len, NULL)) > 0 &&
		       (gsize)size <= bytes->len) {
			g_autoptr(GDBusMessage) message = g_dbus_message_new_from_blob(
				bytes->data, (gsize)size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);

			g_assert_nonnull(message);
			if (g_str_equal(g_dbus_message_get_member(message), "Changed")) {
				guint32 before = number;

				g_variant_get(g_dbus_message_get_body(message), "(u)", &number);
				g_assert_cmpuint(number, >, before);
				n++;
			}
			g_byte_array_remove_range(bytes, 0, (guint)size);
			if (bytes->len < 16)
				break;
		}
	}
	return n;
}

/* It stands still while much changes. Then it gets few signals, and the newest. */
static void stand_still(void)
{
	int fd = join_by_hand();

	while (g_atomic_int_get(&joined) < 1)
		g_usleep(1000);
	g_main_context_invoke(NULL, tell, NULL);
	g_usleep(200000);
	g_assert_cmpuint(read_signals(fd), <, TOLD / 2);
	close(fd);
}

static void test_signals(void)
{
	serve();
	with_clients(stand_still);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/peers/flood", test_flood);
	g_test_add_func("/server/peers/many", test_many);
	g_test_add_func("/server/peers/silent-calls", test_silent_calls);
	g_test_add_func("/server/peers/silent-by-hand", test_silent_by_hand);
	g_test_add_func("/server/peers/large", test_large);
	g_test_add_func("/server/peers/full-at-the-end", test_full_at_the_end);
	g_test_add_func("/server/peers/stuck-at-the-end", test_stuck_at_the_end);
	g_test_add_func("/server/peers/silent", test_silent);
	g_test_add_func("/server/peers/come-and-go", test_come_and_go);
	g_test_add_func("/server/peers/signals", test_signals);
	return g_test_run();
}
