/* SPDX-License-Identifier: MIT */
/*
 * Engines on the guest's own threads, by the option `engines`. A task of the kernel makes a victim
 * (programs.c), holds it where it likes, changes what it does, and says what it saw. All others go
 * on meanwhile. Then it stops, interrupts and lets go whatever threads there are until the guest
 * ends. They must not notice.
 */
#include "demo.h"
#include "events.h"

/* With QUIESCE, what on_quiesce() returns would count when a thread is asked to stop. */
#define EVENTS                                                                                     \
	(RS_UTRACE_EVENT(CLONE) | RS_UTRACE_EVENT(EXEC) | RS_UTRACE_EVENT(EXIT) |                  \
	 RS_UTRACE_EVENT(DEATH) | RS_UTRACE_EVENT(REAP) | RS_UTRACE_EVENT_SYSCALL |                \
	 RS_UTRACE_EVENT_SIGNAL_ALL)

static struct rs_utrace_engine memory[3], *self, *victim, *spinner;
static uint32_t stops, interrupts, deaths, reaps;
static const char *executed;
static bool over, good = true;

static void expect(bool right, const char *what)
{
	if (right)
		return;
	good = false;
	rs_printf("demo: engines: wrong: %s\n", what);
}

/* ---- callbacks: on the thread that they are about ---- */

static uint32_t on_quiesce(uint32_t action, struct rs_utrace_engine *engine, uint32_t event)
{
	return RS_UTRACE_RESUME;
}

/* One call stops before it is made, and one is not made at all. */
static uint32_t on_entry(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	struct rs_frame *frame = regs;

	if (engine != victim)
		return RS_UTRACE_RESUME;
	if (frame->rax == SYS_TIME && !(action & RS_UTRACE_SYSCALL_RESUMED))
		return RS_UTRACE_STOP;
	if (frame->rax == SYS_OPEN) {
		frame->rax = 1234;
		return RS_UTRACE_RESUME | RS_UTRACE_SYSCALL_ABORT;
	}
	return RS_UTRACE_RESUME;
}

static uint64_t yields;

static uint32_t on_exit_call(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	/* yield() has no other result. */
	if (engine == victim && !((struct rs_frame *)regs)->rax && !yields++)
		return RS_UTRACE_STOP;
	return RS_UTRACE_RESUME;
}

static uint32_t on_signal(uint32_t action, struct rs_utrace_engine *engine, void *regs,
			  struct rs_utrace_signal *signal)
{
	if (engine == victim && signal->number == SIGTRAP)
		return RS_UTRACE_STOP | RS_UTRACE_SIGNAL_IGN;
	if (engine == victim && signal->number == SIGTERM)
		return RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_IGN;
	/* Asked by INTERRUPT: it is killed by a signal that nobody has posted. */
	if (engine == spinner && RS_UTRACE_SIGNAL_ACTION(action) == RS_UTRACE_SIGNAL_REPORT) {
		signal->number = SIGTERM;
		return RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_TERM;
	}
	return RS_UTRACE_RESUME | RS_UTRACE_SIGNAL_ACTION(action);
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	executed = path;
	return RS_UTRACE_RESUME;
}

static uint32_t on_leaving(uint32_t action, struct rs_utrace_engine *engine, int64_t original,
			   int64_t *code)
{
	if (engine == victim)
		*code = original + 1;
	return RS_UTRACE_RESUME;
}

static uint32_t on_death(struct rs_utrace_engine *engine, bool group_dead, int32_t signal)
{
	__atomic_fetch_add(&deaths, 1, __ATOMIC_RELEASE);
	return RS_UTRACE_RESUME;
}

static void on_reap(struct rs_utrace_engine *engine)
{
	__atomic_fetch_add(&reaps, 1, __ATOMIC_RELEASE);
}

static uint32_t on_clone(uint32_t action, struct rs_utrace_engine *engine, uint64_t flags,
			 struct rs_utrace_thread *child);

static const struct rs_utrace_ops ops = {
	.report_quiesce = on_quiesce,
	.report_signal = on_signal,
	.report_clone = on_clone,
	.report_exec = on_exec,
	.report_syscall_entry = on_entry,
	.report_syscall_exit = on_exit_call,
	.report_exit = on_leaving,
	.report_death = on_death,
	.report_reap = on_reap,
};

/* A child is held before its first instruction: our victim, or the one that it makes. */
static uint32_t on_clone(uint32_t action, struct rs_utrace_engine *engine, uint64_t flags,
			 struct rs_utrace_thread *child)
{
	struct rs_utrace_engine **at = engine == self ? &victim : &spinner, *made;
	int err;

	if (engine != self && engine != victim)
		return RS_UTRACE_RESUME;
	err = rs_utrace_attach(child, RS_UTRACE_ATTACH_CREATE, &ops, NULL,
			       &memory[engine == self ? 1 : 2], &made);

	expect(!err && !rs_utrace_set_events(made, EVENTS), "attach to a child");
	expect(rs_utrace_control(made, RS_UTRACE_STOP) == -RS_EINPROGRESS, "hold a child");
	__atomic_store_n(at, made, __ATOMIC_RELEASE);
	return RS_UTRACE_RESUME;
}

