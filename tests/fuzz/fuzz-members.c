/* SPDX-License-Identifier: MIT */
/*
 * Processes that join a session: they take regions, report as they like, ask, write anything into
 * their regions and the words by which regions are claimed, leave, and come back. Their machine
 * boots and ends. Whatever they do, no two sources have one name, none has a region that is not
 * its own, and one that has gone is not listed.
 *
 * hv/region is replaced: its regions would be a file of megabytes for each input. That code has a
 * target of its own (directory).
 */
/* The clock is not what this is about. */
#define RS_FUZZ_TICK_NS 20000u

#include "input.h"
#include "seed.h"
#include "small-sham.h"
#include "virtual-time.h"

#include "region/regions.h"

#include <errno.h>
#include <malloc.h>
#include <ringside/atomic.h>

#define USERS 3u
#define STEPS 24

enum {
	CLAIM,    /* a: region; b: process */
	WORD,     /* a: region; then what is in its claim */
	REPORT,   /* a: region; b: flags; then a name */
	DESCRIBE, /* a: region */
	SCRIBBLE, /* a: region and section; b: how; then where and what */
	LEAVE,    /* a: region */
	LOCK,     /* a: region; b: held or not */
	ASK,      /* a: region; b: number */
	MACHINE,  /* a: it boots or ends */
	PEER,     /* a: what; b: glob */
	HOLD,     /* a: source; b: hold or release */
	TURN,     /* a: so many 10 ms later */
	BREAK,    /* a: what does not work from now on */
	OPS
};

struct __attribute__((packed)) op {
	uint8_t what, a, b;
};

/* ---- the memory ---- */

struct rs_regions {
	bool same_host, no_map, no_renewal;
	struct rs_region_header header;
	struct rs_small_memory memory[USERS];
	bool used[USERS], locked[USERS];
	uint32_t generation[USERS];
	uint64_t claims[USERS], turned_away;
};

static struct rs_regions regions;

int rs_regions_fd(const struct rs_regions *r)
{
	return 0;
}

uint32_t rs_regions_count(const struct rs_regions *r)
{
	return USERS + 1;
}

/* Region 0 is the machine's. */
uint32_t rs_regions_kind(const struct rs_regions *r, uint32_t index)
{
	return index ? RS_SOURCE_USER : RS_SOURCE_KERNEL;
}

static RsTraceRegion *region_at(uint32_t user)
{
	RsTraceRegion *region = g_new0(RsTraceRegion, 1);

	region->header = regions.header;
	region->map = regions.memory[user].bytes;
	region->fd = -1;
	region->writable = true;
	return region;
}

int rs_regions_map(const struct rs_regions *r, uint32_t index, RsTraceRegion **out,
		   struct rs_error *err)
{
	if (r->no_map)
		return rs_error_set(err, ENFILE, "no more files");
	*out = region_at(index - 1);
	return 0;
}

bool rs_regions_owner(const struct rs_regions *r, uint32_t index, uint32_t *owner)
{
	uint64_t word = r->claims[index - 1];

	*owner = rs_directory_claim_owner(word);
	return rs_directory_claim_generation(word) == r->generation[index - 1];
}

uint64_t rs_regions_turned_away(const struct rs_regions *r)
{
	return r->turned_away;
}

void rs_regions_leave(const struct rs_regions *r, uint32_t index)
{
	regions.claims[index - 1] =
		rs_directory_claim_word(r->generation[index - 1], RS_CLAIM_LEFT);
}

bool rs_regions_held(const struct rs_regions *r, uint32_t index)
{
	return r->locked[index - 1];
}

bool rs_regions_leave_unheld(const struct rs_regions *r, uint32_t index)
{
	if (!r->locked[index - 1])
		rs_regions_leave(r, index);
	return !r->locked[index - 1];
}

static void lay_out(uint32_t user)
{
	if (regions.used[user])
		memset(regions.memory[user].bytes, 0, regions.header.region_size);
	rs_region_write(regions.memory[user].bytes, &regions.header, RS_CONTROL_SELF_PATCH);
	regions.used[user] = false;
	regions.generation[user]++;
}

