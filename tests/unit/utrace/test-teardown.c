/* SPDX-License-Identifier: MIT */
/*
 * Detach, death and reaping, and those who come too late: tests named after their rules. "Another
 * CPU" does its part while a callback runs here.
 */
#include "room.h"

#include <string.h>

static struct task task;
static struct tracer a, b;

#define QUIESCE RS_UTRACE_EVENT(QUIESCE)
#define EXEC RS_UTRACE_EVENT(EXEC)
#define DEATH RS_UTRACE_EVENT(DEATH)
#define REAP RS_UTRACE_EVENT(REAP)

static void begin(uint32_t events_a, uint32_t events_b)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, events_a);
	tracer_attach(&b, 'b', &task, events_b);
}

static int set_events(struct tracer *tracer, uint32_t events)
{
	int err;

	as_other(TRUE);
	err = rs_utrace_set_events(&tracer->engine, events);
	as_other(FALSE);
	return err;
}

static int barrier(struct tracer *tracer)
{
	int err;

	as_other(TRUE);
	err = rs_utrace_barrier(&tracer->engine);
	as_other(FALSE);
	return err;
}

static int attach(uint32_t flags)
{
	struct rs_utrace_engine *engine;
	struct tracer *memory = g_new0(struct tracer, 1);
	int err = rs_utrace_attach(&task.utrace, flags, &room_ops, NULL, &memory->engine, &engine);

	if (err)
		g_free(memory);
	return err;
}

/* ---- death and reaping ---- */

static void test_death_before_reap_and_reap_last(void)
{
	begin(DEATH | REAP, REAP | QUIESCE);
	rs_utrace_report_death(&task.utrace, false, 11);
	expect("a:DEATH=0,11 b:QUIESCE(DEATH)");
	rs_utrace_reap(&task.utrace);
	expect("a:REAP b:REAP");
	g_assert_cmpint(rs_utrace_set_events(&a.engine, 0), ==, -RS_ESRCH);
	rs_utrace_reap(&task.utrace);
	expect("");
	rs_utrace_thread_put(&task.utrace);
}

static void reap_now(struct tracer *tracer)
{
	as_other(TRUE);
	rs_utrace_reap(&task.utrace);
	rs_utrace_thread_put(&task.utrace);
	as_other(FALSE);
	g_string_append(room_log, "reaped ");
}

static void test_reap_during_death_waits_for_it(void)
{
	begin(DEATH | REAP, DEATH | REAP);
	a.does[RS_UTRACE_EVENT_DEATH] = reap_now;
	rs_utrace_engine_put(&a.engine);
	rs_utrace_engine_put(&b.engine);
	rs_utrace_report_death(&task.utrace, false, 0);
	expect("a:DEATH=0,0 reaped b:DEATH=0,0 a:REAP b:REAP");
	g_assert_cmpuint(a.released, ==, 1);
	g_assert_cmpuint(task.released, ==, 1);
}

/* A parent that is faster than the thread. */
static void test_reap_ahead_of_death(void)
{
	begin(DEATH | REAP, 0);
	reap_now(NULL);
	expect("reaped");
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, -RS_ESRCH);
	rs_utrace_report_death(&task.utrace, false, 0);
	expect("a:DEATH=0,0 a:REAP");
	g_assert_cmpuint(task.released, ==, 0);
	rs_utrace_engine_put(&a.engine);
	rs_utrace_engine_put(&b.engine);
	g_assert_cmpuint(task.released, ==, 1);
}

static void test_death_may_detach_and_then_no_reap(void)
{
	begin(DEATH | REAP, REAP);
	a.returns[RS_UTRACE_EVENT_DEATH] = RS_UTRACE_DETACH;
	rs_utrace_engine_put(&a.engine);
	rs_utrace_report_death(&task.utrace, false, 0);
	g_assert_cmpuint(a.released, ==, 1);
	rs_utrace_reap(&task.utrace);
	expect("a:DEATH=0,0 b:REAP");
	rs_utrace_thread_put(&task.utrace);
}

