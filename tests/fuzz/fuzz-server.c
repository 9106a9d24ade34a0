/* SPDX-License-Identifier: MIT */
/*
 * Calls of several peers, whose arguments have the types of the interface and options of any type.
 * Guests boot, describe events, cannot be stopped or written meanwhile, and end. Whatever a peer
 * sends, each call has one answer, and that is what D-Bus can carry.
 */
/* The clock is not what this is about. */
#define RS_FUZZ_TICK_NS 20000u

#include "input.h"
#include "seed.h"
#include "sham-bus.h"
#include "small-sham.h"
#include "virtual-time.h"

#include "server/server.h"
#include "session/commands.h"
#include "session/triggers.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <malloc.h>
#include <ringside/atomic.h>

#define STEPS 8
#define DEPTH 4u
#define EVENTS_MAX 24u

/* A step: one of the methods, or one of these. The number's upper bits say which peer. */
enum {
	JOINS = 38,
	LEAVES,
	BOOTS,     /* flags */
	PROVIDER,  /* how its events are */
	DIES,      /* slot; 128: and comes back */
	TROUBLE,   /* which */
	TURN,      /* so many ms later */
	DESCRIBES, /* slot; where in its entry, and what */
	SERVES,    /* which result; of a command, and that it wants the next one */
	NEWS,      /* which, and of which engine */
	HITS,      /* which trigger */
	OPS
};

static const struct {
	const char *name, *type; /* of its arguments */
} methods[JOINS] = {
	{"Sources", "(a{sv})"},
	{"List", "(sa{sv})"},
	{"ListProviders", "(a{sv})"},
	{"Format", "(sa{sv})"},
	{"Stat", "(a{sv})"},
	{"Enable", "(sa{sv})"},
	{"Disable", "(sa{sv})"},
	{"SetFilter", "(ssa{sv})"},
	{"ClearFilter", "(sa{sv})"},
	{"Pause", "(a{sv})"},
	{"Resume", "(a{sv})"},
	{"Claim", "(a{sv})"},
	{"Release", "(a{sv})"},
	{"OpenRegion", "(a{sv})"},
	{"Stop", "(sa{sv})"},
	{"NoSuchMethod", "(sa{sv})"},
	{"Ktrace", "(suia{sv})"},
	{"Threads", "(a{sv})"},
	{"EngineAttach", "(uua{sv})"},
	{"EngineControl", "(usa{sv})"},
	{"EngineList", "(a{sv})"},
	{"EngineRegisters", "(ua{sv})"},
	{"EngineSetRegisters", "(uatta{sv})"},
	{"EngineSetSyscall", "(utata{sv})"},
	{"EngineReadMemory", "(utua{sv})"},
	{"EngineWriteMemory", "(utaya{sv})"},
	{"EngineSetEvents", "(uua{sv})"},
	{"EngineSetSignal", "(usua{sv})"},
	{"EngineSetExitCode", "(uxa{sv})"},
	{"GuestCommand", "(uataya{sv})"},
	{"OpenProgram", "(a{sv})"},
	{"Sites", "(sa{sv})"},
	{"SaveWishes", "(sa{sv})"},
	{"RestoreWishes", "(a{sv})"},
	{"AddTrigger", "(ssasa{sv})"},
	{"RemoveTrigger", "(ua{sv})"},
	{"ListTriggers", "(a{sv})"},
	{"ListKept", "(a{sv})"},
};

static const char *const texts[] = {
	"*",           "sched:*", "sched:switch", "",
	"t/*:*",       "[",       "a > 2",        "a == 3 && c ~ \"x*\"",
	"host",        "peer",    "set",          "clear-all",
	"stop",        "resume",  "step",         "detach",
	"core",        "deliver", "pause",        "enable=irq:*",
	"snapshot=/x", "stack=9"};
static const char *const keys[] = {"owner",   "until-disconnect", "source", "after", "unknown",
				   "descend", "follow",           "ahead",  "count", "stack"};

