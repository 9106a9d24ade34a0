/* SPDX-License-Identifier: MIT */
/*
 * Holds a process for a moment. A thread of ours seizes each of its threads and interrupts it, and
 * detaches them when they are to go on. That thread lives only as long as the stop does: the kernel
 * then detaches what cannot be detached, such as a thread that waits in the kernel. It does so as
 * well if we are killed.
 *
 * A thread that was interrupted stops before it reaches user space again. So one that sleeps in the
 * kernel without being woken by that (state D) is held, too. It may be the parent of a vfork: then
 * its child runs in the same memory, and is held with the rest.
 *
 * Nothing is taken from a thread: its stop is only looked at (WNOWAIT), so that a signal that it
 * was about to take is not lost either if we are killed. Exits are taken note of where another
 * thread that executes a program waits for that.
 */
#define _GNU_SOURCE
#include "hosted/private.h"

#include "base/prompt.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_US (2 * G_USEC_PER_SEC)
#define LEAVE_US G_USEC_PER_SEC /* after that, for a thread of ours that does not answer */
#define LOOK_US 200             /* between two looks at whoever does not stop, growing … */
#define LOOK_MAX_US 20000
#define RETRY_US 50
#define TRIES 200

struct task {
	pid_t tid, group;
	bool stopped; /* in a ptrace stop */
	bool inside;  /* in the kernel, which it will not leave before it stops */
	int signal;   /* that it was about to take */
};

struct rs_hosted_stop {
	pid_t pid, former;
	pthread_t thread;
	GMutex lock; /* protects: */
	GCond changed;
	bool answered, released; /* released before there is a pid: it was not needed */
	bool left;               /* nobody waits for the thread any more, which frees this */
	int result;
	struct rs_error error;
	pid_t tid;
	struct rs_prompt work; /* what the caller was at before the thread had said its id */

	/* Only the thread uses these. */
	gint64 limit;
	GHashTable *tasks; /* tid -> struct task */
	GArray *groups;    /* of pid_t: the process, and those that run in its memory */
};

/* Interrupts the thread's wait. Its handler does nothing. */
static int wake_signal(void)
{
	return SIGRTMIN + 6;
}

static void on_wake(int sig)
{
}

/* ---- one task ---- */

static bool is_held(const struct task *task)
{
	return task->stopped || task->inside;
}

static void note_stop(struct task *task, int status)
{
	int event = status >> 8;

	task->stopped = true;
	/* Other stops are our interrupt, or a group stop, which the kernel keeps. */
	task->signal = event ? 0 : status;
}

/* Exits of a first thread are for its parent. Returns 0, or an errno. */
static int wait_for(const struct task *task, bool block, siginfo_t *info)
{
	int what = WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD | (block ? 0 : WNOHANG);

	info->si_pid = 0;
	if (task->tid != task->group)
		what |= WEXITED;
	return waitid(P_PID, (id_t)task->tid, info, what) ? errno : 0;
}

/* Whether the task is still there. */
static bool take_note(struct task *task, const siginfo_t *info)
{
	siginfo_t gone;

	if (info->si_code == CLD_TRAPPED || info->si_code == CLD_STOPPED) {
		note_stop(task, info->si_status);
		return true;
	}
	waitid(P_PID, (id_t)task->tid, &gone, WEXITED | WNOHANG | __WALL | __WNOTHREAD);
	return false;
}

/* Whether the task is still there. */
static bool look_at(struct task *task)
{
	siginfo_t info;

	if (is_held(task))
		return true;
	if (wait_for(task, false, &info) == ECHILD)
		return false;
	if (info.si_pid)
		return take_note(task, &info);
	return !rs_process_task_ended(task->tid);
}

static void look_at_all(struct rs_hosted_stop *stop)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, stop->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (!look_at(value))
			g_hash_table_iter_remove(&iter);
}

static bool sleeps_in_kernel(pid_t tid)
{
	uint64_t ran;
	char state;

	return rs_process_task_activity(tid, &state, &ran) && state == 'D';
}

/* Waits until the task is held, or gone. False: the time is over. */
static bool wait_held(struct rs_hosted_stop *stop, pid_t tid)
{
	struct task *task;

	while ((task = g_hash_table_lookup(stop->tasks, GINT_TO_POINTER(tid))) && !is_held(task)) {
		siginfo_t info;
		int code = wait_for(task, true, &info);

		if (!code ? !take_note(task, &info) : code != EINTR)
			g_hash_table_remove(stop->tasks, GINT_TO_POINTER(tid));
		if (code != EINTR)
			continue;
		/* A thread in execve goes on only when the ends of all others are noted. */
		look_at_all(stop);
		task = g_hash_table_lookup(stop->tasks, GINT_TO_POINTER(tid));
		if (task && !is_held(task))
			task->inside = sleeps_in_kernel(tid);
		if (g_get_monotonic_time() > stop->limit)
			return false;
	}
	return true;
}

