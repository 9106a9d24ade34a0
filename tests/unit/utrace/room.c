/* SPDX-License-Identifier: MIT */
#include "room.h"

#include <string.h>

GString *room_log;
bool (*room_wait)(void);
struct task *room_tasks[4];
static gboolean other;
static char here, elsewhere;

static const char *const names[RS_UTRACE_EVENTS + 1] = {
	"QUIESCE",     "REAP",          "CLONE",        "EXEC",   "EXIT",
	"DEATH",       "SYSCALL_ENTRY", "SYSCALL_EXIT", "SIGNAL", "SIGNAL_IGN",
	"SIGNAL_STOP", "SIGNAL_TERM",   "SIGNAL_CORE",  "JCTL",   "",
};

void as_other(gboolean is)
{
	other = is;
}

void expect(const char *text)
{
	g_assert_cmpstr(g_strchomp(room_log->str), ==, text);
	g_string_truncate(room_log, 0);
}

/* ---- the OS ---- */

static void os_block(struct rs_utrace_thread *thread)
{
	struct task *task = (struct task *)thread;
	void (*asleep)(struct task *) = task->asleep;

	task->blocked++;
	g_assert_false(other);
	g_assert_cmpuint(thread->lock, ==, 0);
	if (!task->token) {
		g_assert_nonnull(asleep);
		task->asleep = NULL;
		as_other(TRUE);
		asleep(task);
		as_other(FALSE);
	}
	task->token = FALSE;
}

static void os_unblock(struct rs_utrace_thread *thread)
{
	struct task *task = (struct task *)thread;

	g_assert_cmpuint(thread->lock, ==, 0);
	task->unblocked++;
	task->token = TRUE;
}

static void os_kick(struct rs_utrace_thread *thread, bool interrupt)
{
	struct task *task = (struct task *)thread;

	g_assert_cmpuint(thread->lock, ==, 0);
	task->kicks++;
	task->interrupts += interrupt;
}

static void os_single_step(struct rs_utrace_thread *thread, bool on)
{
	g_assert_cmpuint(thread->lock, ==, 0);
	g_assert_true(((struct task *)thread)->single != on);
	((struct task *)thread)->single = on;
}

static void os_block_step(struct rs_utrace_thread *thread, bool on)
{
	g_assert_true(((struct task *)thread)->block != on);
	((struct task *)thread)->block = on;
}

static const void *os_current(void)
{
	return other ? &elsewhere : &here;
}

static bool os_wait(void)
{
	g_assert_nonnull(room_wait);
	return room_wait();
}

static void os_release(struct rs_utrace_thread *thread)
{
	((struct task *)thread)->released++;
}

static struct rs_utrace_thread *os_next(uint32_t after)
{
	for (guint i = 0; i < G_N_ELEMENTS(room_tasks); i++) {
		if (room_tasks[i] && room_tasks[i]->utrace.id > after) {
			rs_utrace_thread_get(&room_tasks[i]->utrace);
			return &room_tasks[i]->utrace;
		}
	}
	return NULL;
}

static void os_identify(struct rs_utrace_thread *thread, struct rs_utrace_identity *identity)
{
	g_assert_cmpuint(identity->id, ==, thread->id);
	g_assert_cmpuint(identity->process, ==, thread->id);
	identity->process = 5;
	identity->parent = 1;
	g_strlcpy(identity->comm, "room", sizeof(identity->comm));
}

/* The hooks that look: the thread stays where it is. */
static struct task *looked_at(struct rs_utrace_thread *thread)
{
	struct task *task = (struct task *)thread;

	g_assert_cmpuint(thread->lock, ==, 0);
	if (task->looked_at)
		task->looked_at(task);
	return task;
}

static int os_get_registers(struct rs_utrace_thread *thread, uint64_t *values)
{
	struct task *task = looked_at(thread);

	if (task->not_yet)
		return -RS_ENOENT;
	memcpy(values, task->registers, sizeof(task->registers));
	return RS_X86_64_REGISTERS;
}

static int os_set_registers(struct rs_utrace_thread *thread, const uint64_t *values, uint64_t mask)
{
	struct task *task = looked_at(thread);

	if (mask >> RS_X86_64_REGISTERS)
		return -RS_EINVAL;
	if (mask & 1u << RS_X86_64_RSP)
		return -RS_EPERM;
	for (guint i = 0; i < RS_X86_64_REGISTERS; i++) {
		if (mask >> i & 1)
			task->registers[i] = values[i];
	}
	return 0;
}

