/* SPDX-License-Identifier: MIT */
#include "cli/bench.h"
#include "cli/figures.h"
#include "cli/json_line.h"

#include <stdio.h>

#define WIDTH 36 /* of what is measured */

static void put(struct rs_bench *bench, const char *key, const char *unit, double value,
		const char *what, const char *shown)
{
	g_autoptr(GString) out = g_string_new(NULL);

	if (bench->json) {
		rs_json_begin(out);
		rs_json_text(out, "bench", key);
		if (bench->source)
			rs_json_text(out, "source", bench->source);
		rs_json_real(out, "value", value);
		rs_json_text(out, "unit", unit);
		rs_json_end(out);
	} else {
		if (bench->title)
			g_string_append_printf(out, "%s\n", bench->title);
		bench->title = NULL;
		g_string_append_printf(out, "  %-*s %s\n", WIDTH, what, shown);
	}
	if (!bench->code)
		bench->code = rs_cli_put(out);
	fflush(stdout);
}

void rs_bench_ns(struct rs_bench *bench, const char *key, const char *what, double ns)
{
	g_autoptr(GString) shown = g_string_new(NULL);

	if (ns < 1e3)
		g_string_printf(shown, ns <= 0 ? "0 ns" : ns < 10 ? "%.2f ns" : "%.1f ns", ns);
	else
		rs_cli_append_span(shown, ns);
	put(bench, key, "ns", ns, what, shown->str);
}

void rs_bench_rate(struct rs_bench *bench, const char *key, const char *what, double a_second)
{
	g_autofree char *shown = a_second >= 1e6 ? g_strdup_printf("%.2f million/s", a_second / 1e6)
						 : g_strdup_printf("%.0f/s", a_second);

	put(bench, key, "1/s", a_second, what, shown);
}

void rs_bench_count(struct rs_bench *bench, const char *key, const char *what, uint64_t value)
{
	g_autofree char *shown = g_strdup_printf("%" G_GUINT64_FORMAT, (guint64)value);

	put(bench, key, "1", (double)value, what, shown);
}

void rs_bench_share(struct rs_bench *bench, const char *key, const char *what, double share)
{
	g_autofree char *shown = g_strdup_printf("%.3g %%", share * 100);

	put(bench, key, "1", share, what, shown);
}

void rs_bench_not_known(struct rs_bench *bench, const char *what)
{
	if (!bench->json)
		put(bench, "", "", 0, what, "not known");
}
