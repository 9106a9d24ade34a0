/* SPDX-License-Identifier: MIT */
/* What the host asks about tracing, and what the guest answers it. */
#include <glib.h>
#include <ringside/ktrace.h>

/* 1 has the child 2, and 3 comes from nobody. 2 and 3 are the group 20. */
struct os {
	struct rs_ktrace_proc procs[3];
	struct rs_serve serve;
	struct rs_ktrace_server server;
};

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	struct os *os = caller->data;

	if (!last)
		return os->procs;
	return last == &os->procs[2] ? NULL : last + 1;
}

static struct rs_ktrace_proc *parent(const struct rs_ktrace_caller *caller,
				     const struct rs_ktrace_proc *proc)
{
	struct os *os = caller->data;

	return proc == &os->procs[1] ? &os->procs[0] : NULL;
}

/* Only root may. */
static bool may(const struct rs_ktrace_caller *caller, const struct rs_ktrace_proc *proc)
{
	return false;
}

static void serve(struct os *os, gconstpointer data)
{
	struct rs_ktrace_caller caller = {
		.data = os, .next = next, .may = may, .parent = data ? NULL : parent};

	*os = (struct os){0};
	for (guint i = 0; i < 3; i++)
		os->procs[i].pid = i + 1;
	os->procs[1].pgid = os->procs[2].pgid = 20;
	rs_ktrace_serve(&os->server, &os->serve, &caller);
	/* The server has a copy. */
	caller = (struct rs_ktrace_caller){0};
}

static void tear_down(struct os *os, gconstpointer data)
{
}

/* As the agent does it, with its own list of handlers. */
static int32_t ask(struct os *os, uint64_t operation, uint64_t facilities, int64_t pid,
		   uint64_t flags)
{
	const struct rs_command command = {.number = RS_CMD_KTRACE,
					   .args = {operation, facilities, (uint64_t)pid, flags}};
	struct rs_serve_handler *handler = os->serve.handlers;
	struct rs_command_reply reply = {0};
	int32_t result;

	g_assert_true(handler->first <= RS_CMD_KTRACE && handler->last >= RS_CMD_KTRACE);
	result = handler->run(handler, &command, &reply);
	g_assert_cmpuint(reply.size, ==, 0);
	return result;
}

static void check(const struct os *os, uint32_t a, uint32_t b, uint32_t c)
{
	g_assert_cmphex(os->procs[0].facilities, ==, a);
	g_assert_cmphex(os->procs[1].facilities, ==, b);
	g_assert_cmphex(os->procs[2].facilities, ==, c);
}

#define SET RS_KTROP_SET
#define CLEAR RS_KTROP_CLEAR
#define CLEARALL RS_KTROP_CLEARALL
#define N RS_KTRFAC_NAMEI
#define G RS_KTRFAC_GENIO
#define INHERIT RS_KTRFAC_INHERIT
#define ROOT RS_KTRFAC_ROOT

static void test_only_ktrace_commands_are_taken(struct os *os, gconstpointer data)
{
	const struct rs_serve_handler *handler = os->serve.handlers;

	g_assert_null(handler->next);
	g_assert_cmpuint(handler->first, ==, RS_CMD_KTRACE);
	g_assert_cmpuint(handler->last, ==, RS_CMD_KTRACE);
}

/* Whatever the OS's caller may: what it sets is root's. */
static void test_host_asks_as_root(struct os *os, gconstpointer data)
{
	const struct rs_ktrace_caller user = {.data = os, .next = next};

	g_assert_cmpint(ask(os, SET, N, 1, 0), ==, 1);
	check(os, N | ROOT, 0, 0);
	g_assert_cmpint(rs_ktrace_clear(&user, 1, N), ==, -RS_EPERM);
	g_assert_cmpint(ask(os, CLEAR, N, 1, 0), ==, 1);
	check(os, 0, 0, 0);
}

static void test_host_sets_and_clears(struct os *os, gconstpointer data)
{
	g_assert_cmpint(ask(os, SET, N | G | INHERIT, 2, 0), ==, 1);
	check(os, 0, N | G | INHERIT | ROOT, 0);
	g_assert_cmpint(ask(os, CLEAR, G, 2, 0), ==, 1);
	check(os, 0, N | INHERIT | ROOT, 0);
	g_assert_cmpint(ask(os, SET, G, -20, 0), ==, 2);
	check(os, 0, N | G | INHERIT | ROOT, G | ROOT);
	g_assert_cmpint(ask(os, CLEARALL, 0, 0, 0), ==, 2);
	check(os, 0, 0, 0);
	g_assert_cmpint(ask(os, CLEARALL, 0, 0, 0), ==, 0);
}

static void test_host_asks_for_descendants(struct os *os, gconstpointer data)
{
	g_assert_cmpint(ask(os, SET, N, 1, RS_KTROP_DESCEND), ==, 2);
	check(os, N | ROOT, N | ROOT, 0);
	/* The next command is for one process again. */
	g_assert_cmpint(ask(os, CLEAR, N, 1, 0), ==, 1);
	check(os, 0, N | ROOT, 0);
}

static void test_os_without_parents_is_enosys(struct os *os, gconstpointer data)
{
	g_assert_cmpint(ask(os, SET, N, 1, RS_KTROP_DESCEND), ==, -RS_ENOSYS);
	check(os, 0, 0, 0);
	g_assert_cmpint(ask(os, SET, N, 1, 0), ==, 1);
}

static void test_nobody_is_esrch(struct os *os, gconstpointer data)
{
	static const int32_t nobody[] = {0, 4, -21, INT32_MIN, INT32_MAX};

	for (guint i = 0; i < G_N_ELEMENTS(nobody); i++) {
		g_assert_cmpint(ask(os, SET, N, nobody[i], 0), ==, -RS_ESRCH);
		g_assert_cmpint(ask(os, CLEAR, N, nobody[i], 0), ==, -RS_ESRCH);
	}
	check(os, 0, 0, 0);
}

static void test_words_out_of_range_are_einval(struct os *os, gconstpointer data)
{
	const uint64_t high = 1ull << 32;

	/* Without the upper halves all would be right. */
	g_assert_cmpint(ask(os, SET, N | high, 1, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET, N, (int64_t)(1 | high), 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET, N, (int64_t)(uint32_t)-20, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET | high, N, 1, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, CLEARALL + 1, N, 1, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET, N, 1, 2), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET, N, 1, high), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, CLEARALL, 0, 0, 2), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET, 0, 1, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, SET, N | ROOT, 1, 0), ==, -RS_EINVAL);
	g_assert_cmpint(ask(os, CLEAR, 0, 1, 0), ==, -RS_EINVAL);
	check(os, 0, 0, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, data)                                                                            \
	g_test_add("/ktrace/serve/" #name, struct os, data, serve, test_##name, tear_down)
	ADD(only_ktrace_commands_are_taken, NULL);
	ADD(host_asks_as_root, NULL);
	ADD(host_sets_and_clears, NULL);
	ADD(host_asks_for_descendants, NULL);
	ADD(os_without_parents_is_enosys, "no parents");
	ADD(nobody_is_esrch, NULL);
	ADD(words_out_of_range_are_einval, NULL);
	return g_test_run();
}
