/* SPDX-License-Identifier: MIT */
/*
 * Engines of the host: what its commands do to threads, and what the host is told. The test is the
 * task that serves, and calls the handler as rs_serve_step() does.
 */
#include "room.h"

#include <ringside/utrace_host.h>
#include <string.h>

#define ENTRY RS_UTRACE_EVENT(SYSCALL_ENTRY)
#define NO_STOPS RS_UTRACE_EVENT_NO_STOPS

static struct task task;
static struct rs_serve serve;
static struct rs_utrace_host host;
static struct rs_utrace_host_engine engines[2];
static uint8_t out[RS_CMD_DATA];
static struct rs_command_reply reply;
static struct rs_serve_news news;
static uint64_t handle;
static struct tracer other;
static guint visits; /* of `asleep` */
static guint wakes;

static int32_t ask_with(uint32_t number, uint64_t a, uint64_t b, uint64_t c, const void *data,
			uint32_t size)
{
	const struct rs_command command = {
		.number = number, .args = {a, b, c}, .size = size, .data = data};
	int32_t result;

	as_other(TRUE);
	reply = (struct rs_command_reply){.data = out};
	result = host.handler.run(&host.handler, &command, &reply);
	as_other(FALSE);
	return result;
}

static int32_t ask(uint32_t number, uint64_t a, uint64_t b, uint64_t c)
{
	return ask_with(number, a, b, c, NULL, 0);
}

static int32_t tell(uint64_t action)
{
	return ask(RS_CMD_ENGINE_CONTROL, handle, action, 0);
}

/* In the thread's sleep the caller is somebody else all the time. */
static int32_t tell_asleep(uint64_t action)
{
	int32_t result = tell(action);

	as_other(TRUE);
	return result;
}

static bool take_news(void)
{
	news = (struct rs_serve_news){0};
	return host.handler.news(&host.handler, &news);
}

static void expect_no_news(void)
{
	g_assert_false(take_news());
}

/* About `handle`. More may follow. */
static void expect_some_news(uint32_t kind, uint64_t event, int64_t value)
{
	g_assert_true(take_news());
	g_assert_cmpuint(news.args[0], ==, kind);
	g_assert_cmpuint(news.args[1], ==, handle);
	g_assert_cmpuint(news.args[2], ==, event);
	g_assert_cmpint((int64_t)news.args[3], ==, value);
}

/* The host is told that all engines so far are gone. */
static void expect_left(void)
{
	g_assert_true(take_news());
	g_assert_cmpuint(news.args[0], ==, RS_NEWS_LEFT);
	g_assert_cmpuint(news.args[1], >=, handle);
	expect_no_news();
}

static void expect_news(uint32_t kind, uint32_t event, int64_t value)
{
	struct rs_serve_news these;

	expect_some_news(kind, event, value);
	these = news;
	expect_no_news();
	news = these;
}

static void on_wake(struct rs_serve *woken)
{
	g_assert_true(woken == &serve);
	wakes++;
}

static void begin(uint32_t events)
{
	task_init(&task);
	task.registers[RS_X86_64_RAX] = 3;
	task.registers[RS_X86_64_RDI] = 30;
	task.registers[RS_X86_64_RSI] = 31;
	task.registers[RS_X86_64_RIP] = TASK_MEMORY;
	memset(task.memory, 0x5a, sizeof(task.memory));
	room_tasks[0] = &task;
	visits = 0;
	memset(&serve, 0, sizeof(serve));
	serve.wake = on_wake;
	wakes = 0;
	memset(&host, 0, sizeof(host));
	memset(engines, 0, sizeof(engines));
	rs_utrace_serve(&host, &serve, &room_os, engines, G_N_ELEMENTS(engines));
	g_assert_true(serve.handlers == &host.handler);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, events, 0), ==, 0);
	handle = reply.values[0];
	g_assert_cmpuint(handle, !=, 0);
}

static void end(void)
{
	ask(RS_CMD_ENGINE_CONTROL, handle, RS_UTRACE_DETACH, 0);
	room_tasks[0] = NULL;
	task_end(&task);
	g_assert_cmpuint(task.released, ==, 1);
	for (guint i = 0; i < G_N_ELEMENTS(engines); i++)
		g_assert_cmpuint(engines[i].handle, ==, 0);
}

/* ---- threads ---- */

static void test_threads_are_listed(void)
{
	struct rs_cmd_thread thread;

	begin(0);
	g_assert_cmpuint(reply.size, ==, sizeof(thread));
	g_assert_cmpint(ask(RS_CMD_THREADS, 0, 0, 0), ==, 1);
	g_assert_cmpuint(reply.size, ==, sizeof(thread));
	g_assert_cmpuint(reply.values[0], ==, sizeof(thread));
	memcpy(&thread, out, sizeof(thread));
	g_assert_cmpuint(thread.id, ==, 7);
	g_assert_cmpuint(thread.process, ==, 5);
	g_assert_cmpuint(thread.parent, ==, 1);
	g_assert_cmpstr(thread.comm, ==, "room");
	g_assert_cmpuint(thread.state, ==, RS_THREAD_ALIVE);
	g_assert_cmpint(ask(RS_CMD_THREADS, 7, 0, 0), ==, 0);
	g_assert_cmpuint(reply.size, ==, 0);
	end();
}