static struct rs_small_memory memories[2];
static struct {
	struct sham *shams[2];
	struct rs_session *session;
	struct rs_server *server;
} run;

/* ---- life ---- */

/* A region's file can be opened anew, but it is none. */
static int any_file(uint8_t flags)
{
	static int file = -1;

	if (file < 0)
		file = open("/dev/null", O_RDWR | O_CLOEXEC);
	return flags & 2 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
}

static void add_guest(guint i, uint8_t flags)
{
	static const char *const sched[] = {"switch", NULL};
	struct rs_source_config config = {.kernel = "k"};
	struct sham *sham = rs_small_sham(&memories[i], 1, RS_CHANNEL_MAILBOX);

	run.shams[i] = sham;
	sham->region->fd = any_file(flags);
	if (rs_session_add_source(run.session, &config, sham->region, &sham->target, NULL, NULL))
		abort();
	sham_hello(sham, 0);
	if (!i || flags & 64)
		sham_provider(sham, "sched", sched);
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	for (guint i = 0; i < G_N_ELEMENTS(run.shams); i++)
		if (run.shams[i] && run.shams[i]->region == rs_source_region(source))
			run.shams[i]->running = run.shams[i]->dying = false;
}

/* ---- a watcher of triggers ---- */

static int watch(void *data, uint32_t number, const char *glob, const char *expression, bool shows,
		 struct rs_error *err)
{
	return 0;
}

static void unwatch(void *data, uint32_t number)
{
}

static uint64_t no_number(void *data, uint32_t number)
{
	return 0;
}

static uint64_t nothing(void *data)
{
	return 0;
}

static int snapshot(void *data, uint32_t number, const char *path, struct rs_error *err)
{
	return rs_error_set(err, EBUSY, "another one is being written");
}

static const struct rs_trigger_watcher watcher = {.watch = watch,
						  .unwatch = unwatch,
						  .hits = no_number,
						  .lost = nothing,
						  .snapshot = snapshot};

static void be_quiet(const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
	if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR))
		abort();
}

/* False: there is no server. */
static bool begin(uint8_t flags)
{
	static const struct rs_session_listener listener = {.ended = on_ended};

	/* Memory is not given back after each input. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	g_log_set_default_handler(be_quiet, NULL);
	memset(&run, 0, sizeof(run));
	rs_fuzz_now = RS_FUZZ_BEGIN;
	rs_bus.deaf = flags / 4 % 64 == 63;
	rs_bus.odd = flags / 4 % 64 == 62;
	if (rs_session_create("t", &run.session, NULL))
		abort();
	/* Guests are small here, and are to come to the end of a turn, too. */
	rs_session_set_turn(run.session, 8192);
	rs_session_add_listener(run.session, &listener);
	rs_session_set_trigger_watcher(run.session, &watcher);
	add_guest(0, flags);
	if (flags & 1)
		add_guest(1, flags);
	if (rs_server_create(run.session, "none", &run.server, NULL))
		return false;
	if (rs_session_start(run.session, NULL))
		abort();
	rs_session_refresh(run.session);
	rs_bus_join(0);
	return true;
}

static void end(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(run.shams); i++) {
		struct sham *sham = run.shams[i];

		if (!sham)
			continue;
		sham->unstoppable = sham->read_only = sham->dying = false;
		sham->stone = 0;
	}
	rs_server_destroy(run.server);
	rs_session_destroy(run.session);
	if (rs_bus.owed)
		abort(); /* an answer that never came */
	for (guint i = 0; i < G_N_ELEMENTS(run.shams); i++)
		if (run.shams[i])
			sham_free(run.shams[i]);
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
		return g_variant_new_object_path("/org/ringside/Session");
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

static GVariant *take_number(struct rs_fuzz_input *in, char type)
{
	/* Small, the largest, or negative. */
	uint8_t value = rs_fuzz_u8(in);
	uint64_t number = value >= 192 ? ~0ull << (value - 192) : value;

	switch (type) {
	case 's':
		return take_string(in);
	case 'u':
		return g_variant_new_uint32((uint32_t)number);
	case 'i':
		return g_variant_new_int32((int32_t)number);
	case 'x':
		return g_variant_new_int64((int64_t)number);
	case 'y':
		return g_variant_new_byte((uint8_t)number);
	default:
		return g_variant_new_uint64(number);
	}
}

