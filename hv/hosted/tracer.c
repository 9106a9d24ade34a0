/* SPDX-License-Identifier: MIT */
/*
 * The thread that owns the process. It makes all ptrace calls and waits.
 *
 * It sleeps in waitpid(__WNOTHREAD), which sees only this thread's own child and tracees. When
 * the session's thread wants something, a signal interrupts the wait. A task is a thread that
 * shares the program's text: each thread of the program, and a vfork child until it executes. A
 * pause puts each task into a ptrace stop, and waits for one after the other: with thousands of
 * tasks, a wait for any of them would cost the kernel a look at all of them, each time. A parent
 * that waits for its vfork child counts as stopped, since it cannot reach user space before the
 * child, which is stopped.
 */
#define _GNU_SOURCE
#include "hosted/private.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC)
#define PAUSE_LIMIT_US (2 * G_USEC_PER_SEC)

struct task {
	pid_t tid;
	bool stopped;  /* in a ptrace stop, until we continue it */
	bool in_vfork; /* waits for its child in the kernel */
	bool group_stop;
	int signal; /* is delivered when it goes on */
};

int rs_hosted_wake_signal(void)
{
	return SIGRTMIN + 6;
}

static struct task *find_task(struct rs_hosted *hosted, pid_t tid)
{
	return g_hash_table_lookup(hosted->tasks, GINT_TO_POINTER(tid));
}

static struct task *add_task(struct rs_hosted *hosted, pid_t tid)
{
	struct task *task = find_task(hosted, tid);

	if (!task) {
		task = g_new0(struct task, 1);
		task->tid = tid;
		g_hash_table_insert(hosted->tasks, GINT_TO_POINTER(tid), task);
	}
	return task;
}

static void drop_task(struct rs_hosted *hosted, pid_t tid)
{
	g_hash_table_remove(hosted->tasks, GINT_TO_POINTER(tid));
}

static void let_go(struct task *task)
{
	/* In a group stop the task must stay stopped until SIGCONT. PTRACE_LISTEN reports that. */
	if (task->group_stop) {
		ptrace(PTRACE_LISTEN, task->tid, NULL, NULL);
	} else {
		ptrace(PTRACE_CONT, task->tid, NULL, (void *)(uintptr_t)task->signal);
	}
	task->signal = 0;
	task->group_stop = false;
	task->stopped = false;
}

/*
 * Whether a pause waited in vain for a task that has shown no sign of life since. It may wait in
 * the kernel for a long time, and nobody waits for it again.
 */
static bool is_silent(struct rs_hosted *hosted)
{
	pid_t tid = hosted->silent;

	if (tid && (!find_task(hosted, tid) || rs_process_task_ended(tid)))
		hosted->silent = 0;
	return hosted->silent != 0;
}

static pid_t event_message(pid_t tid)
{
	unsigned long message = 0;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
	return (pid_t)message;
}

/* A new image: the other threads are gone, and a vfork child has left our text. */
static bool on_exec(struct rs_hosted *hosted, struct task *task)
{
	GHashTableIter iter;
	gpointer key;

	if (task->tid != hosted->base.pid) {
		ptrace(PTRACE_DETACH, task->tid, NULL, NULL);
		drop_task(hosted, task->tid);
		return false;
	}
	g_hash_table_iter_init(&iter, hosted->tasks);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (GPOINTER_TO_INT(key) != task->tid)
			g_hash_table_iter_remove(&iter);
	task->in_vfork = false;
	return true;
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void on_stop(struct rs_hosted *hosted, pid_t tid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	struct task *task = add_task(hosted, tid);

	if (tid == hosted->silent)
		hosted->silent = 0;
	task->stopped = true;
	task->group_stop = false;
	task->signal = 0;
	switch (event) {
	case 0:
		task->signal = sig;
		break;
	case PTRACE_EVENT_STOP:
		/* SIGTRAP: our own interrupt, or a new task. A stopping signal: group stop. */
		task->group_stop = is_stop_signal(sig);
		break;
	case PTRACE_EVENT_CLONE:
		add_task(hosted, event_message(tid));
		break;
	case PTRACE_EVENT_VFORK:
		add_task(hosted, event_message(tid));
		task->in_vfork = true;
		break;
	case PTRACE_EVENT_VFORK_DONE:
		task->in_vfork = false;
		break;
	case PTRACE_EVENT_EXEC:
		if (!on_exec(hosted, task))
			return;
		rs_hosted_new_image(hosted);
		break;
	}
	if (!hosted->stopping)
		let_go(task);
}

/* Handles one state change. */
static void on_status(struct rs_hosted *hosted, pid_t tid, int status)
{
	if (WIFSTOPPED(status)) {
		on_stop(hosted, tid, status);
		return;
	}
	drop_task(hosted, tid);
	if (tid == hosted->base.pid)
		rs_hosted_gone(hosted, status);
}

/* ---- requests ---- */

static bool is_held(const struct task *task)
{
	return task->stopped || task->in_vfork;
}

/* A task that is not held; 0: all are. */
static pid_t find_running(struct rs_hosted *hosted)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, hosted->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (!is_held(value))
			return ((struct task *)value)->tid;
	return 0;
}

