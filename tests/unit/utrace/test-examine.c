/* SPDX-License-Identifier: MIT */
/* Threads found by number, and what a stopped one has: tests named after their rules. */
#include "room.h"

#include <string.h>

#define ENTRY RS_UTRACE_EVENT(SYSCALL_ENTRY)
#define MASK(name) (1u << RS_X86_64_##name)

static struct task task, second;
static struct tracer a;
static uint64_t values[RS_REGISTERS_MAX];
static struct rs_utrace_syscall call;
static guint looks;

/* The thread stops at a system call, and `asleep` happens meanwhile. */
static void stop_and(void (*asleep)(struct task *task))
{
	task_init(&task);
	looks = 0;
	task.asleep = asleep;
	task.registers[RS_X86_64_RAX] = 3;
	task.registers[RS_X86_64_RDI] = 30;
	task.registers[RS_X86_64_RSI] = 31;
	memset(task.memory, 0x5a, sizeof(task.memory));
	tracer_attach(&a, 'a', &task, ENTRY);
	a.returns[RS_UTRACE_EVENT_SYSCALL_ENTRY] = RS_UTRACE_STOP;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL) == !task.utrace.killed);
	g_assert_cmpuint(looks, >, 0);
	g_assert_cmpuint(task.utrace.holds, ==, 0);
}

static void end(void)
{
	control(&a, RS_UTRACE_DETACH);
	rs_utrace_engine_put(&a.engine);
	task_end(&task);
}

/* ---- finding ---- */

static void test_a_thread_is_found_by_its_number_with_a_reference(void)
{
	struct rs_utrace_thread *found = NULL;

	task_init(&task);
	room_tasks[0] = &task;
	g_assert_cmpint(rs_utrace_find(&room_os, 7, &found), ==, 0);
	g_assert_true(found == &task.utrace);
	room_tasks[0] = NULL;
	task_end(&task);
	g_assert_cmpuint(task.released, ==, 0);
	rs_utrace_thread_put(found);
	g_assert_cmpuint(task.released, ==, 1);
}

static void test_a_number_that_nobody_has_is_not_found(void)
{
	struct rs_utrace_thread *found = NULL;

	task_init(&task);
	room_tasks[0] = &task;
	g_assert_cmpint(rs_utrace_find(&room_os, 0, &found), ==, -RS_ESRCH);
	g_assert_cmpint(rs_utrace_find(&room_os, 6, &found), ==, -RS_ESRCH);
	g_assert_cmpint(rs_utrace_find(&room_os, 8, &found), ==, -RS_ESRCH);
	g_assert_cmpint(rs_utrace_find(&room_os_without_steps, 7, &found), ==, -RS_ENOSYS);
	g_assert_null(found);
	room_tasks[0] = NULL;
	task_end(&task);
	g_assert_cmpuint(task.released, ==, 1);
}

static void test_all_threads_come_once_in_the_order_of_their_numbers(void)
{
	struct rs_utrace_thread *at = NULL;
	uint32_t ids[3], count = 0, after = 0;

	task_init(&task);
	task_init(&second);
	second.utrace.id = 9;
	room_tasks[0] = &task;
	room_tasks[1] = &second;
	while (!rs_utrace_next(&room_os, after, &at)) {
		g_assert_cmpuint(count, <, 2);
		ids[count++] = after = at->id;
		rs_utrace_thread_put(at);
	}
	g_assert_cmpuint(count, ==, 2);
	g_assert_cmpuint(ids[0], ==, 7);
	g_assert_cmpuint(ids[1], ==, 9);
	g_assert_cmpint(rs_utrace_next(&room_os_without_steps, 0, &at), ==, -RS_ENOSYS);
	room_tasks[0] = room_tasks[1] = NULL;
	task_end(&task);
	task_end(&second);
}

