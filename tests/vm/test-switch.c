/* SPDX-License-Identifier: MIT */
/*
 * Sites that are switched while two vCPUs run through them all the time: tests/guests/bench with
 * `serve` on KVM. argv[1]: that guest. Each record has a number that its vCPU counts up, so records
 * show whether a site was run through twice, or a register was changed on the way.
 */
#define _GNU_SOURCE
#include "region/regions.h"
#include "session/session.h"
#include "vmm/vmm.h"

#include <errno.h>
#include <glib.h>
#include <rs-trace-page.h>
#include <rs-trace-ring.h>
#include <sched.h>
#include <string.h>

#define VCPUS 2u
#define SITES 1024u
#define LIMIT_US (120 * G_USEC_PER_SEC)
#define SWITCHES 10000 /* of one site; RS_TEST_SWITCHES in the environment is another number */
#define BATCHES 100
#define MEAN_US 250 /* between two switches */

static const char *guest;

struct reader {
	RsTraceRing *ring;
	guint16 two, many; /* ids */
	guint32 last_two;
	gint64 last_many;      /* -1: none yet */
	guint64 records, gaps; /* of bench:two */
	guint64 run;           /* records of bench:many that follow one another, now */
};

struct bed {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_target *target;
	GMainLoop *loop;
	struct reader readers[VCPUS];
	bool serving, ended; /* all vCPUs go through the sites; the guest is no more */
};

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct bed *bed = data;

	bed->ended = true;
	if (end->reason != RS_END_KILLED)
		g_error("the guest has ended: %s", end->text);
	g_main_loop_quit(bed->loop);
}

static void on_message(void *data, const char *text)
{
	struct bed *bed = data;

	bed->serving |= strcmp(text, "guest: bench: serving") == 0;
}

static void breathe(void)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static void check(int ret, const struct rs_error *err)
{
	if (ret)
		g_error("%s", err->message);
}

/* ---- the guest ---- */

static struct rs_regions *make_regions(void)
{
	struct rs_region_config config = {
		.vcpus = VCPUS,
		.ring_bytes = 4 << 20,
		.hcall_channel = RS_CHANNEL_PORT,
		.hcall_addr = RS_HCALL_PORT,
		.doorbell_channel = RS_CHANNEL_PORT,
		.doorbell_addr = RS_DOORBELL_PORT,
	};
	const struct rs_regions_run run = {&config, RS_SOURCE_KERNEL, 1};
	struct rs_regions *regions;
	struct rs_error err = {0};

	check(rs_regions_create(&run, 1, false, -1, &regions, &err), &err);
	return regions;
}

static guint16 id_of(struct bed *bed, const char *name)
{
	const gint64 until = g_get_monotonic_time() + LIMIT_US;

	for (;;) {
		g_autoptr(GArray) list = rs_session_list(bed->session, name);

		if (list->len && g_array_index(list, struct rs_session_event, 0).sites)
			return (guint16)g_array_index(list, struct rs_session_event, 0).event->id;
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(1000);
		breathe();
	}
}

static void add_readers(struct bed *bed)
{
	const RsTraceRegion *region = rs_source_region(rs_session_source(bed->session, 0));

	for (guint i = 0; i < VCPUS; i++) {
		const RsTraceRingConfig config = {.ring = i, .from = RS_TRACE_FROM_NOW};

		bed->readers[i] = (struct reader){
			.ring = rs_trace_ring_new(region, &config, NULL),
			.two = id_of(bed, "bench:two"),
			.many = id_of(bed, "bench:many"),
			.last_many = -1,
		};
	}
}

