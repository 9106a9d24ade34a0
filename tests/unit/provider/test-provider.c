/* SPDX-License-Identifier: MIT */
/* Registering and unregistering, rule by rule, and providers that are not as they should be. */
#include "room.h"

#include <string.h>

RS_PROVIDER_DEFINE(net, "acme.net")

static int send(void)
{
	return RS_PROVIDER_WRITE(net, "sent", RS_LEVEL_INFO, 0x2, __field(u32, bytes, 1));
}

static int drop(void)
{
	return RS_PROVIDER_WRITE(net, "dropped", RS_LEVEL_ERROR, 0x4);
}

/* A provider of three events that is made at run time, so that it can be wrong. */
struct made {
	struct rs_agent_provider provider;
	struct rs_field_info fields[3];
	struct rs_event_info infos[3];
	struct rs_event events[3];
};

static struct made *make(void)
{
	static struct made made;

	memset(&made, 0, sizeof(made));
	for (guint i = 0; i < 3; i++) {
		made.fields[i] = (struct rs_field_info){
			.name = "n", .type = "u32", .size = 4, .kind = RS_KIND_UINT};
		made.infos[i] = (struct rs_event_info){.system = "made",
						       .name = i == 0   ? "zero"
							       : i == 1 ? "one"
									: "two",
						       .print = "n=%u",
						       .print_args = "n",
						       .fields = &made.fields[i],
						       .field_count = 1,
						       .entry_size = 4,
						       .level = 3};
		made.events[i].info = &made.infos[i];
	}
	made.provider.name = "made";
	made.provider.events = made.events;
	made.provider.events_end = made.events + 3;
	return &made;
}

static void test_register_registers_all_events(void)
{
	room_set_up();
	g_assert_cmpuint(rs_provider_find(&net, "sent")->id, ==, 0);
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpuint(rs_provider_find(&net, "sent")->id, >=, RS_FIRST_EVENT_ID);
	g_assert_cmpuint(rs_provider_find(&net, "dropped")->id, >=, RS_FIRST_EVENT_ID);
	room_switch(&net, NULL, true);
	g_assert_cmpint(send(), ==, 0);
	g_assert_cmpint(drop(), ==, 0);
	g_assert_cmpuint(room.records, ==, 2);
	rs_provider_unregister(&net);
	room_tear_down();
}

static void test_unregister_unregisters_all_events(void)
{
	room_set_up();
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	room_switch(&net, NULL, true);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpuint(rs_provider_find(&net, "sent")->id, ==, 0);
	g_assert_cmpuint(rs_provider_find(&net, "dropped")->id, ==, 0);
	g_assert_cmpint(send(), ==, -RS_EBADF);
	g_assert_cmpint(drop(), ==, -RS_EBADF);
	g_assert_cmpuint(room.records, ==, 0);
	/* It may come back. */
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpuint(room.panics, ==, 0);
	room_tear_down();
}

static void test_unregister_of_an_unregistered_provider_is_a_no_op(void)
{
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0); /* without an agent, too */
	room_set_up();
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpuint(room.panics, ==, 0);
	room_tear_down();
}

