/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "server/gate_private.h"
#include "server/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX 16384u
#define FDS_MAX 16u   /* that the session sends with a message */
#define LINES_MAX 32u /* by which a client says who it is */
#define DRAIN_MS 300  /* for what GDBus wrote before it closed */
#define STEPS_MAX 32u /* until it is another client's turn */
#define GUID_SIZE 32u /* as text */

enum state {
	NEW,      /* it has not said who it is */
	ADMITTED, /* GDBus is there, and the gate counts it */
	DRAINING, /* GDBus has closed its end: the client may have what was written before */
	LEAVING,  /* it has all of that, and is to close its end */
};

/* What GDBus has of the client's. Until that is answered no other call is passed on. */
enum asked {
	NOTHING,
	CALL,
	SILENT, /* a call whose answer the client does not want */
};

/* A client, as a source of the gate's context. */
struct rs_gate_client {
	GSource source;
	struct rs_gate *gate;
	enum state state;
	pid_t pid;
	struct rs_wire_login login;
	int outer, inner;            /* the client's and GDBus's; -1: NEW */
	void *outer_tag, *inner_tag; /* the second of them only if ADMITTED */
	gint64 deadline;             /* 0: none */
	guint lines;
	bool greeted; /* its NUL byte was there */
	/* From the client: `want` bytes (0: not known) are to go, of which `sent` went. */
	guint8 *in;
	gsize have, want, sent;
	bool silent; /* it wants no answer to them */
	enum asked asked;
	/* To the client. No piece has bytes of two messages, since descriptors belong to one. */
	gsize skip;   /* bytes that GDBus says before its messages */
	guint64 rest; /* of the message, which were not read yet */
	gsize head;   /* bytes of a header; it goes out when it is whole */
	bool answers; /* this message is the answer to the call */
	gsize out_size, out_sent;
	int fds[FDS_MAX];
	guint n_fds;
	guint8 out[OUT_MAX];
};

/* For the descriptors of a message. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

enum step { IDLE, ON, END };

/* What a system call on a socket says. */
static enum step step_of(ssize_t n)
{
	if (n > 0)
		return ON;
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? IDLE : END;
}

/* ---- to the client ---- */

static void say(struct rs_gate_client *client, const char *text)
{
	client->out_size = MIN(strlen(text), OUT_MAX);
	memcpy(client->out, text, client->out_size);
}

static void close_fds(struct rs_gate_client *client)
{
	while (client->n_fds)
		close(client->fds[--client->n_fds]);
}

static enum step send_out(struct rs_gate_client *client)
{
	union control control = {0};
	struct iovec part = {client->out + client->out_sent, client->out_size - client->out_sent};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	gsize size = client->n_fds * sizeof(int);
	ssize_t n;

	if (client->n_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(size);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(&control.header), client->fds, size);
	}
	n = sendmsg(client->outer, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0) {
		close_fds(client); /* they went with the first byte */
		client->out_sent += (gsize)n;
		if (client->out_sent == client->out_size)
			client->out_sent = client->out_size = 0;
	}
	return step_of(n);
}

/*
 * The client learns that no more comes, but may still send. A client that finds its connection
 * broken when it asks something reads no more, and would miss the last words.
 */
static enum step take_leave(struct rs_gate_client *client)
{
	client->state = LEAVING;
	if (client->inner_tag)
		g_source_remove_unix_fd(&client->source, client->inner_tag);
	client->inner_tag = NULL;
	client->have = client->want = client->sent = 0;
	g_clear_pointer(&client->in, g_free);
	client->deadline = g_get_monotonic_time() + rs_gate_call_us(client->gate);
	return shutdown(client->outer, SHUT_WR) ? END : ON;
}

static bool keep_fds(struct rs_gate_client *client, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		const guchar *data = CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (gsize at = 0; CMSG_LEN(at) < c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, data + at, sizeof(fd));
			if (client->n_fds < FDS_MAX)
				client->fds[client->n_fds++] = fd;
			else
				close(fd);
		}
	}
	return !(message->msg_flags & MSG_CTRUNC);
}

