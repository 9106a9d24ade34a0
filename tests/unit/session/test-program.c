/* SPDX-License-Identifier: MIT */
#include "session/program.h"

#include <errno.h>
#include <string.h>

#define LENGTH (4u << 20)

static struct rs_program *make(struct rs_program_room *room, guint size, bool guest)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	g_byte_array_set_size(bytes, size);
	return rs_program_new(room, bytes, guest);
}

/* A program counts once, until nobody holds it. */
static void test_counted(void)
{
	struct rs_program_room room = {.length = LENGTH};
	struct rs_program *a = make(&room, 1000, false), *b = make(&room, 10, true);

	g_assert_cmpuint(a->bytes->len, ==, 1000);
	g_assert_true(rs_program_ref(a) == a);
	g_assert_cmpuint(room.used, ==, 1010);
	g_assert_cmpuint(room.guests, ==, 10);
	rs_program_unref(a);
	g_assert_cmpuint(room.used, ==, 1010);
	rs_program_unref(a);
	g_assert_cmpuint(room.used, ==, 10);
	rs_program_unref(b);
	g_assert_cmpuint(room.used, ==, 0);
	g_assert_cmpuint(room.guests, ==, 0);
}

static void check(const struct rs_program_room *room, guint size, bool guest, const char *refused)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_program_check(room, size, guest, &err), ==, refused ? -ENOSPC : 0);
	g_assert_true(!refused || strstr(err.message, refused));
}

/* All of it is for the host, and half of it for guests. */
static void test_room(void)
{
	struct rs_program_room room = {.length = LENGTH};
	struct rs_program *a, *b;

	check(&room, LENGTH, false, NULL);
	check(&room, LENGTH + 1, false, "the session's filters take more than 4 MiB");
	check(&room, LENGTH / 2, true, NULL);
	check(&room, LENGTH / 2 + 1, true, "the guests' filters take more than 2 MiB");
	a = make(&room, LENGTH / 2, true);
	check(&room, 1, true, "guests");
	check(&room, LENGTH / 2, false, NULL);
	/* The host has more than its half, too, and then a guest has less. */
	rs_program_unref(a);
	b = make(&room, LENGTH - 10, false);
	check(&room, 10, true, NULL);
	check(&room, 11, true, "the session's");
	check(&room, 11, false, "the session's");
	/* What must be made has room anyway. */
	a = make(&room, LENGTH, false);
	check(&room, 0, false, "the session's");
	rs_program_unref(a);
	rs_program_unref(b);
	g_assert_cmpuint(room.used + room.guests, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/program/counted", test_counted);
	g_test_add_func("/session/program/room", test_room);
	return g_test_run();
}
