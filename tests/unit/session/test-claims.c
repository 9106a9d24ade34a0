/* SPDX-License-Identifier: MIT */
/*
 * Which regions processes have, and when a region that was left is laid out anew for another. On
 * this host a lock says whether a process still has a region.
 */
#include "members.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process that was killed, so it could not say that it leaves. */
static void test_killed(struct fixture *f, gconstpointer data)
{
	struct rs_source *source;
	struct agent agent, again;
	uint32_t owner;

	source = come_locked(f, &agent, 10);
	run_rounds(20);
	g_assert_cmpint(rs_source_state(source), ==, RS_SESSION_RUNNING);
	forget(&agent);
	AWAIT(rs_source_state(source) == RS_SESSION_ENDED);
	/* So the next process with its id does not take the region for its own. */
	g_assert_true(rs_regions_owner(f->regions, agent.place.index, &owner));
	g_assert_cmpuint(owner, ==, RS_CLAIM_LEFT);
	come_locked(f, &again, 10);
	g_assert_cmpuint(again.place.index, !=, agent.place.index);
	forget(&again);
}

/* A process has left, but its child still writes there. */
static void test_still_held(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS], one;
	struct rs_source *source[USERS];
	int fds[USERS];

	for (uint32_t i = 0; i < USERS; i++) {
		source[i] = come_locked(f, &agents[i], 10 + i);
		fds[i] = dup(agents[i].fd);
		leave(&agents[i]);
	}
	run_rounds(20);
	g_assert_cmpint(take(f, &one, 99), ==, -RS_EADDRINUSE);
	g_assert_cmpint(rs_source_state(source[1]), ==, RS_SESSION_RUNNING);
	close(fds[1]);
	AWAIT(take(f, &one, 99) == 0);
	g_assert_cmpuint(one.place.index, ==, agents[1].place.index);
	g_assert_cmpuint(f->gone, ==, 1);
	forget(&one);
	for (uint32_t i = 0; i < USERS; i++)
		if (i != 1)
			close(fds[i]);
}

/* A pause stops the machine. Processes in it stand still too, those of this host run on. */
static void test_pause(struct fixture *f, gconstpointer data)
{
	bool same_host = GPOINTER_TO_INT(data) & SAME_HOST;
	struct agent agent;
	struct rs_source *source = same_host ? come_locked(f, &agent, 10) : come(f, &agent, 10);

	g_assert_true(rs_source_runs(f->machine));
	g_assert_true(rs_source_runs(source));
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, 0);
	g_assert_false(rs_source_runs(f->machine));
	g_assert_cmpint(rs_source_runs(source), ==, same_host);
	g_assert_cmpint(rs_session_resume(f->session, NULL), ==, 0);
	g_assert_true(rs_source_runs(source));
	forget(&agent);
}

/*
 * A region that was left before the session saw that it was taken, and that a process still has
 * mapped.
 */
static void test_left_at_once(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS], one;

	for (uint32_t i = 0; i < USERS; i++) {
		g_assert_cmpint(take(f, &agents[i], 10 + i), ==, 0);
		lock(&agents[i]);
		g_assert_cmpint(
			rs_directory_leave(f->memory, f->size, agents[i].place.index, 10 + i), ==,
			0);
	}
	run_rounds(20);
	g_assert_cmpint(take(f, &one, 99), ==, -RS_EADDRINUSE);
	g_assert_cmpuint(f->added, ==, 0);
	forget(&agents[3]);
	AWAIT(take(f, &one, 99) == 0);
	g_assert_cmpuint(one.place.index, ==, agents[3].place.index);
	forget(&one);
	for (uint32_t i = 0; i < USERS; i++)
		forget(&agents[i]);
}

/* A process is killed before it has reported. */
static void test_killed_early(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS], one;

	for (uint32_t i = 0; i < USERS; i++) {
		AWAIT(take(f, &agents[i], 10 + i) == 0);
		lock(&agents[i]);
	}
	run_rounds(20);
	g_assert_cmpint(take(f, &one, 99), ==, -RS_EADDRINUSE);
	forget(&agents[1]);
	AWAIT(take(f, &one, 99) == 0);
	g_assert_cmpuint(one.place.index, ==, agents[1].place.index);
	g_assert_cmpuint(f->added, ==, 0);
	forget(&one);
	for (uint32_t i = 0; i < USERS; i++)
		forget(&agents[i]);
}

/* ---- what a process can and cannot be asked ---- */