static void test_attach_refuses(void)
{
	begin(0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 8, 0, 0), ==, -RS_ESRCH);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 1ull << 32 | 7, 0, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 1u << RS_UTRACE_EVENTS, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 0, 2), ==, -RS_EINVAL);
	/* No thread stops there, or not by an event. */
	for (guint i = 0; i < RS_UTRACE_EVENTS; i++)
		if (NO_STOPS & 1u << i)
			g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, ENTRY | 1u << i, 0), ==,
					-RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 0, 0), ==, 0);
	g_assert_cmpuint(reply.values[0], !=, handle);
	/* There is memory for two. */
	ask(RS_CMD_ENGINE_CONTROL, reply.values[0], RS_UTRACE_RESUME, 0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 0, 0), ==, -RS_ENOSPC);
	host.handler.gone(&host.handler);
	end();
}

static void test_a_handle_is_never_given_twice(void)
{
	uint64_t first;

	begin(0);
	first = handle;
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, 0);
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, -RS_EBADF);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 0, 0), ==, 0);
	handle = reply.values[0];
	g_assert_cmpuint(handle, !=, first);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, first, 0, 0), ==, -RS_EBADF);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, 0, 0, 0), ==, -RS_EBADF);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, 3, 0, 0), ==, -RS_EBADF);
	end();
}

static void test_nothing_is_told_of_a_thread_that_runs(void)
{
	static const uint64_t values[RS_REGISTERS_MAX];

	begin(ENTRY);
	expect_no_news();
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, handle, 0, 0), ==, -RS_EAGAIN);
	g_assert_cmpint(ask(RS_CMD_ENGINE_MEMORY, handle, TASK_MEMORY, 8), ==, -RS_EAGAIN);
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_REGISTERS, handle, 1, 0, values, sizeof(values)),
			==, -RS_EAGAIN);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SYSCALL, handle, 9, 0), ==, -RS_EAGAIN);
	/* An event that the host has not asked for. */
	rs_utrace_report_exec(&task.utrace, "/bin/room", NULL);
	g_assert_cmpuint(task.blocked, ==, 0);
	g_assert_cmpint(tell(99), ==, -RS_EINVAL);
	end();
}

/* ---- a stop ---- */

static void look_and_resume(struct task *stopped)
{
	uint64_t values[RS_REGISTERS_MAX] = {0};
	uint64_t arg = 77;

	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_ENTRY, 3);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, handle, 0, 0), ==, RS_X86_64_REGISTERS);
	g_assert_cmpuint(reply.size, ==, (RS_X86_64_REGISTERS + 2) * 8);
	memcpy(values, out, RS_X86_64_REGISTERS * 8);
	g_assert_cmpuint(values[RS_X86_64_RIP], ==, TASK_MEMORY);
	g_assert_cmpuint(reply.values[0], ==, RS_UTRACE_EVENT_SYSCALL_ENTRY);
	g_assert_cmpuint(reply.values[1], ==, 1);
	g_assert_cmpuint(reply.values[2], ==, 3);
	g_assert_cmpuint(reply.values[3], ==, 2);
	memcpy(values, out + RS_X86_64_REGISTERS * 8, 16);
	g_assert_cmpuint(values[0], ==, 30);
	g_assert_cmpuint(values[1], ==, 31);
	g_assert_cmpint(ask(RS_CMD_ENGINE_MEMORY, handle, TASK_MEMORY + TASK_MEMORY_SIZE - 4, 100),
			==, 4);
	g_assert_cmpuint(reply.size, ==, 4);
	g_assert_cmphex(out[3], ==, 0x5a);
	g_assert_cmpint(ask(RS_CMD_ENGINE_MEMORY, handle, 1, 1ull << 40), ==, 0);
	g_assert_cmpint(
		ask_with(RS_CMD_ENGINE_SET_REGISTERS, handle, 1u << RS_X86_64_RBX, 0, values, 8),
		==, -RS_EINVAL);
	values[RS_X86_64_RBX] = 0xb0b;
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_REGISTERS, handle, 1u << RS_X86_64_RBX, 0,
				 values, sizeof(values)),
			==, 0);
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_SYSCALL, handle, 9, 2, &arg, 8), ==, -RS_EINVAL);
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_SYSCALL, handle, 9, 7, &arg, 56), ==,
			-RS_EINVAL);
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_SYSCALL, handle, 9, 1, &arg, 8), ==, 0);
	g_assert_cmpint(tell_asleep(RS_UTRACE_RESUME), ==, 0);
}

