/* SPDX-License-Identifier: MIT */
/*
 * A session with a guest that may do anything: it makes hypercalls, writes descriptors and every
 * other word that it can, boots again, cannot be stopped or written. Peers ask meanwhile. Whatever
 * comes, the session answers, what it says is text, another guest's events stay as its own peers
 * want them, and the text is restored in the end.
 */
/* The clock is not what this is about: who waits for an agent's answer looks five times. */
#define RS_FUZZ_TICK_NS 20000u

#include "session/commands.h"

#include "input.h"
#include "seed.h"
#include "small-sham.h"
#include "virtual-time.h"

#include <malloc.h>
#include <ringside/atomic.h>

#define CPUS 2u
#define EVENTS_MAX 24u
#define TEXT_MAX 255u
#define SHORT_TURN 8192u
#define SHORTEST_TURN 1024u

enum {
	HELLO,     /* a: flags */
	PROVIDER,  /* a: system, and how the events are; b: which events */
	DIES,      /* a: slot */
	RETURNS,   /* likewise */
	SCRIBBLE,  /* a: section, b: how; then where and what */
	HYPERCALL, /* a: number, b: slot; then an argument and a text */
	MAILBOX,   /* likewise, found by the session's timer */
	ENABLE,    /* a: owner, b: glob */
	DISABLE,
	FILTER, /* then an expression */
	FORGET,
	LIST, /* b: glob */
	TURN, /* a: so many ms later */
	PAUSE,
	RESUME,
	TROUBLE, /* a: of which kind */
	COMMAND, /* to the guest. a: whose, b: data, and whether former ones are dropped */
	OPS
};

struct __attribute__((packed)) op {
	uint8_t what, a, b;
};

static const uint8_t guest_sections[] = {RS_SEC_GUEST_INFO, RS_SEC_PROVIDERS,  RS_SEC_EVENTS,
					 RS_SEC_REQUEST,    RS_SEC_RING_STATE, RS_SEC_RINGS};

/* Text number n of the input; from FIRST_OWN on the input spells it. */
static const char *const texts[] = {
	"*",
	"sched:*",
	"irq:entry",
	"*/sched:switch",
	"other/*:*",
	"switch",
	"a == 3",
	"a == 3 && b < -1 || c ~ \"x*\"",
	"c == 'sixteen bytes ab'",
	"sched:*: a & 5",
	"*: b > 2",
	"sched:switch:a > 1",
	"",
	"COMM ~ [a-z]* && CPU & CPUS{0-1}",
	"nothing:there",
	"sched:switch: ",
};

static const char *const owners[] = {RS_OWNER_HOST, RS_OWNER_GUEST, "peer",
				     "bad name",    "another",      ""};

/* Who asks: their addresses. */
static char peers[4];

static struct {
	struct sham *sham, *other;
	struct rs_session *session;
	uint32_t waiting;     /* requests that are not settled */
	uint32_t commands[4]; /* of each peer, that wait for the guest */
	bool dropped;         /* some peer has gone */
	bool mine;            /* the other guest has an event */
	bool ended[2];
	bool troubled; /* text may stay as it is */
} run;

/* Of both guests. */
static struct rs_small_memory memories[2];

/* ---- what the session says ---- */

RS_FUZZ_NOT_SEEN static void check_text(const char *text)
{
	if (!g_utf8_validate(text, -1, NULL))
		abort();
	for (; *text; text++)
		if ((guchar)*text < 0x20 && *text != '\n')
			abort();
}

static void on_message(void *data, const char *text)
{
	check_text(text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	if (err->code <= 0)
		abort();
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	bool other = rs_source_region(source) == run.other->region;
	struct sham *sham = other ? run.other : run.sham;

	if (run.ended[other])
		abort();
	run.ended[other] = true;
	sham->running = sham->dying = false;
}

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	if (!run.waiting-- || !request || ret > 0 || (ret && !err->code) || result->later)
		abort();
	for (guint i = 0; result->problems && i < result->problems->len; i++)
		check_text(result->problems->pdata[i]);
}

static const struct rs_session_listener listener = {
	.message = on_message, .failed = on_failed, .settled = on_settled, .ended = on_ended};

/* ---- life ---- */

static struct sham *add_guest(const char *name, struct rs_small_memory *memory, uint32_t channel)
{
	struct rs_source_config config = {.kernel = name};
	struct sham *sham = rs_small_sham(memory, CPUS, channel);

