/* SPDX-License-Identifier: MIT */
#include "server/wire.h"

#include <gio/gio.h>
#include <string.h>

static void test_size(void)
{
	guint8 header[RS_WIRE_HEADER] = {'l', 1, 0, 1, 5, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0};

	g_assert_cmpuint(rs_wire_size(header), ==, 16 + 16 + 5);
	memset(header + 4, 0xff, 4);
	memset(header + 12, 0xff, 4);
	g_assert_cmpuint(rs_wire_size(header), ==, 16 + (G_GUINT64_CONSTANT(1) << 32) + 0xffffffff);
	header[3] = 2;
	g_assert_cmpuint(rs_wire_size(header), ==, 0);
	header[3] = 1;
	header[8] = 0;
	g_assert_cmpuint(rs_wire_size(header), ==, 0);
	header[11] = 1;
	g_assert_cmpuint(rs_wire_size(header), >, 0);
	header[0] = 'x';
	g_assert_cmpuint(rs_wire_size(header), ==, 0);
}

static void test_kind(void)
{
	guint8 header[RS_WIRE_HEADER] = {'l'};

	for (guint type = 0; type < 256; type++) {
		header[1] = (guint8)type;
		g_assert_true(rs_wire_is_call(header) == (type == 1));
		g_assert_true(rs_wire_is_answer(header) == (type == 2 || type == 3));
	}
}

/* All other flags are as they were. */
static void test_silent(void)
{
	for (guint flags = 0; flags < 256; flags++) {
		guint8 header[RS_WIRE_HEADER] = {'l', 1, (guint8)flags, 1, 5, 0, 0, 0, 1};
		guint8 heard[RS_WIRE_HEADER] = {'l', 1, (guint8)(flags & 0xfe), 1, 5, 0, 0, 0, 1};

		g_assert_true(rs_wire_ask_answer(header) == (flags & 1));
		g_assert_cmpmem(header, sizeof(header), heard, sizeof(heard));
		g_assert_false(rs_wire_ask_answer(header));
	}
}

/* What GDBus writes, in both orders of bytes. */
static void test_real_size(void)
{
	for (guint i = 0; i < 200; i++) {
		g_autofree char *text = g_strnfill(i + 1, 'x');
		g_autoptr(GDBusMessage) message =
			g_dbus_message_new_method_call(NULL, "/a", i % 3 ? "a.b" : NULL, text);
		g_autofree guchar *blob = NULL;
		gsize size;

		g_dbus_message_set_serial(message, 1);
		g_dbus_message_set_body(message, g_variant_new("(s)", text));
		g_dbus_message_set_byte_order(message,
					      i % 2 ? G_DBUS_MESSAGE_BYTE_ORDER_BIG_ENDIAN
						    : G_DBUS_MESSAGE_BYTE_ORDER_LITTLE_ENDIAN);
		blob = g_dbus_message_to_blob(message, &size, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
		g_assert_cmpuint(rs_wire_size(blob), ==, size);
	}
}

static enum rs_wire_answer say(struct rs_wire_login *login, const char *line)
{
	return rs_wire_login(login, line, strlen(line));
}

static void test_login(void)
{
	struct rs_wire_login login = {.uid = 1000};

	g_assert_cmpint(say(&login, "BEGIN"), ==, RS_WIRE_ERROR);
	g_assert_cmpint(say(&login, "NEGOTIATE_UNIX_FD"), ==, RS_WIRE_ERROR);
	g_assert_cmpint(say(&login, "AUTH"), ==, RS_WIRE_REJECTED);
	g_assert_cmpint(say(&login, "AUTH ANONYMOUS 61"), ==, RS_WIRE_REJECTED);
	g_assert_cmpint(say(&login, "AUTH EXTERNAL 31303030"), ==, RS_WIRE_OK);
	g_assert_cmpint(say(&login, "BEGINNING"), ==, RS_WIRE_ERROR);
	g_assert_cmpint(say(&login, "NEGOTIATE_UNIX_FD"), ==, RS_WIRE_AGREE_FDS);
	g_assert_cmpint(say(&login, "BEGIN"), ==, RS_WIRE_BEGIN);
	g_assert_true(login.takes_fds);
}

/* The kernel says who it is. */
static void test_unsaid(void)
{
	struct rs_wire_login login = {.uid = 0};

	g_assert_cmpint(say(&login, "DATA"), ==, RS_WIRE_ERROR);
	g_assert_cmpint(say(&login, "AUTH EXTERNAL"), ==, RS_WIRE_DATA);
	g_assert_cmpint(say(&login, "BEGIN"), ==, RS_WIRE_ERROR);
	g_assert_cmpint(say(&login, "DATA"), ==, RS_WIRE_OK);
	g_assert_cmpint(say(&login, "BEGIN"), ==, RS_WIRE_BEGIN);
	g_assert_false(login.takes_fds);
}

/* Another's number, and what was taken back. */
static void test_rejected(void)
{
	static const char *const others[] = {"30",        "3130303030", "3130303", "zz303030",
					     "31303030 ", "1000",       " "};
	struct rs_wire_login login = {.uid = 1000};

	for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
		g_autofree char *line = g_strdup_printf("AUTH EXTERNAL %s", others[i]);

		g_assert_cmpint(say(&login, line), ==, RS_WIRE_REJECTED);
		g_assert_cmpint(say(&login, "BEGIN"), ==, RS_WIRE_ERROR);
	}
	g_assert_cmpint(say(&login, "AUTH EXTERNAL 31303030"), ==, RS_WIRE_OK);
	g_assert_cmpint(say(&login, "CANCEL"), ==, RS_WIRE_REJECTED);
	g_assert_cmpint(say(&login, "BEGIN"), ==, RS_WIRE_ERROR);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/wire/size", test_size);
	g_test_add_func("/server/wire/kind", test_kind);
	g_test_add_func("/server/wire/silent", test_silent);
	g_test_add_func("/server/wire/real-size", test_real_size);
	g_test_add_func("/server/wire/login", test_login);
	g_test_add_func("/server/wire/unsaid", test_unsaid);
	g_test_add_func("/server/wire/rejected", test_rejected);
	return g_test_run();
}