static void test_double_register_panics(void)
{
	room_set_up();
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpint(rs_provider_register(&net), ==, -RS_EBUSY);
	g_assert_cmpuint(room.panics, ==, 1);
	/* Nothing has changed. */
	room_switch(&net, "sent", true);
	g_assert_cmpint(send(), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpuint(room.panics, ==, 1);
	room_tear_down();
}

/* Without an op the port ends the program. */
static void test_the_port_panics_by_default(void)
{
	if (g_test_subprocess()) {
		rs_provider_register(&net);
		rs_provider_register(&net);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*registered twice*");
}

static void test_register_returns_an_errno(void)
{
	struct made *made = make();

	g_assert_cmpint(rs_provider_register(&made->provider), ==, -RS_ENOTCONN);
	g_assert_false(rs_provider_enabled(&made->provider));
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

/* As all in the region is taken by another. */
static void test_no_room_is_enospc(void)
{
	static struct rs_event_info infos[4096];
	static struct rs_event many[G_N_ELEMENTS(infos)];
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	struct made *made = make();
	int err;

	room_set_up();
	for (guint i = 0; i < G_N_ELEMENTS(many); i++) {
		g_ptr_array_add(names, g_strdup_printf("%u", i));
		infos[i] = made->infos[0];
		infos[i].name = names->pdata[i];
		many[i].info = &infos[i];
	}
	made->provider.events = many;
	made->provider.events_end = many + G_N_ELEMENTS(many);
	err = rs_provider_register(&made->provider);
	g_assert_cmpint(err, ==, -RS_ENOSPC);
	g_assert_cmpuint(many[0].id, ==, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

/* `err` is the middle event's. */
static void check_partial(struct made *made, int err)
{
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, err);
	g_assert_cmpuint(made->events[0].id, !=, 0);
	g_assert_cmpuint(made->events[1].id, ==, 0);
	g_assert_null(made->events[1].provider);
	g_assert_cmpuint(made->events[2].id, ==, made->events[0].id + 1);
	g_assert_true(rs_event_by_id(made->events[2].id) == &made->events[2]);
	g_assert_null(rs_event_by_id(0));
	/* It counts as registered. */
	g_assert_cmpint(rs_provider_register(&made->provider), ==, -RS_EBUSY);
	g_assert_cmpuint(room.panics, ==, 1);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	g_assert_cmpuint(made->events[2].id, ==, 0);
	/* What was wrong is right again. */
	made->infos[1] = made->infos[0];
	made->infos[1].name = "one";
	made->events[1].info = &made->infos[1];
	g_assert_cmpint(rs_provider_register(&made->provider), ==, 0);
	g_assert_cmpuint(made->events[1].id, !=, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

static void test_partial_registration_must_be_unregistered(void)
{
	struct made *made = make();

	made->infos[1].name = "a b";
	check_partial(made, -RS_EILSEQ);
}

/* The first of several. */
static void test_register_returns_the_first_error(void)
{
	struct made *made = make();

	made->infos[1].level = 0;
	made->infos[2].name = "";
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, -RS_EINVAL);
	g_assert_cmpuint(made->events[0].id, !=, 0);
	g_assert_cmpuint(made->events[2].id, ==, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

static void test_a_level_out_of_range_is_einval(void)
{
	for (uint32_t level = 0; level < 8; level++) {
		struct made *made = make();

		made->infos[1].level = level;
		if (level < 1 || level > 5)
			check_partial(made, -RS_EINVAL);
	}
}

static void test_an_unknown_field_type_is_einval(void)
{
	struct made *made = make();

	made->fields[1].kind = 0;
	check_partial(made, -RS_EINVAL);
	made = make();
	made->fields[1].kind = RS_KIND_DYN_STRING + 1;
	check_partial(made, -RS_EINVAL);
}

static void test_event_names(void)
{
	static const char *const bad[] = {"", "a b", "a:b", "-a", ".a", "a\001", "\xc3\xa4", NULL};
	char name[RS_NAME_MAX + 1];
	struct made *made;

	for (guint i = 0; bad[i]; i++) {
		made = make();
		made->infos[1].name = bad[i];
		check_partial(made, -RS_EILSEQ);
	}
	memset(name, 'n', sizeof(name));
	name[RS_NAME_MAX] = 0;
	made = make();
	made->infos[1].name = name;
	check_partial(made, -RS_ENAMETOOLONG);
	name[RS_NAME_MAX - 1] = 0;
	made = make();
	made->infos[1].name = name;
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
	/* A field's, and one that is missing. */
	made = make();
	name[RS_NAME_MAX - 1] = 'n';
	made->fields[1].name = name;
	check_partial(made, -RS_ENAMETOOLONG);
	made = make();
	made->infos[1].name = NULL;
	check_partial(made, -RS_EILSEQ);
}

static void test_each_event_has_a_name_of_its_own(void)
{
	struct made *made = make();

	made->infos[1].name = "zero";
	made->infos[1].level = 2;
	check_partial(made, -RS_EEXIST);
	made = make();
	made->infos[1].name = "zero";
	made->fields[1].name = "m";
	check_partial(made, -RS_EEXIST);
	/* One that is left out takes no name. */
	made = make();
	made->infos[0].level = 9;
	made->infos[1].name = "zero";
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, -RS_EINVAL);
	g_assert_cmpuint(made->events[0].id, ==, 0);
	g_assert_cmpuint(made->events[1].id, !=, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

static void test_the_same_event_twice_is_one_event(void)
{
	struct made *made = make();

	made->infos[1].name = "zero";
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, 0);
	g_assert_cmpuint(made->events[0].id, !=, 0);
	g_assert_cmpuint(made->events[1].id, ==, made->events[0].id);
	g_assert_cmpuint(made->events[2].id, ==, made->events[0].id + 1);
	g_assert_true(rs_event_by_id(made->events[0].id) == &made->events[0]);
	g_assert_true(rs_provider_find(&made->provider, "zero") == &made->events[0]);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	g_assert_cmpuint(made->events[1].id, ==, 0);
	room_tear_down();
}

static void check_nothing(struct made *made, int err)
{
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, err);
	for (guint i = 0; i < 3; i++)
		g_assert_cmpuint(made->events[i].id, ==, 0);
	g_assert_false(rs_provider_enabled(&made->provider));
	g_assert_false(rs_provider_set_enabled(&made->provider, 3, 0));
	g_assert_cmpint(rs_provider_register(&made->provider), ==, -RS_EBUSY);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

static void test_provider_names(void)
{
	static const char *const bad[] = {"", "a b", "a:b", "-a", NULL};
	char name[RS_PROVIDER_NAME_MAX + 1];
	struct made *made;

	for (guint i = 0; bad[i]; i++) {
		made = make();
		made->provider.name = bad[i];
		check_nothing(made, -RS_EILSEQ);
	}
	memset(name, 'n', sizeof(name));
	name[RS_PROVIDER_NAME_MAX] = 0;
	made = make();
	made->provider.name = name;
	check_nothing(made, -RS_ENAMETOOLONG);
	name[RS_PROVIDER_NAME_MAX - 1] = 0; /* 233 characters */
	made = make();
	made->provider.name = name;
	room_set_up();
	g_assert_cmpint(rs_provider_register(&made->provider), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&made->provider), ==, 0);
	room_tear_down();
}

static void test_a_section_cut_short_is_ebadmsg(void)
{
	struct made *made = make();

	made->provider.events_end = (struct rs_event *)((char *)(made->events + 3) - 8);
	check_nothing(made, -RS_EBADMSG);
	made = make();
	made->provider.events_end = made->events - 1;
	check_nothing(made, -RS_EBADMSG);
	made = make();
	made->provider.sites = (const struct rs_site *)made->events;
	made->provider.sites_end = (const struct rs_site *)((char *)made->events + 17);
	check_nothing(made, -RS_EBADMSG);
	/* A hole in it. */
	made = make();
	made->events[1].info = NULL;
	check_partial(made, -RS_EBADMSG);
	made = make();
	made->infos[1].print_args = NULL;
	check_partial(made, -RS_EBADMSG);
	made = make();
	made->infos[1].print = NULL;
	check_partial(made, -RS_EBADMSG);
	made = make();
	made->infos[1].fields = NULL;
	check_partial(made, -RS_EBADMSG);
}

/* The agent has let go of everything; the provider does not know. */
static void test_unregister_after_the_agent_has_gone(void)
{
	room_set_up();
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	room_tear_down();
	g_assert_cmpint(send(), ==, -RS_EBADF);
	g_assert_false(rs_provider_enabled(&net));
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	room_set_up();
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	room_tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	/* First: in the subprocess no op may have been set. */
	g_test_add_func("/provider/port-panics", test_the_port_panics_by_default);
	g_test_add_func("/provider/register", test_register_registers_all_events);
	g_test_add_func("/provider/unregister", test_unregister_unregisters_all_events);
	g_test_add_func("/provider/no-op", test_unregister_of_an_unregistered_provider_is_a_no_op);
	g_test_add_func("/provider/double", test_double_register_panics);
	g_test_add_func("/provider/errno", test_register_returns_an_errno);
	g_test_add_func("/provider/no-room", test_no_room_is_enospc);
	g_test_add_func("/provider/partial", test_partial_registration_must_be_unregistered);
	g_test_add_func("/provider/first-error", test_register_returns_the_first_error);
	g_test_add_func("/provider/level", test_a_level_out_of_range_is_einval);
	g_test_add_func("/provider/field-type", test_an_unknown_field_type_is_einval);
	g_test_add_func("/provider/event-names", test_event_names);
	g_test_add_func("/provider/own-names", test_each_event_has_a_name_of_its_own);
	g_test_add_func("/provider/same", test_the_same_event_twice_is_one_event);
	g_test_add_func("/provider/provider-names", test_provider_names);
	g_test_add_func("/provider/cut-short", test_a_section_cut_short_is_ebadmsg);
	g_test_add_func("/provider/agent-gone", test_unregister_after_the_agent_has_gone);
	return g_test_run();
}
