/* SPDX-License-Identifier: MIT */
/*
 * A small operating system whose threads engines of the host can watch and hold. Each of its
 * threads is a pthread that interprets a few x86-64 instructions, from a text that all share, with
 * registers of its own. They make Linux's system calls, clone, execute, send themselves signals
 * and exit. One more pthread serves the host.
 *
 *	hosted-engine [deaf|ROOM]      runs until it is killed
 *
 * deaf: nobody serves. ROOM: for so many engines of the host, 1 to 16; 16 if not given.
 */
#define RS_CREATE_TRACE_POINTS
#include "hosted-engine-events.h"

#include <errno.h>
#include <pthread.h>
#include <ringside/utrace_host.h>
#include <rs_hosted.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define TEXT 0x401000ull /* readable by all threads, followed by nothing */
#define DATA 0x403000ull
#define STACK 0x7ff000ull
#define AREA 4096u
#define TICK 64 /* instructions after which the clock interrupts */

enum {
	WRITER = 0x000,
	PARENT = 0x100,
	CHILD = 0x200,
	PROGRAM = 0x240,
	SIGNALS = 0x300,
	SLEEPER = 0x400
};

/* clang-format off */
static const uint8_t text[AREA] = {
	[WRITER] =
	0xb8, 1, 0, 0, 0,             /* mov eax, write */
	0xbf, 1, 0, 0, 0,             /* mov edi, 1 */
	0xbe, 0x00, 0x30, 0x40, 0,    /* mov esi, 0x403000 */
	0xba, 6, 0, 0, 0,             /* mov edx, 6 */
	0x0f, 0x05,                   /* syscall */
	0x48, 0xff, 0xc3,             /* inc rbx */
	0xeb, 0xe5,                   /* jmp WRITER */
	[PARENT] =
	0xbf, 17, 0, 0, 0,            /* mov edi, 17 */
	0xb8, 56, 0, 0, 0,            /* mov eax, clone */
	0x0f, 0x05,                   /* syscall */
	0xb8, 35, 0, 0, 0,            /* mov eax, nanosleep */
	0x0f, 0x05,                   /* syscall */
	0xeb, 0xeb,                   /* jmp PARENT */
	[CHILD] =
	0xbf, 0x00, 0x30, 0x40, 0,    /* mov edi, 0x403000 */
	0xb8, 59, 0, 0, 0,            /* mov eax, execve */
	0x0f, 0x05,                   /* syscall */
	[PROGRAM] =
	0xb8, 39, 0, 0, 0,            /* mov eax, getpid */
	0x0f, 0x05,                   /* syscall */
	0xbf, 3, 0, 0, 0,             /* mov edi, 3 */
	0xb8, 60, 0, 0, 0,            /* mov eax, exit */
	0x0f, 0x05,                   /* syscall */
	[SIGNALS] =
	0xbe, 10, 0, 0, 0,            /* mov esi, SIGUSR1 */
	0xb8, 62, 0, 0, 0,            /* mov eax, kill */
	0x0f, 0x05,                   /* syscall */
	0xeb, 0xf2,                   /* jmp SIGNALS */
	[SLEEPER] =
	0xb8, 34, 0, 0, 0,            /* mov eax, pause */
	0x0f, 0x05,                   /* syscall */
	0x48, 0xff, 0xc3,             /* inc rbx */
	0xeb, 0xf4,                   /* jmp SLEEPER */
};
/* clang-format on */
static uint8_t greeting[AREA] = "hello\n";

