/* SPDX-License-Identifier: MIT */
/* The files of a tracepoint: what they read, and what the host is asked when they are written. */
#include "room.h"

#include <ringside/control.h>
#include <string.h>

static const char *const net[] = {"net:rx", "net:tx", NULL};
static struct room_provider *provider;
static uint32_t id;

static void begin(void)
{
	room_begin();
	provider = room_load("net", net);
	id = provider->events[1].id;
}

static void end(void)
{
	room_unload(provider);
	room_end();
}

static void check(enum rs_tracepoint_file file, const char *expected)
{
	char text[500], few[3];

	g_assert_cmpint(rs_tracepoint_read(id, file, text, sizeof(text)), ==, strlen(expected));
	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpint(rs_tracepoint_read(id, file, NULL, 0), ==, strlen(expected));
	g_assert_cmpint(rs_tracepoint_read(id, file, few, sizeof(few)), ==, strlen(expected));
	g_assert_cmpmem(few, strlen(few), expected, MIN(2, strlen(expected)));
	/* With its NUL it just fits, and then does not any more. */
	memset(text, 'x', sizeof(text));
	rs_tracepoint_read(id, file, text, (uint32_t)strlen(expected) + 1);
	g_assert_cmpstr(text, ==, expected);
	rs_tracepoint_read(id, file, text, (uint32_t)strlen(expected));
	g_assert_cmpuint(strlen(text), ==, strlen(expected) - 1);
}

static int write_text(enum rs_tracepoint_file file, const char *text)
{
	return rs_tracepoint_write(id, file, text, (uint32_t)strlen(text), NULL);
}

static void assert_asked(uint32_t number, const char *data)
{
	g_assert_cmpuint(room_request.number, ==, number);
	g_assert_cmpmem(room_request.data, room_request.data_size, data, strlen(data));
}

static void test_enable_file(void)
{
	begin();
	check(RS_TRACEPOINT_ENABLE, "0\n");
	*room_word(id) = RS_EVENT_ENABLED;
	check(RS_TRACEPOINT_ENABLE, "1\n");
	g_assert_cmpuint(room_asked, ==, 0);
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, "1"), ==, 0);
	assert_asked(RS_HCALL_ENABLE, "net:tx");
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, " \t0\r\n"), ==, 0);
	assert_asked(RS_HCALL_DISABLE, "net:tx");
	g_assert_cmpuint(room_asked, ==, 2);
	/* As many events as match is success. */
	room_response.result = 1;
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, "1"), ==, 0);
	room_response.result = -RS_EACCES;
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, "1"), ==, -RS_EACCES);
	g_assert_cmpuint(room_asked, ==, 4);
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, "2"), ==, -RS_EINVAL);
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, "10"), ==, -RS_EINVAL);
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, ""), ==, -RS_EINVAL);
	g_assert_cmpint(write_text(RS_TRACEPOINT_ENABLE, "\n"), ==, -RS_EINVAL);
	g_assert_cmpuint(room_asked, ==, 4);
	end();
}

static void test_id_file(void)
{
	char expected[16];

	begin();
	g_snprintf(expected, sizeof(expected), "%u\n", id);
	check(RS_TRACEPOINT_ID, expected);
	g_assert_cmpint(write_text(RS_TRACEPOINT_ID, "5"), ==, -RS_EACCES);
	g_assert_cmpuint(room_asked, ==, 0);
	end();
}

static void test_format_file(void)
{
	g_autofree char *expected = NULL;

	begin();
	expected = g_strdup_printf(
		"name: tx\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\nprint fmt: \"nothing\"\n",
		id);
	check(RS_TRACEPOINT_FORMAT, expected);
	g_assert_cmpint(write_text(RS_TRACEPOINT_FORMAT, "5"), ==, -RS_EACCES);
	g_assert_cmpuint(room_asked, ==, 0);
	/* An event that no host accepts. */
	provider->info[1].print = "%u";
	g_assert_cmpint(rs_tracepoint_read(id, RS_TRACEPOINT_FORMAT, NULL, 0), ==, -RS_EBADMSG);
	end();
}