static uint64_t fixed_hz(struct rs_target *target)
{
	g_assert_cmpstr(target->ops->kind, ==, "sham");
	return 123456789;
}

static uint64_t fixed_now(struct rs_target *target)
{
	g_assert_cmpstr(target->ops->kind, ==, "sham");
	return 1000;
}

static const struct rs_target_ops *ops_of(const struct rs_source *source)
{
	return rs_source_target(source)->ops;
}

/* Its clock is the machine's. */
static void test_clock(struct fixture *f, gconstpointer data)
{
	static struct rs_target_ops ops; /* until the session is destroyed */
	struct rs_target *target;
	struct agent agents[2];
	struct rs_source_stat stat;

	come(f, &agents[0], 10);
	g_assert_true(!ops_of(f->newest)->clock_hz && !ops_of(f->newest)->clock_now);
	g_assert_false(ops_of(f->newest)->clock_stops);
	ops = *f->sham->target.ops;
	ops.clock_hz = fixed_hz;
	ops.clock_now = fixed_now;
	ops.clock_stops = true;
	f->sham->target.ops = &ops;
	come(f, &agents[1], 11);
	g_assert_true(ops_of(f->newest)->clock_stops);
	rs_source_stat(f->newest, &stat);
	g_assert_cmpuint(stat.clock_hz, ==, 123456789);
	g_assert_cmpuint(stat.clock_epochs, >=, 1);
	target = (struct rs_target *)rs_source_target(f->newest);
	g_assert_cmpuint(ops_of(f->newest)->clock_now(target), ==, 1000);
	g_assert_cmpuint(target->vcpus, ==, f->sham->target.vcpus);
	for (uint32_t i = 0; i < 2; i++)
		forget(&agents[i]);
}

static uint64_t clock_error(struct rs_source *source)
{
	struct rs_source_stat stat;

	rs_source_stat(source, &stat);
	return stat.clock_error_ns;
}

/* What is known of the clock of one is known of all in its machine, and of nobody else. */
static void test_shared_clock(struct fixture *f, gconstpointer data)
{
	static struct rs_target_ops ops; /* until the session is destroyed */
	struct fixture other = {.session = f->session};
	struct rs_source *before;
	struct agent agents[2];

	add_machine(&other, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_hello(other.sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	before = come(f, &agents[0], 10);
	g_assert_cmpuint(clock_error(f->machine), ==, UINT64_MAX);
	g_assert_cmpuint(clock_error(before), ==, UINT64_MAX);
	ops = *f->sham->target.ops;
	ops.clock_hz = fixed_hz;
	ops.clock_now = fixed_now;
	f->sham->target.ops = &ops;
	come(f, &agents[1], 11);
	AWAIT(clock_error(f->machine) < 1000000 && clock_error(before) < 1000000);
	run_rounds(20);
	g_assert_cmpuint(clock_error(other.machine), ==, UINT64_MAX);
	for (uint32_t i = 0; i < 2; i++)
		forget(&agents[i]);
	rs_session_destroy(f->session);
	f->session = NULL;
	free_machine(&other);
}

/* One that wants its text patched by us gets its events, but without sites. */
static void test_unreadable(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info *info;
	struct rs_provider *entry;
	struct agent agent;

	AWAIT(take(f, &agent, 10) == 0);
	hello(&agent);
	info = rs_trace_region_section(agent.sham.region, RS_SEC_GUEST_INFO, NULL);
	entry = rs_trace_region_element(agent.sham.region, RS_SEC_PROVIDERS, 0);
	entry->sites = 0x1000;
	entry->site_count = 1;
	info->flags = 0;
	AWAIT(f->added);
	g_assert_cmpuint(f->messages, ==, 1);
	g_assert_nonnull(strstr(f->said, "the memory of a process that joined cannot be read"));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "pool:*", NULL, NULL), ==, 0);
	g_assert_true(is_on(&agent, 0) && is_on(&agent, 1));
	forget(&agent);
}

/* While we can open no more files no process joins. The region is not lost. */
static void test_no_files(struct fixture *f, gconstpointer data)
{
	struct rlimit limit, none;
	struct agent agent, others[USERS];
	int next;

	g_assert_cmpint(take(f, &agent, 10), ==, 0);
	hello(&agent);
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	next = dup(0);
	none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max};
	close(next);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
	AWAIT(f->messages);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	g_assert_nonnull(strstr(f->said, "a process cannot join"));
	run_rounds(3);
	g_assert_cmpuint(f->added, ==, 0);
	/* When no other is left, it is laid out anew. */
	for (uint32_t i = 0; i < USERS; i++)
		AWAIT(take(f, &others[i], 20 + i) == 0);
	g_assert_cmpuint(others[USERS - 1].place.index, ==, agent.place.index);
	g_assert_cmpuint(generation(f, agent.place.index), ==, 2);
	forget(&agent);
	for (uint32_t i = 0; i < USERS; i++)
		forget(&others[i]);
}

