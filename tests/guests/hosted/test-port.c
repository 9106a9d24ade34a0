/* SPDX-License-Identifier: MIT */
/*
 * All parts together: a session with a hosted target that runs hosted-demo. The session patches it,
 * or it patches itself if there is no ptrace. It inherits the region, or opens it by a file's name.
 */
#include "hosted/hosted.h"
#include "patch/patcher.h"
#include "region/regions.h"
#include "machine/rescue.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *demo;
static char *dir, *journal;

struct run {
	struct rs_regions *regions; /* the session's */
	RsTraceRegion *region;      /* of source 0, likewise */
	struct rs_target *target;   /* likewise */
	struct rs_session *session;
	struct rs_session_listener listener;
	bool ended;
	struct rs_target_end end;
};

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct run *run = data;

	if (rs_source_joined(source))
		return;
	run->ended = true;
	run->end = *end;
}

/*
 * Holds the source until finish(), so that the test can look at it even if the process ends at
 * once.
 */
static void on_added(void *data, struct rs_source *source)
{
	rs_source_hold(source);
}

static void finish(struct run *run)
{
	for (guint i = 0; i < rs_session_n_sources(run->session); i++) {
		struct rs_source *source = rs_session_source(run->session, i);

		if (rs_source_joined(source))
			rs_source_release(source);
	}
	rs_session_destroy(run->session);
}

