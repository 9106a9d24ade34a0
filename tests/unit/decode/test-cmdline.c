/* SPDX-License-Identifier: MIT */
#include "rs-trace-cmdline.h"

#include "build.h"

#include <string.h>

static const char *comm_of(RsTraceCmdline *names, guint boot, guint pid, guint64 ts)
{
	RsTraceTask task;

	rs_trace_cmdline_lookup(names, pid, (RsTraceMoment){boot, 0, ts}, &task);
	return task.comm;
}

static guint tgid_of(RsTraceCmdline *names, guint boot, guint pid, guint64 ts)
{
	RsTraceTask task;

	rs_trace_cmdline_lookup(names, pid, (RsTraceMoment){boot, 0, ts}, &task);
	return task.tgid;
}

static void add(RsTraceCmdline *names, guint boot, guint pid, guint tgid, guint64 since,
		const char *comm)
{
	struct rs_cmdline_entry entry = test_task(pid, since, comm);

	entry.boot = boot;
	entry.tgid = tgid;
	rs_trace_cmdline_add(names, &entry);
}

static void test_history(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	guint8 section[4 * sizeof(struct rs_cmdline_bucket)] = {0}, again[sizeof(section)];
	struct rs_cmdline_entry odd = test_task(11, 50, "odd");

	test_cmdline_put(section, 4, test_task(7, 100, "first"));
	test_cmdline_put(section, 4, test_task(7, 200, "second"));
	test_cmdline_put(section, 4, test_task(8, 50, "0123456789abcdef"));
	test_cmdline_put(section, 4, test_task(9, 50, "\x1b[2J"));
	odd.sequence = 3;
	test_cmdline_put(section, 4, odd);
	memcpy(again, section, sizeof(section));
	test_cmdline_put(section, 4, test_task(10, 50, "torn"));
	rs_trace_cmdline_merge(names, section, again, sizeof(section),
			       sizeof(struct rs_cmdline_entry));
	/* Never a later owner's name. */
	g_assert_cmpstr(comm_of(names, 1, 7, 99), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 7, 100), ==, "first");
	g_assert_cmpstr(comm_of(names, 1, 7, 199), ==, "first");
	g_assert_cmpstr(comm_of(names, 1, 7, 200), ==, "second");
	g_assert_cmpstr(comm_of(names, 1, 8, 50), ==, "0123456789abcdef");
	g_assert_cmpstr(comm_of(names, 1, 9, 50), ==, "\x1b[2J");
	g_assert_cmpstr(comm_of(names, 1, 10, 50), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 11, 50), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 0, 50), ==, "<idle>");
	/* The guest's cache drops names, the history keeps them. */
	memset(section, 0, sizeof(section));
	test_cmdline_put(section, 4, test_task(7, 300, "third"));
	rs_trace_cmdline_merge(names, section, NULL, sizeof(section),
			       sizeof(struct rs_cmdline_entry));
	g_assert_cmpstr(comm_of(names, 1, 7, 150), ==, "first");
	g_assert_cmpstr(comm_of(names, 1, 7, 300), ==, "third");
}

/* A name may fill all bytes. A longer one is cut. */
static void test_long_names(void)
{
	static const char whole[] = "0123456789abcdef0123456789abcdef";
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	guint8 section[sizeof(struct rs_cmdline_bucket)] = {0};

	g_assert_cmpuint(strlen(whole), ==, RS_COMM_LEN);
	test_cmdline_put(section, 1, test_task(7, 100, whole));
	test_cmdline_put(section, 1, test_task(8, 100, "short"));
	rs_trace_cmdline_merge(names, section, NULL, sizeof(section),
			       sizeof(struct rs_cmdline_entry));
	g_assert_cmpstr(comm_of(names, 1, 7, 100), ==, whole);
	g_assert_cmpstr(comm_of(names, 1, 8, 100), ==, "short");
	/* Two names that differ only in the last byte are different. */
	add(names, 1, 7, 0, 200, "0123456789abcdef0123456789abcde!");
	g_assert_cmpstr(comm_of(names, 1, 7, 199), ==, whole);
	g_assert_cmpstr(comm_of(names, 1, 7, 200), ==, "0123456789abcdef0123456789abcde!");
}

/* The counter goes back within a boot: what was before it comes first, though its time is later. */
static void test_counter_goes_back(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	struct rs_cmdline_entry entry = test_task(7, 300, "restored");
	RsTraceTask task;

	entry.boot = 1;
	entry.chain = 2;
	rs_trace_cmdline_add(names, &entry);
	add(names, 1, 7, 0, 9000, "before");
	g_assert_cmpstr(comm_of(names, 1, 7, 8999), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 7, 9000), ==, "before");
	rs_trace_cmdline_lookup(names, 7, (RsTraceMoment){1, 2, 299}, &task);
	g_assert_cmpstr(task.comm, ==, "before");
	rs_trace_cmdline_lookup(names, 7, (RsTraceMoment){1, 2, 300}, &task);
	g_assert_cmpstr(task.comm, ==, "restored");
}