static uint32_t os_read_memory(struct rs_utrace_thread *thread, uint64_t address, void *to,
			       uint32_t size)
{
	struct task *task = looked_at(thread);
	uint64_t offset = address - TASK_MEMORY;

	if (offset >= TASK_MEMORY_SIZE)
		return 0;
	size = (uint32_t)MIN(size, TASK_MEMORY_SIZE - offset);
	memcpy(to, task->memory + offset, size);
	return size;
}

static uint32_t os_write_memory(struct rs_utrace_thread *thread, uint64_t address, const void *from,
				uint32_t size)
{
	struct task *task = looked_at(thread);
	uint64_t offset = address - TASK_MEMORY;

	if (offset >= TASK_MEMORY_SIZE)
		return 0;
	size = (uint32_t)MIN(size, TASK_MEMORY_SIZE - offset);
	memcpy(task->memory + offset, from, size);
	return size;
}

static void os_get_syscall(struct rs_utrace_thread *thread, struct rs_utrace_syscall *call)
{
	struct task *task = looked_at(thread);

	call->number = task->registers[RS_X86_64_RAX];
	call->count = 2;
	call->args[0] = task->registers[RS_X86_64_RDI];
	call->args[1] = task->registers[RS_X86_64_RSI];
}

static int os_set_syscall(struct rs_utrace_thread *thread, const struct rs_utrace_syscall *call)
{
	struct task *task = looked_at(thread);

	g_assert_cmpuint(call->count, <=, RS_UTRACE_ARGS_MAX);
	task->registers[RS_X86_64_RAX] = call->number;
	if (call->count > 0)
		task->registers[RS_X86_64_RDI] = call->args[0];
	if (call->count > 1)
		task->registers[RS_X86_64_RSI] = call->args[1];
	return 0;
}

const struct rs_utrace_os room_os = {
	.next = os_next,
	.identify = os_identify,
	.get_registers = os_get_registers,
	.set_registers = os_set_registers,
	.read_memory = os_read_memory,
	.write_memory = os_write_memory,
	.get_syscall = os_get_syscall,
	.set_syscall = os_set_syscall,
	.block = os_block,
	.unblock = os_unblock,
	.kick = os_kick,
	.single_step = os_single_step,
	.block_step = os_block_step,
	.current = os_current,
	.wait = os_wait,
	.release = os_release,
};
const struct rs_utrace_os room_os_without_steps = {
	.block = os_block,
	.unblock = os_unblock,
	.kick = os_kick,
	.current = os_current,
	.wait = os_wait,
};

void task_init(struct task *task)
{
	if (!room_log)
		room_log = g_string_new(NULL);
	g_string_truncate(room_log, 0);
	memset(task, 0, sizeof(*task));
	g_assert_cmpint(rs_utrace_thread_init(&task->utrace, &room_os, 7), ==, 0);
}

void task_end(struct task *task)
{
	rs_utrace_report_death(&task->utrace, false, 0);
	rs_utrace_reap(&task->utrace);
	rs_utrace_thread_put(&task->utrace);
	g_string_truncate(room_log, 0);
}

/* ---- the engines ---- */

static uint32_t told(struct rs_utrace_engine *engine, uint32_t action, uint32_t number,
		     const char *more)
{
	struct tracer *tracer = (struct tracer *)engine;

	g_assert_cmpuint(engine->thread->lock, ==, 0);
	g_string_append_printf(room_log, "%c:%s%s ", tracer->name, names[number], more);
	tracer->action = action;
	if (tracer->does[number])
		tracer->does[number](tracer);
	return tracer->returns[number];
}

static uint32_t on_quiesce(uint32_t action, struct rs_utrace_engine *engine, uint32_t event)
{
	guint number = event ? (guint)__builtin_ctz(event) : RS_UTRACE_EVENTS;
	g_autofree char *more = g_strdup_printf("(%s)", names[number]);

	return told(engine, action, RS_UTRACE_EVENT_QUIESCE, more);
}

