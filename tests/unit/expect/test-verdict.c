/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-verdict.h"
#include "items.h"

#include <stdio.h>
#include <string.h>

/*
 * Records, with blanks between them: "100:3>4" is sched:switch at 100 ns from 3 to 4, by task 3;
 * "100:a7" is demo:all by task 7; "!2" is a loss of two events.
 */
static void add_records(RsTraceVerdict *verdict, const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	TestItems items;

	test_items_init(&items);
	rs_trace_verdict_know(verdict, NULL, rs_trace_schema_by_id(items.schema, TEST_SWITCH));
	rs_trace_verdict_know(verdict, NULL, rs_trace_schema_by_id(items.schema, TEST_ALL));
	for (char **word = words; *word; word++) {
		guint ns, a, b;

		if (sscanf(*word, "%u:%u>%u", &ns, &a, &b) == 3)
			rs_trace_verdict_add(verdict, test_items_switch(&items, ns, a, a, b));
		else if (sscanf(*word, "%u:a%u", &ns, &a) == 2)
			rs_trace_verdict_add(verdict, test_items_all(&items, ns, a));
		else if (sscanf(*word, "!%u", &a) == 1)
			rs_trace_verdict_add(verdict, test_items_loss(&items, 0, a));
		else
			g_assert_cmpstr(*word, ==, "");
	}
	test_items_clear(&items);
}

/* A line for each expectation that is not met: "NAME: WHY @RECORD". */
static char *judge(const char *text, const char *records, const RsTraceRunEnd *end)
{
	const RsTraceRunEnd fine = {
		.serial = "boot\nok 1\nok 2\n", .serial_size = 15, .exited = TRUE};
	g_autoptr(GError) error = NULL;
	g_autofree char *whole = g_strconcat(text, "\n[trace]\nenable = *\n", NULL);
	g_autoptr(RsTraceSpec) spec = rs_trace_spec_new("a", whole, strlen(whole), &error);
	g_autoptr(GPtrArray) all = spec ? rs_trace_expectations_new(spec, &error) : NULL;
	g_autoptr(RsTraceVerdict) verdict = NULL;
	g_autoptr(GPtrArray) found = NULL;
	g_autoptr(GString) out = g_string_new(NULL);

	g_assert_no_error(error);
	verdict = rs_trace_verdict_new(all, FALSE);
	add_records(verdict, records);
	found = rs_trace_verdict_finish(verdict, end ? end : &fine);
	g_assert_cmpuint(found->len, ==, all->len + 1);
	for (guint i = 0; i < found->len; i++) {
		const RsTraceFinding *f = found->pdata[i];

		g_assert_true((f->kind == RS_TRACE_FINDING_MET) == !f->why);
		if (f->kind == RS_TRACE_FINDING_MET)
			continue;
		g_string_append_printf(out, "%s%s%s: %s", out->len ? "\n" : "",
				       f->kind == RS_TRACE_FINDING_BROKEN ? "BROKEN " : "", f->name,
				       f->why);
		if (f->record != RS_TRACE_VERDICT_NONE)
			g_string_append_printf(out, " @%u%s", (guint)f->record,
					       f->nearest ? "?" : "");
	}
	return g_string_free(g_steal_pointer(&out), FALSE);
}

#define CHECK(spec, records, want)                                                                 \
	do {                                                                                       \
		g_autofree char *got = judge("[expect x]\n" spec, records, NULL);                  \
		g_assert_cmpstr(got, ==, want);                                                    \
	} while (0)

static void test_events(void)
{
	CHECK("event = sched:switch", "1:3>4", "");
	CHECK("event = sched:*: next == 4", "1:3>4 2:4>5", "");
	CHECK("event = sched:switch", "1:a3", "x: it never happened");
	CHECK("event = sched:switch: next == 9", "1:3>4 2:4>5",
	      "x: none of 2 records of the event is so @1?");
	CHECK("event = sched:switch: next == 9", "", "x: it never happened");
	/* The nearest record has the most true terms. */
	CHECK("event = sched:switch: prev == 4 && next == 9 && (prev == 3 || prev == 4)",
	      "1:3>4 2:4>5 3:7>9", "x: none of 3 records of the event is so @2?");
	CHECK("event = sched:switch: prev == 4 && CPU == 0 && next == 9", "1:3>4 2:4>5 3:7>8",
	      "x: none of 3 records of the event is so; the nearest is, but for next == 9 @1?");
	CHECK("event = shed:switch", "1:3>4",
	      "BROKEN x: no event that is enabled matches 'shed:switch'");
}

