/* SPDX-License-Identifier: MIT */
/*
 * The demo guest: a small kernel with something to trace. It has one address space, and all code
 * runs at the port's privilege level. What counts as user mode are the functions marked USER: the
 * programs. They call the kernel by `syscall`, get memory by page faults and signals from each
 * other. Each process has one thread, the task.
 *
 * One spin lock, taken with interrupts off, covers tasks and run queues; others the pages and the
 * files. No lock is held while engines or hooks of ringside/utrace_os.h are called.
 */
#ifndef DEMO_H
#define DEMO_H

#include <ringside/ktrace.h>
#include <ringside/utrace_os.h>
#include <rs_baremetal.h>

#define MAX_TASKS 24
#define MAX_CPUS 64
#define MAX_FILES 6 /* of a task */
#define STACK_SIZE 32768
#define FIRST_PID 2 /* 0: idle, 1: init */
#define TICK_HZ 100
#define SLICE_TICKS 2

/* In user mode. Such a function is called by others like it, and as a signal handler. */
#define USER __attribute__((section("user_text")))

/* Linux's numbers, so that kdump has names for them. Arguments are Linux's only by and large. */
enum {
	SYS_READ = 0,
	SYS_WRITE = 1,
	SYS_OPEN = 2,
	SYS_CLOSE = 3,
	SYS_STAT = 4,
	SYS_RELEASE = 11, /* munmap: all pages */
	SYS_SIGACTION = 13,
	SYS_PIPE = 22,
	SYS_YIELD = 24,
	SYS_SLEEP = 35,
	SYS_GETPID = 39,
	SYS_SPAWN = 56, /* clone */
	SYS_EXEC = 59,
	SYS_EXIT = 60,
	SYS_WAIT = 61,
	SYS_KILL = 62,
	SYS_TIME = 201,
	SYS_MARK = 500, /* what a program says about itself: utrace(2) of BSD */
	/* Not seen by anybody: the first instructions of a task; a tick without an interrupt. */
	SYS_START = 1000,
	SYS_TICK = 1001,
};

/* Beside those of ringside/error.h. */
#define EINTR 4
#define ECHILD 10
#define ENOMEM 12
#define EFAULT 14
#define EMFILE 24
#define EPIPE 32

enum { SIGTRAP = 5, SIGKILL = 9, SIGUSR1 = 10, SIGSEGV = 11, SIGTERM = 15 };
enum { SIGCHLD = 17, SIGCONT = 18, SIGSTOP = 19, SIGNALS = 32 };
#define SIGNAL(number) (1u << ((number)-1)) /* as sigmask() has it */

struct file;

struct task {
	struct rs_utrace_thread utrace; /* stays first */
	struct rs_ktrace_proc ktrace_proc;
	struct rs_ktrace_thread ktrace;
	char comm[16];
	uint32_t pid;
	uint32_t parent; /* 0: none, it reaps itself */
	uint32_t state;  /* TASK_* */
	uint32_t cpu;    /* whose queue it is on, or ran on last */
	uint32_t slot;   /* index in tasks[] */
	uint32_t on_cpu; /* its stack is in use, so no other vCPU may take it yet */
	uint32_t switches;
	int32_t code;
	uint32_t slice;
	uint64_t sp;
	uint64_t wake_at;    /* TSC */
	const void *channel; /* what it waits for */
	void (*run)(uint64_t arg);
	uint64_t arg;
	struct task *next; /* in a run queue */
	bool kernel;       /* never in user mode */
	bool exited;       /* may be reaped */
	bool reaped;       /* nobody finds it any more */
	bool gone;         /* nobody has a reference: the slot is free once the stack is */
	/* Its way into the kernel: NULL in user mode and before it. Its own, or it is stopped. */
	struct rs_frame *frame;
	struct rs_frame
		*irq_frame;       /* of the interrupt that is handled now, if it was in user mode */
	const struct node *image; /* its program, or NULL */
	bool execed;              /* the program's first instructions come next */
	char args[48];            /* of the program */
	struct file *files[MAX_FILES];
	/* Under sched_lock: */
	uint32_t pending; /* signals */
	bool kicked, interrupted;
	bool token; /* of os_unblock() */
	/* The task's own: */
	uint32_t blocked;
	bool stepping;                         /* it is to make one instruction, and has not yet */
	void (*handlers[SIGNALS])(int number); /* NULL: what the signal does by default */
	struct rs_ktr_siginfo info[SIGNALS];
};

struct lock {
	uint32_t held;
};
bool lock_irq(struct lock *lock); /* returns the argument of unlock_irq */
void unlock_irq(struct lock *lock, bool on);

/* watch.c */
void watch(uint32_t cpu) __attribute__((noreturn));