int rs_regions_renew(struct rs_regions *r, uint32_t index, struct rs_error *err)
{
	if (r->no_renewal)
		return rs_error_set(err, ENOSPC, "no room");
	lay_out(index - 1);
	return 0;
}

int rs_regions_set_ring_mode(struct rs_regions *r, uint32_t mode, struct rs_error *err)
{
	abort();
}

void rs_region_set_ring_mode(const RsTraceRegion *region, uint32_t mode)
{
	abort();
}

void rs_regions_free(struct rs_regions *r)
{
}

int rs_region_create(const struct rs_region_config *config, RsTraceRegion **out,
		     struct rs_error *err)
{
	abort();
}

/* ---- the session ---- */

static struct rs_small_memory machine_memory;
static struct {
	struct rs_session *session;
	struct rs_source *machine;
	struct sham *sham;
	struct sham agents[USERS]; /* the agents' side of the regions */
	bool over;
} run;

static const char *const texts[] = {"*", "pool:*", "sham/*:*", "pool:take", "web.3/pool:*", "["};

static void on_message(void *data, const char *text)
{
	if (!g_utf8_validate(text, -1, NULL))
		abort();
	for (; *text; text++)
		if ((guchar)*text < 0x20)
			abort();
}

static void on_added(void *data, struct rs_source *source)
{
	if (!rs_source_joined(source) || rs_source_end(source))
		abort();
}

static void on_gone(void *data, struct rs_source *source)
{
	if (!rs_source_joined(source) || !rs_source_end(source))
		abort();
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	if (source != run.machine)
		return;
	run.sham->running = false;
	run.over = true;
}

static void check_sources(void)
{
	guint count = rs_session_n_sources(run.session);

	if (count > 1 + USERS || rs_session_source(run.session, 0) != run.machine)
		abort();
	for (guint i = 0; i < count; i++) {
		struct rs_source *source = rs_session_source(run.session, i);

		if (i && rs_source_machine(source) != run.machine)
			abort();
		for (guint k = 0; k < i; k++) {
			struct rs_source *other = rs_session_source(run.session, k);

			if (strcmp(rs_source_name(source), rs_source_name(other)) == 0)
				abort();
			if (!rs_source_end(source) && !rs_source_end(other) &&
			    rs_source_region(source)->map == rs_source_region(other)->map)
				abort();
		}
	}
}

static uint64_t machine_hz(struct rs_target *target)
{
	return 1000000000;
}

static uint64_t machine_now(struct rs_target *target)
{
	return rs_fuzz_now;
}

static void begin(uint8_t flags)
{
	static struct rs_target_ops with_clock;

	static const struct rs_session_listener listener = {
		.message = on_message, .added = on_added, .gone = on_gone, .ended = on_ended};
	struct rs_source_config config = {.kernel = "/boot/kern"};

	/* Memory is not given back after each input. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	memset(&run, 0, sizeof(run));
	rs_fuzz_now = RS_FUZZ_BEGIN;
	run.sham = rs_small_sham(&machine_memory, 1, RS_CHANNEL_MAILBOX);
	if (flags & 4) {
		with_clock = *run.sham->target.ops;
		with_clock.clock_hz = machine_hz;
		with_clock.clock_now = machine_now;
		run.sham->target.ops = &with_clock;
	}
	regions.header = run.sham->region->header;
	regions.same_host = flags & 1;
	regions.no_map = regions.no_renewal = false;
	regions.turned_away = 0;
	for (uint32_t i = 0; i < USERS; i++) {
		regions.generation[i] = 0;
		regions.claims[i] = 0;
		regions.locked[i] = false;
		lay_out(i);
		run.agents[i].region = region_at(i);
	}
	if (rs_session_create("fuzz", &run.session, NULL))
		abort();
	/* Guests are small here, and are to come to the end of a turn, too. */
	rs_session_set_turn(run.session, 8192);
	rs_session_add_listener(run.session, &listener);
	if (rs_session_add_source(run.session, &config, run.sham->region, &run.sham->target,
				  &run.machine, NULL))
		abort();
	rs_session_add_memory(run.session, run.machine, &regions, regions.same_host);
	if (flags & 2)
		rs_session_enable(run.session, "peer", "pool:*", NULL, NULL);
	if (rs_session_start(run.session, NULL))
		abort();
}

