/* SPDX-License-Identifier: MIT */
/* Decoding speed on one core: pages of 2×u32 events to records, to text and to JSON lines. */
#include "rs-trace-cmdline.h"
#include "rs-trace-json.h"
#include "rs-trace-merger.h"
#include "rs-trace-text.h"
#include "../unit/decode/build.h"

#define RECORDS 250u
#define SECONDS 1.0

typedef struct {
	void (*line)(GString *out, const RsTraceRecord *record, const RsTraceTask *task);
	RsTraceCmdline *names;
	GString *out;
	guint64 sum;
} Bench;

static void take(const RsTraceRecord *record, gpointer data)
{
	Bench *bench = data;
	RsTraceTask task;

	bench->sum += record->ns;
	if (!bench->line)
		return;
	rs_trace_cmdline_lookup(bench->names, record->pid, record->when, &task);
	bench->line(bench->out, record, &task);
}

static void text_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task)
{
	rs_trace_text_line(out, record, task, 0);
}

static void json_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task)
{
	rs_trace_json_line(out, record, task);
}

static void measure(const char *name, Bench *bench, const RsTraceSchema *schema,
		    RsTraceClock *clock, const GByteArray *page)
{
	g_autoptr(RsTraceDecoder) decoder = rs_trace_decoder_new(1, schema, clock, take, bench);
	g_autoptr(GTimer) timer = g_timer_new();
	const RsTraceDecoderStats *stats;
	gdouble seconds;

	while ((seconds = g_timer_elapsed(timer, NULL)) < SECONDS) {
		for (guint i = 0; i < 100; i++) {
			g_string_truncate(bench->out, 0);
			rs_trace_decoder_push(decoder, 0, page->data, RS_RING_PAGE_HEADER,
					      page->len, 0);
		}
	}
	stats = rs_trace_decoder_stats(decoder);
	g_print("decode %-8s %6.2f M events/s %7.1f ns an event\n", name,
		(gdouble)stats->records / seconds / 1e6, seconds * 1e9 / (gdouble)stats->records);
}

static void hold(const RsTraceRecord *record, gpointer data)
{
	rs_trace_merger_push(data, record->ring, record);
}

static void sum(const RsTraceRecord *record, gpointer data)
{
	*(guint64 *)data += record->ns;
}

/* Decodes and merges: in each round every ring has a page of the same time. */
static void measure_merger(guint n_rings, const RsTraceSchema *schema, const GByteArray *page,
			   guint64 *out)
{
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 0, sum, out);
	g_autoptr(RsTraceDecoder) decoder =
		rs_trace_decoder_new(n_rings, schema, NULL, hold, merger);
	g_autoptr(GTimer) timer = g_timer_new();
	struct rs_ring_page *head = (struct rs_ring_page *)page->data;
	const RsTraceDecoderStats *stats;
	gdouble seconds;

	rs_trace_merger_add_lanes(merger, n_rings);
	while ((seconds = g_timer_elapsed(timer, NULL)) < SECONDS) {
		rs_trace_merger_begin_round(merger);
		for (guint i = 0; i < n_rings; i++)
			rs_trace_decoder_push(decoder, i, page->data, RS_RING_PAGE_HEADER,
					      page->len, 0);
		rs_trace_merger_end_round(merger, g_get_monotonic_time());
		head->ts += RECORDS * 300;
	}
	stats = rs_trace_decoder_stats(decoder);
	g_print("merge %3u rings  %6.2f M events/s %7.1f ns an event\n", n_rings,
		(gdouble)stats->records / seconds / 1e6, seconds * 1e9 / (gdouble)stats->records);
}

int main(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new(), bytes = NULL;
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	TestPage *page = test_page_new(0, 0, G_GUINT64_CONSTANT(5000000000000), 1234, 0);
	const struct rs_clock_epoch epoch = {.mult = 0x60000000, .shift = 32};
	struct rs_cmdline_entry task = test_task(1234, 0, "bench");
	Bench bench = {.names = rs_trace_cmdline_new(), .out = g_string_new(NULL)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	test_desc_switch(descs);
	test_take(schema, 0, descs);
	for (guint32 i = 0; i < RECORDS; i++) {
		guint32 pair[2] = {i * 77, i * 991};

		test_page_record(page, RS_FIRST_EVENT_ID,
				 (guint32)G_GUINT64_CONSTANT(5000000000000) + i * 300, pair,
				 sizeof(pair));
	}
	bytes = test_page_end(page);
	rs_trace_cmdline_add(bench.names, &task);
	rs_trace_clock_take(clock, &epoch, 1, 1);
	measure("records", &bench, schema, clock, bytes);
	bench.line = text_line;
	measure("text", &bench, schema, clock, bytes);
	bench.line = json_line;
	measure("json", &bench, schema, clock, bytes);
	measure_merger(1, schema, bytes, &bench.sum);
	measure_merger(8, schema, bytes, &bench.sum);
	measure_merger(64, schema, bytes, &bench.sum);
	rs_trace_cmdline_free(bench.names);
	g_string_free(bench.out, TRUE);
	return bench.sum ? 0 : 1;
}
