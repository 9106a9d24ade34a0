/* SPDX-License-Identifier: MIT */
/* A guest's console: a file that it writes while we read. */
#include "rs-test-guest-private.h"

#include <string.h>

#define SERIAL_MAX ((gsize)16 << 20) /* that is handed out, or read at a time */
#define LINE_MAX_BYTES ((gsize)4096) /* in which a pattern is looked for */

static const char *file_of(const RsTestGuest *guest)
{
	return guest->has_serial ? RS_TEST_SERIAL : RS_TEST_OUTPUT;
}

char *rs_test_guest_get_serial(RsTestGuest *guest)
{
	g_autofree char *text = NULL;
	gsize size = 0;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), NULL);
	if (guest->has_booted)
		text = rs_test_run_read(guest, file_of(guest), 0, SERIAL_MAX, &size);
	return g_utf8_make_valid(text ? text : "", (gssize)size);
}

/* Without what ends a line on a console. */
static char *line_of(const char *text, gsize size)
{
	while (size && (text[size - 1] == '\r' || text[size - 1] == '\n'))
		size--;
	return g_utf8_make_valid(text, (gssize)size);
}

/* The next line that matches, from guest->serial_at on. NULL: none, or `error` is set. */
static char *find_line(RsTestGuest *guest, const GRegex *regex, GError **error)
{
	gsize size = 0;
	g_autofree char *text =
		rs_test_run_read(guest, file_of(guest), guest->serial_at, SERIAL_MAX, &size);
	const char *line = text, *end = text ? text + size : NULL;
	GError *why = NULL;

	while (line < end) {
		const char *stop = memchr(line, '\n', (gsize)(end - line));
		const gsize length = (gsize)((stop ? stop + 1 : end) - line);
		const gsize seen = MIN((gsize)((stop ? stop : end) - line), LINE_MAX_BYTES);
		const gboolean is_so =
			g_regex_match_full(regex, line, (gssize)seen, 0, 0, NULL, &why);

		if (why) {
			rs_test_fail(error, why);
			return NULL;
		}
		/* A line that grows is looked at again, unless it fills all that is read. */
		if (is_so || stop || length >= SERIAL_MAX)
			guest->serial_at += length;
		if (is_so)
			return line_of(line, length);
		line += length;
	}
	return NULL;
}

/* Bytes are looked at as they are: a guest may write what is no UTF-8. */
static GRegex *compile(const char *pattern, GError **error)
{
	GError *why = NULL;
	GRegex *regex = g_regex_new(pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, &why);

	if (!regex) {
		g_set_error_literal(error, RS_TEST_ERROR, RS_TEST_ERROR_BAD_ARGUMENT, why->message);
		g_error_free(why);
	}
	return regex;
}

char *rs_test_guest_expect_serial(RsTestGuest *guest, const char *pattern, guint timeout_ms,
				  GError **error)
{
	const gint64 deadline = rs_test_deadline(timeout_ms);
	g_autoptr(GRegex) regex = NULL;
	gboolean had_ended;
	GError *why = NULL;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && pattern, NULL);
	if (!rs_test_is_booted(guest, error))
		return NULL;
	regex = compile(pattern, error);
	if (!regex)
		return NULL;
	do {
		char *line;

		had_ended = rs_test_run_has_ended(guest);
		line = find_line(guest, regex, &why);
		if (line)
			return line;
	} while (!why && !had_ended && rs_test_pause(guest, deadline));
	if (why)
		g_propagate_error(error, why);
	else if (had_ended)
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_ENDED,
			    "the guest has ended (%s), and has not written '%s'", guest->end_text,
			    pattern);
	else
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_TIMEOUT,
			    "the guest has not written '%s' within %u ms", pattern, timeout_ms);
	return NULL;
}
