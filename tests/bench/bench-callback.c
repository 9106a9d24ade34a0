/* SPDX-License-Identifier: MIT */
/*
 * What callbacks of an event cost in a process without a host: "NAME VALUE UNIT" lines, and ratios
 * to the enabled event of the same run.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include "../unit/agent/text.h"
#include "bench.h"

#include <ringside/tracepoint.h>
#include <ringside/tracepoint_alone.h>

static RS_PROVIDER(provider, "bench");
static uint64_t sum;

static void on_raw(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	sum += args[0] + count;
}

static void on_record(const struct rs_event *event, const void *record, uint32_t size, void *data)
{
	sum += *(const uint64_t *)record + size;
}

static void enable(const char *text)
{
	uint32_t id = rs_tracepoint_find("bench", "pair");

	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_ENABLE, text, 1, NULL), ==, 0);
}

static void start(void)
{
	static const struct rs_trace_ops ops = {.text_open = os_text_open,
						.text_close = os_text_close};
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	struct rs_agent_config config = {
		.ops = &ops, .cpu_count = cpus, .flags = RS_GUEST_SELF_PATCH};

	config.region_size = rs_alone_size(cpus, 1024);
	config.region = g_aligned_alloc(1, config.region_size, 4096);
	g_assert_cmpint(rs_alone_lay_out(config.region, config.region_size, cpus), ==, 0);
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
}

int main(void)
{
	struct rs_callback raw = {.raw = on_raw}, more[9] = {{.raw = NULL}};
	struct rs_callback record = {.record = on_record};
	double empty, off, enabled, called, ten, both, records;

	start();
	BENCH(empty, (void)0);
	BENCH(off, trace_bench_off(i, 7));
	enable("1");
	BENCH(enabled, trace_bench_pair(i, 7));
	g_assert_cmpint(register_trace_bench_pair(&raw), ==, 0);
	BENCH(both, trace_bench_pair(i, 7));
	enable("0");
	BENCH(called, trace_bench_pair(i, 7));
	g_assert_cmpuint(sum, >, 0);
	for (uint32_t k = 0; k < 9; k++) {
		more[k].raw = on_raw;
		g_assert_cmpint(register_trace_bench_pair(&more[k]), ==, 0);
	}
	BENCH(ten, trace_bench_pair(i, 7));
	for (uint32_t k = 0; k < 9; k++)
		g_assert_cmpint(unregister_trace_bench_pair(&more[k]), ==, 0);
	g_assert_cmpint(unregister_trace_bench_pair(&raw), ==, 0);
	g_assert_cmpint(register_trace_bench_pair(&record), ==, 0);
	rs_event_enable_callbacks(&rs_event_bench_pair, true);
	BENCH(records, trace_bench_pair(i, 7));
	bench_print("empty", empty, "ns");
	bench_print("disabled", off, "ns");
	bench_print("enabled", enabled, "ns");
	bench_print("one-raw-callback", called, "ns");
	bench_print("one-record-callback", records, "ns");
	bench_print("ten-raw-callbacks", ten, "ns");
	bench_print("enabled-with-callback", both, "ns");
	bench_print("callback-to-enabled", called / enabled, "times");
	bench_print("callback-beside-enabled", both - enabled, "ns");
	return 0;
}