static void end(void)
{
	rs_session_destroy(run.session);
	sham_free(run.sham);
	for (uint32_t i = 0; i < USERS; i++)
		rs_trace_region_free(run.agents[i].region);
}

/* ---- what processes do ---- */

static void report(uint32_t user, uint8_t flags, struct rs_fuzz_input *in)
{
	static const char *const names[] = {"web", "web", "web.3", "kern", "", "/x/.-", "\xff\n"};
	static const char *const pool[] = {"take", "done", NULL};
	struct sham *agent = &run.agents[user];
	struct rs_guest_info *info;
	uint8_t name = rs_fuzz_u8(in);

	sham_hello(agent, flags % 16 | (flags & 16 ? 0 : RS_GUEST_SELF_PATCH));
	info = rs_trace_region_section(agent->region, RS_SEC_GUEST_INFO, NULL);
	if (name < G_N_ELEMENTS(names))
		g_strlcpy(info->name, names[name], sizeof(info->name));
	else
		rs_fuzz_take(in, info->name, MIN(name, sizeof(info->name)));
	sham_provider(agent, "pool", pool);
}

static void describe(uint32_t user)
{
	static const char *const names[] = {"wait", NULL};
	struct sham *agent = &run.agents[user];
	const struct rs_guest_info *info =
		rs_trace_region_section(agent->region, RS_SEC_GUEST_INFO, NULL);

	if (agent->boot && agent->events < 16 && info->provider_slots < RS_SMALL_PROVIDERS)
		sham_provider(agent, "more", names);
}

static void scribble(const struct op *op, struct rs_fuzz_input *in)
{
	static const uint8_t sections[] = {RS_SEC_GUEST_INFO, RS_SEC_PROVIDERS, RS_SEC_EVENTS,
					   RS_SEC_REQUEST, RS_SEC_RING_STATE};
	uint8_t *section;
	uint64_t value;
	uint16_t at;
	gsize size;

	rs_fuzz_take(in, &at, sizeof(at));
	rs_fuzz_take(in, &value, sizeof(value));
	section = rs_trace_region_section(run.agents[op->a % USERS].region,
					  sections[op->a / USERS % sizeof(sections)], &size);
	rs_fuzz_change(section + at % (size - 7), op->b, value);
}

/* ---- steps ---- */

static void machine_does(uint8_t how)
{
	const struct rs_target_end gone = {.reason = RS_END_GONE};

	if (run.over)
		return;
	if (how & 1)
		run.sham->target.events.ended(run.sham->target.events.data, &gone);
	else
		sham_hello(run.sham, how % 16);
}

static void look(void)
{
	for (guint i = 0; i < rs_session_n_sources(run.session); i++) {
		struct rs_source *source = rs_session_source(run.session, i);
		g_autofree char *path = rs_source_join_path(source);

		if (!path != (source != run.machine || !regions.same_host) ||
		    (rs_source_runs(source) && rs_source_end(source)))
			abort();
	}
}

static void peer_asks(const struct op *op)
{
	const char *glob = texts[op->b % G_N_ELEMENTS(texts)];
	struct rs_session_result result = {0};
	struct rs_source_stat stat;
	struct rs_error err = {0};

	switch (op->a % 7) {
	case 0:
		rs_session_enable(run.session, "peer", glob, &result, &err);
		break;
	case 1:
		rs_session_disable(run.session, "peer", glob, &result, &err);
		break;
	case 2:
		rs_session_set_filter(run.session, "peer", glob, "a > 2", &result, &err);
		break;
	case 3:
		g_array_unref(rs_session_list(run.session, glob));
		break;
	case 4:
		rs_session_stat(run.session, &stat);
		break;
	case 5:
		if (rs_session_pause(run.session, NULL))
			rs_session_resume(run.session, NULL);
		break;
	case 6:
		look();
		break;
	}
	rs_session_result_clear(&result);
}

