/* SPDX-License-Identifier: MIT */
/* What every line of a record must be, whatever the guest. */
#ifndef RS_FUZZ_LINES_H
#define RS_FUZZ_LINES_H

#include "input.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/*
 * UTF-8, whose only control characters are newlines: one at the end, and one before each frame of a
 * call stack.
 */
RS_FUZZ_NOT_SEEN static inline void rs_fuzz_check_line(const GString *out)
{
	static const char frame[] = " => ";

	for (gsize i = 0; i + 1 < out->len; i++) {
		if (out->str[i] == '\n' && strncmp(out->str + i + 1, frame, sizeof(frame) - 1))
			abort();
		if (out->str[i] != '\n' && ((guchar)out->str[i] < 0x20 || out->str[i] == 0x7f))
			abort();
	}
	if (out->str[out->len - 1] != '\n' || !g_utf8_validate(out->str, (gssize)out->len, NULL))
		abort();
}

#endif
