/* SPDX-License-Identifier: MIT */
/*
 * The demo guest: a small kernel with something to trace. It has one address space, and all code
 * runs at the port's privilege level. Tasks call the kernel by `syscall`, get memory by page
 * faults, and wake each other up.
 *
 * One spin lock, taken with interrupts off, covers tasks and run queues; another the pages.
 */
#ifndef DEMO_H
#define DEMO_H

#include <rs_baremetal.h>

#define MAX_TASKS 24
#define MAX_CPUS 64
#define STACK_SIZE 16384
#define FIRST_PID 2 /* 0: idle, 1: init */
#define TICK_HZ 100
#define SLICE_TICKS 2

enum { SYS_GETPID, SYS_SLEEP, SYS_SPAWN, SYS_EXIT, SYS_WAIT, SYS_YIELD, SYS_TIME, SYS_RELEASE };

struct task {
	char comm[16];
	uint32_t pid;
	uint32_t parent;
	uint32_t state;  /* TASK_* */
	uint32_t cpu;    /* whose queue it is on, or ran on last */
	uint32_t slot;   /* index in tasks[] */
	uint32_t on_cpu; /* its stack is in use, so no other vCPU may take it yet */
	uint32_t switches;
	int32_t code;
	uint32_t wait_pid;
	uint32_t slice;
	uint64_t sp;
	uint64_t wake_at; /* TSC */
	void (*run)(uint64_t arg);
	uint64_t arg;
	struct task *next; /* in a run queue */
};

struct lock {
	uint32_t held;
};
bool lock_irq(struct lock *lock); /* returns the argument of unlock_irq */
void unlock_irq(struct lock *lock, bool on);

/* watch.c */
void watch(uint32_t cpu) __attribute__((noreturn));

/* sched.c */
void sched_init(void);
void sched_run(uint32_t cpu) __attribute__((noreturn)); /* becomes the idle task of this vCPU */
struct task *task_current(void);
/* Returns the pid, or 0 if there is no room. If `run` returns, that is exit(0). */
uint32_t task_spawn(const char *comm, void (*run)(uint64_t arg), uint64_t arg);
void task_exit(int32_t code) __attribute__((noreturn));
int32_t task_wait(uint32_t pid); /* its exit code; -1: no such child */
void task_sleep(uint64_t ms);
void task_yield(void);
/* Called in long computations: makes the ticks on a machine without timer interrupts. */
void safe_point(void);
void sched_hang(void) __attribute__((noreturn)); /* all vCPUs, as soon as they tick */

/* mm.c */
bool mm_fault(struct rs_frame *frame);
uint32_t mm_release(uint32_t slot, uint32_t pid); /* pages given back */
void mm_switch_in(void); /* the TLB of this vCPU forgets pages that were given back */
volatile uint8_t *mm_window(uint32_t slot);
#define MM_WINDOW_PAGES 16u

/* compute.c */
/* Compresses and checks text number `round` of `worker`; false: the result is wrong. */
bool compute_round(uint32_t worker, uint64_t round);
#define COMPUTE_WORKERS 2u
#define COMPUTE_BLOCKS 4u

/* hostile.c: things that a well-behaved guest does not do */
bool hostile_wants_no_agent(void);
void hostile_start_agent(void);
void hostile_scribble(void);
void hostile_lies(void);
void hostile_sites(void);
void hostile_calls(uint32_t cpu);
void hostile_crash(const char *how);

/* workload.c */
void workload_init_task(uint64_t unused);
extern uint32_t demo_faults;
extern const char demo_name[];

#endif
