/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-ticks.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* Above a second, where people do not count in tens. */
static const RsTraceTicks long_ticks[] = {
	{SECOND, SECOND / 5},      {2 * SECOND, SECOND / 2},  {5 * SECOND, SECOND},
	{10 * SECOND, 2 * SECOND}, {15 * SECOND, 5 * SECOND}, {30 * SECOND, 10 * SECOND},
	{MINUTE, 15 * SECOND},     {2 * MINUTE, 30 * SECOND}, {5 * MINUTE, MINUTE},
	{10 * MINUTE, 2 * MINUTE}, {15 * MINUTE, 5 * MINUTE}, {30 * MINUTE, 10 * MINUTE},
	{HOUR, 15 * MINUTE},       {2 * HOUR, 30 * MINUTE},   {6 * HOUR, HOUR},
	{12 * HOUR, 2 * HOUR},     {DAY, 6 * HOUR},
};

RsTraceTicks rs_trace_ticks_of(guint64 range, guint most)
{
	const guint64 least = range / MAX(most, 1) + (range % MAX(most, 1) > 0);
	RsTraceTicks ticks = {DAY, DAY / 4};

	for (guint64 ten = 1; ten < SECOND; ten *= 10) {
		for (guint factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3) {
			const guint parts = factor == 2 ? 4 : 5;

			if (ten * factor < least)
				continue;
			ticks.step = ten * factor;
			ticks.minor = ticks.step % parts ? ticks.step / factor : ticks.step / parts;
			return ticks;
		}
	}
	for (guint i = 0; i < G_N_ELEMENTS(long_ticks); i++)
		if (long_ticks[i].step >= least)
			return long_ticks[i];
	for (guint i = 0; ticks.step < least && ticks.step <= G_MAXUINT64 / 10; i++) {
		ticks.minor = ticks.step;
		ticks.step *= i % 2 ? 2 : 5;
	}
	return ticks;
}

guint64 rs_trace_ticks_first(guint64 step, guint64 ns)
{
	const guint64 rest = ns % step;

	if (rest == 0)
		return ns;
	return ns > G_MAXUINT64 - (step - rest) ? G_MAXUINT64 : ns + (step - rest);
}

/* Digits behind the point, as many as `step` needs, by threes. */
static void append_fraction(GString *out, guint64 fraction, guint64 step)
{
	guint digits = 0;

	for (guint64 unit = SECOND; digits < 9 && step % unit != 0; unit /= 10)
		digits++;
	for (guint i = 0; i < digits; i++) {
		fraction *= 10;
		if (i == 0)
			g_string_append_c(out, '.');
		else if (i % 3 == 0)
			g_string_append(out, "\u2009");
		g_string_append_c(out, (char)('0' + fraction / SECOND));
		fraction %= SECOND;
	}
}

/* Up to a minute it has a unit. */
static void append_clock(GString *out, guint64 ns, guint64 step)
{
	const guint64 minutes = ns / MINUTE, seconds = ns % MINUTE / SECOND;

	if (minutes >= 60)
		g_string_append_printf(out, "%" G_GUINT64_FORMAT ":%02u:%02u", minutes / 60,
				       (guint)(minutes % 60), (guint)seconds);
	else if (minutes > 0)
		g_string_append_printf(out, "%u:%02u", (guint)minutes, (guint)seconds);
	else
		g_string_append_printf(out, "%u", (guint)seconds);
	append_fraction(out, ns % SECOND, step);
	if (minutes == 0)
		g_string_append(out, "\u2009s");
}

char *rs_trace_ticks_label(guint64 ns, guint64 step)
{
	GString *out = g_string_new(NULL);

	append_clock(out, ns, MAX(step, 1));
	return g_string_free(out, FALSE);
}

/* The step of the last digit that is not 0. */
static guint64 precision(guint64 ns)
{
	guint64 step = 1;

	while (step < SECOND && ns % (step * 10) == 0)
		step *= 10;
	return step;
}

char *rs_trace_ticks_duration(guint64 ns)
{
	static const char *const units[] = {"ns", "µs", "ms"};
	GString *out = g_string_new(NULL);
	guint64 unit = 1;
	guint i = 0;

	if (ns >= SECOND) {
		append_clock(out, ns, precision(ns));
		return g_string_free(out, FALSE);
	}
	for (; i < 2 && ns >= unit * 1000; i++)
		unit *= 1000;
	g_string_append_printf(out, "%u", (guint)(ns / unit));
	/* As if the unit were a second. */
	append_fraction(out, ns % unit * (SECOND / unit), precision(ns) * (SECOND / unit));
	g_string_append_printf(out, "\u2009%s", units[i]);
	return g_string_free(out, FALSE);
}
