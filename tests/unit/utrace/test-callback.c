/* SPDX-License-Identifier: MIT */
/* Who is called for an event, in which order, and what a callback may do: named after the rules. */
#include "room.h"

#include <string.h>

static struct task task, child;
static struct tracer a, b, c;

#define ENTRY RS_UTRACE_EVENT(SYSCALL_ENTRY)
#define LEAVE RS_UTRACE_EVENT(SYSCALL_EXIT)
#define QUIESCE RS_UTRACE_EVENT(QUIESCE)
#define EXEC RS_UTRACE_EVENT(EXEC)

static void begin(uint32_t events_a, uint32_t events_b)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, events_a);
	tracer_attach(&b, 'b', &task, events_b);
}

static void test_engines_are_called_in_the_order_they_attached(void)
{
	begin(EXEC | LEAVE | QUIESCE, EXEC | LEAVE);
	rs_utrace_report_exec(&task.utrace, "sh", NULL);
	expect("a:QUIESCE(EXEC) a:EXEC=sh b:EXEC=sh");
	/* Who comes back is the last one. */
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
	rs_utrace_engine_put(&a.engine);
	tracer_attach(&a, 'a', &task, LEAVE);
	tracer_attach(&c, 'c', &task, LEAVE);
	rs_utrace_report_syscall_exit(&task.utrace, NULL);
	expect("b:SYSCALL_EXIT a:SYSCALL_EXIT c:SYSCALL_EXIT");
	task_end(&task);
}

static void test_syscall_entry_and_its_quiesce_are_in_reverse(void)
{
	begin(ENTRY | QUIESCE, ENTRY | QUIESCE);
	tracer_attach(&c, 'c', &task, ENTRY);
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	expect("c:SYSCALL_ENTRY b:QUIESCE(SYSCALL_ENTRY) b:SYSCALL_ENTRY "
	       "a:QUIESCE(SYSCALL_ENTRY) a:SYSCALL_ENTRY");
	task_end(&task);
}

static void attach_another(struct tracer *tracer)
{
	tracer->does[RS_UTRACE_EVENT_EXEC] = tracer->does[RS_UTRACE_EVENT_SYSCALL_ENTRY] = NULL;
	tracer_attach(&c, 'c', &task, EXEC | ENTRY | QUIESCE);
}

static void test_engines_attached_during_an_event_are_not_called_for_it(void)
{
	begin(EXEC | ENTRY, EXEC | ENTRY);
	a.does[RS_UTRACE_EVENT_EXEC] = attach_another;
	rs_utrace_report_exec(&task.utrace, "1", NULL);
	expect("a:EXEC=1 b:EXEC=1");
	rs_utrace_report_exec(&task.utrace, "2", NULL);
	expect("a:EXEC=2 b:EXEC=2 c:QUIESCE(EXEC) c:EXEC=2");
	g_assert_cmpint(control(&c, RS_UTRACE_DETACH), ==, 0);
	rs_utrace_engine_put(&c.engine);
	/* In reverse, too, where the last engine is the first. */
	b.does[RS_UTRACE_EVENT_SYSCALL_ENTRY] = attach_another;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	expect("b:SYSCALL_ENTRY a:SYSCALL_ENTRY");
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	expect("c:QUIESCE(SYSCALL_ENTRY) c:SYSCALL_ENTRY b:SYSCALL_ENTRY a:SYSCALL_ENTRY");
	task_end(&task);
}

static void attach_at_last(struct tracer *tracer)
{
	attach_another(tracer);
}

/* Also if the one that attaches is the last one of the list. */
static void test_engines_attached_by_the_last_one_are_not_called(void)
{
	begin(EXEC, EXEC);
	b.does[RS_UTRACE_EVENT_EXEC] = attach_at_last;
	rs_utrace_report_exec(&task.utrace, "1", NULL);
	expect("a:EXEC=1 b:EXEC=1");
	task_end(&task);
}

static void test_quiesce_comes_before_every_event_of_another_engine(void)
{
	begin(QUIESCE, EXEC);
	rs_utrace_report_exec(&task.utrace, "sh", NULL);
	expect("a:QUIESCE(EXEC) b:EXEC=sh");
	/* Nobody has this one. */
	rs_utrace_report_syscall_exit(&task.utrace, NULL);
	expect("");
	task_end(&task);
}

static void want_it(struct tracer *tracer)
{
	g_assert_cmpint(rs_utrace_set_events(&tracer->engine, QUIESCE | EXEC), ==, 0);
}