	if (rs_session_add_source(run.session, &config, sham->region, &sham->target, NULL, NULL))
		abort();
	return sham;
}

/* The other guest has an event, which one peer wants all the time. */
static void describe_other(void)
{
	static const char *const names[] = {"switch", NULL};

	run.mine = true;
	sham_hello(run.other, 0);
	sham_provider(run.other, "mine", names);
	rs_session_refresh(run.session);
	if (rs_session_enable(run.session, "another", "other/mine:*", NULL, NULL) ||
	    !sham_patched(run.other, RS_FIRST_EVENT_ID))
		abort();
}

static void begin(uint8_t flags)
{
	memset(&run, 0, sizeof(run));
	rs_fuzz_now = RS_FUZZ_BEGIN;
	if (rs_session_create("fuzz", &run.session, NULL))
		abort();
	rs_session_add_listener(run.session, &listener);
	run.sham =
		add_guest("guest", &memories[0], flags & 1 ? RS_CHANNEL_PORT : RS_CHANNEL_MAILBOX);
	run.other = add_guest("other", &memories[1], RS_CHANNEL_PORT);
	if (flags & 2) /* before the start, where they wait for their events */
		rs_session_set_filter(run.session, RS_OWNER_HOST, "sched:*", "a == 3", NULL, NULL);
	if (rs_session_start(run.session, NULL))
		abort();
	if (flags & 8)
		describe_other();
	/* Guests and requests are small here, and are to come to the end of a turn, too. */
	rs_session_set_turn(run.session, flags & 4 ? SHORTEST_TURN : SHORT_TURN);
}

static void end(void)
{
	struct sham *sham = run.sham;

	sham->unstoppable = sham->read_only = sham->dying = sham->not_ready = false;
	sham->stone = 0;
	rs_session_destroy(run.session);
	/* Those of peers that have gone are not. */
	if (run.waiting && !run.dropped)
		abort();
	for (size_t i = 0; i < G_N_ELEMENTS(run.commands); i++)
		if (run.commands[i])
			abort();
	if (run.mine && !run.ended[1] && sham_patched(run.other, RS_FIRST_EVENT_ID))
		abort();
	for (uint32_t i = 0; !run.troubled && !run.ended[0] && i < sham->events; i++)
		if (sham_patched(sham, RS_FIRST_EVENT_ID + i))
			abort();
	sham_free(sham);
	sham_free(run.other);
}

/* ---- the guest ---- */

static void add_provider(const struct op *op)
{
	static const char *const systems[] = {"sched", "irq", "sched", "\x1b[2J"};
	static const char *const names[][4] = {{"switch", "wakeup"},
					       {"entry", "exit", "switch"},
					       {"bad name", "x"},
					       {"wakeup", "switch", "entry", NULL}};
	const struct rs_guest_info *info =
		rs_trace_region_section(run.sham->region, RS_SEC_GUEST_INFO, NULL);
	const char *some[5] = {NULL};

	memcpy(some, names[op->b % 4], sizeof(names[0]));
	if (run.sham->events + 4 > EVENTS_MAX || info->provider_slots >= RS_SMALL_PROVIDERS)
		return;
	run.sham->odd = op->a & 4;
	run.sham->torn = op->a & 8;
	run.sham->more_sites = op->a / 16 % 4;
	/* Its sites never hold a NOP. */
	run.troubled |= run.sham->torn;
	sham_provider(run.sham, systems[op->a % 4], some);
}

static void scribble(const struct op *op, struct rs_fuzz_input *in)
{
	RsTraceRegion *region = run.sham->region;
	const struct rs_guest_info *info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	uint8_t *section;
	uint64_t value;
	uint16_t at;
	gsize size;

	rs_fuzz_take(in, &at, sizeof(at));
	rs_fuzz_take(in, &value, sizeof(value));
	section = rs_trace_region_section(region, guest_sections[op->a % sizeof(guest_sections)],
					  &size);
	if (op->a >= 128)
		at %= 1024; /* where everything is */
	memories[0].rings |= guest_sections[op->a % sizeof(guest_sections)] == RS_SEC_RINGS;
	rs_fuzz_change(section + at % (size - 7), op->b, value);
	/* By another boot's number it says that its text is new, which it is not. */
	run.troubled |= info->boot != run.sham->boot;
}