/* GDBus sends descriptors with the first byte of their message. */
static enum step read_header(struct rs_gate_client *client)
{
	union control control;
	struct iovec part = {client->out + client->head, RS_WIRE_HEADER - client->head};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(client->inner, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	enum step step = step_of(n);

	if (n == 0 && !client->head)
		return take_leave(client);
	if (step != ON)
		return step;
	if (!keep_fds(client, &message))
		return END;
	client->head += (gsize)n;
	if (client->head < RS_WIRE_HEADER)
		return ON;
	client->rest = rs_wire_size(client->out);
	client->answers = rs_wire_is_answer(client->out);
	if (client->rest < RS_WIRE_HEADER || (client->answers && client->asked == NOTHING))
		return END;
	client->rest -= RS_WIRE_HEADER;
	client->head = 0;
	client->out_size = RS_WIRE_HEADER;
	return ON;
}

/* After the header, if that is there, too. */
static enum step read_rest(struct rs_gate_client *client)
{
	gsize room = MIN(OUT_MAX - client->out_size, client->rest);
	ssize_t n = recv(client->inner, client->out + client->out_size, room, MSG_DONTWAIT);

	if (n > 0) {
		client->out_size += (gsize)n;
		client->rest -= (gsize)n;
	}
	return step_of(n);
}

/* What GDBus answers to login(). */
static enum step skip(struct rs_gate_client *client)
{
	ssize_t n = recv(client->inner, client->out, client->skip, MSG_DONTWAIT);

	if (n > 0)
		client->skip -= (gsize)n;
	return step_of(n);
}

static void swallow(struct rs_gate_client *client)
{
	close_fds(client);
	client->out_size = client->out_sent = 0;
}

/* With its last byte the call is over. GDBus gives one answer to each. */
static enum step pass_out(struct rs_gate_client *client)
{
	enum step step = ON;

	if (client->answers && client->asked == SILENT)
		swallow(client);
	else
		step = send_out(client);
	if (client->answers && !client->out_size && !client->rest) {
		client->answers = false;
		client->asked = NOTHING;
	}
	return step;
}

static enum step step_out(struct rs_gate_client *client)
{
	enum step step;

	if (client->out_size)
		return pass_out(client);
	if (client->state == NEW || client->state == LEAVING)
		return IDLE;
	if (client->skip)
		return skip(client);
	if (client->rest)
		return read_rest(client);
	step = read_header(client);
	if (step == ON && client->rest)
		read_rest(client);
	return step;
}

/* ---- from the client ---- */

/* Removes the first bytes of what is there. */
static void drop_in(struct rs_gate_client *client, gsize size)
{
	client->have -= size;
	memmove(client->in, client->in + size, client->have);
	if (!client->have)
		g_clear_pointer(&client->in, g_free);
}

/* Reads until `size` bytes are there. No descriptors: they are closed as they come. */
static enum step read_in(struct rs_gate_client *client, gsize size)
{
	struct iovec part;
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	client->in = g_realloc(client->in, size);
	part = (struct iovec){client->in + client->have, size - client->have};
	n = recvmsg(client->outer, &message, MSG_DONTWAIT);
	if (n > 0)
		client->have += (gsize)n;
	return n > 0 && message.msg_flags & MSG_CTRUNC ? END : step_of(n);
}

/* GDBus authenticates a client that it can trust. `inner`: the end by which it is told. */
static bool login(struct rs_gate_client *client, int inner)
{
	g_autoptr(GString) text = g_string_new_len("\0AUTH EXTERNAL ", 15);
	g_autofree char *uid = g_strdup_printf("%u", getuid());

	for (const char *c = uid; *c; c++)
		g_string_append_printf(text, "%02x", *c);
	g_string_append(text, "\r\n");
	client->skip = strlen("OK \r\n") + GUID_SIZE;
	if (client->login.takes_fds) {
		g_string_append(text, "NEGOTIATE_UNIX_FD\r\n");
		client->skip += strlen("AGREE_UNIX_FD\r\n");
	}
	g_string_append(text, "BEGIN\r\n");
	return send(inner, text->str, text->len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)text->len;
}

/* Until all of it has succeeded the client is a new one. */
static bool begin(struct rs_gate_client *client)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return false;
	if (!login(client, ends[0]) || !rs_gate_admit(client->gate, client, ends[1])) {
		close(ends[0]);
		close(ends[1]);
		return false;
	}
	client->state = ADMITTED;
	client->inner = ends[0];
	client->inner_tag = g_source_add_unix_fd(&client->source, client->inner, 0);
	client->deadline = 0;
	return true;
}

