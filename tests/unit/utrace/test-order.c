/* SPDX-License-Identifier: MIT */
/* A thread with many engines: those concerned by an event are found quickly, in their order. */
#include <glib.h>
#include <ringside/utrace_os.h>
#include <string.h>

#define ENGINES 300u
#define ENTRY RS_UTRACE_EVENT(SYSCALL_ENTRY)
#define EXEC RS_UTRACE_EVENT(EXEC)
#define QUIESCE RS_UTRACE_EVENT(QUIESCE)

static struct rs_utrace_thread thread;
static struct rs_utrace_engine engines[ENGINES];
static guint32 events[ENGINES]; /* what each has asked for */
static GArray *attached;        /* guint: the attached ones, in their order */
static GArray *called;          /* guint: those that were called */

static void block(struct rs_utrace_thread *of)
{
	g_assert_not_reached();
}

static void unblock(struct rs_utrace_thread *of)
{
}

static void kick(struct rs_utrace_thread *of, bool interrupt)
{
}

static const void *current(void)
{
	return &thread;
}

static bool wait(void)
{
	return true;
}

static const struct rs_utrace_os os = {
	.block = block, .unblock = unblock, .kick = kick, .current = current, .wait = wait};

static void note(const struct rs_utrace_engine *engine)
{
	guint i = (guint)(engine - engines);

	g_array_append_val(called, i);
}

static uint32_t on_entry(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	note(engine);
	return RS_UTRACE_RESUME;
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	note(engine);
	return RS_UTRACE_RESUME;
}

static uint32_t on_quiesce(uint32_t action, struct rs_utrace_engine *engine, uint32_t event)
{
	note(engine);
	return RS_UTRACE_RESUME;
}

static const struct rs_utrace_ops ops = {
	.report_syscall_entry = on_entry, .report_exec = on_exec, .report_quiesce = on_quiesce};

static void begin(void)
{
	g_assert_cmpint(rs_utrace_thread_init(&thread, &os, 1), ==, 0);
	memset(engines, 0, sizeof(engines));
	attached = g_array_new(FALSE, FALSE, sizeof(guint));
	called = g_array_new(FALSE, FALSE, sizeof(guint));
}

static void attach(guint i)
{
	struct rs_utrace_engine *engine;

	g_assert_cmpint(rs_utrace_attach(&thread, RS_UTRACE_ATTACH_CREATE, &ops, NULL, &engines[i],
					 &engine),
			==, 0);
	rs_utrace_engine_put(engine);
	events[i] = 0;
	g_array_append_val(attached, i);
}

static void ask(guint i, guint32 mask)
{
	g_assert_cmpint(rs_utrace_set_events(&engines[i], mask), ==, 0);
	events[i] = mask;
}

static void detach(guint at)
{
	g_assert_cmpint(
		rs_utrace_control(&engines[g_array_index(attached, guint, at)], RS_UTRACE_DETACH),
		==, 0);
	g_array_remove_index(attached, at);
}

static void end(void)
{
	while (attached->len)
		detach(0);
	g_assert_null(thread.engines);
	g_assert_cmphex(thread.wanted & ~RS_UTRACE_PENDING, ==, 0);
	g_array_free(attached, TRUE);
	g_array_free(called, TRUE);
}

/* Fires the event, and works out who is to be called. */
static void check_event(guint32 event)
{
	g_autoptr(GArray) wanted = g_array_new(FALSE, FALSE, sizeof(guint));

	g_array_set_size(called, 0);
	for (guint n = 0; n < attached->len; n++) {
		guint at = event == ENTRY ? attached->len - 1 - n : n;
		guint i = g_array_index(attached, guint, at);

		if (events[i] & QUIESCE)
			g_array_append_val(wanted, i);
		if (events[i] & event)
			g_array_append_val(wanted, i);
	}
	if (event == ENTRY)
		rs_utrace_report_syscall_entry(&thread, NULL);
	else
		rs_utrace_report_exec(&thread, "/bin/x", NULL);
	/* With QUIESCE alone a thread does not come by for the event. */
	if (!(thread.wanted & event))
		return;
	g_assert_cmpmem(called->data, called->len * sizeof(guint), wanted->data,
			wanted->len * sizeof(guint));
}

static guint depth_of(const struct rs_utrace_engine *engine)
{
	return engine ? 1 + MAX(depth_of(engine->child[0]), depth_of(engine->child[1])) : 0;
}

static void test_order_is_kept_whoever_comes_and_goes(void)
{
	static const guint32 masks[] = {0, ENTRY, EXEC, ENTRY | EXEC, QUIESCE, QUIESCE | ENTRY};

	begin();
	for (guint step = 0; step < 20000; step++) {
		guint i = (guint)g_test_rand_int_range(0, ENGINES);
		guint what = (guint)g_test_rand_int_range(0, 8);

		if (what < 3 && !engines[i].refs)
			attach(i);
		else if (what < 6 && engines[i].refs)
			ask(i, masks[g_test_rand_int_range(0, G_N_ELEMENTS(masks))]);
		else if (what == 6 && attached->len)
			detach((guint)g_test_rand_int_range(0, (gint32)attached->len));
		else
			check_event(step & 1 ? ENTRY : EXEC);
	}
	end();
}

/* What an event costs grows with the depth, not with the engines that others' events concern. */
static void test_many_engines_make_a_flat_tree(void)
{
	begin();
	for (guint i = 0; i < ENGINES; i++) {
		attach(i);
		ask(i, EXEC);
	}
	g_assert_cmpuint(depth_of(thread.engines), <=, 14);
	ask(150, ENTRY);
	check_event(ENTRY);
	g_assert_cmpuint(called->len, ==, 1);
	/* Every other one goes, then most of them. */
	for (guint i = 0; i < attached->len; i++)
		detach(i);
	g_assert_cmpuint(depth_of(thread.engines), <=, 14);
	while (attached->len > 20)
		detach(7);
	g_assert_cmpuint(depth_of(thread.engines), <=, 10);
	check_event(EXEC);
	g_assert_cmpuint(called->len, >=, 19);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/utrace/order/any", test_order_is_kept_whoever_comes_and_goes);
	g_test_add_func("/utrace/order/many", test_many_engines_make_a_flat_tree);
	return g_test_run();
}
