/* SPDX-License-Identifier: MIT */
#include "cli/line_diff.h"

#include <glib.h>
#include <stdbool.h>

#define CELLS_MAX (1u << 22) /* of the table below */

struct diff {
	char **a, **b; /* the lines that may differ */
	guint n, m;
	guint16 *common;  /* [n + 1][m + 1]: lines in common from there on; NULL: too many */
	const char *last; /* the line before */
	bool shown;       /* it, or what came after it, was printed */
	GString *out;
};

static guint16 *cell(const struct diff *diff, guint i, guint j)
{
	return &diff->common[(gsize)i * (diff->m + 1) + j];
}

static void count_common(struct diff *diff)
{
	if ((guint64)(diff->n + 1) * (diff->m + 1) > CELLS_MAX)
		return;
	diff->common = g_new0(guint16, (gsize)(diff->n + 1) * (diff->m + 1));
	for (guint i = diff->n; i-- > 0;)
		for (guint j = diff->m; j-- > 0;)
			*cell(diff, i, j) =
				g_str_equal(diff->a[i], diff->b[j])
					? (guint16)(*cell(diff, i + 1, j + 1) + 1)
					: MAX(*cell(diff, i + 1, j), *cell(diff, i, j + 1));
}

static void change(struct diff *diff, char sign, const char *line)
{
	if (!diff->shown && diff->last)
		g_string_append_printf(diff->out, " %s\n", diff->last);
	diff->shown = true;
	g_string_append_printf(diff->out, "%c%s\n", sign, line);
}

static void keep(struct diff *diff, const char *line)
{
	diff->last = line;
	diff->shown = false;
}

static void walk(struct diff *diff)
{
	guint i = 0, j = 0;

	while (i < diff->n || j < diff->m) {
		bool both = diff->common && i < diff->n && j < diff->m;

		if (both && g_str_equal(diff->a[i], diff->b[j])) {
			keep(diff, diff->a[i++]);
			j++;
		} else if (i < diff->n &&
			   (!both || *cell(diff, i + 1, j) >= *cell(diff, i, j + 1))) {
			change(diff, '-', diff->a[i++]);
		} else {
			change(diff, '+', diff->b[j++]);
		}
	}
}

char *rs_line_diff(const char *before, const char *after)
{
	g_auto(GStrv) a = g_strsplit(before, "\n", -1);
	g_auto(GStrv) b = g_strsplit(after, "\n", -1);
	guint n = g_strv_length(a), m = g_strv_length(b), same = 0;
	struct diff diff = {.out = g_string_new(NULL)};

	while (same < n && same < m && g_str_equal(a[same], b[same]))
		same++;
	while (n > same && m > same && g_str_equal(a[n - 1], b[m - 1])) {
		n--;
		m--;
	}
	diff.a = a + same;
	diff.b = b + same;
	diff.n = n - same;
	diff.m = m - same;
	if (same)
		keep(&diff, a[same - 1]);
	count_common(&diff);
	walk(&diff);
	g_free(diff.common);
	return g_string_free(diff.out, FALSE);
}
