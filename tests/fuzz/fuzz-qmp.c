/* SPDX-License-Identifier: MIT */
/*
 * What a QEMU says that a guest has taken over: greetings, answers, events, lines without end,
 * deep nests, bytes that are no JSON. It may say nothing, not read, or close at any moment.
 * Whatever comes, a call ends, with an answer or an error, and the end is told once.
 *
 * The socket is replaced: what QEMU says is the next step of the input.
 */
#include "base/socket.h"
#include "input.h"
#include "qemu/qmp.h"
#include "seed.h"
#include "virtual-time.h"

#include <errno.h>
#include <gio/gio.h>

/* json-glib 1.6 does not free all of what it made of a line that is no JSON: see qmp.c. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#define STEPS 64
#define TIMEOUT_MS 100

enum {
	SAY,  /* a: what */
	CALL, /* a: which command */
	POST,
	DRAIN,
	DISPATCH,
	DOUBT,
	FULL,  /* QEMU does not read, for so many tries */
	CLOSE, /* a: how */
	OPS
};

/* Lines. Each `@` stands for the id of the newest command. */
static const char *const lines[] = {
	"{\"QMP\": {\"version\": {}}}\n",
	"{\"return\": {}, \"id\": @}\n",
	"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no\"}, \"id\": @}\n",
	"{\"event\": \"STOP\", \"data\": {\"a\": [1, null]}}\n",
	"{\"event\": \"RESET\", \"timestamp\": {\"seconds\": 9, \"microseconds\": 8}}\n",
	"{\"return\": [{\"running\": true}], \"id\": @}\n",
	"{\"id\": @}\n",
	"{\"error\": {\"desc\": 3}, \"id\": @}\n",
	"{\"return\": {}, \"id\": -1}\n",
	"{\"return\": {}, \"id\": \"@\"}\n",
	"{\"QMP\": 1}\n",
	"{\"event\": 1, \"id\": {}}\n",
	"[]\n",
	"\n",
	"{\"event\": \"\\u0000\\\"\\ud800\"}\n",
	"nonsense\r\n",
};

static struct {
	struct rs_fuzz_input in;
	GByteArray *said; /* and not read yet */
	guint at;         /* so much of it is read */
	char id[24];      /* of the newest command */
	uint8_t full;
	bool hung_up, failed; /* QEMU's end is closed */
	bool called;          /* it is this QEMU that was called */
	int steps;
	guint ends;
} run;

/* ---- QEMU ---- */

static void say(const char *bytes, size_t size)
{
	g_byte_array_append(run.said, (const guint8 *)bytes, (guint)size);
}

static void say_line(const char *line)
{
	for (; *line; line++) {
		if (*line == '@')
			say(run.id, strlen(run.id));
		else
			say(line, 1);
	}
}

static void say_many(char c, size_t count)
{
	g_autofree char *many = g_malloc(count);

	memset(many, c, count);
	say(many, count);
}

static void say_some(uint8_t what)
{
	char text[64];
	uint8_t size;

	if (what < G_N_ELEMENTS(lines)) {
		say_line(lines[what]);
	} else if (what < 32) {
		say_many(what % 2 ? '[' : '{', what * 4u);
	} else if (what < 36) {
		say_many(' ', 16384);
	} else if (what == 36) {
		say_many('x', RS_QMP_LINE_MAX);
	} else {
		size = rs_fuzz_u8(&run.in) % sizeof(text);
		rs_fuzz_take(&run.in, text, size);
		say(text, size);
	}
}

/* ---- the socket ---- */

int rs_socket_connect(const char *path, struct rs_error *err)
{
	run.called = true;
	if (run.failed)
		return rs_error_set(err, run.hung_up ? ENOENT : ECONNREFUSED, "nobody");
	return 0;
}

GSocket *g_socket_new_from_fd(gint fd, GError **error)
{
	return g_object_new(G_TYPE_OBJECT, NULL);
}

void g_socket_set_blocking(GSocket *socket, gboolean blocking)
{
}

gssize g_socket_receive(GSocket *socket, gchar *buffer, gsize size, GCancellable *cancellable,
			GError **error)
{
	gsize some = MIN(size, run.said->len - run.at);

	if (some) {
		memcpy(buffer, run.said->data + run.at, some);
		run.at += (guint)some;
		return (gssize)some;
	}
	if (run.failed)
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED, "reset");
	else if (!run.hung_up)
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK, "later");
	return run.failed || !run.hung_up ? -1 : 0;
}

gssize g_socket_send(GSocket *socket, const gchar *buffer, gsize size, GCancellable *cancellable,
		     GError **error)
{
	const char *id = g_strrstr_len(buffer, (gssize)size, "\"id\":");

	if (run.full) {
		run.full--;
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK, "later");
		return -1;
	}
	if (run.failed) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE, "closed");
		return -1;
	}
	if (id)
		g_snprintf(run.id, sizeof(run.id), "%d", atoi(id + 5));
	return (gssize)size;
}

static void step(void);

/* QEMU goes on meanwhile. It is too late when it does nothing more, or not for itself. */
gboolean g_socket_condition_timed_wait(GSocket *socket, GIOCondition condition, gint64 timeout_us,
				       GCancellable *cancellable, GError **error)
{
	while (condition & G_IO_IN && run.at == run.said->len && !run.hung_up && !run.failed) {
		uint8_t next = run.in.left ? run.in.data[0] % OPS : OPS;

		if ((next != SAY && next != CLOSE) || run.steps >= STEPS) {
			rs_fuzz_now += (uint64_t)timeout_us * 1000;
			return FALSE;
		}
		step();
	}
	rs_fuzz_now += 1000;
	return TRUE;
}

