/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-hist.h"

#include "analysis/rs-trace-keys.h"

#include <stdlib.h>
#include <string.h>

#define OCTAVES 65u              /* 0; 1; 2 to 3; … */
#define LEAST ((guint64)1 << 63) /* the greatest amount below 0, without its sign */

typedef struct {
	guint64 number; /* without its sign */
	gboolean is_negative;
	guint64 count;
} Amount;

/* One histogram. */
typedef struct {
	guint64 count, amounts;
	Amount few[RS_TRACE_HIST_FEW]; /* all that there were, while they are few */
	guint n_few;
	gboolean are_many;
	double sum, least, greatest;
	guint64 above[OCTAVES], below[OCTAVES]; /* amounts, and those that are negative */
	RsTraceKeys *keys;                      /* of all else; NULL: none */
} Counts;

struct _RsTraceHist {
	RsTraceColumn *field, *by;
	gboolean shows_few;
	Counts all;          /* without groups */
	RsTraceKeys *groups; /* of Counts */
};

static void counts_clear(gpointer data)
{
	rs_trace_keys_free(((Counts *)data)->keys);
}

RsTraceHist *rs_trace_hist_new(const char *field, const char *by, GError **error)
{
	g_autoptr(RsTraceHist) hist = g_new0(RsTraceHist, 1);

	hist->field = rs_trace_column_new(field, error);
	if (!hist->field)
		return NULL;
	if (by) {
		hist->by = rs_trace_column_new(by, error);
		if (!hist->by)
			return NULL;
		hist->groups =
			rs_trace_keys_new(RS_TRACE_HIST_GROUPS, sizeof(Counts), counts_clear);
	}
	return g_steal_pointer(&hist);
}

void rs_trace_hist_free(RsTraceHist *hist)
{
	if (!hist)
		return;
	rs_trace_column_free(hist->field);
	rs_trace_column_free(hist->by);
	rs_trace_keys_free(hist->groups);
	counts_clear(&hist->all);
	g_free(hist);
}

void rs_trace_hist_set_few(RsTraceHist *hist)
{
	hist->shows_few = TRUE;
}

static guint octave_of(guint64 value)
{
	return value ? 64u - (guint)__builtin_clzll(value) : 0;
}

static void add_few(Counts *counts, guint64 number, gboolean negative)
{
	for (guint i = 0; i < counts->n_few; i++) {
		Amount *amount = &counts->few[i];

		if (amount->number != number || amount->is_negative != negative)
			continue;
		amount->count++;
		return;
	}
	if (counts->n_few == RS_TRACE_HIST_FEW)
		counts->are_many = TRUE;
	else
		counts->few[counts->n_few++] = (Amount){number, negative, 1};
}

static void add_amount(Counts *counts, const RsTraceCell *cell)
{
	gboolean negative = cell->kind == RS_TRACE_CELL_SIGNED && (gint64)cell->number < 0;
	double value = negative ? (double)(gint64)cell->number : (double)cell->number;

	if (!counts->are_many)
		add_few(counts, negative ? -cell->number : cell->number, negative);
	if (negative)
		counts->below[octave_of(-cell->number)]++;
	else
		counts->above[octave_of(cell->number)]++;
	counts->least = counts->amounts ? MIN(counts->least, value) : value;
	counts->greatest = counts->amounts ? MAX(counts->greatest, value) : value;
	counts->sum += value;
	counts->amounts++;
}

void rs_trace_hist_add(RsTraceHist *hist, const RsTraceSample *item)
{
	Counts *counts = &hist->all;
	RsTraceCell cell, by;

	if (!rs_trace_column_get(hist->field, item, &cell))
		return;
	if (hist->by) {
		if (!rs_trace_column_get(hist->by, item, &by))
			return;
		counts = rs_trace_keys_get(hist->groups, 0, &by);
	}
	counts->count++;
	if (cell.kind <= RS_TRACE_CELL_SIGNED) {
		add_amount(counts, &cell);
		return;
	}
	if (!counts->keys)
		counts->keys =
			rs_trace_keys_new(hist->by ? RS_TRACE_HIST_GROUP_KEYS : RS_TRACE_HIST_KEYS,
					  sizeof(guint64), NULL);
	++*(guint64 *)rs_trace_keys_get(counts->keys, 0, &cell);
}

/* ---- the result ---- */

static void row_clear(gpointer data)
{
	g_free(((RsTraceHistRow *)data)->label);
}

static void group_free(gpointer data)
{
	RsTraceHistGroup *group = data;

	g_array_unref(group->rows);
	g_free(group->label);
	g_free(group);
}

static void add_bucket(GArray *rows, guint octave, gboolean negative, guint64 count)
{
	RsTraceHistRow row = {.is_negative = negative, .count = count};

	if (octave) {
		row.low = (guint64)1 << (octave - 1);
		row.high = row.low + (row.low - 1);
		if (negative)
			row.high = MIN(row.high, LEAST);
	}
	g_array_append_val(rows, row);
}

