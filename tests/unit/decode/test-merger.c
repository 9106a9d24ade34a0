/* SPDX-License-Identifier: MIT */
#include "rs-trace-merger.h"

#include <malloc.h>
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

/* ---- lanes ---- */

/* The records that one round reads come out two rounds later. */
static void let_out(RsTraceMerger *merger)
{
	rs_trace_merger_begin_round(merger);
	rs_trace_merger_end_round(merger, 0);
}

/* Lanes that were given back are used again, if as many as are wanted lie side by side. */
static void test_lanes(void)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(1000, 0, collect, out);

	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 3), ==, 0);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 2), ==, 3);
	rs_trace_merger_remove_lanes(merger, 1, 2);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 3), ==, 5);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 2), ==, 1);
	rs_trace_merger_remove_lanes(merger, 1, 1);
	rs_trace_merger_remove_lanes(merger, 3, 2);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 2), ==, 3);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 1);
	rs_trace_merger_remove_lanes(merger, 7, 1); /* the last one */
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 7);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 8);
}

/* What a lane holds when it is given back comes out in its turn, and nobody gets it before. */
static void test_lanes_held(void)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(1000, 0, collect, out);

	rs_trace_merger_add_lanes(merger, 4);
	rs_trace_merger_begin_round(merger);
	push(merger, 2, 10, 0);
	push(merger, 0, 20, 0);
	g_assert_true(rs_trace_merger_lanes_held(merger, 0, 1));
	g_assert_true(rs_trace_merger_lanes_held(merger, 0, 4));
	g_assert_true(rs_trace_merger_lanes_held(merger, 1, 2));
	g_assert_true(rs_trace_merger_lanes_held(merger, 2, 2));
	g_assert_false(rs_trace_merger_lanes_held(merger, 1, 1));
	g_assert_false(rs_trace_merger_lanes_held(merger, 3, 1));
	g_assert_false(rs_trace_merger_lanes_held(merger, 2, 0));
	rs_trace_merger_remove_lanes(merger, 2, 1);
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 4);
	rs_trace_merger_end_round(merger, 0);
	let_out(merger);
	g_assert_cmpstr(out->str, ==, "2:10 0:20 ");
	g_assert_false(rs_trace_merger_lanes_held(merger, 0, 5));
	/* Its next owner begins with a time of his own, and is waited for. */
	g_assert_cmpuint(rs_trace_merger_add_lanes(merger, 1), ==, 2);
	rs_trace_merger_begin_round(merger);
	push(merger, 2, 5, 0);
	push(merger, 1, 7, 0);
	rs_trace_merger_in_flight(merger, 2);
	rs_trace_merger_end_round(merger, 0);
	rs_trace_merger_begin_round(merger);
	rs_trace_merger_in_flight(merger, 2);
	rs_trace_merger_end_round(merger, 0);
	g_assert_cmpstr(out->str, ==, "2:10 0:20 ");
	let_out(merger);
	g_assert_cmpstr(out->str, ==, "2:10 0:20 2:5 1:7 ");
	/* Nobody waits for one that was given back. */
	rs_trace_merger_begin_round(merger);
	push(merger, 1, 30, 0);
	rs_trace_merger_in_flight(merger, 3);
	rs_trace_merger_end_round(merger, 0);
	rs_trace_merger_begin_round(merger);
	rs_trace_merger_in_flight(merger, 3);
	rs_trace_merger_remove_lanes(merger, 3, 1);
	rs_trace_merger_end_round(merger, 0);
	g_assert_cmpstr(out->str, ==, "2:10 0:20 2:5 1:7 1:30 ");
}

