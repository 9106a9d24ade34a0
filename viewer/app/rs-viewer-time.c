/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>
#include <locale.h>
#include <string.h>

#define SECOND G_GUINT64_CONSTANT(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* NULL: there is no such day. */
static GDateTime *day_of(guint64 ns, guint64 wall)
{
	if (!wall || ns > G_MAXUINT64 - wall)
		return NULL;
	return g_date_time_new_from_unix_local((gint64)((ns + wall) / SECOND));
}

static guint fraction_of(guint64 ns)
{
	return (guint)(ns % SECOND);
}

char *rs_viewer_time_moment(guint64 ns, RsViewerTimeStyle style, guint64 wall)
{
	g_autoptr(GDateTime) day = style == RS_VIEWER_TIME_WALL ? day_of(ns, wall) : NULL;

	if (day)
		return g_strdup_printf("%02d:%02d:%02d.%09u", g_date_time_get_hour(day),
				       g_date_time_get_minute(day), g_date_time_get_second(day),
				       fraction_of(ns + wall));
	return g_strdup_printf("%" G_GUINT64_FORMAT ".%09u", ns / SECOND, fraction_of(ns));
}

char *rs_viewer_time_date(guint64 ns, guint64 wall)
{
	g_autoptr(GDateTime) day = day_of(ns, wall);
	g_autofree char *begin = day ? g_date_time_format(day, "%Y-%m-%d %H:%M:%S") : NULL;
	g_autofree char *zone = day ? g_date_time_format(day, "%z") : NULL;

	return begin && zone ? g_strdup_printf("%s.%09u %s", begin, fraction_of(ns + wall), zone)
			     : NULL;
}

/* With three digits after the point. */
static char *parts(guint64 ns, guint64 unit, const char *name)
{
	return g_strdup_printf("%" G_GUINT64_FORMAT ".%03u %s", ns / unit,
			       (guint)(ns % unit / (unit / 1000)), name);
}

char *rs_viewer_time_duration(guint64 ns)
{
	guint seconds = (guint)(ns % MINUTE / SECOND);

	if (ns < 1000)
		return g_strdup_printf(_("%u ns"), (guint)ns);
	if (ns < 1000000)
		return parts(ns, 1000, _("µs"));
	if (ns < SECOND)
		return parts(ns, 1000000, _("ms"));
	if (ns < MINUTE)
		return parts(ns, SECOND, _("s"));
	if (ns < HOUR)
		return g_strdup_printf(_("%u min %02u.%03u s"), (guint)(ns / MINUTE), seconds,
				       fraction_of(ns) / 1000000);
	return g_strdup_printf(_("%u h %02u min %02u s"), (guint)(ns / HOUR),
			       (guint)(ns % HOUR / MINUTE), seconds);
}

char *rs_viewer_time_difference(guint64 from, guint64 until)
{
	g_autofree char *length =
		rs_viewer_time_duration(until >= from ? until - from : from - until);

	return g_strdup_printf("%s%s", until >= from ? "+" : "−", length);
}

char *rs_viewer_number(guint64 n)
{
	g_autofree char *plain = g_strdup_printf("%" G_GUINT64_FORMAT, n);
	const gsize size = strlen(plain);
	GString *text;

	if (*localeconv()->thousands_sep)
		return g_strdup_printf("%'" G_GUINT64_FORMAT, n);
	text = g_string_new(NULL);
	for (gsize i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			g_string_append_c(text, ',');
		g_string_append_c(text, plain[i]);
	}
	return g_string_free(text, FALSE);
}