static void test_of_deaths_return_value_only_detach_counts(void)
{
	begin(DEATH | QUIESCE, 0);
	a.returns[RS_UTRACE_EVENT_DEATH] = a.returns[RS_UTRACE_EVENT_QUIESCE] = RS_UTRACE_STOP;
	rs_utrace_report_death(&task.utrace, false, 0);
	expect("a:QUIESCE(DEATH) a:DEATH=0,0");
	g_assert_cmpuint(task.blocked, ==, 0);
	rs_utrace_reap(&task.utrace);
	rs_utrace_thread_put(&task.utrace);
}

static void test_attach_after_reap_began_is_esrch(void)
{
	begin(REAP, 0);
	rs_utrace_report_death(&task.utrace, false, 0);
	/* Dead, but not reaped yet: that is early enough for REAP. */
	g_assert_cmpint(attach(RS_UTRACE_ATTACH_CREATE), ==, 0);
	g_assert_cmpint(attach(0), ==, 0);
	rs_utrace_reap(&task.utrace);
	g_assert_cmpint(attach(RS_UTRACE_ATTACH_CREATE), ==, -RS_ESRCH);
	g_assert_cmpint(attach(0), ==, -RS_ESRCH);
}

/* ---- detach ---- */

static void test_detach_is_0_and_no_callback_follows(void)
{
	begin(EXEC, EXEC);
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	expect("b:EXEC=x");
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, -RS_ESRCH);
	task_end(&task);
}

static void test_a_callback_detaches_by_its_return_value(void)
{
	begin(EXEC, EXEC);
	a.returns[RS_UTRACE_EVENT_EXEC] = RS_UTRACE_DETACH;
	rs_utrace_engine_put(&a.engine);
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	g_assert_cmpuint(a.released, ==, 1);
	rs_utrace_report_exec(&task.utrace, "y", NULL);
	expect("a:EXEC=x b:EXEC=x b:EXEC=y");
	task_end(&task);
}

static void detach_a(struct task *t)
{
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
}

static void test_detach_lets_a_stopped_thread_go(void)
{
	begin(EXEC, 0);
	a.returns[RS_UTRACE_EVENT_EXEC] = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	task.asleep = detach_a;
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(task.blocked, ==, 1);
	task_end(&task);
}

static void detach_from_elsewhere(struct tracer *tracer)
{
	struct rs_utrace_engine *found;

	g_assert_cmpint(control(tracer, RS_UTRACE_DETACH), ==, -RS_EINPROGRESS);
	g_assert_cmpint(control(tracer, RS_UTRACE_DETACH), ==, -RS_ESRCH);
	g_assert_cmpint(control(tracer, RS_UTRACE_STOP), ==, -RS_ESRCH);
	g_assert_cmpint(set_events(tracer, EXEC), ==, -RS_ESRCH);
	/* Nobody finds it any more. */
	g_assert_cmpint(rs_utrace_attach(&task.utrace, RS_UTRACE_ATTACH_MATCH_DATA, NULL, tracer,
					 NULL, &found),
			==, -RS_ENOENT);
}

static void test_detach_during_the_callback_is_einprogress(void)
{
	begin(QUIESCE | EXEC, EXEC);
	a.does[RS_UTRACE_EVENT_QUIESCE] = detach_from_elsewhere;
	a.returns[RS_UTRACE_EVENT_QUIESCE] = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	/* The callback after it is not made, and what it wanted does not count. */
	expect("a:QUIESCE(EXEC) b:EXEC=x");
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(task.blocked, ==, 0);
	rs_utrace_engine_put(&a.engine);
	g_assert_cmpuint(a.released, ==, 1);
	task_end(&task);
}

/* While another engine's callback runs, it is as if none did. */
static void detach_b(struct tracer *tracer)
{
	g_assert_cmpint(control(&b, RS_UTRACE_DETACH), ==, 0);
}

static void test_detach_during_anothers_callback_is_0(void)
{
	begin(EXEC, EXEC);
	a.does[RS_UTRACE_EVENT_EXEC] = detach_b;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	expect("a:EXEC=x");
	task_end(&task);
}

static void too_late_for_death(struct tracer *tracer)
{
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, -RS_EALREADY);
	g_assert_cmpint(control(&b, RS_UTRACE_DETACH), ==, -RS_EALREADY);
	g_assert_cmpint(rs_utrace_control(&a.engine, RS_UTRACE_DETACH), ==, -RS_EALREADY);
}

