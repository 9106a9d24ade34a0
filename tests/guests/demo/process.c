/* SPDX-License-Identifier: MIT */
/* The life of tasks: made, another program, exit, reaped by the parent. */
#include "demo.h"
#include "events.h"

struct task tasks[MAX_TASKS];
static uint8_t stacks[MAX_TASKS][STACK_SIZE] __attribute__((aligned(4096)));

uint64_t task_stack_end(const struct task *task)
{
	return (uint64_t)(uintptr_t)stacks[task->slot] + STACK_SIZE;
}

struct task *task_of(uint32_t pid)
{
	for (uint32_t i = 0; i < MAX_TASKS; i++)
		if (tasks[i].state != TASK_UNUSED && !tasks[i].reaped && tasks[i].pid == pid)
			return &tasks[i];
	return NULL;
}

/* ---- the first instructions ---- */

/* SYS_START is the first way into the kernel, and so the first way out. */
USER static void begin_user(struct task *task)
{
	rs_syscall(SYS_START, 0, 0, 0);
	task->run(task->arg);
	rs_syscall(SYS_EXIT, 0, 0, 0);
	__builtin_unreachable();
}

static void begin(void *arg)
{
	struct task *task = arg;
	sched_finish_switch();
	rs_irq_restore(true);
	if (!task->kernel)
		begin_user(task);
	task->run(task->arg);
	task_exit(0, 0);
}

static void begin_again(void *arg)
{
	begin_user(arg);
}

/* ---- clone ---- */

/* The lowest free pid. So pids are reused soon, which a tracer must handle. */
static uint32_t free_pid(void)
{
	for (uint32_t pid = FIRST_PID;; pid++) {
		bool taken = false;
		for (uint32_t i = 0; i < MAX_TASKS; i++)
			taken = taken || (tasks[i].state != TASK_UNUSED && tasks[i].pid == pid);
		if (!taken)
			return pid;
	}
}

/* sched_lock held. The task does not run yet, but others find it. */
static struct task *make(const char *comm, void (*run)(uint64_t arg), uint64_t arg, bool kernel)
{
	struct task *task = NULL;
	uint32_t slot, pid;
	for (uint32_t i = 0; i < MAX_TASKS && !task; i++)
		if (tasks[i].state == TASK_UNUSED && !tasks[i].on_cpu)
			task = &tasks[i];
	if (!task)
		return NULL;
	slot = (uint32_t)(task - tasks);
	pid = run == workload_init_task ? 1 : free_pid();
	memset(task, 0, sizeof *task);
	task->pid = pid;
	task->state = TASK_NEW;
	task->kernel = kernel;
	rs_snprintf(task->comm, sizeof task->comm, "%s", comm);
	task->parent = rs_pid();
	task->slot = slot;
	task->run = run;
	task->arg = arg;
	task->ktrace_proc.pid = task->ktrace_proc.pgid = pid;
	task->ktrace.proc = &task->ktrace_proc;
	task->sp = rs_stack_init(stacks[slot], STACK_SIZE, begin, task);
	rs_utrace_thread_init(&task->utrace, &demo_utrace, pid);
	return task;
}

static uint32_t spawn(const char *comm, void (*run)(uint64_t arg), uint64_t arg, bool kernel)
{
	struct task *self = task_current(), *task;
	bool on = lock_irq(&sched_lock);
	uint32_t pid;

	task = make(comm, run, arg, kernel);
	unlock_irq(&sched_lock, on);
	if (!task)
		return 0;
	pid = task->pid;
	file_inherit(task);
	if (pid == 1)
		demo_ktrace_option();
	trace_task_create(task->parent, pid, task->comm);
	rs_agent_cmdline(pid, pid, task->comm);
	if (self && self->pid) {
		task->ktrace_proc.pgid = self->ktrace_proc.pgid;
		rs_ktrace_fork(&self->ktrace_proc, &task->ktrace_proc);
		rs_utrace_report_clone(&self->utrace, 0, &task->utrace);
	}
	on = lock_irq(&sched_lock);
	task->cpu = sched_shortest_queue();
	sched_wake(task, 0);
	unlock_irq(&sched_lock, on);
	return pid;
}

uint32_t task_spawn(const char *comm, void (*run)(uint64_t arg), uint64_t arg)
{
	return spawn(comm, run, arg, false);
}

uint32_t task_spawn_kernel(const char *comm, void (*run)(uint64_t arg), uint64_t arg)
{
	return spawn(comm, run, arg, true);
}

/* ---- exec ---- */

