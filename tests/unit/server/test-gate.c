/* SPDX-License-Identifier: MIT */
/* The test plays both the client and GDBus, by hand. */
#define _GNU_SOURCE
#include "server/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUID "0123456789abcdef0123456789abcdef"
#define AUTH "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"

struct fixture {
	char *dir, *path;
	struct rs_gate *gate;
	GArray *came; /* of int */
	int client, bus;
};

static void on_came(void *data, int fd)
{
	struct fixture *f = data;

	g_array_append_val(f->came, fd);
}

static int plug(struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(address.sun_path, f->path, sizeof(address.sun_path));
	g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd;
}

static void put(int fd, const void *data, gsize size)
{
	g_assert_cmpint(send(fd, data, size, MSG_NOSIGNAL), ==, (gssize)size);
}

static void expect(int fd, const void *data, gsize size)
{
	g_autofree guint8 *got = g_malloc(size);

	g_assert_cmpint(recv(fd, got, size, MSG_WAITALL), ==, (gssize)size);
	g_assert_cmpmem(got, size, data, size);
}

#define expect_text(fd, text) expect(fd, text, strlen(text))

static void await_end(int fd)
{
	char byte;
	gssize n = recv(fd, &byte, 1, 0);

	g_assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}

/* Lets a client in. Returns GDBus's end, which has heard all that GDBus wants to. */
static int join(struct fixture *f, int *client)
{
	g_autofree char *uid = g_strdup_printf("%u", getuid());
	g_autoptr(GString) hello = g_string_new_len("\0AUTH EXTERNAL ", 15);
	guint n = f->came->len;
	int bus;

	*client = plug(f);
	put(*client, AUTH, sizeof(AUTH) - 1);
	expect_text(*client, "DATA\r\nOK " GUID "\r\nAGREE_UNIX_FD\r\n");
	while (f->came->len == n)
		g_main_context_iteration(NULL, TRUE);
	rs_gate_taken(f->gate);
	bus = g_array_index(f->came, int, n);
	g_assert_cmpint(fcntl(bus, F_SETFL, 0), ==, 0);
	for (const char *c = uid; *c; c++)
		g_string_append_printf(hello, "%02x", *c);
	g_string_append(hello, "\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n");
	expect(bus, hello->str, hello->len);
	put(bus, "OK " GUID "\r\nAGREE_UNIX_FD\r\n", strlen("OK " GUID "\r\nAGREE_UNIX_FD\r\n"));
	return bus;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_gate_config config = {.guid = GUID,
					.call_ms = data ? *(const unsigned *)data : 600000,
					.login_ms = 600000,
					.max = 2,
					.data = f,
					.came = on_came};

	f->dir = g_dir_make_tmp("gate-XXXXXX", NULL);
	f->path = g_build_filename(f->dir, "s", NULL);
	f->came = g_array_new(FALSE, FALSE, sizeof(int));
	config.path = f->path;
	g_assert_cmpint(rs_gate_create(&config, &f->gate, NULL), ==, 0);
	f->bus = join(f, &f->client);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_gate_free(f->gate, 10);
	g_assert_cmpint(g_rmdir(f->dir), ==, 0);
	for (guint i = 0; i < f->came->len; i++)
		close(g_array_index(f->came, int, i));
	close(f->client);
	g_array_unref(f->came);
	g_free(f->path);
	g_free(f->dir);
}

enum { CALL = 1, ANSWER, FAILURE, SIGNAL };
#define NO_REPLY_EXPECTED 1

/* A message without header fields, whose body is all `byte`. */
static GByteArray *message_of(guint8 type, gsize size, guint8 byte)
{
	GByteArray *bytes = g_byte_array_new();
	guint32 body = GUINT32_TO_LE((guint32)(size - 16)), serial = GUINT32_TO_LE(1);

	g_byte_array_set_size(bytes, (guint)size);
	memset(bytes->data, byte, size);
	memcpy(bytes->data, "l\0\0\1", 4);
	bytes->data[1] = type;
	memcpy(bytes->data + 4, &body, sizeof(body));
	memcpy(bytes->data + 8, &serial, sizeof(serial));
	memset(bytes->data + 12, 0, 4);
	return bytes;
}

static GByteArray *message(gsize size, guint8 byte)
{
	return message_of(CALL, size, byte);
}

static void relay(int from, int to, guint8 type, gsize size)
{
	g_autoptr(GByteArray) bytes = message_of(type, size, 'x');

	put(from, bytes->data, size);
	expect(to, bytes->data, size);
}