static void hold(const struct op *op)
{
	guint i = op->a % rs_session_n_sources(run.session);

	if (op->b & 1)
		rs_source_hold(rs_session_source(run.session, i));
	else
		rs_source_release(rs_session_source(run.session, i));
}

static void play(const struct op *op, struct rs_fuzz_input *in)
{
	uint32_t user = op->a % USERS;

	regions.used[user] = true;
	switch (op->what % OPS) {
	case CLAIM:
		regions.claims[user] = rs_directory_claim_word(regions.generation[user], op->b);
		regions.locked[user] = true;
		break;
	case WORD:
		rs_fuzz_take(in, &regions.claims[user], sizeof(regions.claims[user]));
		break;
	case REPORT:
		report(user, op->b, in);
		break;
	case DESCRIBE:
		describe(user);
		break;
	case SCRIBBLE:
		scribble(op, in);
		break;
	case LEAVE:
		rs_regions_leave(&regions, user + 1);
		break;
	case LOCK:
		regions.locked[user] = op->b & 1;
		break;
	case ASK:
		sham_request(&run.agents[user], 0, op->b % (RS_HCALL_CALLBACKS + 2),
			     RS_FIRST_EVENT_ID, texts[op->b % G_N_ELEMENTS(texts)]);
		break;
	case MACHINE:
		machine_does(op->a);
		break;
	case PEER:
		peer_asks(op);
		break;
	case HOLD:
		hold(op);
		break;
	case TURN:
		rs_fuzz_now += op->a * 10000000ull;
		g_main_context_iteration(NULL, FALSE);
		break;
	case BREAK:
		regions.no_map = op->a & 1;
		regions.no_renewal = op->a & 2;
		regions.turned_away += op->a / 4 % 4;
		break;
	}
	check_sources();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct op op;

	begin(rs_fuzz_u8(&in));
	for (int i = 0; i < STEPS && rs_fuzz_take(&in, &op, sizeof(op)); i++)
		play(&op, &in);
	end();
	return 0;
}

/* ---- seeds ---- */

static void rs_fuzz_seeds(void)
{
	static const uint8_t seeds[][64] = {
		/* One comes, works and leaves; its region is used again. */
		{2, CLAIM, 0,    9, TURN, 1,      0, REPORT, 0,    0,    0, TURN,
		 1, 0,     PEER, 0, 1,    ASK,    0, 2,      TURN, 20,   0, LEAVE,
		 0, 0,     TURN, 1, 0,    PEER,   4, 0,      TURN, 200,  0, CLAIM,
		 0, 7,     TURN, 1, 0,    REPORT, 0, 0,      2,    TURN, 1, 0},
		/* All come at once, under one name; somebody still reads one that has left. */
		{0, CLAIM,  0, 1, CLAIM, 1,      2, CLAIM, 2, 3,      TURN,  1,
		 0, REPORT, 0, 0, 0,     REPORT, 1, 0,     1, REPORT, 2,     0,
		 3, TURN,   1, 0, HOLD,  1,      1, LEAVE, 0, 0,      LEAVE, 1,
		 0, TURN,   1, 0, TURN,  200,    0, PEER,  3, 2},
		/* On this host: the lock says who is there. */
		{1, CLAIM, 0, 1, CLAIM, 1, 2, TURN, 1, 0, REPORT, 0,   0, 0,    TURN, 1,
		 0, LOCK,  0, 0, LOCK,  1, 0, TURN, 1, 0, TURN,   200, 0, PEER, 5,    0},
		/* The machine boots, and ends. */
		{0, CLAIM, 0,    1,  CLAIM, 1,       2, TURN, 1,    0,  REPORT, 0,
		 0, 0,     TURN, 1,  0,     MACHINE, 0, 0,    TURN, 20, 0,      MACHINE,
		 0, 0,     TURN, 20, 0,     MACHINE, 1, 0,    TURN, 20, 0},
		/* No files, no room. */
		{0,     BREAK, 3, 0,     CLAIM, 0, 1,    TURN, 1, 0,    BREAK, 6, 0,
		 CLAIM, 1,     1, LEAVE, 1,     0, TURN, 200,  0, TURN, 200,   0},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, seeds[i], sizeof(seeds[i]));
	}
}