static uint32_t on_signal(uint32_t action, struct rs_utrace_engine *engine, void *regs,
			  struct rs_utrace_signal *signal)
{
	static const guint numbers[] = {RS_UTRACE_EVENT_SIGNAL,      RS_UTRACE_EVENT_SIGNAL_IGN,
					RS_UTRACE_EVENT_SIGNAL_STOP, RS_UTRACE_EVENT_SIGNAL_TERM,
					RS_UTRACE_EVENT_SIGNAL_CORE, RS_UTRACE_EVENT_SIGNAL};
	g_autofree char *more = g_strdup_printf("=%d", signal->number);
	uint32_t value = told(engine, action, numbers[RS_UTRACE_SIGNAL_ACTION(action) >> 4], more);

	if (((struct tracer *)engine)->sends)
		signal->number = ((struct tracer *)engine)->sends;

	/* Leaves the signal as it is, unless the test says otherwise. */
	return value > RS_UTRACE_ACTION_MASK ? value : value | RS_UTRACE_SIGNAL_ACTION(action);
}

static uint32_t on_clone(uint32_t action, struct rs_utrace_engine *engine, uint64_t flags,
			 struct rs_utrace_thread *child)
{
	g_autofree char *more = g_strdup_printf("=%u,%u", (guint)flags, child->id);

	return told(engine, action, RS_UTRACE_EVENT_CLONE, more);
}

static uint32_t on_jctl(uint32_t action, struct rs_utrace_engine *engine, enum rs_utrace_jctl type,
			bool notify)
{
	g_autofree char *more = g_strdup_printf("=%d,%d", type, notify);

	return told(engine, action, RS_UTRACE_EVENT_JCTL, more);
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	g_autofree char *more = g_strdup_printf("=%s", path);

	return told(engine, action, RS_UTRACE_EVENT_EXEC, more);
}

static uint32_t on_entry(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	return told(engine, action, RS_UTRACE_EVENT_SYSCALL_ENTRY,
		    action & RS_UTRACE_SYSCALL_RESUMED ? "+" : "");
}

static uint32_t on_exit_call(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	return told(engine, action, RS_UTRACE_EVENT_SYSCALL_EXIT, "");
}

static uint32_t on_leaving(uint32_t action, struct rs_utrace_engine *engine, int64_t original,
			   int64_t *code)
{
	g_autofree char *more = g_strdup_printf("=%d,%d", (int)original, (int)*code);

	(*code)++;
	return told(engine, action, RS_UTRACE_EVENT_EXIT, more);
}

static uint32_t on_death(struct rs_utrace_engine *engine, bool group_dead, int32_t signal)
{
	g_autofree char *more = g_strdup_printf("=%d,%d", group_dead, signal);

	return told(engine, 0, RS_UTRACE_EVENT_DEATH, more);
}

static void on_reap(struct rs_utrace_engine *engine)
{
	told(engine, 0, RS_UTRACE_EVENT_REAP, "");
}

static void on_release(struct rs_utrace_engine *engine)
{
	((struct tracer *)engine)->released++;
}

const struct rs_utrace_ops room_ops = {
	.report_quiesce = on_quiesce,
	.report_signal = on_signal,
	.report_clone = on_clone,
	.report_jctl = on_jctl,
	.report_exec = on_exec,
	.report_syscall_entry = on_entry,
	.report_syscall_exit = on_exit_call,
	.report_exit = on_leaving,
	.report_death = on_death,
	.report_reap = on_reap,
	.release = on_release,
};
const struct rs_utrace_ops room_ops_silent = {.release = on_release};

void tracer_attach(struct tracer *tracer, char name, struct task *task, uint32_t events)
{
	struct rs_utrace_engine *engine = NULL;

	memset(tracer, 0, sizeof(*tracer));
	tracer->name = name;
	for (guint i = 0; i < RS_UTRACE_EVENTS; i++)
		tracer->returns[i] = RS_UTRACE_RESUME;
	g_assert_cmpint(rs_utrace_attach(&task->utrace, RS_UTRACE_ATTACH_CREATE, &room_ops, tracer,
					 &tracer->engine, &engine),
			==, 0);
	g_assert_true(engine == &tracer->engine);
	g_assert_cmpint(rs_utrace_set_events(engine, events), ==, 0);
}

int control(struct tracer *tracer, enum rs_utrace_action action)
{
	gboolean was = other;
	int err;

	as_other(TRUE);
	err = rs_utrace_control(&tracer->engine, action);
	as_other(was);
	return err;
}
