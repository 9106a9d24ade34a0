/* SPDX-License-Identifier: MIT */
/* Statements: what they record, and what they do not do while nobody listens. */
#include "room.h"

#include <ringside/callback.h>
#include <ringside/tracepoint.h>
#include <ringside/tracepoint_snapshot.h>
#include <string.h>

RS_PROVIDER_DECLARE(net)
RS_PROVIDER_DEFINE(net, "acme.net")
RS_PROVIDER_DEFINE(disk, "acme-disk")
RS_PROVIDER_DEFINE(silent, "silent")

static guint built;

static uint32_t build(uint32_t value)
{
	built++;
	return value;
}

static int send(uint32_t bytes, const char *to)
{
	return RS_PROVIDER_WRITE(net, "sent", RS_LEVEL_INFO, 0x2, __field(u32, bytes, build(bytes)),
				 __string(to, to));
}

static int drop(void)
{
	return RS_PROVIDER_WRITE(net, "dropped", RS_LEVEL_ERROR, 0x4);
}

static int spin(uint64_t sector)
{
	return RS_PROVIDER_WRITE(disk, "spin", RS_LEVEL_VERBOSE, 1ull << 63,
				 __field_hex(u64, sector, sector));
}

static void begin(void)
{
	room_set_up();
	built = 0;
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	g_assert_cmpint(rs_provider_register(&disk), ==, 0);
}

static void end(void)
{
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpint(rs_provider_unregister(&disk), ==, 0);
	g_assert_cmpuint(room.panics, ==, 0);
	room_tear_down();
}

static void test_events_are_defined_where_they_are_written(void)
{
	const struct rs_event *event;
	g_autofree char *to = NULL;

	begin();
	event = rs_provider_find(&net, "sent");
	g_assert_nonnull(event);
	g_assert_cmpstr(event->info->system, ==, "acme.net");
	g_assert_cmpuint(event->info->level, ==, 4);
	g_assert_cmpuint(event->info->keyword, ==, 2);
	g_assert_cmpuint(event->info->field_count, ==, 2);
	g_assert_cmpstr(event->info->print, ==, "bytes=%u to=%s");
	g_assert_cmpstr(event->info->print_args, ==, "bytes,to");
	room_switch(&net, "sent", true);
	g_assert_cmpint(send(77, "there"), ==, 0);
	g_assert_cmpuint(room.records, ==, 1);
	g_assert_cmpuint(room_number(&net, "sent", "bytes"), ==, 77);
	to = room_text(&net, "sent", "to");
	g_assert_cmpstr(to, ==, "there");
	/* One without fields. */
	room_switch(&net, "dropped", true);
	g_assert_cmpint(drop(), ==, 0);
	g_assert_cmpuint(room.records, ==, 2);
	g_assert_cmpuint(room.size, ==, 0);
	g_assert_cmpstr(rs_provider_find(&net, "dropped")->info->print, ==, "");
	g_assert_cmpuint(room.id, ==, rs_provider_find(&net, "dropped")->id);
	end();
}

static void test_write_while_disabled_is_ebadf_and_builds_nothing(void)
{
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF); /* not registered */
	begin();
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF);
	room_switch(&net, "dropped", true); /* another event */
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF);
	room_switch(&net, "sent", true);
	g_assert_cmpint(send(1, "x"), ==, 0);
	g_assert_cmpuint(built, ==, 1);
	room_switch(&net, "sent", false);
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF);
	g_assert_cmpuint(built, ==, 1);
	g_assert_cmpuint(room.records, ==, 1);
	end();
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF);
	g_assert_cmpuint(built, ==, 1);
}

/* The text is still on, but the word says no: a host switches in this order. */
static void test_the_word_alone_decides(void)
{
	uint32_t *words;

	begin();
	room_switch(&net, "sent", true);
	words = rs_trace_region_section(room.region, RS_SEC_EVENT_CTL, NULL);
	words[rs_provider_find(&net, "sent")->id] = 0;
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF);
	g_assert_cmpuint(built, ==, 0);
	end();
}

static void test_providers_are_apart(void)
{
	begin();
	room_switch(&disk, NULL, true);
	g_assert_cmpint(send(1, "x"), ==, -RS_EBADF);
	g_assert_cmpint(spin(0xabc), ==, 0);
	g_assert_cmphex(room_number(&disk, "spin", "sector"), ==, 0xabc);
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	g_assert_cmpint(spin(0xdef), ==, 0);
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	end();
}

