/* SPDX-License-Identifier: MIT */
/* The session's side of a hosted target, see hosted.h. */
#define _GNU_SOURCE
#include "hosted/private.h"

#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_AFTER_MS 600 /* a session that is to end does so within a second */

static struct rs_hosted *hosted_of(const struct rs_target *target)
{
	return (struct rs_hosted *)target;
}

static void on_wake(int sig)
{
}

/* Hands a request to the tracer thread and waits for the answer. */
static int ask(struct rs_hosted *hosted, enum rs_hosted_request request, struct rs_error *err)
{
	gint64 again =
		200; /* us: repeat the signal, which may come just before the thread sleeps */
	int ret;

	g_mutex_lock(&hosted->lock);
	hosted->request = request;
	g_cond_broadcast(&hosted->answered);
	while (hosted->request != RS_HOSTED_NOTHING) {
		tgkill(getpid(), hosted->tracer_tid, rs_hosted_wake_signal());
		g_cond_wait_until(&hosted->answered, &hosted->lock, g_get_monotonic_time() + again);
		again = MIN(again * 2, 20000);
	}
	ret = hosted->result;
	if (ret)
		rs_error_set(err, -ret, "%s", hosted->error.message);
	g_mutex_unlock(&hosted->lock);
	return ret;
}

static void stop_source(GSource **source)
{
	if (!*source)
		return;
	g_source_destroy(*source);
	g_source_unref(*source);
	*source = NULL;
}

/* ---- from the tracer thread ---- */

static gboolean deliver_end(gpointer data)
{
	struct rs_hosted *hosted = data;
	struct rs_target_end end = {.reason = RS_END_EXIT};
	int status;

	g_mutex_lock(&hosted->lock);
	status = hosted->status;
	g_mutex_unlock(&hosted->lock);
	stop_source(&hosted->kill_source);
	if (WIFEXITED(status)) {
		end.code = WEXITSTATUS(status);
	} else {
		end.reason = hosted->stop_asked ? RS_END_KILLED : RS_END_FAULT;
		end.code = 128 + WTERMSIG(status);
		end.signal = hosted->stop_asked ? 0 : WTERMSIG(status);
	}
	if (hosted->stop_asked)
		g_snprintf(end.text, sizeof(end.text), "%s%s", hosted->stop_why,
			   hosted->stop_forced ? "; it did not end by SIGTERM, and was killed"
					       : "");
	else if (!WIFEXITED(status))
		g_snprintf(end.text, sizeof(end.text), "killed by signal %d (%s)%s",
			   WTERMSIG(status), g_strsignal(WTERMSIG(status)),
			   WCOREDUMP(status) ? ", core dumped" : "");
	if (hosted->base.events.ended)
		hosted->base.events.ended(hosted->base.events.data, &end);
	return G_SOURCE_REMOVE;
}

void rs_hosted_gone(struct rs_hosted *hosted, int status)
{
	g_mutex_lock(&hosted->lock);
	hosted->ended = true;
	hosted->status = status;
	g_mutex_unlock(&hosted->lock);
	if (hosted->attached)
		return;
	hosted->ended_source = g_idle_source_new();
	g_source_set_priority(hosted->ended_source, G_PRIORITY_DEFAULT);
	g_source_set_callback(hosted->ended_source, deliver_end, hosted, NULL);
	g_source_attach(hosted->ended_source, hosted->context);
}

void rs_hosted_new_image(struct rs_hosted *hosted)
{
	g_mutex_lock(&hosted->lock);
	hosted->new_image = true;
	g_mutex_unlock(&hosted->lock);
}

/* ---- operations ---- */

/*
 * Takes what was rung. The program has the same open file: it may have taken the number since our
 * poll, and may have made reads of it wait. So this read says itself that it does not wait.
 */
static bool take_rings(int fd)
{
	uint64_t count;
	struct iovec into = {&count, sizeof(count)};
	ssize_t got = preadv2(fd, &into, 1, -1, RWF_NOWAIT);

	/* A kernel before 5.8 cannot do that with an eventfd. */
	if (got < 0 && errno == EOPNOTSUPP)
		got = read(fd, &count, sizeof(count));
	return got == sizeof(count);
}

static gboolean on_doorbell(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_hosted *hosted = data;

	if (!take_rings(fd))
		return G_SOURCE_CONTINUE;
	/* The program writes the number, so our own count is how often it rang. */
	hosted->stats.doorbells++;
	if (hosted->base.events.doorbell)
		hosted->base.events.doorbell(hosted->base.events.data);
	return G_SOURCE_CONTINUE;
}

