/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "qemu/qmp.h"

#include "base/json.h"
#include "base/socket.h"

#include <errno.h>
#include <gio/gunixfdmessage.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Lines that are no JSON, of one peer. QEMU never says such a line. json-glib 1.6 does not free all
 * that it made of one, so that a peer could fill our memory.
 */
#define GARBAGE_MAX 16u
#define STRANGE_MAX 8u /* lines before a greeting */

struct rs_qmp {
	struct rs_monitor monitor; /* first */
	GSocket *socket;
	GMainContext *context;
	GSource *source;
	GByteArray *in;  /* an unfinished line */
	bool discarding; /* drop the rest of a line that was too long */
	bool greeted;
	unsigned bad_lines, garbage;
};

static struct rs_qmp *qmp_of(struct rs_monitor *monitor)
{
	return (struct rs_qmp *)monitor;
}

static JsonObject *object_member(JsonObject *object, const char *name)
{
	JsonNode *node = json_object_get_member(object, name);
	return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static const char *string_member(JsonObject *object, const char *name)
{
	JsonNode *node = json_object_get_member(object, name);
	if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
	    json_node_get_value_type(node) != G_TYPE_STRING)
		return NULL;
	return json_node_get_string(node);
}

static gint64 int_member(JsonObject *object, const char *name)
{
	JsonNode *node = object ? json_object_get_member(object, name) : NULL;
	bool is_int = node && JSON_NODE_HOLDS_VALUE(node) &&
		      json_node_get_value_type(node) == G_TYPE_INT64;

	return is_int ? json_node_get_int(node) : -1;
}

static void take_event(struct rs_qmp *qmp, JsonObject *object)
{
	JsonObject *time = object_member(object, "timestamp");

	rs_monitor_take_event(
		&qmp->monitor, string_member(object, "event"),
		rs_monitor_moment(int_member(time, "seconds"), int_member(time, "microseconds")),
		object_member(object, "data"));
}

/* The id of the command that it answers; 0: none. */
static gint64 id_of(JsonObject *object)
{
	JsonNode *id = json_object_get_member(object, "id");

	if (!id || !JSON_NODE_HOLDS_VALUE(id) || json_node_get_value_type(id) != G_TYPE_INT64)
		return 0;
	return json_node_get_int(id);
}

static void close_down(struct rs_qmp *qmp)
{
	if (qmp->source)
		g_source_destroy(qmp->source);
	rs_monitor_closed(&qmp->monitor);
}

static void take_line(struct rs_qmp *qmp, const char *line, size_t size)
{
	g_autoptr(JsonParser) parser = json_parser_new_immutable();
	JsonNode *root;
	JsonObject *object;

	if (!rs_json_is_shallow(line, size, RS_QMP_DEPTH_MAX)) {
		qmp->bad_lines++;
		return;
	}
	if (!json_parser_load_from_data(parser, line, (gssize)size, NULL)) {
		qmp->bad_lines++;
		if (++qmp->garbage >= GARBAGE_MAX)
			close_down(qmp);
		return;
	}
	root = json_parser_get_root(parser);
	if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
		qmp->bad_lines++;
		return;
	}
	object = json_node_get_object(root);
	if (object_member(object, "QMP")) {
		qmp->greeted = true;
	} else if (string_member(object, "event")) {
		take_event(qmp, object);
	} else if (!id_of(object) || !rs_monitor_take_answer(&qmp->monitor, id_of(object), root)) {
		qmp->bad_lines++;
	}
}

static void take_bytes(struct rs_qmp *qmp, const char *bytes, size_t size)
{
	while (size > 0 && !rs_monitor_is_closed(&qmp->monitor)) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) : size;

		if (!qmp->discarding && qmp->in->len + part > RS_QMP_LINE_MAX) {
			qmp->discarding = true;
			qmp->bad_lines++;
		}
		if (!qmp->discarding)
			g_byte_array_append(qmp->in, (const guint8 *)bytes, (guint)part);
		if (!end)
			return;
		if (!qmp->discarding && qmp->in->len > 1)
			take_line(qmp, (const char *)qmp->in->data, qmp->in->len);
		qmp->discarding = false;
		g_byte_array_set_size(qmp->in, 0);
		bytes = end + 1;
		size -= part + 1;
	}
}