/* Texts that an input need not spell: START, then so many terms. */
static const struct {
	const char *start, *term;
	guint terms;
} long_texts[] = {
	/* Filters that are too large for a guest, and for anybody; a long glob; too much. */
	{"a == 1", " || a == %u", 90},
	{"a == 1", " || a == %u", 400},
	{"a == 1", "*******", 40},
	{"a == 1", " || a == %u", 2000},
	/* What a guest asks for: too much, or a filter that does not fit beside the next. */
	{"sched:*: a == 1", " || a == %u", 90},
	{"sched:switch: a < 1", " || a < %u", 30},
	{"b < 1", " || b < %u", 36},
};

static const char *long_text(guint which)
{
	static char *made[G_N_ELEMENTS(long_texts)];
	GString *text;

	if (made[which])
		return made[which];
	text = g_string_new(long_texts[which].start);
	for (guint i = 0; i < long_texts[which].terms; i++)
		g_string_append_printf(text, long_texts[which].term, i);
	made[which] = g_string_free(text, FALSE);
	return made[which];
}

/* Its number. */
#define LONG(which) (uint8_t)(G_N_ELEMENTS(texts) + (which))

/* To be freed. */
static char *take_text(struct rs_fuzz_input *in)
{
	char text[TEXT_MAX + 1] = "";
	uint8_t size = rs_fuzz_u8(in);

	if (size < G_N_ELEMENTS(texts))
		return g_strdup(texts[size]);
	if (size < LONG(G_N_ELEMENTS(long_texts)))
		return g_strdup(long_text(size - (guint)G_N_ELEMENTS(texts)));
	rs_fuzz_take(in, text, size);
	return g_strndup(text, size);
}

#define NUMBERS (RS_HCALL_NEWS + 2u) /* of requests, and one that is none */

#define ITS_COMMAND (UINT16_MAX - 1u) /* an argument: the id of the command that it was given */

static void put_request(const struct op *op, struct rs_fuzz_input *in)
{
	struct rs_hcall_request *request =
		rs_trace_region_element(run.sham->region, RS_SEC_REQUEST, op->b % 4);
	g_autofree char *text = NULL;
	uint16_t arg;

	rs_fuzz_take(in, &arg, sizeof(arg));
	text = take_text(in);
	request->number = op->a % NUMBERS;
	request->args[0] = arg == UINT16_MAX ? UINT64_MAX : arg;
	if (arg == ITS_COMMAND)
		request->args[0] = sham_response(run.sham, op->b % 4)->values[0];
	request->args[1] = op->b / 4;
	request->args[2] = op->a / NUMBERS % 3;
	request->data_size = (uint32_t)strlen(text);
	memcpy(request->data, text, MIN(request->data_size, RS_HCALL_DATA));
	rs_store_release(&request->sequence, request->sequence + 1);
}

static void ring(const struct op *op)
{
	struct rs_target *target = &run.sham->target;
	struct rs_target_end why = {0};

	/* Most rings mean the request that was made. */
	if (!target->events.hypercall(target->events.data, op->b & 128 ? op->b : op->b % 4, &why))
		return;
	if (!run.ended[0])
		target->events.ended(target->events.data, &why);
}

static void guest_asks(const struct op *op, struct rs_fuzz_input *in)
{
	uint32_t generation = sham_generation(run.other);

	put_request(op, in);
	if (run.ended[0])
		return;
	if (op->what % OPS == HYPERCALL)
		ring(op);
	if (sham_generation(run.other) != generation)
		abort();
}

/* ---- the peers ---- */

static void check_result(struct rs_session_result *result)
{
	for (guint i = 0; result->problems && i < result->problems->len; i++)
		check_text(result->problems->pdata[i]);
	rs_session_result_clear(result);
}

/* As those ask of whom there is only one. */
static int ask_briefly(const struct rs_session_ask *ask, struct rs_session_result *result,
		       struct rs_error *err)
{
	if (ask->kind == RS_ASK_ENABLE)
		return rs_session_enable(run.session, ask->owner, ask->glob, result, err);
	if (ask->kind == RS_ASK_DISABLE)
		return rs_session_disable(run.session, ask->owner, ask->glob, result, err);
	return rs_session_set_filter(run.session, ask->owner, ask->glob, ask->expression, result,
				     err);
}

