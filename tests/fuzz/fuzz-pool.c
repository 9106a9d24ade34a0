/* SPDX-License-Identifier: MIT */
/*
 * Filters as machine code in a guest that may do anything. It says where its pool of text is, holds
 * any bytes there, changes them at any moment but in a pause, boots, and cannot be read, stopped or
 * written at times. Whatever it does: only unused bytes of a pool that it named are written, a turn
 * asks it a bounded number of times, and a word that is published leads to what the filter in force
 * is compiled to, if nobody has changed that meanwhile.
 */
#include "native/native.h"

#include "input.h"
#include "seed.h"
#include "small-sham.h"
#include "virtual-time.h"

#include <errno.h>
#include <malloc.h>

#define EVENTS_MAX 16u
#define ENTRY 32u /* bytes of the sham's events */
#define POOLS 16u /* that are told in all: a boot may not have been heard of */
/* A batch asks for each of its words a few times, and there is one in a turn. */
#define CALLS_MAX 20000u

enum {
	HELLO, /* another boot. a: 1: the pool is unused again; 2: it patches itself */
	PLACE, /* a: where the pool is, as providers say from now on; then, for some, two numbers */
	EVENTS, /* a provider. a: how many events */
	DIES,   /* a: slot */
	RETURNS,
	FILTER, /* a: which events, b: which expression, or none */
	ENABLE,
	DISABLE,
	BYTES,     /* a: place in the pool, b: what is there from now on */
	MEANWHILE, /* a: likewise, at the b-th read from now on */
	REFUSE,    /* a: how, b: after so many calls */
	TURNS,     /* a: so many ms, b: in so many turns */
	OPS
};

struct __attribute__((packed)) op {
	uint8_t what, a, b;
};

static const char *const globs[] = {"*", "p:*", "p:one", "p:two"};

static const char *const expressions[] = {
	NULL,
	"a == 7",
	"a == 8",
	"a & 5 && b < -1",
	"c ~ \"*wor*ker*\"",
	"c ~ \"*text*\"",
	"c == \"some text\"",
	"COMM ~ \"w*r\" && CPU & CPUS{0-70}",
	"PID == 3 || a > b",
	"a == 1 || a == 20 || a == 300 || a == 4000 || a == 50000 || a == 6 || a == 77 || a == 888",
};

static struct {
	struct sham *sham;
	struct rs_session *session;
	struct {
		uint64_t at, size;
	} pools[POOLS];
	uint32_t pool_count;
	uint32_t words[EVENTS_MAX]; /* as they were published */
	uint32_t calls;             /* in this step */
	struct op meanwhile;        /* what happens once b is 0 */
	bool touched;               /* it did, in this step */
	bool ended;
} run;

static struct rs_small_memory memory;

static uint8_t *text_at(uint64_t at)
{
	return run.sham->text + (at - SHAM_TEXT);
}

static bool is_text(uint64_t at, uint64_t size)
{
	return at >= SHAM_TEXT && size <= SHAM_TEXT_SIZE && at - SHAM_TEXT <= SHAM_TEXT_SIZE - size;
}

static void change(uint8_t place, uint8_t how)
{
	uint8_t *bytes = text_at(SHAM_POOL) + place % (SHAM_POOL_SIZE / 16) * 16u;

	if (how & 128) /* as another place */
		memmove(bytes, text_at(SHAM_POOL) + how % 128 * 16u, 16);
	else if (how & 64)
		memset(bytes, RS_NATIVE_UNUSED, 16);
	else
		bytes[how % 16] ^= (uint8_t)(1u << how / 16);
}

static bool is_unused(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != RS_NATIVE_UNUSED)
			return false;
	return true;
}

static bool in_pool(uint64_t at, uint64_t size)
{
	for (uint32_t i = 0; i < run.pool_count; i++)
		if (at >= run.pools[i].at && at - run.pools[i].at <= run.pools[i].size &&
		    size <= run.pools[i].size - (at - run.pools[i].at))
			return true;
	return false;
}