static void on_message(void *data, const char *text)
{
	g_test_message("session: %s", text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	g_test_message("session: %s", err->message);
}

static void make_regions(struct run *run, const struct rs_regions_run *runs, size_t n, int fd)
{
	struct rs_error err = {0};

	if (rs_regions_create(runs, n, false, fd, &run->regions, &err) ||
	    rs_regions_map(run->regions, 0, &run->region, &err))
		g_error("regions: %s", err.message);
}

/* Our standard output is a test protocol, so the program prints to standard error. */
static void begin(struct rs_session *session)
{
	struct rs_error err = {0};
	int kept, ret;

	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	ret = rs_session_start(session, &err);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	if (ret)
		g_error("start: %s", err.message);
}

static void start(struct run *run, const char *program, const char *seconds, bool no_ptrace,
		  const char *enable)
{
	const char *const argv[] = {program, seconds, NULL};
	struct rs_region_config layout = {
		.vcpus = CLAMP(g_get_num_processors(), 1, RS_MAX_CPUS),
		.ring_bytes = 1 << 20,
		.hcall_channel = RS_CHANNEL_MAILBOX,
		.doorbell_channel = RS_CHANNEL_EVENTFD,
		.control_flags = RS_CONTROL_HELD,
	};
	struct rs_source_config config = {.kernel = program, .journal = journal};
	struct rs_hosted_config hosted = {.argv = argv, .no_ptrace = no_ptrace};
	struct rs_error err = {0};
	struct rs_source *source;

	memset(run, 0, sizeof(*run));
	const struct rs_regions_run runs[] = {{&layout, RS_SOURCE_GIVEN, 1}};
	make_regions(run, runs, G_N_ELEMENTS(runs), -1);
	hosted.regions_fd = rs_regions_fd(run->regions);
	hosted.claim = rs_regions_claim_word(run->regions, 0);
	hosted.claim_base = rs_regions_claim(run->regions, 0, 0);
	if (rs_hosted_create(&hosted, &run->target, &err))
		g_error("target: %s", err.message);
	if (rs_session_create("test", &run->session, &err) ||
	    rs_session_add_source(run->session, &config, run->region, run->target, &source, &err))
		g_error("session: %s", err.message);
	rs_session_add_memory(run->session, source, run->regions, true);
	run->listener.data = run;
	run->listener.added = on_added;
	run->listener.ended = on_ended;
	run->listener.message = on_message;
	run->listener.failed = on_failed;
	rs_session_add_listener(run->session, &run->listener);
	if (enable && rs_session_enable(run->session, RS_OWNER_HOST, enable, NULL, &err))
		g_error("enable: %s", err.message);
	begin(run->session);
}

static void turn(struct run *run, int ms)
{
	gint64 limit = g_get_monotonic_time() + ms * 1000;

	while (!run->ended && g_get_monotonic_time() < limit) {
		g_main_context_iteration(NULL, FALSE);
		g_usleep(200);
	}
}

/* By all; `stat` is the last one's. */
static uint64_t written(struct run *run, struct rs_source_stat *stat)
{
	uint64_t sum = 0;

	for (guint i = 0; i < rs_session_n_sources(run->session); i++) {
		rs_source_stat(rs_session_source(run->session, i), stat);
		sum += stat->written;
	}
	return sum;
}

/* One round of the demo: the workers take and do 60 jobs. */
static void check_round(struct run *run)
{
	struct rs_source_stat stat;
	uint64_t records;

	turn(run, 20000);
	g_assert_true(run->ended);
	g_assert_cmpint(run->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(run->end.code, ==, 0);
	records = written(run, &stat);
	g_test_message("%d records, %d sites, pause %d us", (int)records, (int)stat.sites_on,
		       (int)(stat.pause_last_ns / 1000));
	/* 2 starts, 60 done. Each worker also takes an empty job, which is not traced. */
	g_assert_cmpuint(records, ==, 2 + 60 + 60);
	finish(run);
}

static void test_from_the_start(void)
{
	struct run run;

	start(&run, demo, "0", false, "pool:*");
	check_round(&run);
	g_assert_false(g_file_test(journal, G_FILE_TEST_EXISTS));
}

static void test_self_patch(void)
{
	struct run run;

	start(&run, demo, "0", true, "pool:*");
	check_round(&run);
}

/* On and off while two threads run through the sites at full speed. */
static void test_live(void)
{
	struct rs_source_stat stat;
	struct rs_error err = {0};
	struct run run;
	uint64_t before;

	start(&run, demo, "30", false, NULL);
	turn(&run, 300);
	g_assert_false(run.ended);
	if (!rs_hosted_can_patch(run.target, &err)) {
		g_test_skip(err.message);
		rs_session_destroy(run.session);
		return;
	}
	g_assert_cmpuint(written(&run, &stat), ==, 0);
	for (int i = 0; i < 30; i++) {
		before = written(&run, &stat);
		if (rs_session_enable(run.session, RS_OWNER_HOST, "*:*", NULL, &err))
			g_error("enable: %s", err.message);
		/* On a busy machine the program may not run at once. */
		for (int k = 0; k < 4000 && written(&run, &stat) <= before; k++)
			turn(&run, 15);
		g_assert_cmpuint(written(&run, &stat), >, before);
		g_assert_cmpuint(stat.sites_on, ==, stat.sites);
		g_assert_cmpuint(stat.sites_on, >=, 6);
		g_assert_cmpuint(stat.sites_refused, ==, 0);
		g_assert_cmpint(rs_session_disable(run.session, RS_OWNER_HOST, "*:*", NULL, &err),
				==, 0);
		turn(&run, 5);
		before = written(&run, &stat);
		turn(&run, 5);
		/* Each of the two threads may have been preempted inside an event. */
		g_assert_cmpuint(written(&run, &stat), <=, before + 2);
		g_assert_cmpuint(stat.sites_on, ==, 0);
	}
	g_test_message("pause: last %d us, max %d us", (int)(stat.pause_last_ns / 1000),
		       (int)(stat.pause_max_ns / 1000));
	g_assert_false(run.ended);
	rs_session_stop(run.session, "done");
	turn(&run, 5000);
	g_assert_cmpint(run.end.reason, ==, RS_END_KILLED);
	rs_session_destroy(run.session);
}

/* A session, here in a child of ours, is killed. Its program lives on, patched, until the next
 * session finds the journal. */
static void test_killed_session(void)
{
	struct rs_journal_report report = {0};
	struct rs_journal *left = NULL;
	struct rs_error err = {0};
	uint64_t begun;
	gchar *argv[] = {g_strdup("/proc/self/exe"), g_strdup("--victim"), g_strdup(journal), NULL};
	gchar exe[4096] = "";
	gint status;
	pid_t pid;

	g_assert_cmpint(readlink("/proc/self/exe", exe, sizeof(exe) - 1), >, 0);
	g_free(argv[0]);
	argv[0] = g_strdup(exe);
	g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL,
				   &status, NULL));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		g_test_skip("ptrace is not permitted");
		goto out;
	}
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (rs_journal_open(journal, &left, &err))
		g_error("journal: %s", err.message);
	g_assert_cmpuint(rs_journal_count(left), >=, 6);
	pid = (pid_t)rs_journal_process(left, &begun);
	g_assert_cmpint(pid, >, 0);
	rs_journal_close(left);
	if (rs_machine_rescue_process(journal, &report, &err))
		g_error("rescue: %s", err.message);
	g_assert_cmpuint(report.records, >=, 6);
	g_assert_cmpuint(report.restored, ==, report.records);
	g_usleep(50000);
	g_assert_cmpint(kill(pid, 0), ==, 0); /* it has survived all this */
	kill(pid, SIGKILL);
	g_assert_false(g_file_test(journal, G_FILE_TEST_EXISTS));
