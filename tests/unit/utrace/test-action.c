/* SPDX-License-Identifier: MIT */
/* What engines want and what the thread then does: tests named after their rules. */
#include "room.h"

#include <string.h>

static struct task task;
static struct tracer a, b;
static uint64_t regs;

#define ENTRY RS_UTRACE_EVENT(SYSCALL_ENTRY)
#define LEAVE RS_UTRACE_EVENT(SYSCALL_EXIT)
#define QUIESCE RS_UTRACE_EVENT(QUIESCE)
#define EXEC RS_UTRACE_EVENT(EXEC)
#define ON(tracer, event) ((tracer).returns[RS_UTRACE_EVENT_##event])

static void begin(uint32_t events_a, uint32_t events_b)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, events_a);
	tracer_attach(&b, 'b', &task, events_b);
}

/* The thread is about to return to user mode, sleeps if `asleep`, and returns. */
static void resume(void (*asleep)(struct task *))
{
	guint blocked = task.blocked + (asleep != NULL);

	task.asleep = asleep;
	rs_utrace_resume(&task.utrace);
	g_assert_null(task.asleep);
	g_assert_cmpuint(task.blocked, >=, blocked);
	if (!asleep)
		g_assert_cmpuint(task.blocked, ==, blocked);
}

static void resume_a(struct task *t)
{
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
}

static void resume_b(struct task *t)
{
	g_assert_cmpint(control(&b, RS_UTRACE_RESUME), ==, 0);
}

static void resume_both(struct task *t)
{
	guint unblocked = t->unblocked;

	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
	g_assert_cmpuint(t->unblocked, ==, unblocked);
	g_assert_cmpint(control(&b, RS_UTRACE_RESUME), ==, 0);
	g_assert_cmpuint(t->unblocked, ==, unblocked + 1);
}

static void test_the_smallest_action_wins(void)
{
	static const struct {
		uint32_t a, b;
		gboolean stop, interrupt, single, block;
	} cases[] = {
		{RS_UTRACE_RESUME, RS_UTRACE_RESUME, 0, 0, 0, 0},
		{RS_UTRACE_RESUME, RS_UTRACE_BLOCKSTEP, 0, 0, 0, 1},
		{RS_UTRACE_BLOCKSTEP, RS_UTRACE_SINGLESTEP, 0, 0, 1, 0},
		{RS_UTRACE_SINGLESTEP, RS_UTRACE_BLOCKSTEP, 0, 0, 1, 0},
		{RS_UTRACE_INTERRUPT, RS_UTRACE_REPORT, 0, 1, 0, 0},
		{RS_UTRACE_STOP, RS_UTRACE_INTERRUPT, 1, 1, 0, 0},
		{RS_UTRACE_SINGLESTEP, RS_UTRACE_STOP, 1, 0, 1, 0},
		{RS_UTRACE_DETACH, RS_UTRACE_BLOCKSTEP, 0, 0, 0, 1},
		{RS_UTRACE_RESUME, 7, 0, 0, 0, 0},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		begin(EXEC | QUIESCE, EXEC);
		ON(a, EXEC) = cases[i].a;
		ON(b, EXEC) = cases[i].b;
		rs_utrace_report_exec(&task.utrace, "x", NULL);
		g_assert_cmpuint(task.interrupts, ==, cases[i].interrupt);
		resume(cases[i].stop ? cases[i].a == RS_UTRACE_STOP ? resume_a : resume_b : NULL);
		/* What asks for a report gets one, and that decides anew. */
		g_assert_cmpint(task.single, ==, cases[i].single);
		g_assert_cmpint(task.block, ==, cases[i].block);
		task_end(&task);
	}
}

