/* SPDX-License-Identifier: MIT */
/* Who is traced: set, clear, fork, exec, exit. No event is needed for that. */
#include <glib.h>
#include <ringside/ktrace.h>

/* 1 has the children 2 and 3, 2 has 4; 5 comes from nobody. 3 and 4 are the group 30. */
struct os {
	struct rs_ktrace_proc procs[5];
	guint refused; /* the process that the caller may not trace */
};

static const guint parents[] = {0, 1, 1, 2, 0};

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	struct os *os = caller->data;

	if (!last)
		return os->procs;
	return last == &os->procs[4] ? NULL : last + 1;
}

static struct rs_ktrace_proc *parent(const struct rs_ktrace_caller *caller,
				     const struct rs_ktrace_proc *proc)
{
	struct os *os = caller->data;
	guint pid = parents[proc - os->procs];

	return pid ? &os->procs[pid - 1] : NULL;
}

static bool may(const struct rs_ktrace_caller *caller, const struct rs_ktrace_proc *proc)
{
	return proc->pid != ((struct os *)caller->data)->refused;
}

static struct rs_ktrace_caller a_user(struct os *os)
{
	return (struct rs_ktrace_caller){.data = os, .next = next};
}

static struct rs_ktrace_caller root(struct os *os)
{
	return (struct rs_ktrace_caller){.data = os, .next = next, .root = true};
}

static void set_up(struct os *os, gconstpointer data)
{
	*os = (struct os){0};
	for (guint i = 0; i < 5; i++)
		os->procs[i].pid = i + 1;
	os->procs[2].pgid = os->procs[3].pgid = 30;
}

static void tear_down(struct os *os, gconstpointer data)
{
}

/* The facilities of the five. */
static void check(const struct os *os, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e)
{
	const uint32_t wanted[] = {a, b, c, d, e};

	for (guint i = 0; i < 5; i++)
		g_assert_cmphex(os->procs[i].facilities, ==, wanted[i]);
}

#define N RS_KTRFAC_NAMEI
#define G RS_KTRFAC_GENIO
#define INHERIT RS_KTRFAC_INHERIT
#define ROOT RS_KTRFAC_ROOT

static void test_ktrace_enables_tracing_of_a_process(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller caller = a_user(os);

	g_assert_cmpint(rs_ktrace_set(&caller, 2, N), ==, 1);
	check(os, 0, N, 0, 0, 0);
	g_assert_cmpint(rs_ktrace_set(&caller, 2, G | INHERIT), ==, 1);
	check(os, 0, N | G | INHERIT, 0, 0, 0);
	g_assert_cmpint(rs_ktrace_clear(&caller, 2, G), ==, 1);
	check(os, 0, N | INHERIT, 0, 0, 0);
	g_assert_cmpint(rs_ktrace_clear(&caller, 2, INHERIT), ==, 1);
	check(os, 0, N, 0, 0, 0);
}

static void test_ktrace_of_a_group(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller caller = a_user(os);

	g_assert_cmpint(rs_ktrace_set(&caller, -30, N), ==, 2);
	check(os, 0, 0, N, N, 0);
	g_assert_cmpint(rs_ktrace_clear(&caller, -30, N), ==, 2);
	check(os, 0, 0, 0, 0, 0);
}

static void test_ktrace_of_descendants(struct os *os, gconstpointer data)
{
	struct rs_ktrace_caller caller = a_user(os);

	caller.descend = true;
	caller.parent = parent;
	g_assert_cmpint(rs_ktrace_set(&caller, 2, N), ==, 2);
	check(os, 0, N, 0, N, 0);
	g_assert_cmpint(rs_ktrace_set(&caller, 1, G), ==, 4);
	check(os, G, N | G, G, N | G, 0);
	g_assert_cmpint(rs_ktrace_clear(&caller, 2, N | G), ==, 2);
	check(os, G, 0, G, 0, 0);
}

static void test_ktrace_without_facilities_is_einval(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller caller = root(os);
	static const uint32_t wrong[] = {0, 1, 1u << 12, N | 1u << 12, ROOT, N | ROOT};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_assert_cmpint(rs_ktrace_set(&caller, 2, wrong[i]), ==, -RS_EINVAL);
		g_assert_cmpint(rs_ktrace_clear(&caller, 2, wrong[i]), ==, -RS_EINVAL);
	}
	g_assert_cmpint(rs_ktrace_set(&caller, 2, INHERIT), ==, -RS_EINVAL);
	check(os, 0, 0, 0, 0, 0);
}

static void test_ktrace_of_nobody_is_esrch(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller caller = root(os);
	static const int32_t nobody[] = {0, 6, -31, -1, INT32_MIN, INT32_MAX};

	for (guint i = 0; i < G_N_ELEMENTS(nobody); i++) {
		g_assert_cmpint(rs_ktrace_set(&caller, nobody[i], N), ==, -RS_ESRCH);
		g_assert_cmpint(rs_ktrace_clear(&caller, nobody[i], N), ==, -RS_ESRCH);
	}
	check(os, 0, 0, 0, 0, 0);
}

