/* SPDX-License-Identifier: MIT */
/* A program that is compiled without tracing. */
#define RS_NO_TRACE
#include "room.h"

RS_PROVIDER_DEFINE(net, "acme.net")

static int never(void)
{
	g_assert_not_reached();
}

static void test_without_tracing_statements_do_nothing(void)
{
	const uint16_t list[] = {1, 2};

	room_set_up();
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_true(net.sites == net.sites_end);
	g_assert_cmpint(RS_PROVIDER_WRITE(net, "sent", 1, 1, __field(s32, n, never()),
					  __dynamic_array(u16, list, list, never())),
			==, -RS_EBADF);
	g_assert_cmpint(RS_PROVIDER_WRITE(net, "bare", 1, 1), ==, -RS_EBADF);
	g_assert_false(rs_provider_enabled(&net) || RS_PROVIDER_ENABLED(net));
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	room_tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/provider/without-tracing", test_without_tracing_statements_do_nothing);
	return g_test_run();
}
