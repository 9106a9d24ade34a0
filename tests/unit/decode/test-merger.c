/* SPDX-License-Identifier: MIT */
#include "rs-trace-merger.h"

#include <string.h>

static void collect(const RsTraceRecord *record, gpointer data)
{
	g_string_append_printf(data, record->lost ? "%u:lost%u " : "%u:%u ", record->ring,
			       (guint)(record->lost ? record->lost : record->ns));
}

static void push(RsTraceMerger *merger, guint16 ring, guint64 ns, guint64 lost)
{
	RsTraceRecord record = {.ring = ring, .ns = ns, .lost = lost};

	rs_trace_merger_push(merger, ring, &record);
}

static void test_rounds(void)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(1000, 0, collect, out);

	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 0);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 1);
	rs_trace_merger_begin_round(merger);
	push(merger, 0, 10, 0);
	push(merger, 0, 30, 0);
	push(merger, 1, 20, 0);
	rs_trace_merger_end_round(merger, 0);
	g_assert_cmpstr(out->str, ==, "");
	rs_trace_merger_begin_round(merger);
	push(merger, 1, 15, 5); /* comes out before the ring's next record, not before 20 */
	push(merger, 1, 25, 0);
	push(merger, 1, 40, 0);
	rs_trace_merger_end_round(merger, 1);
	g_assert_cmpstr(out->str, ==, "0:10 1:20 "); /* 30 waits for 25 */
	rs_trace_merger_begin_round(merger);
	rs_trace_merger_end_round(merger, 2);
	g_assert_cmpstr(out->str, ==, "0:10 1:20 1:lost5 1:25 0:30 1:40 ");
	g_string_truncate(out, 0);
	/* Ring 0 is in flight: 40 waits, but not longer than hold_us. */
	rs_trace_merger_begin_round(merger);
	push(merger, 1, 40, 0);
	rs_trace_merger_end_round(merger, 1);
	for (guint i = 0; i < 3; i++) {
		rs_trace_merger_begin_round(merger);
		rs_trace_merger_in_flight(merger, 0);
		rs_trace_merger_end_round(merger, 2);
		g_assert_cmpstr(out->str, ==, "");
	}
	rs_trace_merger_begin_round(merger);
	push(merger, 0, 50, 0);
	rs_trace_merger_in_flight(merger, 0);
	rs_trace_merger_end_round(merger, 1001);
	g_assert_cmpstr(out->str, ==, "1:40 ");
	rs_trace_merger_flush(merger);
	g_assert_cmpstr(out->str, ==, "1:40 0:50 ");
	g_assert_cmpuint(rs_trace_merger_held(merger), ==, 0);
}

/* What comes out of three rings. `told`: ring 2's times; 0: it tells the truth. */
static char *with_third(guint64 told)
{
	GString *out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 0, collect, out);

	rs_trace_merger_add_lanes(merger, 2);
	rs_trace_merger_add_lanes(merger, 1);
	/* Ring 1 is read before ring 0, and gets a record in between: the next round finds it. */
	for (guint64 i = 1; i <= 8; i++) {
		rs_trace_merger_begin_round(merger);
		if (i > 1)
			push(merger, 1, 100 * i - 150, 0);
		push(merger, 0, 100 * i, 0);
		push(merger, 2, told ? told : 100 * i + 10, 0);
		rs_trace_merger_end_round(merger, 0);
	}
	g_string_append(out, "| ");
	rs_trace_merger_flush(merger);
	return g_string_free(out, FALSE);
}

/* The lines of rings 0 and 1. */
static char *without_third(const char *lines)
{
	g_auto(GStrv) all = g_strsplit(lines, " ", -1);
	GString *out = g_string_new(NULL);

	for (guint i = 0; all[i] && *all[i]; i++)
		if (*all[i] == '0' || *all[i] == '1')
			g_string_append_printf(out, "%s ", all[i]);
	return g_string_free(out, FALSE);
}