static void want_none(struct tracer *tracer)
{
	g_assert_cmpint(rs_utrace_set_events(&tracer->engine, QUIESCE), ==, 0);
}

static void test_quiesce_may_ask_for_the_event_at_once(void)
{
	begin(QUIESCE, EXEC);
	a.does[RS_UTRACE_EVENT_QUIESCE] = want_it;
	rs_utrace_report_exec(&task.utrace, "sh", NULL);
	expect("a:QUIESCE(EXEC) a:EXEC=sh b:EXEC=sh");
	a.does[RS_UTRACE_EVENT_QUIESCE] = want_none;
	rs_utrace_report_exec(&task.utrace, "sh", NULL);
	expect("a:QUIESCE(EXEC) b:EXEC=sh");
	task_end(&task);
}

/* A deadlock here hangs. */
static void do_everything(struct tracer *tracer)
{
	struct rs_utrace_engine *engine = &tracer->engine, *found;
	struct rs_utrace_examiner examiner;

	g_assert_cmpint(
		rs_utrace_attach(&task.utrace, RS_UTRACE_ATTACH_MATCH_DATA, NULL, &a, NULL, &found),
		==, 0);
	rs_utrace_engine_put(found);
	g_assert_cmpint(rs_utrace_set_events(engine, EXEC | QUIESCE), ==, 0);
	g_assert_cmpint(rs_utrace_control(engine, RS_UTRACE_REPORT), ==, 0);
	g_assert_cmpint(rs_utrace_control(engine, RS_UTRACE_RESUME), ==, 0);
	g_assert_cmpint(rs_utrace_prepare_examine(engine, &examiner), ==, 0);
	g_assert_cmpint(rs_utrace_finish_examine(engine, &examiner), ==, 0);
	rs_utrace_engine_get(engine);
	rs_utrace_engine_put(engine);
	rs_utrace_thread_get(engine->thread);
	rs_utrace_thread_put(engine->thread);
}

static void test_callbacks_have_a_free_hand(void)
{
	begin(EXEC, 0);
	a.does[RS_UTRACE_EVENT_EXEC] = do_everything;
	rs_utrace_report_exec(&task.utrace, "sh", NULL);
	expect("a:EXEC=sh");
	task_end(&task);
}

static void detach_itself_and_the_next(struct tracer *tracer)
{
	g_assert_cmpint(rs_utrace_control(&a.engine, RS_UTRACE_DETACH), ==, 0);
	g_assert_cmpint(rs_utrace_control(&b.engine, RS_UTRACE_DETACH), ==, 0);
	rs_utrace_engine_put(&b.engine);
	g_assert_cmpuint(b.released, ==, 1);
	/* Its own callback is running still. */
	rs_utrace_engine_put(&a.engine);
	g_assert_cmpuint(a.released, ==, 0);
}

static void test_a_callback_may_detach_itself_and_others(void)
{
	begin(EXEC | QUIESCE, EXEC);
	tracer_attach(&c, 'c', &task, EXEC);
	a.does[RS_UTRACE_EVENT_QUIESCE] = detach_itself_and_the_next;
	rs_utrace_report_exec(&task.utrace, "sh", NULL);
	expect("a:QUIESCE(EXEC) c:EXEC=sh");
	g_assert_cmpuint(a.released, ==, 1);
	task_end(&task);
}

static void run_into_events(struct tracer *tracer)
{
	struct rs_utrace_signal signal = {.number = 1};

	rs_utrace_report_exec(&task.utrace, "inner", NULL);
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(
		rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM), ==,
		RS_UTRACE_SIGNAL_TERM);
	rs_utrace_resume(&task.utrace);
}

static void test_events_inside_of_a_callback_are_counted(void)
{
	begin(EXEC | ENTRY | RS_UTRACE_EVENT(SIGNAL_TERM) | QUIESCE, 0);
	a.does[RS_UTRACE_EVENT_EXEC] = run_into_events;
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	rs_utrace_report_exec(&task.utrace, "outer", NULL);
	expect("a:QUIESCE(EXEC) a:EXEC=outer");
	g_assert_cmpuint(rs_utrace_missed(&task.utrace), ==, 3);
	task_end(&task);
}