/* From the first bucket that has something to the last one. */
static void add_buckets(GArray *rows, const Counts *counts)
{
	guint last = OCTAVES, first;

	for (guint i = OCTAVES; i-- > 0;) {
		if (counts->below[i])
			add_bucket(rows, i, TRUE, counts->below[i]);
	}
	while (last && !counts->above[last - 1])
		last--;
	for (first = 0; first < last && !counts->above[first];)
		first++;
	for (guint i = first; i < last; i++)
		add_bucket(rows, i, FALSE, counts->above[i]);
}

static int compare_amounts(gconstpointer a, gconstpointer b)
{
	const Amount *x = a, *y = b;

	if (x->is_negative != y->is_negative)
		return x->is_negative ? -1 : 1;
	if (x->number == y->number)
		return 0;
	return (x->number < y->number) != x->is_negative ? -1 : 1;
}

/* Each amount by itself. */
static void add_amounts(GArray *rows, const Counts *counts)
{
	Amount few[RS_TRACE_HIST_FEW];

	memcpy(few, counts->few, sizeof(few));
	qsort(few, counts->n_few, sizeof(*few), compare_amounts);
	for (guint i = 0; i < counts->n_few; i++) {
		const RsTraceHistRow row = {.is_negative = few[i].is_negative,
					    .low = few[i].number,
					    .high = few[i].number,
					    .count = few[i].count};

		g_array_append_val(rows, row);
	}
}

static int compare_keys(gconstpointer a, gconstpointer b)
{
	const RsTraceKey *x = *(RsTraceKey *const *)a, *y = *(RsTraceKey *const *)b;
	guint64 nx = *(guint64 *)x->value, ny = *(guint64 *)y->value;

	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	if (nx != ny)
		return nx > ny ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->label, y->label);
}

static void add_keys(GArray *rows, const Counts *counts)
{
	g_autoptr(GPtrArray) keys = counts->keys ? rs_trace_keys_list(counts->keys) : NULL;

	if (!keys)
		return;
	g_ptr_array_sort(keys, compare_keys);
	for (guint i = 0; i < keys->len; i++) {
		const RsTraceKey *key = keys->pdata[i];
		RsTraceHistRow row = {.label = g_strdup(key->label),
				      .is_other = key->is_other,
				      .count = *(guint64 *)key->value};

		g_array_append_val(rows, row);
	}
}

static RsTraceHistGroup *group_new(const Counts *counts, const RsTraceKey *key, gboolean shows_few)
{
	RsTraceHistGroup *group = g_new0(RsTraceHistGroup, 1);

	group->label = key ? g_strdup(key->label) : NULL;
	group->is_other = key && key->is_other;
	group->count = counts->count;
	group->amounts = counts->amounts;
	group->mean = counts->amounts ? counts->sum / (double)counts->amounts : 0;
	group->least = counts->least;
	group->greatest = counts->greatest;
	group->rows = g_array_new(FALSE, TRUE, sizeof(RsTraceHistRow));
	g_array_set_clear_func(group->rows, row_clear);
	if (shows_few && !counts->are_many)
		add_amounts(group->rows, counts);
	else
		add_buckets(group->rows, counts);
	add_keys(group->rows, counts);
	return group;
}

static int compare_groups(gconstpointer a, gconstpointer b)
{
	const RsTraceHistGroup *x = *(RsTraceHistGroup *const *)a;
	const RsTraceHistGroup *y = *(RsTraceHistGroup *const *)b;

	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return g_strcmp0(x->label, y->label);
}

gboolean rs_trace_hist_result(const RsTraceHist *hist, GPtrArray **groups, GError **error)
{
	g_autoptr(GPtrArray) keys = hist->groups ? rs_trace_keys_list(hist->groups) : NULL;

	if (!rs_trace_column_require(hist->field, NULL, error) ||
	    (hist->by && !rs_trace_column_require(hist->by, hist->field, error)))
		return FALSE;
	*groups = g_ptr_array_new_with_free_func(group_free);
	if (!keys)
		g_ptr_array_add(*groups, group_new(&hist->all, NULL, hist->shows_few));
	for (guint i = 0; keys && i < keys->len; i++) {
		const RsTraceKey *key = keys->pdata[i];

		g_ptr_array_add(*groups, group_new(key->value, key, hist->shows_few));
	}
	g_ptr_array_sort(*groups, compare_groups);
	return TRUE;
}

/* ---- the first of it ---- */

static void fold_rows(GArray *rows, guint max)
{
	RsTraceHistRow rest = {.is_other = TRUE};
	guint labels = 0, i = 0;

	while (i < rows->len) {
		const RsTraceHistRow *row = &g_array_index(rows, RsTraceHistRow, i);

		if (!row->label || (!row->is_other && labels++ < max)) {
			i++;
			continue;
		}
		rest.count += row->count;
		g_array_remove_index(rows, i);
	}
	rest.label = g_strdup("(other)");
	if (rest.count)
		g_array_append_val(rows, rest);
	else
		g_free(rest.label);
}

void rs_trace_hist_fold(GPtrArray *groups, guint max)
{
	for (guint i = 0; max && i < groups->len; i++)
		fold_rows(((RsTraceHistGroup *)groups->pdata[i])->rows, max);
}
