/* SPDX-License-Identifier: MIT */
/* Per-thread facts of the hosted port, see rs_port.h. */
#define _GNU_SOURCE
#include "rs_port.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct rs_port_thread rs_port_thread __attribute__((tls_model("initial-exec")));

/* After fork the one thread of the child has another id; its next event asks again. */
static void forget(void)
{
	memset(&rs_port_thread, 0, sizeof(rs_port_thread));
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget);
}

/* Only async-signal-safe calls: an event may fire in a signal handler. */
void rs_port_thread_fill(void)
{
	char comm[RS_COMM_LEN + 1] = "";

	prctl(PR_GET_NAME, comm);
	memcpy(rs_port_thread.comm, comm, RS_COMM_LEN);
	rs_port_thread.pid = (uint32_t)syscall(SYS_gettid);
}

void rs_port_thread_renamed(void)
{
	forget();
}
