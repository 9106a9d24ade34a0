/* SPDX-License-Identifier: MIT */
#include "qemu/qmp.h"

#include "base/socket.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/*
 * Lines that are no JSON, of one peer. QEMU never says such a line. json-glib 1.6 does not free all
 * that it made of one, so that a peer could fill our memory.
 */
#define GARBAGE_MAX 16u
#define POSTED (-1) /* id of a command for whose answer nobody waits */
#define PROBE (-2)  /* id of one whose answer tells that it answers */

struct rs_qmp {
	GSocket *socket;
	GMainContext *context;
	GSource *source;
	GByteArray *in;  /* an unfinished line */
	pid_t pid;       /* the peer's, 0: unknown */
	bool discarding; /* drop the rest of a line that was too long */
	bool greeted, closed;
	bool silent;    /* it owes an answer, and has said nothing since that was late */
	gint64 waiting; /* id of the command for whose answer we wait, 0: none */
	gint64 last_id;
	JsonNode *answer; /* object with "return" or "error" */
	unsigned probes;  /* unanswered */
	gint64 heard_at;  /* when it last answered anything; 0: never */
	unsigned bad_lines, garbage;
	rs_qmp_event_fn event;
	void (*answered)(void *data);
	void *data;
};

/* json-glib parses by recursion, so bound the depth before. */
static bool depth_ok(const char *line, size_t size)
{
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < size; i++) {
		char c = line[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > RS_QMP_DEPTH_MAX)
				return false;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return true;
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
	if (qmp->closed)
		return;
	qmp->closed = true;
	if (qmp->source)
		g_source_destroy(qmp->source);
	qmp->event(qmp->data, NULL, NULL);
}

/* It has an id, so it answers a command, perhaps late. */
static void take_answer(struct rs_qmp *qmp, JsonNode *root, gint64 id)
{
	qmp->heard_at = g_get_monotonic_time();
	if (qmp->waiting && id == qmp->waiting) {
		qmp->waiting = 0;
		qmp->answer = json_node_copy(root);
		return;
	}
	if (id == PROBE && qmp->probes)
		qmp->probes--;
	else if (id != POSTED)
		qmp->bad_lines++; /* nobody waits for it any more */
	if (qmp->answered)
		qmp->answered(qmp->data);
}

static void take_line(struct rs_qmp *qmp, const char *line, size_t size)
{
	g_autoptr(JsonParser) parser = json_parser_new_immutable();
	JsonNode *root;
	JsonObject *object;

	if (!depth_ok(line, size)) {
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
		qmp->event(qmp->data, string_member(object, "event"),
			   object_member(object, "data"));
	} else if (id_of(object)) {
		take_answer(qmp, root, id_of(object));
	} else {
		qmp->bad_lines++;
	}
}

