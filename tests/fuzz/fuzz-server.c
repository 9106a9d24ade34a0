/* SPDX-License-Identifier: MIT */
/*
 * Calls of a peer's over D-Bus, with arguments of the right and of wrong types. Whatever a peer
 * sends, each call has one answer, the peer stays connected, and the answer is what D-Bus can
 * carry. GDBus has a thread of its own, so this target is slower than others.
 */
#include "../unit/session/sham.h"
#include "input.h"
#include "seed.h"
#include "server/server.h"
#include "virtual-time.h"

#include <gio/gio.h>
#include <glib/gstdio.h>

#define PATH "/org/ringside/Session"
#define INTERFACE "org.ringside.Session1"
#define CALLS 8
#define DEPTH 4u

static const struct {
	const char *name, *type; /* of its arguments */
} methods[] = {
	{"Sources", "(a{sv})"},       {"List", "(sa{sv})"},       {"ListProviders", "(a{sv})"},
	{"Format", "(sa{sv})"},       {"Stat", "(a{sv})"},        {"Enable", "(sa{sv})"},
	{"Disable", "(sa{sv})"},      {"SetFilter", "(ssa{sv})"}, {"ClearFilter", "(sa{sv})"},
	{"Pause", "(a{sv})"},         {"Resume", "(a{sv})"},      {"Claim", "(a{sv})"},
	{"Release", "(a{sv})"},       {"OpenRegion", "(a{sv})"},  {"Stop", "(sa{sv})"},
	{"NoSuchMethod", "(sa{sv})"},
};
#define STOP 14u

static const char *const texts[] = {"*", "sched:*", "sched:switch",         "",     "t/*:*",
				    "[", "a > 2",   "a == 3 && c ~ \"x*\"", "host", "peer"};
static const char *const keys[] = {"owner", "until-disconnect", "source", "unknown"};

static struct {
	char *path;
	struct sham *sham;
	struct rs_session *session;
	struct rs_server *server;
	GDBusConnection *peer;
	guint waiting;
	bool over;
} host;

static void on_connected(GObject *object, GAsyncResult *result, gpointer data)
{
	host.peer = g_dbus_connection_new_for_address_finish(result, NULL);
	if (!host.peer)
		abort();
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	host.over = true;
}

static void begin(void)
{
	static const struct rs_session_listener listener = {.ended = on_ended};
	static const char *const sched[] = {"switch", "wakeup", NULL};
	struct rs_source_config config = {.kernel = "k"};
	g_autofree char *address = NULL, *escaped = NULL;

	if (!host.path)
		host.path = g_strdup_printf("%s/rs-fuzz-server-%d", g_get_tmp_dir(), (int)getpid());
	host.sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 4096);
	if (rs_session_create("t", &host.session, NULL) ||
	    rs_session_add_source(host.session, &config, host.sham->region, &host.sham->target,
				  NULL, NULL) ||
	    rs_server_create(host.session, host.path, &host.server, NULL) ||
	    rs_session_start(host.session, NULL))
		abort();
	rs_session_add_listener(host.session, &listener);
	sham_hello(host.sham, 0);
	sham_provider(host.sham, "sched", sched);
	rs_session_refresh(host.session);
	escaped = g_dbus_address_escape_value(host.path);
	address = g_strdup_printf("unix:path=%s", escaped);
	g_dbus_connection_new_for_address(address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT,
					  NULL, NULL, on_connected, NULL);
	while (!host.peer)
		g_main_context_iteration(NULL, TRUE);
}

static void end(void)
{
	g_clear_object(&host.peer);
	rs_server_destroy(host.server);
	rs_session_destroy(host.session);
	sham_free(host.sham);
	host.over = false;
}

/* ---- arguments ---- */

static GVariant *take_string(struct rs_fuzz_input *in)
{
	uint8_t size = rs_fuzz_u8(in);
	g_autofree char *raw = g_malloc0(size + 1u);

	if (size < G_N_ELEMENTS(texts))
		return g_variant_new_string(texts[size]);
	rs_fuzz_take(in, raw, size);
	return g_variant_new_take_string(g_utf8_make_valid(raw, -1));
}

static GVariant *take_any(struct rs_fuzz_input *in, guint depth);

static GVariant *take_tuple(struct rs_fuzz_input *in, guint depth)
{
	GVariant *children[4];
	gsize count = rs_fuzz_u8(in) % (G_N_ELEMENTS(children) + 1);

	for (gsize i = 0; i < count; i++)
		children[i] = take_any(in, depth);
	return g_variant_new_tuple(children, count);
}

/* A dictionary of options, whose keys and values may be right. */
static GVariant *take_options(struct rs_fuzz_input *in, guint depth)
{
	GVariantBuilder builder;

	g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
	for (guint n = rs_fuzz_u8(in) % 4; n--;) {
		const char *key = keys[rs_fuzz_u8(in) % G_N_ELEMENTS(keys)];

		g_variant_builder_add(&builder, "{sv}", key, take_any(in, depth));
	}
	return g_variant_builder_end(&builder);
}

