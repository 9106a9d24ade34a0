/* SPDX-License-Identifier: MIT */
/* What a timeline makes of a guest's records: who had which vCPU, and in which state it was. */
#include "records.h"

#include <string.h>

static const RsTraceTimelineRing *ring(const Guest *guest, guint n)
{
	return rs_trace_timeline_ring(guest->timeline, n);
}

static const RsTraceTimelineTask *task(const Guest *guest, guint32 pid)
{
	const RsTraceTimelineTask *found;

	for (guint i = 0; (found = rs_trace_timeline_task(guest->timeline, i)); i++)
		if (found->pid == pid)
			return found;
	g_error("no task %u", pid);
}

/* "10:T7 20:? 30:idle ": who has the ring's vCPU from when on. */
static void check_runs(const Guest *guest, guint n, const char *expected)
{
	const RsTraceSeries *series = ring(guest, n)->tasks;
	g_autoptr(GString) out = g_string_new(NULL);
	guint64 ns;
	guint32 tag;

	for (guint64 i = 0; rs_trace_series_read(series, i, 1, &ns, &tag); i++) {
		const RsTraceTimelineTask *who =
			rs_trace_timeline_task_of_tag(guest->timeline, tag);

		g_string_append_printf(out, "%" G_GUINT64_FORMAT ":", ns);
		if (who)
			g_string_append_printf(out, "T%u ", who->pid);
		else
			g_string_append(out, tag == RS_TRACE_TASK_TAG_IDLE ? "idle " : "? ");
	}
	g_assert_cmpstr(out->str, ==, expected);
}

/* "10:W 20:R ": runs, waits for a vCPU (r), blocked, stopped, dead. */
static void check_states(const Guest *guest, guint32 pid, const char *expected)
{
	const RsTraceSeries *series = task(guest, pid)->states;
	g_autoptr(GString) out = g_string_new(NULL);
	guint64 ns;
	guint32 tag;

	for (guint64 i = 0; rs_trace_series_read(series, i, 1, &ns, &tag); i++)
		g_string_append_printf(out, "%" G_GUINT64_FORMAT ":%c ", ns, "?RrBSD"[tag]);
	g_assert_cmpstr(out->str, ==, expected);
}

static void check_text(const RsTraceSeries *series, const char *expected)
{
	g_autofree char *text = series_text(series);

	g_assert_cmpstr(text, ==, expected);
}

static void test_switches(void)
{
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 10, 7, 0);
	guest_switch(&g, 0, 20, 7, 1, 8, "eight"); /* 7 sleeps */
	guest_event(&g, 0, 0, 30, 8, 1);
	guest_switch(&g, 0, 40, 8, 0, 0, "swapper"); /* 8 is preempted */
	guest_event(&g, 0, 1, 45, 0, 1);
	guest_wakeup(&g, 1, 50, 0, 7);
	guest_switch(&g, 0, 60, 0, 0, 7, "seven");
	guest_wakeup(&g, 1, 65, 0, 7); /* it runs: no news */
	guest_switch(&g, 0, 70, 7, 0x20, 8, "eight");
	guest_switch(&g, 0, 80, 8, 4, 9, "nine");
	guest_flush(&g);
	check_runs(&g, 0, "10:T7 21:T8 41:idle 61:T7 71:T8 81:T9 ");
	check_runs(&g, 1, "45:idle ");
	check_states(&g, 7, "10:R 21:B 51:r 61:R 71:D ");
	check_states(&g, 8, "21:R 41:r 71:R 81:S ");
	g_assert_cmpstr(task(&g, 7)->comm, ==, "task7"); /* its own record came later */
	g_assert_cmpstr(task(&g, 9)->comm, ==, "nine");
	g_assert_cmpuint(task(&g, 7)->tgid, ==, 7);
	g_assert_cmpuint(task(&g, 7)->events, ==, 3);
	g_assert_cmpuint(task(&g, 8)->first_ns, ==, 30);
	g_assert_cmpuint(task(&g, 8)->last_ns, ==, 80);
	guest_clear(&g);
}

/* Without a switch nobody knows when the one took over from the other. */
static void test_no_switches(void)
{
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 10, 7, 0);
	guest_event(&g, 0, 0, 20, 7, 0);
	guest_event(&g, 0, 0, 30, 8, 0);
	guest_event(&g, 0, 0, 31, 7, 0);
	guest_flush(&g);
	check_runs(&g, 0, "10:T7 21:? 30:T8 31:T7 ");
	check_states(&g, 7, "10:R 21:? 31:R ");
	check_states(&g, 8, "30:R 31:? ");
	guest_clear(&g);
}