static void test_counts(void)
{
	CHECK("event = sched:switch\ncount = 2", "1:3>4 2:4>5", "");
	CHECK("event = sched:switch\ncount = 3..4", "1:3>4 2:4>5",
	      "x: it happened 2 times, and not 3 to 4 @1");
	CHECK("event = sched:switch\ncount = ..1", "1:3>4 2:4>5",
	      "x: it happened 2 times, and not at most 1 @1");
	CHECK("event = sched:switch\ncount = 0", "1:a3", "");
	CHECK("event = sched:switch\nrate = 1..3", "0:3>4 1000000000:4>5", "");
	CHECK("event = sched:switch\nrate = 3..", "0:3>4 1000000000:4>5",
	      "x: it happened 2.0 times a second, in 1.000 s, and not at least 3 @1");
	CHECK("event = sched:switch\nrate = ..1", "0:3>4 1000000000:4>5",
	      "x: it happened 2.0 times a second, in 1.000 s, and not at most 1 @1");
	CHECK("event = sched:switch\nrate = ..1", "5:3>4 5:4>5",
	      "x: it happened 2 times at one moment, which is no rate @1");
}

static void test_never(void)
{
	CHECK("never = sched:switch: next == 9", "1:3>4", "");
	CHECK("never = sched:switch: next == 4", "1:9>3 1:3>4 2:8>4", "x: it happened 2 times @1");
}

static void test_last(void)
{
	CHECK("last = sched:switch\nis = next == 0", "1:0>3 2:3>0 3:a1", "");
	CHECK("last = sched:switch\nis = next == 0", "1:3>0 2:0>3 3:a1",
	      "x: the last one is not so @1");
	CHECK("last = sched:switch\nis = next == 0", "1:a1", "x: it never happened");
}

static void test_order(void)
{
	CHECK("event = sched:switch: next == 4\nthen = demo:all", "1:a1 2:3>4 3:a1", "");
	CHECK("event = sched:switch: next == 4\nthen = demo:all", "1:a1 2:3>4",
	      "x: it happened 1 times, but never with after it demo:all @1?");
	CHECK("event = sched:switch\nafter = demo:all\nsame = PID", "1:a3 2:4>5 3:3>4", "");
	CHECK("event = sched:switch\nafter = demo:all\nsame = PID", "1:a3 2:4>5",
	      "x: it happened 1 times, but never with before it demo:all @1?");
	CHECK("event = sched:switch\nthen = demo:all\nwithin = 2us", "1:3>4 2001:a1", "");
	CHECK("event = sched:switch\nthen = demo:all\nwithin = 2us", "1:3>4 2002:a1",
	      "x: none came within 2 us: of 1 that came later, the latest took 2.001 us @1?");
	/* Of the record: a field of that name is another thing. */
	CHECK("event = sched:switch\nafter = demo:all\nsame = pid", "1:a3 2:4>5",
	      "BROKEN x: demo:all has no field 'pid'");
	CHECK("event = sched:switch\nafter = demo:all\nsame = PID; CPU", "1:a3 2:4>5 3:3>4", "");
	/* The one before closes before the next one opens. */
	CHECK("event = sched:switch\nthen = sched:switch\nsame = next=prev\ncount = 2",
	      "1:1>2 2:2>3 3:3>4", "");
}

