/* SPDX-License-Identifier: MIT */
/* Engines come, are found, choose their events, and go: tests named after their rules. */
#include "room.h"

#include <string.h>

#define CREATE RS_UTRACE_ATTACH_CREATE
#define EXCLUSIVE RS_UTRACE_ATTACH_EXCLUSIVE
#define OPS RS_UTRACE_ATTACH_MATCH_OPS
#define DATA RS_UTRACE_ATTACH_MATCH_DATA

static struct task task;
static struct tracer a, b, c;
static struct rs_utrace_engine *found;

static int attach(uint32_t flags, const struct rs_utrace_ops *ops, void *data,
		  struct tracer *memory)
{
	return rs_utrace_attach(&task.utrace, flags, ops, data, memory ? &memory->engine : NULL,
				&found);
}

/* Each safe point once. */
static void walk_through(void)
{
	struct rs_utrace_signal signal = {.number = 5};
	struct task child = {.utrace = {.id = 8}};

	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	rs_utrace_report_syscall_exit(&task.utrace, NULL);
	rs_utrace_report_clone(&task.utrace, 3, &child.utrace);
	rs_utrace_report_exec(&task.utrace, "init", NULL);
	for (uint32_t action = 0; action <= RS_UTRACE_SIGNAL_CORE; action += 0x10)
		g_assert_cmpuint(rs_utrace_report_signal(&task.utrace, NULL, &signal, action), ==,
				 action);
	rs_utrace_report_jctl(&task.utrace, RS_UTRACE_JCTL_CONTINUED, true);
	rs_utrace_resume(&task.utrace);
}

static void test_an_attached_engine_does_nothing_by_default(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, 0);
	walk_through();
	g_assert_cmpint(rs_utrace_report_exit(&task.utrace, 4), ==, 4);
	rs_utrace_report_death(&task.utrace, true, 0);
	rs_utrace_reap(&task.utrace);
	expect("");
	g_assert_cmpuint(task.blocked + task.kicks, ==, 0);
	rs_utrace_engine_put(&a.engine);
	rs_utrace_thread_put(&task.utrace);
	g_assert_cmpuint(task.released, ==, 1);
}

static void test_set_events_and_control_make_something_happen(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, 0);
	g_assert_cmpint(rs_utrace_set_events(&a.engine, RS_UTRACE_EVENT(EXEC)), ==, 0);
	walk_through();
	expect("a:EXEC=init");
	g_assert_cmpint(rs_utrace_set_events(&a.engine, RS_UTRACE_EVENT(QUIESCE)), ==, 0);
	rs_utrace_resume(&task.utrace);
	expect("");
	g_assert_cmpint(control(&a, RS_UTRACE_REPORT), ==, 0);
	rs_utrace_resume(&task.utrace);
	expect("a:QUIESCE()");
	task_end(&task);
}

static void test_each_event_has_its_callback(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, RS_UTRACE_EVENT_ALL & ~RS_UTRACE_EVENT(QUIESCE));
	walk_through();
	expect("a:SYSCALL_ENTRY a:SYSCALL_EXIT a:CLONE=3,8 a:EXEC=init a:SIGNAL=5 "
	       "a:SIGNAL_IGN=5 a:SIGNAL_STOP=5 a:SIGNAL_TERM=5 a:SIGNAL_CORE=5 a:JCTL=1,1");
	g_assert_cmpint(rs_utrace_report_exit(&task.utrace, 4), ==, 5);
	rs_utrace_report_death(&task.utrace, true, 9);
	rs_utrace_reap(&task.utrace);
	expect("a:EXIT=4,4 a:DEATH=1,9 a:REAP");
}

static void test_each_event_flag_alone(void)
{
	static const char *const expected[RS_UTRACE_EVENTS] = {
		[RS_UTRACE_EVENT_CLONE] = "a:CLONE=3,8",
		[RS_UTRACE_EVENT_EXEC] = "a:EXEC=init",
		[RS_UTRACE_EVENT_SYSCALL_ENTRY] = "a:SYSCALL_ENTRY",
		[RS_UTRACE_EVENT_SYSCALL_EXIT] = "a:SYSCALL_EXIT",
		[RS_UTRACE_EVENT_SIGNAL] = "a:SIGNAL=5",
		[RS_UTRACE_EVENT_SIGNAL_IGN] = "a:SIGNAL_IGN=5",
		[RS_UTRACE_EVENT_SIGNAL_STOP] = "a:SIGNAL_STOP=5",
		[RS_UTRACE_EVENT_SIGNAL_TERM] = "a:SIGNAL_TERM=5",
		[RS_UTRACE_EVENT_SIGNAL_CORE] = "a:SIGNAL_CORE=5",
		[RS_UTRACE_EVENT_JCTL] = "a:JCTL=1,1",
	};

	for (guint i = 0; i < RS_UTRACE_EVENTS; i++) {
		task_init(&task);
		tracer_attach(&a, 'a', &task, 1u << i);
		walk_through();
		expect(expected[i] ? expected[i] : "");
		task_end(&task);
	}
}

