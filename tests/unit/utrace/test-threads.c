/* SPDX-License-Identifier: MIT */
/*
 * Threads of an OS, which live, stop, go on, are killed, die and are reaped, while tracers attach,
 * ask, stop, examine, detach and look up, all at random and each on a pthread of its own. Built
 * with ThreadSanitizer, and again with ASan/UBSan. All memory is freed as soon as the room gives it
 * back, so that who uses it later is found. What engines are promised is checked in their
 * callbacks, and when they are released. One more tracer is the task that serves the host's
 * engines. Plain C: GLib is not built with sanitizers.
 */
#include "threads.h"

#include <pthread.h>
#include <ringside/utrace_examine.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#define TRACERS 3u
#define LIVES 150u  /* in each slot, one after the other */
#define STEPS 40u   /* of a life, at least */
#define ATTACHED 3u /* engines that a life has had, at least */

#define LAST_EVENTS (RS_UTRACE_EVENT(DEATH) | RS_UTRACE_EVENT(REAP))

struct task {
	struct rs_utrace_thread utrace;
	sem_t park;
	uint64_t ran;     /* how often it was in user mode */
	uint64_t rax;     /* what user mode has; its own accesses are not atomic */
	uint64_t last;    /* number of the engine that was called last for this EXEC */
	uint32_t killed;  /* by the OS */
	uint32_t engines; /* that it has had */
	uint32_t may_reap;
	bool steps;
};

struct engine {
	struct rs_utrace_engine utrace;
	uint32_t busy;     /* a callback is running */
	uint32_t over;     /* none may come any more */
	uint32_t may_stop; /* callbacks may return STOP */
	uint32_t deaths, reaps, releases;
	uint32_t certain; /* it has DEATH and REAP for good: both must come */
	uint32_t left;    /* it has detached itself in a callback */
	uint32_t dice;
};

static struct slot {
	pthread_mutex_t lock;
	struct task
		*task; /* alive, or at least not reaped; has a reference as long as it is here */
} slots[SLOTS];

static uint32_t living = SLOTS; /* slots in which somebody still lives */
static uint32_t tasks_made, tasks_released, engines_made, engines_released;
static uint32_t children, cores, stops_seen, kills, waits, too_late, in_progress, looks;
static __thread struct task *myself;
static __thread char identity;