static void test_callbacks_see_the_smallest_so_far(void)
{
	begin(EXEC | ENTRY, EXEC | ENTRY);
	ON(a, EXEC) = RS_UTRACE_REPORT;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	g_assert_cmpuint(a.action, ==, RS_UTRACE_RESUME);
	g_assert_cmpuint(b.action, ==, RS_UTRACE_REPORT);
	/* In reverse b is the first. */
	ON(b, SYSCALL_ENTRY) = RS_UTRACE_BLOCKSTEP;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(b.action, ==, RS_UTRACE_RESUME);
	g_assert_cmpuint(a.action, ==, RS_UTRACE_BLOCKSTEP);
	task_end(&task);
}

static void still_asleep(struct task *t)
{
	guint unblocked = t->unblocked;

	/* The others do not count as long as one wants STOP. */
	g_assert_cmpint(control(&b, RS_UTRACE_RESUME), ==, 0);
	g_assert_cmpint(control(&b, RS_UTRACE_INTERRUPT), ==, 0);
	g_assert_cmpint(control(&b, RS_UTRACE_DETACH), ==, 0);
	g_assert_cmpuint(t->unblocked, ==, unblocked);
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
}

static void test_only_stop_sticks(void)
{
	begin(EXEC, EXEC);
	ON(a, EXEC) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	/* A round in which a is not called. */
	g_assert_cmpint(rs_utrace_set_events(&a.engine, 0), ==, 0);
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(still_asleep);
	g_assert_cmpuint(task.blocked, ==, 1);
	resume(NULL);

	/* The others are done once. */
	g_assert_cmpint(rs_utrace_set_events(&a.engine, EXEC), ==, 0);
	ON(a, EXEC) = RS_UTRACE_SINGLESTEP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(NULL);
	g_assert_true(task.single);
	resume(NULL);
	g_assert_false(task.single);
	g_assert_cmpuint(task.utrace.wanted, ==, EXEC);
	task_end(&task);
}

/* STOP lasts until a later callback of the same engine returns something else. */
static void test_a_later_callback_takes_stop_back(void)
{
	begin(EXEC | LEAVE, 0);
	ON(a, EXEC) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	rs_utrace_report_syscall_exit(&task.utrace, NULL);
	resume(NULL);
	task_end(&task);
}

static void test_stop_waits_for_the_return_to_user_mode(void)
{
	begin(EXEC | LEAVE | RS_UTRACE_EVENT(JCTL) | RS_UTRACE_EVENT(CLONE), 0);
	ON(a, EXEC) = ON(a, SYSCALL_EXIT) = ON(a, JCTL) = ON(a, CLONE) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	rs_utrace_report_syscall_exit(&task.utrace, NULL);
	rs_utrace_report_jctl(&task.utrace, RS_UTRACE_JCTL_STOPPED, false);
	rs_utrace_report_clone(&task.utrace, 0, &task.utrace);
	g_assert_cmpuint(task.blocked, ==, 0);
	resume(resume_a);
	task_end(&task);
}

static void change_call(struct task *t)
{
	regs = 42;
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
}

static void test_stop_at_syscall_entry_stops_before_the_call(void)
{
	begin(ENTRY, ENTRY);
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_STOP;
	regs = 1;
	task.asleep = change_call;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	/* All engines were called before it stopped. */
	g_assert_cmpuint(task.blocked, ==, 1);
	expect("b:SYSCALL_ENTRY a:SYSCALL_ENTRY");
	/* The OS makes the call that stands in the registers now. */
	g_assert_cmpuint(regs, ==, 42);
	resume(NULL);
	task_end(&task);
}

static void test_stop_from_the_quiesce_before_syscall_entry(void)
{
	begin(QUIESCE, ENTRY);
	ON(a, QUIESCE) = RS_UTRACE_STOP;
	task.asleep = resume_a;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	g_assert_cmpuint(task.blocked, ==, 1);
	task_end(&task);
}

static void report_a(struct task *t)
{
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_RESUME | RS_UTRACE_SYSCALL_ABORT;
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
}