static void test_what_root_traces_is_eperm_for_others(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller user = a_user(os), su = root(os);

	g_assert_cmpint(rs_ktrace_set(&su, 2, N), ==, 1);
	check(os, 0, N | ROOT, 0, 0, 0);
	g_assert_cmpint(rs_ktrace_set(&user, 2, G), ==, -RS_EPERM);
	g_assert_cmpint(rs_ktrace_clear(&user, 2, N), ==, -RS_EPERM);
	check(os, 0, N | ROOT, 0, 0, 0);
	/* The last facility takes the flag with it. */
	g_assert_cmpint(rs_ktrace_clear(&su, 2, N), ==, 1);
	check(os, 0, 0, 0, 0, 0);
	g_assert_cmpint(rs_ktrace_set(&user, 2, G), ==, 1);
}

static void test_the_os_says_who_may(struct os *os, gconstpointer data)
{
	struct rs_ktrace_caller user = a_user(os), su = root(os);

	os->refused = 4;
	user.may = su.may = may;
	g_assert_cmpint(rs_ktrace_set(&user, 4, N), ==, -RS_EPERM);
	/* Of several, those are done that may be done. */
	g_assert_cmpint(rs_ktrace_set(&user, -30, N), ==, 1);
	check(os, 0, 0, N, 0, 0);
	g_assert_cmpint(rs_ktrace_set(&su, 4, N), ==, 1);
	check(os, 0, 0, N, N | ROOT, 0);
}

static void test_clearall_ends_all_tracing(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller user = a_user(os), su = root(os);

	g_assert_cmpint(rs_ktrace_clearall(&user), ==, 0);
	rs_ktrace_set(&user, 1, N | INHERIT);
	rs_ktrace_set(&user, 5, G);
	g_assert_cmpint(rs_ktrace_clearall(&user), ==, 2);
	check(os, 0, 0, 0, 0, 0);
	rs_ktrace_set(&user, 1, N | INHERIT);
	rs_ktrace_set(&su, 5, G);
	g_assert_cmpint(rs_ktrace_clearall(&user), ==, -RS_EPERM);
	check(os, 0, 0, 0, 0, G | ROOT);
	g_assert_cmpint(rs_ktrace_clearall(&su), ==, 1);
	check(os, 0, 0, 0, 0, 0);
}

static void test_a_child_inherits_if_asked(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller user = a_user(os), su = root(os);

	rs_ktrace_set(&user, 1, N);
	os->procs[1].facilities = G;
	rs_ktrace_fork(&os->procs[0], &os->procs[1]);
	check(os, N, 0, 0, 0, 0);
	rs_ktrace_set(&su, 1, N | INHERIT);
	rs_ktrace_fork(&os->procs[0], &os->procs[1]);
	check(os, N | INHERIT | ROOT, N | INHERIT | ROOT, 0, 0, 0);
	/* The child's child too. */
	rs_ktrace_fork(&os->procs[1], &os->procs[2]);
	g_assert_cmphex(os->procs[2].facilities, ==, N | INHERIT | ROOT);
}

static void test_new_credentials_end_tracing_unless_root_traces(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller user = a_user(os), su = root(os);

	rs_ktrace_set(&user, 1, N | INHERIT);
	rs_ktrace_exec(&os->procs[0], false);
	check(os, N | INHERIT, 0, 0, 0, 0);
	rs_ktrace_exec(&os->procs[0], true);
	check(os, 0, 0, 0, 0, 0);
	rs_ktrace_exec(&os->procs[0], true);
	check(os, 0, 0, 0, 0, 0);
	rs_ktrace_set(&su, 1, N | INHERIT);
	rs_ktrace_exec(&os->procs[0], true);
	check(os, N | INHERIT | ROOT, 0, 0, 0, 0);
}

static void test_exit_ends_tracing(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller su = root(os);

	rs_ktrace_set(&su, 1, N | INHERIT);
	rs_ktrace_exit(&os->procs[0]);
	check(os, 0, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
	g_test_add("/ktrace/control/" #name, struct os, NULL, set_up, test_##name, tear_down)
	ADD(ktrace_enables_tracing_of_a_process);
	ADD(ktrace_of_a_group);
	ADD(ktrace_of_descendants);
	ADD(ktrace_without_facilities_is_einval);
	ADD(ktrace_of_nobody_is_esrch);
	ADD(what_root_traces_is_eperm_for_others);
	ADD(the_os_says_who_may);
	ADD(clearall_ends_all_tracing);
	ADD(a_child_inherits_if_asked);
	ADD(new_credentials_end_tracing_unless_root_traces);
	ADD(exit_ends_tracing);
	return g_test_run();
}