/* Asks all running tasks to stop, and returns them (array of pid_t, to be unreffed). */
static GArray *interrupt_all(struct rs_hosted *hosted)
{
	GArray *asked = g_array_new(FALSE, FALSE, sizeof(pid_t));
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, hosted->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct task *task = value;

		if (is_held(task))
			continue;
		if (ptrace(PTRACE_INTERRUPT, task->tid, NULL, NULL) && errno == ESRCH)
			g_hash_table_iter_remove(&iter);
		else
			g_array_append_val(asked, task->tid);
	}
	return asked;
}

/* Takes note of what has happened to a task. False: nothing has. */
static bool look_at(struct rs_hosted *hosted, pid_t tid)
{
	int status;

	if (waitpid(tid, &status, __WALL | __WNOTHREAD | WNOHANG) <= 0)
		return false;
	on_status(hosted, tid, status);
	return true;
}

/* A thread in execve stops only after we have taken note of the ends of all others. */
static void look_at_all(struct rs_hosted *hosted)
{
	GList *tids = g_hash_table_get_keys(hosted->tasks);

	for (GList *at = tids; at; at = at->next)
		look_at(hosted, GPOINTER_TO_INT(at->data));
	g_list_free(tids);
}

/*
 * Waits until a task is held, or gone. Not every end is reported: a leader may end before its
 * threads, and a task may be gone before its parent's event names it. False: `limit` is over.
 */
static bool wait_held(struct rs_hosted *hosted, pid_t tid, gint64 limit)
{
	struct task *task;

	while ((task = find_task(hosted, tid)) && !is_held(task)) {
		int status;

		if (g_get_monotonic_time() > limit)
			return false;
		/* Only this task: a wait for any of them looks through all of them. */
		if (waitpid(tid, &status, __WALL | __WNOTHREAD) > 0) {
			on_status(hosted, tid, status);
			continue;
		}
		/* The asking thread wakes us now and then until we answer. */
		if (errno == EINTR)
			look_at_all(hosted);
		else
			drop_task(hosted, tid);
		if (rs_process_task_ended(tid) && !look_at(hosted, tid))
			drop_task(hosted, tid);
	}
	return true;
}

/* Takes note of all that has happened to other tasks, such as an execve. */
static void take_rest(struct rs_hosted *hosted, gint64 limit)
{
	int status;
	pid_t tid;

	while (g_get_monotonic_time() <= limit &&
	       (tid = waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG)) > 0)
		on_status(hosted, tid, status);
}

static void resume_all(struct rs_hosted *hosted)
{
	GHashTableIter iter;
	gpointer value;

	hosted->stopping = false;
	g_hash_table_iter_init(&iter, hosted->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (((struct task *)value)->stopped)
			let_go(value);
}

/* Stops the tasks of this moment. Returns the one that does not stop, or 0. */
static pid_t stop_running(struct rs_hosted *hosted, gint64 limit)
{
	GArray *asked = interrupt_all(hosted);
	pid_t slow = 0;

	for (guint i = 0; i < asked->len && !slow; i++) {
		pid_t tid = g_array_index(asked, pid_t, i);

		if (!wait_held(hosted, tid, limit))
			slow = tid;
	}
	g_array_unref(asked);
	return slow;
}

static int pause_all(struct rs_hosted *hosted, struct rs_error *err)
{
	gint64 limit = g_get_monotonic_time() + PAUSE_LIMIT_US;

	if (is_silent(hosted))
		return rs_error_set(err, EAGAIN,
				    "a thread of process %d has not stopped since an earlier pause",
				    (int)hosted->base.pid);
	hosted->stopping = true;
	/* Again, since tasks that stop may have made others just before. */
	while (find_running(hosted)) {
		pid_t slow = stop_running(hosted, limit);

		if (slow) {
			hosted->silent = slow;
			resume_all(hosted);
			return rs_error_set(err, ETIMEDOUT, "a thread of process %d does not stop",
					    (int)hosted->base.pid);
		}
		take_rest(hosted, limit);
	}
	return 0;
}

/* Seizes a task, unless it has ended. Returns 1 if it is ours now, or -errno. */
static int seize(struct rs_hosted *hosted, pid_t tid, struct rs_error *err)
{
	int code;

	if (!ptrace(PTRACE_SEIZE, tid, NULL, OPTIONS))
		return 1;
	code = errno;
	/* A thread that we have seized has made it. So the kernel traces it for us: EPERM. */
	if (code == EPERM && rs_process_tracer(tid) == gettid())
		return 1;
	/* A zombie cannot be seized: EPERM. Nor need it be. */
	if (code == ESRCH || rs_process_task_ended(tid))
		return 0;
	return rs_error_set(err, code, "ptrace of process %d: %s", (int)hosted->base.pid,
			    g_strerror(code));
}

/* Seizes the tasks that are not yet ours. *more: there were some, and may be more by now. */
static int seize_new(struct rs_hosted *hosted, GDir *dir, bool *more, struct rs_error *err)
{
	const char *name;

	*more = false;
	while ((name = g_dir_read_name(dir))) {
		pid_t tid = atoi(name);
		int ret;

		if (find_task(hosted, tid))
			continue;
		ret = seize(hosted, tid, err);
		if (ret < 0)
			return ret;
		if (ret) {
			add_task(hosted, tid);
			*more = true;
		}
	}
	return 0;
}

static int seize_all(struct rs_hosted *hosted, struct rs_error *err)
{
	char *path = g_strdup_printf("/proc/%d/task", (int)hosted->base.pid);
	bool more = true;
	int ret = 0;

	/* New threads may appear meanwhile. The kernel traces those of seized threads, and another
	 * look at the directory finds the others. */
	while (more && !ret) {
		GDir *dir = g_dir_open(path, 0, NULL);

		if (!dir)
			break;
		ret = seize_new(hosted, dir, &more, err);
		g_dir_close(dir);
	}
	g_free(path);
	if (!ret && !g_hash_table_size(hosted->tasks))
		ret = rs_error_set(err, ESRCH, "process %d has ended", (int)hosted->base.pid);
	return ret;
}

/* Tasks can be detached only while stopped. */
static void detach_all(struct rs_hosted *hosted)
{
	GHashTableIter iter;
	gpointer value;

	if (!hosted->stopping && pause_all(hosted, NULL))
		return; /* the kernel detaches them when this thread ends */
	g_hash_table_iter_init(&iter, hosted->tasks);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct task *task = value;

		ptrace(PTRACE_DETACH, task->tid, NULL,
		       (void *)(uintptr_t)(task->group_stop ? SIGSTOP : task->signal));
	}
	g_hash_table_remove_all(hosted->tasks);
}

