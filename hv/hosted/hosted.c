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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define KILL_AFTER_MS 600 /* a session that is to end does so within a second */
#define SILENCE_US (10 * G_USEC_PER_SEC)

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

static void watch_doorbell(struct rs_hosted *hosted)
{
	if (hosted->doorbell_fd < 0)
		return;
	hosted->doorbell_source = g_unix_fd_source_new(hosted->doorbell_fd, G_IO_IN);
	g_source_set_callback(hosted->doorbell_source, G_SOURCE_FUNC(on_doorbell), hosted, NULL);
	g_source_attach(hosted->doorbell_source, hosted->context);
}

static gboolean make_ready(gpointer data)
{
	struct rs_hosted *hosted = data;

	rs_hosted_drop_source(&hosted->ready_source);
	hosted->ready = rs_hosted_stop_new();
	return G_SOURCE_REMOVE;
}

static void make_ready_later(struct rs_hosted *hosted)
{
	if (hosted->ready || hosted->ready_source || !hosted->context || hosted->no_patch.code)
		return;
	hosted->ready_source = g_idle_source_new();
	g_source_set_callback(hosted->ready_source, make_ready, hosted, NULL);
	g_source_attach(hosted->ready_source, hosted->context);
}

static gboolean rest(GSource *source, gint *timeout)
{
	*timeout = -1;
	rs_prompt_rest();
	return FALSE;
}

/* Before each sleep of the loop, and before whatever else it does. */
static void rest_later(struct rs_hosted *hosted)
{
	static GSourceFuncs funcs = {.prepare = rest};

	hosted->rest_source = g_source_new(&funcs, sizeof(GSource));
	g_source_set_priority(hosted->rest_source, G_PRIORITY_HIGH);
	g_source_attach(hosted->rest_source, hosted->context);
}

static int hosted_start(struct rs_target *target, struct rs_error *err)
{
	struct rs_hosted *hosted = rs_hosted_of(target);
	int ret;

	if (hosted->context)
		return rs_error_set(err, EALREADY, "process %d has been started",
				    (int)hosted->base.pid);
	if (!hosted->attached) {
		ret = rs_hosted_spawn(hosted, &hosted->no_patch, err);
		if (ret < 0)
			return ret;
		hosted->base.pid = ret;
	}
	hosted->context = g_main_context_ref_thread_default();
	watch_doorbell(hosted);
	make_ready_later(hosted);
	rest_later(hosted);
	return rs_hosted_follow(hosted, err);
}

/* Nobody waits again and again for a thread that did not stop. */
static void note_silence(struct rs_hosted *hosted, int ret)
{
	if (ret == -ETIMEDOUT) {
		hosted->silence = hosted->silence ? hosted->silence * 2 : SILENCE_US;
		hosted->silent_until = g_get_monotonic_time() + hosted->silence;
	} else if (!ret) {
		hosted->silence = 0;
	}
}

static int hosted_pause(struct rs_target *target, struct rs_error *err)
{
	struct rs_hosted *hosted = rs_hosted_of(target);
	int ret = 0;

	if (hosted->no_patch.code)
		return rs_error_set(err, hosted->no_patch.code, "%s", hosted->no_patch.message);
	if (hosted->silence && g_get_monotonic_time() < hosted->silent_until)
		return rs_error_set(err, EAGAIN, "a thread of process %d has not stopped lately",
				    (int)hosted->base.pid);
	if (hosted->base.pid > 0 && !hosted->ended)
		ret = rs_hosted_stop(
			hosted->ready ? g_steal_pointer(&hosted->ready) : rs_hosted_stop_new(),
			hosted->base.pid, &hosted->former, &hosted->work, &hosted->stop, err);
	make_ready_later(hosted);
	note_silence(hosted, ret);
	hosted->paused = !ret;
	return ret;
}

static int hosted_resume(struct rs_target *target, struct rs_error *err)
{
	struct rs_hosted *hosted = rs_hosted_of(target);

	hosted->paused = false;
	if (hosted->stop)
		rs_hosted_let_go(g_steal_pointer(&hosted->stop));
	return 0;
}