static void test_a_repeated_syscall_entry_carries_resumed(void)
{
	begin(ENTRY | QUIESCE, ENTRY);
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_STOP;
	task.asleep = report_a;
	/* What was decided before the stop is decided anew. */
	g_assert_false(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	expect("b:SYSCALL_ENTRY a:QUIESCE(SYSCALL_ENTRY) a:SYSCALL_ENTRY "
	       "b:SYSCALL_ENTRY+ a:QUIESCE(SYSCALL_ENTRY) a:SYSCALL_ENTRY+");
	resume(NULL);
	expect("");
	/* REPORT returned by another engine before the stop does the same. */
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_STOP;
	ON(b, SYSCALL_ENTRY) = RS_UTRACE_REPORT;
	task.asleep = resume_a;
	g_assert_cmpint(rs_utrace_set_events(&a.engine, ENTRY), ==, 0);
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_STOP;
	a.does[RS_UTRACE_EVENT_SYSCALL_ENTRY] = NULL;
	task.asleep = report_a;
	g_assert_cmpint(rs_utrace_set_events(&a.engine, ENTRY | QUIESCE), ==, 0);
	g_assert_false(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	expect("b:SYSCALL_ENTRY a:QUIESCE(SYSCALL_ENTRY) a:SYSCALL_ENTRY "
	       "b:SYSCALL_ENTRY+ a:QUIESCE(SYSCALL_ENTRY) a:SYSCALL_ENTRY+");
	task_end(&task);
}

static void resume_quietly(struct task *t)
{
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_RESUME;
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
}

static void test_report_returned_before_the_stop_repeats_it_too(void)
{
	begin(ENTRY, ENTRY);
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_STOP;
	ON(b, SYSCALL_ENTRY) = RS_UTRACE_REPORT;
	task.asleep = resume_quietly;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	expect("b:SYSCALL_ENTRY a:SYSCALL_ENTRY b:SYSCALL_ENTRY+ a:SYSCALL_ENTRY+");
	task_end(&task);
}

static void kill_it(struct task *t)
{
	rs_utrace_kill(&t->utrace);
}

static void test_sigkill_breaks_stop(void)
{
	begin(ENTRY | EXEC | RS_UTRACE_EVENT(EXIT) | QUIESCE, 0);
	ON(a, EXEC) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(kill_it);
	g_assert_cmpuint(task.blocked, ==, 1);
	/* It never stops again. */
	ON(a, SYSCALL_ENTRY) = ON(a, EXIT) = ON(a, QUIESCE) = RS_UTRACE_STOP;
	g_assert_false(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	resume(NULL);
	rs_utrace_report_exit(&task.utrace, 0);
	g_assert_cmpuint(task.blocked, ==, 1);
	task_end(&task);
}

static void test_sigkill_at_syscall_entry_leaves_the_call_out(void)
{
	begin(ENTRY, 0);
	ON(a, SYSCALL_ENTRY) = RS_UTRACE_STOP;
	task.asleep = kill_it;
	g_assert_false(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	expect("a:SYSCALL_ENTRY");
	task_end(&task);
}

static void test_stop_at_a_signal_and_at_exit(void)
{
	struct rs_utrace_signal signal = {.number = 15};

	begin(RS_UTRACE_EVENT(SIGNAL_TERM) | RS_UTRACE_EVENT(EXIT), 0);
	ON(a, SIGNAL_TERM) = RS_UTRACE_STOP | RS_UTRACE_SIGNAL_IGN;
	task.asleep = resume_a;
	g_assert_cmpuint(
		rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM), ==,
		RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(task.blocked, ==, 1);
	ON(a, EXIT) = RS_UTRACE_STOP;
	task.asleep = resume_a;
	rs_utrace_report_exit(&task.utrace, 0);
	g_assert_cmpuint(task.blocked, ==, 2);
	task_end(&task);
}

/* ---- control ---- */

static void test_report_and_steps_need_quiesce(void)
{
	begin(EXEC, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, -RS_EINVAL);
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, -RS_EINVAL);
	g_assert_cmpint(control(&a, RS_UTRACE_BLOCKSTEP), ==, -RS_EINVAL);
	g_assert_cmpuint(task.kicks, ==, 0);
	resume(NULL);
	g_assert_cmpint(control(&a, RS_UTRACE_INTERRUPT), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
	g_assert_cmpint(rs_utrace_set_events(&a.engine, QUIESCE), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_BLOCKSTEP), ==, 0);
	task_end(&task);
}

static void test_other_numbers_are_no_actions(void)
{
	begin(QUIESCE, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_ACTIONS), ==, -RS_EINVAL);
	g_assert_cmpint(control(&a, (enum rs_utrace_action)(RS_UTRACE_STOP | 0x10)), ==,
			-RS_EINVAL);
	task_end(&task);
}

static void stop_again(struct task *t)
{
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, 0);
	g_assert_cmpint(control(&b, RS_UTRACE_STOP), ==, 0);
	resume_both(t);
}

static void test_stop_on_a_running_thread_is_einprogress_and_acts_as_report(void)
{
	begin(QUIESCE, 0);
	ON(a, QUIESCE) = RS_UTRACE_STOP;
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	g_assert_cmpuint(task.kicks, ==, 1);
	g_assert_cmpuint(task.interrupts, ==, 0);
	resume(stop_again);
	expect("a:QUIESCE()");
	/* The callback may decide otherwise. */
	ON(a, QUIESCE) = RS_UTRACE_RESUME;
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	resume(NULL);
	expect("a:QUIESCE()");
	/* Without QUIESCE it stops nevertheless. */
	g_assert_cmpint(rs_utrace_set_events(&a.engine, 0), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	resume(resume_a);
	expect("");
	task_end(&task);
}

/* Who asks for STOP during another's callback is told before the thread stops at a system call. */
static void stop_a(struct tracer *tracer)
{
	a.returns[RS_UTRACE_EVENT_QUIESCE] = RS_UTRACE_STOP;
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
}

static void test_who_asked_is_told_before_the_stop(void)
{
	task_init(&task);
	tracer_attach(&b, 'b', &task, ENTRY | QUIESCE);
	tracer_attach(&a, 'a', &task, QUIESCE);
	b.does[RS_UTRACE_EVENT_SYSCALL_ENTRY] = stop_a;
	task.asleep = resume_a;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, &regs));
	g_assert_cmpuint(task.blocked, ==, 1);
	/* The others are not asked again. */
	expect("a:QUIESCE(SYSCALL_ENTRY) b:QUIESCE(SYSCALL_ENTRY) b:SYSCALL_ENTRY a:QUIESCE()");
	task_end(&task);
}