static void count(uint32_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---- the OS ---- */

static void os_block(struct rs_utrace_thread *thread)
{
	struct task *task = (struct task *)thread;

	CHECK(myself == task);
	count(&stops_seen);
	while (sem_wait(&task->park))
		;
}

static void os_unblock(struct rs_utrace_thread *thread)
{
	sem_post(&((struct task *)thread)->park);
}

static void os_kick(struct rs_utrace_thread *thread, bool interrupt)
{
	/* All pass a safe point soon. Also of the dead, the struct must be there. */
	CHECK(thread->id && thread->id <= 2 * SLOTS);
}

static void os_step(struct rs_utrace_thread *thread, bool on)
{
	CHECK(&myself->utrace == thread);
	myself->steps = on;
}

static const void *os_current(void)
{
	return &identity;
}

static bool os_wait(void)
{
	static uint32_t calls;

	count(&waits);
	sched_yield();
	return __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 64 != 63;
}

static void os_release(struct rs_utrace_thread *thread)
{
	struct task *task = (struct task *)thread;

	CHECK(!thread->engines);
	sem_destroy(&task->park);
	count(&tasks_released);
	free(task);
}

/* Several may look at once. None while the thread is in user mode. */
static int os_get_registers(struct rs_utrace_thread *thread, uint64_t *values)
{
	values[RS_X86_64_RAX] = __atomic_load_n(&((struct task *)thread)->rax, __ATOMIC_RELAXED);
	sched_yield();
	return RS_X86_64_REGISTERS;
}

static int os_set_registers(struct rs_utrace_thread *thread, const uint64_t *values, uint64_t mask)
{
	CHECK(mask == 1u << RS_X86_64_RAX);
	sched_yield();
	__atomic_store_n(&((struct task *)thread)->rax, values[RS_X86_64_RAX], __ATOMIC_RELAXED);
	return 0;
}

static void os_get_syscall(struct rs_utrace_thread *thread, struct rs_utrace_syscall *call)
{
	call->number = __atomic_load_n(&((struct task *)thread)->rax, __ATOMIC_RELAXED);
}

static int os_set_syscall(struct rs_utrace_thread *thread, const struct rs_utrace_syscall *call)
{
	__atomic_store_n(&((struct task *)thread)->rax, call->number, __ATOMIC_RELAXED);
	return 0;
}

static uint32_t os_read_memory(struct rs_utrace_thread *thread, uint64_t address, void *to,
			       uint32_t size)
{
	uint64_t rax = __atomic_load_n(&((struct task *)thread)->rax, __ATOMIC_RELAXED);

	CHECK(address == 0 && size == sizeof(rax));
	memcpy(to, &rax, sizeof(rax));
	return size;
}

/* The thread of a slot, with a reference. NULL: nobody lives there now. */
static struct task *take(struct slot *slot)
{
	struct task *task;

	pthread_mutex_lock(&slot->lock);
	task = slot->task;
	if (task)
		rs_utrace_thread_get(&task->utrace);
	pthread_mutex_unlock(&slot->lock);
	return task;
}

static struct rs_utrace_thread *os_next(uint32_t after)
{
	for (uint32_t i = after; i < SLOTS; i++) {
		struct task *task = take(&slots[i]);

		if (task)
			return &task->utrace;
	}
	return NULL;
}

static const struct rs_utrace_os os = {
	.next = os_next,
	.read_memory = os_read_memory,
	.get_syscall = os_get_syscall,
	.set_syscall = os_set_syscall,
	.get_registers = os_get_registers,
	.set_registers = os_set_registers,
	.block = os_block,
	.unblock = os_unblock,
	.kick = os_kick,
	.single_step = os_step,
	.block_step = os_step,
	.current = os_current,
	.wait = os_wait,
	.release = os_release,
};

/* ---- engines ---- */

static void enter(struct engine *e)
{
	CHECK(!__atomic_exchange_n(&e->busy, 1, __ATOMIC_ACQ_REL));
	CHECK(!rs_load_acquire(&e->over));
	CHECK(!rs_load(&e->reaps));
	CHECK(!rs_load(&e->releases));
}

static uint32_t leave(struct engine *e, uint32_t action)
{
	CHECK(!rs_load_acquire(&e->over));
	rs_store_release(&e->busy, 0);
	return action;
}

static uint32_t any_action(struct engine *e)
{
	if (rs_load_acquire(&e->may_stop) && !roll(&e->dice, 3))
		return RS_UTRACE_STOP;
	switch (roll(&e->dice, 16)) {
	case 0:
		if (rs_load(&e->certain))
			return RS_UTRACE_RESUME;
		rs_store(&e->left, 1);
		return RS_UTRACE_DETACH;
	case 1:
		return RS_UTRACE_REPORT;
	case 2:
		return RS_UTRACE_INTERRUPT;
	case 3:
		return RS_UTRACE_SINGLESTEP;
	default:
		return RS_UTRACE_RESUME;
	}
}

static uint32_t act(struct rs_utrace_engine *engine)
{
	struct engine *e = (struct engine *)engine;
	uint32_t action;

	enter(e);
	CHECK(&myself->utrace == engine->thread);
	CHECK(!rs_load(&e->deaths));
	if (!roll(&e->dice, 8))
		CHECK(rs_utrace_barrier(engine) == -RS_EINPROGRESS);
	if (!roll(&e->dice, 8))
		sched_yield();
	action = any_action(e);
	return leave(e, action);
}

static uint32_t on_quiesce(uint32_t action, struct rs_utrace_engine *engine, uint32_t event)
{
	return act(engine);
}

static uint32_t on_signal(uint32_t action, struct rs_utrace_engine *engine, void *regs,
			  struct rs_utrace_signal *signal)
{
	return act(engine);
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	/* In the order of attaching. */
	CHECK(engine->number > myself->last);
	myself->last = engine->number;
	return act(engine);
}

static uint32_t on_syscall(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	return act(engine);
}

static uint32_t on_leaving(uint32_t action, struct rs_utrace_engine *engine, int64_t original,
			   int64_t *code)
{
	return act(engine);
}

static uint32_t on_death(struct rs_utrace_engine *engine, bool group_dead, int32_t signal)
{
	struct engine *e = (struct engine *)engine;

	enter(e);
	CHECK(&myself->utrace == engine->thread);
	CHECK(!rs_load(&e->deaths));
	count(&e->deaths);
	/* Reaping must wait for this. */
	sched_yield();
	return leave(e, RS_UTRACE_RESUME);
}

static void on_reap(struct rs_utrace_engine *engine)
{
	struct engine *e = (struct engine *)engine;

	enter(e);
	if (rs_load(&e->certain))
		CHECK(rs_load(&e->deaths) == 1);
	leave(e, 0);
	count(&e->reaps);
}

static void on_release(struct rs_utrace_engine *engine)
{
	struct engine *e = (struct engine *)engine;

	CHECK(!rs_load(&e->busy));
	count(&e->releases);
	CHECK(rs_load(&e->releases) == 1);
	if (rs_load(&e->certain))
		CHECK(rs_load(&e->deaths) == 1 && rs_load(&e->reaps) == 1);
	CHECK(engine->thread->id && engine->thread->id <= SLOTS);
	count(&engines_released);
	free(e);
}

static const struct rs_utrace_ops ops = {
	.report_quiesce = on_quiesce,
	.report_signal = on_signal,
	.report_exec = on_exec,
	.report_syscall_entry = on_syscall,
	.report_syscall_exit = on_syscall,
	.report_exit = on_leaving,
	.report_death = on_death,
	.report_reap = on_reap,
	.release = on_release,
};

/* ---- lives ---- */

/* The end of a step: a signal that kills whom nobody steps. */
static void trap(struct task *task)
{
	struct rs_utrace_signal signal = {.number = 2, .step = true};

	if (task->steps && rs_utrace_report_signal(&task->utrace, NULL, &signal,
						   RS_UTRACE_SIGNAL_CORE) == RS_UTRACE_SIGNAL_CORE)
		count(&cores);
}

/* Has a child, which the same pthread lives for. The host may follow it, and nobody else can. */
static void bear(struct task *task)
{
	struct task *child = calloc(1, sizeof(*child));

	CHECK(child && !sem_init(&child->park, 0, 0));
	CHECK(!rs_utrace_thread_init(&child->utrace, &os, SLOTS + task->utrace.id));
	count(&tasks_made);
	count(&children);
	rs_utrace_report_clone(&task->utrace, 0, &child->utrace);
	myself = child;
	for (int i = 0; i < 3; i++) {
		rs_utrace_resume(&child->utrace);
		trap(child);
		rs_utrace_report_syscall_entry(&child->utrace, NULL);
		rs_utrace_report_syscall_exit(&child->utrace, NULL);
	}
	rs_utrace_report_exit(&child->utrace, 0);
	rs_utrace_report_death(&child->utrace, true, 0);
	rs_utrace_reap(&child->utrace);
	rs_utrace_thread_put(&child->utrace);
	myself = task;
}

/* One step of a thread's life: some kernel, then user mode. */
static void step(struct task *task, uint32_t *dice)
{
	struct rs_utrace_signal signal = {.number = 1};
	uint32_t action;

	trap(task);
	switch (roll(dice, 5)) {
	case 0:
		rs_utrace_report_syscall_entry(&task->utrace, NULL);
		rs_utrace_report_syscall_exit(&task->utrace, NULL);
		break;
	case 1:
		task->last = 0;
		rs_utrace_report_exec(&task->utrace, "x", NULL);
		break;
	case 2:
		rs_utrace_report_signal(&task->utrace, NULL, &signal,
					roll(dice, 5) << 4 & RS_UTRACE_SIGNAL_MASK);
		break;
	case 3:
		bear(task);
		break;
	}
	if (rs_utrace_take_signal(&task->utrace, NULL, &signal, &action))
		CHECK(signal.number);
	rs_utrace_resume(&task->utrace);
	__atomic_fetch_add(&task->ran, 1, __ATOMIC_RELAXED);
	task->rax++;
	if (!roll(dice, 4))
		sched_yield();
}

/* Waits until the task may be reaped, which may be before or after its death. */
static void *reap(void *data)
{
	struct task *task = data;

	while (!rs_load_acquire(&task->may_reap))
		sched_yield();
	rs_utrace_reap(&task->utrace);
	rs_utrace_thread_put(&task->utrace);
	return NULL;
}

static void live(struct slot *slot, uint32_t *dice)
{
	struct task *task = calloc(1, sizeof(*task));
	bool early = roll(dice, 2);
	pthread_t reaper;

	CHECK(task && !sem_init(&task->park, 0, 0));
	CHECK(!rs_utrace_thread_init(&task->utrace, &os, (uint32_t)(slot - slots + 1)));
	count(&tasks_made);
	myself = task;
	pthread_mutex_lock(&slot->lock);
	slot->task = task;
	pthread_mutex_unlock(&slot->lock);
	CHECK(!pthread_create(&reaper, NULL, reap, task));

	for (uint32_t i = 0;
	     (i < STEPS || rs_load(&task->engines) < ATTACHED) && !rs_load(&task->killed); i++)
		step(task, dice);
	rs_utrace_report_exit(&task->utrace, 0);

	/* The parent may be faster than its child. Our own reference keeps the struct for us. */
	rs_utrace_thread_get(&task->utrace);
	pthread_mutex_lock(&slot->lock);
	slot->task = NULL;
	pthread_mutex_unlock(&slot->lock);
	if (early)
		rs_store_release(&task->may_reap, 1);
	rs_utrace_report_death(&task->utrace, false, 0);
	rs_store_release(&task->may_reap, 1);
	rs_utrace_thread_put(&task->utrace);
	pthread_join(reaper, NULL);
	myself = NULL;
}

static void *live_on(void *data)
{
	struct slot *slot = data;
	uint32_t dice = 7919u * (uint32_t)(slot - slots + 1);

	for (uint32_t i = 0; i < LIVES; i++)
		live(slot, &dice);
	__atomic_fetch_sub(&living, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* ---- tracers ---- */

static void wait_for_callbacks(struct engine *e)
{
	int err;

	do
		err = rs_utrace_barrier(&e->utrace);
	while (err == -RS_ERESTARTSYS);
	CHECK(err == 0 || err == -RS_ESRCH);
}

/* Whole by itself, even if the thread is killed meanwhile: TSan sees it if it runs. */
static void change_registers(struct engine *e)
{
	uint64_t values[RS_REGISTERS_MAX];
	int err = rs_utrace_get_registers(&e->utrace, values);

	CHECK(err == RS_X86_64_REGISTERS || err == -RS_EAGAIN || err == -RS_ESRCH ||
	      err == -RS_EINVAL);
	if (err < 0)
		return;
	count(&looks);
	values[RS_X86_64_RAX] *= 3;
	err = rs_utrace_set_registers(&e->utrace, values, 1u << RS_X86_64_RAX);
	CHECK(err == 0 || err == -RS_EAGAIN || err == -RS_ESRCH || err == -RS_EINVAL);
}

/* A thread that was stopped is at rest, until it is killed. */
static void examine(struct task *task, struct engine *e)
{
	struct rs_utrace_examiner examiner;

	for (uint32_t i = 0; i < 50; i++) {
		int err = rs_utrace_prepare_examine(&e->utrace, &examiner);

		if (!err) {
			uint64_t ran = __atomic_load_n(&task->ran, __ATOMIC_RELAXED), later;

			sched_yield();
			later = __atomic_load_n(&task->ran, __ATOMIC_RELAXED);
			err = rs_utrace_finish_examine(&e->utrace, &examiner);
			CHECK(err || ran == later);
			/* Nobody else may let it go. */
			CHECK(!err || (err == -RS_EAGAIN && rs_load(&task->killed)) ||
			      err == -RS_ESRCH);
			return;
		}
		CHECK(err == -RS_EAGAIN || err == -RS_ESRCH || err == -RS_EINVAL);
		sched_yield();
	}
}

/* Stops the thread, looks at it, perhaps kills it, and lets it go. */
static void hold(struct task *task, struct engine *e, uint32_t *dice)
{
	int err;

	rs_store_release(&e->may_stop, 1);
	err = rs_utrace_control(&e->utrace, RS_UTRACE_STOP);
	CHECK(err == 0 || err == -RS_EINPROGRESS || err == -RS_ESRCH);
	examine(task, e);
	change_registers(e);
	if (!roll(dice, 12)) {
		rs_store(&task->killed, 1);
		rs_utrace_kill(&task->utrace);
		count(&kills);
	}
	rs_store_release(&e->may_stop, 0);
	err = rs_utrace_control(&e->utrace, (enum rs_utrace_action)(1 + roll(dice, 5)));
	CHECK(err == 0 || err == -RS_ESRCH || err == -RS_EINVAL);
	/* The last word: nothing holds the thread. */
	err = rs_utrace_control(&e->utrace, RS_UTRACE_RESUME);
	CHECK(err == 0 || err == -RS_ESRCH);
}

static void change_events(struct engine *e, uint32_t *dice)
{
	uint32_t events = roll(dice, 1u << 15) & (EVENTS_USED | RS_UTRACE_EVENT(QUIESCE));
	int err = rs_utrace_set_events(&e->utrace, events | LAST_EVENTS);

	CHECK(err == 0 || err == -RS_EINPROGRESS || err == -RS_ESRCH || err == -RS_EALREADY);
	if (err == -RS_EINPROGRESS) {
		count(&in_progress);
		wait_for_callbacks(e);
	}
}

static void detach(struct engine *e)
{
	switch (rs_utrace_control(&e->utrace, RS_UTRACE_DETACH)) {
	case -RS_EINPROGRESS:
		count(&in_progress);
		wait_for_callbacks(e);
		CHECK(rs_utrace_barrier(&e->utrace) == -RS_ESRCH);
		/* fall through */
	case 0:
		CHECK(!rs_load(&e->busy));
		rs_store_release(&e->over, 1);
		CHECK(rs_utrace_control(&e->utrace, RS_UTRACE_RESUME) == -RS_ESRCH);
		break;
	case -RS_EALREADY: /* REAP must come: on_release looks for it, if it is sure */
	case -RS_ESRCH:
		count(&too_late);
		break;
	default:
		CHECK(!"a result that cannot be");
	}
}

static void trace(struct task *task, uint32_t *dice)
{
	struct engine *e = calloc(1, sizeof(*e));
	struct rs_utrace_engine *engine;
	int err;

	CHECK(e);
	e->dice = roll(dice, 1u << 30) + 1;
	err = rs_utrace_attach(&task->utrace, RS_UTRACE_ATTACH_CREATE, &ops, e, &e->utrace,
			       &engine);
	CHECK(err == 0 || err == -RS_ESRCH);
	if (err) {
		free(e);
		return;
	}
	count(&engines_made);
	count(&task->engines);
	change_events(e, dice);
	for (uint32_t i = roll(dice, 4); i > 0; i--) {
		if (roll(dice, 2))
			hold(task, e, dice);
		else
			change_events(e, dice);
	}
	/* One in four stays until the end, and must be told of it. */
	if (!roll(dice, 4)) {
		rs_store(&e->certain, 1);
		err = rs_utrace_set_events(&e->utrace, LAST_EVENTS);
		if (err == -RS_EINPROGRESS)
			wait_for_callbacks(e);
		/* Dying already, or a callback has detached it just before. */
		if ((err && err != -RS_EINPROGRESS) || rs_load(&e->left))
			rs_store(&e->certain, 0);
	} else {
		detach(e);
	}
	rs_utrace_engine_put(engine);
}

/* Somebody else's engine, which may be about to go. */
static void look_up(struct task *task, uint32_t *dice)
{
	struct rs_utrace_engine *engine;
	int err = rs_utrace_attach(&task->utrace, RS_UTRACE_ATTACH_MATCH_OPS, &ops, NULL, NULL,
				   &engine);

	CHECK(err == 0 || err == -RS_ENOENT || err == -RS_ESRCH);
	if (err)
		return;
	CHECK(engine->ops == &ops && engine->thread == &task->utrace);
	err = rs_utrace_barrier(engine);
	CHECK(err == 0 || err == -RS_ESRCH || err == -RS_ERESTARTSYS);
	rs_utrace_engine_put(engine);
}

static void *trace_on(void *data)
{
	uint32_t dice = 104729u + 31u * (uint32_t)(uintptr_t)data;

	while (rs_load_acquire(&living)) {
		struct task *task = take(&slots[roll(&dice, SLOTS)]);

		if (!task) {
			sched_yield();
			continue;
		}
		if (roll(&dice, 4))
			trace(task, &dice);
		else
			look_up(task, &dice);
		rs_utrace_thread_put(&task->utrace);
	}
	return NULL;
}

static void *serve(void *data)
{
	host_serve(&living);
	return NULL;
}

static void test_race(void)
{
	pthread_t threads[SLOTS + TRACERS], server;

	host_begin(&os);

	for (uint32_t i = 0; i < SLOTS; i++) {
		CHECK(!pthread_mutex_init(&slots[i].lock, NULL));
		CHECK(!pthread_create(&threads[i], NULL, live_on, &slots[i]));
	}
	for (uintptr_t i = 0; i < TRACERS; i++)
		CHECK(!pthread_create(&threads[SLOTS + i], NULL, trace_on, (void *)i));
	CHECK(!pthread_create(&server, NULL, serve, NULL));
	for (uint32_t i = 0; i < SLOTS + TRACERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(server, NULL);
	host_check();
	/* Tracers step, too, and care for no signals. */
	printf("# %u children, %u cores\n", children, cores);
	printf("# %u engines, %u stops, %u kills, %u waits, %u too late, %u in progress, %u "
	       "looks\n",
	       engines_made, stops_seen, kills, waits, too_late, in_progress, looks);
	CHECK(tasks_made == SLOTS * LIVES + children && children > 0);
	CHECK(tasks_released == tasks_made);
	CHECK(engines_made > 0 && engines_released == engines_made);
	CHECK(stops_seen > 0 && looks > 0);
}

int main(void)
{
	printf("1..1\n");
	test_race();
	printf("ok 1 /utrace/threads/race\n");
	return 0;
}
