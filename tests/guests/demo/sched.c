/* SPDX-License-Identifier: MIT */
/* Tasks, a run queue for each vCPU, preemption by the tick. An idle vCPU steals tasks. */
#include "demo.h"
#include "events.h"

struct queue {
	struct task *first, *last;
	struct task *current;
	struct task idle;
	uint32_t length;
	uint32_t ticks, ipis;
	uint64_t last_tick; /* TSC, for ticks at safe points */
	bool timer;
	bool sleeping; /* in rs_idle(): wants an IPI when work comes */
} __attribute__((aligned(64)));

static struct queue queues[MAX_CPUS];
static struct task tasks[MAX_TASKS];
static uint8_t stacks[MAX_TASKS][STACK_SIZE] __attribute__((aligned(4096)));
static struct lock sched_lock;
static uint32_t hung;

bool lock_irq(struct lock *lock)
{
	bool on = rs_irq_save();
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
		rs_pause();
	return on;
}

static void unlock(struct lock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

void unlock_irq(struct lock *lock, bool on)
{
	unlock(lock);
	rs_irq_restore(on);
}

/* This vCPU's; interrupts off, or the caller is the idle task. */
static struct queue *this_queue(void)
{
	return &queues[rs_cpu_id()];
}

struct task *task_current(void)
{
	return rs_cpu_slot_load(0);
}

/* ---- queues; sched_lock held ---- */

static void push(struct queue *q, struct task *task)
{
	task->next = NULL;
	if (q->last)
		q->last->next = task;
	else
		q->first = task;
	q->last = task;
	q->length++;
}

/* The first task whose stack nobody uses (on_cpu), or `own`. */
static struct task *take(struct queue *q, const struct task *own)
{
	struct task *before = NULL;
	for (struct task *t = q->first; t; before = t, t = t->next) {
		if (t != own && __atomic_load_n(&t->on_cpu, __ATOMIC_ACQUIRE))
			continue;
		if (before)
			before->next = t->next;
		else
			q->first = t->next;
		if (q->last == t)
			q->last = before;
		q->length--;
		return t;
	}
	return NULL;
}

static struct task *steal(uint32_t cpu)
{
	for (uint32_t i = 1; i < rs_cpu_count(); i++) {
		uint32_t from = (cpu + i) % rs_cpu_count();
		struct task *task = take(&queues[from], NULL);
		if (task) {
			trace_sched_steal(task->pid, from, cpu);
			return task;
		}
	}
	return NULL;
}

static void wake(struct task *task, uint32_t flags)
{
	uint32_t here = rs_cpu_id();
	struct queue *q = &queues[task->cpu];
	task->state = TASK_READY;
	push(q, task);
	trace_sched_wakeup(task->pid, task->cpu, flags | (task->cpu != here ? WAKE_REMOTE : 0));
	if (task->cpu != here && q->sleeping)
		rs_ipi(task->cpu);
}

static void wake_sleepers(void)
{
	uint64_t now = rs_tsc();
	for (uint32_t i = 0; i < MAX_TASKS; i++)
		if (tasks[i].state == TASK_SLEEPING && tasks[i].wake_at <= now)
			wake(&tasks[i], WAKE_TIMER);
}

/* ---- switching ---- */

/* On the new stack: the old one may now be used elsewhere, or freed. */
static void finish_switch(void)
{
	struct task *prev = rs_cpu_slot_load(1);
	if (prev->state == TASK_DEAD && prev->pid == 0)
		prev->state = TASK_UNUSED;
	__atomic_store_n(&prev->on_cpu, 0, __ATOMIC_RELEASE);
	unlock(&sched_lock);
}

/* Interrupts off, sched_lock held; comes back with the lock released. The state of the current
 * task has been set. */
static void schedule(const char *why)
{
	struct queue *q = this_queue();
	struct task *prev = q->current;

	rs_need_resched(false);
	if (prev->state == TASK_RUNNING && prev != &q->idle) {
		prev->state = TASK_READY;
		push(q, prev);
	}
	struct task *next = take(q, prev);
	if (!next)
		next = steal(rs_cpu_id());
	if (!next)
		next = &q->idle;
	if (next == prev) {
		prev->state = TASK_RUNNING;
		prev->slice = 0;
		unlock(&sched_lock);
		return;
	}
	trace_sched_switch(prev->pid, prev->comm, prev->state, next->pid, next->comm, why);
	next->state = TASK_RUNNING;
	next->cpu = rs_cpu_id();
	next->slice = 0;
	next->switches++;
	next->on_cpu = 1;
	q->current = next;
	*rs_cpu_slot(0) = next;
	*rs_cpu_slot(1) = prev;
	rs_set_task(next->pid, next->pid, next->comm);
	mm_switch_in();
	rs_switch(&prev->sp, next->sp);
	finish_switch();
}

static void reschedule(uint32_t state, const char *why)
{
	bool on = lock_irq(&sched_lock);
	task_current()->state = state;
	schedule(why);
	rs_irq_restore(on);
}

void task_yield(void)
{
	reschedule(TASK_RUNNING, "yield");
}

void task_sleep(uint64_t ms)
{
	bool on = lock_irq(&sched_lock);
	struct task *task = task_current();
	task->wake_at = rs_tsc() + ms * (rs_tsc_hz() / 1000);
	task->state = TASK_SLEEPING;
	schedule("sleep");
	rs_irq_restore(on);
}

/* ---- life of a task ---- */

static void task_entry(void *arg)
{
	struct task *task = arg;
	finish_switch();
	rs_irq_restore(true);
	task->run(task->arg);
	task_exit(0);
}

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

static uint32_t shortest_queue(void)
{
	uint32_t best = rs_cpu_id();
	for (uint32_t i = 0; i < rs_cpu_count(); i++)
		if (queues[i].length < queues[best].length)
			best = i;
	return best;
}

uint32_t task_spawn(const char *comm, void (*run)(uint64_t arg), uint64_t arg)
{
	bool on = lock_irq(&sched_lock);
	struct task *task = NULL;
	for (uint32_t i = 0; i < MAX_TASKS && !task; i++)
		if (tasks[i].state == TASK_UNUSED && !tasks[i].on_cpu)
			task = &tasks[i];
	if (!task) {
		unlock_irq(&sched_lock, on);
		return 0;
	}
	uint32_t slot = (uint32_t)(task - tasks), pid = run == workload_init_task ? 1 : free_pid();
	memset(task, 0, sizeof *task);
	task->pid = pid;
	rs_snprintf(task->comm, sizeof task->comm, "%s", comm);
	task->parent = rs_pid();
	task->slot = slot;
	task->cpu = shortest_queue();
	task->run = run;
	task->arg = arg;
	task->sp = rs_stack_init(stacks[slot], STACK_SIZE, task_entry, task);
	trace_task_create(task->parent, pid, task->comm);
	wake(task, 0);
	unlock_irq(&sched_lock, on);
	return pid;
}

void task_exit(int32_t code)
{
	struct task *task = task_current();
	trace_task_exit(task->pid, code, task->switches);
	lock_irq(&sched_lock);
	task->code = code;
	for (uint32_t i = 0; i < MAX_TASKS; i++)
		if (tasks[i].state == TASK_WAITING && tasks[i].wait_pid == task->pid)
			wake(&tasks[i], WAKE_CHILD);
	task->state = TASK_DEAD;
	schedule("exit");
	__builtin_unreachable();
}

static struct task *child(uint32_t parent, uint32_t pid)
{
	for (uint32_t i = 0; i < MAX_TASKS; i++)
		if (tasks[i].state != TASK_UNUSED && tasks[i].pid == pid &&
		    tasks[i].parent == parent)
			return &tasks[i];
	return NULL;
}

int32_t task_wait(uint32_t pid)
{
	struct task *self = task_current();
	for (;;) {
		bool on = lock_irq(&sched_lock);
		struct task *task = child(self->pid, pid);
		if (task && task->state != TASK_DEAD) {
			self->wait_pid = pid;
			self->state = TASK_WAITING;
			schedule("wait");
			rs_irq_restore(on);
			continue;
		}
		int32_t code = task ? task->code : -1;
		if (task) { /* reaped: the pid is free now, the stack once nobody uses it */
			task->pid = 0;
			task->parent = 0;
			if (!__atomic_load_n(&task->on_cpu, __ATOMIC_ACQUIRE))
				task->state = TASK_UNUSED;
		}
		unlock_irq(&sched_lock, on);
		return code;
	}
}

/* ---- interrupts ---- */

static void tick(uint64_t ip, bool real)
{
	struct queue *q = this_queue();
	q->ticks++;
	trace_irq_tick(q->ticks, ip, real);
	if (__atomic_load_n(&hung, __ATOMIC_RELAXED))
		sched_hang();
	while (__atomic_exchange_n(&sched_lock.held, 1, __ATOMIC_ACQUIRE))
		rs_pause();
	wake_sleepers();
	if (++q->current->slice >= SLICE_TICKS && q->first)
		rs_need_resched(true);
	unlock(&sched_lock);
}

void rs_on_tick(struct rs_frame *frame)
{
	tick(frame->rip, true);
}

void rs_on_ipi(struct rs_frame *frame)
{
	struct queue *q = this_queue();
	trace_irq_ipi(++q->ipis, q->length);
	rs_need_resched(true);
}

void rs_on_irq_exit(void)
{
	struct queue *q = this_queue();
	if (!rs_resched_needed() || rs_preempt_depth() || !q->current || q->current == &q->idle)
		return;
	while (__atomic_exchange_n(&sched_lock.held, 1, __ATOMIC_ACQUIRE))
		rs_pause();
	schedule("preempted");
}

void safe_point(void)
{
	struct queue *q = this_queue(); /* a stale one costs only a tick */
	if (q->timer || rs_tsc() - q->last_tick < rs_tsc_hz() / TICK_HZ)
		return;
	bool on = rs_irq_save();
	q = this_queue();
	q->last_tick = rs_tsc();
	tick((uint64_t)(uintptr_t)__builtin_return_address(0), false);
	rs_on_irq_exit();
	rs_irq_restore(on);
}

void sched_hang(void)
{
	rs_irq_save();
	__atomic_store_n(&hung, 1, __ATOMIC_RELAXED);
	for (;;)
		rs_pause();
}

/* ---- start ---- */

void sched_init(void)
{
	for (uint32_t i = 0; i < MAX_TASKS; i++)
		tasks[i].state = TASK_UNUSED;
	for (uint32_t i = 0; i < MAX_CPUS; i++) {
		struct task *idle = &queues[i].idle;
		rs_snprintf(idle->comm, sizeof idle->comm, "idle/%u", i);
		idle->cpu = i;
		idle->on_cpu = 1;
		queues[i].current = idle;
	}
}

void sched_run(uint32_t cpu)
{
	struct queue *q = &queues[cpu];
	bool on = rs_irq_save();
	*rs_cpu_slot(0) = &q->idle;
	*rs_cpu_slot(1) = &q->idle;
	rs_set_task(0, 0, q->idle.comm);
	rs_irq_restore(on);
	q->timer = rs_tick_start(TICK_HZ);
	if (!q->timer && cpu == 0)
		rs_puts("demo: no timer interrupt here: ticking at safe points\n");
	for (;;) {
		rs_irq_save();
		while (__atomic_exchange_n(&sched_lock.held, 1, __ATOMIC_ACQUIRE))
			rs_pause();
		q->idle.state = TASK_RUNNING;
		q->sleeping = false;
		schedule("idle"); /* returns when there is nothing to do */
		q->sleeping = !q->first;
		rs_irq_restore(true);
		if (q->sleeping && !rs_resched_needed())
			rs_idle();
		safe_point();
	}
}