static int hosted_start(struct rs_target *target, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	int ret;

	if (hosted->base.pid > 0)
		return rs_error_set(err, EALREADY, "'%s' has been started", hosted->argv[0]);
	hosted->context = g_main_context_ref_thread_default();
	ret = ask(hosted, RS_HOSTED_START, err);
	if (ret)
		return ret;
	hosted->doorbell_source = g_unix_fd_source_new(hosted->doorbell_fd, G_IO_IN);
	g_source_set_callback(hosted->doorbell_source, G_SOURCE_FUNC(on_doorbell), hosted, NULL);
	g_source_attach(hosted->doorbell_source, hosted->context);
	return 0;
}

static bool has_ended(struct rs_hosted *hosted)
{
	bool ended;

	g_mutex_lock(&hosted->lock);
	ended = hosted->ended;
	g_mutex_unlock(&hosted->lock);
	return ended;
}

static int hosted_pause(struct rs_target *target, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);
	int ret = 0;

	if (hosted->no_patch.code)
		return rs_error_set(err, hosted->no_patch.code, "%s", hosted->no_patch.message);
	if (hosted->base.pid > 0 && !has_ended(hosted))
		ret = ask(hosted, RS_HOSTED_PAUSE, err);
	if (!ret)
		hosted->paused = true;
	return ret;
}

static int hosted_resume(struct rs_target *target, struct rs_error *err)
{
	struct rs_hosted *hosted = hosted_of(target);

	hosted->paused = false;
	if (hosted->base.pid <= 0 || hosted->no_patch.code)
		return 0;
	return ask(hosted, RS_HOSTED_RESUME, err);
}

static void hosted_stats(struct rs_target *target, struct rs_target_stats *out)
{
	*out = hosted_of(target)->stats;
}

/* The rate is the more exact the longer the target has existed. */
static uint64_t hosted_clock_hz(struct rs_target *target)
{
	return rs_ticks_hz(&hosted_of(target)->begun);
}

/* The event clock of a process is the same counter as ours. */
static uint64_t hosted_clock_now(struct rs_target *target)
{
	return rs_ticks();
}

static gboolean kill_hard(gpointer data)
{
	struct rs_hosted *hosted = data;

	if (!has_ended(hosted)) {
		kill(hosted->base.pid, SIGKILL);
		hosted->stop_forced = true;
	}
	return G_SOURCE_REMOVE;
}

static void hosted_stop(struct rs_target *target, const char *why)
{
	struct rs_hosted *hosted = hosted_of(target);

	if (hosted->base.pid <= 0 || hosted->attached || hosted->stop_asked || has_ended(hosted))
		return;
	hosted->stop_asked = true;
	g_strlcpy(hosted->stop_why, why ? why : "stopped", sizeof(hosted->stop_why));
	kill(hosted->base.pid, SIGTERM);
	kill(hosted->base.pid, SIGCONT); /* a stopped program takes no SIGTERM */
	hosted->kill_source = g_timeout_source_new(KILL_AFTER_MS);
	g_source_set_callback(hosted->kill_source, kill_hard, hosted, NULL);
	g_source_attach(hosted->kill_source, hosted->context);
}

static void hosted_kill(struct rs_target *target, const char *why)
{
	struct rs_hosted *hosted = hosted_of(target);

	if (hosted->base.pid <= 0 || hosted->attached || has_ended(hosted))
		return;
	if (!hosted->stop_asked)
		g_strlcpy(hosted->stop_why, why, sizeof(hosted->stop_why));
	hosted->stop_asked = true;
	kill(hosted->base.pid, SIGKILL);
}

static void hosted_destroy(struct rs_target *target)
{
	struct rs_hosted *hosted;

	if (!target)
		return;
	hosted = hosted_of(target);
	if (hosted->thread) {
		ask(hosted, RS_HOSTED_QUIT, NULL);
		g_thread_join(hosted->thread);
	}
	stop_source(&hosted->doorbell_source);
	stop_source(&hosted->kill_source);
	stop_source(&hosted->ended_source);
	if (hosted->context)
		g_main_context_unref(hosted->context);
	if (hosted->regions_fd >= 0)
		close(hosted->regions_fd);
	if (hosted->doorbell_fd >= 0)
		close(hosted->doorbell_fd);
	if (hosted->mem_fd >= 0)
		close(hosted->mem_fd);
	g_strfreev(hosted->argv);
	g_strfreev(hosted->envp);
	g_free(hosted->program);
	g_mutex_clear(&hosted->lock);
	g_cond_clear(&hosted->answered);
	g_free(hosted);
}