static GVariant *take_any(struct rs_fuzz_input *in, guint depth)
{
	uint8_t kind = rs_fuzz_u8(in) % 12;
	uint64_t value = rs_fuzz_u8(in);

	if (!depth && kind >= 8)
		kind -= 8;
	switch (kind) {
	case 0:
		return take_string(in);
	case 1:
		return g_variant_new_boolean(value & 1);
	case 2:
		return g_variant_new_uint32(value & 128 ? ~0u : (uint32_t)value % 4);
	case 3:
		return g_variant_new_int32((int32_t)value - 8);
	case 4:
		return g_variant_new_uint64(value << 56);
	case 5:
		return g_variant_new_double((double)value / 3);
	case 6:
		return g_variant_new_object_path(PATH);
	case 7:
		return g_variant_new_strv(texts, (gssize)(value % G_N_ELEMENTS(texts)));
	case 8:
		return g_variant_new_variant(take_any(in, depth - 1));
	case 9:
		return take_tuple(in, depth - 1);
	case 10:
		return take_options(in, depth - 1);
	default:
		return g_variant_new_maybe(G_VARIANT_TYPE_STRING, NULL);
	}
}

static GVariant *take_right(struct rs_fuzz_input *in, const char *type)
{
	GVariant *children[3];
	gsize count = 0;

	for (type++; *type == 's'; type++)
		children[count++] = take_string(in);
	children[count++] = take_options(in, DEPTH - 2);
	return g_variant_new_tuple(children, count);
}

/* D-Bus has no type for "nothing". */
static bool can_be_sent(GVariant *arguments)
{
	return !strchr(g_variant_get_type_string(arguments), 'm');
}

static bool holds_maybe(GVariant *value)
{
	GVariantIter iter;
	GVariant *child;
	bool holds = !can_be_sent(value);

	if (!g_variant_is_container(value) || holds)
		return holds;
	g_variant_iter_init(&iter, value);
	while ((child = g_variant_iter_next_value(&iter))) {
		holds |= holds_maybe(child);
		g_variant_unref(child);
	}
	return holds;
}

/* ---- calls ---- */

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GVariant) answer =
		g_dbus_connection_call_finish(G_DBUS_CONNECTION(object), result, &error);

	if (!answer && !g_utf8_validate(error->message, -1, NULL))
		abort();
	if (answer && !g_variant_is_normal_form(answer))
		abort();
	/* GDBus sends no empty structs. The peer has kept its bounds, so nobody sends it away. */
	if (!host.over && g_dbus_connection_is_closed(host.peer))
		abort();
	host.waiting--;
}

static void call(struct rs_fuzz_input *in)
{
	uint8_t kind = rs_fuzz_u8(in);
	guint number = kind % G_N_ELEMENTS(methods);
	g_autoptr(GVariant) arguments = NULL;

	if (number == STOP && kind < 128) /* a session is slow to make */
		number = 0;
	arguments = g_variant_ref_sink(rs_fuzz_u8(in) & 7 ? take_right(in, methods[number].type)
							  : take_tuple(in, DEPTH));
	if (holds_maybe(arguments))
		return;
	host.waiting++;
	g_dbus_connection_call(host.peer, NULL, PATH, INTERFACE, methods[number].name, arguments,
			       NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_answer, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const owners[] = {RS_OWNER_HOST, RS_OWNER_GUEST, "peer", "*"};
	struct rs_fuzz_input in = {data, size};

	if (!host.session)
		begin();
	for (int i = 0; i < CALLS && in.left; i++)
		call(&in);
	while (host.waiting)
		g_main_context_iteration(NULL, TRUE);
	if (host.over) {
		end();
		begin();
		return 0;
	}
	if (rs_session_state(host.session) == RS_SESSION_PAUSED)
		rs_session_resume(host.session, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(owners); i++)
		rs_session_forget_owner(host.session, owners[i]);
	return 0;
}

static void rs_fuzz_seeds(void)
{
	/* method, right, then its strings and options: a count, and for each key, kind and value */
	static const uint8_t seeds[][24] = {
		{0, 1, 0, 1, 1, 3, 0, 2, 1, 0, 3, 1, 2, 0, 4, 1, 1, 2, 2, 1},
		{5, 1, 1, 2, 0, 0, 0, 9, 1, 1, 1, 7, 1, 2, 6, 0, 8, 1, 1, 0, 6, 1, 0, 0},
		{9, 1, 0, 10, 1, 0, 11, 1, 0, 12, 1, 0, 13, 1, 1, 2, 2, 1},
		{5, 0, 2, 0, 0, 1, 10, 0, 0, 1, 0, 3, 9, 0, 2, 8, 0, 1, 4, 0, 6, 0},
		{254, 1, 3, 0, 15, 1, 0, 0},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, seeds[i], sizeof(seeds[i]));
	}
}