/* On one CPU, so that the vCPUs gather on others, and run while sites are switched. */
static void stay_here(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void start(struct bed *bed, enum rs_vmm_way way)
{
	struct rs_regions *regions = make_regions();
	struct rs_vmm_config config = {
		.kernel = guest,
		.cmdline = "serve",
		.memory = 64 << 20,
		.vcpus = VCPUS,
		.regions_fd = rs_regions_fd(regions),
		.way = way,
		.serial_fd = -1,
	};
	struct rs_source_config source_config = {.kernel = "bench"};
	struct rs_source *source;
	struct rs_error err = {0};
	RsTraceRegion *region;

	*bed = (struct bed){.loop = g_main_loop_new(NULL, FALSE)};
	bed->listener =
		(struct rs_session_listener){.data = bed, .message = on_message, .ended = on_ended};
	check(rs_vmm_create(&config, &bed->target, &err), &err);
	check(rs_session_create("switch", &bed->session, &err), &err);
	check(rs_regions_map(regions, 0, &region, &err), &err);
	check(rs_session_add_source(bed->session, &source_config, region, bed->target, &source,
				    &err),
	      &err);
	rs_session_add_memory(bed->session, source, regions, false);
	rs_session_add_listener(bed->session, &bed->listener);
	check(rs_session_start(bed->session, &err), &err);
	stay_here();
	add_readers(bed);
	while (!bed->serving)
		g_main_context_iteration(NULL, TRUE);
}

static void finish(struct bed *bed)
{
	cpu_set_t set;

	for (guint i = 0; i < VCPUS; i++)
		rs_trace_ring_free(bed->readers[i].ring);
	g_assert_false(bed->ended);
	CPU_ZERO(&set);
	for (guint i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
	rs_session_stop(bed->session, "the test is over");
	g_main_loop_run(bed->loop);
	rs_session_destroy(bed->session);
	g_main_loop_unref(bed->loop);
}

static void enable(struct bed *bed, const char *glob)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};

	check(rs_session_enable(bed->session, RS_OWNER_HOST, glob, &result, &err), &err);
	g_assert_cmpuint(result.problems ? 1 : 0, ==, 0);
	rs_session_result_clear(&result);
}

static void disable(struct bed *bed, const char *glob)
{
	struct rs_error err = {0};

	check(rs_session_disable(bed->session, RS_OWNER_HOST, glob, NULL, &err), &err);
}

/* ---- its records ---- */

static void take_two(struct reader *reader, const guint32 *fields)
{
	if (reader->records++ && fields[0] != reader->last_two + 1) {
		g_assert_cmpuint(fields[0], >, reader->last_two);
		reader->gaps++;
	}
	reader->last_two = fields[0];
}

static void take_many(struct reader *reader, guint32 site)
{
	g_assert_cmpuint(site, <, SITES);
	/* Passes begin with 0, and each goes through all sites once, in order. */
	reader->run = site == (reader->last_many + 1) % SITES ? reader->run + 1 : 1;
	reader->last_many = site;
}

static void take(struct reader *reader, const RsTraceChunk *chunk)
{
	RsTracePageWalk walk;

	/* Overwritten ones are no gap of the guest's. */
	if (chunk->lost) {
		reader->records = 0;
		reader->last_many = -1;
	}
	rs_trace_page_begin(&walk, chunk->page);
	while (walk.at < chunk->to) {
		const guint at = walk.at;
		const RsTracePageItem item = rs_trace_page_next(&walk, chunk->page, chunk->to);
		guint32 fields[2] = {0};

		if (item == RS_TRACE_PAGE_PAD || item == RS_TRACE_PAGE_END)
			break;
		g_assert_cmpint(item, !=, RS_TRACE_PAGE_BAD);
		if (item != RS_TRACE_PAGE_RECORD || at < chunk->from)
			continue;
		memcpy(fields, chunk->page + walk.payload, MIN(walk.size, sizeof(fields)));
		if (walk.id == reader->two)
			take_two(reader, fields);
		else if (walk.id == reader->many)
			take_many(reader, fields[0]);
	}
}

/* True: there was something. */
static bool read_all(struct bed *bed)
{
	bool any = false;

	for (guint i = 0; i < VCPUS; i++) {
		RsTraceChunk chunk;

		while (rs_trace_ring_next(bed->readers[i].ring,
					  (guint64)g_get_monotonic_time() * 1000,
					  &chunk) == RS_TRACE_RING_DATA) {
			take(&bed->readers[i], &chunk);
			any = true;
		}
	}
	return any;
}

/* Under some hypervisors a breakpoint takes a vCPU some 50 us, which meets one at each switch. */
static void let_run(struct bed *bed)
{
	const gint64 until = g_get_monotonic_time() + g_random_int_range(0, 2 * MEAN_US);

	do {
		breathe();
		read_all(bed);
	} while (g_get_monotonic_time() < until);
}