/* A ring that tells wrong times, late or early, does not change the order of the others. */
static void test_lies(void)
{
	static const guint64 told[] = {0, 2, 450, 100000, G_MAXUINT64};

	for (guint i = 0; i < G_N_ELEMENTS(told); i++) {
		g_autofree char *all = with_third(told[i]), *others = without_third(all);
		const char *end = strchr(all, '|');

		g_test_message("%s", all);
		g_assert_cmpstr(others, ==,
				"1:50 0:100 1:150 0:200 1:250 0:300 1:350 0:400 "
				"1:450 0:500 1:550 0:600 1:650 0:700 0:800 ");
		/* Nobody waits for long, the ring itself neither. */
		g_assert_true(strstr(all, "0:500 ") < end);
		g_assert_true(strstr(all, "2:") < end);
	}
}

/* A loss that is known between rounds comes out like a record of the round before. */
static void test_between_rounds(void)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(1000, 0, collect, out);

	rs_trace_merger_add_lanes(merger, 1);
	rs_trace_merger_begin_round(merger);
	rs_trace_merger_end_round(merger, 0);
	push(merger, 0, 10, 3);
	rs_trace_merger_begin_round(merger);
	push(merger, 0, 20, 0);
	rs_trace_merger_end_round(merger, 1);
	g_assert_cmpstr(out->str, ==, "0:lost3 ");
	rs_trace_merger_begin_round(merger);
	rs_trace_merger_end_round(merger, 1);
	g_assert_cmpstr(out->str, ==, "0:lost3 0:20 ");
}

static void test_bound(void)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 4096, collect, out);

	rs_trace_merger_add_lanes(merger, 2);
	rs_trace_merger_begin_round(merger);
	for (guint i = 0; i < 1000; i++) {
		push(merger, (guint16)(i % 2), i, 0);
		g_assert_cmpuint(rs_trace_merger_held(merger), <=, 4096);
	}
	rs_trace_merger_flush(merger);
	g_assert_true(g_str_has_prefix(out->str, "0:0 1:1 0:2 "));
	g_assert_true(g_str_has_suffix(out->str, " 0:998 1:999 "));
}

typedef struct {
	guint64 last_ns, count, sum;
} Check;

static void check(const RsTraceRecord *record, gpointer data)
{
	Check *c = data;

	g_assert_cmpuint(record->ns, >=, c->last_ns);
	c->last_ns = record->ns;
	c->count++;
	for (guint i = 0; i < record->size; i++) {
		g_assert_cmpuint(record->payload[i], ==, (guint8)record->ns);
		c->sum += record->payload[i];
	}
}

/* More rings than there are bits in a word, payloads from nothing to more than a chunk. */
static void test_many_lanes(void)
{
	enum { LANES = 1000, ROUNDS = 50 };
	static guint8 payload[70000];
	Check c = {0};
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 0, check, &c);
	GRand *rand = g_rand_new_with_seed(3);
	guint64 pushed = 0, sum = 0;

	rs_trace_merger_add_lanes(merger, LANES);
	for (guint64 round = 0; round < ROUNDS; round++) {
		rs_trace_merger_begin_round(merger);
		for (guint i = 0; i < LANES; i++) {
			RsTraceRecord record = {.ring = (guint16)i, .payload = payload};

			if (g_rand_int_range(rand, 0, 3))
				continue;
			record.ns = round * 1000 + (guint64)g_rand_int_range(rand, 0, 1000);
			record.size = (guint)g_rand_int_range(rand, 0, 40);
			if (!g_rand_int_range(rand, 0, 500))
				record.size = sizeof(payload);
			memset(payload, (guint8)record.ns, record.size);
			rs_trace_merger_push(merger, i, &record);
			pushed++;
			sum += (guint64)record.size * (guint8)record.ns;
		}
		rs_trace_merger_end_round(merger, 0);
	}
	rs_trace_merger_flush(merger);
	g_assert_cmpuint(c.count, ==, pushed);
	g_assert_cmpuint(c.sum, ==, sum);
	g_assert_cmpuint(rs_trace_merger_held(merger), ==, 0);
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/merger/rounds", test_rounds);
	g_test_add_func("/decode/merger/lies", test_lies);
	g_test_add_func("/decode/merger/between-rounds", test_between_rounds);
	g_test_add_func("/decode/merger/bound", test_bound);
	g_test_add_func("/decode/merger/many-lanes", test_many_lanes);
	return g_test_run();
}
