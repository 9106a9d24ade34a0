/* SPDX-License-Identifier: MIT */
#include "server/wire.h"

#include <string.h>

/* Of the D-Bus specification. */
enum { METHOD_CALL = 1, METHOD_RETURN, ERROR };
#define NO_REPLY_EXPECTED 1u

static guint32 word(const guint8 *at, bool big)
{
	guint32 value;

	memcpy(&value, at, sizeof(value));
	return big ? GUINT32_FROM_BE(value) : GUINT32_FROM_LE(value);
}

guint64 rs_wire_size(const guint8 header[RS_WIRE_HEADER])
{
	const bool big = header[0] == 'B';
	guint64 fields, body;

	if ((!big && header[0] != 'l') || header[3] != 1 || !word(header + 8, big))
		return 0;
	body = word(header + 4, big);
	fields = word(header + 12, big);
	return RS_WIRE_HEADER + ((fields + 7) & ~(guint64)7) + body;
}

bool rs_wire_is_call(const guint8 header[RS_WIRE_HEADER])
{
	return header[1] == METHOD_CALL;
}

bool rs_wire_is_answer(const guint8 header[RS_WIRE_HEADER])
{
	return header[1] == METHOD_RETURN || header[1] == ERROR;
}

bool rs_wire_ask_answer(guint8 header[RS_WIRE_HEADER])
{
	bool silent = header[2] & NO_REPLY_EXPECTED;

	header[2] &= (guint8)~NO_REPLY_EXPECTED;
	return silent;
}

/* Takes a word and the space after it from the start of what is left. */
static bool take(const char **line, gsize *size, const char *command)
{
	gsize n = strlen(command);

	if (*size < n || memcmp(*line, command, n) != 0 || (*size > n && (*line)[n] != ' '))
		return false;
	n += *size > n;
	*line += n;
	*size -= n;
	return true;
}

/* Its uid in decimal, each character as two hex digits. A client may leave that to the kernel. */
static bool is_own_uid(const struct rs_wire_login *login, const char *hex, gsize size)
{
	char uid[16];
	gsize n = (gsize)g_snprintf(uid, sizeof(uid), "%u", login->uid);

	if (size == 0)
		return true;
	if (size != 2 * n)
		return false;
	for (gsize i = 0; i < n; i++) {
		int high = g_ascii_xdigit_value(hex[2 * i]),
		    low = g_ascii_xdigit_value(hex[2 * i + 1]);

		if (high < 0 || low < 0 || high * 16 + low != uid[i])
			return false;
	}
	return true;
}

static enum rs_wire_answer know(struct rs_wire_login *login, const char *hex, gsize size)
{
	login->known = is_own_uid(login, hex, size);
	return login->known ? RS_WIRE_OK : RS_WIRE_REJECTED;
}

static enum rs_wire_answer authenticate(struct rs_wire_login *login, const char *line, gsize size)
{
	if (!take(&line, &size, "EXTERNAL"))
		return RS_WIRE_REJECTED;
	if (size)
		return know(login, line, size);
	login->asked = true;
	return RS_WIRE_DATA;
}

enum rs_wire_answer rs_wire_login(struct rs_wire_login *login, const char *line, gsize size)
{
	const struct rs_wire_login before = *login;

	if (before.known && size == strlen("BEGIN") && take(&line, &size, "BEGIN"))
		return RS_WIRE_BEGIN;
	if (before.known && take(&line, &size, "NEGOTIATE_UNIX_FD")) {
		login->takes_fds = true;
		return RS_WIRE_AGREE_FDS;
	}
	*login = (struct rs_wire_login){.uid = before.uid};
	if (take(&line, &size, "AUTH"))
		return authenticate(login, line, size);
	if (before.asked && take(&line, &size, "DATA"))
		return know(login, line, size);
	if (take(&line, &size, "CANCEL") || take(&line, &size, "ERROR"))
		return RS_WIRE_REJECTED;
	*login = before;
	return RS_WIRE_ERROR;
}