static const struct rs_target_ops hosted_ops = {
	.kind = "hosted",
	.writer = "ptrace",
	.start = hosted_start,
	.pause = hosted_pause,
	.resume = hosted_resume,
	.read_virt = rs_hosted_read_virt,
	.write_text = rs_hosted_write_text,
	.read_text = rs_hosted_read_text,
	.stats = hosted_stats,
	.clock_hz = hosted_clock_hz,
	.clock_now = hosted_clock_now,
	.stop = hosted_stop,
	.kill = hosted_kill,
	.destroy = hosted_destroy,
};

/* ---- making one ---- */

static struct rs_hosted *new_hosted(void)
{
	struct sigaction action = {.sa_handler = on_wake};
	struct rs_hosted *hosted = g_new0(struct rs_hosted, 1);

	sigaction(rs_hosted_wake_signal(), &action, NULL); /* without SA_RESTART */
	hosted->base.ops = &hosted_ops;
	hosted->base.vcpus = CLAMP(g_get_num_processors(), 1, RS_MAX_CPUS);
	hosted->regions_fd = hosted->doorbell_fd = hosted->mem_fd = -1;
	hosted->begun = rs_moment_now();
	g_mutex_init(&hosted->lock);
	g_cond_init(&hosted->answered);
	pthread_sigmask(SIG_SETMASK, NULL, &hosted->mask);
	return hosted;
}

/* Waits until the thread has said its id. */
static void start_thread(struct rs_hosted *hosted)
{
	g_mutex_lock(&hosted->lock);
	hosted->thread = g_thread_new("rs-tracer", rs_hosted_tracer, hosted);
	while (!hosted->result)
		g_cond_wait(&hosted->answered, &hosted->lock);
	hosted->tracer_tid = hosted->result;
	g_mutex_unlock(&hosted->lock);
}

static int take_fds(struct rs_hosted *hosted, const struct rs_hosted_config *config,
		    struct rs_error *err)
{
	if (config->regions_fd >= 0) {
		/* The program may use low numbers itself. */
		hosted->regions_fd = fcntl(config->regions_fd, F_DUPFD_CLOEXEC, 100);
		if (hosted->regions_fd < 0)
			return rs_error_set(err, errno, "trace regions: %s", g_strerror(errno));
	}
	hosted->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (hosted->doorbell_fd < 0)
		return rs_error_set(err, errno, "eventfd: %s", g_strerror(errno));
	return 0;
}

int rs_hosted_create(const struct rs_hosted_config *config, struct rs_target **out,
		     struct rs_error *err)
{
	struct rs_hosted *hosted;
	int ret;

	if (!config->argv || !config->argv[0])
		return rs_error_set(err, EINVAL, "no program is named");
	hosted = new_hosted();
	hosted->argv = g_strdupv((char **)config->argv);
	hosted->envp = config->envp ? g_strdupv((char **)config->envp) : g_get_environ();
	hosted->no_ptrace = config->no_ptrace;
	hosted->claim = config->claim;
	hosted->claim_base = config->claim_base;
	hosted->program = g_find_program_in_path(config->argv[0]);
	ret = take_fds(hosted, config, err);
	if (!ret && !hosted->program)
		ret = rs_error_set(err, ENOENT, "program '%s' is not there, or not executable",
				   config->argv[0]);
	if (ret) {
		hosted_destroy(&hosted->base);
		return ret;
	}
	start_thread(hosted);
	*out = &hosted->base;
	return 0;
}

int rs_hosted_attach(pid_t pid, uint64_t start_time, struct rs_target **out, struct rs_error *err)
{
	struct rs_hosted *hosted;
	int ret;

	if (pid <= 0 || !start_time || rs_hosted_start_time(pid) != start_time ||
	    !rs_process_living_task(pid))
		return rs_error_set(err, ESRCH, "process %d has ended", (int)pid);
	hosted = new_hosted();
	hosted->attached = true;
	hosted->base.pid = pid;
	start_thread(hosted);
	ret = ask(hosted, RS_HOSTED_SEIZE, err);
	if (ret) {
		hosted_destroy(&hosted->base);
		return ret;
	}
	*out = &hosted->base;
	return 0;
}

bool rs_hosted_can_patch(const struct rs_target *target, struct rs_error *why)
{
	const struct rs_hosted *hosted = hosted_of(target);

	if (!hosted->no_patch.code)
		return true;
	rs_error_set(why, hosted->no_patch.code, "%s", hosted->no_patch.message);
	return false;
}

uint64_t rs_hosted_start_time(pid_t pid)
{
	return rs_process_start_time(pid);
}