static int serve_start(struct rs_hosted *hosted, struct rs_error *err)
{
	struct rs_error why = {0};
	pid_t pid = rs_hosted_spawn(hosted, OPTIONS, &why, err);

	if (pid < 0)
		return pid;
	hosted->base.pid = pid;
	hosted->no_patch = why;
	if (!why.code)
		add_task(hosted, pid);
	return 0;
}

static void serve_quit(struct rs_hosted *hosted)
{
	int status;

	hosted->quit = true;
	if (hosted->attached) {
		detach_all(hosted);
		return;
	}
	if (hosted->ended || hosted->base.pid <= 0)
		return;
	kill(hosted->base.pid, SIGKILL);
	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);

		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			break;
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, tid, NULL, NULL);
		else if (tid == hosted->base.pid)
			break;
	}
}

/* Carries out the request. The caller holds the lock, which is released meanwhile. */
static void serve(struct rs_hosted *hosted)
{
	enum rs_hosted_request request = hosted->request;
	struct rs_error err = {0};
	bool ended = hosted->ended;
	int ret = 0;

	g_mutex_unlock(&hosted->lock);
	switch (request) {
	case RS_HOSTED_START:
		ret = serve_start(hosted, &err);
		break;
	case RS_HOSTED_SEIZE:
		ret = seize_all(hosted, &err);
		break;
	case RS_HOSTED_PAUSE:
		if (!ended)
			ret = pause_all(hosted, &err);
		break;
	case RS_HOSTED_RESUME:
		resume_all(hosted);
		break;
	case RS_HOSTED_QUIT:
		serve_quit(hosted);
		break;
	case RS_HOSTED_NOTHING:
		break;
	}
	g_mutex_lock(&hosted->lock);
	hosted->request = RS_HOSTED_NOTHING;
	hosted->result = ret;
	hosted->error = err;
	g_cond_broadcast(&hosted->answered);
}

/* Waits for a state change of the process, or for a request. Sleeps on the condition while there is
 * no process. */
static void wait_once(struct rs_hosted *hosted)
{
	int status;
	pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);

	if (tid > 0)
		on_status(hosted, tid, status);
	else if (errno != EINTR)
		g_usleep(1000); /* nothing is left to wait for, and its end was reported */
}

gpointer rs_hosted_tracer(gpointer data)
{
	struct rs_hosted *hosted = data;
	sigset_t all, wake;

	/* Other threads handle signals. This one takes only the signal that wakes it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&wake);
	sigaddset(&wake, rs_hosted_wake_signal());
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	hosted->tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	g_mutex_lock(&hosted->lock);
	hosted->result = (int)gettid();
	g_cond_broadcast(&hosted->answered);
	while (!hosted->quit) {
		if (hosted->request != RS_HOSTED_NOTHING) {
			serve(hosted);
			continue;
		}
		if (hosted->base.pid <= 0 || hosted->ended) {
			g_cond_wait(&hosted->answered, &hosted->lock);
			continue;
		}
		g_mutex_unlock(&hosted->lock);
		wait_once(hosted);
		g_mutex_lock(&hosted->lock);
	}
	g_mutex_unlock(&hosted->lock);
	g_hash_table_unref(hosted->tasks);
	return NULL;
}
