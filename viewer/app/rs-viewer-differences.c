/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-differences.h"
#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>
#include <math.h>
#include <rs-trace-escape.h>
#include <string.h>

struct _RsViewerDifference {
	GObject parent;
	RsTraceDiffRow row; /* its label is owned */
};

G_DEFINE_FINAL_TYPE(RsViewerDifference, rs_viewer_difference, G_TYPE_OBJECT)

static char *name_of(const RsTraceDiffRow *row)
{
	g_autofree char *plain = row->label ? rs_trace_escape(row->label, -1, NULL) : NULL;

	return plain ? g_utf8_make_valid(plain, -1) : g_strdup(_("Lost events"));
}

static char *rate_of(const RsTraceDiffRow *row, double value, const char *of_event,
		     const char *of_loss)
{
	char text[64];

	/* The formats are ours. */
	if (row->kind == RS_TRACE_DIFF_LOST)
		g_snprintf(text, sizeof(text), of_loss, value * 100);
	else
		g_snprintf(text, sizeof(text), of_event, value);
	return g_strdup(text);
}

static char *change_of(const RsTraceDiffRow *row)
{
	if (row->is_new)
		/* Translators: only the second trace has this event */
		return g_strdup(_("new"));
	if (row->is_gone)
		/* Translators: only the first trace has this event */
		return g_strdup(_("gone"));
	return g_strdup_printf("%+'.1f %%", row->change * 100);
}

char *rs_viewer_difference_text(const RsViewerDifference *difference,
				RsViewerDifferenceColumn column)
{
	const RsTraceDiffRow *row = &difference->row;

	switch (column) {
	case RS_VIEWER_DIFFERENCE_NAME:
		return name_of(row);
	case RS_VIEWER_DIFFERENCE_COUNT_A:
	case RS_VIEWER_DIFFERENCE_COUNT_B:
		return rs_viewer_number(row->counts[column - RS_VIEWER_DIFFERENCE_COUNT_A]);
	case RS_VIEWER_DIFFERENCE_RATE_A:
	case RS_VIEWER_DIFFERENCE_RATE_B:
		return rate_of(row, row->values[column - RS_VIEWER_DIFFERENCE_RATE_A], "%'.1f/s",
			       "%.3f %%");
	case RS_VIEWER_DIFFERENCE_DELTA:
		return rate_of(row, row->values[1] - row->values[0], "%+'.1f/s", "%+.3f %%");
	default:
		return change_of(row);
	}
}

static int sign(double a, double b)
{
	return a < b ? -1 : a > b;
}

int rs_viewer_difference_compare(const RsViewerDifference *a, const RsViewerDifference *b,
				 RsViewerDifferenceColumn column)
{
	const RsTraceDiffRow *x = &a->row, *y = &b->row;

	switch (column) {
	case RS_VIEWER_DIFFERENCE_NAME:
		return g_strcmp0(x->label, y->label);
	case RS_VIEWER_DIFFERENCE_COUNT_A:
		return x->counts[0] < y->counts[0] ? -1 : x->counts[0] > y->counts[0];
	case RS_VIEWER_DIFFERENCE_COUNT_B:
		return x->counts[1] < y->counts[1] ? -1 : x->counts[1] > y->counts[1];
	case RS_VIEWER_DIFFERENCE_RATE_A:
		return sign(x->values[0], y->values[0]);
	case RS_VIEWER_DIFFERENCE_RATE_B:
		return sign(x->values[1], y->values[1]);
	case RS_VIEWER_DIFFERENCE_DELTA:
		return sign(fabs(x->values[1] - x->values[0]), fabs(y->values[1] - y->values[0]));
	default:
		return sign(fabs(x->change), fabs(y->change));
	}
}

char *rs_viewer_difference_filter(const RsViewerDifference *difference)
{
	const char *label = difference->row.label;

	/* What many events have together is named otherwise, and no event. */
	if (difference->row.kind != RS_TRACE_DIFF_EVENT || *label == '#' || !strchr(label, ':'))
		return NULL;
	return g_strconcat(label, ":", NULL);
}

GListModel *rs_viewer_differences_new(const GPtrArray *rows)
{
	GListStore *store = g_list_store_new(RS_VIEWER_TYPE_DIFFERENCE);

	for (guint i = 0; i < rows->len; i++) {
		g_autoptr(RsViewerDifference) difference =
			g_object_new(RS_VIEWER_TYPE_DIFFERENCE, NULL);

		difference->row = *(const RsTraceDiffRow *)rows->pdata[i];
		difference->row.label = g_strdup(difference->row.label);
		g_list_store_append(store, difference);
	}
	return G_LIST_MODEL(store);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_DIFFERENCE(object)->row.label);
	G_OBJECT_CLASS(rs_viewer_difference_parent_class)->finalize(object);
}

static void rs_viewer_difference_class_init(RsViewerDifferenceClass *class)
{
	G_OBJECT_CLASS(class)->finalize = finalize;
}

static void rs_viewer_difference_init(RsViewerDifference *difference)
{
}