static GVariant *take_numbers(struct rs_fuzz_input *in, char type)
{
	GVariantBuilder builder;

	g_variant_builder_init(&builder, type == 'y'   ? G_VARIANT_TYPE_BYTESTRING
					 : type == 's' ? G_VARIANT_TYPE_STRING_ARRAY
						       : G_VARIANT_TYPE("at"));
	for (guint n = rs_fuzz_u8(in) % 64; n--;)
		g_variant_builder_add_value(&builder, take_number(in, type));
	return g_variant_builder_end(&builder);
}

static GVariant *take_right(struct rs_fuzz_input *in, const char *type)
{
	GVariant *children[5];
	gsize count = 0;

	for (type++; strcmp(type, "a{sv})"); type++) {
		if (*type == 'a')
			children[count++] = take_numbers(in, *++type);
		else
			children[count++] = take_number(in, *type);
	}
	children[count++] = take_options(in, DEPTH - 2);
	return g_variant_new_tuple(children, count);
}

/* ---- steps ---- */

static void call(guint peer, guint number, struct rs_fuzz_input *in)
{
	g_autoptr(GVariant) arguments = g_variant_ref_sink(take_right(in, methods[number].type));

	rs_bus_call(peer, methods[number].name, arguments);
}

static void add_provider(struct sham *sham, uint8_t how)
{
	static const char *const names[][3] = {
		{"switch"}, {"entry", "\x1b[2J"}, {"wakeup", "switch"}, {"x"}};
	const struct rs_guest_info *info =
		rs_trace_region_section(sham->region, RS_SEC_GUEST_INFO, NULL);

	if (sham->events + 3 > EVENTS_MAX || info->provider_slots >= RS_SMALL_PROVIDERS)
		return;
	sham->odd = how & 4;
	sham->torn = how & 8;
	sham->more_sites = how / 16 % 4;
	sham_provider(sham, how & 128 ? "\xff\xfe" : "irq", names[how % 4]);
}

static void trouble(struct sham *sham, uint8_t kind)
{
	sham->unstoppable = kind & 1;
	sham->read_only = kind & 2;
	sham->dying = kind & 4 && sham->running;
	sham->stone = kind & 8 ? RS_FIRST_EVENT_ID + kind / 16 % 4 : 0;
}

/* An agent need not make its provider's entry as ours does. */
static void describe(struct sham *sham, uint8_t slot, struct rs_fuzz_input *in)
{
	struct rs_provider *entry =
		rs_trace_region_element(sham->region, RS_SEC_PROVIDERS, slot % 4);
	uint8_t how = rs_fuzz_u8(in), at = rs_fuzz_u8(in);
	uint64_t value;

	rs_fuzz_take(in, &value, sizeof(value));
	rs_fuzz_change((uint8_t *)entry + at * 2u % (sizeof(*entry) - 7), how, value);
	sham_provider_returns(sham, slot % 4);
}

static void request(struct sham *sham, uint32_t number, const uint64_t args[4], uint32_t size)
{
	struct rs_hcall_request *r = rs_trace_region_element(sham->region, RS_SEC_REQUEST, 0);

	r->number = number;
	memcpy(r->args, args, 4 * sizeof(*args));
	r->data_size = size;
	rs_store_release(&r->sequence, r->sequence + 1);
	rs_fuzz_now += 10000000u;
	g_main_context_iteration(NULL, FALSE);
}

