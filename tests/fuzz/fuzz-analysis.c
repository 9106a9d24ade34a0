/* SPDX-License-Identifier: MIT */
/*
 * What a user wants of a hostile trace: a selection and all figures, over hostile records of events
 * that are described, of one that the input describes, and of none. Input: a head, texts of the
 * user, a descriptor, records.
 */
#include "input.h"
#include "seed.h"
#include "analysis/rs-trace-diff.h"
#include "analysis/rs-trace-hist.h"
#include "analysis/rs-trace-top.h"
#include "analysis/rs-trace-stacks.h"
#include "filter/rs-trace-selection.h"
#include "../unit/decode/build.h"

#include <stdlib.h>

#define TEXTS 6u

struct head {
	uint8_t texts[TEXTS]; /* bytes of each */
	uint16_t descriptor;  /* bytes */
};

struct record {
	uint8_t kind, id, size, pid, ring, source, frames;
	int8_t ns;
};

static void put_record(GByteArray *seed, guint8 id, guint8 pid, gint8 ns, gconstpointer payload,
		       guint8 size)
{
	const struct record record = {.id = id, .size = size, .pid = pid, .ns = ns};

	g_byte_array_append(seed, (const guint8 *)&record, sizeof(record));
	g_byte_array_append(seed, payload, size);
}

static void put_seed(const char *name, const char *const texts[TEXTS])
{
	g_autoptr(GByteArray) seed = g_byte_array_new(), all = test_payload_all();
	g_autoptr(GByteArray) desc = g_byte_array_new();
	const struct record loss = {.kind = 1, .size = 3};
	struct head head;

	test_desc_later(desc);
	head.descriptor = (guint16)desc->len;
	for (guint i = 0; i < TEXTS; i++)
		head.texts[i] = (guint8)strlen(texts[i]);
	g_byte_array_append(seed, (const guint8 *)&head, sizeof(head));
	for (guint i = 0; i < TEXTS; i++)
		g_byte_array_append(seed, (const guint8 *)texts[i], head.texts[i]);
	g_byte_array_append(seed, desc->data, desc->len);
	for (guint8 i = 0; i < 4; i++) {
		put_record(seed, 0, i, 1, &(guint64){i}, 8);
		put_record(seed, 1, i, 1, all->data, (guint8)all->len);
		put_record(seed, 2, i, 1, all->data, (guint8)all->len);
	}
	g_byte_array_append(seed, (const guint8 *)&loss, sizeof(loss));
	put_record(seed, 1, 1, -5, all->data, (guint8)all->len);
	rs_fuzz_seed(name, seed->data, seed->len);
}

static void rs_fuzz_seeds(void)
{
	put_seed("numbers", (const char *const[]){"prev < 3 || s == -5", "0-1,3", "*", "next",
						  "switch..all", "pid"});
	put_seed("texts", (const char *const[]){"demo:*: why ~ d*e! && state == R", "1",
						"switch,demo:", "why", "*..*", "comm..why"});
}

struct figures {
	RsTraceSelection *selection;
	RsTraceStat *stat, *again;
	RsTraceHist *hist;
	RsTraceLatency *latency;
	RsTraceStacks *stacks;
	RsTraceTop *top;
	guint64 events;
};

static void check_groups(const RsTraceLatency *latency, guint64 pairs)
{
	g_autoptr(GArray) groups = rs_trace_latency_groups(latency, NULL);
	guint64 sum = 0;

	for (guint i = 0; groups && i < groups->len; i++)
		sum += rs_trace_distribution_count(
			g_array_index(groups, RsTraceLatencyGroup, i).ns);
	if (sum > pairs)
		abort();
}

static void check_sums(const GPtrArray *groups)
{
	for (guint i = 0; i < groups->len; i++) {
		const RsTraceHistGroup *group = groups->pdata[i];
		guint64 sum = 0;

		for (guint k = 0; k < group->rows->len; k++)
			sum += g_array_index(group->rows, RsTraceHistRow, k).count;
		if (sum != group->count)
			abort();
	}
}