/* A call and its answer. */
static void ask(int client, int bus, gsize size)
{
	relay(client, bus, CALL, size);
	relay(bus, client, ANSWER, size);
}

static void test_both_ways(struct fixture *f, gconstpointer data)
{
	for (gsize size = 16; size <= RS_GATE_CALL_MAX; size = size * 2 + size % 3) {
		relay(f->client, f->bus, CALL, size);
		relay(f->bus, f->client, SIGNAL, size);
		relay(f->bus, f->client, size % 2 ? ANSWER : FAILURE, size);
	}
	relay(f->client, f->bus, CALL, RS_GATE_CALL_MAX);
	relay(f->bus, f->client, ANSWER, 10 * RS_GATE_CALL_MAX + 1);
}

static void assert_nothing(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	g_assert_cmpint(poll(&poll_fd, 1, 0), ==, 0);
}

/* A signal goes out: by then the gate has dealt with what the client sent before. */
static void assert_idle(struct fixture *f)
{
	relay(f->bus, f->client, SIGNAL, 100);
	assert_nothing(f->bus);
}

/* However many calls a client makes, GDBus has one of them until it is answered. */
static void test_one_at_a_time(struct fixture *f, gconstpointer data)
{
	for (guint i = 0; i < 100; i++) {
		g_autoptr(GByteArray) bytes = message(100 + i, (guint8)i);

		put(f->client, bytes->data, bytes->len);
	}
	for (guint i = 0; i < 100; i++) {
		g_autoptr(GByteArray) bytes = message(100 + i, (guint8)i);
		g_autoptr(GByteArray) answer = message_of(ANSWER, 40000, (guint8)i);

		expect(f->bus, bytes->data, bytes->len);
		assert_idle(f);
		put(f->bus, answer->data, 20000);
		expect(f->client, answer->data, 20000);
		assert_nothing(f->bus);
		put(f->bus, answer->data + 20000, 20000);
		expect(f->client, answer->data + 20000, 20000);
	}
	assert_idle(f);
}

/* The client may go while a call of its waits for the answer to the former. */
static void test_leaves(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message(100, 'x');
	int client, bus = join(f, &client);

	for (guint i = 0; i < 3; i++)
		put(client, bytes->data, bytes->len);
	expect(bus, bytes->data, bytes->len);
	close(client);
	await_end(bus);
}

/* A call that waits for the answer to the former is not late. */
static void test_waits(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message(100, 'x');

	put(f->client, bytes->data, bytes->len);
	put(f->client, bytes->data, bytes->len);
	expect(f->bus, bytes->data, bytes->len);
	g_usleep(3 * *(const unsigned *)data * 1000);
	relay(f->bus, f->client, ANSWER, 100);
	expect(f->bus, bytes->data, bytes->len);
}

/* No call is answered twice, and nothing else is answered. */
static void test_no_question(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) answer = message_of(ANSWER, 100, 'x');

	ask(f->client, f->bus, 100);
	put(f->bus, answer->data, answer->len);
	await_end(f->client);
	await_end(f->bus);
}

/* GDBus would read a message of 128 MiB, and keep half of it for ever. */
static void test_large(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) fits = message(RS_GATE_CALL_MAX, 'x');
	g_autoptr(GByteArray) big = message(RS_GATE_CALL_MAX + 1, 'x');

	put(f->client, fits->data, fits->len);
	expect(f->bus, fits->data, fits->len);
	put(f->client, big->data, 16);
	await_end(f->client);
	await_end(f->bus);
}

static void test_no_message(struct fixture *f, gconstpointer data)
{
	put(f->client, "GET / HTTP/1.1\r\n", 16);
	await_end(f->client);
	await_end(f->bus);
}

/* Nobody asks a client anything, and GDBus would parse whatever it says. */
static void test_no_call(struct fixture *f, gconstpointer data)
{
	static const guint8 types[] = {0, 2, 3, 4, 5, 255};

	for (gsize i = 0; i < sizeof(types); i++) {
		g_autoptr(GByteArray) bytes = message(100, 'x');
		int client, bus = join(f, &client);

		bytes->data[1] = types[i];
		put(client, bytes->data, bytes->len);
		await_end(client);
		await_end(bus);
		close(client);
	}
}

/* GDBus would take it, and abort once it is to answer. */
static void test_no_serial(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message(100, 'x');

	memset(bytes->data + 8, 0, 4);
	put(f->client, bytes->data, bytes->len);
	await_end(f->client);
	await_end(f->bus);
}