static gboolean always(GSource *source)
{
	return run.at < run.said->len || run.hung_up || run.failed;
}

static gboolean never(GSource *source, gint *timeout)
{
	*timeout = 0;
	return FALSE;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	return ((GSocketSourceFunc)(void (*)(void))callback)(NULL, G_IO_IN, data);
}

GSource *g_socket_create_source(GSocket *socket, GIOCondition condition, GCancellable *cancellable)
{
	static GSourceFuncs funcs = {.prepare = never, .check = always, .dispatch = dispatch};

	return g_source_new(&funcs, sizeof(GSource));
}

/* ---- the host ---- */

static struct rs_monitor *qmp;

static void on_event(void *data, const char *event, gint64 at, JsonObject *payload)
{
	if (run.ends)
		abort();
	if (!event)
		run.ends++;
	else if (!g_utf8_validate(event, -1, NULL))
		abort();
	if (payload)
		json_object_get_size(payload);
}

static const struct rs_monitor_listener listener = {.event = on_event};

static void check(int ret, const struct rs_error *err)
{
	if (ret > 0 || (ret && (err->code <= 0 || !*err->message)))
		abort();
}

static void call(uint8_t which)
{
	static const char *const commands[] = {"stop", "cont", "query-status"};
	struct rs_error err = {0};
	JsonObject *arguments = NULL;
	JsonNode *reply = NULL;
	int ret;

	if (which & 4) {
		arguments = json_object_new();
		json_object_set_string_member(arguments, "name", "\"\n");
	}
	ret = rs_monitor_call(qmp, commands[which % 3], arguments, TIMEOUT_MS,
			      which & 8 ? NULL : &reply, &err);
	check(ret, &err);
	if (!(which & 8) && !ret != (reply != NULL))
		abort();
	g_clear_pointer(&reply, json_node_unref);
}

static void host_does(uint8_t what, uint8_t a)
{
	struct rs_error err = {0};

	switch (what) {
	case CALL:
		call(a);
		break;
	case POST:
		check(rs_monitor_post(qmp, "cont", &err), &err);
		break;
	case DRAIN:
		rs_monitor_drain(qmp);
		break;
	case DISPATCH:
		g_main_context_iteration(NULL, FALSE);
		break;
	case DOUBT:
		rs_monitor_doubt(qmp);
		break;
	}
}

static void step(void)
{
	uint8_t what = rs_fuzz_u8(&run.in) % OPS, a = rs_fuzz_u8(&run.in);

	run.steps++;
	switch (what) {
	case SAY:
		say_some(a);
		break;
	case FULL:
		run.full = a % 4;
		break;
	case CLOSE:
		run.hung_up = true;
		run.failed = a & 1;
		break;
	default:
		if (qmp)
			host_does(what, a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_error err = {0};
	uint8_t flags;
	int ret;

	memset(&run, 0, sizeof(run));
	qmp = NULL;
	run.in = (struct rs_fuzz_input){data, size};
	run.said = g_byte_array_new();
	rs_fuzz_now = RS_FUZZ_BEGIN;
	flags = rs_fuzz_u8(&run.in);
	run.failed = flags >= 254;
	run.hung_up = flags == 255;
	if (flags & 1 && !run.failed)
		say_line(lines[0]);
	if (flags & 2 && !run.failed) {
		strcpy(run.id, "1");
		say_line(lines[1]);
	}
	ret = rs_qmp_connect("none", flags & 4 ? NULL : g_main_context_default(), TIMEOUT_MS,
			     &listener, &qmp, &err);
	check(ret, &err);
	if (!run.called)
		abort();
	while (!ret && run.in.left && run.steps < STEPS)
		step();
	if (!ret)
		rs_monitor_destroy(qmp);
	g_byte_array_unref(run.said);
	return 0;
}

static void rs_fuzz_seeds(void)
{
	static const uint8_t seeds[][32] = {
		{1, SAY, 1, CALL, 0, SAY, 3, SAY, 5, POST, 0, CALL, 4, SAY, 2, DISPATCH, 0, DRAIN},
		{1, SAY, 1, CALL, 0, DOUBT, 0, CALL, 1, SAY, 8, CALL, 1, SAY, 6, CALL, 2, SAY, 7},
		{1, SAY, 1, SAY, 36, SAY, 36, SAY, 13, DRAIN, 0, SAY, 31, SAY, 13, DISPATCH},
		{1, SAY, 1, FULL, 1, CALL, 0, SAY, 1, FULL, 1, POST, 0, CLOSE, 0, CALL, 1, POST, 0},
		{1, SAY, 1, CLOSE, 1, CALL, 0, POST, 0, DRAIN, 0, DISPATCH, 0},
		{1, SAY, 1, CLOSE, 1, POST, 0},
		{0,  SAY, 12, SAY, 13, SAY, 15, SAY, 15, SAY, 15, SAY,
		 15, SAY, 15, SAY, 15, SAY, 15, SAY, 15, SAY, 15},
		{1,     SAY, 1,   SAY, 40,  6,  '{', '"', '\\', '"', '"',     '\n',
		 DRAIN, 0,   SAY, 10,  SAY, 11, SAY, 9,   SAY,  14,  DISPATCH},
		{254},
		{255},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, seeds[i], sizeof(seeds[i]));
	}
}