/* Until each vCPU has written another `count` records of the event. */
static void await_two(struct bed *bed, guint64 count)
{
	const gint64 until = g_get_monotonic_time() + LIMIT_US;
	guint32 from[VCPUS];

	for (guint i = 0; i < VCPUS; i++)
		from[i] = bed->readers[i].last_two;
	for (guint i = 0; i < VCPUS;) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(100);
		breathe();
		read_all(bed);
		while (i < VCPUS && bed->readers[i].last_two - from[i] >= count)
			i++;
	}
}

/* ---- tests ---- */

static void switch_one(enum rs_vmm_way way, int switches)
{
	struct rs_source_stat stat;
	struct bed bed;

	start(&bed, way);
	for (int i = 0; i < switches / 2; i++) {
		enable(&bed, "bench:two");
		let_run(&bed);
		disable(&bed, "bench:two");
		let_run(&bed);
	}
	read_all(&bed);
	/* A vCPU may still finish a record that it has begun. */
	for (int i = 0; i < 50; i++) {
		g_usleep(1000);
		read_all(&bed);
	}
	g_assert_false(read_all(&bed));
	enable(&bed, "bench:two");
	await_two(&bed, 100);
	disable(&bed, "bench:two");
	/* While the event stays on, no pass is without a record: one gap at most for each time. */
	for (guint i = 0; i < VCPUS; i++)
		g_assert_cmpuint(bed.readers[i].gaps, <=, switches / 2 + 1);
	rs_source_stat(rs_session_source(bed.session, 0), &stat);
	g_assert_cmpuint(stat.sites_on, ==, 0);
	g_assert_cmpuint(stat.patches, >=, switches);
	g_assert_cmpuint(stat.pause_max_ns, ==, 0);
	for (guint i = 0; i < VCPUS; i++)
		g_test_message("vCPU %u: %" G_GUINT64_FORMAT " records, %" G_GUINT64_FORMAT
			       " times on",
			       i, bed.readers[i].records, bed.readers[i].gaps);
	finish(&bed);
}

static void switch_many(enum rs_vmm_way way)
{
	const gint64 until = g_get_monotonic_time() + LIMIT_US;
	struct rs_source_stat stat;
	struct bed bed;

	start(&bed, way);
	for (int i = 0; i < BATCHES; i++) {
		enable(&bed, "bench:many");
		rs_source_stat(rs_session_source(bed.session, 0), &stat);
		g_assert_cmpuint(stat.sites_on, ==, SITES);
		let_run(&bed);
		disable(&bed, "bench:many");
		let_run(&bed);
	}
	/* All sites are on: some passes through all of them one after the other. */
	enable(&bed, "bench:many");
	for (guint i = 0; i < VCPUS;) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		breathe();
		read_all(&bed);
		while (i < VCPUS && bed.readers[i].run >= 3 * SITES)
			i++;
	}
	disable(&bed, "bench:many");
	rs_source_stat(rs_session_source(bed.session, 0), &stat);
	g_assert_cmpuint(stat.sites_on, ==, 0);
	g_assert_cmpuint(stat.pause_max_ns, ==, 0);
	finish(&bed);
}

static void test_breakpoint(void)
{
	const char *number = g_getenv("RS_TEST_SWITCHES");

	switch_one(RS_VMM_BREAKPOINT, number ? (int)g_ascii_strtoll(number, NULL, 10) : SWITCHES);
}

static void test_breakpoints(void)
{
	switch_many(RS_VMM_BREAKPOINT);
}

/* Not by the book on each CPU, but it must work where this is the way. */
static void test_word(void)
{
	switch_one(RS_VMM_WORD, SWITCHES / 4);
}

static void test_words(void)
{
	switch_many(RS_VMM_WORD);
}

int main(int argc, char **argv)
{
	struct rs_error err = {0};
	int ret;

	g_test_init(&argc, &argv, NULL);
	guest = argv[1];
	ret = rs_vmm_probe(&err);
	if (ret == -ENOENT || ret == -ENODEV || ret == -ENXIO) {
		g_print("1..0 # SKIP %s\n", err.message);
		return 0;
	}
	g_test_add_func("/switch/breakpoint", test_breakpoint);
	g_test_add_func("/switch/breakpoints", test_breakpoints);
	g_test_add_func("/switch/word", test_word);
	g_test_add_func("/switch/words", test_words);
	return g_test_run();
}
