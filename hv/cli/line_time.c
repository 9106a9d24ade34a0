/* SPDX-License-Identifier: MIT */
#include "cli/line_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

int rs_line_time_take(const struct rs_verb *verb, const char *text, bool in_ns, bool json,
		      struct rs_line_time *out)
{
	static const char *const kinds[] = {"session", "relative", "delta", "wall", NULL};
	guint kind = 0;

	while (text && kinds[kind] && strcmp(kinds[kind], text) != 0)
		kind++;
	if (!kinds[kind])
		return rs_cli_usage(verb, "--time is session, relative, delta or wall");
	if (json && (kind == RS_LINE_TIME_RELATIVE || kind == RS_LINE_TIME_DELTA))
		return rs_cli_usage(verb, "--time=%s is of text; JSON has ns", text);
	*out = (struct rs_line_time){.kind = kind, .in_ns = in_ns};
	return RS_CLI_OK;
}

void rs_line_time_live(struct rs_line_time *time, uint64_t origin_ns)
{
	if (!time->wall_ns)
		time->wall_ns =
			(uint64_t)(g_get_real_time() - g_get_monotonic_time()) * 1000 + origin_ns;
}

/* "SECONDS.PART" after what is before it. Microseconds are rounded, as elsewhere. */
static void put(const struct rs_line_time *time, const char *before, int width, uint64_t seconds,
		uint64_t ns, char *out)
{
	if (time->in_ns)
		snprintf(out, RS_LINE_TIME_MAX, "%s%*" PRIu64 ".%09" PRIu64, before, width, seconds,
			 ns);
	else
		snprintf(out, RS_LINE_TIME_MAX, "%s%*" PRIu64 ".%06" PRIu64, before, width, seconds,
			 ns / 1000);
}

static uint64_t rounded(const struct rs_line_time *time, uint64_t ns)
{
	return time->in_ns || ns > UINT64_MAX - 500 ? ns : (ns + 500) / 1000 * 1000;
}

void rs_line_time_pass(struct rs_line_time *time, uint64_t ns)
{
	if (time->kind != RS_LINE_TIME_RELATIVE && time->kind != RS_LINE_TIME_DELTA)
		return;
	if (!time->any || time->kind == RS_LINE_TIME_DELTA)
		time->base = ns;
	time->any = true;
}

/* A line may be of a time before that of the line before it, which came late. */
static void put_since(struct rs_line_time *time, uint64_t ns, char *out)
{
	const bool early = time->any && ns < time->base;
	const uint64_t since = !time->any ? 0 : early ? time->base - ns : ns - time->base;
	const uint64_t shown = rounded(time, since);

	put(time, early && shown ? "-" : " ", 4, shown / SECOND, shown % SECOND, out);
	rs_line_time_pass(time, ns);
}

/* Many lines have the same second. */
static void put_wall(struct rs_line_time *time, uint64_t ns, char *out)
{
	const uint64_t shown = rounded(time, ns + time->wall_ns);
	const uint64_t second = shown / SECOND;

	if (!time->any || second != time->second) {
		g_autoptr(GDateTime) day = g_date_time_new_from_unix_local((gint64)second);
		g_autofree char *text = day ? g_date_time_format(day, "%H:%M:%S") : NULL;

		g_strlcpy(time->day, text ? text : "??:??:??", sizeof(time->day));
		time->second = second;
		time->any = true;
	}
	snprintf(out, RS_LINE_TIME_MAX, time->in_ns ? "%s.%09" PRIu64 : "%s.%06" PRIu64, time->day,
		 time->in_ns ? shown % SECOND : shown % SECOND / 1000);
}

const char *rs_line_time_text(struct rs_line_time *time, uint64_t ns, char text[RS_LINE_TIME_MAX])
{
	if (time->kind == RS_LINE_TIME_SESSION)
		return NULL;
	if (time->kind == RS_LINE_TIME_WALL)
		put_wall(time, ns, text);
	else
		put_since(time, ns, text);
	return text;
}