static void test_a_thread_stops_at_its_event_and_may_be_changed(void)
{
	begin(ENTRY);
	task.asleep = look_and_resume;
	g_assert_cmpuint(wakes, ==, 0);
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(visits, ==, 1);
	/* The task that serves need not look for it. */
	g_assert_cmpuint(wakes, ==, 1);
	g_assert_cmpuint(task.registers[RS_X86_64_RAX], ==, 9);
	g_assert_cmpuint(task.registers[RS_X86_64_RDI], ==, 77);
	g_assert_cmpuint(task.registers[RS_X86_64_RSI], ==, 31);
	g_assert_cmpuint(task.registers[RS_X86_64_RBX], ==, 0xb0b);
	expect_no_news();
	end();
}

static void resume(struct task *stopped)
{
	visits++;
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_each_event_has_its_value(void)
{
	static struct task child;
	struct rs_utrace_signal signal = {.number = 11};

	begin(RS_UTRACE_EVENT_ALL & ~NO_STOPS);
	task_init(&child);
	child.utrace.id = 12;
	task.asleep = resume;
	rs_utrace_report_clone(&task.utrace, 0, &child.utrace);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(visits, ==, 1);
	task.asleep = resume;
	g_assert_cmpint(rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_TERM);
	g_assert_cmpuint(visits, ==, 2);
	task.asleep = resume;
	g_assert_cmpint(rs_utrace_report_exit(&task.utrace, 4), ==, 4);
	g_assert_cmpuint(visits, ==, 3);
	/* What the host did not hear before it let the thread go is over. */
	expect_no_news();
	task_end(&child);
	end();
}

static void clone_news(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_CLONE, 12);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_the_host_is_told_of_a_child(void)
{
	static struct task child;

	begin(RS_UTRACE_EVENT(CLONE));
	task_init(&child);
	child.utrace.id = 12;
	task.asleep = clone_news;
	rs_utrace_report_clone(&task.utrace, 0, &child.utrace);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(visits, ==, 1);
	task_end(&child);
	end();
}

static void stop_once_more(struct task *stopped)
{
	visits++;
	tell_asleep(RS_UTRACE_STOP);
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_ENTRY, 3);
	tell_asleep(RS_UTRACE_RESUME);
}

static void stop_another_s(struct task *stopped)
{
	visits++;
	tell_asleep(RS_UTRACE_STOP);
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_ENTRY, 3);
	control(&other, RS_UTRACE_RESUME);
	as_other(TRUE);
	g_assert_cmpuint(stopped->unblocked, ==, 0);
	tell_asleep(RS_UTRACE_RESUME);
}

/* Whoever stopped the thread first: the host is told the call's number. */
static void test_a_call_has_its_number_at_a_later_stop(void)
{
	begin(ENTRY);
	task.asleep = stop_once_more;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(visits, ==, 1);
	end();

	begin(0);
	memset(&other, 0, sizeof(other));
	tracer_attach(&other, 'a', &task, ENTRY);
	other.returns[RS_UTRACE_EVENT_SYSCALL_ENTRY] = RS_UTRACE_STOP;
	task.asleep = stop_another_s;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(visits, ==, 1);
	expect_no_news();
	control(&other, RS_UTRACE_DETACH);
	rs_utrace_engine_put(&other.engine);
	end();
}

static void again_news(struct task *stopped)
{
	visits++;
	tell_asleep(RS_UTRACE_STOP);
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_EXIT, 4);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_a_stop_that_is_told_twice_has_its_value_twice(void)
{
	begin(RS_UTRACE_EVENT(EXIT));
	task.asleep = again_news;
	g_assert_cmpint(rs_utrace_report_exit(&task.utrace, 4), ==, 4);
	g_assert_cmpuint(visits, ==, 1);
	end();
}

static void safe_point_news(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_QUIESCE, 0);
	/* Once more says it once more. */
	tell_asleep(RS_UTRACE_STOP);
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_QUIESCE, 0);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_stop_takes_effect_at_the_next_safe_point(void)
{
	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	expect_no_news();
	task.asleep = safe_point_news;
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(visits, ==, 1);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(task.blocked, ==, 1);
	end();
}

static void test_interrupt_ends_a_wait(void)
{
	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_INTERRUPT), ==, 0);
	g_assert_cmpuint(task.interrupts, ==, 1);
	task.asleep = resume;
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(visits, ==, 1);
	end();
}

static void signal_news(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SIGNAL_TERM, 15);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_a_stop_takes_effect_at_a_signal_that_comes_first(void)
{
	struct rs_utrace_signal signal = {.number = 15};

	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	task.asleep = signal_news;
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_TERM);
	g_assert_cmpuint(visits, ==, 1);
	expect_no_news();
	end();
}