struct task {
	struct rs_utrace_thread utrace;
	struct task *next; /* under `lock` */
	uint32_t process, parent;
	char comm[RS_COMM_LEN];
	sem_t park, wake;
	uint64_t registers[RS_X86_64_REGISTERS];
	uint8_t stack[AREA];
	atomic_bool single, block;
	int signal; /* that waits; 0: none */
	bool step;  /* it is there since a step is over */
	bool dead;
	int64_t code;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct task *tasks; /* by id; under `lock` */
static uint32_t last_id;   /* under `lock` */
static __thread char identity;

static void nap(long milliseconds)
{
	nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

/* ---- the hooks ---- */

static void os_block(struct rs_utrace_thread *thread)
{
	while (sem_wait(&((struct task *)thread)->park))
		;
}

static void os_unblock(struct rs_utrace_thread *thread)
{
	sem_post(&((struct task *)thread)->park);
}

/* Who runs comes by at a safe point soon; who waits in a system call only if it is interrupted. */
static void os_kick(struct rs_utrace_thread *thread, bool interrupt)
{
	if (interrupt)
		sem_post(&((struct task *)thread)->wake);
}

static void os_single_step(struct rs_utrace_thread *thread, bool on)
{
	((struct task *)thread)->single = on;
}

static void os_block_step(struct rs_utrace_thread *thread, bool on)
{
	((struct task *)thread)->block = on;
}

static const void *os_current(void)
{
	return &identity;
}

static bool os_wait(void)
{
	nap(1);
	return true;
}

static void os_release(struct rs_utrace_thread *thread)
{
	sem_destroy(&((struct task *)thread)->park);
	sem_destroy(&((struct task *)thread)->wake);
	free(thread);
}

static struct rs_utrace_thread *os_next(uint32_t after)
{
	struct task *task;

	pthread_mutex_lock(&lock);
	for (task = tasks; task && task->utrace.id <= after; task = task->next)
		;
	if (task)
		rs_utrace_thread_get(&task->utrace);
	pthread_mutex_unlock(&lock);
	return task ? &task->utrace : NULL;
}

static void os_identify(struct rs_utrace_thread *thread, struct rs_utrace_identity *who)
{
	const struct task *task = (struct task *)thread;

	who->process = task->process;
	who->parent = task->parent;
	memcpy(who->comm, task->comm, sizeof(who->comm));
}

static int os_get_registers(struct rs_utrace_thread *thread, uint64_t *values)
{
	memcpy(values, ((struct task *)thread)->registers, sizeof(((struct task *)0)->registers));
	return RS_X86_64_REGISTERS;
}

static int os_set_registers(struct rs_utrace_thread *thread, const uint64_t *values, uint64_t mask)
{
	if (mask >> RS_X86_64_REGISTERS)
		return -RS_EINVAL;
	if (mask & 1u << RS_X86_64_RFLAGS)
		return -RS_EPERM;
	for (int i = 0; i < RS_X86_64_REGISTERS; i++)
		if (mask >> i & 1)
			((struct task *)thread)->registers[i] = values[i];
	return 0;
}

/* Where the bytes of an address are, and how many follow there; NULL: nowhere. */
static uint8_t *find(struct task *task, uint64_t address, uint64_t *size)
{
	const struct {
		uint64_t at;
		const uint8_t *bytes;
	} areas[] = {{TEXT, text}, {DATA, greeting}, {STACK, task->stack}};

	for (int i = 0; i < 3; i++) {
		if (address - areas[i].at >= AREA)
			continue;
		*size = AREA - (address - areas[i].at);
		return (uint8_t *)areas[i].bytes + (address - areas[i].at);
	}
	return NULL;
}

static uint32_t os_read_memory(struct rs_utrace_thread *thread, uint64_t address, void *to,
			       uint32_t size)
{
	uint64_t there = 0;
	const uint8_t *from = find((struct task *)thread, address, &there);

	if (!from)
		return 0;
	size = size < there ? size : (uint32_t)there;
	memcpy(to, from, size);
	return size;
}

/* All but the text, which no thread may write. */
static uint32_t os_write_memory(struct rs_utrace_thread *thread, uint64_t address, const void *from,
				uint32_t size)
{
	uint64_t there = 0;
	uint8_t *to = find((struct task *)thread, address, &there);

	if (!to || address - TEXT < AREA)
		return 0;
	size = size < there ? size : (uint32_t)there;
	memcpy(to, from, size);
	return size;
}

static const int call_args[] = {RS_X86_64_RDI, RS_X86_64_RSI, RS_X86_64_RDX};

static void os_get_syscall(struct rs_utrace_thread *thread, struct rs_utrace_syscall *call)
{
	const uint64_t *registers = ((struct task *)thread)->registers;

	call->number = registers[RS_X86_64_RAX];
	call->count = 3;
	for (int i = 0; i < 3; i++)
		call->args[i] = registers[call_args[i]];
}

static int os_set_syscall(struct rs_utrace_thread *thread, const struct rs_utrace_syscall *call)
{
	uint64_t *registers = ((struct task *)thread)->registers;

	if (call->count > 3)
		return -RS_EINVAL;
	registers[RS_X86_64_RAX] = call->number;
	for (uint32_t i = 0; i < call->count; i++)
		registers[call_args[i]] = call->args[i];
	return 0;
}

static const struct rs_utrace_os os = {
	.block = os_block,
	.unblock = os_unblock,
	.kick = os_kick,
	.single_step = os_single_step,
	.block_step = os_block_step,
	.current = os_current,
	.wait = os_wait,
	.release = os_release,
	.next = os_next,
	.identify = os_identify,
	.get_registers = os_get_registers,
	.set_registers = os_set_registers,
	.read_memory = os_read_memory,
	.write_memory = os_write_memory,
	.get_syscall = os_get_syscall,
	.set_syscall = os_set_syscall,
};

/* ---- threads ---- */

static void *live(void *task);

/* A thread that does not run yet. `process` 0: of a process of its own. */
static struct task *make(const char *comm, uint32_t start, uint32_t process, uint32_t parent)
{
	struct task *task = calloc(1, sizeof(*task)), **last;

	if (!task || sem_init(&task->park, 0, 0) || sem_init(&task->wake, 0, 0))
		abort();
	pthread_mutex_lock(&lock);
	if (rs_utrace_thread_init(&task->utrace, &os, ++last_id))
		abort();
	task->process = process ? process : last_id;
	task->parent = parent;
	strncpy(task->comm, comm, sizeof(task->comm) - 1);
	task->registers[RS_X86_64_RIP] = TEXT + start;
	task->registers[RS_X86_64_RSP] = STACK + AREA - 16;
	task->registers[RS_X86_64_RFLAGS] = 0x202;
	for (last = &tasks; *last; last = &(*last)->next)
		;
	*last = task;
	pthread_mutex_unlock(&lock);
	return task;
}

static void start(struct task *task)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, live, task))
		abort();
	pthread_detach(thread);
}