/* Nothing of a message is passed on before its last byte is there. */
static void test_half(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message(5000, 'x');

	put(f->client, bytes->data, 4000);
	assert_idle(f);
	put(f->client, bytes->data + 4000, 1000);
	expect(f->bus, bytes->data, 5000);
}

static const unsigned soon = 10; /* ms */

/* Nor is that waited for for ever. */
static void test_late(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message(5000, 'x');

	put(f->client, bytes->data, 4000);
	await_end(f->client);
	await_end(f->bus);
}

static void send_fds(int fd, const void *data, gsize size, const int *fds, gsize n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(100 * sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)data, size};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = CMSG_SPACE(n * sizeof(int))};

	control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(n * sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	g_assert_cmpint(sendmsg(fd, &m, MSG_NOSIGNAL), ==, (gssize)size);
}

static guint count_fds(void)
{
	g_autoptr(GDir) open_files = g_dir_open("/proc/self/fd", 0, NULL);
	guint n = 0;

	while (g_dir_read_name(open_files))
		n++;
	return n;
}

/* None of them is ever ours. */
static void test_fds_in(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message(100, 'x');
	guint before = count_fds();
	int fds[100];

	for (gsize i = 0; i < G_N_ELEMENTS(fds); i++)
		fds[i] = STDERR_FILENO;
	send_fds(f->client, bytes->data, 100, fds, G_N_ELEMENTS(fds));
	await_end(f->client);
	await_end(f->bus);
	g_assert_cmpuint(count_fds(), <=, before);
}

/* They come with the first byte of their message, and no others. */
static void test_fds_out(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message_of(SIGNAL, 40000, 'x');
	int ends[2];
	guint before;

	g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
	before = count_fds();
	put(f->bus, bytes->data, bytes->len);
	send_fds(f->bus, bytes->data, bytes->len, ends, 2);
	put(f->bus, bytes->data, bytes->len);
	for (guint i = 0; i < 3; i++) {
		char header[16], control[CMSG_SPACE(16 * sizeof(int))];
		struct iovec part = {header, sizeof(header)};
		struct msghdr m = {.msg_iov = &part,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		struct cmsghdr *got;

		g_assert_cmpint(recvmsg(f->client, &m, MSG_WAITALL | MSG_CMSG_CLOEXEC), ==, 16);
		expect(f->client, bytes->data + 16, bytes->len - 16);
		got = CMSG_FIRSTHDR(&m);
		g_assert_true((got != NULL) == (i == 1));
		if (!got)
			continue;
		g_assert_cmpuint(got->cmsg_len, ==, CMSG_LEN(2 * sizeof(int)));
		g_assert_cmpuint(count_fds(), ==, before + 2);
		close(((int *)(void *)CMSG_DATA(got))[0]);
		close(((int *)(void *)CMSG_DATA(got))[1]);
	}
	g_assert_cmpuint(count_fds(), ==, before);
	close(ends[0]);
	close(ends[1]);
}

/* GDBus answers some of these calls: the client does not want to know, nor of descriptors. */
static void test_no_reply(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) silent = message(100, 'x');
	guint before = count_fds();

	for (guint i = 0; i < 50; i++) {
		g_autoptr(GByteArray) heard = message(100, 'x');
		g_autoptr(GByteArray) answer = message_of(i % 2 ? ANSWER : FAILURE, 40000 + i, 'y');

		silent->data[2] = (guint8)(NO_REPLY_EXPECTED | i << 1);
		heard->data[2] = (guint8)(i << 1);
		put(f->client, silent->data, silent->len);
		expect(f->bus, heard->data, heard->len);
		assert_idle(f);
		send_fds(f->bus, answer->data, answer->len, (const int[]){f->bus, f->bus}, 2);
		ask(f->client, f->bus, 100);
	}
	g_assert_cmpuint(count_fds(), ==, before);
}