/* ---- all of them ---- */

static int refuse(const struct rs_hosted_stop *stop, pid_t tid, int code, struct rs_error *err)
{
	pid_t tracer = rs_process_tracer(tid);
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)tracer), *name = NULL;

	if (!tracer)
		return rs_error_set(err, code, "ptrace of process %d: %s", (int)stop->pid,
				    g_strerror(code));
	if (g_file_get_contents(path, &name, NULL, NULL))
		g_strchomp(name);
	return rs_error_set(err, EBUSY, "process %d has another tracer, %s (%d)", (int)stop->pid,
			    name ? name : "a process", (int)tracer);
}

/* 1: it is ours now; 0: it has ended. */
static int seize(struct rs_hosted_stop *stop, pid_t tid, struct rs_error *err)
{
	for (int tries = 0; ptrace(PTRACE_SEIZE, tid, NULL, NULL); tries++) {
		int code = errno;
		pid_t tracer = rs_process_tracer(tid);

		/* A zombie cannot be seized: EPERM. Nor need it be. */
		if (code == ESRCH || rs_process_task_ended(tid))
			return 0;
		/* Its tracer goes just now, as the thread of the last stop may. */
		if ((tracer && tracer != stop->former) || tries == TRIES)
			return refuse(stop, tid, code, err);
		g_usleep(RETRY_US);
	}
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ? 0 : 1;
}

static int seize_new(struct rs_hosted_stop *stop, pid_t group, bool *more, struct rs_error *err)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)group);
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;
	int ret = 0;

	while (dir && ret >= 0 && (name = g_dir_read_name(dir))) {
		pid_t tid = atoi(name);
		struct task *task;

		if (g_hash_table_contains(stop->tasks, GINT_TO_POINTER(tid)))
			continue;
		ret = seize(stop, tid, err);
		if (ret <= 0)
			continue;
		task = g_new0(struct task, 1);
		task->tid = tid;
		task->group = group;
		g_hash_table_insert(stop->tasks, GINT_TO_POINTER(tid), task);
		*more = true;
	}
	if (dir)
		g_dir_close(dir);
	return MIN(ret, 0);
}

static bool has_group(const struct rs_hosted_stop *stop, pid_t pid)
{
	for (guint i = 0; i < stop->groups->len; i++)
		if (g_array_index(stop->groups, pid_t, i) == pid)
			return true;
	return false;
}

/* True as well if that cannot be known. */
static bool shares_memory(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) <= 0;
}

/* Adds the children of a task that run in its memory. */
static void add_sharers(struct rs_hosted_stop *stop, const struct task *task)
{
	g_autofree char *path =
		g_strdup_printf("/proc/%d/task/%d/children", (int)task->group, (int)task->tid);
	g_autofree char *text = NULL;
	g_auto(GStrv) words = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	words = g_strsplit(text, " ", -1);
	for (char **word = words; *word; word++) {
		pid_t child = atoi(*word);

		if (child > 0 && !has_group(stop, child) && shares_memory(task->tid, child))
			g_array_append_val(stop->groups, child);
	}
}

/* Waits for all. False: the time is over. */
static bool wait_all(struct rs_hosted_stop *stop)
{
	GList *tids = g_hash_table_get_keys(stop->tasks);
	bool held = true;

	for (GList *at = tids; at && held; at = at->next) {
		const struct task *task;

		held = wait_held(stop, GPOINTER_TO_INT(at->data));
		task = g_hash_table_lookup(stop->tasks, at->data);
		if (task && task->inside)
			add_sharers(stop, task);
	}
	g_list_free(tids);
	return held;
}

static int hold_all(struct rs_hosted_stop *stop, struct rs_error *err)
{
	bool more;

	/* Again, since tasks that stop may have made others just before. */
	do {
		more = false;
		for (guint i = 0; i < stop->groups->len; i++) {
			pid_t group = g_array_index(stop->groups, pid_t, i);
			int ret = seize_new(stop, group, &more, err);

			if (ret)
				return ret;
		}
		if (!wait_all(stop))
			return rs_error_set(err, ETIMEDOUT, "a thread of process %d does not stop",
					    (int)stop->pid);
	} while (more);
	return 0;
}

/* The kernel detaches the others when this thread ends. */
static void detach_stopped(struct rs_hosted_stop *stop)
{
	GHashTableIter iter;
	gpointer value;

	look_at_all(stop);
	g_hash_table_iter_init(&iter, stop->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct task *task = value;

		if (task->stopped)
			ptrace(PTRACE_DETACH, task->tid, NULL, (void *)(uintptr_t)task->signal);
	}
}