static void test_a_thread_says_who_it_is(void)
{
	struct rs_utrace_identity who;

	task_init(&task);
	g_assert_cmpint(rs_utrace_identify(&task.utrace, &who), ==, 0);
	g_assert_cmpuint(who.id, ==, 7);
	g_assert_cmpuint(who.process, ==, 5);
	g_assert_cmpuint(who.parent, ==, 1);
	g_assert_cmpstr(who.comm, ==, "room");
	task.utrace.os = &room_os_without_steps;
	g_assert_cmpint(rs_utrace_identify(&task.utrace, &who), ==, -RS_ENOSYS);
	g_assert_cmpuint(who.id, ==, 7);
	g_assert_cmpuint(who.process, ==, 7);
	g_assert_cmpstr(who.comm, ==, "");
	task.utrace.os = &room_os;
	task_end(&task);
}

/* ---- registers ---- */

static void change_a_register(struct task *t)
{
	looks++;
	memset(values, 0xff, sizeof(values));
	g_assert_cmpint(rs_utrace_get_registers(&a.engine, values), ==, RS_X86_64_REGISTERS);
	g_assert_cmpuint(values[RS_X86_64_RDI], ==, 30);
	g_assert_cmpuint(values[RS_X86_64_REGISTERS], ==, 0);
	g_assert_cmpuint(values[RS_REGISTERS_MAX - 1], ==, 0);
	values[RS_X86_64_RDI] = 40;
	values[RS_X86_64_RSI] = 41;
	g_assert_cmpint(rs_utrace_set_registers(&a.engine, values, MASK(RDI)), ==, 0);
	g_assert_cmpint(rs_utrace_set_registers(&a.engine, values, 0), ==, 0);
	control(&a, RS_UTRACE_RESUME);
}

static void test_registers_of_a_stopped_thread_are_read_and_changed(void)
{
	stop_and(change_a_register);
	g_assert_cmpuint(task.registers[RS_X86_64_RDI], ==, 40);
	g_assert_cmpuint(task.registers[RS_X86_64_RSI], ==, 31);
	end();
}

static void change_what_cannot_be(struct task *t)
{
	looks++;
	values[RS_X86_64_RDI] = 50;
	g_assert_cmpint(rs_utrace_set_registers(&a.engine, values, MASK(RDI) | MASK(RSP)), ==,
			-RS_EPERM);
	g_assert_cmpint(rs_utrace_set_registers(&a.engine, values, MASK(RDI) | 1ull << 18), ==,
			-RS_EINVAL);
	g_assert_cmpint(rs_utrace_set_registers(&a.engine, values, MASK(RDI) | 1ull << 48), ==,
			-RS_EINVAL);
	control(&a, RS_UTRACE_RESUME);
}

static void test_if_a_register_cannot_be_changed_none_is(void)
{
	stop_and(change_what_cannot_be);
	g_assert_cmpuint(task.registers[RS_X86_64_RDI], ==, 30);
	end();
}

static void ask_too_early(struct task *t)
{
	looks++;
	g_assert_cmpint(rs_utrace_get_registers(&a.engine, values), ==, -RS_ENOENT);
	control(&a, RS_UTRACE_RESUME);
}

static void test_a_thread_that_was_never_in_user_mode_may_have_no_registers(void)
{
	task_init(&task);
	task.not_yet = TRUE;
	task.asleep = ask_too_early;
	tracer_attach(&a, 'a', &task, 0);
	looks = 0;
	g_assert_cmpint(control(&a, RS_UTRACE_STOP), ==, -RS_EINPROGRESS);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(looks, ==, 1);
	end();
}

/* Each function that looks at a thread gives this error. */
static void all_say(int err)
{
	char byte;

	g_assert_cmpint(rs_utrace_get_registers(&a.engine, values), ==, err);
	g_assert_cmpint(rs_utrace_set_registers(&a.engine, values, MASK(RAX)), ==, err);
	g_assert_cmpint(rs_utrace_read_memory(&a.engine, TASK_MEMORY, &byte, 1), ==, err);
	g_assert_cmpint(rs_utrace_get_syscall(&a.engine, &call), ==, err);
	g_assert_cmpint(rs_utrace_set_syscall(&a.engine, &call), ==, err);
}