static void take_out(struct task *task)
{
	struct task **link;

	pthread_mutex_lock(&lock);
	for (link = &tasks; *link != task; link = &(*link)->next)
		;
	*link = task->next;
	pthread_mutex_unlock(&lock);
}

/* ---- system calls ---- */

static int64_t do_clone(struct task *task)
{
	struct task *child = make("child", CHILD, 0, task->process);
	uint32_t id = child->utrace.id;

	memcpy(child->registers, task->registers, sizeof(task->registers));
	child->registers[RS_X86_64_RIP] = TEXT + CHILD;
	child->registers[RS_X86_64_RAX] = 0;
	rs_utrace_report_clone(&task->utrace, task->registers[RS_X86_64_RDI], &child->utrace);
	trace_engine_born(id, task->process);
	start(child);
	return id;
}

static int64_t do_exec(struct task *task)
{
	pthread_mutex_lock(&lock);
	strncpy(task->comm, "program", sizeof(task->comm) - 1);
	pthread_mutex_unlock(&lock);
	task->registers[RS_X86_64_RIP] = TEXT + PROGRAM;
	rs_utrace_report_exec(&task->utrace, "/bin/program", task->registers);
	return 0;
}

static int64_t do_call(struct task *task, uint64_t number)
{
	uint64_t first = task->registers[RS_X86_64_RDI];

	switch (number) {
	case 1: /* write */
		nap(3);
		return (int64_t)task->registers[RS_X86_64_RDX];
	case 34: /* pause */
		while (sem_wait(&task->wake))
			;
		return -EINTR;
	case 35: /* nanosleep */
		nap(40);
		return 0;
	case 39: /* getpid */
		return task->process;
	case 56:
		return do_clone(task);
	case 59:
		return do_exec(task);
	case 60: /* exit */
		task->code = rs_utrace_report_exit(&task->utrace, (int64_t)first);
		task->dead = true;
		return 0;
	case 62: /* kill: itself */
		nap(10);
		task->signal = (int)task->registers[RS_X86_64_RSI];
		return 0;
	default:
		return -RS_ENOSYS;
	}
}

static void system_call(struct task *task)
{
	uint64_t *registers = task->registers, number, first;
	int64_t result = -EINTR;

	if (rs_utrace_report_syscall_entry(&task->utrace, registers)) {
		number = registers[RS_X86_64_RAX];
		first = registers[RS_X86_64_RDI];
		result = do_call(task, number);
		trace_engine_called(task->utrace.id, number, first, registers[RS_X86_64_RBX],
				    result);
	}
	if (task->dead)
		return;
	registers[RS_X86_64_RAX] = (uint64_t)result;
	rs_utrace_report_syscall_exit(&task->utrace, registers);
}

/* ---- user mode ---- */

/*
 * Runs one instruction. False: there is none that this CPU has. *trap: a system call is asked for.
 * *branch: it was a jump.
 */