static void test_report_reports_once(void)
{
	begin(QUIESCE, QUIESCE);
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	g_assert_cmpuint(task.kicks, ==, 1);
	resume(NULL);
	expect("a:QUIESCE() b:QUIESCE()");
	resume(NULL);
	expect("");
	g_assert_cmpuint(task.utrace.wanted, ==, QUIESCE);
	/* A callback that asks for more gets it at the next safe point, not at once. */
	ON(b, QUIESCE) = RS_UTRACE_REPORT;
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	resume(NULL);
	expect("a:QUIESCE() b:QUIESCE()");
	ON(b, QUIESCE) = RS_UTRACE_RESUME;
	resume(NULL);
	expect("a:QUIESCE() b:QUIESCE()");
	resume(NULL);
	expect("");
	task_end(&task);
}

static void ask_again(struct tracer *tracer)
{
	g_assert_cmpint(rs_utrace_control(&tracer->engine, RS_UTRACE_REPORT), ==, 0);
}

/* Else a callback could keep its thread from user mode. */
static void test_reports_that_a_callback_asks_for_itself_come_later(void)
{
	begin(QUIESCE, 0);
	a.does[RS_UTRACE_EVENT_QUIESCE] = ask_again;
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	for (guint i = 0; i < 3; i++) {
		resume(NULL);
		expect("a:QUIESCE()");
	}
	g_assert_cmpuint(task.kicks, ==, 1);
	a.does[RS_UTRACE_EVENT_QUIESCE] = NULL;
	task_end(&task);
}