static void test_thread_groups(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();

	add(names, 1, 7, 5, 100, "worker");
	add(names, 1, 7, 7, 200, "worker"); /* the same pid, now a process */
	add(names, 1, 8, 0, 100, "who");
	add(names, 1, 9, 9, 100, "");
	g_assert_cmpuint(tgid_of(names, 1, 7, 99), ==, 0);
	g_assert_cmpuint(tgid_of(names, 1, 7, 100), ==, 5);
	g_assert_cmpuint(tgid_of(names, 1, 7, 199), ==, 5);
	g_assert_cmpuint(tgid_of(names, 1, 7, 200), ==, 7);
	g_assert_cmpuint(tgid_of(names, 1, 8, 200), ==, 0);
	/* An empty name does not hide the thread group. */
	g_assert_cmpuint(tgid_of(names, 1, 9, 200), ==, 9);
	g_assert_cmpstr(comm_of(names, 1, 9, 200), ==, "<...>");
	/* Two entries in one tick: the later one replaces the earlier. */
	add(names, 1, 9, 3, 100, "known");
	g_assert_cmpuint(tgid_of(names, 1, 9, 200), ==, 3);
	g_assert_cmpstr(comm_of(names, 1, 9, 200), ==, "known");
	add(names, 1, 9, 4, 100, "known");
	g_assert_cmpuint(tgid_of(names, 1, 9, 200), ==, 4);
}

/* The event clock and pids begin again with each boot. */
static void test_boots(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();

	add(names, 2, 7, 0, 100, "second");
	add(names, 1, 7, 0, 5000, "late in the first");
	add(names, 1, 7, 0, 50, "first");
	add(names, 4, 7, 0, 10, "fourth");
	g_assert_cmpstr(comm_of(names, 1, 7, 49), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 7, 100), ==, "first");
	g_assert_cmpstr(comm_of(names, 1, 7, G_MAXUINT64), ==, "late in the first");
	g_assert_cmpstr(comm_of(names, 2, 7, 99), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 2, 7, 100), ==, "second");
	g_assert_cmpstr(comm_of(names, 2, 7, G_MAXUINT64), ==, "second");
	g_assert_cmpstr(comm_of(names, 3, 7, 1000), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 4, 7, 10), ==, "fourth");
	g_assert_cmpstr(comm_of(names, 5, 7, 10), ==, "<...>");
}

static void test_bounds(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();

	for (guint i = 0; i < 200000; i++)
		add(names, 1, i, 0, 1, "x");
	for (guint i = 0; i < 2000; i++)
		add(names, 1, 5, 0, i, i == 1999 ? "last" : "x");
	g_assert_cmpstr(comm_of(names, 1, 100, 5), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 199999, 5), ==, "x");
	g_assert_cmpstr(comm_of(names, 1, 5, 5000), ==, "last");
	g_assert_cmpstr(comm_of(names, 1, 5, 500), ==, "<...>");
}

/* Very many names of few pids. The pids that were named last keep theirs. */
static void test_many_names(void)
{
	const guint pids = 32768, each = 64;
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	guint known = 0;

	for (guint pid = 1; pid <= pids; pid++) {
		for (guint i = 0; i < each; i++)
			add(names, 1, pid, 0, i * 10, "x");
		add(names, 1, 0, 0, 1, "swapper");
	}
	for (guint pid = 1; pid <= pids; pid++) {
		for (guint i = 0; i < each; i++)
			known += !strcmp(comm_of(names, 1, pid, i * 10), "x");
	}
	g_assert_cmpuint(known, >=, 65536 - each);
	g_assert_cmpuint(known, <=, 131072 + 2 * each);
	g_assert_cmpstr(comm_of(names, 1, pids, 0), ==, "x");
	g_assert_cmpstr(comm_of(names, 1, 0, 1), ==, "swapper");
	/* One pid: its names are replaced, and nothing else is dropped. */
	for (guint i = 0; i < 100000; i++)
		add(names, 1, pids, 0, 1000 + i, i % 2 ? "x" : "y");
	g_assert_cmpstr(comm_of(names, 1, pids - 1, 0), ==, "x");
	g_assert_cmpstr(comm_of(names, 1, pids, 100999), ==, "x");
}

/* Entries of a later version are longer. */
static void test_stride(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	guint8 section[3 * 80] = {0};
	RsTraceTask task;

	for (guint i = 0; i < 3; i++) {
		struct rs_cmdline_entry entry = test_task(i + 1, 0, i ? "other" : "first");

		memcpy(section + i * 80, &entry, sizeof(entry));
		memset(section + i * 80 + sizeof(entry), 0xff, 16);
	}
	rs_trace_cmdline_merge(names, section, NULL, sizeof(section), 80);
	rs_trace_cmdline_lookup(names, 1, (RsTraceMoment){1, 0, 5}, &task);
	g_assert_cmpstr(task.comm, ==, "first");
	rs_trace_cmdline_lookup(names, 3, (RsTraceMoment){1, 0, 5}, &task);
	g_assert_cmpstr(task.comm, ==, "other");
}

