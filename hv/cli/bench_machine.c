/* SPDX-License-Identifier: MIT */
#include "cli/bench.h"

#include "base/ticks.h"
#include "filter/filter.h"
#include "machine/event_cost.h"
#include "machine/floor.h"

#include <errno.h>
#include <rs-trace-decoder.h>
#include <rs-trace-json.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-ring.h>
#include <rs-trace-text.h>

#define ROUNDS 50u
#define LOOPS 50000u
#define SLOTS 8u                     /* that are looked at for the event's provider */
#define LINES_NS UINT64_C(300000000) /* for how long lines are made */

static double best_of(void (*loop)(uint32_t rounds))
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t begun = rs_monotonic_ns();

		loop(LOOPS);
		best = MIN(best, rs_monotonic_ns() - begun);
	}
	return (double)best / LOOPS;
}

static void ticks_and_store(uint32_t rounds)
{
	volatile uint64_t to;

	rs_floor_ticks_store(rounds, &to);
}

static void measure_floor(struct rs_bench *bench)
{
	const double empty = best_of(rs_floor_empty);

	rs_bench_ns(bench, "counter", "reading the CPU's counter", best_of(rs_floor_ticks) - empty);
	rs_bench_ns(bench, "counter_store", "reading it, and one store",
		    best_of(ticks_and_store) - empty);
	rs_bench_ns(bench, "off", "a tracepoint that is off",
		    MAX(best_of(rs_floor_sites) - empty, 0) / RS_FLOOR_SITES);
}

/* ---- events ---- */

static const RsTraceEvent *find_event(const RsTraceRegion *region, RsTraceSchema *schema)
{
	gsize size;
	const guint8 *events = rs_trace_region_section(region, RS_SEC_EVENTS, &size);

	for (guint slot = 0; slot < SLOTS; slot++) {
		struct rs_provider entry;

		rs_trace_region_provider(region, slot, &entry);
		if (entry.desc_offset <= size && entry.desc_size <= size - entry.desc_offset)
			rs_trace_schema_take(schema, slot, &entry, events + entry.desc_offset,
					     entry.desc_size, NULL, NULL);
	}
	return rs_trace_schema_by_name(schema, "host", "pause");
}

static int take(struct rs_bench *bench, struct rs_event_meter *meter,
		const struct rs_event_setting *setting, const char *key, const char *what)
{
	struct rs_error err = {0};
	double ns;

	if (rs_event_meter_take(meter, setting, &ns, &err))
		return rs_cli_fail_error(&err);
	rs_bench_ns(bench, key, what, ns);
	return RS_CLI_OK;
}

static int take_filtered(struct rs_bench *bench, struct rs_event_meter *meter,
			 const RsTraceEvent *event, bool refuses)
{
	/* `stop_ns` is the number of a round. */
	const char *expression = refuses ? "stop_ns > 1000000" : "stop_ns < 1000000";
	struct rs_event_setting setting = {.id = event->id, .refuses = refuses, .native = true};
	g_autoptr(GByteArray) program = NULL;
	struct rs_filter_error err = {0};
	struct rs_error why = {0};
	double ns;
	int ret;

	if (rs_filter_compile(&event, 1, expression, &program, &err))
		return rs_cli_fail(RS_CLI_FAILED, "%s", err.message);
	setting.filter = (const void *)program->data;
	ret = rs_event_meter_take(meter, &setting, &ns, &why);
	if (ret == -ENOTSUP) {
		setting.native = false;
		ret = rs_event_meter_take(meter, &setting, &ns, &why);
	}
	if (ret)
		return rs_cli_fail_error(&why);
	rs_bench_ns(bench, refuses ? "reject" : "accept",
		    refuses ? "an event that its filter refuses"
			    : "an event that its filter accepts",
		    ns);
	return RS_CLI_OK;
}

/* ---- lines ---- */

typedef struct {
	GString *out;
	bool json;
	uint64_t n;
} Lines;

static void make_line(const RsTraceRecord *record, gpointer data)
{
	const RsTraceTask task = {.comm = "ringside"};
	Lines *lines = data;

	g_string_truncate(lines->out, 0);
	if (lines->json)
		rs_trace_json_line(lines->out, record, &task);
	else
		rs_trace_text_line(lines->out, record, &task, RS_TRACE_TEXT_NONE);
	lines->n++;
}

/* Where most of the events above went: to the ring of the CPU that they happened on. */
static guint find_fullest(const RsTraceRegion *region)
{
	RsTraceRingInfo info, best = {0};
	guint found = 0;

	for (guint i = 0; i < region->header.ring_count; i++) {
		rs_trace_ring_info(region, i, &info);
		if (info.records <= best.records)
			continue;
		best = info;
		found = i;
	}
	return found;
}

/* What they have left there, again and again. */
static int measure_lines(struct rs_bench *bench, const RsTraceRegion *region,
			 const RsTraceSchema *schema, bool json)
{
	const RsTraceRingConfig config = {.ring = find_fullest(region),
					  .from = RS_TRACE_FROM_OLDEST};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceRing) ring = rs_trace_ring_new(region, &config, &error);
	g_autoptr(GString) out = g_string_new(NULL);
	Lines lines = {out, json, 0};
	g_autoptr(RsTraceDecoder) decoder =
		rs_trace_decoder_new(1, schema, NULL, make_line, &lines);
	const uint64_t begun = rs_monotonic_ns();
	double best = 0;
	RsTraceChunk chunk;

	if (!ring)
		return rs_cli_fail_gerror(g_steal_pointer(&error));
	if (rs_trace_ring_next(ring, begun, &chunk) != RS_TRACE_RING_DATA)
		return rs_cli_fail(RS_CLI_FAILED, "there are no events to make lines of");
	while (rs_monotonic_ns() - begun < LINES_NS) {
		const uint64_t before = lines.n, from = rs_monotonic_ns();

		rs_trace_decoder_push(decoder, 0, chunk.page, rs_trace_page_first(chunk.page),
				      chunk.to, 0);
		best = MAX(best, (double)(lines.n - before) * 1e9 /
					 (double)MAX(rs_monotonic_ns() - from, 1));
	}
	rs_bench_rate(bench, json ? "json_lines" : "text_lines",
		      json ? "lines of JSON, by one thread" : "lines of text, by one thread", best);
	return RS_CLI_OK;
}

static int measure_events(struct rs_bench *bench, struct rs_event_meter *meter)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	const RsTraceRegion *region = rs_event_meter_region(meter);
	const RsTraceEvent *event = find_event(region, schema);
	struct rs_event_setting plain = {0};
	int code;

	if (!event)
		return rs_cli_fail(RS_CLI_FAILED, "our own agent has not described its events");
	plain.id = event->id;
	code = take(bench, meter, &plain, "event", "an event that is recorded");
	if (!code)
		code = take_filtered(bench, meter, event, true);
	if (!code)
		code = take_filtered(bench, meter, event, false);
	if (!code)
		code = measure_lines(bench, region, schema, false);
	if (!code)
		code = measure_lines(bench, region, schema, true);
	return code;
}

int rs_bench_machine(struct rs_bench *bench)
{
	struct rs_event_meter *meter;
	struct rs_error err = {0};
	int code;

	bench->title = "this machine";
	measure_floor(bench);
	if (rs_event_meter_create(&meter, &err))
		return rs_cli_fail_error(&err);
	code = measure_events(bench, meter);
	rs_event_meter_destroy(meter);
	return code;
}