static void test_a_stop_that_is_taken_back_does_not_happen(void)
{
	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, 0);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(task.blocked, ==, 0);
	expect_no_news();
	end();
}

/* ---- steps ---- */

static void step(struct task *stopped)
{
	visits++;
	g_assert_cmpint(tell_asleep(RS_UTRACE_SINGLESTEP), ==, 0);
}

static void step_news(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STEPPED, RS_UTRACE_EVENT_SIGNAL_TERM, 77);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, handle, 0, 0), ==, RS_X86_64_REGISTERS);
	g_assert_cmpuint(reply.values[0], ==, RS_UTRACE_EVENT_SIGNAL_TERM);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_a_step_ends_in_a_stop(void)
{
	struct rs_utrace_signal trap = {.number = 77, .step = true};

	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	task.asleep = step;
	rs_utrace_resume(&task.utrace);
	g_assert_true(task.single);
	/* The OS's signal for the step is the engine's, and not the program's. */
	task.asleep = step_news;
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(visits, ==, 2);
	rs_utrace_resume(&task.utrace);
	g_assert_false(task.single);
	/* Once more it is still no signal of the program. */
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(visits, ==, 2);
	end();
}

/* The program's own signals do not end it, whatever their number. */
static void test_a_step_is_not_ended_by_a_signal(void)
{
	struct rs_utrace_signal own = {.number = 5}, trap = {.number = 77, .step = true};

	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	task.asleep = step;
	rs_utrace_resume(&task.utrace);
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &own, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_TERM);
	g_assert_cmpuint(task.blocked, ==, 1);
	expect_no_news();
	rs_utrace_resume(&task.utrace);
	g_assert_true(task.single);
	task.asleep = step_news;
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(visits, ==, 2);
	rs_utrace_resume(&task.utrace);
	end();
}

static void test_only_a_stopped_thread_steps(void)
{
	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_SINGLESTEP), ==, -RS_EAGAIN);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	g_assert_cmpint(tell(RS_UTRACE_SINGLESTEP), ==, -RS_EAGAIN);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(task.blocked, ==, 0);
	g_assert_false(task.single);
	end();
}

/* Commands that come while a callback stops its thread. */

static void (*meanwhile)(void);

static void on_call(struct task *looked_at)
{
	void (*act)(void) = meanwhile;

	meanwhile = NULL;
	if (act)
		act();
}

static void stop_it(void)
{
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
}

static void interrupt_it(void)
{
	g_assert_cmpint(tell(RS_UTRACE_INTERRUPT), ==, 0);
}

static bool wait_no_longer(void)
{
	return false;
}

/* Of a thread that runs, and then stops: that is a later stop. */
static void resume_it(void)
{
	room_wait = wait_no_longer;
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, 0);
	room_wait = NULL;
}

static void entry_news_once(struct task *stopped)
{
	visits++;
	task.looked_at = NULL;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_ENTRY, 3);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, handle, 0, 0), ==, RS_X86_64_REGISTERS);
	g_assert_cmpuint(reply.values[0], ==, RS_UTRACE_EVENT_SYSCALL_ENTRY);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_a_stop_that_is_told_takes_place_there(void)
{
	static void (*const acts[])(void) = {stop_it, interrupt_it, resume_it};

	for (guint i = 0; i < G_N_ELEMENTS(acts); i++) {
		begin(ENTRY);
		meanwhile = acts[i];
		task.looked_at = on_call;
		task.asleep = entry_news_once;
		g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
		g_assert_null(meanwhile);
		g_assert_cmpuint(visits, ==, 1);
		rs_utrace_resume(&task.utrace);
		g_assert_cmpuint(task.blocked, ==, 1);
		expect_no_news();
		end();
	}
}

static uint64_t stepper;

static void step_by_another(struct task *stopped)
{
	visits++;
	g_assert_cmpint(ask(RS_CMD_ENGINE_CONTROL, stepper, RS_UTRACE_SINGLESTEP, 0), ==, 0);
	as_other(TRUE);
}

static void stepped_by_another(struct task *stopped)
{
	visits++;
	g_assert_true(take_news());
	g_assert_cmpuint(news.args[0], ==, RS_NEWS_STEPPED);
	g_assert_cmpuint(news.args[1], ==, stepper);
	expect_no_news();
	ask(RS_CMD_ENGINE_CONTROL, stepper, RS_UTRACE_RESUME, 0);
	as_other(TRUE);
}