static void add_number(RsTraceCmdline *names, guint boot, guint64 since, guint number)
{
	g_autofree char *comm = g_strdup_printf("n%u", number);
	struct rs_cmdline_entry entry = test_task(7, since, comm);

	entry.boot = boot;
	entry.number = number;
	rs_trace_cmdline_add(names, &entry);
}

/* A name counts up to the next one, if that has the next number, or begins to count anew. */
static void test_gaps(void)
{
	static const struct {
		guint first, second, second_boot;
		gboolean known;
	} cases[] = {
		{5, 6, 1, TRUE},           {5, 7, 1, FALSE},
		{5, 5, 1, TRUE},           {5, 4, 1, TRUE},
		{5, 1, 1, TRUE},           {0, 7, 1, TRUE}, /* its number is not known */
		{5, 0, 1, TRUE},           {1, 3, 1, FALSE},
		{5, 7, 2, TRUE},           {G_MAXUINT32 - 1, G_MAXUINT32, 1, TRUE},
		{G_MAXUINT32, 1, 1, TRUE},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
		g_autofree char *want = g_strdup_printf("n%u", cases[i].first);

		g_test_message("%u", i);
		add_number(names, 1, 100, cases[i].first);
		g_assert_cmpstr(comm_of(names, 1, 7, 100), ==, want);
		add_number(names, cases[i].second_boot, 200, cases[i].second);
		g_assert_cmpstr(comm_of(names, 1, 7, 199), ==, cases[i].known ? want : "<...>");
	}
}

/* Names of one tick: the last one counts, and none of them is a gap. */
static void test_one_tick(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();

	add_number(names, 1, 100, 3);
	for (guint number = 4; number <= 6; number++)
		add_number(names, 1, 200, number);
	add_number(names, 1, 300, 7);
	g_assert_cmpstr(comm_of(names, 1, 7, 199), ==, "n3");
	g_assert_cmpstr(comm_of(names, 1, 7, 200), ==, "n6");
	g_assert_cmpstr(comm_of(names, 1, 7, 299), ==, "n6");
	g_assert_cmpstr(comm_of(names, 1, 7, 300), ==, "n7");
	/* An earlier one that is found late lowers where they begin, not where they end. */
	add_number(names, 1, 400, 10);
	g_assert_cmpstr(comm_of(names, 1, 7, 399), ==, "<...>");
	add_number(names, 1, 400, 8);
	g_assert_cmpstr(comm_of(names, 1, 7, 399), ==, "n7");
}

/* As many names of a pid as are kept: then the oldest goes, and what is older yet never comes. */
static void test_full(void)
{
	enum { MOST = 1024 };
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();

	for (guint i = MOST; i; i--) /* from the newest to the oldest */
		add_number(names, 1, 100 * i, i);
	for (guint i = 1; i <= MOST; i++) {
		g_autofree char *want = g_strdup_printf("n%u", i);

		g_assert_cmpstr(comm_of(names, 1, 7, 100 * i), ==, want);
		g_assert_cmpstr(comm_of(names, 1, 7, 100 * i + 99), ==, want);
	}
	add_number(names, 1, 50, 99);
	g_assert_cmpstr(comm_of(names, 1, 7, 99), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 7, 100), ==, "n1");
	add_number(names, 1, 100 * MOST + 100, MOST + 1);
	g_assert_cmpstr(comm_of(names, 1, 7, 199), ==, "<...>");
	for (guint i = 2; i <= MOST + 1; i++) {
		g_autofree char *want = g_strdup_printf("n%u", i);

		g_assert_cmpstr(comm_of(names, 1, 7, 100 * i), ==, want);
		g_assert_cmpstr(comm_of(names, 1, 7, 100 * i + 99), ==, want);
	}
	/* One in the middle pushes out the oldest too. */
	add_number(names, 1, 1050, 10);
	g_assert_cmpstr(comm_of(names, 1, 7, 299), ==, "<...>");
	g_assert_cmpstr(comm_of(names, 1, 7, 1049), ==, "n10");
	g_assert_cmpstr(comm_of(names, 1, 7, 1100), ==, "n11");
	g_assert_cmpstr(comm_of(names, 1, 7, 300), ==, "n3");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/cmdline/counter-goes-back", test_counter_goes_back);
	g_test_add_func("/decode/cmdline/history", test_history);
	g_test_add_func("/decode/cmdline/long-names", test_long_names);
	g_test_add_func("/decode/cmdline/thread-groups", test_thread_groups);
	g_test_add_func("/decode/cmdline/boots", test_boots);
	g_test_add_func("/decode/cmdline/bounds", test_bounds);
	g_test_add_func("/decode/cmdline/many-names", test_many_names);
	g_test_add_func("/decode/cmdline/stride", test_stride);
	g_test_add_func("/decode/cmdline/gaps", test_gaps);
	g_test_add_func("/decode/cmdline/one-tick", test_one_tick);
	g_test_add_func("/decode/cmdline/full", test_full);
	return g_test_run();
}