/* Of equal times, the lower lane's goes first, in whatever order they came. */
static void test_ties(void)
{
	enum { LANES = 9 };

	for (guint shift = 0; shift < LANES; shift++) {
		g_autoptr(GString) out = g_string_new(NULL);
		g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 0, collect, out);

		rs_trace_merger_add_lanes(merger, LANES);
		rs_trace_merger_begin_round(merger);
		for (guint i = 0; i < 2 * LANES; i++)
			push(merger, (guint16)((i * 4 + shift) % LANES), 7, 0);
		rs_trace_merger_end_round(merger, 0);
		g_assert_cmpstr(out->str, ==, "");
		let_out(merger);
		g_assert_cmpstr(out->str, ==,
				"0:7 0:7 1:7 1:7 2:7 2:7 3:7 3:7 4:7 4:7 5:7 5:7 6:7 6:7 "
				"7:7 7:7 8:7 8:7 ");
	}
}

/* ---- how long it waits ---- */

static void test_hold(void)
{
	static const gint64 holds[] = {1000, 1, 0, -1};

	for (guint i = 0; i < G_N_ELEMENTS(holds); i++) {
		g_autoptr(GString) out = g_string_new(NULL);
		g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(holds[i], 0, collect, out);
		gint64 hold = holds[i] > 0 ? holds[i] : G_USEC_PER_SEC;

		rs_trace_merger_add_lanes(merger, 2);
		for (guint n = 0; n < 4; n++) {
			static const gint64 times[] = {0, 0, -1, 0};

			rs_trace_merger_begin_round(merger);
			if (n < 2)
				push(merger, 1, 40 + n, 0);
			rs_trace_merger_in_flight(merger, 0);
			/* The second is read one unit of time after the first. */
			rs_trace_merger_end_round(merger, 5 + (n == 1 ? 1
							       : n    ? hold + times[n]
								      : 0));
			if (hold > 1)
				g_assert_cmpstr(out->str, ==, n < 3 ? "" : "1:40 ");
		}
		g_assert_cmpstr(out->str, ==, "1:40 ");
		rs_trace_merger_begin_round(merger);
		rs_trace_merger_in_flight(merger, 0);
		rs_trace_merger_end_round(merger, 5 + hold + 1);
		g_assert_cmpstr(out->str, ==, "1:40 1:41 ");
	}
}

/* A ring that had its end in a round is waited for no longer than that. */
static void test_in_flight(void)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(1000, 0, collect, out);

	rs_trace_merger_add_lanes(merger, 2);
	for (guint i = 0; i < 4; i++) { /* rings 0 and 1 have their ends by turns */
		rs_trace_merger_begin_round(merger);
		push(merger, 0, 10 + i, 0);
		rs_trace_merger_in_flight(merger, i % 2);
		rs_trace_merger_end_round(merger, 0);
	}
	g_assert_cmpstr(out->str, ==, "0:10 0:11 ");
	let_out(merger);
	g_assert_cmpstr(out->str, ==, "0:10 0:11 0:12 0:13 ");
}

/* ---- memory ---- */

static guint let_go;

static void count(const RsTraceRecord *record, gpointer data)
{
	let_go++;
}

/* Pushes records of `size` into lanes by turns until one comes out; returns what was held then. */
static gsize fill(RsTraceMerger *merger, guint lanes, guint size)
{
	static guint8 payload[8192];
	RsTraceRecord record = {.payload = payload, .size = size};
	gsize held = 0;

	let_go = 0;
	for (guint i = 0; !let_go; i++) {
		held = rs_trace_merger_held(merger);
		record.ring = (guint16)(i % lanes);
		record.ns = i;
		rs_trace_merger_push(merger, i % lanes, &record);
	}
	return held;
}

