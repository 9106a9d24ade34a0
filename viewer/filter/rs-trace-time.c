/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-time.h"

#include "rs-trace-error.h"
#include "rs-trace-escape.h"

#include <string.h>

static const struct {
	const char *name;
	guint64 ns;
} UNITS[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {"", 1000000000}};

/*
 * Digits with at most one point among them, exactly: a number of nanoseconds since a boot has more
 * digits than a double. What is less than a nanosecond is dropped.
 */
static gboolean take_decimal(const char *text, gsize size, guint64 unit, guint64 *out)
{
	guint64 whole = 0, part = 0, scale = unit;
	const char *at = text;

	for (; g_ascii_isdigit(*at); at++) {
		if (!g_uint64_checked_mul(&whole, whole, 10) ||
		    !g_uint64_checked_add(&whole, whole, (guint64)(*at - '0')))
			return FALSE;
	}
	if (*at == '.') {
		for (at++; g_ascii_isdigit(*at); at++) {
			scale /= 10;
			part += scale * (guint64)(*at - '0');
		}
		if (at == text + 1)
			return FALSE;
	}
	return size && at == text + size && g_uint64_checked_mul(&whole, whole, unit) &&
	       g_uint64_checked_add(out, whole, part);
}

/* Seconds with as many digits as lines have. */
static gboolean is_of_a_line(const char *text)
{
	const char *point = strchr(text, '.');

	return g_ascii_isdigit(text[strlen(text) - 1]) && (!point || strlen(point + 1) <= 6);
}

gboolean rs_trace_time_parse(const char *text, RsTraceTime *out, GError **error)
{
	RsTraceTimeKind kind = RS_TRACE_TIME_AT;
	g_autofree char *clean = NULL;
	const char *at = text;
	gsize digits;
	guint64 ns;

	if (!text) {
		*out = (RsTraceTime){RS_TRACE_TIME_NONE, 0};
		return TRUE;
	}
	if (*at == '+' || *at == '-')
		kind = *at++ == '+' ? RS_TRACE_TIME_AFTER_FIRST : RS_TRACE_TIME_BEFORE_LAST;
	digits = strspn(at, "0123456789.");
	for (guint i = 0; i < G_N_ELEMENTS(UNITS); i++) {
		if (!strcmp(at + digits, UNITS[i].name) &&
		    take_decimal(at, digits, UNITS[i].ns, &ns)) {
			if (kind == RS_TRACE_TIME_AT && is_of_a_line(at))
				ns -= MIN(ns, 500);
			*out = (RsTraceTime){kind, ns};
			return TRUE;
		}
	}
	clean = rs_trace_escape(text, -1, NULL);
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "'%s' is no time, such as 12.5 or +300ms or -2s", clean);
	return FALSE;
}

guint64 rs_trace_time_resolve(RsTraceTime time, guint64 first, guint64 last, guint64 none)
{
	switch (time.kind) {
	case RS_TRACE_TIME_AT:
		return time.ns;
	case RS_TRACE_TIME_AFTER_FIRST:
		return time.ns > G_MAXUINT64 - first ? G_MAXUINT64 : first + time.ns;
	case RS_TRACE_TIME_BEFORE_LAST:
		return time.ns > last ? 0 : last - time.ns;
	default:
		return none;
	}
}
