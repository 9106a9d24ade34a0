/* SPDX-License-Identifier: MIT */
#include "rs-trace-clock.h"

#include <string.h>

/* An epoch in which a tick is a nanosecond. */
static struct rs_clock_epoch make(guint32 index, guint32 chain, guint64 tsc_base, guint64 ns_base)
{
	return (struct rs_clock_epoch){.index = index,
				       .chain = chain,
				       .tsc_base = tsc_base,
				       .ns_base = ns_base,
				       .mult = 1};
}

/* Checks the time of `ticks` in `chain`, and the epoch that they belong to. */
static void check(RsTraceClock *clock, guint32 chain, guint64 ticks, guint32 epoch, guint64 ns)
{
	guint32 found = G_MAXUINT32;

	g_assert_cmpuint(rs_trace_clock_ns(clock, chain, ticks, &found), ==, ns);
	g_assert_cmpuint(found, ==, epoch);
	g_assert_cmpuint(rs_trace_clock_ns(clock, chain, ticks, NULL), ==, ns);
}

static void test_rate(void)
{
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0), plain = NULL;

	check(clock, 9, 77, 9, 77);
	rs_trace_clock_set_hz(clock, 2000000000);
	check(clock, 9, 77, 9, 38);
	rs_trace_clock_set_hz(clock, 1);
	check(clock, 9, 77, 9, 38);
	plain = rs_trace_clock_new(2000000000);
	check(plain, 0, G_MAXUINT64, 0, G_MAXUINT64 / 2);
	g_clear_pointer(&plain, rs_trace_clock_free);
	plain = rs_trace_clock_new(1);
	check(plain, 0, G_MAXUINT64, 0, G_MAXUINT64);
}