static void test_each(void)
{
	CHECK("each = sched:switch\nthen = demo:all\nsame = PID", "1:3>4 2:4>5 3:a4 4:a3", "");
	CHECK("each = sched:switch\nthen = demo:all\nsame = PID", "1:3>4 2:4>5 3:a4 4:a4",
	      "x: 1 of 2 had no demo:all after @0");
	CHECK("each = sched:switch\nthen = demo:x*", "1:3>4",
	      "BROKEN x: no event that is enabled matches 'demo:x*'");
	/* A partner is one's own. */
	CHECK("each = sched:switch\nthen = demo:all", "1:3>4 2:4>5 3:a4",
	      "x: 1 of 2 had no demo:all after @1");
	CHECK("each = sched:switch\nafter = demo:all\nsame = PID", "1:a3 2:3>4 3:3>4",
	      "x: 1 of 2 had no demo:all before @2");
	CHECK("each = sched:switch\nthen = demo:all\nwithin = 5ns", "1:3>4 3:a1 10:4>5 20:a1",
	      "x: 1 of 2 took longer than 5 ns, up to 10 ns @3");
	CHECK("each = sched:switch\nthen = demo:all\nopen = 1", "1:3>4 2:4>5 3:a4", "");
	CHECK("each = sched:switch\nthen = demo:all\nopen = 1", "1:3>4 2:4>5 3:4>5",
	      "x: 3 of 3 had no demo:all after @0");
	/* It ended by itself. One that is stopped may have had no time for it: test_silence(). */
	CHECK("each = sched:switch\nthen = demo:all\nwithin = 5ns", "1:3>4 3:a1 10:4>5",
	      "x: 1 of 2 had no demo:all after @2");
	CHECK("each = sched:switch\nthen = demo:all\nwithin = 5ns", "1:3>4 3:a1 10:4>5 16:a9 17:a9",
	      "x: 1 of 2 took longer than 5 ns, up to 6 ns @3");
	/* Of nothing, nothing is shown. */
	CHECK("each = sched:switch\nthen = demo:all", "1:a3", "x: it never happened");
	CHECK("each = sched:switch\nthen = demo:all\nsame = nix", "1:3>4 2:a3",
	      "BROKEN x: sched:switch has no field 'nix'");
}

static void test_variables(void)
{
	static const char spec[] =
		"event = sched:switch: prev == 1\nbind = who=next\n"
		"[expect y]\nevent = sched:switch: prev == $who\nsince = x\nwithin = 10ns\n";

	CHECK("event = sched:switch: prev == 1\nbind = who=next\n"
	      "[expect y]\nevent = sched:switch: prev == $who",
	      "1:7>8 2:1>7 3:7>9", "");
	/* What was before does not count, nor does the record itself. */
	CHECK("event = sched:switch: prev == 1\nbind = who=next\n"
	      "[expect y]\nevent = sched:switch: prev == $who",
	      "1:7>8 2:1>7", "y: it never happened");
	CHECK("event = sched:switch: prev == 1\nbind = who=next\n"
	      "[expect y]\nevent = sched:switch: prev == $who",
	      "1:7>8",
	      "x: none of 1 records of the event is so @0?\n"
	      "y: what it waits for did not happen");
	CHECK("event = sched:switch: prev == 1\nbind = who=COMM\n"
	      "[expect y]\nevent = sched:switch: COMM == $who",
	      "1:1>7 3:7>9", "");
	{
		g_autofree char *text = g_strconcat("[expect x]\n", spec, NULL);
		g_autofree char *good = judge(text, "1:1>7 11:7>9", NULL);
		g_autofree char *late = judge(text, "1:1>7 12:7>9", NULL);

		g_assert_cmpstr(good, ==, "");
		g_assert_cmpstr(late, ==,
				"y: none came within 10 ns: of 1 that came later, the latest took "
				"11 ns @1?");
	}
}