static void test_a_running_thread_is_not_looked_at(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, ENTRY);
	all_say(-RS_EINVAL);
	g_assert_cmpint(rs_utrace_stopped_at(&a.engine), ==, -RS_EINVAL);
	control(&a, RS_UTRACE_STOP);
	all_say(-RS_EAGAIN);
	g_assert_cmpint(rs_utrace_stopped_at(&a.engine), ==, -RS_EAGAIN);
	control(&a, RS_UTRACE_DETACH);
	all_say(-RS_ESRCH);
	rs_utrace_engine_put(&a.engine);
	task_end(&task);
}

static void look_in_vain(struct task *t)
{
	looks++;
	task.utrace.os = &room_os_without_steps;
	all_say(-RS_ENOSYS);
	task.utrace.os = &room_os;
	control(&a, RS_UTRACE_RESUME);
}

static void test_what_the_os_has_no_hook_for_is_not_there(void)
{
	stop_and(look_in_vain);
	end();
}

/* ---- memory ---- */

static void read_memory(struct task *t)
{
	static guint8 bytes[RS_UTRACE_MEMORY_MAX + 1];

	looks++;
	g_assert_cmpint(rs_utrace_read_memory(&a.engine, TASK_MEMORY, bytes, 8), ==, 8);
	g_assert_cmphex(bytes[7], ==, 0x5a);
	g_assert_cmphex(bytes[8], ==, 0);
	g_assert_cmpint(rs_utrace_read_memory(&a.engine, TASK_MEMORY + 250, bytes, 8), ==, 6);
	g_assert_cmpint(rs_utrace_read_memory(&a.engine, TASK_MEMORY - 1, bytes, 8), ==, 0);
	g_assert_cmpint(rs_utrace_read_memory(&a.engine, UINT64_MAX, bytes, 8), ==, 0);
	g_assert_cmpint(rs_utrace_read_memory(&a.engine, TASK_MEMORY, bytes, UINT32_MAX), ==,
			TASK_MEMORY_SIZE);
	control(&a, RS_UTRACE_RESUME);
}

static void test_memory_is_read_up_to_what_cannot_be_read(void)
{
	stop_and(read_memory);
	end();
}

/* ---- the system call ---- */

static void change_the_call(struct task *t)
{
	looks++;
	g_assert_cmpint(rs_utrace_stopped_at(&a.engine), ==, RS_UTRACE_EVENT_SYSCALL_ENTRY);
	g_assert_cmpint(rs_utrace_get_syscall(&a.engine, &call), ==, 0);
	g_assert_cmpuint(call.number, ==, 3);
	g_assert_cmpuint(call.count, ==, 2);
	g_assert_cmpuint(call.args[1], ==, 31);
	call.number = 4;
	call.count = 1;
	call.args[0] = 44;
	call.args[1] = 45;
	g_assert_cmpint(rs_utrace_set_syscall(&a.engine, &call), ==, 0);
	call.count = RS_UTRACE_ARGS_MAX + 1;
	g_assert_cmpint(rs_utrace_set_syscall(&a.engine, &call), ==, -RS_EINVAL);
	control(&a, RS_UTRACE_RESUME);
}

static void test_the_system_call_that_is_pending_is_read_and_changed(void)
{
	stop_and(change_the_call);
	g_assert_cmpuint(task.registers[RS_X86_64_RAX], ==, 4);
	g_assert_cmpuint(task.registers[RS_X86_64_RDI], ==, 44);
	g_assert_cmpuint(task.registers[RS_X86_64_RSI], ==, 31);
	end();
}