static void peer_asks(const struct op *op, struct rs_fuzz_input *in)
{
	const char *owner = owners[op->a % G_N_ELEMENTS(owners)];
	struct rs_session_ask ask = {.from = &peers[op->a / 64], .owner = owner};
	struct rs_session_result result = {0};
	struct rs_error err = {0};
	g_autofree char *raw = NULL, *glob = NULL, *expression = NULL;
	int ret;

	raw = take_text(in);
	ask.glob = glob = g_utf8_make_valid(raw, -1);
	switch (op->what % OPS) {
	case ENABLE:
		ask.kind = RS_ASK_ENABLE;
		break;
	case DISABLE:
		ask.kind = RS_ASK_DISABLE;
		break;
	default:
		g_free(raw);
		raw = take_text(in);
		ask.expression = expression = g_utf8_make_valid(raw, -1);
		ask.kind = RS_ASK_FILTER;
		break;
	}
	ret = op->b & 1 ? ask_briefly(&ask, &result, &err)
			: rs_session_ask(run.session, &ask, &result, &err);
	if (ret > 0 || (ret && !err.code))
		abort();
	if (result.later)
		run.waiting++;
	check_result(&result);
}

static void forget(const char *owner)
{
	const struct rs_session_ask ask = {.owner = owner, .kind = RS_ASK_FORGET};
	struct rs_session_result result = {0};

	if (!strcmp(owner, "another"))
		return;
	/* It fails if the guest cannot be paused just then. */
	if (rs_session_ask(run.session, &ask, &result, NULL) > 0)
		abort();
	if (result.later)
		run.waiting++;
	check_result(&result);
}

static void list(struct rs_fuzz_input *in)
{
	g_autofree char *glob = take_text(in);
	g_autoptr(GArray) events = rs_session_list(run.session, *glob ? glob : NULL);
	g_autoptr(GArray) providers = NULL;
	struct rs_source_stat stat;

	for (guint i = 0; i < events->len; i++) {
		const struct rs_session_event *e =
			&g_array_index(events, struct rs_session_event, i);

		if (e->note)
			check_text(e->note);
		g_free(rs_trace_event_format(e->event));
	}
	/* The session has looked at the guest again: the events may be others. */
	providers = rs_session_list_providers(run.session);
	for (guint i = 0; i < providers->len; i++) {
		const struct rs_session_provider *p =
			&g_array_index(providers, struct rs_session_provider, i);

		if (!memchr(p->provider->name, 0, sizeof(p->provider->name)))
			abort();
	}
	for (guint i = 0; i < rs_session_n_sources(run.session); i++) {
		rs_source_stat(rs_session_source(run.session, i), &stat);
		/* A guest that patches itself may claim anything. */
		if ((stat.sites_on > stat.sites && !stat.self_patch) ||
		    stat.events_on > stat.events)
			abort();
	}
	rs_session_stat(run.session, &stat);
}

static bool command(uint8_t peer, uint32_t size);

/* Of each command once, unless it was dropped. */
static void on_command(void *data, int ret, const struct rs_command_result *result,
		       const struct rs_error *err)
{
	uint8_t peer = (uint8_t)((char *)data - peers);

	if (!run.commands[peer]--)
		abort();
	if (ret > 0 || (ret == 0) != (result != NULL) || (ret && err->code != -ret))
		abort();
	if (err)
		check_text(err->message);
	if (result && result->size > RS_CMD_DATA)
		abort();
	/* It may be answered by the next one. */
	if (result ? result->result > 0 : ret == -EAGAIN)
		command(peer, 1);
}

/* Whether it will be told what comes of it. */
static bool command(uint8_t peer, uint32_t size)
{
	static const uint8_t data[RS_CMD_DATA];
	const struct rs_source_command what = {
		.number = peer, .args = {peer, size}, .data = data, .size = size};
	const uint32_t before = run.commands[peer];
	struct rs_error err = {0};
	int ret = rs_source_send_command(rs_session_source(run.session, 0), &what, on_command,
					 &peers[peer], &err);

	if (ret > 0 || (ret && !err.code) || run.commands[peer] != before)
		abort();
	run.commands[peer] += !ret;
	return !ret;
}

static void send_commands(const struct op *op)
{
	const uint8_t peer = op->a % 4;

	if (op->b & 64) {
		rs_source_drop_commands(rs_session_source(run.session, 0), &peers[peer]);
		run.commands[peer] = 0;
	}
	if (op->b & 128) /* as many as there is room for */
		while (command(peer, 0))
			;
	command(peer, op->b & 1 ? RS_CMD_DATA : op->b % 64);
}