static void test_windows(void)
{
#define FROM_A_TO_B                                                                                \
	"\n[expect a]\nevent = sched:switch: next == 1"                                            \
	"\n[expect b]\nevent = sched:switch: next == 2"

	CHECK("event = demo:all\ncount = 2\nuntil = b" FROM_A_TO_B, "1:a3 2:a3 3:0>1 4:0>2 5:a3",
	      "");
	CHECK("never = demo:all\nuntil = a" FROM_A_TO_B, "1:0>1 2:a3 3:0>2", "");
	CHECK("never = demo:all\nuntil = b" FROM_A_TO_B, "1:0>1 2:a3 3:0>2",
	      "x: it happened 1 times @1");
	/* The record that ends it does not belong to it, wherever it stands in the spec. */
	CHECK("never = sched:switch: next == 2\nuntil = b" FROM_A_TO_B, "1:0>1 2:0>2", "");
	CHECK("event = sched:switch: next == 2\n[expect y]\nnever = sched:switch: next == 2\n"
	      "until = x",
	      "1:0>1 2:0>2 3:0>3", "");
	/* What ends it may never come. */
	CHECK("never = demo:all\nuntil = b" FROM_A_TO_B, "1:0>1 2:a3",
	      "x: it happened 1 times @1\nb: none of 1 records of the event is so @0?");
	CHECK("event = sched:switch: next == 1\n[expect y]\nnever = demo:all\nsince = x\nuntil = b"
	      "\n[expect b]\nevent = sched:switch: next == 2",
	      "1:a3 2:0>1 3:0>3 4:0>2 5:a3", "");
	/* A partner must come before the end, if it had the time for that. */
	CHECK("each = sched:switch: next > 2\nthen = demo:all\nuntil = b" FROM_A_TO_B,
	      "1:0>1 2:0>3 3:0>2 4:a3", "x: 1 of 1 had no demo:all after @1");
	CHECK("each = sched:switch: next > 2\nthen = demo:all\nwithin = 5ns\nuntil = b" FROM_A_TO_B,
	      "1:0>1 2:0>3 3:0>2 4:a3", "");
	CHECK("event = demo:all\nrate = 3..\nuntil = b" FROM_A_TO_B,
	      "0:0>1 1:a3 2:a3 500000000:0>2 1000000000:a1", "");
}

/* It was silent before it was stopped. */
static void test_silence(void)
{
	const RsTraceRunEnd at_once = {.stopped = TRUE, .end = "stopped", .until_ns = 12};
	const RsTraceRunEnd later = {.stopped = TRUE, .end = "stopped", .until_ns = 1000000010};
	static const char each[] = "[expect x]\neach = sched:switch\nthen = demo:all\nwithin = 5ns";
	static const char rate[] = "[expect x]\nevent = sched:switch\nrate = 3..";
	g_autofree char *good = judge(each, "1:3>4 3:a1 10:4>5", &at_once);
	g_autofree char *bad = judge(each, "1:3>4 3:a1 10:4>5", &later);
	g_autofree char *quick = judge(rate, "1:3>4 10:4>5", &at_once);
	g_autofree char *slow = judge(rate, "1:3>4 10:4>5", &later);

	g_assert_cmpstr(good, ==, "");
	g_assert_cmpstr(bad, ==, "x: 1 of 2 had no demo:all after @2");
	g_assert_cmpstr(quick, ==, "");
	g_assert_cmpstr(slow, ==,
			"x: it happened 2.0 times a second, in 1.000 s, and not at least 3 @1");
}

static void test_damage(void)
{
	const RsTraceRunEnd damaged = {.exited = TRUE, .damage = "3 pages are damaged"};
	g_autofree char *got = judge("[expect x]\nevent = sched:switch", "1:3>4", &damaged);

	g_assert_cmpstr(got, ==, "no loss: 3 pages are damaged");
}

