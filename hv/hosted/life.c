/* SPDX-License-Identifier: MIT */
/*
 * Follows the process by its pidfd, on the session's thread. Our own child is reaped; of another
 * process we learn only that it is gone.
 */
#define _GNU_SOURCE
#include "hosted/private.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

#define LOOK_MS 20     /* while a debugger has the end of our child, and does not pass it on */
#define END_US 1000000 /* after a kill */
#define END_LOOK_US 1000

void rs_hosted_drop_source(GSource **source)
{
	if (*source)
		g_source_destroy(*source);
	g_clear_pointer(source, g_source_unref);
}

static void describe_signal(const struct rs_hosted *hosted, const siginfo_t *info,
			    struct rs_target_end *end)
{
	end->reason = hosted->stop_asked ? RS_END_KILLED : RS_END_FAULT;
	end->code = 128 + info->si_status;
	end->signal = hosted->stop_asked ? 0 : info->si_status;
	if (!hosted->stop_asked)
		g_snprintf(end->text, sizeof(end->text), "killed by signal %d (%s)%s",
			   info->si_status, g_strsignal(info->si_status),
			   info->si_code == CLD_DUMPED ? ", core dumped" : "");
}

/* `info`: NULL if it was not our child. */
static void tell_end(struct rs_hosted *hosted, const siginfo_t *info)
{
	struct rs_target_end end = {.reason = RS_END_GONE};

	hosted->ended = true;
	rs_hosted_drop_source(&hosted->kill_source);
	rs_hosted_drop_source(&hosted->life_source);
	if (info && info->si_code == CLD_EXITED)
		end = (struct rs_target_end){.reason = RS_END_EXIT, .code = info->si_status};
	else if (info)
		describe_signal(hosted, info, &end);
	if (info && hosted->stop_asked)
		g_snprintf(end.text, sizeof(end.text), "%s%s", hosted->stop_why,
			   hosted->stop_forced ? "; it did not end by SIGTERM, and was killed"
					       : "");
	if (hosted->base.events.ended)
		hosted->base.events.ended(hosted->base.events.data, &end);
}

/* Whether our child has ended; then it is reaped. */
static bool reap(struct rs_hosted *hosted, siginfo_t *info)
{
	info->si_pid = 0;
	return !waitid(P_PIDFD, (id_t)hosted->pidfd, info, WEXITED | WNOHANG) && info->si_pid;
}

static gboolean look_again(gpointer data)
{
	struct rs_hosted *hosted = data;
	siginfo_t info;

	if (!reap(hosted, &info))
		return G_SOURCE_CONTINUE;
	tell_end(hosted, &info);
	return G_SOURCE_REMOVE;
}

/* The pidfd stays readable, so it is not watched any more. */
static void look_now_and_then(struct rs_hosted *hosted)
{
	rs_hosted_drop_source(&hosted->life_source);
	hosted->life_source = g_timeout_source_new(LOOK_MS);
	g_source_set_callback(hosted->life_source, look_again, hosted, NULL);
	g_source_attach(hosted->life_source, hosted->context);
}

static gboolean on_gone(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_hosted *hosted = data;
	siginfo_t info;

	if (hosted->attached)
		tell_end(hosted, NULL);
	else if (reap(hosted, &info))
		tell_end(hosted, &info);
	else
		look_now_and_then(hosted);
	return G_SOURCE_REMOVE;
}

int rs_hosted_follow(struct rs_hosted *hosted, struct rs_error *err)
{
	if (hosted->pidfd < 0)
		hosted->pidfd = (int)syscall(SYS_pidfd_open, hosted->base.pid, 0);
	if (hosted->pidfd < 0)
		return rs_error_set(err, errno, "process %d: %s", (int)hosted->base.pid,
				    g_strerror(errno));
	hosted->life_source = g_unix_fd_source_new(hosted->pidfd, G_IO_IN);
	g_source_set_callback(hosted->life_source, G_SOURCE_FUNC(on_gone), hosted, NULL);
	g_source_attach(hosted->life_source, hosted->context);
	return 0;
}

void rs_hosted_signal(struct rs_hosted *hosted, int signal)
{
	syscall(SYS_pidfd_send_signal, hosted->pidfd, signal, NULL, 0);
}

void rs_hosted_end(struct rs_hosted *hosted)
{
	gint64 until = g_get_monotonic_time() + END_US;
	siginfo_t info;

	rs_hosted_signal(hosted, SIGKILL);
	/* Whoever traces it may keep its end to himself. */
	while (!reap(hosted, &info) && errno != ECHILD && g_get_monotonic_time() < until)
		g_usleep(END_LOOK_US);
}
