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
struct lock sched_lock;
static uint32_t hung;
static const char preempted[] = "preempted";

static void spin(struct lock *lock)
{
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
		rs_pause();
}

bool lock_irq(struct lock *lock)
{
	bool on = rs_irq_save();
	spin(lock);
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

void sched_wake(struct task *task, uint32_t flags)
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
			sched_wake(&tasks[i], WAKE_TIMER);
}

void sched_wake_interruptible(struct task *task)
{
	if (task->state == TASK_SLEEPING || task->state == TASK_WAITING)
		sched_wake(task, 0);
}

void sched_poke(struct task *task)
{
	task->kicked = true;
	if (task->state == TASK_RUNNING && task->cpu != rs_cpu_id())
		rs_ipi(task->cpu);
}

void sched_wakeup(const void *channel)
{
	for (uint32_t i = 0; i < MAX_TASKS; i++)
		if (tasks[i].state == TASK_WAITING && tasks[i].channel == channel)
			sched_wake(&tasks[i], 0);
}

/* ---- switching ---- */

/* On the new stack: the old one may now be used elsewhere, or freed. */
void sched_finish_switch(void)
{
	struct task *prev = rs_cpu_slot_load(1);
	if (prev->state == TASK_DEAD && prev->gone)
		prev->state = TASK_UNUSED;
	__atomic_store_n(&prev->on_cpu, 0, __ATOMIC_RELEASE);
	unlock(&sched_lock);
}

/* Interrupts off, sched_lock held; comes back with the lock released. The state of the current
 * task has been set. */
void sched_leave(const char *why)
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
	if (prev != &q->idle && RS_KTRPOINT(&prev->ktrace, RS_KTRFAC_CSW))
		rs_ktrcsw(&prev->ktrace, prev->state != TASK_READY, why == preempted);
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
	sched_finish_switch();
}

static void reschedule(uint32_t state, const char *why)
{
	bool on = lock_irq(&sched_lock);
	task_current()->state = state;
	sched_leave(why);
	rs_irq_restore(on);
}

void task_yield(void)
{
	reschedule(TASK_RUNNING, "yield");
}

bool task_wait_for(uint32_t state, const void *channel, uint64_t wake_at, struct lock *lock,
		   bool on)
{
	struct task *task = task_current();
	bool ended;

	if (lock != &sched_lock) {
		spin(&sched_lock);
		unlock(lock);
	}
	if (task->interrupted || signal_waits(task)) {
		unlock_irq(&sched_lock, on);
		return false;
	}
	task->channel = channel;
	task->wake_at = wake_at;
	task->state = state;
	sched_leave(state == TASK_SLEEPING ? "sleep" : "wait");
	ended = !task->interrupted && !signal_waits(task);
	rs_irq_restore(on);
	return ended;
}

bool task_sleep(uint64_t ms)
{
	bool on = lock_irq(&sched_lock);

	return task_wait_for(TASK_SLEEPING, NULL, rs_tsc() + ms * (rs_tsc_hz() / 1000), &sched_lock,
			     on);
}

uint32_t sched_shortest_queue(void)
{
	uint32_t best = rs_cpu_id();
	for (uint32_t i = 0; i < rs_cpu_count(); i++)
		if (queues[i].length < queues[best].length)
			best = i;
	return best;
}

/* ---- interrupts ---- */

static void tick(uint64_t ip, bool real)
{
	struct queue *q = this_queue();
	q->ticks++;
	q->last_tick = rs_tsc();
	trace_irq_tick(q->ticks, ip, real);
	if (__atomic_load_n(&hung, __ATOMIC_RELAXED))
		sched_hang();
	spin(&sched_lock);
	wake_sleepers();
	if (++q->current->slice >= SLICE_TICKS && q->first)
		rs_need_resched(true);
	unlock(&sched_lock);
}

/* Interrupts off. What runs is a program's: its registers are those of the frame. */
static void note_frame(struct rs_frame *frame)
{
	if (entry_from_user(frame))
		this_queue()->current->irq_frame = frame;
}

void rs_on_tick(struct rs_frame *frame)
{
	note_frame(frame);
	tick(frame->rip, true);
}

void rs_on_ipi(struct rs_frame *frame)
{
	struct queue *q = this_queue();
	note_frame(frame);
	trace_irq_ipi(++q->ipis, q->length);
	rs_need_resched(true);
}

void rs_on_irq_exit(void)
{
	struct task *task = this_queue()->current;
	struct rs_frame *frame;

	if (!task || task == &this_queue()->idle)
		return;
	frame = task->irq_frame;
	task->irq_frame = NULL;
	if (rs_preempt_depth())
		return;
	if (rs_resched_needed()) {
		spin(&sched_lock);
		sched_leave(preempted);
	}
	if (frame && (rs_load(&task->kicked) || signal_waits(task))) {
		task->frame = frame;
		rs_irq_restore(true);
		entry_leave();
		rs_irq_save();
	}
}

/* With a timer, too: some hypervisors interrupt only a vCPU that leaves its guest by itself. */
bool sched_tick_due(void)
{
	const struct queue *q = this_queue(); /* a stale one costs only a tick */
	return rs_load(&task_current()->kicked) ||
	       rs_tsc() - q->last_tick >= rs_tsc_hz() / TICK_HZ * (q->timer ? 2 : 1);
}

void sched_tick(uint64_t ip)
{
	bool on = rs_irq_save();
	tick(ip, false);
	rs_on_irq_exit();
	rs_irq_restore(on);
}

void sched_safe_point(void)
{
	if (sched_tick_due())
		sched_tick((uint64_t)(uintptr_t)__builtin_return_address(0));
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
		spin(&sched_lock);
		q->idle.state = TASK_RUNNING;
		q->sleeping = false;
		sched_leave("idle"); /* returns when there is nothing to do */
		q->sleeping = !q->first;
		rs_irq_restore(true);
		if (q->sleeping && !rs_resched_needed())
			rs_idle();
		sched_safe_point();
	}
}