static void test_pairs(void)
{
	CHECK("pair = switch..all\nmax = 100ns\np50 = 50ns", "1:3>4 11:a3 20:4>5 120:a4", "");
	CHECK("pair = switch..all\nmax = 99ns", "1:3>4 11:a3 20:4>5 120:a4",
	      "x: max of 2 pairs is 100 ns, and not at most 99 ns @3");
	CHECK("pair = switch..all\ncount = 1..", "1:3>4",
	      "x: there are 0 pairs, and not at least 1");
	/* Limits are exact. */
	CHECK("pair = switch..all\np50 = 10000ns", "1:3>4 10001:a3 20000:4>5 99999:a4", "");
	CHECK("pair = switch..all\np50 = 9999ns", "1:3>4 10001:a3 20000:4>5 99999:a4",
	      "x: 2 of 2 took longer than 9.999 us, and up to 80 us, so p50 is longer @3");
	/* What hangs has no time, but is longer than any. */
	CHECK("pair = switch..all\nkey = pid\np50 = 20ns", "1:3>4 11:a3 20:4>5 21:a4 60:7>9", "");
	CHECK("pair = switch..all\nkey = pid\np90 = 20ns", "1:3>4 11:a3 20:4>5 21:7>9",
	      "x: 2 of 3 did not end within 20 ns, so p90 is longer");
	CHECK("pair = switch..all\nkey = pid\np90 = 20ns\nopen = 2", "1:3>4 11:a3 20:4>5 21:7>9",
	      "");
	{
		/* One that was stopped could have gone on. */
		const RsTraceRunEnd stopped = {.end = "stopped"};
		g_autofree char *late =
			judge("[expect x]\npair = switch..all\nkey = pid\np90 = 20ns",
			      "1:3>4 11:a3 20:4>5 41:7>9", &stopped);
		g_autofree char *young =
			judge("[expect x]\npair = switch..all\nkey = pid\np90 = 20ns",
			      "1:3>4 11:a3 20:4>5 40:7>9", &stopped);

		g_assert_cmpstr(late, ==, "x: 1 of 2 did not end within 20 ns, so p90 is longer");
		g_assert_cmpstr(young, ==, "");
	}
}

static void test_ends(void)
{
	const RsTraceRunEnd three = {.serial = "", .exited = TRUE, .code = 3};
	const RsTraceRunEnd stopped = {.end = "it was stopped"};
	g_autofree char *code = judge("[expect x]\nexit = 0", "", &three);
	g_autofree char *good = judge("[expect x]\nexit = 1..3", "", &three);
	g_autofree char *none = judge("[expect x]\nexit = 0", "", &stopped);
	g_autofree char *dumb = judge("[expect x]\nserial = a", "", &stopped);

	g_assert_cmpstr(code, ==, "x: the guest ended with code 3, and not 0");
	g_assert_cmpstr(good, ==, "");
	g_assert_cmpstr(none, ==, "x: the guest did not end by itself: it was stopped");
	g_assert_cmpstr(dumb, ==, "x: the guest has no serial log");
	{
		const RsTraceRunEnd bad = {
			.how = "panic", .text = "out of memory", .end = "panic: o"};
		g_autofree char *panic = judge("[expect x]\nend = panic\ntext = ^out of", "", &bad);
		g_autofree char *other = judge("[expect x]\nend = reset", "", &bad);
		g_autofree char *text = judge("[expect x]\nend = panic\ntext = ^of", "", &bad);
		g_autofree char *well = judge("[expect x]\nend = fault", "", &stopped);

		g_assert_cmpstr(panic, ==, "");
		g_assert_cmpstr(other, ==,
				"x: it should have ended by reset, and not so: panic: o");
		g_assert_cmpstr(text, ==, "x: its end says something else: panic: o");
		g_assert_cmpstr(well, ==,
				"x: it should have ended by fault, and not so: it was stopped");
	}
	CHECK("serial = ^ok \\d$\ncount = 2", "", "");
	CHECK("serial = ^ok \\d$\ncount = 1", "", "x: the guest wrote it 2 times, and not 1");
	CHECK("serial-never = ^ok 2", "", "x: the guest wrote it 1 times: ok 2");
	CHECK("serial-never = panic", "", "");
	{
		/* Nobody knows what came after that. */
		const RsTraceRunEnd cut = {.serial = "ok", .serial_size = 2, .serial_cut = TRUE};
		g_autofree char *is = judge("[expect x]\nserial-never = bug", "", &cut);
		g_autofree char *fine = judge("[expect x]\nserial = ok", "", &cut);

		g_assert_cmpstr(is, ==, "x: the guest wrote more than the 2 bytes that were read");
		g_assert_cmpstr(fine, ==, "");
	}
}