static void test_one_epoch(void)
{
	struct rs_clock_epoch table[1] = {make(0, 0, 1000, 500)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(7);

	table[0].mult = 1u << 31;
	table[0].shift = 32;
	rs_trace_clock_take(clock, table, 1, 1);
	check(clock, 0, 1100, 0, 550);
	check(clock, 0, 900, 0, 450);
	check(clock, 0, 0, 0, 0);
	check(clock, 0, (G_GUINT64_CONSTANT(1) << 62) + 1000, 0,
	      (G_GUINT64_CONSTANT(1) << 61) + 500);
	table[0].ns_base = 499; /* tick 0 lies 500 ns before the base */
	g_assert_cmpuint(rs_trace_clock_epoch_ns(&table[0], 0), ==, 0);
	table[0].ns_base = G_MAXUINT64 - 1;
	g_assert_cmpuint(rs_trace_clock_epoch_ns(&table[0], 1002), ==, G_MAXUINT64);
	g_assert_cmpuint(rs_trace_clock_epoch_ns(&table[0], 1004), ==, G_MAXUINT64);
	table[0].mult = G_MAXUINT32;
	table[0].shift = 0;
	g_assert_cmpuint(rs_trace_clock_epoch_ns(&table[0], G_MAXUINT64), ==, G_MAXUINT64);
	g_assert_cmpuint(rs_trace_clock_epoch_ns(&table[0], 0), ==,
			 G_MAXUINT64 - 1 - 1000ull * G_MAXUINT32);
	table[0].shift = 63;
	g_assert_cmpuint(rs_trace_clock_epoch_ns(&table[0], 1000), ==, G_MAXUINT64 - 1);
}

/*
 * Epochs 0 to 2: a counter that went on, while the host's clock went further between them. Then it
 * went back, and epochs 3 and 4 lie on a chain of their own.
 */
static const guint64 bases[][2] = {
	{1000, 10000}, {2000, 15000}, {3000, 20000}, {100, 30000}, {500, 40000}};

static RsTraceClock *two_chains(void)
{
	RsTraceClock *clock = rs_trace_clock_new(0);
	struct rs_clock_epoch table[8] = {{0}};

	for (guint32 i = 0; i < G_N_ELEMENTS(bases); i++)
		table[i] = make(i, i < 3 ? 0 : 3, bases[i][0], bases[i][1]);
	rs_trace_clock_take(clock, table, 8, G_N_ELEMENTS(bases));
	return clock;
}

/* Inside a chain the ticks say the epoch. */
static void test_chain(void)
{
	g_autoptr(RsTraceClock) clock = two_chains();

	check(clock, 0, 0, 0, 9000);
	check(clock, 0, 999, 0, 9999);
	check(clock, 0, 1000, 0, 10000);
	check(clock, 0, 1999, 0, 10999);
	check(clock, 0, 2000, 1, 15000);
	check(clock, 0, 2999, 1, 15999);
	check(clock, 0, 3000, 2, 20000);
	check(clock, 0, 99999, 2, 116999);
	check(clock, 0, 1000, 0, 10000);
}

static void test_went_back(void)
{
	g_autoptr(RsTraceClock) clock = two_chains();

	check(clock, 3, 0, 3, 29900);
	check(clock, 3, 150, 3, 30050);
	check(clock, 3, 499, 3, 30399);
	check(clock, 3, 500, 4, 40000);
	check(clock, 3, 2500, 4, 42000);
	/* A page that names the first chain means it, even if the ticks would fit the second. */
	check(clock, 0, 150, 0, 9150);
	check(clock, 0, 2500, 1, 15500);
	/* A chain that is not known, or not yet: never by another chain's line. */
	check(clock, 2, 150, 2, 20000);
	check(clock, 9, 150, 4, 40000);
	check(clock, 9, 15000, 4, 40000);
}

/* A chain whose epochs were overwritten before they were read. */
static void test_chain_is_gone(void)
{
	struct rs_clock_epoch table[4] = {{0}};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	for (guint32 i = 6; i < 10; i++)
		table[i % 4] = make(i, 6, i * 100, i * 1000);
	rs_trace_clock_take(clock, table, 4, 10);
	check(clock, 6, 650, 6, 6050);
	check(clock, 6, 50, 6, 5450);
	check(clock, 0, 650, 6, 6000);
	check(clock, 5, 50, 6, 6000);
	check(clock, 5, 99999, 6, 6000);
}

/* Indices wrap: what was before is forgotten, since later chains have smaller numbers. */
static void test_wrap(void)
{
	const guint32 last = G_MAXUINT32;
	struct rs_clock_epoch table[4] = {make(0, 0, 100, 9000), make(1, 1, 50, 9500),
					  make(last - 1, last - 1, 1000, 1000),
					  make(last, last - 1, 2000, 2000)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0), at_once = rs_trace_clock_new(0);

	rs_trace_clock_take(clock, table, 4, 0);
	check(clock, last - 1, 1500, last - 1, 1500);
	rs_trace_clock_take(clock, table, 4, 2);
	rs_trace_clock_take(at_once, table, 4, 2);
	for (guint i = 0; i < 2; i++) {
		RsTraceClock *one = i ? at_once : clock;

		check(one, 0, 150, 0, 9050);
		check(one, 1, 150, 1, 9600);
		check(one, 0, 150, 0, 9050);
		check(one, last - 1, 1500, 1, 9500);
	}
}

/* The first index of all ends what was before, however much that was. */
static void test_wrap_of_many(void)
{
	struct rs_clock_epoch table[8] = {{0}};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	for (guint32 i = G_MAXUINT32 - 7; i; i++)
		table[i % 8] = make(i, G_MAXUINT32 - 7, 1000, 1000);
	rs_trace_clock_take(clock, table, 8, G_MAXUINT32);
	rs_trace_clock_take(clock, table, 8, 0);
	check(clock, G_MAXUINT32 - 7, 1500, G_MAXUINT32, 1500);
	table[0] = make(0, 0, 100, 9000);
	rs_trace_clock_take(clock, table, 8, 1);
	check(clock, 0, 150, 0, 9050);
	check(clock, G_MAXUINT32 - 7, 1500, 0, 9000);
}

/* Of two chains the ticks do not say the epoch, however large they are. */
static void test_two_chains(void)
{
	struct rs_clock_epoch table[2] = {make(0, 0, 1000, 0), make(1, 1, 2000, 50000)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	rs_trace_clock_take(clock, table, 2, 2);
	check(clock, 0, 2500, 0, 1500);
	check(clock, 1, 1500, 1, 49500);
}

/* A chain in which the counter went back, and one that comes back or is yet to come: new ones. */
static void test_contradictions(void)
{
	struct rs_clock_epoch table[6] = {make(0, 7, 1000, 0),   make(1, 0, 400, 5000),
					  make(2, 1, 400, 6000), make(3, 0, 900, 7000),
					  make(4, 9, 900, 8000), make(5, 4, 900, 9000)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	rs_trace_clock_take(clock, table, 6, 6);
	check(clock, 0, 1500, 0, 500);
	check(clock, 0, 500, 0, 0);
	check(clock, 1, 1500, 2, 7100);
	check(clock, 1, 300, 1, 4900);
	check(clock, 3, 1000, 3, 7100);
	check(clock, 4, 1000, 5, 9100);
	check(clock, 9, 1000, 5, 9000);
}

/*
 * Fills the table as a host does that has begun `count` epochs, 100 ticks and 1000 ns after each
 * other.
 */
static void fill(struct rs_clock_epoch *table, guint n, guint32 count)
{
	for (guint32 i = count > n ? count - n : 0; i < count; i++)
		table[i % n] = make(i, 0, i * 100ull, i * 1000ull);
}

static void test_table_goes_round(void)
{
	struct rs_clock_epoch table[4] = {{0}};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0), late = rs_trace_clock_new(0);

	/* In small steps: the clock keeps epochs that the table has lost. */
	for (guint32 count = 1; count <= 10; count++) {
		fill(table, 4, count);
		rs_trace_clock_take(clock, table, 4, count);
		rs_trace_clock_take(clock, table, 4, count);
	}
	for (guint32 i = 0; i < 10; i++)
		check(clock, 0, i * 100 + 5, i, i * 1000 + 5);

	/*
	 * Ten at once: only the last four are known, and the first of them replaces those before.
	 */
	rs_trace_clock_take(late, table, 4, 10);
	check(late, 0, 805, 8, 8005);
	check(late, 0, 605, 6, 6005);
	check(late, 0, 305, 6, 5705);

	/* The same if some in between were missed. */
	fill(table, 4, 20);
	rs_trace_clock_take(clock, table, 4, 20);
	check(clock, 0, 1905, 19, 19005);
	check(clock, 0, 305, 16, 14705);
}

/*
 * The host began an epoch while the table was copied: its oldest entry is the newest one already.
 */
static void test_overwritten_while_copied(void)
{
	struct rs_clock_epoch table[4] = {{0}};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0), fresh = rs_trace_clock_new(0);

	fill(table, 4, 3);
	rs_trace_clock_take(clock, table, 4, 3);
	fill(table, 4, 8); /* 4 5 6 7 */
	table[0] = make(8, 0, 800, 8000);
	rs_trace_clock_take(clock, table, 4, 8);
	rs_trace_clock_take(fresh, table, 4, 8);
	check(clock, 0, 705, 7, 7005);
	check(fresh, 0, 705, 7, 7005);
	check(fresh, 0, 505, 5, 5005);
	rs_trace_clock_take(fresh, table, 4, 9);
	check(fresh, 0, 805, 8, 8005);
	check(fresh, 0, 605, 6, 6005);
}

/* The next one that we expected is gone: what is behind it does not follow what we know. */
static void test_overwritten_next(void)
{
	struct rs_clock_epoch table[4] = {{0}};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	fill(table, 4, 4);
	rs_trace_clock_take(clock, table, 4, 4);
	fill(table, 4, 8);
	table[0] = make(8, 0, 800, 8000);
	rs_trace_clock_take(clock, table, 4, 8);
	check(clock, 0, 105, 5, 4605);
	check(clock, 0, 705, 7, 7005);
	rs_trace_clock_take(clock, table, 4, 9);
	check(clock, 0, 805, 8, 8005);
	check(clock, 0, 105, 5, 4605);
}

/* The smallest table: its only entry is one too new. */
static void test_overwritten_alone(void)
{
	struct rs_clock_epoch table[1] = {make(3, 0, 300, 3000)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	rs_trace_clock_take(clock, table, 1, 4);
	check(clock, 0, 305, 3, 3005);
	table[0] = make(5, 0, 500, 5000);
	rs_trace_clock_take(clock, table, 1, 5);
	check(clock, 7, 77, 7, 77); /* none is known */
	rs_trace_clock_take(clock, table, 1, 6);
	check(clock, 0, 505, 5, 5005);
}

/* Missing or invalid entries are not taken yet. The known epochs stay. */
static void test_bad_entries(void)
{
	struct rs_clock_epoch good[4] = {{0}}, table[4];

	fill(good, 4, 4);
	for (guint i = 0; i < 3; i++) {
		g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

		memcpy(table, good, sizeof(table));
		if (i == 0)
			table[2].index = 0;
		else if (i == 1)
			table[2].mult = 0;
		else
			table[2].shift = 64;
		rs_trace_clock_take(clock, table, 4, 4);
		check(clock, 0, 305, 1, 1205);
		rs_trace_clock_take(clock, good, 4, 4);
		check(clock, 0, 305, 3, 3005);
		check(clock, 0, 5, 0, 5);
		rs_trace_clock_take(clock, good, 0, 40);
		check(clock, 0, 305, 3, 3005);
	}
}

/* Very many epochs: the oldest are dropped, with their chains. */
static void test_bound(void)
{
	const guint32 many = 200000;
	struct rs_clock_epoch table[1000];
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);
	guint32 epoch = 0;

	for (guint32 count = 0; count < many;) {
		for (guint i = 0; i < G_N_ELEMENTS(table); i++, count++)
			table[count % G_N_ELEMENTS(table)] =
				make(count, count - count % 10, count * 100ull, count * 1000ull);
		rs_trace_clock_take(clock, table, G_N_ELEMENTS(table), count);
	}
	for (guint32 i = many - 30000; i < many; i++)
		check(clock, i - i % 10, i * 100ull + 7, i, i * 1000ull + 7);
	check(clock, many - 10, (many - 8) * 100, many - 8, (many - 8) * 1000);
	rs_trace_clock_ns(clock, 0, 0, &epoch);
	g_assert_cmpuint(epoch, >=, many - 67000);
}

/* As many as are kept, and one more: then the older half goes. */
static void test_most(void)
{
	const guint32 most = 65536;
	g_autofree struct rs_clock_epoch *table = g_new0(struct rs_clock_epoch, most + 1);
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	for (guint32 i = 0; i <= most; i++)
		table[i] = make(i, 0, i * 100ull, i * 1000ull);
	rs_trace_clock_take(clock, table, most + 1, most);
	check(clock, 0, most * 100ull - 1, most - 1, most * 1000ull - 901);
	check(clock, 0, 5, 0, 5);
	rs_trace_clock_take(clock, table, most + 1, most + 1);
	check(clock, 0, most * 100ull + 5, most, most * 1000ull + 5);
	check(clock, 0, most * 50ull + 5, most / 2, most * 500ull + 5);
	check(clock, 0, most * 50ull - 5, most / 2, most * 500ull - 5);
}

/* The largest shift: 2^62 of such ticks are half a nanosecond for each of the factor. */
static void test_largest_shift(void)
{
	struct rs_clock_epoch table[1] = {make(0, 0, 0, 7)};
	g_autoptr(RsTraceClock) clock = rs_trace_clock_new(0);

	table[0].shift = 63;
	table[0].mult = 6;
	rs_trace_clock_take(clock, table, 1, 1);
	check(clock, 0, G_GUINT64_CONSTANT(1) << 62, 0, 10);
}

static void test_boots(void)
{
	g_autoptr(RsTraceClock) clock = two_chains();
	struct rs_boot boots[RS_BOOTS] = {
		[1] = {9, 3, 600}, [2] = {2, 0, 2500}, [0] = {0, 0, 1}, [3] = {4, 0, 1}};
	RsTraceMoment when = {0};
	guint64 ns = 7;

	g_assert_false(rs_trace_clock_boot(clock, 2, &ns, &when));
	rs_trace_clock_set_boots(clock, boots);
	g_assert_true(rs_trace_clock_boot(clock, 2, &ns, &when));
	g_assert_cmpuint(ns, ==, 15500);
	g_assert_cmpuint(when.ts, ==, 2500);
	g_assert_cmpuint(when.chain, ==, 0);
	g_assert_true(rs_trace_clock_boot(clock, 9, &ns, &when));
	g_assert_cmpuint(ns, ==, 40100);
	g_assert_cmpuint(when.ts, ==, 600);
	g_assert_cmpuint(when.boot, ==, 9);
	g_assert_cmpuint(when.chain, ==, 3);
	g_assert_false(rs_trace_clock_boot(clock, 1, &ns, &when)); /* the ninth has replaced it */
	g_assert_false(rs_trace_clock_boot(clock, 0, &ns, &when));
	g_assert_false(rs_trace_clock_boot(clock, 3, &ns, &when));
}

/* A day of ticks is right to 100 us, at any rate that a counter has. */
static void test_factor(void)
{
	static const guint64 rates[] = {1,          1000,       32768,      1000000,    24000000,
					62500000,   999999999,  1000000000, 1000000001, 2400000000,
					2999999997, 3700000000, 5000000000};

	for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
		struct rs_clock_epoch epoch = {0};
		const gint64 day = 86400 * G_GINT64_CONSTANT(1000000000);

		rs_trace_clock_rate(rates[i], &epoch);
		g_assert_cmpuint(epoch.shift, <=, 63);
		g_assert_cmpint(
			ABS((gint64)rs_trace_clock_epoch_ns(&epoch, rates[i] * 86400) - day), <=,
			100000);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/clock/rate", test_rate);
	g_test_add_func("/decode/clock/one-epoch", test_one_epoch);
	g_test_add_func("/decode/clock/chain", test_chain);
	g_test_add_func("/decode/clock/went-back", test_went_back);
	g_test_add_func("/decode/clock/chain-is-gone", test_chain_is_gone);
	g_test_add_func("/decode/clock/wrap", test_wrap);
	g_test_add_func("/decode/clock/two-chains", test_two_chains);
	g_test_add_func("/decode/clock/contradictions", test_contradictions);
	g_test_add_func("/decode/clock/table", test_table_goes_round);
	g_test_add_func("/decode/clock/overwritten", test_overwritten_while_copied);
	g_test_add_func("/decode/clock/overwritten-next", test_overwritten_next);
	g_test_add_func("/decode/clock/overwritten-alone", test_overwritten_alone);
	g_test_add_func("/decode/clock/wrap-of-many", test_wrap_of_many);
	g_test_add_func("/decode/clock/most", test_most);
	g_test_add_func("/decode/clock/largest-shift", test_largest_shift);
	g_test_add_func("/decode/clock/bad-entries", test_bad_entries);
	g_test_add_func("/decode/clock/bound", test_bound);
	g_test_add_func("/decode/clock/boots", test_boots);
	g_test_add_func("/decode/clock/factor", test_factor);
	return g_test_run();
}