static void test_enabled_of_an_event(void)
{
	struct rs_event *event;

	begin();
	event = rs_provider_find(&net, "sent");
	g_assert_null(rs_provider_find(&net, "spin"));
	g_assert_null(rs_provider_find(&silent, "sent"));
	g_assert_false(rs_event_enabled(event));
	room_switch(&net, "sent", true);
	g_assert_true(rs_event_enabled(event));
	g_assert_false(rs_event_enabled(rs_provider_find(&net, "dropped")));
	end();
	g_assert_false(rs_event_enabled(event));
}

/* Both ways to ask agree. */
static bool is_enabled(void)
{
	bool gate = RS_PROVIDER_ENABLED(net);

	g_assert_true(gate == rs_provider_enabled(&net));
	return gate;
}

/* The gate is still on, but the words say no. */
static void test_a_gate_asks_the_words(void)
{
	uint32_t *words;

	begin();
	room_switch(&net, "sent", true);
	words = rs_trace_region_section(room.region, RS_SEC_EVENT_CTL, NULL);
	words[rs_provider_find(&net, "sent")->id] = 0;
	((struct rs_control *)rs_trace_region_section(room.region, RS_SEC_CONTROL, NULL))
		->generation++;
	g_assert_false(RS_PROVIDER_ENABLED(net));
	end();
}

static void test_enabled_of_a_provider(void)
{
	g_assert_false(is_enabled());
	begin();
	g_assert_false(is_enabled());
	room_switch(&disk, NULL, true);
	g_assert_false(is_enabled());
	g_assert_true(RS_PROVIDER_ENABLED(disk));
	room_switch(&net, "dropped", true);
	for (int i = 0; i < 3; i++)
		g_assert_true(is_enabled());
	room_switch(&net, "dropped", false);
	for (int i = 0; i < 3; i++)
		g_assert_false(is_enabled());
	room_switch(&net, "dropped", true);
	rs_provider_unregister(&net);
	g_assert_false(is_enabled());
	g_assert_cmpint(rs_provider_register(&net), ==, 0);
	end();
}

/* What is asked of a provider can be asked of an image's as well. */
static void test_enabled_of_an_image(void)
{
	static struct rs_event_info info = {
		.system = "image", .name = "event", .print = "", .print_args = "", .level = 2};
	static struct rs_event event = {.info = &info};
	struct rs_agent_provider image = {
		.name = "image", .events = &event, .events_end = &event + 1};

	room_set_up();
	g_assert_cmpint(rs_agent_register(&net), ==, -RS_EINVAL);
	g_assert_cmpint(rs_agent_register(&image), ==, 0);
	g_assert_true(rs_provider_find(&image, "event") == &event);
	g_assert_false(rs_provider_enabled(&image));
	room_switch(&image, NULL, true);
	g_assert_true(rs_provider_enabled(&image));
	g_assert_true(rs_provider_set_enabled(&image, 2, 0));
	g_assert_cmpint(rs_agent_unregister(&image), ==, 0);
	g_assert_false(rs_provider_enabled(&image));
	room_tear_down();
}

static void test_enabled_of_a_level_and_keyword(void)
{
	begin();
	room_switch(&net, "dropped", true);
	g_assert_true(rs_provider_set_enabled(&net, 2, 0x4));
	g_assert_false(rs_provider_set_enabled(&net, 2, 0x2));
	g_assert_false(rs_provider_set_enabled(&net, 4, 0x2));
	g_assert_false(rs_provider_set_enabled(&net, 3, 0x4));
	room_switch(&net, "sent", true);
	g_assert_true(rs_provider_set_enabled(&net, 4, 0x2));
	end();
}

static guint called, called_size;

static void on_record(const struct rs_event *event, const void *record, uint32_t size, void *data)
{
	called++;
	called_size = size;
}

static void on_raw(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	g_assert_cmpuint(count, ==, 0);
	called++;
}

static void test_callbacks_listen_too(void)
{
	struct rs_callback callback = {.raw = on_raw, .record = on_record};
	struct rs_event *event;

	begin();
	called = called_size = 0;
	event = rs_provider_find(&disk, "spin");
	g_assert_cmpint(rs_callback_register(event, &callback), ==, 0);
	rs_event_enable_callbacks(event, true);
	g_assert_true(RS_PROVIDER_ENABLED(disk));
	g_assert_cmpint(spin(1), ==, 0);
	g_assert_cmpuint(called, ==, 2);
	g_assert_cmpuint(called_size, ==, 16);
	g_assert_cmpuint(room.records, ==, 0);
	room_switch(&disk, "spin", true);
	g_assert_cmpint(spin(1), ==, 0);
	g_assert_cmpuint(called, ==, 4);
	g_assert_cmpuint(room.records, ==, 1);
	room_switch(&disk, "spin", false);
	g_assert_true(RS_PROVIDER_ENABLED(disk));
	g_assert_cmpint(rs_callback_unregister(&callback), ==, 0);
	g_assert_false(RS_PROVIDER_ENABLED(disk));
	g_assert_cmpint(spin(1), ==, -RS_EBADF);
	end();
}