/* A patch of a site is none of ours. */
static void check_patch(const struct rs_text_patch *patch)
{
	if (!patch->unused)
		return;
	if (!in_pool(patch->at.v, patch->size) || !is_text(patch->at.v, patch->size))
		abort();
	/* One that is taken back makes it unused again. */
	if (!is_unused(text_at(patch->at.v), patch->size) &&
	    !is_unused(patch->new_bytes, patch->size))
		abort();
}

static void watch(struct sham *sham, const struct rs_text_patch *patch)
{
	if (++run.calls > CALLS_MAX)
		abort();
	if (patch)
		check_patch(patch);
	else if (run.meanwhile.b && sham->pauses == sham->resumes && !--run.meanwhile.b) {
		change(run.meanwhile.a, run.meanwhile.what);
		run.touched = true;
	}
}

/* Whether what the filter in force is compiled to lies at an entry of this pool. */
static bool leads_there(uint64_t pool, uint64_t size, uint32_t word, uint32_t event,
			const struct rs_native *native)
{
	uint64_t at = (word - 1) * (uint64_t)sizeof(struct rs_native_entry);
	struct rs_native_entry entry;

	if (size < sizeof(entry) || at > size - sizeof(entry) || !is_text(pool + at, sizeof(entry)))
		return false;
	memcpy(&entry, text_at(pool + at), sizeof(entry));
	return entry.event == event && entry.dyn_count == 0 && !entry.reserved &&
	       entry.entry_size == (ENTRY | native->kind << RS_NATIVE_KIND_SHIFT) &&
	       entry.code % RS_NATIVE_ALIGN == 0 && entry.code <= size &&
	       native->size <= size - entry.code && is_text(pool + entry.code, native->size) &&
	       !memcmp(text_at(pool + entry.code), native->bytes, native->size);
}

static void check_word(uint32_t event, uint32_t word)
{
	uint32_t offset = (sham_word(run.sham, event) >> RS_EVENT_FILTER_SHIFT) * RS_FILTER_GRAIN;
	const uint8_t *filters = rs_trace_region_section(run.sham->region, RS_SEC_FILTERS, NULL);
	static struct rs_native native;

	if (!offset || rs_native_compile(RS_ARCH_X86_64, filters + offset, ENTRY, 0, &native, NULL))
		abort();
	for (uint32_t i = 0; i < run.pool_count; i++)
		if (leads_there(run.pools[i].at, run.pools[i].size, word, event, &native))
			return;
	abort();
}

static void check_words(void)
{
	for (uint32_t i = 0; i < EVENTS_MAX; i++) {
		uint32_t word = sham_native(run.sham, RS_FIRST_EVENT_ID + i);

		if (word && word != run.words[i] && !run.touched)
			check_word(RS_FIRST_EVENT_ID + i, word);
		run.words[i] = word;
	}
}

static void check_list(void)
{
	g_autoptr(GArray) list = rs_session_list(run.session, NULL);
	struct rs_source_stat stat;

	for (guint i = 0; i < list->len; i++) {
		const struct rs_session_event *e = &g_array_index(list, struct rs_session_event, i);

		if (e->native && e->no_native)
			abort();
		if (e->no_native && !g_utf8_validate(e->no_native, -1, NULL))
			abort();
	}
	rs_session_stat(run.session, &stat);
	if (stat.native.left > SHAM_TEXT_SIZE || stat.native.in_force > EVENTS_MAX)
		abort();
}

/* ---- life ---- */

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	run.ended = true;
	run.sham->running = run.sham->dying = false;
}

static const struct rs_session_listener listener = {.ended = on_ended};

static void boot(uint8_t how)
{
	if (run.ended)
		return;
	if (how & 1)
		memset(text_at(SHAM_POOL), RS_NATIVE_UNUSED, SHAM_POOL_SIZE);
	sham_hello(run.sham, how & 2 ? RS_GUEST_SELF_PATCH : 0);
}

