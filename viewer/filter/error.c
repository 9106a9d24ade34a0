/* SPDX-License-Identifier: MIT */
#include "filter/ast.h"

#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>

#define WINDOW 72 /* columns shown of a long expression */

/* Appends the character at `s`, escaped for a terminal, with its width. Returns its bytes. */
static size_t append_printable(GString *out, const char *s, size_t size, unsigned int *columns)
{
	size_t plain = rs_trace_plain_char(s, size);

	if (plain) {
		gunichar c = g_utf8_get_char(s);

		*columns = g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
	} else {
		*columns = 4;
	}
	rs_trace_append_escaped(out, s, MAX(plain, 1), NULL);
	return MAX(plain, 1);
}

int rs_filter_error_set(struct rs_filter_error *err, int code, unsigned int at, unsigned int length,
			const char *format, ...)
{
	g_autofree char *raw = NULL, *clean = NULL;
	const char *end;
	va_list args;

	if (!err)
		return -code;
	va_start(args, format);
	raw = g_strdup_vprintf(format, args);
	va_end(args);
	clean = rs_trace_escape(raw, -1, NULL);
	err->code = code;
	err->at = at;
	err->length = length;
	g_strlcpy(err->message, clean, sizeof(err->message));
	g_utf8_validate(err->message, -1, &end); /* it may be cut within a character */
	*(char *)end = '\0';
	return -code;
}

/* The start of the window in which byte `at` is visible, at the start of a character. */
static size_t window_start(const char *expression, size_t size, size_t at)
{
	size_t start = 0;

	if (size <= WINDOW || at < WINDOW / 2)
		return 0;
	start = at - WINDOW / 2;
	while (start < at && ((unsigned char)expression[start] & 0xc0) == 0x80)
		start++;
	return start;
}

char *rs_filter_error_render(const struct rs_filter_error *err, const char *expression)
{
	GString *out = g_string_new("  ");
	g_autoptr(GString) carets = g_string_new("  ");
	/* a longer expression was refused for its length, so its end does not matter */
	size_t size = strnlen(expression, RS_FILTER_MAX_EXPRESSION + 1);
	size_t at = MIN(err->at, size), end = MIN((size_t)err->at + err->length, size);
	size_t i = window_start(expression, size, at), stop;
	bool marked = false;

	if (i > 0) {
		g_string_append(out, "…");
		g_string_append_c(carets, ' ');
	}
	stop = MIN(size, i + WINDOW);
	while (i < stop) {
		unsigned int columns;
		size_t from = i;

		i += append_printable(out, expression + i, size - i, &columns);
		if (from > at && from >= end)
			continue;
		for (; columns; columns--) {
			g_string_append_c(carets, i <= at ? ' ' : marked ? '~' : '^');
			marked = i > at;
		}
	}
	if (i < size)
		g_string_append(out, "…");
	if (!marked)
		g_string_append_c(carets, '^');
	g_string_append_printf(out, "\n%s\n%s", carets->str, err->message);
	return g_string_free(out, FALSE);
}
