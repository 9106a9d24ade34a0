/* SPDX-License-Identifier: MIT */
/* What a peer says before GDBus hears it: 16 bytes of a header, then lines that log it in. */
#include "seed.h"
#include "server/gate.h"
#include "server/wire.h"

#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

static const guint8 header[RS_WIRE_HEADER] = {'l', 1, 0, 1, 9, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0};

static void seed_with(const char *name, gsize at, guint8 byte, const char *lines)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	g_byte_array_append(bytes, header, sizeof(header));
	bytes->data[at] = byte;
	g_byte_array_append(bytes, (const guint8 *)lines, (guint)strlen(lines));
	rs_fuzz_seed(name, bytes->data, bytes->len);
}

static void seed(const char *name, const char *lines)
{
	seed_with(name, 0, 'l', lines);
}

/* Headers that GDBus can read all the same. */
static void seed_wrong(void)
{
	static const guint8 types[] = {0, 2, 3, 4, 5, 255};

	for (gsize i = 0; i < sizeof(types); i++) {
		g_autofree char *name = g_strdup_printf("type%u", types[i]);

		seed_with(name, 1, types[i], "");
	}
	seed_with("silent", 2, 1, "");
	seed_with("flags", 2, 255, "");
	seed_with("no-serial", 8, 0, "");
	seed_with("big", 0, 'B', "");
}

static void rs_fuzz_seeds(void)
{
	seed_wrong();
	seed("uid", "AUTH EXTERNAL 31303030\nNEGOTIATE_UNIX_FD\nBEGIN\n");
	seed("none", "AUTH\nAUTH EXTERNAL\nDATA\nBEGIN\n");
	seed("back", "AUTH EXTERNAL\nDATA 31303031\nERROR x\nCANCEL\n");
}

/* Of what is passed on GDBus must not see another size. It wraps around at 4 GiB. */
static void check_size(const guint8 *bytes)
{
	static const guint8 no_serial[4];
	guint8 copy[RS_WIRE_HEADER];
	guint64 size = rs_wire_size(bytes);
	gssize needed;

	if (size && memcmp(bytes + 8, no_serial, sizeof(no_serial)) == 0)
		abort();
	memcpy(copy, bytes, sizeof(copy));
	needed = g_dbus_message_bytes_needed(copy, sizeof(copy), NULL);
	if (size && size < RS_WIRE_HEADER)
		abort();
	if (size && size <= RS_GATE_CALL_MAX && needed > 0 && (guint64)needed != size)
		abort();
}

/* What passes in is a call that GDBus answers, and is otherwise what the client sent. */
static void check_call(const guint8 *bytes)
{
	guint8 copy[RS_WIRE_HEADER];

	memcpy(copy, bytes, sizeof(copy));
	if (rs_wire_is_call(bytes) && rs_wire_is_answer(bytes))
		abort();
	if (rs_wire_is_call(bytes) != (bytes[1] == G_DBUS_MESSAGE_TYPE_METHOD_CALL))
		abort();
	if (rs_wire_ask_answer(copy))
		copy[2] |= G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED;
	if (memcmp(copy, bytes, sizeof(copy)) != 0)
		abort();
	if (rs_wire_ask_answer(copy) && rs_wire_ask_answer(copy))
		abort();
}

/* Nobody gets in without AUTH, with fewer than the two lines, or as somebody else. */
static void check_login(const char *text, size_t size)
{
	struct rs_wire_login login = {.uid = 1000};
	bool known = false;

	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t line = end ? (size_t)(end - text) : size;

		switch (rs_wire_login(&login, text, line)) {
		case RS_WIRE_OK:
			known = true;
			break;
		case RS_WIRE_REJECTED:
		case RS_WIRE_DATA:
			known = false;
			break;
		case RS_WIRE_BEGIN:
			if (!known || line != strlen("BEGIN"))
				abort();
			return;
		case RS_WIRE_AGREE_FDS:
			if (!known || !login.takes_fds)
				abort();
			break;
		case RS_WIRE_ERROR:
			break;
		}
		if (known != login.known)
			abort();
		line += line < size;
		text += line;
		size -= line;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < RS_WIRE_HEADER)
		return 0;
	check_size(data);
	check_call(data);
	check_login((const char *)data + RS_WIRE_HEADER, size - RS_WIRE_HEADER);
	return 0;
}
