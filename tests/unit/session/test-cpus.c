/* SPDX-License-Identifier: MIT */
/*
 * The largest number of vCPUs. The host lays their rings out, the agent writes them, and an
 * observer merges them. With two vCPUs, no memory is taken for the others.
 */
#include "sham.h"

#include <ringside/agent.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <string.h>
#include <sys/stat.h>

static const uint32_t used[] = {0, 63, 64, 65, 255, 256, 1023};
static uint32_t cpu;

static uint32_t this_cpu(void)
{
	return cpu;
}

static struct rs_field_info field = {
	.name = "value", .type = "u32", .size = 4, .kind = RS_KIND_UINT};
static struct rs_event_info what = {.system = "many",
				    .name = "here",
				    .print = "%u",
				    .print_args = "value",
				    .fields = &field,
				    .field_count = 1,
				    .entry_size = 4};
static struct rs_event event = {.info = &what};
static struct rs_agent_provider provider = {
	.name = "many", .events = &event, .events_end = &event + 1};

struct many {
	struct sham *sham;
	struct rs_session *session;
	struct rs_source *source;
};

static struct many begin(uint32_t cpus)
{
	static const struct rs_trace_ops ops = {.cpu_id = this_cpu};
	struct many m = {.sham = sham_new(cpus, RS_CHANNEL_NONE)};
	struct rs_source_config config = {.kernel = "many"};
	struct rs_agent_config agent = {.region = m.sham->region->map,
					.region_size = m.sham->region->size,
					.ops = &ops,
					.cpu_count = cpus,
					.flags = RS_GUEST_SELF_PATCH,
					.tsc_hz = 1000000000};

	g_assert_cmpint(rs_session_create("t", &m.session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(m.session, &config, m.sham->region, &m.sham->target,
					      &m.source, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(m.session, NULL), ==, 0);
	cpu = 0;
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	rs_session_refresh(m.session);
	return m;
}

static void end(struct many *m)
{
	g_assert_cmpint(rs_agent_unregister(&provider), ==, 0);
	rs_agent_fini();
	rs_session_destroy(m->session);
	sham_free(m->sham);
}

/* Does what a tracepoint does while it is on. */
static void fire(uint64_t value)
{
	uint32_t control = rs_event_control(&event);

	if (control & RS_EVENT_ENABLED)
		rs_emit_entry(&event, control, &value, 4, NULL, 0);
}

static void emit_everywhere(uint32_t rounds)
{
	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < G_N_ELEMENTS(used); i++) {
			cpu = used[i];
			fire(round);
		}
	}
}

struct seen {
	uint32_t by_cpu[RS_MAX_CPUS];
	uint32_t records;
	uint64_t last_ts;
};

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct seen *seen = data;

	g_assert_cmpint(record->kind, ==, RS_TRACE_RECORD_EVENT);
	g_assert_cmpstr(record->event->name, ==, "here");
	g_assert_cmpuint(record->ring, <, RS_MAX_CPUS);
	/* Records come in the order of time, whichever ring they were in. */
	g_assert_cmpuint(record->when.ts, >=, seen->last_ts);
	seen->last_ts = record->when.ts;
	seen->by_cpu[record->ring]++;
	seen->records++;
}

static struct seen *read_all(const RsTraceRegion *region)
{
	struct seen *seen = g_new0(struct seen, 1);
	RsTraceFollowerConfig follower = {.record = on_record, .data = seen};
	RsTracePumpConfig config = {.sink = rs_trace_follower_new(&follower)};
	g_autoptr(RsTracePump) pump = rs_trace_pump_new(&config);

	rs_trace_pump_add(pump, rs_trace_live_new(region, RS_TRACE_FROM_OLDEST, 0, NULL), NULL);
	rs_trace_pump_start(pump);
	rs_trace_pump_finish(pump);
	g_assert_cmpuint(rs_trace_follower_bad(config.sink), ==, 0);
	return seen;
}