/* ---- the scenes ---- */

/* Waits, for some seconds at most, until the thread is stopped there. */
static bool stopped_at(struct rs_utrace_engine *engine, int event)
{
	uint64_t start = rs_tsc();
	int at;

	while ((at = rs_utrace_stopped_at(engine)) != event) {
		if (at != -RS_EAGAIN && at != -RS_EINVAL)
			break;
		if (rs_tsc() - start > 20 * rs_tsc_hz())
			break;
		task_sleep(1);
	}
	expect(at == event, "where a thread has stopped");
	return at == event;
}

/* Whether the others run: the clock ticks some more. */
static void wait_for_others(void)
{
	uint32_t before = __atomic_load_n(&demo_clock, __ATOMIC_RELAXED);
	uint64_t start = rs_tsc();

	while (__atomic_load_n(&demo_clock, __ATOMIC_RELAXED) - before < 3 &&
	       rs_tsc() - start < 20 * rs_tsc_hz())
		task_sleep(1);
	expect(__atomic_load_n(&demo_clock, __ATOMIC_RELAXED) - before >= 3,
	       "others go on while a thread is held");
}

static uint64_t rip_of(struct rs_utrace_engine *engine)
{
	uint64_t values[RS_REGISTERS_MAX];

	expect(rs_utrace_get_registers(engine, values) == RS_X86_64_REGISTERS, "registers");
	return values[RS_X86_64_RIP];
}

static void hold_at_the_beginning(uint32_t pid)
{
	struct rs_utrace_identity who;
	struct rs_utrace_thread *thread;

	if (!stopped_at(victim, RS_UTRACE_EVENT_QUIESCE))
		return;
	expect(!rs_utrace_find(&demo_utrace, pid, &thread), "find a thread");
	expect(!rs_utrace_identify(thread, &who) && who.id == pid && who.parent == rs_pid(),
	       "who a thread is");
	expect(thread == victim->thread, "which thread is found");
	rs_utrace_thread_put(thread);
	rs_printf("demo: engines: pid %u, %s, is held before its first instruction\n", who.id,
		  who.comm);
	rs_utrace_control(victim, RS_UTRACE_RESUME);
}

static void change_the_call(void)
{
	struct rs_utrace_examiner examiner;
	struct rs_utrace_syscall call;
	uint8_t code[2] = {0};

	if (!stopped_at(victim, RS_UTRACE_EVENT_SYSCALL_ENTRY))
		return;
	expect(!rs_utrace_prepare_examine(victim, &examiner), "prepare");
	expect(!rs_utrace_get_syscall(victim, &call) && call.number == SYS_TIME, "which call");
	expect(rs_utrace_read_memory(victim, rip_of(victim) - 2, code, 2) == 2, "read memory");
	expect(code[0] == 0x0f && code[1] == 0x05, "a syscall instruction is before rip");
	expect(rs_utrace_read_memory(victim, 0x500000000000, code, 2) == 0, "a bad address");
	wait_for_others();
	call.number = SYS_GETPID;
	expect(!rs_utrace_set_syscall(victim, &call), "change the call");
	expect(!rs_utrace_finish_examine(victim, &examiner), "finish");
	rs_printf("demo: engines: time() has stopped, and becomes getpid()\n");
	rs_utrace_control(victim, RS_UTRACE_RESUME);
}

/* From the return of yield(). Each step is one instruction, 1 to 15 bytes ahead, or a jump. */
static void step(void)
{
	uint64_t from, to;
	uint32_t steps = 0;

	if (!stopped_at(victim, RS_UTRACE_EVENT_QUIESCE))
		return;
	/* Who steps may be asked. */
	expect(!rs_utrace_set_events(victim, EVENTS | RS_UTRACE_EVENT(QUIESCE)), "set QUIESCE");
	for (from = rip_of(victim); steps < 3; from = to, steps++) {
		int err = rs_utrace_control(victim, RS_UTRACE_SINGLESTEP);

		expect(!err, "step");
		if (err || !stopped_at(victim, RS_UTRACE_EVENT_SIGNAL_CORE))
			return;
		to = rip_of(victim);
		expect(to != from, "a step goes on");
		rs_printf("demo: engines: a step from 0x%lx to 0x%lx\n", from, to);
	}
	expect(!rs_utrace_set_events(victim, EVENTS), "clear QUIESCE");
	rs_utrace_control(victim, RS_UTRACE_RESUME);
}

static uint64_t count_of_spinner(void)
{
	return __atomic_load_n(&victim_count, __ATOMIC_RELAXED);
}

static bool spins(uint64_t from)
{
	uint64_t start = rs_tsc();

	while (count_of_spinner() < from + 1000 && rs_tsc() - start < 20 * rs_tsc_hz())
		task_sleep(1);
	return count_of_spinner() >= from + 1000;
}