/* The limit holds, and is used: as much as ever, whatever was there before. */
static void test_memory(void)
{
	static const gsize limits[] = {16 << 10, 64 << 10, 1 << 20};
	static const guint sizes[] = {0, 8000, 100, 8, 0, 1};
	enum { CASES = 2 * G_N_ELEMENTS(sizes) };

	for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, limits[i], count, NULL);
		gsize first[CASES];

		rs_trace_merger_add_lanes(merger, 2);
		for (guint n = 0; n < 3 * CASES; n++) {
			guint size = sizes[n / 2 % G_N_ELEMENTS(sizes)];
			gsize held;

			rs_trace_merger_begin_round(merger);
			held = fill(merger, 1 + n % 2, size);
			g_test_message("limit %zu, records of %u: %zu", limits[i], size, held);
			g_assert_cmpuint(held, <=, limits[i]);
			g_assert_cmpuint(held, >, limits[i] / 3 * 2);
			if (n < CASES)
				first[n] = held;
			g_assert_cmpuint(held, ==, first[n % CASES]);
			rs_trace_merger_flush(merger);
			g_assert_cmpuint(rs_trace_merger_held(merger), ==, 0);
		}
	}
}

/* Bytes that are allocated now; always 0 under a sanitizer. */
static gsize allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* What a burst took is mostly given back, and rounds that are over take nothing. */
static void test_given_back(void)
{
	const gsize limit = 2 << 20;
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, limit, count, NULL);
	gsize before = allocated();

	rs_trace_merger_add_lanes(merger, 2);
	for (guint n = 0; n < 4; n++) {
		rs_trace_merger_begin_round(merger);
		fill(merger, 1 + n % 2, n < 2 ? 0 : 8000);
		rs_trace_merger_flush(merger);
		g_assert_cmpuint(allocated(), <=, before + limit / 8 + 65536);
	}
	before = allocated();
	for (guint n = 0; n < 20000; n++) {
		rs_trace_merger_begin_round(merger);
		push(merger, n % 2, n, 0);
		rs_trace_merger_end_round(merger, 0);
		g_assert_cmpuint(rs_trace_merger_held(merger), <, 4096);
	}
	g_assert_cmpuint(allocated(), <=, before + 65536);
}

/* One record may be larger than the limit. */
static void test_larger(void)
{
	static guint8 payload[8192];
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 4096, collect, out);

	rs_trace_merger_add_lanes(merger, 2);
	rs_trace_merger_begin_round(merger);
	for (guint i = 1; i <= 3; i++) {
		RsTraceRecord record = {
			.ring = (guint16)(i % 2), .ns = i, .payload = payload, .size = 8192};

		push(merger, 0, 10 * i, 0);
		rs_trace_merger_push(merger, i % 2, &record);
		g_assert_cmpuint(rs_trace_merger_held(merger), >=, 8192);
		g_assert_cmpuint(rs_trace_merger_held(merger), <, 8192 + 1024);
	}
	rs_trace_merger_flush(merger);
	g_assert_cmpstr(out->str, ==, "0:10 1:1 0:20 0:2 0:30 1:3 ");
}

/* A payload takes whole words, and a record of none takes as much as any other. */
static void test_held(void)
{
	static const guint sizes[] = {0, 1, 7, 8, 9, 16, 17};
	static guint8 payload[32];
	gsize none = 0;

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(RsTraceMerger) merger = rs_trace_merger_new(0, 0, count, NULL);
		RsTraceRecord record = {.payload = payload, .size = sizes[i]};

		rs_trace_merger_add_lanes(merger, 1);
		rs_trace_merger_begin_round(merger);
		rs_trace_merger_push(merger, 0, &record);
		none = i ? none : rs_trace_merger_held(merger);
		g_assert_cmpuint(none, >, sizeof(record));
		g_assert_cmpuint(rs_trace_merger_held(merger), ==, none + (sizes[i] + 7) / 8 * 8);
	}
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
	g_test_add_func("/decode/merger/lanes", test_lanes);
	g_test_add_func("/decode/merger/lanes-held", test_lanes_held);
	g_test_add_func("/decode/merger/ties", test_ties);
	g_test_add_func("/decode/merger/hold", test_hold);
	g_test_add_func("/decode/merger/in-flight", test_in_flight);
	g_test_add_func("/decode/merger/memory", test_memory);
	g_test_add_func("/decode/merger/given-back", test_given_back);
	g_test_add_func("/decode/merger/larger", test_larger);
	g_test_add_func("/decode/merger/held", test_held);
	return g_test_run();
}
