/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

int rs_error_set(struct rs_error *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		err->code = code;
		va_start(args, format);
		vsnprintf(err->message, sizeof(err->message), format, args);
		va_end(args);
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
	snprintf(err->message + used, sizeof(err->message) - used, ": %s", tail);
	return -err->code;
}

int rs_error_take(struct rs_error *err, int code, GError *error)
{
	int ret = rs_error_set(err, code, "%s", error->message);

	g_error_free(error);
	return ret;
}
