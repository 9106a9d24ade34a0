/* SPDX-License-Identifier: MIT */
/*
 * A program that traces itself as an operating system would do it with its processes. Process N, by
 * the program's own id, opens a file in vain each round, reads from another, and says something
 * about itself. Process N + 5000000, an id that no program has, is its child of the same group. In
 * each round there is another child, N + 10000000, which has just been made. Both say something,
 * too.
 *
 * MASK: facilities that process N asks for itself; 0: none. A thread carries out what `ringside
 * ktrace` asks; deaf: there is no such thread; stuck: it does not come back from a command; orphan:
 * the OS does not say who comes from whom.
 *
 *	hosted-ktrace MASK [deaf|stuck|orphan]       runs until it is killed
 */
#include <pthread.h>
#include <ringside/ktrace.h>
#include <rs_hosted.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAIN, CHILD, NEWBORN, PROCESSES };

static struct rs_ktrace_proc processes[PROCESSES];
static struct rs_ktrace_thread threads[PROCESSES];
#define thread threads[MAIN]

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	if (!last)
		return processes;
	return last == &processes[PROCESSES - 1] ? NULL : last + 1;
}

static struct rs_ktrace_proc *parent(const struct rs_ktrace_caller *caller,
				     const struct rs_ktrace_proc *proc)
{
	return proc == &processes[MAIN] ? NULL : &processes[MAIN];
}

static void make_processes(void)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		processes[i].pid = (uint32_t)getpid() + i * 5000000u;
		threads[i].proc = &processes[i];
	}
	processes[MAIN].pgid = processes[CHILD].pgid = (uint32_t)getpid();
}

static void open_in_vain(const char *path)
{
	const uint64_t args[] = {0x1000, 0};

	if (RS_KTRPOINT(&thread, RS_KTRFAC_SYSCALL))
		rs_ktrsyscall(&thread, 2, sizeof(args), args);
	if (RS_KTRPOINT(&thread, RS_KTRFAC_NAMEI))
		rs_ktrnamei(&thread, path);
	if (RS_KTRPOINT(&thread, RS_KTRFAC_SYSRET))
		rs_ktrsysret(&thread, 2, RS_ENOENT, -1);
}

static void read_five(void)
{
	const struct rs_ktr_iovec iov = {"hello", 5};

	if (RS_KTRPOINT(&thread, RS_KTRFAC_GENIO))
		rs_ktrgenio(&thread, 3, RS_KTR_READ, &iov, 5, 0);
	if (RS_KTRPOINT(&thread, RS_KTRFAC_SYSRET))
		rs_ktrsysret(&thread, 0, 0, 5);
}

static void live_and_die(void)
{
	rs_ktrace_fork(&processes[MAIN], &processes[NEWBORN]);
	rs_ktruser(&threads[NEWBORN], "newborn", "hello", 5);
	rs_ktrace_exit(&processes[NEWBORN]);
}

static int32_t get_stuck(struct rs_serve_handler *handler, const struct rs_command *command,
			 struct rs_command_reply *reply)
{
	for (;;)
		pause();
	return 0;
}

/* Ends with the session. */
static void *serve(void *how)
{
	static struct rs_serve_handler stuck = {
		.first = RS_CMD_KTRACE, .last = RS_CMD_KTRACE, .run = get_stuck};
	static struct rs_serve commands;
	static struct rs_ktrace_server server;
	struct rs_ktrace_caller caller = {.next = next, .parent = parent};

	if (strcmp(how, "orphan") == 0)
		caller.parent = NULL;
	rs_ktrace_serve(&server, &commands, &caller);
	if (strcmp(how, "stuck") == 0)
		rs_serve_add(&commands, &stuck);
	rs_serve_run(&commands);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct rs_ktrace_caller root = {.root = true, .next = next};
	const struct timespec pause = {.tv_nsec = 1000000};
	uint32_t mask = argc >= 2 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	char none[] = "", *how = argc == 3 ? argv[2] : none;
	pthread_t server;

	if (argc < 2 || argc > 3 || rs_hosted_init("hosted-ktrace"))
		return 2;
	make_processes();
	if (mask && rs_ktrace_set(&root, getpid(), mask) != 1)
		return 3;
	if (strcmp(how, "deaf") != 0 && pthread_create(&server, NULL, serve, how))
		return 4;
	for (;;) {
		open_in_vain("/no/such\x1b[2Jfile");
		read_five();
		rs_ktruser(&thread, "mark", "I am here", 9);
		rs_ktruser(&threads[CHILD], "child", "me too", 6);
		live_and_die();
		nanosleep(&pause, NULL);
	}
}