static bool answer(struct rs_gate_client *client, enum rs_wire_answer answer)
{
	static const char *const texts[] = {
		[RS_WIRE_REJECTED] = "REJECTED EXTERNAL\r\n",
		[RS_WIRE_DATA] = "DATA\r\n",
		[RS_WIRE_AGREE_FDS] = "AGREE_UNIX_FD\r\n",
		[RS_WIRE_ERROR] = "ERROR\r\n",
	};
	g_autofree char *ok = NULL;

	if (answer == RS_WIRE_BEGIN)
		return begin(client);
	if (answer == RS_WIRE_OK)
		ok = g_strdup_printf("OK %s\r\n", rs_gate_guid(client->gate));
	say(client, ok ? ok : texts[answer]);
	return true;
}

/* One line, once the answer to the one before has gone. */
static enum step step_login(struct rs_gate_client *client)
{
	const guint8 *end = client->have ? memchr(client->in, '\n', client->have) : NULL;
	enum rs_wire_answer said;
	gsize size;

	if (client->out_size)
		return IDLE;
	if (client->have && !client->greeted) {
		if (client->in[0] != '\0')
			return END;
		client->greeted = true;
		drop_in(client, 1);
		return ON;
	}
	if (!end)
		return client->have < RS_GATE_LOGIN_MAX ? read_in(client, RS_GATE_LOGIN_MAX) : END;
	size = (gsize)(end - client->in);
	if (size == 0 || end[-1] != '\r' || ++client->lines > LINES_MAX)
		return END;
	said = rs_wire_login(&client->login, (const char *)client->in, size - 1);
	drop_in(client, size + 1);
	return answer(client, said) ? ON : END;
}

static void drain(struct rs_gate_client *client)
{
	client->state = DRAINING;
	g_source_remove_unix_fd(&client->source, client->inner_tag);
	client->inner_tag = NULL;
	client->deadline = g_get_monotonic_time() + DRAIN_MS * 1000;
}

/* A whole call is there. It waits in here, and the next ones in the client's socket. */
static bool is_full(const struct rs_gate_client *client)
{
	return client->want && client->have >= client->want;
}