static void test_loss(void)
{
	RsTraceTimelineLoss loss;
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 10, 7, 0);
	guest_loss(&g, 0, 40, 5);
	guest_event(&g, 0, 0, 50, 7, 0);
	guest_loss(&g, 0, 60, 2);
	guest_loss(&g, 0, 70, 3); /* two in a row */
	guest_event(&g, 0, 0, 80, 7, 0);
	guest_flush(&g);
	check_runs(&g, 0, "10:T7 11:? 50:T7 51:? 80:T7 ");
	check_text(ring(&g, 0)->gaps, "11:1 50:0 51:1 80:0 ");
	check_text(ring(&g, 0)->events, "10:3 40:0 50:3 60:0 70:0 80:3 ");
	g_assert_cmpuint(ring(&g, 0)->losses->len, ==, 3);
	loss = g_array_index(ring(&g, 0)->losses, RsTraceTimelineLoss, 0);
	g_assert_cmpuint(loss.ns, ==, 40);
	g_assert_cmpuint(loss.since, ==, 11);
	g_assert_cmpuint(loss.lost, ==, 5);
	g_assert_cmpuint(ring(&g, 0)->lost, ==, 10);
	g_assert_cmpuint(rs_trace_timeline_lost(g.timeline), ==, 10);
	guest_clear(&g);
}

/* Tasks of another boot are other tasks, whatever their pids. */
static void test_boot(void)
{
	guint64 first, end;
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 10, 7, 0);
	guest_boot(&g, 0, 40, 2);
	guest_event(&g, 0, 0, 50, 7, 0);
	guest_flush(&g);
	check_runs(&g, 0, "10:T7 40:? 50:T7 ");
	g_assert_nonnull(rs_trace_timeline_task(g.timeline, 1));
	g_assert_cmpuint(rs_trace_timeline_task(g.timeline, 1)->boot, ==, 2);
	g_assert_null(rs_trace_timeline_task(g.timeline, 2));
	rs_trace_timeline_span(g.timeline, &first, &end);
	g_assert_cmpuint(first, ==, 10);
	g_assert_cmpuint(end, ==, 51);
	rs_trace_timeline_set_end(g.timeline, 90);
	rs_trace_timeline_span(g.timeline, &first, &end);
	g_assert_cmpuint(end, ==, 90);
	guest_clear(&g);
}

/* A process that joined has its machine's pids; another guest has its own. */
static void test_sources(void)
{
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 10, 7, 0);
	guest_event(&g, 1, 0, 20, 7, 1);
	guest_event(&g, 2, 3, 30, 7, 1);
	guest_flush(&g);
	g_assert_cmpstr(rs_trace_timeline_source(g.timeline, 1)->name, ==, "program");
	g_assert_cmpstr(rs_trace_timeline_source_of(g.timeline, 2)->name, ==, "other");
	g_assert_null(rs_trace_timeline_source_of(g.timeline, 3));
	g_assert_cmpuint(ring(&g, 2)->source, ==, 2);
	g_assert_cmpuint(ring(&g, 2)->ring, ==, 3);
	g_assert_nonnull(rs_trace_timeline_task(g.timeline, 1));
	g_assert_null(rs_trace_timeline_task(g.timeline, 2));
	g_assert_cmpuint(rs_trace_timeline_task(g.timeline, 0)->colour, !=,
			 rs_trace_timeline_task(g.timeline, 1)->colour);
	g_assert_cmpstr(rs_trace_timeline_class(g.timeline, 3)->label, ==, "test:a");
	g_assert_cmpuint(rs_trace_timeline_class(g.timeline, 4)->count, ==, 2);
	g_assert_nonnull(strstr(rs_trace_timeline_class(g.timeline, 4)->format, "name: b\n"));
	g_assert_null(rs_trace_timeline_class(g.timeline, RS_TRACE_CLASS_LOSS)->format);
	g_assert_null(rs_trace_timeline_class(g.timeline, 5));
	guest_clear(&g);
}

/* The events of a task, wherever it ran, and no others. */
static void test_task_events(void)
{
	RsTraceSeries *series;
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 10, 7, 0);
	guest_event(&g, 0, 1, 12, 9, 4);
	guest_switch(&g, 0, 20, 7, 0, 8, "eight");
	guest_event(&g, 0, 0, 21, 8, 1);
	guest_switch(&g, 1, 30, 9, 0, 7, "seven");
	guest_event(&g, 0, 1, 31, 7, 2);
	guest_loss(&g, 1, 40, 2);
	guest_event(&g, 0, 1, 45, 7, 0);
	guest_flush(&g);
	/* test:a is class 3, test:e 4, the switch 5, test:b 6, test:c 7. */
	series = rs_trace_timeline_task_events(g.timeline, 0, NULL);
	check_text(series, "10:3 20:5 31:7 45:3 ");
	rs_trace_series_free(series);
	series = rs_trace_timeline_task_events(g.timeline, 1, NULL);
	check_text(series, "12:4 30:5 ");
	rs_trace_series_free(series);
	guest_clear(&g);
}