static void test_anothers_step_is_no_signal(void)
{
	struct rs_utrace_signal trap = {.number = 77, .step = true};

	begin(RS_UTRACE_EVENT_SIGNAL_ALL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 0, 0), ==, 0);
	stepper = reply.values[0];
	g_assert_cmpint(ask(RS_CMD_ENGINE_CONTROL, stepper, RS_UTRACE_STOP, 0), ==, 0);
	task.asleep = step_by_another;
	rs_utrace_resume(&task.utrace);
	task.asleep = stepped_by_another;
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_CORE),
			==, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(visits, ==, 2);
	/* One that comes once more, since a step was owed, kills nobody either. */
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_CORE),
			==, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(task.blocked, ==, 2);
	ask(RS_CMD_ENGINE_CONTROL, stepper, RS_UTRACE_DETACH, 0);
	rs_utrace_resume(&task.utrace);
	end();
}

static void test_a_signal_that_another_ignores_has_its_event(void)
{
	struct rs_utrace_signal signal = {.number = 15};
	static struct tracer first;

	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, 0);
	memset(&first, 0, sizeof(first));
	tracer_attach(&first, 'a', &task, RS_UTRACE_EVENT(SIGNAL_TERM));
	first.returns[RS_UTRACE_EVENT_SIGNAL_TERM] = RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_IGN;
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, RS_UTRACE_EVENT(SIGNAL_TERM), 0), ==, 0);
	handle = reply.values[0];
	task.asleep = signal_news;
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(visits, ==, 1);
	control(&first, RS_UTRACE_DETACH);
	rs_utrace_engine_put(&first.engine);
	end();
}

/* A clone is told before its thread stops, which it does once it has left the kernel. */
static void test_a_signal_does_not_take_a_stop_back(void)
{
	static struct task child;
	struct rs_utrace_signal signal = {.number = 10};

	begin(RS_UTRACE_EVENT(CLONE));
	task_init(&child);
	child.utrace.id = 12;
	rs_utrace_report_clone(&task.utrace, 0, &child.utrace);
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_CLONE, 12);
	task.asleep = resume;
	rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_IGN);
	g_assert_cmpuint(visits, ==, 1);
	expect_no_news();
	task_end(&child);
	end();
}

/* The thread has been set to step, and its signal is on its way. */
static void begin_step(void)
{
	begin(0);
	g_assert_cmpint(tell(RS_UTRACE_STOP), ==, 0);
	task.asleep = step;
	rs_utrace_resume(&task.utrace);
	g_assert_true(task.single);
}

static void end_step(void)
{
	struct rs_utrace_signal trap = {.number = 77, .step = true};

	/* The program does not get what it has not asked for. */
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_IGN);
	rs_utrace_resume(&task.utrace);
	g_assert_false(task.single);
	g_assert_cmpuint(task.blocked, ==, 1);
	expect_no_news();
}

static void test_an_engine_that_is_detached_waits_for_its_step(void)
{
	begin_step();
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, 0);
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, -RS_EBADF);
	g_assert_cmpuint(engines[0].handle, !=, 0);
	end_step();
	g_assert_cmpuint(engines[0].handle, ==, 0);
	end();
}

static void test_a_thread_that_is_let_go_ends_its_step(void)
{
	begin_step();
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, 0);
	end_step();
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, 0);
	end();
}

static void test_a_step_without_a_host_ends(void)
{
	begin_step();
	host.handler.gone(&host.handler);
	expect_left();
	end_step();
	g_assert_cmpuint(engines[0].handle, ==, 0);
	end();
}

static void step_that_a_call_ends(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_ENTRY, 3);
	g_assert_cmpint(tell_asleep(RS_UTRACE_RESUME), ==, 0);
}

static void exit_news(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_EXIT, 0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_REGISTERS, handle, 0, 0), ==, RS_X86_64_REGISTERS);
	tell_asleep(RS_UTRACE_RESUME);
}

/* A thread at the entry of a call, which was to step and is let go: what is left of the step. */
static void end_step_in_a_call(void)
{
	begin_step();
	g_assert_cmpint(
		ask(RS_CMD_ENGINE_SET_EVENTS, handle, ENTRY | RS_UTRACE_EVENT(SYSCALL_EXIT), 0), ==,
		0);
	task.asleep = step_that_a_call_ends;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(visits, ==, 2);
}