/* Also of few values, and when only the first of them are left. */
static void check_hist(RsTraceHist *hist)
{
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GPtrArray) groups = NULL;

		if (!rs_trace_hist_result(hist, &groups, NULL))
			return;
		check_sums(groups);
		rs_trace_hist_fold(groups, 1);
		check_sums(groups);
		rs_trace_hist_set_few(hist);
	}
}

/* What came has a row of each kind, whether some rows are left out or not. */
static void check_top(RsTraceTop *top, guint64 events)
{
	g_autoptr(RsTraceTopPage) page = rs_trace_top_take(top, 1);

	if (page->all.events != events)
		abort();
	for (guint i = 0; i < RS_TRACE_TOP_KINDS * RS_TRACE_TOP_SORTS; i++) {
		const RsTraceTopBy by = i % RS_TRACE_TOP_KINDS;
		g_autoptr(GPtrArray) rows =
			rs_trace_top_rows(page, by, i / RS_TRACE_TOP_KINDS, i % 3);
		guint64 sum = 0, lost = 0;

		for (guint k = 0; k < rows->len; k++) {
			sum += ((const RsTraceTopRow *)rows->pdata[k])->all.events;
			lost += ((const RsTraceTopRow *)rows->pdata[k])->all.lost;
		}
		if (sum != events || ((by == RS_TRACE_TOP_SOURCE || by == RS_TRACE_TOP_CPU) &&
				      lost != page->all.lost))
			abort();
	}
}

static double cost_of(guint32 number, gpointer data)
{
	return number % 2 ? 20 : -1;
}

static void add_top(RsTraceTop *top, const RsTraceSample *item)
{
	const RsTraceOrigin origin = {.number = item->source_index};
	RsTraceRecord record = *item->record;
	RsTraceSample with = *item;

	record.origin = &origin;
	with.record = &record;
	rs_trace_top_add(top, &with);
	/* Intervals of any length, none too. */
	if (record.ns % 7 == 0)
		rs_trace_top_page_free(rs_trace_top_take(top, record.ns));
}

static void check(const struct figures *f)
{
	g_autoptr(GPtrArray) rows = rs_trace_stat_events(f->stat);
	g_autoptr(GPtrArray) diff = rs_trace_diff_stat(f->stat, f->again);
	g_autoptr(GArray) stacks = rs_trace_stacks_result(f->stacks);
	guint64 sum = 0, folded = rs_trace_stacks_without(f->stacks);

	for (guint i = 0; i < rows->len; i++)
		sum += ((const RsTraceStatRow *)rows->pdata[i])->counts.events;
	for (guint i = 0; i < stacks->len; i++)
		folded += g_array_index(stacks, RsTraceStacksRow, i).count;
	if (sum != f->events || folded != f->events || rs_trace_diff_exceeds(diff, 0))
		abort();
	check_top(f->top, f->events);
	if (f->hist)
		check_hist(f->hist);
	if (f->latency) {
		g_autoptr(GPtrArray) latency = rs_trace_diff_latency(f->latency, f->latency);
		RsTraceLatencyResult r;

		rs_trace_latency_result(f->latency, &r);
		if (rs_trace_distribution_count(r.ns) + r.spanning + r.ends > f->events ||
		    rs_trace_diff_exceeds(latency, 0))
			abort();
		check_groups(f->latency, rs_trace_distribution_count(r.ns));
	}
}

static void add(struct figures *f, const RsTraceSample *item)
{
	if (f->selection && !rs_trace_selection_matches(f->selection, item->record, item->task))
		return;
	f->events += item->record->kind == RS_TRACE_RECORD_EVENT;
	rs_trace_stat_add(f->stat, item);
	rs_trace_stat_add(f->again, item);
	rs_trace_stacks_add(f->stacks, item);
	add_top(f->top, item);
	if (f->hist)
		rs_trace_hist_add(f->hist, item);
	if (f->latency)
		rs_trace_latency_add(f->latency, item);
}