static enum step send_in(struct rs_gate_client *client)
{
	ssize_t n = send(client->inner, client->in + client->sent, client->want - client->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		client->sent += (gsize)n;
	if (step_of(n) == END) {
		drain(client);
		return IDLE;
	}
	if (client->sent == client->want) {
		client->asked = client->silent ? SILENT : CALL;
		drop_in(client, client->want);
		client->want = client->sent = 0;
	}
	return step_of(n);
}

/* Nobody is there for what it still asks. */
static enum step ignore(struct rs_gate_client *client)
{
	return step_of(recv(client->outer, client->out, OUT_MAX, MSG_DONTWAIT));
}

static enum step step_in(struct rs_gate_client *client)
{
	if (client->state == LEAVING)
		return ignore(client);
	if (client->state == NEW)
		return step_login(client);
	if (client->state == DRAINING)
		return IDLE;
	if (!client->want && client->have >= RS_WIRE_HEADER) {
		guint64 size = rs_wire_size(client->in);

		if (size == 0 || size > RS_GATE_CALL_MAX || !rs_wire_is_call(client->in))
			return END;
		client->want = (gsize)size;
		client->silent = rs_wire_ask_answer(client->in);
	}
	if (!is_full(client))
		return read_in(client, client->want ? client->want : RS_WIRE_HEADER);
	client->deadline = 0;
	return client->asked == NOTHING ? send_in(client) : IDLE;
}

/* ---- the source ---- */

static void look_at(struct rs_gate_client *client, void *tag, bool in, bool out)
{
	if (tag)
		g_source_modify_unix_fd(&client->source, tag,
					(in ? G_IO_IN : 0) | (out ? G_IO_OUT : 0));
}

/* `is_on`: there is more to do at once. */
static void await(struct rs_gate_client *client, bool is_on)
{
	bool is_out = client->out_size > 0, full = is_full(client), in = !full;

	if (client->state == NEW)
		in = !is_out;
	else if (client->state == DRAINING)
		in = false;
	else if (!full && client->have && !client->deadline)
		client->deadline = g_get_monotonic_time() + rs_gate_call_us(client->gate);
	look_at(client, client->outer_tag, in, is_out);
	look_at(client, client->inner_tag, !is_out, full && client->asked == NOTHING);
	g_source_set_ready_time(&client->source, is_on              ? 0
						 : client->deadline ? client->deadline
								    : -1);
}

/* A poll says so whatever it is asked. */
static bool is_gone(struct rs_gate_client *client, void *tag)
{
	return tag && g_source_query_unix_fd(&client->source, tag) & (G_IO_HUP | G_IO_ERR);
}

static bool is_late(const struct rs_gate_client *client)
{
	return client->deadline && g_get_monotonic_time() >= client->deadline;
}

static gboolean on_ready(GSource *source, GSourceFunc unused, gpointer data)
{
	struct rs_gate_client *client = (struct rs_gate_client *)source;
	enum step in = ON, out = ON;

	for (guint i = 0; i < STEPS_MAX && (in == ON || out == ON) && in != END; i++) {
		in = step_in(client);
		out = step_out(client);
		if (out == END)
			in = END;
	}
	/* Where nothing is read nothing else shows that the client has gone. */
	if (in == END || is_late(client) ||
	    (is_full(client) && is_gone(client, client->outer_tag))) {
		rs_gate_leave(client->gate, client);
		return G_SOURCE_CONTINUE;
	}
	if (is_gone(client, client->inner_tag))
		drain(client);
	await(client, in == ON || out == ON);
	return G_SOURCE_CONTINUE;
}

static void on_finalize(GSource *source)
{
	struct rs_gate_client *client = (struct rs_gate_client *)source;

	close_fds(client);
	close(client->outer);
	if (client->inner >= 0)
		close(client->inner);
	g_free(client->in);
}

struct rs_gate_client *rs_gate_client_new(struct rs_gate *gate, GMainContext *context, int fd,
					  const struct ucred *who, unsigned ms)
{
	static GSourceFuncs funcs = {.dispatch = on_ready, .finalize = on_finalize};
	GSource *source = g_source_new(&funcs, sizeof(struct rs_gate_client));
	struct rs_gate_client *client = (struct rs_gate_client *)source;

	/* GLib has filled it with zeros. */
	client->gate = gate;
	client->pid = who->pid;
	client->login.uid = who->uid;
	client->outer = fd;
	client->inner = -1;
	client->outer_tag = g_source_add_unix_fd(source, fd, G_IO_IN);
	client->deadline = g_get_monotonic_time() + (gint64)ms * 1000;
	g_source_set_ready_time(source, client->deadline);
	g_source_attach(source, context);
	return client;
}

void rs_gate_client_free(struct rs_gate_client *client)
{
	g_source_destroy(&client->source);
	g_source_unref(&client->source);
}

pid_t rs_gate_client_pid(const struct rs_gate_client *client)
{
	return client->pid;
}

bool rs_gate_client_is_silent(const struct rs_gate_client *client)
{
	return !client->greeted;
}