/* sched.c */
extern struct lock sched_lock;
void sched_init(void);
void sched_run(uint32_t cpu) __attribute__((noreturn)); /* becomes the idle task of this vCPU */
struct task *task_current(void);
void sched_finish_switch(void);                  /* on the new stack */
void sched_hang(void) __attribute__((noreturn)); /* all vCPUs, as soon as they tick */
uint32_t sched_shortest_queue(void);
bool sched_tick_due(void); /* no timer interrupt has made it */
void sched_tick(uint64_t ip);
void sched_safe_point(void); /* in the kernel: makes a tick that is due */
void task_yield(void);
/* sched_lock held: */
void sched_wake(struct task *task, uint32_t flags); /* it is in no queue */
void sched_wake_interruptible(struct task *task);   /* a sleep or wait ends early */
void sched_poke(struct task *task); /* it is to look at its signals and engines soon */
void sched_wakeup(const void *channel);
void sched_leave(const char *why); /* switches; comes back without the lock, interrupts off */
/* `lock` is held, and given back: sleeps until sched_wakeup(channel) or the time. False: a signal
 * or an engine has ended it before. */
bool task_wait_for(uint32_t state, const void *channel, uint64_t wake_at, struct lock *lock,
		   bool on);
bool task_sleep(uint64_t ms);

/* process.c: the life of tasks */
extern struct task tasks[MAX_TASKS];
/* Returns the pid, or 0 if there is no room. If `run` returns, that is exit(0). The child gets the
 * files of the caller. The second one makes a task that never is in user mode. */
uint32_t task_spawn(const char *comm, void (*run)(uint64_t arg), uint64_t arg);
uint32_t task_spawn_kernel(const char *comm, void (*run)(uint64_t arg), uint64_t arg);
int64_t task_exec(const char *path, const char *args); /* returns only if it fails */
void task_exit(int32_t code, int32_t signal) __attribute__((noreturn));
const char *path_name(const char *path); /* after its last / */
int64_t task_wait(uint32_t pid);         /* its exit code, -ECHILD or -EINTR */
struct task *task_of(uint32_t pid);      /* sched_lock held; not reaped */
uint64_t task_stack_end(const struct task *task);
extern const struct rs_utrace_os demo_utrace; /* utrace.c */

/* entry.c: into and out of user mode */
bool entry_from_user(const struct rs_frame *frame);
void entry_leave(void); /* the task is about to return to user mode */

/* signal.c */
#define TRAP_STEP 2 /* the code of a SIGTRAP that ends a step */
int64_t signal_post(uint32_t pid, int number, int32_t code, uint64_t address);
bool signal_waits(const struct task *task);
void signal_deliver(struct task *task);

/* file.c */
struct node {
	const char *path;
	const char *text;          /* of a file */
	void (*run)(uint64_t arg); /* of a program */
	const char *emulation;     /* under which it runs; NULL: the kernel's own */
};
struct file_status {
	uint32_t size, is_program;
};
const struct node *file_find(const char *path); /* says so to ktrace */
int64_t file_open(const char *path);
int64_t file_status(const char *path, struct file_status *status);
int64_t file_pipe(int32_t fds[2]);
int64_t file_close(uint64_t fd);
int64_t file_read(uint64_t fd, void *to, uint64_t size);
int64_t file_write(uint64_t fd, const void *from, uint64_t size);
void file_inherit(struct task *child); /* from the running task, or the console */
void file_close_all(struct task *task);

/* mm.c */
bool mm_fault(struct rs_frame *frame);
uint32_t mm_release(uint32_t slot, uint32_t pid); /* pages given back */
void mm_switch_in(void); /* the TLB of this vCPU forgets pages that were given back */
volatile uint8_t *mm_window(uint32_t slot);
#define MM_WINDOW_PAGES 16u
/* Copies what the task of `slot` could read; returns how many bytes before the first that it could
 * not. Pages that were never touched are none. */
uint32_t mm_read(uint32_t slot, uint64_t address, void *to, uint32_t size);
uint32_t mm_write(uint32_t slot, uint64_t address, const void *from, uint32_t size);
/* Whether user mode has these addresses; those of the image, or of the running task's window. */
bool mm_user(uint64_t address, uint64_t size);
/* Copies a string with its NUL. False: it is not all there, or too long. */
bool mm_user_text(uint64_t address, char *to, uint32_t size);

/* ktrace.c */
extern const struct rs_ktrace_caller demo_ktrace_caller;
void demo_ktrace_option(void); /* what the command line says, for pid 1 and who comes from it */

/* compute.c */
/* Compresses and checks text number `round` of `worker`; false: the result is wrong. */
bool compute_round(uint32_t worker, uint64_t round);
#define COMPUTE_WORKERS 2u
#define COMPUTE_BLOCKS 4u

/* programs.c */
extern const struct node program_nodes[];
void safe_point(void); /* in user mode, in long computations */
int64_t sys(uint64_t number, uint64_t a, uint64_t b, uint64_t c);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t wait_for(uint64_t pid);
void shell_task(uint64_t unused);
void victim_task(uint64_t unused);
extern uint64_t victim_count; /* by the child that it makes */
extern uint32_t demo_bad;     /* what went wrong in user mode */
extern bool demo_over;        /* tasks are to end */
enum { RUN_WORKER, RUN_PAGER, RUN_PROGRAM, RUN_SPIN };

/* serve.c */
void serve_start(void);

/* engines.c: engines on the guest's own threads, by the option `engines` */
void engines_start(void);
bool engines_end(void); /* false: something went wrong */

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
int64_t workload_spawn(uint64_t what, uint64_t arg);
extern uint32_t demo_faults;
extern uint32_t demo_clock; /* grows as long as the clock task runs */
extern const char demo_name[];

#endif
