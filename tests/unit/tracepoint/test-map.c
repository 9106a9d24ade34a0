/* SPDX-License-Identifier: MIT */
/* Which tracepoints there are, by number and by name, while providers come and go. */
#include "room.h"

#include <string.h>

static const char *const net[] = {"net:rx", "net:tx", "irq:entry", NULL};
static const char *const disk[] = {"disk:read", "irq:exit", NULL};

struct shown {
	GString *text;
	guint left; /* calls until f returns false */
};

static bool show(struct rs_event *event, void *data)
{
	struct shown *shown = data;

	g_string_append_printf(shown->text, "%s:%s ", event->info->system, event->info->name);
	return --shown->left;
}

static bool show_system(const char *system, void *data)
{
	struct shown *shown = data;

	g_string_append_printf(shown->text, "%s ", system);
	return --shown->left;
}

static void check(guint calls, const char *events, const char *systems)
{
	g_autoptr(GString) one = g_string_new(NULL), two = g_string_new(NULL);
	struct shown shown = {one, calls};

	rs_tracepoint_each(show, &shown);
	g_assert_cmpstr(one->str, ==, events);
	shown = (struct shown){two, calls};
	rs_tracepoint_each_system(show_system, &shown);
	g_assert_cmpstr(two->str, ==, systems);
}

static void test_map_has_all_that_are_registered(void)
{
	struct room_provider *first, *second;

	room_begin();
	check(9, "", "");
	g_assert_cmpuint(rs_tracepoint_count(), ==, 0);
	first = room_load("net", net);
	check(9, "net:rx net:tx irq:entry ", "net irq ");
	second = room_load("disk", disk);
	check(9, "disk:read irq:exit net:rx net:tx irq:entry ", "disk irq net ");
	g_assert_cmpuint(rs_tracepoint_count(), ==, 5);
	check(3, "disk:read irq:exit net:rx ", "disk irq net ");
	check(1, "disk:read ", "disk ");
	room_unload(second);
	check(9, "net:rx net:tx irq:entry ", "net irq ");
	room_unload(first);
	check(9, "", "");
	room_end();
}

static void test_map_by_id_and_by_name(void)
{
	static const char *const again[] = {"net:tx", NULL};
	struct room_provider *first, *newer;
	uint32_t id;

	room_begin();
	first = room_load("net", net);
	id = rs_tracepoint_find("net", "tx");
	g_assert_cmpuint(id, ==, first->events[1].id);
	g_assert_true(rs_event_by_id(id) == &first->events[1]);
	g_assert_cmpuint(rs_tracepoint_find("net", "t"), ==, 0);
	g_assert_cmpuint(rs_tracepoint_find("net", "txx"), ==, 0);
	g_assert_cmpuint(rs_tracepoint_find("irq", "tx"), ==, 0);
	g_assert_cmpuint(rs_tracepoint_find("", ""), ==, 0);
	/* Of two with one name it is the newer one. */
	newer = room_load("newer", again);
	g_assert_cmpuint(rs_tracepoint_find("net", "tx"), ==, newer->events[0].id);
	g_assert_cmpuint(newer->events[0].id, !=, id);
	room_unload(newer);
	g_assert_cmpuint(rs_tracepoint_find("net", "tx"), ==, id);
	room_unload(first);
	g_assert_cmpuint(rs_tracepoint_find("net", "tx"), ==, 0);
	room_end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tracepoint/map/all", test_map_has_all_that_are_registered);
	g_test_add_func("/tracepoint/map/names", test_map_by_id_and_by_name);
	return g_test_run();
}