static void resume_by_report(struct task *t)
{
	ON(a, EXEC) = RS_UTRACE_RESUME;
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	expect("a:QUIESCE(EXEC) a:EXEC=x");
}

static void test_report_on_a_stopped_thread_reports_before_it_goes_on(void)
{
	begin(QUIESCE | EXEC, 0);
	ON(a, EXEC) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(resume_by_report);
	expect("a:QUIESCE()");
	task_end(&task);
}

static void test_interrupt_breaks_into_a_system_call(void)
{
	begin(QUIESCE, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_INTERRUPT), ==, 0);
	g_assert_cmpuint(task.interrupts, ==, 1);
	resume(NULL);
	expect("a:QUIESCE()");
	/* Of an engine without QUIESCE too, once. */
	g_assert_cmpint(control(&b, RS_UTRACE_INTERRUPT), ==, 0);
	g_assert_cmpuint(task.interrupts, ==, 2);
	resume(NULL);
	expect("a:QUIESCE()");
	resume(NULL);
	expect("");
	task_end(&task);
}

static void single_step_a(struct task *t)
{
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, 0);
}

/* As long as another one wants STOP, an engine may change its mind. */
static void block_step_a(struct task *t)
{
	g_assert_cmpint(control(&b, RS_UTRACE_STOP), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_BLOCKSTEP), ==, 0);
	g_assert_cmpint(control(&b, RS_UTRACE_RESUME), ==, 0);
}

static void test_steps_of_a_stopped_thread(void)
{
	begin(EXEC | QUIESCE, 0);
	ON(a, EXEC) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(single_step_a);
	g_assert_true(task.single && !task.block);
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(block_step_a);
	g_assert_true(task.block && !task.single);
	expect("a:QUIESCE(EXEC) a:EXEC=x a:QUIESCE(EXEC) a:EXEC=x");
	resume(NULL);
	g_assert_false(task.block);
	task_end(&task);
}

static void test_steps_of_a_running_thread_act_as_report(void)
{
	begin(QUIESCE, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, 0);
	resume(NULL);
	expect("a:QUIESCE()");
	g_assert_false(task.single);
	ON(a, QUIESCE) = RS_UTRACE_SINGLESTEP;
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, 0);
	resume(NULL);
	g_assert_true(task.single);
	task_end(&task);
}

static void test_steps_that_the_os_does_not_have(void)
{
	begin(QUIESCE | EXEC, 0);
	task.utrace.os = &room_os_without_steps;
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, -RS_ENOSYS);
	g_assert_cmpint(control(&a, RS_UTRACE_BLOCKSTEP), ==, -RS_ENOSYS);
	ON(a, EXEC) = RS_UTRACE_SINGLESTEP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(NULL);
	task_end(&task);
}

/* What control asks for during the engine's own callback counts as said after it. */
static void resume_early(struct tracer *tracer)
{
	g_assert_cmpint(control(tracer, RS_UTRACE_RESUME), ==, 0);
}