static void keep_text(const struct rs_event *event, const void *record, uint32_t size, void *data)
{
	struct rs_tracepoint_record parsed;
	char text[100];

	g_assert_true(rs_tracepoint_parse(&parsed, record, size));
	g_assert_cmpuint(rs_tracepoint_text(&parsed, text, sizeof(text)), ==, strlen(text));
	g_string_assign(data, text);
}

/* The guest's own text of a record of an event. */
static char *text_in_the_guest(struct rs_event *event, int (*write)(void))
{
	g_autoptr(GString) text = g_string_new(NULL);
	struct rs_callback callback = {.record = keep_text, .data = text};

	g_assert_cmpint(rs_callback_register(event, &callback), ==, 0);
	rs_event_enable_callbacks(event, true);
	g_assert_cmpint(write(), ==, 0);
	rs_event_enable_callbacks(event, false);
	g_assert_cmpint(rs_callback_unregister(&callback), ==, 0);
	return g_strdup(text->str);
}

static int send_some(void)
{
	return send(77, "th\nere");
}

static void test_the_guest_has_the_format_and_text_of_a_statement(void)
{
	const struct rs_event *sent, *dropped;
	g_autofree char *full = NULL, *empty = NULL;
	char format[2000];

	begin();
	sent = rs_provider_find(&net, "sent");
	dropped = rs_provider_find(&net, "dropped");
	rs_tracepoint_read(sent->id, RS_TRACEPOINT_FORMAT, format, sizeof(format));
	g_assert_true(g_str_has_prefix(format, "name: sent\nID: "));
	g_assert_nonnull(strstr(format, "\tfield:u32 bytes;\toffset:8;\tsize:4;\tsigned:0;\n"));
	g_assert_nonnull(strstr(format, "print fmt: \"bytes=%u to=%s\", REC->bytes, "
					"__get_str(to)\n"));
	rs_tracepoint_read(dropped->id, RS_TRACEPOINT_FORMAT, format, sizeof(format));
	g_assert_true(g_str_has_suffix(format, "print fmt: \"\"\n"));
	full = text_in_the_guest(rs_provider_find(&net, "sent"), send_some);
	g_assert_cmpstr(full, ==, "bytes=77 to=th\\x0aere");
	empty = text_in_the_guest(rs_provider_find(&net, "dropped"), drop);
	g_assert_cmpstr(empty, ==, "");
	end();
}

static int every_kind(const struct rs_activity_id *id, const struct rs_activity_id *related)
{
	const uint16_t three[] = {1, 2, 3};
	const uint64_t regs[] = {10, 20};
	const int8_t signs[] = {-1, 1};

	return RS_PROVIDER_WRITE(
		net, "kinds", 1, 0x8, __field(u8, small, 200), __field(s32, negative, -5),
		__field_ptr(at, &built), __enum(u8, state, 1, {0, "idle"}, {1, "run"}),
		__flags(u16, why, 3, {1, "TIMER"}, {2, "CHILD"}), __array(s8, signs, 2, signs),
		__array_hex(u64, regs, 2, regs), __chars(comm, 4, "longer"),
		__dynamic_array(u16, ids, three, 3), __dynamic_array_hex(u64, stack, regs, 1),
		__string(path, NULL), __opcode(RS_OPCODE_STOP), __tag(0xcafeu), __activity(id),
		__related(related));
}

static void check_bytes(const char *field, const void *wanted, guint wanted_size)
{
	guint size;
	const void *at = room_field(&net, "kinds", field, &size);

	g_assert_cmpmem(at, size, wanted, wanted_size);
}