/* The process that reads and writes memory may be another one at the end. */
static void hosted_hurry(struct rs_target *target, bool on)
{
	struct rs_hosted *hosted = rs_hosted_of(target);
	const pid_t helper = hosted->memory ? rs_hosted_memory_process(hosted->memory) : 0;

	if (on) {
		rs_prompt_begin(&hosted->work);
		if (helper)
			rs_prompt_gather(&hosted->work, helper);
	} else {
		if (helper)
			rs_prompt_release(&hosted->work, helper);
		rs_prompt_end(&hosted->work);
	}
}

/* The agent of another image, perhaps. */
static void hosted_booted(struct rs_target *target)
{
	rs_hosted_open_memory(rs_hosted_of(target), NULL);
}

static void hosted_stats(struct rs_target *target, struct rs_target_stats *out)
{
	*out = rs_hosted_of(target)->stats;
}

/* The rate is the more exact the longer the target has existed. */
static uint64_t hosted_clock_hz(struct rs_target *target)
{
	return rs_ticks_hz(&rs_hosted_of(target)->begun);
}

/* The event clock of a process is the same counter as ours. */
static uint64_t hosted_clock_now(struct rs_target *target)
{
	return rs_ticks();
}

static gboolean kill_hard(gpointer data)
{
	struct rs_hosted *hosted = data;

	rs_hosted_signal(hosted, SIGKILL);
	hosted->stop_forced = true;
	return G_SOURCE_REMOVE;
}

static bool may_end(const struct rs_hosted *hosted)
{
	return hosted->pidfd >= 0 && !hosted->ended;
}

static void hosted_stop(struct rs_target *target, const char *why)
{
	struct rs_hosted *hosted = rs_hosted_of(target);

	if (!may_end(hosted) || hosted->stop_asked)
		return;
	hosted->stop_asked = true;
	g_strlcpy(hosted->stop_why, why ? why : "stopped", sizeof(hosted->stop_why));
	rs_hosted_signal(hosted, SIGTERM);
	rs_hosted_signal(hosted, SIGCONT); /* a stopped program takes no SIGTERM */
	hosted->kill_source = g_timeout_source_new(KILL_AFTER_MS);
	g_source_set_callback(hosted->kill_source, kill_hard, hosted, NULL);
	g_source_attach(hosted->kill_source, hosted->context);
}

static void hosted_kill(struct rs_target *target, const char *why)
{
	struct rs_hosted *hosted = rs_hosted_of(target);

	if (!may_end(hosted))
		return;
	if (!hosted->stop_asked)
		g_strlcpy(hosted->stop_why, why, sizeof(hosted->stop_why));
	hosted->stop_asked = true;
	rs_hosted_signal(hosted, SIGKILL);
}