/* A thread that makes no system calls. */
static void hold_the_spinner(void)
{
	struct rs_utrace_engine *engine = NULL;
	uint64_t start = rs_tsc(), count;

	while (!(engine = __atomic_load_n(&spinner, __ATOMIC_ACQUIRE)) &&
	       rs_tsc() - start < 20 * rs_tsc_hz())
		task_sleep(1);
	if (!engine || !stopped_at(engine, RS_UTRACE_EVENT_QUIESCE)) {
		expect(false, "a child of the victim");
		return;
	}
	wait_for_others();
	expect(count_of_spinner() == 0, "it has made no step");
	rs_utrace_control(engine, RS_UTRACE_RESUME);
	expect(spins(0), "it runs");
	expect(rs_utrace_control(engine, RS_UTRACE_STOP) == -RS_EINPROGRESS, "stop in user mode");
	if (!stopped_at(engine, RS_UTRACE_EVENT_QUIESCE))
		return;
	count = count_of_spinner();
	wait_for_others();
	expect(count_of_spinner() == count, "it is held in the middle of a loop");
	rs_printf("demo: engines: a loop is held at 0x%lx after %s 1000 turns\n", rip_of(engine),
		  count >= 1000 ? "more than" : "less than");
	rs_utrace_control(engine, RS_UTRACE_RESUME);
	expect(spins(count), "it runs again");
	expect(!rs_utrace_control(engine, RS_UTRACE_INTERRUPT), "interrupt it");
}

static void watch_the_victim(void)
{
	uint32_t pid;
	int64_t code;

	rs_utrace_attach(&task_current()->utrace, RS_UTRACE_ATTACH_CREATE, &ops, NULL, &memory[0],
			 &self);
	rs_utrace_set_events(self, RS_UTRACE_EVENT(CLONE));
	pid = task_spawn("victim", victim_task, 0);
	expect(pid && victim, "a victim");
	if (!victim)
		return;
	hold_at_the_beginning(pid);
	change_the_call();
	step();
	hold_the_spinner();
	code = task_wait(pid);
	expect(code == 4, "an exit code, changed");
	expect(executed && !strcmp(executed, "/bin/last"), "which program was executed");
	rs_printf("demo: engines: the victim has executed %s and exits with %ld\n",
		  executed ? executed : "nothing", code);
	expect(__atomic_load_n(&deaths, __ATOMIC_ACQUIRE) == 2 &&
		       __atomic_load_n(&reaps, __ATOMIC_ACQUIRE) == 2,
	       "two deaths, and two are reaped");
	rs_utrace_control(self, RS_UTRACE_DETACH);
	rs_utrace_engine_put(self);
	rs_utrace_engine_put(victim);
	if (spinner)
		rs_utrace_engine_put(spinner);
}

/* ---- all threads, until the end ---- */

/* Whatever happens to the thread meanwhile. */
static void disturb(struct rs_utrace_thread *thread, uint32_t turn)
{
	static struct rs_utrace_engine passing;
	struct rs_utrace_engine *engine;
	uint64_t start = rs_tsc(), values[RS_REGISTERS_MAX];

	if (rs_utrace_attach(thread, RS_UTRACE_ATTACH_CREATE, &ops, NULL, &passing, &engine))
		return;
	rs_utrace_set_events(engine, turn & 1 ? RS_UTRACE_EVENT_SYSCALL
					      : EVENTS | RS_UTRACE_EVENT(QUIESCE));
	if (turn % 5 == 4 && !rs_utrace_control(engine, RS_UTRACE_INTERRUPT))
		interrupts++;
	rs_utrace_control(engine, RS_UTRACE_STOP);
	while (rs_utrace_stopped_at(engine) < 0 && rs_tsc() - start < rs_tsc_hz() / 100)
		task_sleep(1);
	if (rs_utrace_get_registers(engine, values) > 0 &&
	    !rs_utrace_set_registers(engine, values, (1u << RS_X86_64_REGISTERS) - 1))
		stops++;
	if (rs_utrace_control(engine, RS_UTRACE_DETACH) == -RS_EINPROGRESS)
		rs_utrace_barrier(engine);
	rs_utrace_engine_put(engine);
	/* Reaped while it dies: then it leaves us a little later. */
	while (__atomic_load_n(&passing.refs, __ATOMIC_ACQUIRE))
		task_sleep(1);
}

static void disturb_all(void)
{
	uint32_t pid = 0, turn = 0;

	while (!__atomic_load_n(&demo_over, __ATOMIC_RELAXED)) {
		struct rs_utrace_thread *thread;

		if (rs_utrace_next(&demo_utrace, pid, &thread)) {
			pid = 0;
			task_sleep(1);
			continue;
		}
		pid = thread->id;
		disturb(thread, turn++);
		rs_utrace_thread_put(thread);
	}
}

static void run(uint64_t unused)
{
	watch_the_victim();
	disturb_all();
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
}

void engines_start(void)
{
	task_spawn_kernel("engines", run, 0);
}

bool engines_end(void)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		task_sleep(1);
	rs_printf("demo: engines: then %u stops and %u interrupts of other threads\n", stops,
		  interrupts);
	rs_printf("demo: engines: %s\n", good && stops ? "ok" : "FAILED");
	return good && stops;
}