static bool execute(struct task *task, bool *trap, bool *branch)
{
	uint64_t *registers = task->registers, size = 0;
	const uint8_t *at = find(task, registers[RS_X86_64_RIP], &size);
	uint32_t value;

	if (at && size >= 5 && at[0] >= 0xb8 && at[0] <= 0xbf) {
		memcpy(&value, at + 1, sizeof(value));
		registers[at[0] - 0xb8] = value;
		registers[RS_X86_64_RIP] += 5;
	} else if (at && size >= 2 && at[0] == 0x0f && at[1] == 0x05) {
		*trap = true;
		registers[RS_X86_64_RIP] += 2;
	} else if (at && size >= 3 && at[0] == 0x48 && at[1] == 0xff && at[2] == 0xc3) {
		registers[RS_X86_64_RBX]++;
		registers[RS_X86_64_RIP] += 3;
	} else if (at && size >= 2 && at[0] == 0xeb) {
		*branch = true;
		registers[RS_X86_64_RIP] += 2 + (uint64_t)(int8_t)at[1];
	} else {
		return false;
	}
	return true;
}

/* User mode, until the thread has to be in the kernel. Returns whether it asks for a call. */
static bool user(struct task *task)
{
	bool trap = false, branch = false, single = task->single;

	for (int i = 0; i < TICK && !trap; i++) {
		if (!execute(task, &trap, &branch)) {
			task->signal = 4;
			return false;
		}
		if (single || (task->block && (trap || branch))) {
			task->signal = 5;
			task->step = true;
			return trap;
		}
	}
	if (!trap)
		nap(1);
	return trap;
}

static void deliver(struct task *task)
{
	struct rs_utrace_signal signal = {.number = task->signal, .step = task->step};
	uint32_t fate = signal.number == 10 ? RS_UTRACE_SIGNAL_IGN : RS_UTRACE_SIGNAL_CORE;

	task->signal = 0;
	task->step = false;
	fate = rs_utrace_report_signal(&task->utrace, task->registers, &signal, fate);
	trace_engine_signal(task->utrace.id, signal.number, fate);
	if (fate == RS_UTRACE_SIGNAL_TERM || fate == RS_UTRACE_SIGNAL_CORE) {
		task->code = rs_utrace_report_exit(&task->utrace, 128 + signal.number);
		task->dead = true;
	}
}

static void *live(void *data)
{
	struct task *task = data;

	/* The test looks in /proc how often it has run. */
	prctl(PR_SET_NAME, task->comm);
	rs_hosted_speak_for(task->utrace.id, task->process, task->comm);
	while (!task->dead) {
		rs_utrace_resume(&task->utrace);
		if (user(task))
			system_call(task);
		if (task->signal && !task->dead)
			deliver(task);
	}
	trace_engine_died(task->utrace.id, task->code);
	rs_utrace_report_death(&task->utrace, true, 0);
	nap(20); /* until somebody reaps it */
	take_out(task);
	rs_utrace_reap(&task->utrace);
	rs_utrace_thread_put(&task->utrace);
	return NULL;
}

/* ---- the host ---- */

#define ROOM 16u

static sem_t told;

/* A thread has stopped. */
static void wake(struct rs_serve *commands)
{
	sem_post(&told);
}

/* For so long at most. */
static void wait_for_news(long milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += milliseconds * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	sem_timedwait(&told, &until);
}

static void *serve(void *data)
{
	static struct rs_utrace_host_engine engines[ROOM];
	const unsigned int *room = data;
	static struct rs_utrace_host host;
	static struct rs_serve commands;

	commands.wake = wake;
	rs_utrace_serve(&host, &commands, &os, engines, *room);
	for (;;)
		if (rs_serve_step(&commands) < 1)
			wait_for_news(2);
	return NULL;
}

/* All at once, so that their numbers are always the same: 1 to 7. */
static void start_all(void)
{
	struct task *all[] = {
		make("writer", WRITER, 0, 0),      make("pool", WRITER, 0, 1),
		make("pool", WRITER, 2, 1),        make("parent", PARENT, 0, 1),
		make("signals", SIGNALS, 0, 1),    make("sleeper", SLEEPER, 0, 1),
		make("m\x1b[2Jean", WRITER, 0, 1),
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		start(all[i]);
}

int main(int argc, char **argv)
{
	const bool deaf = argc > 1 && !strcmp(argv[1], "deaf");
	unsigned int room = argc > 1 && !deaf ? (unsigned int)strtoul(argv[1], NULL, 10) : ROOM;
	pthread_t server;

	if (argc > 2 || room < 1 || room > ROOM || sem_init(&told, 0, 0) ||
	    rs_hosted_init("hosted-engine"))
		return 2;
	start_all();
	if (!deaf && pthread_create(&server, NULL, serve, &room))
		return 3;
	for (;;)
		nap(999);
}
