/* SPDX-License-Identifier: MIT */
/* What utrace asks of an OS (ringside/utrace_os.h), for the tasks of the demo guest. */
#include "demo.h"
#include "events.h"

static struct task *task_from(struct rs_utrace_thread *thread)
{
	return (struct task *)thread;
}

static void block(struct rs_utrace_thread *thread)
{
	struct task *task = task_from(thread);
	bool on = lock_irq(&sched_lock);

	while (!task->token) {
		task->state = TASK_TRACED;
		sched_leave("traced");
		lock_irq(&sched_lock);
	}
	task->token = false;
	unlock_irq(&sched_lock, on);
}

static void unblock(struct rs_utrace_thread *thread)
{
	struct task *task = task_from(thread);
	bool on = lock_irq(&sched_lock);

	task->token = true;
	if (task->state == TASK_TRACED)
		sched_wake(task, 0);
	unlock_irq(&sched_lock, on);
}

static void kick(struct rs_utrace_thread *thread, bool interrupt)
{
	struct task *task = task_from(thread);
	bool on = lock_irq(&sched_lock);

	if (interrupt) {
		task->interrupted = true;
		sched_wake_interruptible(task);
	}
	sched_poke(task);
	unlock_irq(&sched_lock, on);
}

/* The frame is the one with which the task is about to return to user mode. */
static void single_step(struct rs_utrace_thread *thread, bool on)
{
	struct task *task = task_from(thread);

	if (on) {
		task->frame->rflags |= RS_FRAME_STEP;
		return;
	}
	task->frame->rflags &= ~(uint64_t)RS_FRAME_STEP;
	/* It came into the kernel for something else before it could make its step. */
	if (task->stepping)
		signal_post(task->pid, SIGTRAP, TRAP_STEP, task->frame->rip);
	task->stepping = false;
}

static const void *current(void)
{
	return task_current();
}

static bool wait(void)
{
	task_yield();
	return !(rs_load(&task_current()->pending) & SIGNAL(SIGKILL));
}

static void release(struct rs_utrace_thread *thread)
{
	struct task *task = task_from(thread);
	bool on = lock_irq(&sched_lock);

	task->gone = true;
	if (task->state == TASK_DEAD && !rs_load_acquire(&task->on_cpu))
		task->state = TASK_UNUSED;
	unlock_irq(&sched_lock, on);
}

/* ---- looking ---- */

static struct rs_utrace_thread *next(uint32_t after)
{
	bool on = lock_irq(&sched_lock);
	struct task *best = NULL;

	for (uint32_t i = 0; i < MAX_TASKS; i++) {
		struct task *task = &tasks[i];
		if (task->state == TASK_UNUSED || task->reaped || task->kernel ||
		    task->pid <= after)
			continue;
		if (!best || task->pid < best->pid)
			best = task;
	}
	if (best)
		rs_utrace_thread_get(&best->utrace);
	unlock_irq(&sched_lock, on);
	return best ? &best->utrace : NULL;
}

static void identify(struct rs_utrace_thread *thread, struct rs_utrace_identity *identity)
{
	struct task *task = task_from(thread);
	bool on = lock_irq(&sched_lock);

	identity->parent = task->parent;
	rs_snprintf(identity->comm, sizeof identity->comm, "%s", task->comm);
	unlock_irq(&sched_lock, on);
}

/* Where the frame has each register, in the order of ringside/registers.h; rsp is not in it. */
#define AT(name) (offsetof(struct rs_frame, name) / 8)
static const uint8_t places[RS_X86_64_REGISTERS] = {
	AT(rax), AT(rcx), AT(rdx), AT(rbx), 0,       AT(rbp), AT(rsi), AT(rdi), AT(r8),
	AT(r9),  AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15), AT(rip), AT(rflags),
};
/* Carry, parity, adjust, zero, sign, direction and overflow. */
#define USER_FLAGS 0xcd5u

static int get_registers(struct rs_utrace_thread *thread, uint64_t *values)
{
	const struct rs_frame *frame = task_from(thread)->frame;

	if (!frame)
		return -RS_ENOENT;
	for (uint32_t i = 0; i < RS_X86_64_REGISTERS; i++)
		values[i] = ((const uint64_t *)frame)[places[i]];
	values[RS_X86_64_RSP] = rs_frame_sp(frame);
	values[RS_X86_64_RFLAGS] &= ~(uint64_t)RS_FRAME_STEP;
	return RS_X86_64_REGISTERS;
}

static int set_registers(struct rs_utrace_thread *thread, const uint64_t *values, uint64_t mask)
{
	struct rs_frame *frame = task_from(thread)->frame;
	uint64_t *words = (uint64_t *)frame;

	if (!frame)
		return -RS_ENOENT;
	if (mask >> RS_X86_64_REGISTERS)
		return -RS_EINVAL;
	if (mask & 1u << RS_X86_64_RSP && values[RS_X86_64_RSP] != rs_frame_sp(frame))
		return -RS_EPERM;
	for (uint32_t i = 0; i < RS_X86_64_RFLAGS; i++)
		if (mask >> i & 1 && i != RS_X86_64_RSP)
			words[places[i]] = values[i];
	if (mask >> RS_X86_64_RFLAGS & 1)
		frame->rflags = (frame->rflags & ~(uint64_t)USER_FLAGS) |
				(values[RS_X86_64_RFLAGS] & USER_FLAGS);
	return 0;
}

static uint32_t read_memory(struct rs_utrace_thread *thread, uint64_t address, void *to,
			    uint32_t size)
{
	return mm_read(task_from(thread)->slot, address, to, size);
}

/* What its program has on its stack: the frame of the kernel lies right below. */
static uint32_t write_stack(const struct task *task, uint64_t address, const void *from,
			    uint32_t size)
{
	uint64_t end = task_stack_end(task);
	if (!task->frame || address < rs_frame_sp(task->frame) || address >= end)
		return 0;
	size = size < end - address ? size : (uint32_t)(end - address);
	memcpy((void *)(uintptr_t)address, from, size);
	return size;
}

static uint32_t write_memory(struct rs_utrace_thread *thread, uint64_t address, const void *from,
			     uint32_t size)
{
	const struct task *task = task_from(thread);
	uint32_t put = write_stack(task, address, from, size);

	return put ? put : mm_write(task->slot, address, from, size);
}

static void get_syscall(struct rs_utrace_thread *thread, struct rs_utrace_syscall *call)
{
	const struct rs_frame *frame = task_from(thread)->frame;

	call->number = frame->rax;
	call->count = 3;
	call->args[0] = frame->rdi;
	call->args[1] = frame->rsi;
	call->args[2] = frame->rdx;
}

static int set_syscall(struct rs_utrace_thread *thread, const struct rs_utrace_syscall *call)
{
	struct rs_frame *frame = task_from(thread)->frame;
	uint64_t *const args[] = {&frame->rdi, &frame->rsi, &frame->rdx};

	frame->rax = call->number;
	for (uint32_t i = 0; i < call->count && i < 3; i++)
		*args[i] = call->args[i];
	return 0;
}

const struct rs_utrace_os demo_utrace = {
	.block = block,
	.unblock = unblock,
	.kick = kick,
	.single_step = single_step,
	.current = current,
	.wait = wait,
	.release = release,
	.next = next,
	.identify = identify,
	.get_registers = get_registers,
	.set_registers = set_registers,
	.read_memory = read_memory,
	.write_memory = write_memory,
	.get_syscall = get_syscall,
	.set_syscall = set_syscall,
};
