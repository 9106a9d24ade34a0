/* SPDX-License-Identifier: MIT */
/*
 * An OS of one CPU for the tests of utrace. What other threads do while one sleeps, waits or runs a
 * callback is done by functions that are called right there, as_other(). So each test has one order
 * in which things happen.
 *
 * All that engines are told is written to one line of text, such as "a:QUIESCE(EXEC) a:EXEC". The
 * engine's name comes first.
 */
#ifndef TEST_UTRACE_ROOM_H
#define TEST_UTRACE_ROOM_H

#include <glib.h>
#include <ringside/utrace_os.h>

#define TASK_MEMORY 0x1000u /* where the memory of a task begins, and how much there is */
#define TASK_MEMORY_SIZE 256u

struct task {
	struct rs_utrace_thread utrace;
	/* What it has in user mode. Its system calls are in rax, rdi and rsi. */
	uint64_t registers[RS_X86_64_REGISTERS];
	guint8 memory[TASK_MEMORY_SIZE];
	gboolean not_yet; /* it has no registers */
	/* Called by the hooks below, if not NULL. */
	void (*looked_at)(struct task *task);
	guint kicks, interrupts, blocked, unblocked, released;
	gboolean token, single, block;
	/* What others do while the task sleeps. If it then sleeps again, the test fails. */
	void (*asleep)(struct task *task);
};

struct tracer {
	struct rs_utrace_engine engine;
	char name;
	/* What the callback of an event returns: RESUME at first. */
	uint32_t returns[RS_UTRACE_EVENTS];
	/* Called by the callback of that event, if not NULL. */
	void (*does[RS_UTRACE_EVENTS])(struct tracer *tracer);
	uint32_t action; /* the last one given */
	guint released;
	int32_t sends; /* what report_signal makes the signal's number, if not 0 */
};

extern GString *room_log;
/* What the hook `wait` does and returns. */
extern bool (*room_wait)(void);
extern const struct rs_utrace_os room_os, room_os_without_steps;
/* Those that the OS finds: in the order of their numbers. */
extern struct task *room_tasks[4];
/* Has a callback for each event; the second one also `release`. Others: no callback at all. */
extern const struct rs_utrace_ops room_ops, room_ops_silent;

void task_init(struct task *task);
/* Attaches with these events, and keeps the reference. */
void tracer_attach(struct tracer *tracer, char name, struct task *task, uint32_t events);
/* The thread that calls is another one until the next call. */
void as_other(gboolean other);
/* Asserts what was written, and empties it. */
void expect(const char *text);
/* Dies and is reaped; puts what is left. */
void task_end(struct task *task);

/* rs_utrace_control(), as another thread. */
int control(struct tracer *tracer, enum rs_utrace_action action);

#endif
