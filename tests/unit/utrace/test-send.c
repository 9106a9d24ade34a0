/* SPDX-License-Identifier: MIT */
/* Signals that engines send by INTERRUPT and report_signal: tests named after their rules. */
#include "room.h"

#include <string.h>

#define SIGNAL RS_UTRACE_EVENT(SIGNAL)

static struct task task;
static struct tracer a, b;
static struct rs_utrace_signal signal_;
static uint32_t action;

static void begin(uint32_t events_a, uint32_t events_b)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, events_a);
	tracer_attach(&b, 'b', &task, events_b);
	signal_.number = 99;
	action = 99;
}

static void end(void)
{
	control(&a, RS_UTRACE_DETACH);
	control(&b, RS_UTRACE_DETACH);
	rs_utrace_engine_put(&a.engine);
	rs_utrace_engine_put(&b.engine);
	task_end(&task);
}

static gboolean take(void)
{
	return rs_utrace_take_signal(&task.utrace, NULL, &signal_, &action);
}

static void test_interrupt_lets_an_engine_send_a_signal(void)
{
	begin(SIGNAL, SIGNAL);
	a.sends = 15;
	a.returns[RS_UTRACE_EVENT_SIGNAL] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_TERM;
	g_assert_cmpint(control(&a, RS_UTRACE_INTERRUPT), ==, 0);
	g_assert_true(take());
	/* The other one has not asked. */
	expect("a:SIGNAL=0");
	g_assert_cmpuint(RS_UTRACE_SIGNAL_ACTION(a.action), ==, RS_UTRACE_SIGNAL_REPORT);
	g_assert_cmpint(signal_.number, ==, 15);
	g_assert_cmpuint(action, ==, RS_UTRACE_SIGNAL_TERM);
	/* Once. */
	g_assert_false(take());
	expect("");
	end();
}

static void test_an_engine_that_names_no_signal_sends_none(void)
{
	begin(SIGNAL, SIGNAL);
	a.returns[RS_UTRACE_EVENT_SIGNAL] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_TERM;
	control(&a, RS_UTRACE_INTERRUPT);
	g_assert_false(take());
	expect("a:SIGNAL=0");
	/* It names one, but leaves it at the report. */
	a.sends = 15;
	a.returns[RS_UTRACE_EVENT_SIGNAL] = RS_UTRACE_RESUME;
	control(&a, RS_UTRACE_INTERRUPT);
	g_assert_false(take());
	expect("a:SIGNAL=0");
	end();
}

static void test_only_interrupt_with_the_event_signal_asks(void)
{
	begin(SIGNAL | RS_UTRACE_EVENT(QUIESCE), RS_UTRACE_EVENT(SIGNAL_TERM));
	a.sends = b.sends = 15;
	g_assert_false(take());
	control(&a, RS_UTRACE_REPORT);
	control(&b, RS_UTRACE_INTERRUPT);
	g_assert_false(take());
	expect("");
	end();
}

static void test_the_report_of_interrupt_comes_all_the_same(void)
{
	begin(SIGNAL | RS_UTRACE_EVENT(QUIESCE), 0);
	control(&a, RS_UTRACE_INTERRUPT);
	g_assert_false(take());
	expect("a:QUIESCE(SIGNAL) a:SIGNAL=0");
	rs_utrace_resume(&task.utrace);
	expect("a:QUIESCE()");
	rs_utrace_resume(&task.utrace);
	expect("");
	end();
}

static void test_engines_after_it_see_the_signal(void)
{
	begin(SIGNAL, SIGNAL);
	a.sends = 15;
	a.returns[RS_UTRACE_EVENT_SIGNAL] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_TERM;
	b.returns[RS_UTRACE_EVENT_SIGNAL_TERM] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_CORE;
	control(&a, RS_UTRACE_INTERRUPT);
	control(&b, RS_UTRACE_INTERRUPT);
	g_assert_true(take());
	expect("a:SIGNAL=0 b:SIGNAL_TERM=15");
	g_assert_cmpuint(action, ==, RS_UTRACE_SIGNAL_CORE);
	end();
}

static void test_an_engine_that_interrupts_again_does_not_kick_for_ever(void)
{
	begin(SIGNAL, 0);
	a.returns[RS_UTRACE_EVENT_SIGNAL] = RS_UTRACE_INTERRUPT;
	control(&a, RS_UTRACE_INTERRUPT);
	g_assert_cmpuint(task.kicks, ==, 1);
	g_assert_false(take());
	g_assert_cmpuint(task.kicks, ==, 1);
	/* The report takes the wish. */
	rs_utrace_resume(&task.utrace);
	g_assert_false(take());
	expect("a:SIGNAL=0");
	end();
}

static void kill_it(struct task *t)
{
	rs_utrace_kill(&t->utrace);
}

static void test_a_thread_that_is_killed_gets_no_signal(void)
{
	begin(SIGNAL, 0);
	a.sends = 15;
	a.returns[RS_UTRACE_EVENT_SIGNAL] = RS_UTRACE_STOP | RS_UTRACE_SIGNAL_TERM;
	task.asleep = kill_it;
	control(&a, RS_UTRACE_INTERRUPT);
	g_assert_false(take());
	g_assert_cmpuint(task.blocked, >, 0);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add_func("/utrace/send/" #name, test_##name)
	ADD(interrupt_lets_an_engine_send_a_signal);
	ADD(an_engine_that_names_no_signal_sends_none);
	ADD(only_interrupt_with_the_event_signal_asks);
	ADD(the_report_of_interrupt_comes_all_the_same);
	ADD(engines_after_it_see_the_signal);
	ADD(an_engine_that_interrupts_again_does_not_kick_for_ever);
	ADD(a_thread_that_is_killed_gets_no_signal);
	return g_test_run();
}