/* Whoever claims the region of the machine itself gets nothing. */
static void test_machines_own(struct fixture *f, gconstpointer data)
{
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	rs_store(rs_regions_claim_word(f->regions, 0), rs_regions_claim(f->regions, 0, 10));
	run_rounds(20);
	g_assert_cmpuint(f->added, ==, 0);
	g_assert_cmpuint(rs_session_n_sources(f->session), ==, 1);
}

static bool full; /* no region can be emptied */

int __real_fallocate64(int fd, int mode, off_t at, off_t size);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t size);

int __wrap_fallocate64(int fd, int mode, off_t at, off_t size)
{
	if (!full)
		return __real_fallocate64(fd, mode, at, size);
	errno = ENOSPC;
	return -1;
}

/* Of a region that cannot be emptied nobody becomes a source, and it is tried again. */
static void test_not_emptied(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS], next;

	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	for (uint32_t i = 0; i < USERS; i++)
		come(f, &agents[i], 10 + i);
	full = true;
	/* Nobody says that they leave. */
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	g_assert_cmpuint(f->ends, ==, USERS);
	AWAIT(f->said && strstr(f->said, "a region cannot be used again"));
	run_rounds(20);
	g_assert_cmpuint(f->added, ==, USERS);
	g_assert_cmpint(take(f, &next, 99), ==, -RS_EADDRINUSE);
	full = false;
	AWAIT(take(f, &next, 99) == 0);
	forget(&next);
	for (uint32_t i = 0; i < USERS; i++)
		forget(&agents[i]);
}

/* ---- two machines, the second is this host ---- */

static void check_turned_away(struct fixture *f, struct fixture *other)
{
	struct rs_source_stat stat;

	rs_store(rs_regions_claim_word(f->regions, 1 + USERS), 1);
	AWAIT(f->messages == 1);
	g_assert_cmpstr(f->said, ==,
			"1 process found no free region, and runs untraced: more of them with "
			"--regions");
	rs_store(rs_regions_claim_word(other->regions, 1 + USERS), 1);
	AWAIT(f->messages == 2);
	rs_store(rs_regions_claim_word(other->regions, 1 + USERS), 3);
	AWAIT(f->messages == 3);
	g_assert_cmpstr(f->said, ==,
			"2 processes found no free region, and run untraced: more of them with "
			"--regions");
	rs_source_stat(f->machine, &stat);
	g_assert_cmpuint(stat.turned_away, ==, 1);
	rs_source_stat(other->machine, &stat);
	g_assert_cmpuint(stat.turned_away, ==, 3);
	/* Anybody who has the memory may write the number. */
	rs_store(rs_regions_claim_word(other->regions, 1 + USERS), 576460752269807678u);
	AWAIT(f->messages == 4);
	g_assert_cmpstr(f->said, ==,
			"very many processes found no free region, and run untraced: more of them "
			"with --regions");
}

static void reboot(struct fixture *f)
{
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
}