static void free_stop(struct rs_hosted_stop *stop)
{
	g_hash_table_unref(stop->tasks);
	g_array_unref(stop->groups);
	g_mutex_clear(&stop->lock);
	g_cond_clear(&stop->changed);
	g_free(stop);
}

static void *hold(void *data)
{
	struct rs_hosted_stop *stop = data;
	struct rs_error err = {0};
	sigset_t all, wake;
	bool left;
	int ret;

	prctl(PR_SET_NAME, "rs-stop");
	rs_prompt_helper();
	/* Other threads handle signals. This one takes only the signal that wakes it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&wake);
	sigaddset(&wake, wake_signal());
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	g_mutex_lock(&stop->lock);
	stop->tid = gettid();
	while (!stop->pid && !stop->released)
		g_cond_wait(&stop->changed, &stop->lock);
	rs_prompt_gather(&stop->work, 0);
	g_mutex_unlock(&stop->lock);
	if (!stop->pid)
		return NULL;
	ret = hold_all(stop, &err);
	if (ret)
		detach_stopped(stop);
	g_mutex_lock(&stop->lock);
	stop->result = ret;
	stop->error = err;
	stop->answered = true;
	g_cond_broadcast(&stop->changed);
	while (!ret && !stop->released && !stop->left)
		g_cond_wait(&stop->changed, &stop->lock);
	left = stop->left;
	g_mutex_unlock(&stop->lock);
	if (!ret)
		detach_stopped(stop);
	if (left)
		free_stop(stop);
	return NULL;
}

/* ---- the session's side ---- */

static bool sleeps(pid_t tid)
{
	uint64_t ran;
	char state;

	return tid && rs_process_task_activity(tid, &state, &ran) && state != 'R';
}

/*
 * Wakes the thread now and then, so that it looks at whoever does not stop. A program that executes
 * a file whose bytes do not come cannot be seized meanwhile: the thread sleeps, and is left behind.
 * Returns with the lock.
 */
static int await_answer(struct rs_hosted_stop *stop, struct rs_error *err)
{
	const gint64 last = stop->limit + LEAVE_US;
	gint64 again = LOOK_US;
	int ret;

	g_mutex_lock(&stop->lock);
	while (!stop->answered && !stop->left) {
		g_cond_wait_until(&stop->changed, &stop->lock, g_get_monotonic_time() + again);
		if (stop->tid && !stop->answered)
			tgkill(getpid(), stop->tid, wake_signal());
		again = MIN(again * 2, LOOK_MAX_US);
		stop->left = !stop->answered && g_get_monotonic_time() > last && sleeps(stop->tid);
	}
	if (stop->left)
		ret = rs_error_set(err, ETIMEDOUT, "process %d cannot be stopped now",
				   (int)stop->pid);
	else
		ret = stop->result ? rs_error_set(err, -stop->result, "%s", stop->error.message)
				   : 0;
	return ret;
}

struct rs_hosted_stop *rs_hosted_stop_new(void)
{
	struct sigaction action = {.sa_handler = on_wake};
	struct rs_hosted_stop *stop = g_new0(struct rs_hosted_stop, 1);

	sigaction(wake_signal(), &action, NULL); /* without SA_RESTART */
	stop->tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	stop->groups = g_array_new(FALSE, FALSE, sizeof(pid_t));
	g_mutex_init(&stop->lock);
	g_cond_init(&stop->changed);
	rs_prompt_start(&stop->thread, hold, stop);
	return stop;
}

int rs_hosted_stop(struct rs_hosted_stop *stop, pid_t pid, pid_t *former,
		   const struct rs_prompt *work, struct rs_hosted_stop **out, struct rs_error *err)
{
	pthread_t thread;
	bool left;
	int ret;

	g_mutex_lock(&stop->lock);
	if (stop->tid)
		rs_prompt_gather(work, stop->tid);
	else
		stop->work = *work;
	stop->pid = pid;
	stop->former = *former;
	stop->limit = g_get_monotonic_time() + LIMIT_US;
	g_array_append_val(stop->groups, pid);
	g_cond_broadcast(&stop->changed);
	g_mutex_unlock(&stop->lock);
	ret = await_answer(stop, err);
	*former = stop->tid;
	left = stop->left;
	thread = stop->thread;
	g_mutex_unlock(&stop->lock);
	if (left) {
		pthread_detach(thread);
	} else if (ret) {
		pthread_join(thread, NULL);
		free_stop(stop);
	} else {
		*out = stop;
	}
	return ret;
}

void rs_hosted_let_go(struct rs_hosted_stop *stop)
{
	g_mutex_lock(&stop->lock);
	stop->released = true;
	g_cond_broadcast(&stop->changed);
	g_mutex_unlock(&stop->lock);
	pthread_join(stop->thread, NULL);
	free_stop(stop);
}