static void take_bytes(struct rs_qmp *qmp, const char *bytes, size_t size)
{
	while (size > 0 && !qmp->closed) {
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

/* Reads at most one buffer. False: nothing has arrived. */
static bool receive_some(struct rs_qmp *qmp)
{
	char buffer[16384];
	g_autoptr(GError) error = NULL;
	gssize n = g_socket_receive(qmp->socket, buffer, sizeof(buffer), NULL, &error);

	if (n > 0) {
		qmp->silent = false;
		take_bytes(qmp, buffer, (size_t)n);
		return true;
	}
	if (n == 0 || !g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
		close_down(qmp);
	return false;
}

static gboolean on_readable(GSocket *socket, GIOCondition condition, gpointer data)
{
	struct rs_qmp *qmp = data;

	/* Bounded, so that a peer that never stops sending cannot starve the session. */
	for (int i = 0; i < 16 && !qmp->closed && receive_some(qmp); i++)
		;
	return qmp->closed ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

static int wait_with(struct rs_qmp *qmp, GIOCondition condition, struct rs_patience *patience,
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

static int wait_for(struct rs_qmp *qmp, GIOCondition condition, gint64 deadline,
		    struct rs_error *err)
{
	struct rs_patience patience = rs_patience_new(qmp->pid, deadline);

	return wait_with(qmp, condition, &patience, err);
}

static int send_line(struct rs_qmp *qmp, const char *line, gint64 deadline, struct rs_error *err)
{
	size_t size = strlen(line);

	while (size > 0) {
		g_autoptr(GError) error = NULL;
		gssize n = g_socket_send(qmp->socket, line, size, NULL, &error);
		if (n < 0 && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
			int rc = wait_for(qmp, G_IO_OUT, deadline, err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (n < 0) {
			rs_qmp_drain(qmp); /* take its last events and its end */
			close_down(qmp);
			return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
		}
		line += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Waits until done(). Dispatches whatever arrives meanwhile. */
static int receive_until(struct rs_qmp *qmp, bool (*done)(const struct rs_qmp *), gint64 deadline,
			 struct rs_error *err)
{
	while (!done(qmp)) {
		int rc;
		if (qmp->closed)
			return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
		rc = wait_for(qmp, G_IO_IN, deadline, err);
		if (rc < 0)
			return rc;
		receive_some(qmp);
	}
	return 0;
}

static bool has_answer(const struct rs_qmp *qmp)
{
	return qmp->answer != NULL;
}

static bool has_greeting(const struct rs_qmp *qmp)
{
	return qmp->greeted || qmp->bad_lines > 8;
}

bool rs_qmp_is_silent(struct rs_qmp *qmp)
{
	if (qmp->silent)
		rs_qmp_drain(qmp);
	return qmp->silent;
}

bool rs_qmp_owes(struct rs_qmp *qmp)
{
	if (qmp->probes)
		rs_qmp_drain(qmp);
	return qmp->probes && !qmp->closed;
}

static bool is_fresh(const struct rs_qmp *qmp)
{
	return qmp->heard_at &&
	       g_get_monotonic_time() - qmp->heard_at < (gint64)RS_QMP_FRESH_MS * 1000;
}

bool rs_qmp_is_fresh(struct rs_qmp *qmp)
{
	if (!is_fresh(qmp))
		rs_qmp_drain(qmp);
	return is_fresh(qmp);
}

int rs_qmp_await(struct rs_qmp *qmp, struct rs_patience *patience, struct rs_error *err)
{
	int rc = 0;

	while (rc == 0 && !is_fresh(qmp)) {
		if (qmp->closed)
			return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
		rc = wait_with(qmp, G_IO_IN, patience, err);
		if (rc == 0)
			receive_some(qmp);
	}
	qmp->silent |= rc == -ETIMEDOUT;
	return rc;
}

void rs_qmp_set_answered(struct rs_qmp *qmp, void (*answered)(void *data))
{
	qmp->answered = answered;
}

void rs_qmp_doubt(struct rs_qmp *qmp)
{
	int rc = 0;

	if (rs_qmp_is_silent(qmp))
		return;
	if (!rs_qmp_owes(qmp))
		rc = rs_qmp_probe(qmp, "query-status", NULL);
	/* If the socket is full, it owes answers to what is in there. */
	qmp->silent = !qmp->closed && (rc == 0 || rc == -EAGAIN);
}

static char *command_line(const char *command, JsonObject *arguments, gint64 id)
{
	g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
	JsonObject *object = json_object_new();
	g_autofree char *text = NULL;

	json_object_set_string_member(object, "execute", command);
	if (arguments)
		json_object_set_object_member(object, "arguments", arguments);
	json_object_set_int_member(object, "id", id);
	json_node_take_object(root, object);
	text = json_to_string(root, FALSE);
	return g_strconcat(text, "\n", NULL);
}

int rs_qmp_call(struct rs_qmp *qmp, const char *command, JsonObject *arguments, int timeout_ms,
		JsonNode **reply, struct rs_error *err)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	g_autofree char *line = command_line(command, arguments, qmp->last_id + 1);
	g_autoptr(JsonNode) answer = NULL;
	JsonObject *object, *failure;
	int rc;

	if (qmp->closed)
		return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
	if (rs_qmp_is_silent(qmp))
		return rs_error_set(err, EAGAIN,
				    "QEMU still owes an answer to an earlier question");
	qmp->waiting = ++qmp->last_id;
	rc = send_line(qmp, line, deadline, err);
	if (rc == 0)
		rc = receive_until(qmp, has_answer, deadline, err);
	qmp->waiting = 0;
	answer = g_steal_pointer(&qmp->answer);
	qmp->silent = rc == -ETIMEDOUT;
	if (rc < 0)
		return rc;

	object = json_node_get_object(answer);
	failure = object_member(object, "error");
	if (failure) {
		const char *why = string_member(failure, "desc");
		return rs_error_set(err, EREMOTEIO, "QEMU refused %s: %s", command,
				    why ? why : "?");
	}
	if (!json_object_has_member(object, "return"))
		return rs_error_set(err, EPROTO, "QEMU's answer to %s makes no sense", command);
	if (reply)
		*reply = json_node_ref(json_object_get_member(object, "return"));
	return 0;
}

static int post(struct rs_qmp *qmp, const char *command, gint64 id, struct rs_error *err)
{
	g_autofree char *line = command_line(command, NULL, id);
	g_autoptr(GError) error = NULL;
	gsize size = strlen(line);
	gssize n;

	if (qmp->closed)
		return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
	n = g_socket_send(qmp->socket, line, size, NULL, &error);
	if (n < 0 && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
		return rs_error_set(err, EAGAIN, "QEMU does not read its QMP socket");
	/* The kernel takes such a short line either whole or not at all. */
	if (n != (gssize)size) {
		close_down(qmp);
		return rs_error_set(err, EPIPE, "QEMU has closed its QMP socket");
	}
	return 0;
}

int rs_qmp_post(struct rs_qmp *qmp, const char *command, struct rs_error *err)
{
	return post(qmp, command, POSTED, err);
}

int rs_qmp_probe(struct rs_qmp *qmp, const char *command, struct rs_error *err)
{
	int rc = post(qmp, command, PROBE, err);

	qmp->probes += rc == 0;
	return rc;
}

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

int rs_qmp_connect(const char *path, GMainContext *context, int timeout_ms, rs_qmp_event_fn event,
		   void *data, struct rs_qmp **out, struct rs_error *err)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;
	struct rs_qmp *qmp = g_new0(struct rs_qmp, 1);
	int rc;

	qmp->event = event;
	qmp->data = data;
	qmp->in = g_byte_array_new();
	rc = open_socket(qmp, path, err);
	if (rc == 0)
		rc = receive_until(qmp, has_greeting, deadline, err);
	if (rc == 0 && !qmp->greeted)
		rc = rs_error_set(err, EPROTO, "what answers at %s is not QMP", path);
	if (rc == 0)
		rc = rs_qmp_call(qmp, "qmp_capabilities", NULL,
				 (int)((deadline - g_get_monotonic_time()) / 1000), NULL, err);
	if (rc < 0) {
		rs_qmp_destroy(qmp);
		return rc;
	}
	if (context) {
		qmp->context = g_main_context_ref(context);
		qmp->source = g_socket_create_source(qmp->socket, G_IO_IN, NULL);
		g_source_set_callback(qmp->source, G_SOURCE_FUNC(on_readable), qmp, NULL);
		g_source_attach(qmp->source, context);
	}
	*out = qmp;
	return 0;
}

void rs_qmp_set_process(struct rs_qmp *qmp, pid_t pid)
{
	qmp->pid = pid;
}

void rs_qmp_drain(struct rs_qmp *qmp)
{
	for (int i = 0; i < 256 && !qmp->closed && receive_some(qmp); i++)
		;
}

void rs_qmp_destroy(struct rs_qmp *qmp)
{
	if (!qmp)
		return;
	if (qmp->source) {
		g_source_destroy(qmp->source);
		g_source_unref(qmp->source);
	}
	g_clear_pointer(&qmp->context, g_main_context_unref);
	g_clear_pointer(&qmp->answer, json_node_unref);
	g_clear_object(&qmp->socket);
	g_byte_array_unref(qmp->in);
	g_free(qmp);
}