static void read_records(struct figures *f, struct rs_fuzz_input *in, const RsTraceSchema *schema)
{
	static const char *const comms[] = {"sh", "\x1b;x", "",
					    "a-name-of-more-than-thirty-two-bytes"};
	struct record head;
	guint64 ns = 1000;

	while (in->left && rs_fuzz_take(in, &head, sizeof(head))) {
		const guint size = (guint)MIN(head.size, in->left);
		g_autofree guint8 *payload = g_memdup2(in->data, size);
		const RsTraceTask task = {comms[head.pid % 4], head.pid / 2u};
		RsTraceRecord record = {.kind = head.kind % 8u == 1   ? RS_TRACE_RECORD_LOSS
						: head.kind % 8u == 2 ? RS_TRACE_RECORD_BOOT
								      : RS_TRACE_RECORD_EVENT,
					.ns = ns,
					.sorted_ns = ns,
					.lost = head.size,
					.id = (guint16)(TEST_SWITCH + head.id),
					.payload = payload,
					.size = size,
					.pid = head.pid,
					.ring = head.ring,
					.stack = payload,
					.n_stack = MIN(head.frames, size / 8)};
		const RsTraceSample item = {&record, &task, comms[head.source % 4], head.source};

		record.event = rs_trace_schema_by_id(schema, record.id);
		add(f, &item);
		ns += (guint64)head.ns;
		in->data += size;
		in->left -= size;
	}
}

static RsTraceSchema *make_schema(struct rs_fuzz_input *in, gsize size)
{
	g_autoptr(GByteArray) known = g_byte_array_new(), more = g_byte_array_new();
	RsTraceSchema *schema = rs_trace_schema_new();
	struct rs_provider entry;

	size = MIN(size, in->left);
	test_desc_switch(known);
	test_desc_all(known);
	test_take(schema, 0, known);
	test_desc_later(more);
	test_provider(&entry, 1, more);
	g_byte_array_set_size(more, 0);
	g_byte_array_append(more, in->data, (guint)size);
	g_byte_array_set_size(more, (guint)entry.desc_size);
	rs_trace_schema_take(schema, 1, &entry, more->data, more->len, NULL, NULL);
	in->data += size;
	in->left -= size;
	return schema;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct figures f = {0};
	char texts[TEXTS][256] = {0};
	RsTraceSchema *schema;
	struct head head;

	rs_fuzz_take(&in, &head, sizeof(head));
	for (guint i = 0; i < TEXTS; i++)
		rs_fuzz_take(&in, texts[i], head.texts[i]);
	schema = make_schema(&in, head.descriptor);
	f.selection = rs_trace_selection_new(
		&(RsTraceSelectionConfig){.filters = (const char *[]){texts[0], NULL},
					  .cpus = *texts[1] ? texts[1] : NULL,
					  .events = *texts[2] ? texts[2] : NULL,
					  .until = head.texts[1] % 8 == 7 ? texts[5] : NULL},
		NULL);
	f.stat = rs_trace_stat_new();
	f.again = rs_trace_stat_new();
	f.top = rs_trace_top_new(cost_of, NULL);
	f.stacks = rs_trace_stacks_new();
	f.hist = rs_trace_hist_new(texts[3], *texts[5] ? texts[5] : NULL, NULL);
	f.latency = rs_trace_latency_new(texts[4], *texts[5] ? texts[5] : NULL, NULL);
	if (f.latency && *texts[3])
		rs_trace_latency_group_by(f.latency, texts[3], NULL);
	read_records(&f, &in, schema);
	check(&f);
	if (f.selection)
		rs_trace_selection_finish(f.selection, NULL);
	rs_trace_selection_free(f.selection);
	rs_trace_stat_free(f.stat);
	rs_trace_stat_free(f.again);
	rs_trace_top_free(f.top);
	rs_trace_stacks_free(f.stacks);
	rs_trace_hist_free(f.hist);
	rs_trace_latency_free(f.latency);
	rs_trace_schema_free(schema);
	return 0;
}