/* Tasks that share a time each have what is theirs, in the lane and in the list. */
static void test_one_time(void)
{
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 100, 1, 0);
	guest_event(&g, 0, 0, 100, 2, 1);
	guest_event(&g, 0, 0, 100, 2, 2);
	guest_event(&g, 0, 0, 200, 1, 3);
	guest_flush(&g);
	check_runs(&g, 0, "100:T2 101:? 200:T1 ");
	check_text(ring(&g, 0)->owners, "0:2 1:3 3:2 ");
	guest_clear(&g);
}

/* ---- many events of few times ---- */

enum { TASKS = 5, NAMES = 25, FIRST_PID = 10 };

static gint in_order(gconstpointer a, gconstpointer b)
{
	const guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

	return x < y ? -1 : x > y;
}

/* The name of an event says its task. `expected`: times << 8 with the numbers of classes. */
static void check_task(const Guest *g, guint n, GArray *expected)
{
	const RsTraceTimelineTask *found;
	g_autoptr(GArray) got = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(RsTraceSeries) series = NULL;
	guint64 ns;
	guint32 class;
	guint i;

	for (i = 0; (found = rs_trace_timeline_task(g->timeline, i)); i++)
		if (found->pid == n + FIRST_PID)
			break;
	g_assert_nonnull(found);
	series = rs_trace_timeline_task_events(g->timeline, i, NULL);
	for (guint64 k = 0; rs_trace_series_read(series, k, 1, &ns, &class); k++) {
		const guint64 item = ns << 8 | class;

		g_array_append_val(got, item);
	}
	g_array_sort(got, in_order);
	g_array_sort(expected, in_order);
	g_assert_cmpuint(found->events, ==, expected->len);
	g_assert_cmpmem(got->data, got->len * sizeof(guint64), expected->data,
			expected->len * sizeof(guint64));
}

static void check_owners(const Guest *g)
{
	const RsTraceTimelineRing *of;
	guint32 class;

	for (guint n = 1; (of = ring(g, n)); n++)
		for (guint64 i = 0; rs_trace_series_read(of->events, i, 1, NULL, &class); i++) {
			const RsTraceTimelineTask *owner = rs_trace_timeline_task_of_tag(
				g->timeline, rs_trace_timeline_owner(of, i));

			if (class < RS_TRACE_CLASS_EVENTS)
				g_assert_null(owner);
			else
				g_assert_cmpuint(owner->pid, ==,
						 (class - RS_TRACE_CLASS_EVENTS) / TASKS +
							 FIRST_PID);
		}
}

static void test_owners(gconstpointer spread)
{
	GArray *expected[TASKS];
	guint64 ns = 100;
	Guest g;

	guest_init(&g);
	for (guint i = 0; i < NAMES; i++)
		guest_event(&g, 0, 0, 1, 1, i); /* so that the numbers of classes are known */
	for (guint i = 0; i < TASKS; i++)
		expected[i] = g_array_new(FALSE, FALSE, sizeof(guint64));
	for (guint i = 0; i < 6000; i++) {
		const guint of = (guint)g_test_rand_int_range(0, TASKS);
		const guint name = of * TASKS + i % TASKS;
		const guint64 item = ns << 8 | (name + RS_TRACE_CLASS_EVENTS);

		guest_event(&g, 0, (guint)g_test_rand_int_range(1, 5), ns, of + FIRST_PID, name);
		g_array_append_val(expected[of], item);
		if (i % 11 == 0)
			guest_loss(&g, (guint)g_test_rand_int_range(1, 5), ns, 1);
		if (!g_test_rand_int_range(0, GPOINTER_TO_INT(spread)))
			ns += (guint64)g_test_rand_int_range(0, 3);
	}
	guest_flush(&g);
	check_owners(&g);
	for (guint i = 0; i < TASKS; i++) {
		check_task(&g, i, expected[i]);
		g_array_unref(expected[i]);
	}
	guest_clear(&g);
}

