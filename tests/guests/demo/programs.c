/* SPDX-License-Identifier: MIT */
/*
 * Programs of the demo guest: a shell that starts others again and again, reads what they write
 * into a pipe, sends them signals and waits for them. It checks all of it and counts what is wrong
 * in demo_bad. All of this is user mode.
 */
#include "demo.h"
#include "events.h"

uint32_t demo_bad;
bool demo_over;

USER int64_t sys(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	return (int64_t)rs_syscall(number, a, b, c);
}

USER void say(const char *format, ...)
{
	char line[128];
	va_list args;

	va_start(args, format);
	rs_vsnprintf(line, sizeof line, format, args);
	va_end(args);
	sys(SYS_WRITE, 1, (uintptr_t)line, strlen(line));
}

USER void safe_point(void)
{
	if (sched_tick_due())
		sys(SYS_TICK, 0, 0, 0);
}

/* All that an engine may interrupt is begun again. */
USER int64_t wait_for(uint64_t pid)
{
	int64_t code;

	do
		code = sys(SYS_WAIT, pid, 0, 0);
	while (code == -EINTR);
	return code;
}

#define PATH(text) ((uint64_t)(uintptr_t)(text))

/* ---- programs ---- */

/* cat FILE: into descriptor 3, in pieces. */
USER static void cat(uint64_t args)
{
	struct file_status status;
	char bytes[10];
	int64_t fd, n, size = 0;

	if (sys(SYS_STAT, args, PATH(&status), 0))
		sys(SYS_EXIT, 1, 0, 0);
	fd = sys(SYS_OPEN, args, 0, 0);
	while ((n = sys(SYS_READ, (uint64_t)fd, PATH(bytes), sizeof bytes)) > 0)
		size += sys(SYS_WRITE, 3, PATH(bytes), (uint64_t)n);
	sys(SYS_CLOSE, (uint64_t)fd, 0, 0);
	sys(SYS_MARK, PATH("cat"), PATH(&size), sizeof size);
	sys(SYS_EXIT, size == status.size ? 0 : 2, 0, 0);
}

static bool sleeper_told;

USER static void on_usr1(int number)
{
	__atomic_store_n(&sleeper_told, true, __ATOMIC_RELAXED);
	/* A handler may make system calls. */
	sys(SYS_WRITE, 3, PATH("!"), 1);
}

/* sleeper: sleeps until its handler has run. Says when it is ready. */
USER static void sleeper(uint64_t args)
{
	__atomic_store_n(&sleeper_told, false, __ATOMIC_RELAXED);
	sys(SYS_SIGACTION, SIGUSR1, PATH(on_usr1), 0);
	sys(SYS_WRITE, 3, PATH("?"), 1);
	/* An engine may wake it, too. */
	while (!__atomic_load_n(&sleeper_told, __ATOMIC_RELAXED))
		sys(SYS_SLEEP, 1000, 0, 0);
	sys(SYS_EXIT, 7, 0, 0);
}

/* last: what the victim of engines.c becomes. */
USER static void last(uint64_t args)
{
	sys(SYS_EXIT, 3, 0, 0);
}

uint64_t victim_count;

/* For engines.c, which changes some of what it does. It exits with the line of what went wrong. */
USER void victim_task(uint64_t unused)
{
	int64_t pid;

	/* Made getpid() by an engine. */
	if (sys(SYS_TIME, 0, 0, 0) != sys(SYS_GETPID, 0, 0, 0))
		sys(SYS_EXIT, 20, 0, 0);
	/* Stopped here, and stepped. */
	sys(SYS_YIELD, 0, 0, 0);
	/* Aborted by an engine, with a result of its own. */
	if (sys(SYS_OPEN, PATH("/etc/motd"), 0, 0) != 1234)
		sys(SYS_EXIT, 21, 0, 0);
	/* It would end it, if no engine ignored it. */
	sys(SYS_KILL, (uint64_t)sys(SYS_GETPID, 0, 0, 0), SIGTERM, 0);
	/* Ended by an engine's signal. */
	pid = sys(SYS_SPAWN, RUN_SPIN, PATH(&victim_count), 0);
	if (pid < 0 || wait_for((uint64_t)pid) != 128 + SIGTERM)
		sys(SYS_EXIT, 22, 0, 0);
	sys(SYS_EXEC, PATH("/bin/last"), PATH("victim"), 0);
	sys(SYS_EXIT, 23, 0, 0);
}