static void set_place(const struct op *op, struct rs_fuzz_input *in)
{
	static const struct {
		uint64_t at, size;
	} places[] = {
		{SHAM_POOL, SHAM_POOL_SIZE},
		{SHAM_POOL, 512},
		{SHAM_POOL + 512, SHAM_POOL_SIZE - 512},
		{SHAM_TEXT, SHAM_TEXT_SIZE},
		{SHAM_POOL, SHAM_POOL_SIZE + 16},
		{0, SHAM_POOL_SIZE},
		{UINT64_MAX - 15, 32},
		{SHAM_POOL, UINT64_MAX},
	};

	run.sham->pool = places[op->a % 8].at;
	run.sham->pool_size = places[op->a % 8].size;
	if (op->a & 8) {
		uint64_t size = 0;

		rs_fuzz_take(in, &size, op->a & 16 ? 8 : 2);
		run.sham->pool += op->b;
		run.sham->pool_size = size;
	}
}

static void add_provider(uint8_t count)
{
	static const char *const names[][4] = {
		{"one", NULL}, {"one", "two", NULL}, {"one", "two", "three", NULL}};
	const struct rs_guest_info *info =
		rs_trace_region_section(run.sham->region, RS_SEC_GUEST_INFO, NULL);

	if (!run.sham->boot || run.sham->events + 3 > EVENTS_MAX || run.pool_count == POOLS ||
	    info->provider_slots >= RS_SMALL_PROVIDERS)
		return;
	run.pools[run.pool_count].at = run.sham->pool;
	run.pools[run.pool_count++].size = run.sham->pool_size;
	sham_provider(run.sham, "p", names[count % 3]);
}

static void ask(const struct op *op)
{
	const char *glob = globs[op->a % G_N_ELEMENTS(globs)];

	if (op->what % OPS == ENABLE)
		rs_session_enable(run.session, RS_OWNER_HOST, glob, NULL, NULL);
	else if (op->what % OPS == DISABLE)
		rs_session_disable(run.session, RS_OWNER_HOST, glob, NULL, NULL);
	else
		rs_session_set_filter(run.session, RS_OWNER_HOST, glob,
				      expressions[op->b % G_N_ELEMENTS(expressions)], NULL, NULL);
}

static void refuse(uint8_t how, uint8_t patience)
{
	static const int errors[] = {0, -EAGAIN, -EBUSY, -EFAULT};
	struct sham *sham = run.sham;

	sham->refusal = errors[how % 4];
	sham->patience = patience;
	sham->unstoppable = how & 4;
	sham->read_only = how & 8;
	sham->stone = how & 16 ? SHAM_ALL : 0;
	sham->dying = how & 32 && how & 64 && !run.ended;
	if (how & 128)
		sham->not_ready = true;
	else if (sham->not_ready && !run.ended)
		sham_get_ready(sham);
}

static void turns(uint8_t ms, uint8_t count)
{
	for (uint8_t i = 0; i <= count % 4; i++) {
		run.calls = 0;
		rs_fuzz_now += ms * 1000000u;
		g_main_context_iteration(NULL, FALSE);
	}
	check_list();
}

static void play(const struct op *op, struct rs_fuzz_input *in)
{
	run.calls = 0;
	run.touched = false;
	switch (op->what % OPS) {
	case HELLO:
		boot(op->a);
		break;
	case PLACE:
		set_place(op, in);
		break;
	case EVENTS:
		add_provider(op->a);
		break;
	case DIES:
		sham_provider_dies(run.sham, op->a % RS_SMALL_PROVIDERS);
		break;
	case RETURNS:
		sham_provider_returns(run.sham, op->a % RS_SMALL_PROVIDERS);
		break;
	case FILTER:
	case ENABLE:
	case DISABLE:
		ask(op);
		break;
	case BYTES:
		change(op->a, op->b);
		break;
	case MEANWHILE:
		run.meanwhile = (struct op){.what = rs_fuzz_u8(in), .a = op->a, .b = op->b};
		break;
	case REFUSE:
		refuse(op->a, op->b);
		break;
	case TURNS:
		turns(op->a, op->b);
		break;
	}
	check_words();
}

