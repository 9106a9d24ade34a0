/* SPDX-License-Identifier: MIT */
/* Many lanes share little memory for their pages, and nobody sees it in the file. */
#include "rs-trace-dat-private.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define LANES 40u
#define RECORDS 6000u
#define PAGE 8192u

typedef struct {
	RsTraceDatPool pool;
	RsTraceDatLane *lanes[LANES];
} Room;

static int scratch(void)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("ringside.XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	g_unlink(path);
	return fd;
}

static void set_up(Room *room, gsize max)
{
	*room = (Room){.pool = {.spool = rs_trace_dat_spool_new(scratch()), .max = max}};
	for (guint i = 0; i < LANES; i++)
		room->lanes[i] = rs_trace_dat_lane_new(i % 3 ? PAGE : 2 * PAGE);
}

static void tear_down(Room *room)
{
	for (guint i = 0; i < LANES; i++)
		rs_trace_dat_lane_free(room->lanes[i]);
	rs_trace_dat_spool_free(room->pool.spool);
}

/* Records of all sizes and distances, and some losses; each lane in turn, or at random. */
static void fill(Room *room, gboolean in_turn)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);
	guint8 record[1024];
	GError *error = NULL;
	guint64 ns = 0;

	for (guint i = 0; i < RECORDS; i++) {
		RsTraceDatLane *lane = room->lanes[in_turn ? i % LANES : g_rand_int(rand) % LANES];
		gsize size = 8 + g_rand_int(rand) % (sizeof(record) - 8);

		memset(record, (int)i, size);
		ns += g_rand_int(rand) % 8 ? 100 : G_GUINT64_CONSTANT(1) << 40;
		lane->pending += g_rand_int(rand) % 50 ? 0 : 3;
		rs_trace_dat_lane_add(lane, &room->pool, ns, record, size, &error);
		g_assert_no_error(error);
		g_assert_cmpuint(room->pool.held, <=, MAX(room->pool.max, 2 * PAGE));
	}
	for (guint i = 0; i < LANES; i++) {
		rs_trace_dat_lane_end(room->lanes[i], &room->pool, &error);
		g_assert_no_error(error);
	}
	g_assert_cmpuint(room->pool.held, ==, 0);
}

static GBytes *bytes(const Room *room, guint lane)
{
	g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
	GError *error = NULL;

	rs_trace_dat_spool_copy(room->pool.spool, &room->lanes[lane]->chain, out, NULL, &error);
	g_assert_no_error(error);
	g_output_stream_close(out, NULL, NULL);
	return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
}

static void compare(gsize max, gboolean in_turn)
{
	Room few, all;

	set_up(&few, max);
	set_up(&all, G_MAXSIZE);
	fill(&few, in_turn);
	fill(&all, in_turn);
	for (guint i = 0; i < LANES; i++) {
		g_autoptr(GBytes) a = bytes(&few, i), b = bytes(&all, i);

		g_assert_cmpuint(g_bytes_get_size(a), >=, few.lanes[i]->page_size);
		g_assert_cmpuint(g_bytes_get_size(a) % few.lanes[i]->page_size, ==, 0);
		g_assert_true(g_bytes_equal(a, b));
	}
	tear_down(&few);
	tear_down(&all);
}

static void test_pages_that_wait_are_whole(void)
{
	compare(10 * PAGE, FALSE);
	compare(10 * PAGE, TRUE);
}

static void test_one_page_is_always_held(void)
{
	compare(1, FALSE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/dat/lanes/pages-that-wait-are-whole", test_pages_that_wait_are_whole);
	g_test_add_func("/dat/lanes/one-page-is-always-held", test_one_page_is_always_held);
	return g_test_run();
}