/* The OS may have its signal for the step before the thread stops, or after that. */
static void test_a_step_that_ended_before_its_signal_takes_no_stop_back(void)
{
	struct rs_utrace_signal trap = {.number = 77, .step = true};

	for (guint late = 0; late < 2; late++) {
		end_step_in_a_call();
		rs_utrace_report_syscall_exit(&task.utrace, NULL);
		task.asleep = exit_news;
		if (late)
			rs_utrace_resume(&task.utrace);
		g_assert_cmphex(
			rs_utrace_report_signal(&task.utrace, NULL, &trap, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_IGN);
		g_assert_cmpuint(visits, ==, 3);
		rs_utrace_resume(&task.utrace);
		/* It goes on as any other, and has no step ahead. */
		g_assert_false(task.single);
		g_assert_cmpuint(task.blocked, ==, 3);
		expect_no_news();
		/* The next stop has its own name. */
		task.asleep = step_that_a_call_ends;
		g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
		g_assert_cmpuint(visits, ==, 4);
		end();
	}
}

/* ---- changes ---- */

static void change_signal(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SIGNAL_TERM, 15);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 0, 0x50), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 0, 0x11), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 1ull << 31, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EXIT, handle, 1, 0), ==, -RS_ENOENT);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 12, RS_UTRACE_SIGNAL_CORE), ==, 0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 0, RS_UTRACE_SIGNAL_DELIVER), ==, 0);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_the_fate_of_a_signal_may_be_changed_at_its_stop(void)
{
	struct rs_utrace_signal signal = {.number = 15};

	begin(RS_UTRACE_EVENT(SIGNAL_TERM));
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 0, 0), ==, -RS_EAGAIN);
	task.asleep = change_signal;
	g_assert_cmphex(rs_utrace_report_signal(&task.utrace, NULL, &signal, RS_UTRACE_SIGNAL_TERM),
			==, RS_UTRACE_SIGNAL_DELIVER);
	g_assert_cmpint(signal.number, ==, 12);
	g_assert_cmpuint(visits, ==, 1);
	end();
}

static void change_exit(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_EXIT, 4);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_SIGNAL, handle, 0, 0), ==, -RS_ENOENT);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EXIT, handle, (uint64_t)-9, 0), ==, 0);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_the_exit_code_may_be_changed_at_its_stop(void)
{
	begin(RS_UTRACE_EVENT(EXIT));
	task.asleep = change_exit;
	g_assert_cmpint(rs_utrace_report_exit(&task.utrace, 4), ==, -9);
	g_assert_cmpuint(visits, ==, 1);
	end();
}

static void write_memory(struct task *stopped)
{
	const uint64_t last = TASK_MEMORY + TASK_MEMORY_SIZE - 2;

	visits++;
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_MEMORY, handle, last, 0, "abc", 3), ==, 2);
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_MEMORY, handle, ~0ull, 0, "abc", 3), ==, 0);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_memory_is_written_up_to_what_cannot_be(void)
{
	begin(ENTRY);
	g_assert_cmpint(ask_with(RS_CMD_ENGINE_SET_MEMORY, handle, TASK_MEMORY, 0, "abc", 3), ==,
			-RS_EAGAIN);
	task.asleep = write_memory;
	rs_utrace_report_syscall_entry(&task.utrace, NULL);
	g_assert_cmpuint(visits, ==, 1);
	g_assert_cmpmem(task.memory + TASK_MEMORY_SIZE - 3, 3,
			"\x5a"
			"ab",
			3);
	end();
}

static void exec_news(struct task *stopped)
{
	visits++;
	g_assert_true(take_news());
	g_assert_cmpuint(news.args[2], ==, RS_UTRACE_EVENT_EXEC);
	g_assert_cmpmem(news.data, news.size, "/bin/room", 9);
	tell_asleep(RS_UTRACE_RESUME);
}

static void long_exec_news(struct task *stopped)
{
	visits++;
	g_assert_true(take_news());
	g_assert_cmpuint(news.size, ==, RS_NEWS_DATA);
	tell_asleep(RS_UTRACE_RESUME);
}

static void test_the_path_of_an_exec_is_told(void)
{
	char path[RS_NEWS_DATA + 9];

	begin(RS_UTRACE_EVENT(EXEC));
	task.asleep = exec_news;
	rs_utrace_report_exec(&task.utrace, "/bin/room", NULL);
	rs_utrace_resume(&task.utrace);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	task.asleep = long_exec_news;
	rs_utrace_report_exec(&task.utrace, path, NULL);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(visits, ==, 2);
	end();
}

static void test_events_of_an_engine_may_be_changed(void)
{
	begin(ENTRY);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, NO_STOPS, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, ENTRY, 2), ==, -RS_EINVAL);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, RS_UTRACE_EVENT(EXIT), 0), ==, 0);
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(task.blocked, ==, 0);
	task.asleep = resume;
	rs_utrace_report_exit(&task.utrace, 4);
	g_assert_cmpuint(visits, ==, 1);
	end();
}

/* ---- children ---- */