static void test_rings(void)
{
	struct many m = begin(RS_MAX_CPUS);
	g_autofree struct seen *seen = NULL;
	struct rs_source_stat stat;
	struct rs_cpu_stat one;

	g_assert_cmpint(rs_session_enable(m.session, RS_OWNER_HOST, "many:*", NULL, NULL), ==, 0);
	emit_everywhere(3);
	cpu = RS_MAX_CPUS; /* this CPU has no ring */
	fire(0);
	seen = read_all(m.sham->region);
	g_assert_cmpuint(seen->records, ==, 3 * G_N_ELEMENTS(used));
	for (size_t i = 0; i < G_N_ELEMENTS(used); i++)
		g_assert_cmpuint(seen->by_cpu[used[i]], ==, 3);

	rs_source_stat(m.source, &stat);
	g_assert_cmpuint(stat.cpus, ==, RS_MAX_CPUS);
	g_assert_cmpuint(stat.written, ==, 3 * G_N_ELEMENTS(used));
	g_assert_cmpuint(stat.lost_no_ring, ==, 1);
	rs_source_stat_cpu(m.source, &stat, 1023, &one);
	g_assert_cmpuint(one.entries, ==, 3);
	rs_source_stat_cpu(m.source, &stat, 1022, &one);
	g_assert_cmpuint(one.entries, ==, 0);
	end(&m);
}

static void check_filter(const char *expression, const uint32_t *passing, size_t count)
{
	struct many m = begin(RS_MAX_CPUS);
	g_autofree struct seen *seen = NULL;
	struct rs_error err = {0};

	if (rs_session_set_filter(m.session, RS_OWNER_HOST, "many:*", expression, NULL, &err))
		g_error("%s", err.message);
	g_assert_cmpint(rs_session_enable(m.session, RS_OWNER_HOST, "many:*", NULL, NULL), ==, 0);
	emit_everywhere(1);
	seen = read_all(m.sham->region);
	g_assert_cmpuint(seen->records, ==, count);
	for (size_t i = 0; i < count; i++)
		g_assert_cmpuint(seen->by_cpu[passing[i]], ==, 1);
	end(&m);
}

/* The agent runs a filter with CPUs that do not fit in one word of a bit mask. */
static void test_filters(void)
{
	check_filter("CPU & CPUS{64,1023}", (const uint32_t[]){64, 1023}, 2);
	check_filter("CPU & CPUS{63-255}", (const uint32_t[]){63, 64, 65, 255}, 4);
	check_filter("!(CPU & CPUS{0-64})", (const uint32_t[]){65, 255, 256, 1023}, 4);
	check_filter("CPU & CPUS{0}", (const uint32_t[]){0}, 1);
	check_filter("CPU > 255", (const uint32_t[]){256, 1023}, 2);
}

/* Bytes of memory that the region's file takes. */
static uint64_t taken(const RsTraceRegion *region)
{
	struct stat st;

	g_assert_cmpint(fstat(region->fd, &st), ==, 0);
	return (uint64_t)st.st_blocks * 512;
}

static void test_memory(void)
{
	struct many m = begin(2);
	uint64_t two = m.sham->region->size;

	/* The tables of a region, and two rings of 64 KiB. */
	g_assert_cmpuint(two, <, 6 << 20);
	/* What the session and the agent touch before anything is recorded. */
	g_assert_cmpuint(taken(m.sham->region), <, 256 << 10);
	end(&m);

	m = begin(RS_MAX_CPUS);
	/* 1,022 more rings, each with its words and a slot for requests. */
	g_assert_cmpuint(m.sham->region->size - two, <=, 1022ull * ((64 << 10) + (9 << 10)));
	/* The agent begins one page of each ring. */
	g_assert_cmpuint(taken(m.sham->region), <, (1024 * 4096) + (256 << 10));
	end(&m);
	/* A session's figures hold no array for all possible vCPUs. */
	g_assert_cmpuint(sizeof(struct rs_source_stat), <, 1024);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/cpus/rings", test_rings);
	g_test_add_func("/session/cpus/filters", test_filters);
	g_test_add_func("/session/cpus/memory", test_memory);
	return g_test_run();
}