/* Reads at most one buffer. */
static bool receive(struct rs_monitor *monitor)
{
	struct rs_qmp *qmp = qmp_of(monitor);
	char buffer[16384];
	g_autoptr(GError) error = NULL;
	gssize n = g_socket_receive(qmp->socket, buffer, sizeof(buffer), NULL, &error);

	if (n > 0) {
		rs_monitor_heard(monitor);
		take_bytes(qmp, buffer, (size_t)n);
		return true;
	}
	if (n == 0 || !g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
		close_down(qmp);
	return false;
}

static gboolean on_readable(GSocket *socket, GIOCondition condition, gpointer data)
{
	return rs_monitor_receive(data) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static int wait_for(struct rs_qmp *qmp, GIOCondition condition, struct rs_patience *patience,
		    struct rs_error *err)
{
	bool ready = false;
	int ms;

	while (!ready && (ms = rs_patience_ms(patience)) > 0)
		ready = g_socket_condition_timed_wait(qmp->socket, condition, (gint64)ms * 1000,
						      NULL, NULL);
	if (!ready)
		return rs_error_set(err, ETIMEDOUT,
				    "QEMU did not answer on its QMP socket in time");
	return 0;
}

static int wait_input(struct rs_monitor *monitor, struct rs_patience *patience,
		      struct rs_error *err)
{
	return wait_for(qmp_of(monitor), G_IO_IN, patience, err);
}

static int has_closed(struct rs_qmp *qmp, struct rs_error *err)
{
	close_down(qmp);
	return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
}

/* A descriptor goes with the first byte that is sent. */
static gssize send_part(struct rs_qmp *qmp, const char *bytes, size_t size, int fd, GError **error)
{
	g_autoptr(GSocketControlMessage) message = NULL;
	GOutputVector vector = {bytes, size};

	if (fd < 0)
		return g_socket_send(qmp->socket, bytes, size, NULL, error);
	message = g_unix_fd_message_new();
	if (!g_unix_fd_message_append_fd(G_UNIX_FD_MESSAGE(message), fd, error))
		return -1;
	return g_socket_send_message(qmp->socket, NULL, &vector, 1, &message, 1, 0, NULL, error);
}

static int send_line(struct rs_qmp *qmp, const char *line, int fd, struct rs_patience *patience,
		     struct rs_error *err)
{
	size_t size = strlen(line);

	while (size > 0) {
		g_autoptr(GError) error = NULL;
		gssize n = send_part(qmp, line, size, fd, &error);
		if (n < 0 && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
			int rc = wait_for(qmp, G_IO_OUT, patience, err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (n < 0) {
			rs_monitor_drain(&qmp->monitor); /* take its last events and its end */
			return has_closed(qmp, err);
		}
		line += n;
		size -= (size_t)n;
		fd = -1;
	}
	return 0;
}

static int post_line(struct rs_qmp *qmp, const char *line, struct rs_error *err)
{
	g_autoptr(GError) error = NULL;
	gsize size = strlen(line);
	gssize n = g_socket_send(qmp->socket, line, size, NULL, &error);

	if (n < 0 && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
		return rs_error_set(err, EAGAIN, "QEMU does not read its QMP socket");
	/* The kernel takes such a short line either whole or not at all. */
	return n == (gssize)size ? 0 : has_closed(qmp, err);
}

static char *command_line(const char *command, JsonObject *arguments, gint64 id)
{
	g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
	JsonObject *object = json_object_new();
	g_autofree char *text = NULL;

	json_object_set_string_member(object, "execute", command);
	if (arguments)
		json_object_set_object_member(object, "arguments", json_object_ref(arguments));
	json_object_set_int_member(object, "id", id);
	json_node_take_object(root, object);
	text = json_to_string(root, FALSE);
	return g_strconcat(text, "\n", NULL);
}

static int send_command(struct rs_monitor *monitor, const char *command, JsonObject *arguments,
			int fd, gint64 id, struct rs_patience *patience, struct rs_error *err)
{
	g_autofree char *line = command_line(command, arguments, id);

	return patience ? send_line(qmp_of(monitor), line, fd, patience, err)
			: post_line(qmp_of(monitor), line, err);
}

static void destroy(struct rs_monitor *monitor)
{
	struct rs_qmp *qmp = qmp_of(monitor);

	if (qmp->source) {
		g_source_destroy(qmp->source);
		g_source_unref(qmp->source);
	}
	g_clear_pointer(&qmp->context, g_main_context_unref);
	g_clear_object(&qmp->socket);
	g_byte_array_unref(qmp->in);
	g_free(qmp);
}

static const struct rs_monitor_ops ops = {
	.send = send_command,
	.wait = wait_input,
	.receive = receive,
	.destroy = destroy,
};

/* ---- connecting ---- */

static int open_socket(struct rs_qmp *qmp, const char *path, struct rs_error *err)
{
	g_autoptr(GError) error = NULL;
	int fd = rs_socket_connect(path, err);

	if (fd < 0) {
		rs_error_prefix(err, "QEMU");
		return fd;
	}
	qmp->socket = g_socket_new_from_fd(fd, &error);
	if (!qmp->socket) {
		close(fd);
		return rs_error_set(err, EIO, "cannot use a socket: %s", error->message);
	}
	g_socket_set_blocking(qmp->socket, FALSE);
	return 0;
}

static int await_greeting(struct rs_qmp *qmp, const char *path, gint64 deadline,
			  struct rs_error *err)
{
	struct rs_patience patience = rs_patience_new(0, deadline);

	while (!qmp->greeted && qmp->bad_lines <= STRANGE_MAX) {
		int rc;

		if (rs_monitor_is_closed(&qmp->monitor))
			return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
		rc = wait_for(qmp, G_IO_IN, &patience, err);
		if (rc < 0)
			return rc;
		receive(&qmp->monitor);
	}
	return qmp->greeted ? 0 : rs_error_set(err, EPROTO, "what answers at %s is not QMP", path);
}

pid_t rs_qmp_peer(struct rs_monitor *monitor)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	if (getsockopt(g_socket_get_fd(qmp_of(monitor)->socket), SOL_SOCKET, SO_PEERCRED, &peer,
		       &size))
		return 0;
	return peer.pid;
}

int rs_qmp_connect(const char *path, GMainContext *context, int timeout_ms,
		   const struct rs_monitor_listener *listener, struct rs_monitor **out,
		   struct rs_error *err)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	struct rs_qmp *qmp = g_new0(struct rs_qmp, 1);
	int rc;

	qmp->monitor.ops = &ops;
	rs_monitor_listen(&qmp->monitor, listener);
	qmp->in = g_byte_array_new();
	rc = open_socket(qmp, path, err);
	if (rc == 0)
		rc = await_greeting(qmp, path, deadline, err);
	if (rc == 0)
		rc = rs_monitor_call(&qmp->monitor, "qmp_capabilities", NULL,
				     (int)((deadline - g_get_monotonic_time()) / 1000), NULL, err);
	if (rc < 0) {
		rs_monitor_destroy(&qmp->monitor);
		return rc;
	}
	if (context) {
		qmp->context = g_main_context_ref(context);
		qmp->source = g_socket_create_source(qmp->socket, G_IO_IN, NULL);
		g_source_set_callback(qmp->source, G_SOURCE_FUNC(on_readable), qmp, NULL);
		g_source_attach(qmp->source, context);
	}
	*out = &qmp->monitor;
	return 0;
}