static void test_an_engine_follows_what_its_thread_makes(void)
{
	static struct task child, grandchild;
	struct rs_cmd_thread row;
	uint64_t first;

	begin(0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, ENTRY, RS_ENGINE_FOLLOW), ==, 0);
	task_init(&child);
	child.utrace.id = 12;
	child.registers[RS_X86_64_RAX] = 3;
	rs_utrace_report_clone(&task.utrace, 0, &child.utrace);
	g_assert_true(take_news());
	g_assert_cmpuint(news.args[0], ==, RS_NEWS_ATTACHED);
	g_assert_cmpuint(news.args[2], ==, handle);
	g_assert_cmpuint(news.size, ==, sizeof(row));
	memcpy(&row, news.data, sizeof(row));
	g_assert_cmpuint(row.id, ==, 12);
	first = handle;
	handle = news.args[1];
	g_assert_cmpuint(handle, !=, first);
	expect_no_news();
	/* Before the child has run, and with the same events. */
	child.asleep = look_and_resume;
	memcpy(child.memory, task.memory, sizeof(child.memory));
	child.registers[RS_X86_64_RDI] = 30;
	child.registers[RS_X86_64_RSI] = 31;
	child.registers[RS_X86_64_RIP] = TASK_MEMORY;
	g_assert_true(rs_utrace_report_syscall_entry(&child.utrace, NULL));
	g_assert_cmpuint(visits, ==, 1);
	/* There is memory for two: one that cannot be followed is counted, and told. */
	task_init(&grandchild);
	grandchild.utrace.id = 13;
	rs_utrace_report_clone(&child.utrace, 0, &grandchild.utrace);
	expect_news(RS_NEWS_REFUSED, 1, 0);
	rs_utrace_report_clone(&child.utrace, 0, &grandchild.utrace);
	rs_utrace_report_clone(&child.utrace, 0, &grandchild.utrace);
	expect_news(RS_NEWS_REFUSED, 3, 0);
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, 0);
	handle = first;
	task_end(&grandchild);
	task_end(&child);
	end();
}

static struct task child;

static void report_child(struct task *maker, struct task *made, uint32_t id)
{
	task_init(made);
	made->utrace.id = id;
	rs_utrace_report_clone(&maker->utrace, 0, &made->utrace);
}

/* Of the thread `id`; returns the new engine's handle. */
static uint64_t expect_attached(uint32_t id, uint64_t follows)
{
	struct rs_cmd_thread row;

	g_assert_true(take_news());
	g_assert_cmpuint(news.args[0], ==, RS_NEWS_ATTACHED);
	g_assert_cmpuint(news.args[2], ==, follows);
	memcpy(&row, news.data, sizeof(row));
	g_assert_cmpuint(row.id, ==, id);
	return news.args[1];
}

static void clone_news_after_the_child(struct task *stopped)
{
	visits++;
	expect_attached(12, handle);
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_CLONE, 12);
	g_assert_cmpint(tell_asleep(RS_UTRACE_DETACH), ==, 0);
}

static void detach_child(uint64_t number)
{
	g_assert_cmpint(ask(RS_CMD_ENGINE_CONTROL, number, RS_UTRACE_DETACH, 0), ==, 0);
	task_end(&child);
}

/* Who lets go of a thread at the stop of its clone has the child already. */
static void test_a_child_is_told_before_its_maker_s_stop(void)
{
	begin(RS_UTRACE_EVENT(CLONE));
	g_assert_cmpint(
		ask(RS_CMD_ENGINE_SET_EVENTS, handle, RS_UTRACE_EVENT(CLONE), RS_ENGINE_FOLLOW), ==,
		0);
	task.asleep = clone_news_after_the_child;
	report_child(&task, &child, 12);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(visits, ==, 1);
	detach_child(engines[1].handle);
	end();
}

static void test_a_child_is_told_before_its_maker_s_death(void)
{
	uint64_t second;

	begin(0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, 0, RS_ENGINE_FOLLOW), ==, 0);
	report_child(&task, &child, 12);
	rs_utrace_report_death(&task.utrace, true, 9);
	second = expect_attached(12, handle);
	expect_news(RS_NEWS_GONE, RS_UTRACE_EVENT_DEATH, 9);
	detach_child(second);
	room_tasks[0] = NULL;
	rs_utrace_reap(&task.utrace);
	rs_utrace_thread_put(&task.utrace);
}

/* Wherever in memory their engines are. */
static void test_a_child_is_told_before_its_own_child(void)
{
	static struct task grandchild;
	uint64_t first, second;

	begin(0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, 0, RS_ENGINE_FOLLOW), ==, 0);
	report_child(&task, &child, 12);
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, 0);
	report_child(&child, &grandchild, 13);
	g_assert_cmpuint(engines[0].parent, ==, engines[1].handle);
	first = expect_attached(12, handle);
	second = expect_attached(13, first);
	expect_no_news();
	detach_child(first);
	g_assert_cmpint(ask(RS_CMD_ENGINE_CONTROL, second, RS_UTRACE_DETACH, 0), ==, 0);
	task_end(&grandchild);
	end();
}

static void test_children_that_nobody_was_told_of_go_with_the_session(void)
{
	begin(0);
	g_assert_cmpint(ask(RS_CMD_ENGINE_SET_EVENTS, handle, ENTRY, RS_ENGINE_FOLLOW), ==, 0);
	report_child(&task, &child, 12);
	host.handler.gone(&host.handler);
	expect_left();
	g_assert_true(rs_utrace_report_syscall_entry(&child.utrace, NULL));
	g_assert_cmpuint(child.blocked, ==, 0);
	task_end(&child);
	end();
}