static void test_detach_after_death_began_is_ealready(void)
{
	begin(DEATH, DEATH | REAP);
	a.does[RS_UTRACE_EVENT_DEATH] = too_late_for_death;
	rs_utrace_report_death(&task.utrace, false, 0);
	too_late_for_death(NULL);
	rs_utrace_reap(&task.utrace);
	expect("a:DEATH=0,0 b:DEATH=0,0 b:REAP");
	rs_utrace_thread_put(&task.utrace);
}

static void too_late_for_reap(struct tracer *tracer)
{
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, -RS_ESRCH);
	g_assert_cmpint(control(&b, RS_UTRACE_DETACH), ==, -RS_ESRCH);
}

static void test_detach_after_reap_began_is_esrch(void)
{
	begin(REAP, REAP);
	rs_utrace_report_death(&task.utrace, false, 0);
	a.does[RS_UTRACE_EVENT_REAP] = too_late_for_reap;
	rs_utrace_reap(&task.utrace);
	too_late_for_reap(NULL);
	expect("a:REAP b:REAP");
	rs_utrace_thread_put(&task.utrace);
}

static void test_control_of_a_dead_thread_is_esrch(void)
{
	begin(QUIESCE, 0);
	rs_utrace_report_death(&task.utrace, false, 0);
	for (uint32_t action = 0; action < RS_UTRACE_DETACH; action++)
		g_assert_cmpint(control(&a, (enum rs_utrace_action)action), ==, -RS_ESRCH);
	rs_utrace_reap(&task.utrace);
	rs_utrace_thread_put(&task.utrace);
}

/* ---- set_events ---- */

static void change_events(struct tracer *tracer)
{
	/* Only bits that are set, or that belong to other callbacks: nothing is in progress. */
	g_assert_cmpint(set_events(&a, EXEC | QUIESCE | REAP), ==, 0);
	g_assert_cmpint(set_events(&a, EXEC), ==, 0);
	g_assert_cmpint(set_events(&b, 0), ==, 0);
	g_assert_cmpint(rs_utrace_set_events(&a.engine, 0), ==, 0);
	g_assert_cmpint(set_events(&a, EXEC), ==, 0);
	g_assert_cmpint(set_events(&a, REAP), ==, -RS_EINPROGRESS);
	/* It was done nevertheless, so now there is nothing to clear. */
	g_assert_cmpint(set_events(&a, REAP), ==, 0);
}

static void test_set_events_is_einprogress_only_when_clearing(void)
{
	begin(EXEC, EXEC);
	a.does[RS_UTRACE_EVENT_EXEC] = change_events;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	rs_utrace_report_exec(&task.utrace, "y", NULL);
	expect("a:EXEC=x");
	task_end(&task);
}

static void clear_exec(struct tracer *tracer)
{
	g_assert_cmpint(set_events(&a, QUIESCE), ==, 0);
}

/* The callback that was cleared has not begun, so it does not come. */
static void test_set_events_during_quiesce_is_0_and_holds(void)
{
	begin(EXEC | QUIESCE, 0);
	a.does[RS_UTRACE_EVENT_QUIESCE] = clear_exec;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	expect("a:QUIESCE(EXEC)");
	task_end(&task);
}

static void test_set_events_of_death_is_ealready_after_it_began(void)
{
	begin(DEATH, REAP | QUIESCE);
	rs_utrace_report_death(&task.utrace, false, 0);
	g_assert_cmpint(set_events(&a, 0), ==, -RS_EALREADY);
	g_assert_cmpint(set_events(&a, DEATH | QUIESCE), ==, -RS_EALREADY);
	g_assert_cmpint(set_events(&b, REAP), ==, -RS_EALREADY);
	g_assert_cmpint(set_events(&b, REAP | QUIESCE | DEATH), ==, -RS_EALREADY);
	/* REAP is still to come. */
	g_assert_cmpint(set_events(&a, DEATH | REAP), ==, 0);
	rs_utrace_reap(&task.utrace);
	expect("a:DEATH=0,0 b:QUIESCE(DEATH) a:REAP b:REAP");
	rs_utrace_thread_put(&task.utrace);
}