out:
	for (int i = 0; argv[i]; i++)
		g_free(argv[i]);
}

/* Bytes of the demo's text in that process that are not as in its file. */
static uint32_t text_differs(pid_t pid)
{
	g_autofree char *maps = g_strdup_printf("/proc/%d/maps", (int)pid), *text = NULL;
	g_autofree char *path = g_strdup_printf("/proc/%d/mem", (int)pid);
	g_autofree char *file = NULL;
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	g_auto(GStrv) lines = NULL;
	uint32_t count = 0;
	gsize size;

	g_assert_cmpint(mem, >=, 0);
	g_assert_true(g_file_get_contents(maps, &text, NULL, NULL));
	g_assert_true(g_file_get_contents(demo, &file, &size, NULL));
	lines = g_strsplit(text, "\n", 0);
	for (char **line = lines; *line; line++) {
		unsigned long from, to, offset;
		g_autofree char *now = NULL;
		char mode[5];

		if (!g_str_has_suffix(*line, "/hosted-demo") ||
		    sscanf(*line, "%lx-%lx %4s %lx", &from, &to, mode, &offset) != 4 ||
		    mode[2] != 'x')
			continue;
		now = g_malloc(to - from);
		g_assert_cmpint(pread(mem, now, to - from, (off_t)from), ==, (gssize)(to - from));
		for (unsigned long i = 0; i < to - from && offset + i < size; i++)
			count += now[i] != file[offset + i];
	}
	close(mem);
	return count;
}

/* A session whose program patches itself is killed: the program puts its text back by itself. */
static void test_killed_session_self(void)
{
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
	gchar victim[] = "--victim-self", *argv[] = {exe, victim, journal, NULL};
	g_autofree char *said = NULL;
	gint64 limit = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
	gint status;
	pid_t pid;

	g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL,
				   &status, NULL));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		g_test_skip("the memory of another process cannot be read");
		return;
	}
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	g_assert_true(g_file_get_contents(journal, &said, NULL, NULL));
	pid = atoi(said);
	g_assert_cmpint(pid, >, 0);
	while (text_differs(pid) && g_get_monotonic_time() < limit)
		g_usleep(10000);
	g_assert_cmpuint(text_differs(pid), ==, 0);
	g_assert_cmpint(kill(pid, 0), ==, 0);
	kill(pid, SIGKILL);
	g_unlink(journal);
}

/* Says in the journal's place which process its program is. */
static int be_the_victim_self(const char *path)
{
	g_autofree char *mem = NULL, *said = NULL;
	struct run run;

	start(&run, demo, "30", true, "*:*");
	turn(&run, 500);
	mem = g_strdup_printf("/proc/%d/mem", (int)run.target->pid);
	if (access(mem, R_OK)) {
		rs_session_destroy(run.session);
		return 77;
	}
	g_assert_cmpuint(text_differs(run.target->pid), >, 0);
	said = g_strdup_printf("%d", (int)run.target->pid);
	g_assert_true(g_file_set_contents(path, said, -1, NULL));
	kill(getpid(), SIGKILL);
	return 1;
}

static int be_the_victim(const char *path)
{
	struct run run;

	journal = g_strdup(path);
	start(&run, demo, "30", false, "*:*");
	turn(&run, 500);
	if (!rs_hosted_can_patch(run.target, NULL)) {
		rs_session_destroy(run.session);
		return 77;
	}
	kill(getpid(), SIGKILL);
	return 1;
}

