/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

void rs_error_trim(char *text)
{
	size_t size = strlen(text);
	char *last = g_utf8_find_prev_char(text, text + size);

	if (last && g_utf8_get_char_validated(last, (gssize)(text + size - last)) == (gunichar)-2)
		*last = '\0';
}

/* `size`: of the whole message, which may have been cut. */
static void end_message(struct rs_error *err, size_t size)
{
	if (size >= sizeof(err->message))
		rs_error_trim(err->message);
}

int rs_error_set(struct rs_error *err, int code, const char *format, ...)
{
	va_list args;
	int size;

	if (err) {
		err->code = code;
		va_start(args, format);
		size = vsnprintf(err->message, sizeof(err->message), format, args);
		va_end(args);
		end_message(err, (size_t)size);
	}
	return -code;
}

int rs_error_prefix(struct rs_error *err, const char *format, ...)
{
	char tail[sizeof(err->message)];
	va_list args;
	size_t used;

	if (!err)
		return -1;
	memcpy(tail, err->message, sizeof(tail));
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	used = strlen(err->message);
	used += (size_t)snprintf(err->message + used, sizeof(err->message) - used, ": %s", tail);
	end_message(err, used);
	return -err->code;
}

int rs_error_take(struct rs_error *err, int code, GError *error)
{
	int ret = rs_error_set(err, code, "%s", error->message);

	g_error_free(error);
	return ret;
}