/* If the client does not read, GDBus cannot write: it is to see that. */
static void test_not_read(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message_of(SIGNAL, 100000, 'x');
	int other, bus = join(f, &other);
	gsize sent = 0, i;

	for (;;) {
		struct pollfd fd = {.fd = f->bus, .events = POLLOUT};
		gssize n = send(f->bus, bytes->data + sent % bytes->len,
				bytes->len - sent % bytes->len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			sent += (gsize)n;
		else if (poll(&fd, 1, 500) == 0)
			break;
		g_assert_cmpuint(sent, <, 16u << 20);
	}
	ask(other, bus, 1000); /* others do not mind */
	for (i = 0; i + bytes->len <= sent; i += bytes->len)
		expect(f->client, bytes->data, bytes->len);
	if (i < sent) {
		put(f->bus, bytes->data + (sent - i), bytes->len - (sent - i));
		expect(f->client, bytes->data, bytes->len);
	}
	close(other);
	await_end(bus);
}

/* What GDBus wrote before it closed its end arrives. */
static void test_last_words(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message_of(SIGNAL, 50000, 'x');

	put(f->bus, bytes->data, bytes->len);
	shutdown(f->bus, SHUT_RDWR);
	expect(f->client, bytes->data, bytes->len);
	await_end(f->client);
}

/*
 * One that asks something before it has read them is not told that its connection is broken, as
 * GDBus would then not read on. Once it has gone, nobody waits for it.
 */
static void test_asks_at_the_end(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message_of(SIGNAL, 500, 'x'),
			      call = message_of(CALL, 500, 'y');
	struct pollfd fd = {.fd = f->client, .events = POLLRDHUP};

	put(f->bus, bytes->data, bytes->len);
	shutdown(f->bus, SHUT_RDWR);
	g_assert_cmpint(poll(&fd, 1, 60000), ==, 1);
	for (int i = 0; i < 3; i++)
		put(f->client, call->data, call->len);
	expect(f->client, bytes->data, bytes->len);
	await_end(f->client);
	put(f->client, call->data, call->len);
	shutdown(f->client, SHUT_RDWR);
	rs_gate_free(g_steal_pointer(&f->gate), G_MAXINT);
}

/* Nor does one that neither reads nor goes keep the gate open. */
static void test_end(struct fixture *f, gconstpointer data)
{
	g_autoptr(GByteArray) bytes = message_of(SIGNAL, 100000, 'x');

	for (;;) {
		struct pollfd fd = {.fd = f->bus, .events = POLLOUT};

		if (send(f->bus, bytes->data, bytes->len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
		    poll(&fd, 1, 200) == 0)
			break;
	}
}

/* One that is refused was never counted: the places of those that leave are free again. */
static void test_too_many(struct fixture *f, gconstpointer data)
{
	int second, third, bus = join(f, &second);

	third = plug(f);
	put(third, AUTH, sizeof(AUTH) - 1);
	expect_text(third, "DATA\r\nOK " GUID "\r\nAGREE_UNIX_FD\r\n");
	await_end(third);
	close(third);
	close(second);
	await_end(bus);
	close(f->client);
	await_end(f->bus);
	f->bus = join(f, &f->client);
	bus = join(f, &second);
	ask(f->client, f->bus, 1000);
	ask(second, bus, 1000);
	close(second);
}

/* Connected, but says nothing. */
static void assert_there(int fd)
{
	char byte;

	g_assert_cmpint(recv(fd, &byte, 1, MSG_DONTWAIT), ==, -1);
	g_assert_cmpint(errno, ==, EAGAIN);
}

/* A process that says nothing loses its own connections first. */
static void test_silent(struct fixture *f, gconstpointer data)
{
	int fds[2 * RS_GATE_NEW_OF_PID_MAX], other, bus;
	guint n = G_N_ELEMENTS(fds), left = RS_GATE_NEW_OF_PID_MAX;

	for (guint i = 0; i < n; i++)
		fds[i] = plug(f);
	for (guint i = 0; i < n - left; i++)
		await_end(fds[i]);
	for (guint i = n - left; i < n; i++)
		assert_there(fds[i]);
	bus = join(f, &other);
	ask(other, bus, 1000);
	await_end(fds[n - left]);
	for (guint i = 0; i < n; i++)
		close(fds[i]);
	close(other);
}

/* One that is about to say who it is stays. */
static void test_half_said(struct fixture *f, gconstpointer data)
{
	int fds[2 * RS_GATE_NEW_OF_PID_MAX], one = plug(f);
	guint n = G_N_ELEMENTS(fds), left = RS_GATE_NEW_OF_PID_MAX - 1;

	put(one, "\0AUTH EXTERNAL\r\n", 16);
	expect_text(one, "DATA\r\n");
	for (guint i = 0; i < n; i++)
		fds[i] = plug(f);
	for (guint i = 0; i < n - left; i++)
		await_end(fds[i]);
	for (guint i = n - left; i < n; i++)
		assert_there(fds[i]);
	put(one, "DATA\r\n", 6);
	expect_text(one, "OK " GUID "\r\n");
	for (guint i = 0; i < n; i++)
		close(fds[i]);
	close(one);
}

/* The kernel tells the gate of the process that has connected, though it has ended. */
static int plug_by_another(struct fixture *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
	pid_t pid;

	g_strlcpy(address.sun_path, f->path, sizeof(address.sun_path));
	pid = fork();
	if (pid == 0)
		_exit(connect(fd, (struct sockaddr *)&address, sizeof(address)) ? 1 : 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	return fd;
}

/* Nor do many processes that say nothing keep others out. */
static void test_crowd(struct fixture *f, gconstpointer data)
{
	int fds[RS_GATE_NEW_MAX + 3], other, bus;
	guint n = G_N_ELEMENTS(fds), left = RS_GATE_NEW_MAX;

	for (guint i = 0; i < n; i++)
		fds[i] = plug_by_another(f);
	for (guint i = 0; i < n - left; i++)
		await_end(fds[i]);
	for (guint i = n - left; i < n; i++)
		assert_there(fds[i]);
	bus = join(f, &other);
	ask(other, bus, 1000);
	await_end(fds[n - left]);
	for (guint i = 0; i < n; i++)
		close(fds[i]);
	close(other);
}

static void test_no_login(struct fixture *f, gconstpointer data)
{
	g_autofree char *text = g_strnfill(RS_GATE_LOGIN_MAX, '\0');
	int fd;

	/* Neither the first byte nor the line's end is as it should be. */
	fd = plug(f);
	put(fd, "AUTH\r\n", 6);
	await_end(fd);
	close(fd);
	fd = plug(f);
	put(fd, "\0AUTH\n", 6);
	await_end(fd);
	close(fd);
	/* A line without an end. */
	fd = plug(f);
	put(fd, text, RS_GATE_LOGIN_MAX);
	put(fd, "x", 1);
	await_end(fd);
	close(fd);
	/* Lines without an end. */
	fd = plug(f);
	put(fd, "", 1);
	for (guint i = 0; i < 100; i++)
		if (send(fd, "AUTH\r\n", 6, MSG_NOSIGNAL) < 0)
			break;
	while (recv(fd, text, RS_GATE_LOGIN_MAX, 0) > 0)
		;
	close(fd);
	g_assert_cmpuint(f->came->len, ==, 1);
}

/* With no descriptor left nobody can come; later they can. */
static void test_no_fds(struct fixture *f, gconstpointer data)
{
	struct rlimit limit, small;
	int fd;

	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	fd = plug(f);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	small = (struct rlimit){.rlim_cur = (rlim_t)fd, .rlim_max = limit.rlim_max};
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &small), ==, 0);
	{
		struct sockaddr_un address = {.sun_family = AF_UNIX};

		g_strlcpy(address.sun_path, f->path, sizeof(address.sun_path));
		g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	}
	ask(f->client, f->bus, 1000);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	put(fd, AUTH, sizeof(AUTH) - 1);
	expect_text(fd, "DATA\r\nOK " GUID "\r\nAGREE_UNIX_FD\r\n");
	close(fd);
}

static void add(const char *name, void (*body)(struct fixture *, gconstpointer))
{
	g_autofree char *path = g_strdup_printf("/server/gate/%s", name);

	g_test_add(path, struct fixture, NULL, set_up, body, tear_down);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("both-ways", test_both_ways);
	add("one-at-a-time", test_one_at_a_time);
	add("leaves", test_leaves);
	g_test_add("/server/gate/waits", struct fixture, &soon, set_up, test_waits, tear_down);
	add("no-question", test_no_question);
	add("large", test_large);
	add("no-message", test_no_message);
	add("no-call", test_no_call);
	add("no-serial", test_no_serial);
	add("half", test_half);
	g_test_add("/server/gate/late", struct fixture, &soon, set_up, test_late, tear_down);
	add("fds-in", test_fds_in);
	add("fds-out", test_fds_out);
	add("no-reply", test_no_reply);
	add("not-read", test_not_read);
	add("last-words", test_last_words);
	add("asks-at-the-end", test_asks_at_the_end);
	add("end", test_end);
	add("too-many", test_too_many);
	add("silent", test_silent);
	add("half-said", test_half_said);
	add("crowd", test_crowd);
	add("no-login", test_no_login);
	add("no-fds", test_no_fds);
	return g_test_run();
}