static int cannot_read(struct rs_target *target, rs_gva_t at, void *out, size_t size,
		       struct rs_error *err)
{
	return rs_error_set(err, EFAULT, "not now");
}

/* Text that cannot be put back is told, and the next disable tries again. */
static void test_stays_patched(void)
{
	const struct rs_target_ops *ops;
	struct rs_session_result result = {0};
	struct rs_source_stat stat = {0};
	struct rs_target_ops blind;
	struct rs_error err = {0};
	struct run run;

	start(&run, demo, "30", false, "*:*");
	turn(&run, 300);
	rs_source_stat(rs_session_source(run.session, 0), &stat);
	if (!rs_hosted_can_patch(run.target, &err)) {
		g_test_skip(err.message);
		rs_session_destroy(run.session);
		return;
	}
	g_assert_cmpuint(stat.sites_on, >, 0);
	ops = run.target->ops;
	blind = *ops;
	blind.read_virt = cannot_read;
	run.target->ops = &blind;
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(
			rs_session_disable(run.session, RS_OWNER_HOST, "*:*", &result, &err), ==,
			0);
		g_assert_cmpuint(result.touched, >, 0);
		g_assert_nonnull(result.problems);
		g_assert_nonnull(strstr(result.problems->pdata[0], "not now"));
		rs_session_result_clear(&result);
	}
	rs_source_stat(rs_session_source(run.session, 0), &stat);
	g_assert_cmpuint(stat.sites_on, >, 0);
	run.target->ops = ops;
	g_assert_cmpint(rs_session_disable(run.session, RS_OWNER_HOST, "*:*", &result, &err), ==,
			0);
	g_assert_null(result.problems);
	rs_source_stat(rs_session_source(run.session, 0), &stat);
	g_assert_cmpuint(stat.sites_on, ==, 0);
	rs_session_destroy(run.session);
}

/* 1,000 sites in one batch, while two threads run through them. The goal is 1 ms. */
static void test_thousand(void)
{
	struct rs_source_stat stat = {0};
	struct rs_error err = {0};
	gint64 best = G_MAXINT64, pause = 0;
	struct run run;

	start(&run, g_getenv("RS_TEST_MANY"), NULL, false, NULL);
	turn(&run, 300);
	if (!rs_hosted_can_patch(run.target, &err)) {
		g_test_skip(err.message);
		rs_session_destroy(run.session);
		return;
	}
	for (int i = 0; i < 20; i++) {
		gint64 begun = g_get_monotonic_time(), took;

		if (rs_session_enable(run.session, RS_OWNER_HOST, "many:*", NULL, &err))
			g_error("enable: %s", err.message);
		took = g_get_monotonic_time() - begun;
		rs_source_stat(rs_session_source(run.session, 0), &stat);
		g_assert_cmpuint(stat.sites_on, ==, 1000);
		if (took < best) {
			best = took;
			pause = (gint64)(stat.pause_last_ns / 1000);
		}
		g_assert_cmpint(
			rs_session_disable(run.session, RS_OWNER_HOST, "many:*", NULL, &err), ==,
			0);
		rs_source_stat(rs_session_source(run.session, 0), &stat);
		g_assert_cmpuint(stat.sites_on, ==, 0);
		turn(&run, 2);
	}
	g_test_message("1000 sites on in %d us, of which paused %d us (best of 20)", (int)best,
		       (int)pause);
	g_assert_false(run.ended);
	rs_session_destroy(run.session);
}