/* ---- ends ---- */

static void kill_it(struct task *stopped)
{
	visits++;
	expect_news(RS_NEWS_STOPPED, RS_UTRACE_EVENT_SYSCALL_ENTRY, 3);
	rs_utrace_kill(&stopped->utrace);
}

static void test_the_host_is_told_of_a_death(void)
{
	begin(ENTRY);
	task.asleep = kill_it;
	g_assert_false(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(visits, ==, 1);
	rs_utrace_report_death(&task.utrace, true, 9);
	expect_news(RS_NEWS_GONE, RS_UTRACE_EVENT_DEATH, 9);
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, -RS_EBADF);
	g_assert_cmpuint(engines[0].handle, ==, 0);
	/* It is still to be reaped, and says so. */
	g_assert_cmpint(ask(RS_CMD_ENGINE_ATTACH, 7, 0, 0), ==, -RS_EALREADY);
	g_assert_cmpint(ask(RS_CMD_THREADS, 0, 0, 0), ==, 1);
	g_assert_cmpuint(((const struct rs_cmd_thread *)(const void *)out)->state, ==,
			 RS_THREAD_DEAD);
	room_tasks[0] = NULL;
	rs_utrace_reap(&task.utrace);
	g_assert_cmpuint(engines[0].handle, ==, 0);
	expect_no_news();
	rs_utrace_thread_put(&task.utrace);
	g_assert_cmpuint(task.released, ==, 1);
}

static void test_detach_may_come_before_the_word_of_death(void)
{
	begin(0);
	rs_utrace_report_death(&task.utrace, true, 9);
	g_assert_cmpint(tell(RS_UTRACE_DETACH), ==, 0);
	expect_no_news();
	g_assert_cmpuint(engines[0].handle, ==, 0);
	room_tasks[0] = NULL;
	rs_utrace_reap(&task.utrace);
	rs_utrace_thread_put(&task.utrace);
	g_assert_cmpuint(task.released, ==, 1);
}

static void host_goes(struct task *stopped)
{
	visits++;
	host.handler.gone(&host.handler);
	expect_left();
}

static void test_a_stopped_thread_goes_on_without_a_host(void)
{
	begin(ENTRY);
	task.asleep = host_goes;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(visits, ==, 1);
	g_assert_cmpint(tell(RS_UTRACE_RESUME), ==, -RS_EBADF);
	host.handler.gone(&host.handler);
	/* Nothing stops it any more. */
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(task.blocked, ==, 1);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add_func("/utrace/host/" #name, test_##name)
	ADD(threads_are_listed);
	ADD(attach_refuses);
	ADD(a_handle_is_never_given_twice);
	ADD(nothing_is_told_of_a_thread_that_runs);
	ADD(a_thread_stops_at_its_event_and_may_be_changed);
	ADD(each_event_has_its_value);
	ADD(the_host_is_told_of_a_child);
	ADD(a_call_has_its_number_at_a_later_stop);
	ADD(a_stop_that_is_told_twice_has_its_value_twice);
	ADD(stop_takes_effect_at_the_next_safe_point);
	ADD(interrupt_ends_a_wait);
	ADD(a_stop_takes_effect_at_a_signal_that_comes_first);
	ADD(a_stop_that_is_taken_back_does_not_happen);
	ADD(a_step_ends_in_a_stop);
	ADD(a_step_is_not_ended_by_a_signal);
	ADD(only_a_stopped_thread_steps);
	ADD(a_stop_that_is_told_takes_place_there);
	ADD(anothers_step_is_no_signal);
	ADD(a_signal_that_another_ignores_has_its_event);
	ADD(a_signal_does_not_take_a_stop_back);
	ADD(an_engine_that_is_detached_waits_for_its_step);
	ADD(a_thread_that_is_let_go_ends_its_step);
	ADD(a_step_without_a_host_ends);
	ADD(a_step_that_ended_before_its_signal_takes_no_stop_back);
	ADD(the_fate_of_a_signal_may_be_changed_at_its_stop);
	ADD(the_exit_code_may_be_changed_at_its_stop);
	ADD(memory_is_written_up_to_what_cannot_be);
	ADD(the_path_of_an_exec_is_told);
	ADD(events_of_an_engine_may_be_changed);
	ADD(an_engine_follows_what_its_thread_makes);
	ADD(a_child_is_told_before_its_maker_s_stop);
	ADD(a_child_is_told_before_its_maker_s_death);
	ADD(a_child_is_told_before_its_own_child);
	ADD(children_that_nobody_was_told_of_go_with_the_session);
	ADD(the_host_is_told_of_a_death);
	ADD(detach_may_come_before_the_word_of_death);
	ADD(a_stopped_thread_goes_on_without_a_host);
	return g_test_run();
}