/* crash: touches what is not there. */
USER static void crash(uint64_t args)
{
	*(volatile uint64_t *)0x500000000000ull = 1;
	sys(SYS_EXIT, 1, 0, 0);
}

const struct node program_nodes[] = {
	{.path = "/bin/cat", .run = cat},
	{.path = "/bin/sleeper", .run = sleeper},
	{.path = "/old/crash", .run = crash, .emulation = "old"},
	{.path = "/bin/last", .run = last},
	{.path = NULL},
};

/* ---- the shell ---- */

USER static void check(bool good, const char *what)
{
	if (good)
		return;
	__atomic_fetch_add(&demo_bad, 1, __ATOMIC_RELAXED);
	say("demo: sh: %s\n", what);
}

USER static int64_t read_all(uint64_t fd, char *to, uint64_t size)
{
	uint64_t got = 0;
	int64_t n;

	while (got < size) {
		n = sys(SYS_READ, fd, PATH(to + got), size - got);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		got += (uint64_t)n;
	}
	return (int64_t)got;
}

/* Descriptors 2 and 3 are a pipe. The child has its end in 3. */
USER static void run_cat(void)
{
	int32_t fds[2] = {0};
	char text[64] = {0};
	int64_t pid, n;

	check(!sys(SYS_PIPE, PATH(fds), 0, 0), "pipe");
	pid = sys(SYS_SPAWN, RUN_PROGRAM, 0, 0);
	sys(SYS_CLOSE, (uint64_t)fds[1], 0, 0);
	n = read_all((uint64_t)fds[0], text, sizeof text);
	check(pid > 0 && wait_for((uint64_t)pid) == 0, "cat fails");
	check(n == 26 && !strcmp(text, "Welcome to the ring side.\n"), "cat reads something else");
	sys(SYS_CLOSE, (uint64_t)fds[0], 0, 0);
}

USER static void run_sleeper(void)
{
	int32_t fds[2] = {0};
	char byte = 0;
	int64_t pid;

	check(!sys(SYS_PIPE, PATH(fds), 0, 0), "pipe");
	pid = sys(SYS_SPAWN, RUN_PROGRAM, 1, 0);
	sys(SYS_CLOSE, (uint64_t)fds[1], 0, 0);
	check(read_all((uint64_t)fds[0], &byte, 1) == 1 && byte == '?', "sleeper does not start");
	sys(SYS_KILL, (uint64_t)pid, SIGSTOP, 0);
	sys(SYS_KILL, (uint64_t)pid, SIGUSR1, 0);
	sys(SYS_SLEEP, 5, 0, 0);
	sys(SYS_KILL, (uint64_t)pid, SIGCONT, 0);
	check(wait_for((uint64_t)pid) == 7, "no signal has woken the sleeper");
	check(read_all((uint64_t)fds[0], &byte, 1) == 1 && byte == '!', "no handler has run");
	sys(SYS_CLOSE, (uint64_t)fds[0], 0, 0);
}

USER static void run_others(void)
{
	int64_t pid = sys(SYS_SPAWN, RUN_PROGRAM, 2, 0);

	check(wait_for((uint64_t)pid) == 128 + SIGSEGV, "crash does not crash");
	check(sys(SYS_OPEN, PATH("/etc/nothing"), 0, 0) == -RS_ENOENT, "nothing is there");
	check(sys(SYS_OPEN, 0x500000000000ull, 0, 0) == -EFAULT, "a bad path");
	pid = sys(SYS_SPAWN, RUN_PROGRAM, 1, 0);
	sys(SYS_KILL, (uint64_t)pid, SIGKILL, 0);
	check(wait_for((uint64_t)pid) == 128 + SIGKILL, "SIGKILL does not kill");
}

USER void shell_task(uint64_t unused)
{
	do {
		run_cat();
		run_sleeper();
		run_others();
		sys(SYS_SLEEP, 50, 0, 0);
	} while (!__atomic_load_n(&demo_over, __ATOMIC_RELAXED));
	sys(SYS_EXIT, 0, 0, 0);
}