/* As in a Linux guest: a static program whose region is a file, and which patches itself. */
static void test_region_file(void)
{
	g_autofree char *path = g_build_filename(dir, "region", NULL);
	g_autofree char *variable = g_strdup_printf("RINGSIDE_REGION=%s", path);
	struct rs_region_config layout = {
		.vcpus = CLAMP(g_get_num_processors(), 1, RS_MAX_CPUS),
		.ring_bytes = 1 << 20,
		.hcall_channel = RS_CHANNEL_MAILBOX,
	};
	struct rs_region_config user = layout;
	const char *const argv[] = {g_getenv("RS_TEST_DEMO_STATIC"), "0", NULL};
	const char *const envp[] = {variable, NULL};
	struct rs_hosted_config hosted = {
		.argv = argv, .envp = envp, .regions_fd = -1, .no_ptrace = true};
	struct rs_source_config config = {.kernel = "demo", .journal = journal};
	struct rs_error err = {0};
	struct rs_source *source;
	struct run run = {0};
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	user.control_flags = RS_CONTROL_SELF_PATCH;
	const struct rs_regions_run runs[] = {{&layout, RS_SOURCE_KERNEL, 1},
					      {&user, RS_SOURCE_USER, 1}};
	make_regions(&run, runs, G_N_ELEMENTS(runs), fd);
	if (rs_hosted_create(&hosted, &run.target, &err) ||
	    rs_session_create("test", &run.session, &err) ||
	    rs_session_add_source(run.session, &config, run.region, run.target, &source, &err))
		g_error("session: %s", err.message);
	rs_session_add_memory(run.session, source, run.regions, true);
	run.listener = (struct rs_session_listener){
		.data = &run,
		.added = on_added,
		.ended = on_ended,
		.message = on_message,
	};
	rs_session_add_listener(run.session, &run.listener);
	g_assert_cmpint(rs_session_enable(run.session, RS_OWNER_HOST, "pool:*", NULL, &err), ==, 0);
	begin(run.session);
	check_round(&run);
	g_unlink(path);
}

/* The program sleeps in a request, which is answered when something has changed. */
static void test_watch(void)
{
	struct rs_source_stat stat;
	struct run run;
	int changes = 0;

	start(&run, g_getenv("RS_TEST_WATCH"), "5", false, "watch:*");
	while (!run.ended && changes < 1000) {
		turn(&run, 20);
		if (changes++ % 2)
			rs_session_enable(run.session, RS_OWNER_HOST, "watch:*", NULL, NULL);
		else
			rs_session_disable(run.session, RS_OWNER_HOST, "watch:*", NULL, NULL);
	}
	g_assert_true(run.ended);
	g_assert_cmpint(run.end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(run.end.code, ==, 7);
	rs_source_stat(rs_session_source(run.session, 0), &stat);
	/* HELLO, REGISTER, six waits. */
	g_assert_cmpuint(stat.hypercalls, >=, 7);
	g_assert_cmpuint(stat.bad_hypercalls, ==, 0);
	g_assert_cmpuint(stat.late_answers, ==, 0);
	rs_session_destroy(run.session);
}

static void test_inert(void)
{
	g_autofree char *out = NULL;
	char *argv[] = {(char *)(uintptr_t)demo, NULL};
	gint status;

	g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL,
				   &status, NULL));
	g_assert_cmpint(status, ==, 0);
	g_assert_nonnull(strstr(out, "sum of the first 60: 852849"));
}

int main(int argc, char **argv)
{
	int ret;

	demo = g_getenv("RS_TEST_DEMO");
	if (argc == 3 && strcmp(argv[1], "--victim") == 0)
		return be_the_victim(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--victim-self") == 0)
		return be_the_victim_self(argv[2]);
	g_test_init(&argc, &argv, NULL);
	g_assert_nonnull(demo);
	dir = g_dir_make_tmp("rs-port-XXXXXX", NULL);
	journal = g_build_filename(dir, "x.journal", NULL);
	g_test_add_func("/hosted/port/inert", test_inert);
	g_test_add_func("/hosted/port/from-the-start", test_from_the_start);
	g_test_add_func("/hosted/port/self-patch", test_self_patch);
	g_test_add_func("/hosted/port/region-file", test_region_file);
	g_test_add_func("/hosted/port/watch", test_watch);
	g_test_add_func("/hosted/port/live", test_live);
	g_test_add_func("/hosted/port/stays-patched", test_stays_patched);
	g_test_add_func("/hosted/port/thousand", test_thousand);
	g_test_add_func("/hosted/port/killed-session", test_killed_session);
	g_test_add_func("/hosted/port/killed-session-self", test_killed_session_self);
	ret = g_test_run();
	g_rmdir(dir);
	return ret;
}