/* What a command yields: any result, small numbers, and any bytes. */
static void serve(struct sham *sham, uint8_t how, struct rs_fuzz_input *in)
{
	const struct rs_hcall_response *got =
		rs_trace_region_element(sham->region, RS_SEC_RESPONSE, 0);
	struct rs_hcall_request *r = rs_trace_region_element(sham->region, RS_SEC_REQUEST, 0);
	uint64_t args[4] = {got->values[0], 0, rs_fuzz_u8(in), rs_fuzz_u8(in)};
	const uint32_t sizes[] = {0, 48, 96, 144, 192, RS_HCALL_DATA - 1, RS_HCALL_DATA, ~0u};

	args[1] = (uint64_t)(int64_t)(int8_t)rs_fuzz_u8(in);
	if (how & 8)
		args[0] += how / 16;
	rs_fuzz_take(in, r->data, 64);
	request(sham, RS_HCALL_COMMAND, args, sizes[how % 8]);
}

static void guest_does(struct sham *sham, guint what, uint8_t how, struct rs_fuzz_input *in)
{
	switch (what) {
	case BOOTS:
		if (sham->running)
			sham_hello(sham, how % 16);
		break;
	case PROVIDER:
		add_provider(sham, how);
		break;
	case DIES:
		sham_provider_dies(sham, how % 4);
		if (how & 128)
			sham_provider_returns(sham, how % 4);
		break;
	case TROUBLE:
		trouble(sham, how);
		break;
	case DESCRIBES:
		describe(sham, how, in);
		break;
	case SERVES:
		serve(sham, how, in);
		break;
	case NEWS:
		request(sham, RS_HCALL_NEWS,
			(const uint64_t[]){how % 7, how / 7 % 4, rs_fuzz_u8(in), 0}, 0);
		break;
	case HITS:
		rs_session_trigger_hit(run.session, how % 8,
				       &(struct rs_trigger_hit){.event = "irq:x"});
		break;
	case TURN:
		rs_fuzz_now += how * 1000000u;
		g_main_context_iteration(NULL, FALSE);
		break;
	}
}

static void play(struct rs_fuzz_input *in)
{
	uint8_t kind = rs_fuzz_u8(in);
	guint what = kind % OPS, peer = kind / OPS % RS_SHAM_PEERS;

	if (what == JOINS)
		rs_bus_join(peer);
	else if (what == LEAVES)
		rs_bus_leave(peer);
	else if (what > LEAVES)
		guest_does(run.shams[run.shams[1] && peer], what, rs_fuzz_u8(in), in);
	else if (rs_bus.peers[peer])
		call(peer, what, in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};

	if (begin(rs_fuzz_u8(&in)))
		for (int i = 0; i < STEPS && in.left; i++)
			play(&in);
	end();
	return 0;
}

/* Peer `p` does what; a seed's step. */
#define BY(p, what) (OPS * (p) + (what))