const char *path_name(const char *path)
{
	const char *name = path;
	for (const char *c = path; *c; c++)
		if (*c == '/')
			name = c + 1;
	return name;
}

static void name_task(struct task *task, const char *name)
{
	bool on = lock_irq(&sched_lock);
	rs_snprintf(task->comm, sizeof task->comm, "%s", name);
	rs_set_task(task->pid, task->pid, task->comm);
	rs_agent_cmdline(task->pid, task->pid, task->comm);
	unlock_irq(&sched_lock, on);
}

static void trace_exec(struct task *task, const char *path)
{
	static const char environment[] = "PATH=/bin\0HOME=/";
	char strings[96];
	uint32_t n = (uint32_t)rs_snprintf(strings, sizeof strings, "%s", path) + 1;
	n += (uint32_t)rs_snprintf(strings + n, sizeof strings - n, "%s", task->args) + 1;
	if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_EXECARGS))
		rs_ktrexecargs(&task->ktrace, strings, n);
	if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_EXECENV))
		rs_ktrexecenv(&task->ktrace, environment, sizeof environment);
}

int64_t task_exec(const char *path, const char *args)
{
	struct task *task = task_current();
	const struct node *node = file_find(path);
	const char *before = task->image ? task->image->emulation : NULL;
	uint64_t unused;

	if (!node || !node->run)
		return node ? -RS_EACCES : -RS_ENOENT;
	rs_snprintf(task->args, sizeof task->args, "%s", args);
	trace_exec(task, node->path);
	rs_ktrace_exec(&task->ktrace_proc, false);
	if (node->emulation != before && RS_KTRPOINT(&task->ktrace, RS_KTRFAC_EMUL))
		rs_ktremul(&task->ktrace, node->emulation ? node->emulation : "demo");
	name_task(task, path_name(node->path));
	memset(task->handlers, 0, sizeof task->handlers);
	task->image = node;
	task->run = node->run;
	task->arg = (uint64_t)(uintptr_t)task->args;
	task->execed = true;
	task->frame = NULL;
	/* Nothing on this stack is used any more. */
	rs_switch(&unused, rs_stack_init(stacks[task->slot], STACK_SIZE, begin_again, task));
	__builtin_unreachable();
}

/* ---- exit ---- */

/* On any task. Afterwards its slot may be another's, unless somebody has a reference. */
static void reap(struct task *task)
{
	rs_utrace_reap(&task->utrace);
	rs_utrace_thread_put(&task->utrace);
}

/* The next child of a task that exits is nobody's. Returns it if it has exited before. */
static struct task *let_go_of_children(struct task *task)
{
	struct task *dead = NULL;
	bool on = lock_irq(&sched_lock);
	for (uint32_t i = 0; i < MAX_TASKS && !dead; i++) {
		struct task *child = &tasks[i];
		if (child->state == TASK_UNUSED || child->reaped || child->parent != task->pid)
			continue;
		child->parent = 0;
		if (child->exited) {
			child->reaped = true;
			dead = child;
		}
	}
	unlock_irq(&sched_lock, on);
	return dead;
}

void task_exit(int32_t code, int32_t signal)
{
	struct task *task = task_current(), *child;
	code = (int32_t)rs_utrace_report_exit(&task->utrace, code);
	file_close_all(task);
	mm_release(task->slot, task->pid);
	while ((child = let_go_of_children(task)))
		reap(child);
	trace_task_exit(task->pid, code, task->switches);
	rs_ktrace_exit(&task->ktrace_proc);
	rs_utrace_report_death(&task->utrace, true, signal);
	lock_irq(&sched_lock);
	if (!task->parent) {
		task->reaped = true;
		unlock_irq(&sched_lock, true);
		reap(task);
		lock_irq(&sched_lock);
	}
	task->code = code;
	task->exited = true;
	sched_wakeup(task_of(task->parent));
	task->state = TASK_DEAD;
	sched_leave("exit");
	__builtin_unreachable();
}

static struct task *child_of(uint32_t parent, uint32_t pid)
{
	struct task *task = task_of(pid);
	return task && task->parent == parent ? task : NULL;
}

int64_t task_wait(uint32_t pid)
{
	struct task *self = task_current();
	for (;;) {
		bool on = lock_irq(&sched_lock);
		struct task *task = child_of(self->pid, pid);
		if (task && !task->exited) {
			if (!task_wait_for(TASK_WAITING, self, 0, &sched_lock, on))
				return -EINTR;
			continue;
		}
		int64_t code = task ? task->code : -ECHILD;
		if (task)
			task->reaped = true;
		unlock_irq(&sched_lock, on);
		if (task)
			reap(task);
		return code;
	}
}
