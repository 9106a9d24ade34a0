/* SPDX-License-Identifier: MIT */
/*
 * A program that traces itself as a process of an operating system would be: each round it opens a
 * file in vain, reads from another, and says something about itself. Its argument is the mask of
 * facilities that it asks for itself; 0: none. A thread carries out what `ringside ktrace` asks.
 *
 *	hosted-ktrace MASK       runs until it is killed
 */
#include <pthread.h>
#include <ringside/ktrace.h>
#include <rs_hosted.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct rs_ktrace_proc process;
static struct rs_ktrace_thread thread = {.proc = &process};

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	return last ? NULL : &process;
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

/* Ends with the session. */
static void *serve(void *unused)
{
	static struct rs_serve commands;
	static struct rs_ktrace_server server;
	const struct rs_ktrace_caller processes = {.next = next};

	rs_ktrace_serve(&server, &commands, &processes);
	rs_serve_run(&commands);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct rs_ktrace_caller root = {.root = true, .next = next};
	const struct timespec pause = {.tv_nsec = 1000000};
	uint32_t mask = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
	pthread_t server;

	if (argc != 2 || rs_hosted_init("hosted-ktrace"))
		return 2;
	process.pid = (uint32_t)getpid();
	if (mask && rs_ktrace_set(&root, getpid(), mask) != 1)
		return 3;
	if (pthread_create(&server, NULL, serve, NULL))
		return 4;
	for (;;) {
		open_in_vain("/no/such\x1b[2Jfile");
		read_five();
		rs_ktruser(&thread, "mark", "I am here", 9);
		nanosleep(&pause, NULL);
	}
}