/* More tasks and events than there is room for: the last of each has them all. */
static void test_bounds(void)
{
	Guest g;

	guest_init(&g);
	for (guint i = 1; i <= RS_TRACE_TIMELINE_TASKS + 100; i++)
		guest_event(&g, 0, 0, i, i, 0);
	guest_flush(&g);
	g_assert_null(rs_trace_timeline_task(g.timeline, RS_TRACE_TIMELINE_TASKS));
	g_assert_cmpstr(rs_trace_timeline_task(g.timeline, RS_TRACE_TIMELINE_TASKS - 1)->comm, ==,
			"(other)");
	g_assert_cmpuint(rs_trace_timeline_task(g.timeline, RS_TRACE_TIMELINE_TASKS - 1)->events,
			 ==, 101);
	g_assert_cmpuint(rs_trace_timeline_n_rows(g.timeline), ==, RS_TRACE_TIMELINE_TASKS + 100);
	guest_clear(&g);
}

/* Somebody looks while records come in. */
static gpointer look(gpointer data)
{
	Guest *g = data;
	guint64 n = 0, seen;

	while (n < 400000) {
		RsTraceTimelineRow rows[16];
		guint got;

		rs_trace_timeline_lock(g->timeline);
		seen = rs_trace_timeline_n_rows(g->timeline);
		got = rs_trace_timeline_rows(g->timeline, seen / 2, 16, rows);
		rs_trace_timeline_unlock(g->timeline);
		g_assert_cmpuint(seen, >=, n);
		g_assert_cmpuint(got, ==, MIN(16, seen - seen / 2));
		for (guint i = 1; i < got; i++)
			g_assert_cmpuint(rows[i].ns, >=, rows[i - 1].ns);
		n = seen;
		g_thread_yield();
	}
	return NULL;
}

/* Somebody gathers a task's events while classes come, whose colours these have. */
static gpointer gather(gpointer data)
{
	Guest *g = data;
	guint64 n = 0;

	while (n < RS_TRACE_TIMELINE_CLASSES) {
		g_autoptr(RsTraceSeries) series =
			rs_trace_timeline_task_events(g->timeline, 0, NULL);

		g_assert_cmpuint(rs_trace_series_count(series), >=, n);
		n = rs_trace_series_count(series);
		g_thread_yield();
	}
	return NULL;
}

static void test_new_classes(void)
{
	GThread *thread;
	Guest g;

	guest_init(&g);
	thread = g_thread_new("gather", gather, &g);
	for (guint i = 0; i < RS_TRACE_TIMELINE_CLASSES; i++) {
		guest_new_event(&g, 0, i, 7, i);
		if (i % 64 == 0)
			guest_flush(&g);
	}
	guest_flush(&g);
	g_thread_join(thread);
	guest_clear(&g);
}

static void test_threads(void)
{
	GThread *thread;
	Guest g;

	guest_init(&g);
	thread = g_thread_new("look", look, &g);
	for (guint i = 0; i < 400000; i++)
		guest_event(&g, 0, i % 3, i, i / 50 % 40 + 1, i % 26);
	guest_flush(&g);
	g_thread_join(thread);
	guest_clear(&g);
}

/* What an event says to have lasted lies before its record. */
static void test_lasting(void)
{
	Guest g;

	guest_init(&g);
	guest_lasts(&g, 0, 1000, 1, 2000); /* a moment, no duration */
	guest_lasts(&g, 0, 1100, 1, 0);
	guest_lasts(&g, 0, 1500, 1, 300);
	guest_lasts(&g, 0, 2000, 1, 520); /* the clocks differ a little */
	guest_event(&g, 0, 0, 2100, 1, 0);
	guest_lasts(&g, 0, 2200, 1, 1000); /* a sum of what was told before */
	guest_lasts(&g, 1, 2300, 2, 1000); /* another ring */
	guest_lasts(&g, 0, 3000, 1, G_MAXUINT64);
	guest_lasts(&g, 0, 3100, 1, 10);
	guest_flush(&g);
	check_text(ring(&g, 0)->lasting, "1200:3 1500:3 2000:16384 3090:3 3100:16384 ");
	check_text(ring(&g, 1)->lasting, "1300:3 2300:16384 ");
	guest_clear(&g);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/timeline/switches", test_switches);
	g_test_add_func("/timeline/no-switches", test_no_switches);
	g_test_add_func("/timeline/loss", test_loss);
	g_test_add_func("/timeline/lasting", test_lasting);
	g_test_add_func("/timeline/boot", test_boot);
	g_test_add_func("/timeline/sources", test_sources);
	g_test_add_func("/timeline/task-events", test_task_events);
	g_test_add_func("/timeline/one-time", test_one_time);
	g_test_add_data_func("/timeline/owners/dense", GINT_TO_POINTER(40), test_owners);
	g_test_add_data_func("/timeline/owners/sparse", GINT_TO_POINTER(1), test_owners);
	g_test_add_func("/timeline/bounds", test_bounds);
	g_test_add_func("/timeline/threads", test_threads);
	g_test_add_func("/timeline/new-classes", test_new_classes);
	return g_test_run();
}
