/* SPDX-License-Identifier: MIT */
/* The facts that rs_port.h keeps for each thread. */
#define _GNU_SOURCE
#include "rs_port.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct rs_port_thread rs_port_thread __attribute__((tls_model("initial-exec")));

#ifdef RS_EMIT_KIND
__thread struct rs_emit_self rs_emit_self
	__attribute__((tls_model("initial-exec"), visibility("default")));
#endif

/* After fork the one thread of the child has another id. Its next event asks for it. */
static void forget(void)
{
	rs_port_unbind();
	memset(&rs_port_thread, 0, sizeof(rs_port_thread));
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget);
}

/* An event may fire in a signal handler, so only async-signal-safe calls. */
void rs_port_thread_fill(void)
{
	char comm[RS_COMM_LEN + 1] = "";

	prctl(PR_GET_NAME, comm);
	memcpy(rs_port_thread.comm, comm, RS_COMM_LEN);
	rs_port_thread.tgid = (uint32_t)getpid();
	rs_port_thread.pid = (uint32_t)syscall(SYS_gettid);
}

void rs_port_thread_renamed(void)
{
	rs_port_thread_fill();
	rs_port_unbind();
}

void rs_port_panic(const char *why)
{
	fprintf(stderr, "ringside: %s\n", why);
	abort();
}
