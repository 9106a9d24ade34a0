/* SPDX-License-Identifier: MIT */
/* From user mode into the kernel and back: system calls, faults, what happens on the way out. */
#include "demo.h"
#include "events.h"

/* The linker makes these: where the functions marked USER are. */
extern const char __start_user_text[], __stop_user_text[];

bool entry_from_user(const struct rs_frame *frame)
{
	return frame->rip - (uintptr_t)__start_user_text <
	       (uintptr_t)(__stop_user_text - __start_user_text);
}

/*
 * Signals come before engines, as a signal may call engines. Who kicks the task wants both to be
 * looked at once more. A kick that comes after the last look is seen at the next tick.
 */
void entry_leave(void)
{
	struct task *task = task_current();
	do {
		rs_store(&task->kicked, false);
		signal_deliver(task);
		rs_store(&task->interrupted, false);
		rs_utrace_resume(&task->utrace);
	} while (rs_load(&task->kicked) || signal_waits(task));
	task->stepping = task->frame->rflags & RS_FRAME_STEP;
	task->frame = NULL;
}

/* ---- system calls ---- */

static int64_t set_handler(uint64_t number, uint64_t handler)
{
	struct task *task = task_current();
	if (number == SIGKILL || number == SIGSTOP || !number || number >= SIGNALS)
		return -RS_EINVAL;
	task->handlers[number] = (void (*)(int))(uintptr_t)handler;
	return 0;
}

static int64_t exec(uint64_t a, uint64_t b)
{
	char path[48], args[sizeof((struct task *)0)->args];
	if (!mm_user_text(a, path, sizeof path) || !mm_user_text(b, args, sizeof args))
		return -EFAULT;
	return task_exec(path, args);
}

static int64_t mark(uint64_t label, uint64_t data, uint64_t size)
{
	char text[RS_KTR_USER_LABEL + 1];
	struct task *task = task_current();
	if (!mm_user_text(label, text, sizeof text) || !mm_user(data, size))
		return -EFAULT;
	if (!RS_KTRPOINT(&task->ktrace, RS_KTRFAC_USER))
		return 0;
	return rs_ktruser(&task->ktrace, text, (const void *)(uintptr_t)data, size);
}

static int64_t handle_file(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	char path[48];
	if (number == SYS_READ || number == SYS_WRITE) {
		if (!mm_user(b, c))
			return -EFAULT;
		return number == SYS_READ ? file_read(a, (void *)(uintptr_t)b, c)
					  : file_write(a, (const void *)(uintptr_t)b, c);
	}
	if (number == SYS_CLOSE)
		return file_close(a);
	if (number == SYS_PIPE)
		return mm_user(a, 8) ? file_pipe((int32_t *)(uintptr_t)a) : -EFAULT;
	if (!mm_user_text(a, path, sizeof path))
		return -EFAULT;
	if (number == SYS_OPEN)
		return file_open(path);
	if (!mm_user(b, sizeof(struct file_status)))
		return -EFAULT;
	return file_status(path, (struct file_status *)(uintptr_t)b);
}

static int64_t handle(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	switch (number) {
	case SYS_GETPID:
		return rs_pid();
	case SYS_SLEEP:
		return task_sleep(a) ? 0 : -EINTR;
	case SYS_SPAWN:
		return workload_spawn(a, b);
	case SYS_WAIT:
		return task_wait((uint32_t)a);
	case SYS_YIELD:
		task_yield();
		return 0;
	case SYS_TIME:
		return (int64_t)(rs_tsc() / (rs_tsc_hz() / 1000000)); /* microseconds */
	case SYS_RELEASE:
		return mm_release(task_current()->slot, rs_pid());
	case SYS_KILL:
		return signal_post((uint32_t)a, (int)b, 0, 0);
	case SYS_SIGACTION:
		return set_handler(a, b);
	case SYS_EXEC:
		return exec(a, b);
	case SYS_MARK:
		return mark(a, b, c);
	case SYS_EXIT:
		task_exit((int32_t)(a & 0xff), 0);
	case SYS_READ:
	case SYS_WRITE:
	case SYS_OPEN:
	case SYS_CLOSE:
	case SYS_STAT:
	case SYS_PIPE:
		return handle_file(number, a, b, c);
	default:
		return -RS_ENOSYS;
	}
}

static void trace_return(struct task *task, uint64_t number, int64_t ret)
{
	bool failed = ret < 0 && ret > -4096;
	if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_SYSRET))
		rs_ktrsysret(&task->ktrace, (int64_t)number, failed ? (int)-ret : 0,
			     failed ? -1 : ret);
	trace_syscalls_exit(number, ret);
}

/* Engines see and change what the registers say: before, number and arguments; then the result. */
static void make_call(struct task *task, struct rs_frame *frame)
{
	uint64_t args[3] = {frame->rdi, frame->rsi, frame->rdx};
	bool run;

	trace_syscalls_enter(frame->rax, args);
	run = rs_utrace_report_syscall_entry(&task->utrace, frame);
	if (run) {
		const uint64_t asked[3] = {frame->rdi, frame->rsi, frame->rdx};
		uint64_t number = frame->rax;

		if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_SYSCALL))
			rs_ktrsyscall(&task->ktrace, (int64_t)number, sizeof asked, asked);
		frame->rax = (uint64_t)handle(number, asked[0], asked[1], asked[2]);
		trace_return(task, number, (int64_t)frame->rax);
	}
	rs_utrace_report_syscall_exit(&task->utrace, frame);
}

/* The new program is there, and its registers are those of the frame. */
static void finish_exec(struct task *task, struct rs_frame *frame)
{
	task->execed = false;
	rs_utrace_report_exec(&task->utrace, task->image->path, frame);
	trace_return(task, SYS_EXEC, 0);
	rs_utrace_report_syscall_exit(&task->utrace, frame);
}

uint64_t rs_on_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c, struct rs_frame *frame)
{
	struct task *task = task_current();
	task->frame = frame;
	if (number == SYS_TICK) {
		sched_tick(frame->rip);
	} else if (number == SYS_START) {
		frame->rax = 0;
		if (task->execed)
			finish_exec(task, frame);
	} else {
		make_call(task, frame);
		sched_safe_point();
	}
	/* One instruction was asked for, and it was `syscall`. */
	if (task->stepping) {
		task->stepping = false;
		signal_post(task->pid, SIGTRAP, TRAP_STEP, frame->rip);
	}
	entry_leave();
	return frame->rax;
}

/* ---- faults ---- */

/* A step: outside of programs, in what they share with the kernel, it goes on. */
static void trap(struct rs_frame *frame)
{
	struct task *task = task_current();
	if (!entry_from_user(frame))
		return;
	task->stepping = false;
	task->frame = frame;
	signal_post(task->pid, SIGTRAP, TRAP_STEP, frame->rip);
	entry_leave();
}

bool rs_on_fault(struct rs_frame *frame)
{
	if (frame->vector == RS_VECTOR_DEBUG) {
		trap(frame);
		return true;
	}
	if (mm_fault(frame))
		return true;
	if (!entry_from_user(frame))
		return false;
	task_current()->frame = frame;
	signal_post(task_current()->pid, SIGSEGV, 1, frame->fault_address);
	entry_leave();
	return true;
}