static void ask_for_the_call(struct task *t)
{
	looks++;
	g_assert_cmpint(rs_utrace_stopped_at(&a.engine), ==, RS_UTRACE_EVENT_QUIESCE);
	g_assert_cmpint(rs_utrace_get_syscall(&a.engine, &call), ==, -RS_ENOENT);
	g_assert_cmpint(rs_utrace_set_syscall(&a.engine, &call), ==, -RS_ENOENT);
	control(&a, RS_UTRACE_RESUME);
}

static void test_elsewhere_no_system_call_is_pending(void)
{
	task_init(&task);
	task.asleep = ask_for_the_call;
	tracer_attach(&a, 'a', &task, RS_UTRACE_EVENT(SYSCALL_EXIT));
	a.returns[RS_UTRACE_EVENT_SYSCALL_EXIT] = RS_UTRACE_STOP;
	looks = 0;
	/* It was at a call before. */
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	rs_utrace_report_syscall_exit(&task.utrace, NULL);
	rs_utrace_resume(&task.utrace);
	g_assert_cmpuint(looks, ==, 1);
	end();
}

/* ---- who may, and when ---- */

static void look_in_the_callback(struct tracer *tracer)
{
	looks++;
	g_assert_cmpint(rs_utrace_stopped_at(&a.engine), ==, RS_UTRACE_EVENT_SYSCALL_ENTRY);
	g_assert_cmpint(rs_utrace_get_registers(&a.engine, values), ==, RS_X86_64_REGISTERS);
	g_assert_cmpint(rs_utrace_get_syscall(&a.engine, &call), ==, 0);
	g_assert_cmpuint(task.utrace.holds, ==, 0);
}

static void test_an_engine_looks_in_its_own_callback(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task, ENTRY | RS_UTRACE_EVENT(QUIESCE));
	a.does[RS_UTRACE_EVENT_SYSCALL_ENTRY] = look_in_the_callback;
	a.does[RS_UTRACE_EVENT_QUIESCE] = look_in_the_callback;
	looks = 0;
	g_assert_true(rs_utrace_report_syscall_entry(&task.utrace, NULL));
	g_assert_cmpuint(looks, ==, 2);
	end();
}

/* The thread may run once the hook has returned, not before. */
static void kill_it(struct task *t)
{
	g_assert_cmpuint(t->utrace.holds, ==, 1);
	rs_utrace_kill(&t->utrace);
	/* It wakes up, and sleeps again, as someone still looks. */
	g_assert_true(t->token);
	t->token = FALSE;
	t->looked_at = NULL;
}

static void look_while_it_is_killed(struct task *t)
{
	looks++;
	t->looked_at = kill_it;
	g_assert_cmpint(rs_utrace_get_registers(&a.engine, values), ==, RS_X86_64_REGISTERS);
	g_assert_true(t->token);
	all_say(-RS_EAGAIN);
}

static void test_a_killed_thread_stays_while_someone_looks(void)
{
	stop_and(look_while_it_is_killed);
	g_assert_cmpuint(task.unblocked, ==, 2);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add_func("/utrace/examine/" #name, test_##name)
	ADD(a_thread_is_found_by_its_number_with_a_reference);
	ADD(a_number_that_nobody_has_is_not_found);
	ADD(all_threads_come_once_in_the_order_of_their_numbers);
	ADD(a_thread_says_who_it_is);
	ADD(registers_of_a_stopped_thread_are_read_and_changed);
	ADD(if_a_register_cannot_be_changed_none_is);
	ADD(a_thread_that_was_never_in_user_mode_may_have_no_registers);
	ADD(a_running_thread_is_not_looked_at);
	ADD(what_the_os_has_no_hook_for_is_not_there);
	ADD(memory_is_read_up_to_what_cannot_be_read);
	ADD(the_system_call_that_is_pending_is_read_and_changed);
	ADD(elsewhere_no_system_call_is_pending);
	ADD(an_engine_looks_in_its_own_callback);
	ADD(a_killed_thread_stays_while_someone_looks);
	return g_test_run();
}