static void test_two_machines(struct fixture *f, gconstpointer data)
{
	struct fixture other = {.session = f->session};
	struct agent agents[2], silent[2];
	struct rs_source *source[2];
	g_autofree char *path = NULL;
	struct stat found, meant;

	add_machine(&other, SAME_HOST);
	check_turned_away(f, &other);
	g_assert_null(rs_source_join_path(f->machine));
	path = rs_source_join_path(other.machine);
	g_assert_cmpint(stat(path, &found), ==, 0);
	g_assert_cmpint(fstat(rs_regions_fd(other.regions), &meant), ==, 0);
	g_assert_cmpuint(found.st_ino, ==, meant.st_ino);
	reboot(f);
	reboot(&other);
	source[0] = come(f, &agents[0], 10);
	source[1] = come_locked(&other, &agents[1], 10);
	g_assert_true(rs_source_machine(source[0]) == f->machine);
	g_assert_true(rs_source_machine(source[1]) == other.machine);
	g_assert_cmpint(take(f, &silent[0], 11), ==, 0);
	g_assert_cmpint(take(&other, &silent[1], 11), ==, 0);
	lock(&silent[1]);
	run_rounds(5);
	/* On this host only the program was replaced. Others go on. */
	reboot(&other);
	g_assert_cmpint(rs_source_state(source[0]), ==, RS_SESSION_RUNNING);
	g_assert_cmpint(rs_source_state(source[1]), ==, RS_SESSION_RUNNING);
	reboot(f);
	g_assert_cmpint(rs_source_state(source[0]), ==, RS_SESSION_ENDED);
	g_assert_cmpint(rs_source_state(source[1]), ==, RS_SESSION_RUNNING);
	/* Nor is one waited for any more that had not yet reported in the guest. */
	hello(&silent[0]);
	hello(&silent[1]);
	AWAIT(f->added == 3);
	g_assert_true(rs_source_machine(f->newest) == other.machine);
	run_rounds(20);
	g_assert_cmpuint(f->added, ==, 3);
	for (uint32_t i = 0; i < 2; i++) {
		forget(&agents[i]);
		forget(&silent[i]);
	}
	rs_session_destroy(f->session);
	f->session = NULL;
	free_machine(&other);
}

/* ---- the time is this test's ---- */

static gint64 now; /* 0: the real one */

gint64 __real_g_get_monotonic_time(void);
gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return now ? now : __real_g_get_monotonic_time();
}

/* Long ago: so the session's timer is always due. */
static void set_up_still(struct fixture *f, gconstpointer data)
{
	now = 1000000;
	set_up(f, data);
}

static void tear_down_still(struct fixture *f, gconstpointer data)
{
	tear_down(f, data);
	now = 0;
}

static void leave_and_end(struct agent *agent, struct rs_source *source)
{
	leave(agent);
	AWAIT(rs_source_state(source) == RS_SESSION_ENDED);
}

/*
 * Of four regions two are to be free. While one is, another that was left stays for its readers for
 * a second. The one that was left first is laid out anew, and no more than needed.
 */
static void test_grace(struct fixture *f, gconstpointer data)
{
	const uint32_t order[] = {1, 0, 2};
	struct rs_source *source[3];
	struct agent agents[3];
	uint32_t changes;

	for (uint32_t i = 0; i < 3; i++)
		source[i] = come(f, &agents[i], 10 + i);
	for (uint32_t i = 0; i < 3; i++, now += 10)
		leave_and_end(&agents[order[i]], source[order[i]]);
	changes = rs_session_source_changes(f->session);
	now += 1000000 - 30;
	for (uint32_t n = 0; n < 2; n++) {
		now--;
		run_rounds(3);
		g_assert_cmpuint(f->gone, ==, n);
		now++;
		run_rounds(3);
		g_assert_cmpuint(f->gone, ==, 1);
		for (uint32_t i = 0; i < 3; i++)
			g_assert_cmpuint(generation(f, agents[i].place.index), ==,
					 i == order[0] ? 2 : 1);
		g_assert_cmpuint(rs_session_source_changes(f->session), ==, changes + 1);
		now += 10000000;
	}
}

#define ADD(path, test, data)                                                                      \
	g_test_add("/session/claims/" path, struct fixture, GINT_TO_POINTER(data), set_up, test,   \
		   tear_down)
#define ADD_STILL(path, test, data)                                                                \
	g_test_add("/session/claims/" path, struct fixture, GINT_TO_POINTER(data), set_up_still,   \
		   test, tear_down_still)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("pause-guest", test_pause, 0);
	ADD("pause-host", test_pause, SAME_HOST);
	ADD("killed", test_killed, SAME_HOST);
	ADD("still-held", test_still_held, SAME_HOST);
	ADD("left-at-once", test_left_at_once, SAME_HOST);
	ADD("killed-early", test_killed_early, SAME_HOST);
	ADD("killed-early-last", test_killed_early, SAME_HOST | MACHINE_LAST);
	ADD("clock", test_clock, 0);
	ADD("shared-clock", test_shared_clock, 0);
	ADD("unreadable", test_unreadable, 0);
	ADD("no-files", test_no_files, 0);
	ADD("machines-own", test_machines_own, 0);
	ADD("not-emptied", test_not_emptied, 0);
	ADD("two-machines", test_two_machines, 0);
	ADD("two-machines-last", test_two_machines, MACHINE_LAST);
	ADD_STILL("grace", test_grace, 0);
	ADD_STILL("grace-last", test_grace, MACHINE_LAST);
	return g_test_run();
}