static void test_fields_have_types_and_values(void)
{
	begin();
	room_switch(&net, "kinds", true);
	g_assert_cmpint(every_kind(NULL, NULL), ==, 0);
	g_assert_cmpuint(room_number(&net, "kinds", "small"), ==, 200);
	g_assert_cmpint((int32_t)room_number(&net, "kinds", "negative"), ==, -5);
	g_assert_cmphex(room_number(&net, "kinds", "at"), ==, (uintptr_t)&built);
	g_assert_cmpuint(room_number(&net, "kinds", "state"), ==, 1);
	g_assert_cmpuint(room_number(&net, "kinds", "why"), ==, 3);
	g_assert_cmpstr(rs_provider_find(&net, "kinds")->info->print, ==,
			"small=%u negative=%d at=%#x state=%s why=%s signs=%s regs=%s comm=%s "
			"ids=%s stack=%s path=%s opcode=%s tag=%#x activity=%s related=%s");
	check_bytes("signs", (const int8_t[]){-1, 1}, 2);
	check_bytes("regs", (const uint64_t[]){10, 20}, 16);
	check_bytes("comm", "long", 4);
	check_bytes("ids", (const uint16_t[]){1, 2, 3}, 6);
	check_bytes("stack", (const uint64_t[]){10}, 8);
	check_bytes("path", "(null)", 7);
	end();
}

static void test_opcode_and_tag_are_fields(void)
{
	const struct rs_event_info *info;

	begin();
	room_switch(&net, "kinds", true);
	g_assert_cmpint(every_kind(NULL, NULL), ==, 0);
	g_assert_cmpuint(room_number(&net, "kinds", "opcode"), ==, RS_OPCODE_STOP);
	g_assert_cmphex(room_number(&net, "kinds", "tag"), ==, 0xcafe);
	info = rs_provider_find(&net, "kinds")->info;
	g_assert_cmpstr(info->fields[11].symbols[2].name, ==, "stop");
	end();
}

static void test_activity_ids_are_fields(void)
{
	const struct rs_activity_id one = {
		{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 0xff}};
	const char zeroes[RS_ACTIVITY_TEXT] = "";
	g_autofree char *text = NULL;

	begin();
	room_switch(&net, "kinds", true);
	g_assert_cmpint(every_kind(&one, NULL), ==, 0);
	text = room_text(&net, "kinds", "activity");
	g_assert_cmpstr(text, ==, "01234567-89ab-cdef-0102-0304050607ff");
	check_bytes("related", zeroes, sizeof(zeroes));
	g_assert_cmpint(every_kind(NULL, &one), ==, 0);
	check_bytes("activity", zeroes, sizeof(zeroes));
	check_bytes("related", text, RS_ACTIVITY_TEXT);
	end();
}

static void test_activity_ids_are_all_different(void)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct rs_activity_id id;

	begin();
	for (guint i = 0; i < 1000; i++) {
		char text[RS_ACTIVITY_TEXT + 1] = "";

		rs_activity_create(&id);
		rs_activity_text(text, &id);
		g_assert_true(g_uuid_string_is_valid(text));
		g_assert_true(g_hash_table_add(seen, g_strdup(text)));
	}
	end();
}

static void test_a_provider_without_events(void)
{
	begin();
	g_assert_cmpint(rs_provider_register(&silent), ==, 0);
	g_assert_false(rs_provider_enabled(&silent) || RS_PROVIDER_ENABLED(silent));
	g_assert_cmpint(rs_provider_unregister(&silent), ==, 0);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/provider/written", test_events_are_defined_where_they_are_written);
	g_test_add_func("/provider/disabled",
			test_write_while_disabled_is_ebadf_and_builds_nothing);
	g_test_add_func("/provider/enabled-image", test_enabled_of_an_image);
	g_test_add_func("/provider/gate-word", test_a_gate_asks_the_words);
	g_test_add_func("/provider/word", test_the_word_alone_decides);
	g_test_add_func("/provider/apart", test_providers_are_apart);
	g_test_add_func("/provider/enabled-event", test_enabled_of_an_event);
	g_test_add_func("/provider/enabled-provider", test_enabled_of_a_provider);
	g_test_add_func("/provider/enabled-set", test_enabled_of_a_level_and_keyword);
	g_test_add_func("/provider/callbacks", test_callbacks_listen_too);
	g_test_add_func("/provider/text", test_the_guest_has_the_format_and_text_of_a_statement);
	g_test_add_func("/provider/fields", test_fields_have_types_and_values);
	g_test_add_func("/provider/opcode", test_opcode_and_tag_are_fields);
	g_test_add_func("/provider/activity", test_activity_ids_are_fields);
	g_test_add_func("/provider/activities", test_activity_ids_are_all_different);
	g_test_add_func("/provider/without", test_a_provider_without_events);
	return g_test_run();
}