static void test_unused_callbacks_may_be_null(void)
{
	task_init(&task);
	memset(&a, 0, sizeof(a));
	g_assert_cmpint(attach(CREATE, &room_ops_silent, &a, &a), ==, 0);
	for (guint i = 0; i < RS_UTRACE_EVENTS; i++)
		g_assert_cmpint(rs_utrace_set_events(found, 1u << i), ==, -RS_EINVAL);
	g_assert_cmpint(rs_utrace_set_events(found, 0), ==, 0);
	walk_through();
	task_end(&task);
	g_assert_cmpint(rs_utrace_set_events(found, 0), ==, -RS_ESRCH);
}

static void test_unknown_events_are_einval(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, 0);
	g_assert_cmpint(rs_utrace_set_events(&a.engine, 1u << RS_UTRACE_EVENTS), ==, -RS_EINVAL);
	g_assert_cmpint(rs_utrace_set_events(&a.engine, RS_UTRACE_PENDING), ==, -RS_EINVAL);
	g_assert_cmpint(rs_utrace_set_events(&a.engine, RS_UTRACE_EVENT_ALL), ==, 0);
	task_end(&task);
}

static void test_attach_match_ops_and_data(void)
{
	task_init(&task);
	g_assert_cmpint(attach(0, NULL, NULL, NULL), ==, -RS_ENOENT);
	tracer_attach(&a, 'a', &task, 0);
	tracer_attach(&b, 'b', &task, 0);
	memset(&c, 0, sizeof(c));
	g_assert_cmpint(attach(CREATE, &room_ops_silent, &a, &c), ==, 0);
	found = NULL;
	g_assert_cmpint(attach(OPS, &room_ops, &c, NULL), ==, 0);
	g_assert_true(found == &a.engine);
	g_assert_cmpint(attach(DATA, NULL, &b, NULL), ==, 0);
	g_assert_true(found == &b.engine);
	g_assert_cmpint(attach(OPS | DATA, &room_ops_silent, &a, NULL), ==, 0);
	g_assert_true(found == &c.engine);
	g_assert_cmpint(attach(OPS | DATA, &room_ops_silent, &b, NULL), ==, -RS_ENOENT);
	g_assert_true(found == &c.engine);
	g_assert_cmpint(attach(0, NULL, NULL, NULL), ==, 0);
	g_assert_true(found == &a.engine);
	task_end(&task);
}

static void test_attach_create_and_exclusive(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, 0);
	memset(&b, 0, sizeof(b));
	memset(&c, 0, sizeof(c));
	g_assert_cmpint(attach(CREATE | EXCLUSIVE | OPS, &room_ops, &b, &b), ==, -RS_EEXIST);
	g_assert_cmpint(attach(CREATE | EXCLUSIVE | DATA, &room_ops, &a, &b), ==, -RS_EEXIST);
	g_assert_cmpint(attach(CREATE | EXCLUSIVE, &room_ops_silent, &b, &b), ==, -RS_EEXIST);
	g_assert_cmpuint(b.released, ==, 0);
	g_assert_cmpint(attach(CREATE | EXCLUSIVE | OPS | DATA, &room_ops, &b, &b), ==, 0);
	/* Without EXCLUSIVE there may be many alike. */
	g_assert_cmpint(attach(CREATE | OPS | DATA, &room_ops, &b, &c), ==, 0);
	g_assert_cmpint(attach(OPS | DATA, &room_ops, &b, NULL), ==, 0);
	g_assert_true(found == &b.engine);
	task_end(&task);
}

static void test_attach_refuses_what_makes_no_sense(void)
{
	task_init(&task);
	memset(&a, 0, sizeof(a));
	g_assert_cmpint(attach(CREATE, NULL, NULL, &a), ==, -RS_EINVAL);
	g_assert_cmpint(attach(CREATE, &room_ops, NULL, NULL), ==, -RS_EINVAL);
	g_assert_cmpint(attach(EXCLUSIVE | OPS, &room_ops, NULL, NULL), ==, -RS_EINVAL);
	g_assert_cmpint(attach(CREATE | 0x40, &room_ops, NULL, &a), ==, -RS_EINVAL);
	g_assert_cmpint(attach(CREATE | 0x04, &room_ops, NULL, &a), ==, -RS_EINVAL);
	g_assert_cmpint(attach(CREATE, &room_ops, NULL, &a), ==, 0);
	g_assert_cmpint(attach(CREATE, &room_ops, NULL, &a), ==, -RS_EBUSY);
	task_end(&task);
}