static void stop_late(struct tracer *tracer)
{
	g_assert_cmpint(control(tracer, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
}

static void test_control_during_the_callback_counts_after_it(void)
{
	begin(EXEC, 0);
	ON(a, EXEC) = RS_UTRACE_STOP;
	a.does[RS_UTRACE_EVENT_EXEC] = resume_early;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(NULL);
	ON(a, EXEC) = RS_UTRACE_RESUME;
	a.does[RS_UTRACE_EVENT_EXEC] = stop_late;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(resume_a);
	task_end(&task);
}

/* ---- examine ---- */

static struct rs_utrace_examiner examiner;

static int prepare(struct tracer *tracer)
{
	return rs_utrace_prepare_examine(&tracer->engine, &examiner);
}

static int finish(struct tracer *tracer)
{
	return rs_utrace_finish_examine(&tracer->engine, &examiner);
}

static void examine_asleep(struct task *t)
{
	g_assert_cmpint(prepare(&b), ==, -RS_EINVAL);
	g_assert_cmpint(prepare(&a), ==, 0);
	g_assert_cmpint(finish(&a), ==, 0);
	g_assert_cmpint(prepare(&a), ==, 0);
	rs_utrace_kill(&t->utrace);
	g_assert_cmpint(finish(&a), ==, -RS_EAGAIN);
	g_assert_cmpint(prepare(&a), ==, -RS_EAGAIN);
}

static void test_examine_needs_a_stopped_thread(void)
{
	begin(EXEC, 0);
	as_other(TRUE);
	g_assert_cmpint(prepare(&a), ==, -RS_EINVAL);
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	g_assert_cmpint(prepare(&a), ==, -RS_EAGAIN);
	as_other(FALSE);
	resume(examine_asleep);
	rs_utrace_report_death(&task.utrace, false, 9);
	g_assert_cmpint(prepare(&a), ==, -RS_ESRCH);
	g_assert_cmpint(finish(&a), ==, -RS_ESRCH);
	rs_utrace_reap(&task.utrace);
	g_assert_cmpint(prepare(&a), ==, -RS_ESRCH);
	g_assert_cmpint(finish(&a), ==, -RS_ESRCH);
	rs_utrace_thread_put(&task.utrace);
}

static void run_on_and_stop(struct task *t)
{
	g_assert_cmpint(prepare(&a), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
}

static void look_again(struct task *t)
{
	/* It is stopped, but it ran in between. */
	g_assert_cmpint(finish(&a), ==, -RS_EAGAIN);
	g_assert_cmpint(control(&a, RS_UTRACE_RESUME), ==, 0);
}

static void test_examine_notices_a_run_in_between(void)
{
	begin(EXEC, 0);
	ON(a, EXEC) = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(run_on_and_stop);
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	resume(look_again);
	task_end(&task);
}

#define RULE(name) g_test_add_func("/utrace/action/" #name, test_##name)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	RULE(the_smallest_action_wins);
	RULE(callbacks_see_the_smallest_so_far);
	RULE(only_stop_sticks);
	RULE(a_later_callback_takes_stop_back);
	RULE(stop_waits_for_the_return_to_user_mode);
	RULE(stop_at_syscall_entry_stops_before_the_call);
	RULE(stop_from_the_quiesce_before_syscall_entry);
	RULE(a_repeated_syscall_entry_carries_resumed);
	RULE(report_returned_before_the_stop_repeats_it_too);
	RULE(sigkill_breaks_stop);
	RULE(sigkill_at_syscall_entry_leaves_the_call_out);
	RULE(stop_at_a_signal_and_at_exit);
	RULE(report_and_steps_need_quiesce);
	RULE(other_numbers_are_no_actions);
	RULE(stop_on_a_running_thread_is_einprogress_and_acts_as_report);
	RULE(who_asked_is_told_before_the_stop);
	RULE(report_reports_once);
	RULE(reports_that_a_callback_asks_for_itself_come_later);
	RULE(report_on_a_stopped_thread_reports_before_it_goes_on);
	RULE(interrupt_breaks_into_a_system_call);
	RULE(steps_of_a_stopped_thread);
	RULE(steps_of_a_running_thread_act_as_report);
	RULE(steps_that_the_os_does_not_have);
	RULE(control_during_the_callback_counts_after_it);
	RULE(examine_needs_a_stopped_thread);
	RULE(examine_notices_a_run_in_between);
	return g_test_run();
}