static void hold_child(struct tracer *tracer)
{
	tracer_attach(&b, 'b', &child, QUIESCE);
	g_assert_cmpint(rs_utrace_control(&b.engine, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	b.returns[RS_UTRACE_EVENT_QUIESCE] = RS_UTRACE_STOP;
}

static void let_child_go(struct task *asleep)
{
	g_assert_true(asleep == &child);
	expect("b:QUIESCE()");
	g_assert_cmpint(control(&b, RS_UTRACE_RESUME), ==, 0);
}

static void test_a_child_is_held_before_it_runs(void)
{
	task_init(&child);
	task_init(&task);
	tracer_attach(&a, 'a', &task, RS_UTRACE_EVENT(CLONE));
	a.does[RS_UTRACE_EVENT_CLONE] = hold_child;
	rs_utrace_report_clone(&task.utrace, 1, &child.utrace);
	expect("a:CLONE=1,7");
	child.asleep = let_child_go;
	rs_utrace_resume(&child.utrace);
	g_assert_cmpuint(child.blocked, ==, 1);
	task_end(&child);
	task_end(&task);
}

static void add_one(struct tracer *tracer)
{
	g_assert_cmpuint(RS_UTRACE_SIGNAL_ACTION(tracer->action), ==, RS_UTRACE_SIGNAL_IGN);
}

static void test_the_last_engine_decides_about_a_signal(void)
{
	struct rs_utrace_signal signal = {.number = 2};

	begin(RS_UTRACE_EVENT(SIGNAL_TERM), RS_UTRACE_EVENT(SIGNAL_TERM));
	a.returns[RS_UTRACE_EVENT_SIGNAL_TERM] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_IGN;
	/* To b it looks like one to be ignored, but it is called since it was to end the task. */
	b.does[RS_UTRACE_EVENT_SIGNAL_IGN] = add_one;
	g_assert_cmpuint(
		rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM), ==,
		RS_UTRACE_SIGNAL_IGN);
	expect("a:SIGNAL_TERM=2 b:SIGNAL_IGN=2");
	b.returns[RS_UTRACE_EVENT_SIGNAL_IGN] = RS_UTRACE_RESUME | 0x50;
	g_assert_cmpuint(
		rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM), ==,
		RS_UTRACE_SIGNAL_IGN);
	b.returns[RS_UTRACE_EVENT_SIGNAL_IGN] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_CORE;
	g_assert_cmpuint(
		rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM), ==,
		RS_UTRACE_SIGNAL_CORE);
	task_end(&task);
}

static void test_the_last_engine_decides_about_a_system_call(void)
{
	begin(ENTRY, ENTRY);
	b.returns[RS_UTRACE_EVENT_SYSCALL_ENTRY] = RS_UTRACE_RESUME | RS_UTRACE_SYSCALL_ABORT;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(a.action, ==, RS_UTRACE_RESUME | RS_UTRACE_SYSCALL_ABORT);
	g_assert_cmpuint(b.action, ==, RS_UTRACE_RESUME);
	a.returns[RS_UTRACE_EVENT_SYSCALL_ENTRY] = RS_UTRACE_RESUME | RS_UTRACE_SYSCALL_ABORT;
	g_assert_false(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	task_end(&task);
}

static void test_the_exit_code_may_be_changed(void)
{
	begin(RS_UTRACE_EVENT(EXIT), RS_UTRACE_EVENT(EXIT));
	/* Each adds one, and sees what the thread gave beside it. */
	g_assert_cmpint(rs_utrace_report_exit(&task.utrace, -3), ==, -1);
	expect("a:EXIT=-3,-3 b:EXIT=-3,-2");
	task_end(&task);
}

#define RULE(name) g_test_add_func("/utrace/callback/" #name, test_##name)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	RULE(engines_are_called_in_the_order_they_attached);
	RULE(syscall_entry_and_its_quiesce_are_in_reverse);
	RULE(engines_attached_during_an_event_are_not_called_for_it);
	RULE(engines_attached_by_the_last_one_are_not_called);
	RULE(quiesce_comes_before_every_event_of_another_engine);
	RULE(quiesce_may_ask_for_the_event_at_once);
	RULE(callbacks_have_a_free_hand);
	RULE(a_callback_may_detach_itself_and_others);
	RULE(events_inside_of_a_callback_are_counted);
	RULE(a_child_is_held_before_it_runs);
	RULE(the_last_engine_decides_about_a_signal);
	RULE(the_last_engine_decides_about_a_system_call);
	RULE(the_exit_code_may_be_changed);
	return g_test_run();
}