#define ALL_STONE (8u | 3u << 4)
#define NOT_READY 128u

static void trouble(uint8_t kind)
{
	static const uint32_t stones[] = {RS_FIRST_EVENT_ID, RS_FIRST_EVENT_ID + 1,
					  RS_FIRST_EVENT_ID + 2, SHAM_ALL};
	struct sham *sham = run.sham;

	sham->unstoppable = kind & 1;
	sham->read_only = kind & 2;
	sham->dying = kind & 4 && !run.ended[0];
	sham->stone = kind & 8 ? stones[kind / 16 % 4] : 0;
	sham->announced = kind & 64 ? 0x40 : 0;
	if (kind & NOT_READY)
		sham->not_ready = true;
	else if (sham->not_ready && !run.ended[0])
		sham_get_ready(sham);
	/* A provider that goes now leaves its text patched. */
	run.troubled |= sham->unstoppable || sham->read_only || sham->stone;
}

static void play(const struct op *op, struct rs_fuzz_input *in)
{
	switch (op->what % OPS) {
	case HELLO:
		if (!run.ended[0])
			sham_hello(run.sham, op->a % 16);
		/* The text of an earlier boot is gone, but the sham's is not. */
		run.troubled |= run.sham->boot > 1;
		break;
	case PROVIDER:
		add_provider(op);
		break;
	case DIES:
		sham_provider_dies(run.sham, op->a % 8);
		break;
	case RETURNS:
		sham_provider_returns(run.sham, op->a % 8);
		break;
	case SCRIBBLE:
		scribble(op, in);
		break;
	case HYPERCALL:
	case MAILBOX:
		guest_asks(op, in);
		break;
	case ENABLE:
	case DISABLE:
	case FILTER:
		peer_asks(op, in);
		break;
	case FORGET:
		if (op->b & 1) {
			rs_session_drop_asks(run.session, &peers[op->a / 64]);
			run.dropped = true;
		}
		forget(owners[op->a % G_N_ELEMENTS(owners)]);
		break;
	case LIST:
		list(in);
		break;
	case TURN:
		rs_fuzz_now += op->a * 1000000u;
		g_main_context_iteration(NULL, FALSE);
		break;
	case PAUSE:
		rs_session_pause(run.session, NULL);
		break;
	case RESUME:
		rs_session_resume(run.session, NULL);
		break;
	case TROUBLE:
		trouble(op->a);
		break;
	case COMMAND:
		send_commands(op);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct op op;

	/* Memory is not given back after each input. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	begin(rs_fuzz_u8(&in));
	for (int i = 0; i < 20 && rs_fuzz_take(&in, &op, sizeof(op)); i++)
		play(&op, &in);
	end();
	return 0;
}

/* ---- seeds ---- */

static void add(GByteArray *out, uint8_t what, uint8_t a, uint8_t b, const void *more, guint size)
{
	g_byte_array_append(out, (const guint8[]){what, a, b}, 3);
	g_byte_array_append(out, more, size);
}

static void ask(GByteArray *out, uint8_t what, uint8_t number, uint16_t arg, uint8_t text)
{
	uint8_t more[3] = {(uint8_t)arg, (uint8_t)(arg >> 8), text};

	add(out, what, number, 0, more, 3);
}

static void start_seed(GByteArray *out, uint8_t flags, uint8_t hello)
{
	g_byte_array_set_size(out, 0);
	g_byte_array_append(out, &flags, 1);
	add(out, HELLO, hello, 0, NULL, 0);
	add(out, PROVIDER, 16, 0, NULL, 0);
	add(out, PROVIDER, 1, 1, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
}

/* Requests that wait for a guest: it can be patched then, it cannot, or it ends. */
static void seed_late(GByteArray *out)
{
	static const uint8_t then[] = {0, ALL_STONE, 2, 1, 4};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(then); i++) {
		start_seed(out, 0, 0);
		add(out, PROVIDER, 48, 1, NULL, 0);
		add(out, PROVIDER, 48, 3, NULL, 0);
		add(out, TURN, 110, 0, NULL, 0);
		add(out, TROUBLE, NOT_READY, 0, NULL, 0);
		add(out, ENABLE, 2, 1, "\0", 1);
		add(out, ENABLE, 64 + 2, 0, "\1", 1);
		add(out, TURN, 110, 0, NULL, 0);
		add(out, DISABLE, 2, 1, "\2", 1);
		add(out, TROUBLE, then[i], 0, NULL, 0);
		add(out, TURN, 110, 0, NULL, 0);
		add(out, TURN, 110, 0, NULL, 0);
		add(out, TROUBLE, 0, 0, NULL, 0);
		add(out, TURN, 110, 0, NULL, 0);
		add(out, LIST, 0, 0, "\0", 1);
		snprintf(name, sizeof(name), "late%zu", i);
		rs_fuzz_seed(name, out->data, out->len);
	}
}

/* Filters that take all the room there is: the guest's makes way for a peer's. */
static void seed_full(GByteArray *out)
{
	start_seed(out, 1, 0);
	ask(out, HYPERCALL, RS_HCALL_ENABLE, 0, 1);
	add(out, TURN, 1, 0, NULL, 0);
	ask(out, HYPERCALL, RS_HCALL_SET_FILTER, 0, LONG(5));
	add(out, TURN, 1, 0, NULL, 0);
	add(out, TURN, 1, 0, NULL, 0);
	add(out, ENABLE, 2, 0, "\2", 1);
	add(out, TURN, 1, 0, NULL, 0);
	add(out, FILTER, 2, 0, (uint8_t[]){2, LONG(0)}, 2);
	add(out, TURN, 1, 0, NULL, 0);
	add(out, TURN, 1, 0, NULL, 0);
	add(out, FILTER, 4, 0, (uint8_t[]){3, LONG(6)}, 2);
	add(out, TURN, 1, 0, NULL, 0);
	add(out, TURN, 1, 0, NULL, 0);
	add(out, ENABLE, 4, 0, "\3", 1);
	add(out, TURN, 1, 0, NULL, 0);
	ask(out, HYPERCALL, RS_HCALL_SET_FILTER, 0, LONG(4));
	rs_fuzz_seed("full", out->data, out->len);
}

/* Each owner's filter fits an event that comes later, but not both. */
static void seed_overfull(GByteArray *out)
{
	g_byte_array_set_size(out, 0);
	g_byte_array_append(out, (const guint8[]){0}, 1);
	add(out, HELLO, 0, 0, NULL, 0);
	add(out, FILTER, 2, 0, (uint8_t[]){1, LONG(0)}, 2);
	add(out, FILTER, 4, 0, (uint8_t[]){1, LONG(6)}, 2);
	add(out, ENABLE, 2, 0, "\1", 1);
	add(out, ENABLE, 4, 0, "\1", 1);
	add(out, PROVIDER, 0, 0, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
	add(out, LIST, 0, 0, "\0", 1);
	add(out, FILTER, 4, 0, "\1\6", 2);
	add(out, FILTER, 4, 0, (uint8_t[]){1, LONG(6)}, 2);
	rs_fuzz_seed("overfull", out->data, out->len);
}

/* Entries of a provider that no agent makes. */
static void seed_entries(GByteArray *out)
{
	static const struct {
		size_t at;
		uint8_t how; /* see rs_fuzz_change() */
		uint64_t value;
	} changes[] = {
		{offsetof(struct rs_provider, site_stride), 2, 1},
		{offsetof(struct rs_provider, sites), 3, 1ull << 40},
		{offsetof(struct rs_provider, site_count), 2, 0},
		{offsetof(struct rs_provider, first_id), 2, 95},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
		uint16_t at = (uint16_t)changes[i].at;

		start_seed(out, 0, 0);
		add(out, SCRIBBLE, 1, changes[i].how, &at, sizeof(at));
		g_byte_array_append(out, (const guint8 *)&changes[i].value, sizeof(uint64_t));
		add(out, RETURNS, 0, 0, NULL, 0);
		add(out, TURN, 110, 0, NULL, 0);
		snprintf(name, sizeof(name), "entry%zu", i);
		rs_fuzz_seed(name, out->data, out->len);
	}
}

/* A task of the guest is given commands. It does as asked, gives no result, dies, and boots. */
static void seed_commands(GByteArray *out)
{
	static const uint16_t ids[] = {ITS_COMMAND, 7, 0, UINT16_MAX};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
		start_seed(out, 1, 0);
		ask(out, HYPERCALL, RS_HCALL_COMMAND, 0, 12);
		add(out, COMMAND, 0, 1, NULL, 0);
		add(out, COMMAND, 1, 3, NULL, 0);
		add(out, COMMAND, 2, 128, NULL, 0);
		ask(out, HYPERCALL, RS_HCALL_COMMAND, ids[i], 8);
		ask(out, HYPERCALL, RS_HCALL_COMMAND, ids[i], 12);
		add(out, COMMAND, 1, 64, NULL, 0);
		for (int k = 0; k < 2; k++) {
			add(out, TURN, 250, 0, NULL, 0);
			ask(out, HYPERCALL, RS_HCALL_COMMAND, ids[i], 12);
		}
		add(out, i % 2 ? HELLO : PAUSE, 0, 0, NULL, 0);
		add(out, TURN, 110, 0, NULL, 0);
		add(out, COMMAND, 3, 0, NULL, 0);
		snprintf(name, sizeof(name), "command%zu", i);
		rs_fuzz_seed(name, out->data, out->len);
	}
}

static void rs_fuzz_seeds(void)
{
	GByteArray *out = g_byte_array_new();

	start_seed(out, 8, 0);
	add(out, ENABLE, 2, 0, "\1", 1);
	add(out, FILTER, 0, 0, "\1\6", 2);
	add(out, LIST, 0, 0, "\0", 1);
	add(out, DISABLE, 2, 0, "\1", 1);
	add(out, DIES, 0, 0, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
	add(out, RETURNS, 0, 0, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
	add(out, LIST, 0, 0, "\0", 1);
	rs_fuzz_seed("peers", out->data, out->len);

	for (uint8_t what = HYPERCALL; what <= MAILBOX; what++) {
		start_seed(out, what == HYPERCALL ? 9 : 2, 0);
		ask(out, what, RS_HCALL_HELLO, 0, 12);
		ask(out, what, RS_HCALL_REGISTER, 1, 12);
		ask(out, what, RS_HCALL_ENABLE, 0, 1);
		ask(out, what, RS_HCALL_SET_FILTER, 0, 9);
		add(out, TURN, 1, 0, NULL, 0);
		ask(out, what, RS_HCALL_QUERY, RS_FIRST_EVENT_ID, 12);
		ask(out, what, RS_HCALL_LOG, 0, 7);
		ask(out, what, RS_HCALL_WAIT, 3, 12);
		add(out, TURN, 1, 0, NULL, 0);
		ask(out, what, NUMBERS + RS_HCALL_CALLBACKS, RS_FIRST_EVENT_ID, 12);
		ask(out, what, RS_HCALL_DISABLE, 0, 0);
		ask(out, what, RS_HCALL_UNREGISTER, 1, 12);
		ask(out, what, RS_HCALL_EXIT, 3, 12);
		add(out, TURN, 1, 0, NULL, 0);
		rs_fuzz_seed(what == HYPERCALL ? "port" : "mailbox", out->data, out->len);
	}
	start_seed(out, 1, RS_GUEST_SELF_PATCH);
	add(out, ENABLE, 0, 0, "\0", 1);
	add(out, PAUSE, 0, 0, NULL, 0);
	add(out, FILTER, 4, 0, "\1\7", 2);
	add(out, RESUME, 0, 0, NULL, 0);
	add(out, TROUBLE, 2, 0, NULL, 0);
	add(out, HELLO, 0, 0, NULL, 0);
	add(out, PROVIDER, 4, 3, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
	add(out, TROUBLE, 0, 0, NULL, 0);
	add(out, FORGET, 4, 0, NULL, 0);
	rs_fuzz_seed("boots", out->data, out->len);
	/* All too large, and many sites that cannot be written. */
	start_seed(out, 1, 0);
	for (uint8_t i = 0; i < 4; i++)
		ask(out, HYPERCALL, RS_HCALL_SET_FILTER, 0, LONG(i));
	add(out, ENABLE, 2, 0, (uint8_t[]){LONG(2)}, 1);
	for (uint8_t i = 0; i < 3; i++)
		add(out, FILTER, i, 0, (uint8_t[]){0, LONG(i)}, 2);
	add(out, PROVIDER, 48, 1, NULL, 0);
	add(out, PROVIDER, 48, 1, NULL, 0);
	add(out, TURN, 110, 0, NULL, 0);
	add(out, TROUBLE, ALL_STONE, 0, NULL, 0);
	add(out, ENABLE, 2, 0, "\0", 1);
	rs_fuzz_seed("large", out->data, out->len);
	seed_late(out);
	seed_full(out);
	seed_overfull(out);
	seed_entries(out);
	seed_commands(out);
	g_byte_array_unref(out);
}
