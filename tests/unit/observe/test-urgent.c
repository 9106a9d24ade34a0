/* SPDX-License-Identifier: MIT */
/* A thread becomes as urgent as it may, and where it may not, it goes on as it was. */
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK, setresuid() */
#include "rs-trace-urgent.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOBODY 65534

/* What the system says, not what we asked for. */
static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

/* Nice values above `best` are for everybody; see getrlimit(2). */
static void limit_to(rlim_t nice)
{
	const struct rlimit none = {0, 0}, some = {nice, nice};

	g_assert_cmpint(setrlimit(RLIMIT_RTPRIO, &none), ==, 0);
	g_assert_cmpint(setrlimit(RLIMIT_NICE, &some), ==, 0);
	if (geteuid() == 0)
		g_assert_cmpint(setresuid(NOBODY, NOBODY, NOBODY), ==, 0);
}

static void test_refused(void)
{
	if (g_test_subprocess()) {
		const int before = getpriority(PRIO_PROCESS, 0);

		limit_to(0);
		g_assert_cmpint(rs_trace_urgent_ask(RS_TRACE_URGENT_REAL), ==, RS_TRACE_URGENT_NOT);
		g_assert_cmpint(policy(), ==, SCHED_OTHER);
		g_assert_cmpint(getpriority(PRIO_PROCESS, 0), ==, before);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
	g_test_trap_assert_passed();
}

static void test_within_limit(void)
{
	const struct rlimit most = {0, 22};

	if (g_test_subprocess()) {
		g_assert_cmpint(setpriority(PRIO_PROCESS, 0, 0), ==, 0);
		limit_to(22);
		g_assert_cmpint(rs_trace_urgent_ask(RS_TRACE_URGENT_REAL), ==,
				RS_TRACE_URGENT_NICE);
		g_assert_cmpint(policy(), ==, SCHED_OTHER);
		g_assert_cmpint(getpriority(PRIO_PROCESS, 0), ==, -2);
		return;
	}
	if (setrlimit(RLIMIT_NICE, &most) || geteuid()) {
		g_test_skip("we may not raise our limit");
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
	g_test_trap_assert_passed();
}

static gpointer get_policy(gpointer data)
{
	return GINT_TO_POINTER(policy());
}

static gpointer ask(gpointer data)
{
	RsTraceUrgent got = rs_trace_urgent_ask(RS_TRACE_URGENT_REAL);

	g_assert_cmpint(policy(), ==, got == RS_TRACE_URGENT_REAL ? SCHED_RR : SCHED_OTHER);
	/* What it starts is not urgent. */
	g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(g_thread_new("later", get_policy, NULL))), ==,
			SCHED_OTHER);
	return GINT_TO_POINTER(got);
}

/* And it alone, but neither the threads that it starts nor the others of its process. */
static void test_only_itself(void)
{
	const struct sched_param real = {.sched_priority = 1}, none = {0};
	const gboolean may = !sched_setscheduler(0, SCHED_RR, &real);
	RsTraceUrgent got;

	g_assert_cmpint(sched_setscheduler(0, SCHED_OTHER, &none), ==, 0);
	got = (RsTraceUrgent)GPOINTER_TO_INT(g_thread_join(g_thread_new("urgent", ask, NULL)));
	g_assert_true((got == RS_TRACE_URGENT_REAL) == may);
	g_assert_cmpint(policy(), ==, SCHED_OTHER);
}

static gpointer ask_as_real(gpointer data)
{
	const struct sched_param real = {.sched_priority = 7};
	struct sched_param after;

	if (sched_setscheduler(0, SCHED_FIFO, &real))
		return NULL;
	g_assert_cmpint(rs_trace_urgent_ask(RS_TRACE_URGENT_REAL), ==, RS_TRACE_URGENT_REAL);
	g_assert_cmpint(policy(), ==, SCHED_FIFO);
	g_assert_cmpint(sched_getparam(0, &after), ==, 0);
	g_assert_cmpint(after.sched_priority, ==, real.sched_priority);
	return GINT_TO_POINTER(TRUE);
}

/* Whoever gave the process a priority of real time knew why. */
static void test_given(void)
{
	if (!g_thread_join(g_thread_new("real", ask_as_real, NULL)))
		g_test_skip("we may not have a priority of real time");
}

static gpointer ask_for_less(gpointer data)
{
	const int before = getpriority(PRIO_PROCESS, 0);

	g_assert_cmpint(rs_trace_urgent_ask(RS_TRACE_URGENT_NOT), ==, RS_TRACE_URGENT_NOT);
	g_assert_cmpint(getpriority(PRIO_PROCESS, 0), ==, before);
	g_assert_cmpint(rs_trace_urgent_ask(RS_TRACE_URGENT_NICE), !=, RS_TRACE_URGENT_REAL);
	g_assert_cmpint(policy(), ==, SCHED_OTHER);
	return NULL;
}

static void test_less(void)
{
	g_thread_join(g_thread_new("urgent", ask_for_less, NULL));
}

/* Who has worked for long sleeps for a part of that; who has not goes on at once. */
static void test_rest(void)
{
	const gint64 now = g_get_monotonic_time();
	gint64 since = 0;

	rs_trace_urgent_rest(&since);
	g_assert_cmpint(since, >=, now);
	since = now - 100000;
	rs_trace_urgent_rest(&since);
	g_assert_cmpint(since, ==, 0);
	g_assert_cmpint(g_get_monotonic_time() - now, >=, 100000 / 9);
}

int main(int argc, char **argv)
{
	const struct sched_param usual = {0};

	g_test_init(&argc, &argv, NULL);
	/* However the test is run itself. */
	g_assert_cmpint(sched_setscheduler(0, SCHED_OTHER, &usual), ==, 0);
	g_test_add_func("/observe/urgent/refused", test_refused);
	g_test_add_func("/observe/urgent/within-limit", test_within_limit);
	g_test_add_func("/observe/urgent/only-itself", test_only_itself);
	g_test_add_func("/observe/urgent/given", test_given);
	g_test_add_func("/observe/urgent/less", test_less);
	g_test_add_func("/observe/urgent/rest", test_rest);
	return g_test_run();
}