static void rs_fuzz_seeds(void)
{
	/* Flags; then what, its strings, and a count of options: for each key, kind, value. */
	static const uint8_t seeds[][64] = {
		{65, 0, 0, 1, 0, 0, 2, 0, 3,  0, 0,  3, 1, 1, 3, 4,
		 1,  4, 0, 4, 1, 2, 2, 2, 13, 0, 13, 1, 2, 2, 1},
		{0, 5, 1, 2, 0, 0, 0, 9, 1, 1, 1, 7, 1, 6,
		 1, 0, 0, 0, 9, 1, 0, 1, 8, 1, 0, 6, 0, 0},
		{0, BY(1, JOINS), 11, 0, BY(1, 5), 0, 0, BY(1, 12), 0, 12, 0, 10, 0, 9, 0, 10, 0},
		{0, BY(1, JOINS), BY(1, 5), 1, 2, 0, 0, 0, 9, 1, 1, 1, BY(1, LEAVES), TURN, 200, 1,
		 0, 0},
		{65, PROVIDER, 16, TURN, 200, TROUBLE, 8, 5, 0, 0, TURN, 200, BOOTS, 0, TURN, 200,
		 2, 0},
		{0, DIES, 0, TURN, 200, DIES, 128, TURN, 200, 9, 0, 14, 3, 0, 4, 0, 5, 0, 0},
		{0, 14, 3, 1, 4, 0, 0},
		/* Wishes are saved, others come, a provider goes and comes back; restored. */
		{0, 5, 1, 0, 32, 8, 0, 7, 1, 6, 0, DIES, 0, DIES, 128, TURN, 200, 33, 0, 33, 0, 0},
		/* Bonds of two peers and of two owners, which end one after the other. */
		{0,        BY(1, JOINS),
		 5,        1,
		 2,        0,
		 0,        0,
		 9,        1,
		 1,        1,
		 5,        1,
		 2,        0,
		 0,        0,
		 9,        1,
		 1,        1,
		 BY(1, 5), 2,
		 2,        0,
		 0,        0,
		 10,       'a',
		 'n',      'o',
		 't',      'h',
		 'e',      'r',
		 'o',      'n',
		 'e',      1,
		 1,        1,
		 6,        1,
		 1,        0,
		 0,        0,
		 9,        BY(1, LEAVES),
		 LEAVES},
		/* The host disables what a peer still wants. Not all can be written. */
		{0, 5, 0, 1, 0, 0, 0, 9, 6, 0, 0, TROUBLE, 8, 5, 0, 0, 1, 0, 0},
		/* A provider with an image, a build id and a process. */
		{0,
		 DESCRIBES,
		 0,
		 3,
		 offsetof(struct rs_provider, image_end) / 2,
		 0,
		 0,
		 1,
		 0,
		 0,
		 0,
		 0,
		 0,
		 DESCRIBES,
		 0,
		 2,
		 offsetof(struct rs_provider, build_id_size) / 2,
		 8,
		 0,
		 0,
		 0,
		 0,
		 0,
		 0,
		 0,
		 TURN,
		 200,
		 2,
		 0},
		/* Commands: threads, an engine that stops and goes on, and its peer that leaves. */
		{0, SERVES, 0,      0,  0, 0, 17, 0, SERVES, 2, 0, 0,  2, 1,     2, 3, 18,     7,
		 0, 0,      SERVES, 1,  1, 0, 0,  7, NEWS,   5, 6, 20, 0, 21,    1, 0, SERVES, 4,
		 1, 4,      18,     24, 1, 1, 8,  0, SERVES, 1, 0, 0,  8, LEAVES},
		{0, SERVES, 0, 0, 0, 0, 16, 10, 2, 3, 0, SERVES, 0, 0, 0, 1, TURN, 200, BOOTS, 0},
		/* Triggers: one that waits for its filter and is removed, one that is spent. */
		{0,         PROVIDER, 2,         32,   0, 6,    2,   18, 19, 0,  BY(1, JOINS),
		 BY(1, 34), 0,        BY(1, 33), 1,    0, 32,   0,   3,  1,  18, 1,
		 8,         2,        1,         HITS, 2, TURN, 200, 34, 0},
		{65, 32, 1, 7, 1, 21, 0, DIES, 0, TURN, 200, TURN, 200, 34, 0, 35, 0},
		/* A guest that ends in the pause in which it was to be patched. */
		{65 | 2, TROUBLE, 255, 5, 0, 0, TURN, 200, TURN, 200},
		{2, 13, 0, 0, 0},
		{252},
		{248},
	};
	/* A filter that takes several turns, between which the guest goes on. */
	static const uint8_t before[] = {0, PROVIDER, 2,   PROVIDER, 130, PROVIDER,
					 1, TURN,     200, 7,        0};
	static const uint8_t after[] = {0, TURN, 0, TURN, 200, TURN, 200};
	g_autoptr(GByteArray) late = g_byte_array_new();
	g_autoptr(GString) text = g_string_new("a == 1");
	char name[16];

	while (text->len < 240)
		g_string_append(text, " || a == 7");
	g_byte_array_append(late, before, sizeof(before));
	g_byte_array_append(late, &(uint8_t){(uint8_t)text->len}, 1);
	g_byte_array_append(late, (const guint8 *)text->str, (guint)text->len);
	g_byte_array_append(late, after, sizeof(after));
	rs_fuzz_seed("late", late->data, late->len);
	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, seeds[i], sizeof(seeds[i]));
	}
}
