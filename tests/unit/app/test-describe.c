/* SPDX-License-Identifier: MIT */
#include "../timeline/records.h"
#include "app/rs-viewer-describe.h"

#include <string.h>

static void check_ring(const Guest *guest, guint ring, guint64 at, const char *wanted)
{
	g_autoptr(GString) out = g_string_new(NULL);

	rs_trace_timeline_lock(guest->timeline);
	rs_viewer_describe_ring(out, guest->timeline, rs_trace_timeline_ring(guest->timeline, ring),
				at, at + 1);
	rs_trace_timeline_unlock(guest->timeline);
	g_assert_cmpstr(out->str, ==, wanted);
}

static void check_task(const Guest *guest, guint32 pid, guint64 at, const char *wanted)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const RsTraceTimelineTask *task;

	rs_trace_timeline_lock(guest->timeline);
	for (guint i = 0; (task = rs_trace_timeline_task(guest->timeline, i)); i++)
		if (task->pid == pid)
			break;
	g_assert_nonnull(task);
	rs_viewer_describe_task(out, guest->timeline, task, at);
	rs_trace_timeline_unlock(guest->timeline);
	g_assert_cmpstr(out->str, ==, wanted);
}

/* Where nothing is drawn it says whether the vCPU was idle, or that nobody knows. */
static void test_holder(void)
{
	Guest guest;

	guest_init(&guest);
	guest_event(&guest, 0, 0, 100, 7, 0);
	guest_switch(&guest, 0, 200, 7, 1, 0, "swapper");
	guest_switch(&guest, 0, 300, 0, 0, 8, "eight");
	guest_event(&guest, 0, 0, 400, 8, 0);
	guest_loss(&guest, 0, 600, 12);
	guest_event(&guest, 0, 0, 600, 8, 0);
	guest_flush(&guest);
	check_ring(&guest, 0, 50, "\nnot known who had it");
	check_ring(&guest, 0, 150, "\ntask7 7 · 101 ns");
	check_ring(&guest, 0, 250, "\nidle · 100 ns");
	check_ring(&guest, 0, 350, "\ntask8 8 · 100 ns");
	check_ring(&guest, 0, 500, "\nnot known who had it · 199 ns\n12 events lost here");
	check_ring(&guest, 0, 700, "\ntask8 8");
	guest_clear(&guest);
}

/* A task's state may be unknown because records were lost, on any vCPU of its machine. */
static void test_state(void)
{
	Guest guest;

	guest_init(&guest);
	guest_event(&guest, 0, 0, 100, 7, 0);
	guest_event(&guest, 0, 1, 190, 9, 0);
	guest_switch(&guest, 0, 200, 7, 1, 8, "eight");
	guest_event(&guest, 0, 0, 400, 8, 0);
	guest_loss(&guest, 1, 500, 30);
	guest_event(&guest, 0, 1, 510, 9, 0);
	guest_loss(&guest, 0, 600, 12);
	guest_event(&guest, 0, 0, 700, 8, 0);
	guest_event(&guest, 0, 0, 800, 7, 0); /* and nobody knows how it came to have the vCPU */
	guest_event(&guest, 0, 0, 900, 7, 0);
	guest_flush(&guest);
	check_task(&guest, 7, 50, "\nstate not known");
	check_task(&guest, 7, 150, "\nrunning · 101 ns");
	check_task(&guest, 7, 250, "\nblocked · 599 ns");
	check_task(&guest, 8, 450, "\nstate not known · 299 ns\n42 events of this time were lost");
	check_task(&guest, 8, 650, "\nstate not known · 299 ns\n42 events of this time were lost");
	check_task(&guest, 8, 700, "\nrunning · 1 ns");
	check_task(&guest, 8, 750, "\nstate not known");
	check_task(&guest, 7, 900, "\nrunning");
	guest_clear(&guest);
}

static void check_lost(const Guest *guest, guint64 from, guint room, guint64 n, gboolean beyond,
		       guint left)
{
	RsViewerLost lost = {.room = room};

	rs_trace_timeline_lock(guest->timeline);
	rs_viewer_lost_add(&lost, rs_trace_timeline_ring(guest->timeline, 0), from, 1000);
	rs_trace_timeline_unlock(guest->timeline);
	g_assert_cmpuint(lost.n, ==, n);
	g_assert_cmpint(lost.beyond, ==, beyond);
	g_assert_cmpuint(lost.room, ==, left);
}

/* It is known when some may lie out of the stretch, and when there are too many to be added up. */
static void test_lost(void)
{
	Guest guest;

	guest_init(&guest);
	for (guint i = 1; i <= 3; i++) {
		guest_event(&guest, 0, 0, 100 * i, 7, 0);
		guest_loss(&guest, 0, 100 * i + 50, i);
	}
	guest_flush(&guest);
	check_lost(&guest, 0, 9, 6, FALSE, 6);
	check_lost(&guest, 220, 9, 5, TRUE, 7);
	check_lost(&guest, 360, 9, 0, FALSE, 9);
	check_lost(&guest, 0, 2, 3, FALSE, 0);
	guest_clear(&guest);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/describe/holder", test_holder);
	g_test_add_func("/describe/state", test_state);
	g_test_add_func("/describe/lost", test_lost);
	return g_test_run();
}