static void test_filter_file(void)
{
	char text[RS_HCALL_DATA];

	begin();
	check(RS_TRACEPOINT_FILTER, "none\n");
	g_assert_cmpuint(room_request.number, ==, RS_HCALL_QUERY);
	g_assert_cmpuint(room_request.args[0], ==, id);
	room_response.values[2] = 1;
	strcpy((char *)room_response.data, "a > 8");
	room_response.data_size = 5;
	check(RS_TRACEPOINT_FILTER, "a > 8\n");
	room_response = (struct rs_hcall_response){.result = -RS_ENOENT};
	g_assert_cmpint(rs_tracepoint_read(id, RS_TRACEPOINT_FILTER, text, sizeof(text)), ==,
			-RS_ENOENT);
	room_response.result = 0;
	g_assert_cmpint(write_text(RS_TRACEPOINT_FILTER, "a > 8 && b > 5\n"), ==, 0);
	assert_asked(RS_HCALL_SET_FILTER, "net:tx: a > 8 && b > 5");
	g_assert_cmpint(write_text(RS_TRACEPOINT_FILTER, "\n"), ==, 0);
	assert_asked(RS_HCALL_SET_FILTER, "net:tx: ");
	end();
}

static void test_filter_has_the_words_of_the_host(void)
{
	struct rs_hcall_reply reply;

	begin();
	room_response.result = -RS_EINVAL;
	strcpy((char *)room_response.data, "no such field");
	room_response.data_size = 13;
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_FILTER, "x", 1, &reply), ==,
			-RS_EINVAL);
	g_assert_cmpstr(reply.text, ==, "no such field");
	/* Where the host was not asked it said nothing. */
	g_assert_cmpint(rs_tracepoint_write(0, RS_TRACEPOINT_FILTER, "x", 1, &reply), ==,
			-RS_ENOENT);
	g_assert_cmpstr(reply.text, ==, "");
	end();
}

static void test_filter_too_long(void)
{
	const uint32_t most = RS_HCALL_DATA - strlen("net:tx: ");
	g_autofree char *text = g_strnfill(most + 1, 'a');

	begin();
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_FILTER, text, most + 1, NULL), ==,
			-RS_E2BIG);
	g_assert_cmpuint(room_asked, ==, 0);
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_FILTER, text, most, NULL), ==, 0);
	g_assert_cmpuint(room_request.data_size, ==, RS_HCALL_DATA);
	text[5] = 0;
	g_assert_cmpint(rs_tracepoint_write(id, RS_TRACEPOINT_FILTER, text, most, NULL), ==,
			-RS_EINVAL);
	g_assert_cmpuint(room_asked, ==, 1);
	end();
}

static void test_wrong_id_and_wrong_file(void)
{
	char text[8];

	begin();
	for (uint32_t wrong = 0; wrong < 2; wrong++) {
		uint32_t none = wrong ? id + 1 : 0;

		g_assert_cmpint(rs_tracepoint_read(none, RS_TRACEPOINT_ID, text, sizeof(text)), ==,
				-RS_ENOENT);
		g_assert_cmpint(rs_tracepoint_write(none, RS_TRACEPOINT_ENABLE, "1", 1, NULL), ==,
				-RS_ENOENT);
	}
	g_assert_cmpint(rs_tracepoint_read(id, 99, text, sizeof(text)), ==, -RS_EINVAL);
	g_assert_cmpint(rs_tracepoint_write(id, 99, "1", 1, NULL), ==, -RS_EINVAL);
	g_assert_cmpuint(room_asked, ==, 0);
	room_unload(provider);
	g_assert_cmpint(rs_tracepoint_read(id, RS_TRACEPOINT_ID, text, sizeof(text)), ==,
			-RS_ENOENT);
	room_end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tracepoint/files/enable", test_enable_file);
	g_test_add_func("/tracepoint/files/id", test_id_file);
	g_test_add_func("/tracepoint/files/format", test_format_file);
	g_test_add_func("/tracepoint/files/filter", test_filter_file);
	g_test_add_func("/tracepoint/files/reply", test_filter_has_the_words_of_the_host);
	g_test_add_func("/tracepoint/files/too-long", test_filter_too_long);
	g_test_add_func("/tracepoint/files/wrong", test_wrong_id_and_wrong_file);
	return g_test_run();
}