/* An OS with a hook missing is told so. */
static void test_hooks_must_be_there(void)
{
	struct rs_utrace_os os = room_os_without_steps;
	struct rs_utrace_thread thread;

	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, 0);
	os.block = NULL;
	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, -RS_EINVAL);
	os = room_os;
	os.unblock = NULL;
	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, -RS_EINVAL);
	os = room_os;
	os.kick = NULL;
	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, -RS_EINVAL);
	os = room_os;
	os.current = NULL;
	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, -RS_EINVAL);
	os = room_os;
	os.wait = NULL;
	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, -RS_EINVAL);
}

/* The engine goes with its last reference, and keeps the thread's struct until then. */
static void test_get_and_put(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, 0);
	g_assert_cmpint(attach(OPS, &room_ops, NULL, NULL), ==, 0);
	rs_utrace_engine_put(found);
	rs_utrace_engine_put(&a.engine);
	/* It is attached, so it is there, and can be found. */
	g_assert_cmpuint(a.released, ==, 0);
	g_assert_cmpint(attach(OPS, &room_ops, NULL, NULL), ==, 0);
	rs_utrace_engine_get(found);
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
	rs_utrace_engine_put(found);
	g_assert_cmpuint(a.released, ==, 0);
	task_end(&task);
	g_assert_cmpuint(task.released, ==, 0);
	/* All calls are safe on it. */
	g_assert_cmpint(rs_utrace_set_events(found, 0), ==, -RS_ESRCH);
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_ESRCH);
	g_assert_cmpint(rs_utrace_barrier(found), ==, -RS_ESRCH);
	rs_utrace_engine_put(found);
	g_assert_cmpuint(a.released, ==, 1);
	g_assert_cmpuint(task.released, ==, 1);
}

static void on_release_attach_again(struct rs_utrace_engine *engine)
{
	struct tracer *tracer = (struct tracer *)engine;

	if (tracer->released++)
		return;
	g_assert_cmpint(attach(CREATE, engine->ops, NULL, tracer), ==, 0);
	g_assert_cmpuint(found->number, ==, 2);
	rs_utrace_engine_put(found);
}

static void test_released_memory_may_be_attached_again(void)
{
	static const struct rs_utrace_ops ops = {.release = on_release_attach_again};

	task_init(&task);
	memset(&a, 0, sizeof(a));
	g_assert_cmpint(attach(CREATE, &ops, NULL, &a), ==, 0);
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
	rs_utrace_engine_put(found);
	g_assert_cmpuint(a.released, ==, 1);
	g_assert_cmpint(attach(OPS, &ops, NULL, NULL), ==, 0);
	rs_utrace_engine_put(found);
	task_end(&task);
	g_assert_cmpuint(a.released, ==, 2);
	g_assert_cmpuint(task.released, ==, 1);
}

static void test_many_engines_on_one_thread(void)
{
	enum { MANY = 1000 };
	struct tracer *many = g_new0(struct tracer, MANY);
	guint released = 0;

	task_init(&task);
	for (guint i = 0; i < MANY; i++)
		tracer_attach(&many[i], 'm', &task, i % 100 ? 0 : RS_UTRACE_EVENT(EXEC));
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	expect("m:EXEC=x m:EXEC=x m:EXEC=x m:EXEC=x m:EXEC=x m:EXEC=x m:EXEC=x m:EXEC=x m:EXEC=x "
	       "m:EXEC=x");
	/* From the middle, both ends, and every other one. */
	for (guint i = 0; i < MANY; i += 2)
		g_assert_cmpint(control(&many[(i + 500) % MANY], RS_UTRACE_DETACH), ==, 0);
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	expect("");
	g_assert_cmpuint(task.utrace.wanted, ==, 0);
	for (guint i = 0; i < MANY; i++)
		rs_utrace_engine_put(&many[i].engine);
	task_end(&task);
	for (guint i = 0; i < MANY; i++)
		released += many[i].released;
	g_assert_cmpuint(released, ==, MANY);
	g_free(many);
}

#define RULE(name) g_test_add_func("/utrace/engine/" #name, test_##name)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	RULE(an_attached_engine_does_nothing_by_default);
	RULE(set_events_and_control_make_something_happen);
	RULE(each_event_has_its_callback);
	RULE(each_event_flag_alone);
	RULE(unused_callbacks_may_be_null);
	RULE(unknown_events_are_einval);
	RULE(attach_match_ops_and_data);
	RULE(attach_create_and_exclusive);
	RULE(attach_refuses_what_makes_no_sense);
	RULE(hooks_must_be_there);
	RULE(get_and_put);
	RULE(released_memory_may_be_attached_again);
	RULE(many_engines_on_one_thread);
	return g_test_run();
}