/* Only our part in it ends. */
static void attached_stop(struct rs_target *target, const char *why)
{
	struct rs_hosted *hosted = rs_hosted_of(target);
	struct rs_target_end end = {.reason = RS_END_KILLED};

	if (!may_end(hosted))
		return;
	hosted->ended = true;
	rs_hosted_drop_source(&hosted->life_source);
	g_strlcpy(end.text, why ? why : "stopped", sizeof(end.text));
	if (target->events.ended)
		target->events.ended(target->events.data, &end);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void hosted_destroy(struct rs_target *target)
{
	struct rs_hosted *hosted;

	if (!target)
		return;
	hosted = rs_hosted_of(target);
	hosted_resume(target, NULL);
	if (may_end(hosted) && !hosted->attached)
		rs_hosted_end(hosted);
	rs_hosted_drop_source(&hosted->doorbell_source);
	rs_hosted_drop_source(&hosted->kill_source);
	rs_hosted_drop_source(&hosted->life_source);
	rs_hosted_drop_source(&hosted->ready_source);
	rs_hosted_drop_source(&hosted->rest_source);
	rs_prompt_rest();
	if (hosted->ready)
		rs_hosted_let_go(hosted->ready);
	if (hosted->context)
		g_main_context_unref(hosted->context);
	close_fd(hosted->regions_fd);
	close_fd(hosted->doorbell_fd);
	rs_hosted_memory_end(hosted->memory);
	close_fd(hosted->pidfd);
	g_strfreev(hosted->argv);
	g_strfreev(hosted->envp);
	g_free(hosted->program);
	g_free(hosted);
}

static const struct rs_target_ops hosted_ops = {
	.kind = "hosted",
	.is_program = true,
	.native = true,
	.writer = "process memory",
	.start = hosted_start,
	.pause = hosted_pause,
	.resume = hosted_resume,
	.hurry = hosted_hurry,
	.read_virt = rs_hosted_read_virt,
	.write_text = rs_hosted_write_text,
	.writes_live = rs_hosted_writes_live,
	.write_live = rs_hosted_write_live,
	.read_text = rs_hosted_read_text,
	.stats = hosted_stats,
	.clock_hz = hosted_clock_hz,
	.clock_now = hosted_clock_now,
	.booted = hosted_booted,
	.stop = hosted_stop,
	.kill = hosted_kill,
	.destroy = hosted_destroy,
};

/* ---- making one ---- */

/* A test's switch (CONTRIBUTING.md). It lets no CPU run through a half of a word. */
static enum rs_hosted_way way_of(enum rs_hosted_way asked)
{
	const char *named = g_getenv("RINGSIDE_HOSTED_TEXT");

	if (g_strcmp0(named, "stop") == 0)
		return RS_HOSTED_STOP;
	return g_strcmp0(named, "live") == 0 && rs_hosted_word_is_whole() ? RS_HOSTED_LIVE : asked;
}

static struct rs_hosted *new_hosted(enum rs_hosted_way way)
{
	struct rs_hosted *hosted = g_new0(struct rs_hosted, 1);

	hosted->ops = hosted_ops;
	hosted->base.ops = &hosted->ops;
	hosted->base.vcpus = CLAMP(g_get_num_processors(), 1, RS_MAX_CPUS);
	hosted->regions_fd = hosted->doorbell_fd = hosted->pidfd = -1;
	hosted->begun = rs_moment_now();
	hosted->way = way_of(way);
	pthread_sigmask(SIG_SETMASK, NULL, &hosted->mask);
	return hosted;
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
	hosted = new_hosted(config->way);
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
	*out = &hosted->base;
	return 0;
}

static int open_process(struct rs_hosted *hosted, uint64_t start_time, struct rs_error *err)
{
	pid_t pid = hosted->base.pid;

	if (pid > 0)
		hosted->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* In this order, so that the descriptor is not of a later process. */
	if (hosted->pidfd < 0 || !start_time || rs_hosted_start_time(pid) != start_time ||
	    !rs_process_living_task(pid))
		return rs_error_set(err, ESRCH, "process %d has ended", (int)pid);
	return rs_hosted_open_memory(hosted, err);
}

int rs_hosted_attach(pid_t pid, uint64_t start_time, int doorbell_fd, struct rs_target **out,
		     struct rs_error *err)
{
	struct rs_hosted *hosted = new_hosted(RS_HOSTED_ANY);
	int ret;

	hosted->attached = true;
	hosted->ops.borrowed = true;
	hosted->ops.stop = attached_stop;
	hosted->ops.kill = NULL;
	hosted->base.pid = pid;
	ret = open_process(hosted, start_time, err);
	if (ret) {
		hosted_destroy(&hosted->base);
		return ret;
	}
	hosted->doorbell_fd = doorbell_fd;
	*out = &hosted->base;
	return 0;
}

bool rs_hosted_can_patch(const struct rs_target *target, struct rs_error *why)
{
	const struct rs_hosted *hosted = rs_hosted_of(target);

	if (!hosted->no_patch.code)
		return true;
	rs_error_set(why, hosted->no_patch.code, "%s", hosted->no_patch.message);
	return false;
}

uint64_t rs_hosted_start_time(pid_t pid)
{
	return rs_process_start_time(pid);
}