static void change_reap(struct tracer *tracer)
{
	g_assert_cmpint(set_events(&b, 0), ==, -RS_EALREADY);
	g_assert_cmpint(set_events(&b, REAP | EXEC), ==, 0);
}

static void test_set_events_of_reap_is_ealready_after_it_began(void)
{
	begin(REAP, REAP);
	rs_utrace_report_death(&task.utrace, false, 0);
	a.does[RS_UTRACE_EVENT_REAP] = change_reap;
	rs_utrace_reap(&task.utrace);
	expect("a:REAP b:REAP");
	g_assert_cmpint(set_events(&b, 0), ==, -RS_ESRCH);
	rs_utrace_thread_put(&task.utrace);
}

/* ---- barrier ---- */

static guint waits;

static bool give_up(void)
{
	return ++waits < 3;
}

static void wait_in_vain(struct tracer *tracer)
{
	waits = 0;
	room_wait = give_up;
	g_assert_cmpint(barrier(tracer), ==, -RS_ERESTARTSYS);
	g_assert_cmpuint(waits, ==, 3);
	/* Another engine's callback is nothing to wait for. */
	g_assert_cmpint(barrier(&b), ==, 0);
	g_assert_cmpint(rs_utrace_barrier(&tracer->engine), ==, -RS_EINPROGRESS);
	g_assert_cmpuint(waits, ==, 3);
}

static void test_barrier_waits_and_may_be_interrupted(void)
{
	begin(EXEC, 0);
	g_assert_cmpint(barrier(&a), ==, 0);
	a.does[RS_UTRACE_EVENT_EXEC] = wait_in_vain;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	task_end(&task);
}

/* The callback returns while somebody waits, who then speaks for itself. */
static bool finish_callback(void)
{
	waits++;
	task.utrace.reporting = NULL;
	return true;
}

static void test_barrier_returns_once_the_callback_has(void)
{
	begin(EXEC, 0);
	waits = 0;
	room_wait = finish_callback;
	task.utrace.reporting = &a.engine;
	g_assert_cmpint(barrier(&a), ==, 0);
	g_assert_cmpuint(waits, ==, 1);
	task_end(&task);
}

static bool begin_another(void)
{
	waits++;
	task.utrace.calls++;
	return true;
}

static void test_barrier_does_not_wait_for_later_callbacks(void)
{
	begin(EXEC, 0);
	waits = 0;
	room_wait = begin_another;
	task.utrace.reporting = &a.engine;
	g_assert_cmpint(barrier(&a), ==, 0);
	g_assert_cmpuint(waits, ==, 1);
	task.utrace.reporting = NULL;
	task_end(&task);
}

static void test_barrier_on_a_detached_engine(void)
{
	begin(EXEC, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
	g_assert_cmpint(barrier(&a), ==, -RS_ESRCH);
	task_end(&task);
}

#define RULE(name) g_test_add_func("/utrace/teardown/" #name, test_##name)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	RULE(death_before_reap_and_reap_last);
	RULE(reap_during_death_waits_for_it);
	RULE(reap_ahead_of_death);
	RULE(death_may_detach_and_then_no_reap);
	RULE(of_deaths_return_value_only_detach_counts);
	RULE(attach_after_reap_began_is_esrch);
	RULE(detach_is_0_and_no_callback_follows);
	RULE(a_callback_detaches_by_its_return_value);
	RULE(detach_lets_a_stopped_thread_go);
	RULE(detach_during_the_callback_is_einprogress);
	RULE(detach_during_anothers_callback_is_0);
	RULE(detach_after_death_began_is_ealready);
	RULE(detach_after_reap_began_is_esrch);
	RULE(control_of_a_dead_thread_is_esrch);
	RULE(set_events_is_einprogress_only_when_clearing);
	RULE(set_events_during_quiesce_is_0_and_holds);
	RULE(set_events_of_death_is_ealready_after_it_began);
	RULE(set_events_of_reap_is_ealready_after_it_began);
	RULE(barrier_waits_and_may_be_interrupted);
	RULE(barrier_returns_once_the_callback_has);
	RULE(barrier_does_not_wait_for_later_callbacks);
	RULE(barrier_on_a_detached_engine);
	return g_test_run();
}