static void test_losses(void)
{
	const RsTraceRunEnd stopped = {.stopped = TRUE, .end = "stopped"};
	g_autofree char *tail = judge("[expect x]\nevent = sched:switch", "1:3>4 !2", &stopped);
	g_autofree char *many = judge("[expect x]\nevent = sched:switch", "1:3>4 !1000", &stopped);
	g_autofree char *gap =
		judge("[expect x]\nevent = sched:switch", "1:3>4 !2 5:3>4", &stopped);

	/* It was stopped in the middle of a record, perhaps. */
	g_assert_cmpstr(tail, ==, "");
	g_assert_nonnull(strstr(gap, "2 events are lost"));
	/* But not in the middle of thousands. */
	g_assert_nonnull(strstr(many, "1000 events are lost"));
	CHECK("event = sched:switch", "1:3>4 !2",
	      "no loss: 2 events are lost: what is expected of events cannot be known @1");
	CHECK("event = sched:switch", "1:3>4 !2 5:3>4",
	      "no loss: 2 events are lost: what is expected of events cannot be known @1");
}

static void test_fields_of_nothing(void)
{
	CHECK("never = sched:switch: zzzzzzzz == 3", "1:3>4",
	      "BROKEN x: sched:switch has no field 'zzzzzzzz'");
	/* Also of what waits for something, and of what has no record. */
	CHECK("event = sched:switch\nbind = a=next\n[expect y]\nnever = demo:all: zzzzzzzz == $a",
	      "1:3>4", "BROKEN y: demo:all has no field 'zzzzzzzz'");
	CHECK("event = sched:switch\n[expect y]\nnever = demo:all: zzzzzzzz == 1\nsince = x",
	      "1:3>4", "BROKEN y: demo:all has no field 'zzzzzzzz'");
	CHECK("last = sched:switch\nis = zzzzzzzz == 0", "",
	      "BROKEN x: sched:switch has no field 'zzzzzzzz'");
}

/* However many there were before. */
static void test_many_partners(void)
{
	g_autoptr(GString) records = g_string_new(NULL);

	for (guint i = 1; i <= RS_TRACE_VERDICT_OPEN + 5; i++)
		g_string_append_printf(records, "%u:3>4 ", i);
	g_string_append(records, "70000:a3 70001:a4");
	CHECK("each = demo:all\nafter = sched:switch", records->str, "");
	CHECK("each = demo:all\nafter = sched:switch\nwithin = 5us", records->str, "");
	CHECK("each = demo:all\nafter = sched:switch\nwithin = 10ns", records->str,
	      "x: 2 of 2 took longer than 10 ns, up to 4.461 us @65541");
	CHECK("event = demo:all\nafter = sched:switch\nwithin = 10ns", "1:3>4 100:4>5 101:a3", "");
	CHECK("event = demo:all\nafter = sched:switch\nwithin = 10ns", "1:3>4 100:a3",
	      "x: none came within 10 ns: of 1 that came later, the latest took 99 ns @1?");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/verdict/events", test_events);
	g_test_add_func("/verdict/counts", test_counts);
	g_test_add_func("/verdict/never", test_never);
	g_test_add_func("/verdict/last", test_last);
	g_test_add_func("/verdict/order", test_order);
	g_test_add_func("/verdict/each", test_each);
	g_test_add_func("/verdict/variables", test_variables);
	g_test_add_func("/verdict/windows", test_windows);
	g_test_add_func("/verdict/silence", test_silence);
	g_test_add_func("/verdict/damage", test_damage);
	g_test_add_func("/verdict/pairs", test_pairs);
	g_test_add_func("/verdict/ends", test_ends);
	g_test_add_func("/verdict/losses", test_losses);
	g_test_add_func("/verdict/fields", test_fields_of_nothing);
	g_test_add_func("/verdict/many", test_many_partners);
	return g_test_run();
}
