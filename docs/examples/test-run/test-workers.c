/* SPDX-License-Identifier: MIT */
/*
 * What a spec cannot say: the test looks at one event, and decides what it waits for next.
 *
 *     gcc -o test-workers test-workers.c $(pkg-config --cflags --libs libringside-test)
 */
#include <rs-test-guest.h>

#define SOON_MS 30000 /* a machine of CI may be busy */

/* A worker that has gone to sleep is woken before it runs again. */
static void test_sleepers_are_woken(void)
{
	g_autoptr(RsTestGuest) guest = rs_test_guest_new();
	g_autoptr(RsTraceItem) slept = NULL, woken = NULL, ran = NULL;
	g_autofree char *wakeup = NULL, *run = NULL;
	g_autoptr(GVariant) pid = NULL;
	g_autoptr(GError) error = NULL;

	rs_test_guest_set_demo(guest);
	rs_test_guest_set_option(guest, "cpus", "2");
	rs_test_guest_enable(guest, "sched:*", &error);
	g_assert_no_error(error);
	rs_test_guest_boot(guest, &error);
	g_assert_no_error(error);

	slept = rs_test_guest_expect(guest, "sched:switch: prev_state == \"sleeping\"", SOON_MS,
				     &error);
	g_assert_no_error(error);
	pid = rs_trace_item_get_field(slept, "prev_pid");
	wakeup = g_strdup_printf("sched:wakeup: pid == %" G_GUINT64_FORMAT,
				 g_variant_get_uint64(pid));
	run = g_strdup_printf("sched:switch: next_pid == %" G_GUINT64_FORMAT,
			      g_variant_get_uint64(pid));
	woken = rs_test_guest_expect(guest, wakeup, SOON_MS, &error);
	g_assert_no_error(error);
	ran = rs_test_guest_expect(guest, run, SOON_MS, &error);
	g_assert_no_error(error);

	rs_test_guest_end(guest, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rs_test_guest_get_lost(guest), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/workers/sleepers-are-woken", test_sleepers_are_woken);
	return g_test_run();
}