static void begin(void)
{
	struct rs_source_config config = {.kernel = "guest"};

	memset(&run, 0, sizeof(run));
	rs_fuzz_now = RS_FUZZ_BEGIN;
	if (rs_session_create("fuzz", &run.session, NULL))
		abort();
	rs_session_add_listener(run.session, &listener);
	run.sham = rs_small_sham(&memory, 1, RS_CHANNEL_PORT);
	run.sham->watch = watch;
	run.sham->pool = SHAM_POOL;
	run.sham->pool_size = SHAM_POOL_SIZE;
	memset(text_at(SHAM_POOL), RS_NATIVE_UNUSED, SHAM_POOL_SIZE);
	if (rs_session_add_source(run.session, &config, run.sham->region, &run.sham->target, NULL,
				  NULL) ||
	    rs_session_start(run.session, NULL))
		abort();
	/* Two filters are compiled in a turn. */
	rs_session_set_turn(run.session, 8192);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct op op;

	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	begin();
	for (int i = 0; i < 40 && rs_fuzz_take(&in, &op, sizeof(op)); i++)
		play(&op, &in);
	run.calls = 0;
	refuse(0, 0);
	rs_session_destroy(run.session);
	sham_free(run.sham);
	return 0;
}

/* ---- seeds ---- */

#define START HELLO, 1, 0, EVENTS, 1, 0, ENABLE, 0, 0, TURNS, 110, 1

/* Each expression, then what befalls the guest, and then another expression. */
static void rs_fuzz_seeds(void)
{
	static const uint8_t then[][12] = {
		{HELLO, 0, 0, EVENTS, 1, 0, TURNS, 110, 2}, /* what it holds is used again */
		{HELLO, 1, 0, EVENTS, 2, 0, TURNS, 110, 2},
		{BYTES, 0, 3, HELLO, 0, 0, EVENTS, 1, 0},
		{BYTES, 125, 3, HELLO, 0, 0, EVENTS, 1, 0},
		{PLACE, 3, 0, HELLO, 0, 0, EVENTS, 1, 0},
		{PLACE, 2, 0, HELLO, 1, 0, EVENTS, 1, 0},
		{PLACE, 5, 0, HELLO, 1, 0, EVENTS, 1, 0},
		{REFUSE, 1, 2, FILTER, 0, 3, TURNS, 110, 3},
		{REFUSE, 2, 6, FILTER, 0, 3, TURNS, 110, 3},
		{REFUSE, 3, 9, FILTER, 0, 3, TURNS, 110, 3},
		{REFUSE, 8, 0, FILTER, 0, 3, TURNS, 110, 3},
		{REFUSE, 16, 0, FILTER, 0, 3, TURNS, 110, 3},
		{MEANWHILE, 2, 6, 5, FILTER, 0, 5, TURNS, 110, 3},
		/* What was there is something else. */
		{BYTES, 126, 9, FILTER, 0, 0, FILTER, 0, 1, TURNS, 110, 3},
		{BYTES, 0, 1, FILTER, 0, 0, FILTER, 0, 1, TURNS, 110, 3},
		/* It boots, and ends in the pause in which the code is written. */
		{FILTER, 0, 3, REFUSE, 96, 0, HELLO, 1, 0, TURNS, 0, 3},
		{DIES, 0, 0, RETURNS, 0, 0, TURNS, 110, 2},
	};
	static const uint8_t last[] = {REFUSE, 0, 0, FILTER, 2, 9, TURNS, 110, 3};
	char name[16];

	for (uint8_t i = 0; i < G_N_ELEMENTS(then); i++)
		for (uint8_t k = 1; k < G_N_ELEMENTS(expressions); k += 3) {
			uint8_t seed[64] = {START, FILTER, 0, k, TURNS, 110, 3};

			memcpy(seed + 18, then[i], sizeof(then[i]));
			memcpy(seed + 30, last, sizeof(last));
			snprintf(name, sizeof(name), "then%u-%u", i, k);
			rs_fuzz_seed(name, seed, 39);
		}
}
