/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-compare.h"

#include "app/rs-viewer-differences.h"
#include "document/rs-trace-compare.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

struct _RsViewerCompare {
	AdwBin parent;
	RsViewerPage *pages[2];
	char *title;
	gboolean loading;
	guint last;                /* the side that has had the focus last */
	GCancellable *cancellable; /* of what is being compared */
	gboolean has_begun;
	GtkSingleSelection *selection; /* NULL: nothing is known yet */

	GtkPaned *sides;
	GtkLabel *status;
	GtkProgressBar *progress;
	GtkButton *show_all;
	GtkColumnView *table;
};

G_DEFINE_FINAL_TYPE(RsViewerCompare, rs_viewer_compare, ADW_TYPE_BIN)

enum { PROP_TITLE = 1, PROP_LOADING, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

/* ---- the table ---- */

static void set_up_cell(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer column)
{
	GtkWidget *label = gtk_label_new(NULL);

	gtk_label_set_xalign(GTK_LABEL(label), column ? 1 : 0);
	gtk_label_set_ellipsize(GTK_LABEL(label),
				column ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_END);
	if (column)
		gtk_widget_add_css_class(label, "numeric");
	gtk_list_item_set_child(item, label);
}

static void bind_cell(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer column)
{
	g_autofree char *text =
		rs_viewer_difference_text(gtk_list_item_get_item(item), GPOINTER_TO_UINT(column));

	gtk_label_set_text(GTK_LABEL(gtk_list_item_get_child(item)), text);
}

static int compare_rows(gconstpointer a, gconstpointer b, gpointer column)
{
	return rs_viewer_difference_compare(a, b, GPOINTER_TO_UINT(column));
}

static void add_column(RsViewerCompare *compare, RsViewerDifferenceColumn number, const char *title)
{
	GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
	g_autoptr(GtkColumnViewColumn) column = gtk_column_view_column_new(title, factory);
	g_autoptr(GtkSorter) sorter =
		GTK_SORTER(gtk_custom_sorter_new(compare_rows, GUINT_TO_POINTER(number), NULL));

	g_signal_connect(factory, "setup", G_CALLBACK(set_up_cell), GUINT_TO_POINTER(number));
	g_signal_connect(factory, "bind", G_CALLBACK(bind_cell), GUINT_TO_POINTER(number));
	gtk_column_view_column_set_sorter(column, sorter);
	gtk_column_view_column_set_resizable(column, TRUE);
	gtk_column_view_column_set_expand(column, number == RS_VIEWER_DIFFERENCE_NAME);
	gtk_column_view_append_column(compare->table, column);
}

static void add_columns(RsViewerCompare *compare)
{
	/* Translators: A and B are the two traces that are compared, left and right */
	static const char *const titles[RS_VIEWER_DIFFERENCE_COLUMNS] = {
		N_("Event"),  N_("Count A"),    N_("Count B"), N_("Rate A"),
		N_("Rate B"), N_("Difference"), N_("Change"),
	};

	for (guint i = 0; i < G_N_ELEMENTS(titles); i++)
		add_column(compare, i, _(titles[i]));
}

/* ---- choosing ---- */

static void set_filter(RsViewerCompare *compare, const char *filter)
{
	for (guint i = 0; i < 2; i++)
		rs_viewer_page_set_filter(compare->pages[i], filter);
	gtk_widget_set_sensitive(GTK_WIDGET(compare->show_all), *filter != '\0');
}

static void on_selected(RsViewerCompare *compare)
{
	RsViewerDifference *chosen = gtk_single_selection_get_selected_item(compare->selection);
	g_autofree char *filter = chosen ? rs_viewer_difference_filter(chosen) : NULL;

	set_filter(compare, filter ? filter : "");
}

static void on_show_all(RsViewerCompare *compare)
{
	gtk_single_selection_set_selected(compare->selection, GTK_INVALID_LIST_POSITION);
	set_filter(compare, "");
}

/* ---- comparing ---- */

static void show_rows(RsViewerCompare *compare, const GPtrArray *rows)
{
	GtkSorter *sorter = gtk_column_view_get_sorter(compare->table);
	GtkSortListModel *sorted = gtk_sort_list_model_new(rs_viewer_differences_new(rows),
							   sorter ? g_object_ref(sorter) : NULL);

	compare->selection = gtk_single_selection_new(NULL);
	gtk_single_selection_set_autoselect(compare->selection, FALSE);
	gtk_single_selection_set_can_unselect(compare->selection, TRUE);
	gtk_single_selection_set_model(compare->selection, G_LIST_MODEL(sorted));
	g_object_unref(sorted);
	g_signal_connect_object(compare->selection, "notify::selected-item",
				G_CALLBACK(on_selected), compare, G_CONNECT_SWAPPED);
	gtk_column_view_set_model(compare->table, GTK_SELECTION_MODEL(compare->selection));
	gtk_label_set_text(compare->status, rows->len ? _("The largest changes first; a row shows "
							  "only its event on both sides")
						      : _("There are no events"));
}

static void on_progress(double share, gpointer data)
{
	gtk_progress_bar_set_fraction(RS_VIEWER_COMPARE(data)->progress, share);
}

static void on_done(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerCompare) compare = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) rows = rs_trace_document_compare_finish(result, &error);

	if (g_cancellable_is_cancelled(compare->cancellable))
		return;
	gtk_widget_set_visible(GTK_WIDGET(compare->progress), FALSE);
	if (rows) {
		show_rows(compare, rows);
	} else {
		g_autofree char *text = rs_trace_escape(error->message, -1, NULL);

		gtk_label_set_text(compare->status, text);
		gtk_widget_add_css_class(GTK_WIDGET(compare->status), "error");
	}
}

/* As soon as both were read for the first time: so the windows have their records first. */
static void refresh(RsViewerCompare *compare)
{
	RsTraceDocument *documents[2];
	gboolean loading = FALSE;

	for (guint i = 0; i < 2; i++) {
		documents[i] = rs_viewer_page_document(compare->pages[i]);
		loading |= rs_trace_document_state(documents[i]) == RS_TRACE_DOCUMENT_LOADING;
	}
	if (compare->loading != loading) {
		compare->loading = loading;
		g_object_notify_by_pspec(G_OBJECT(compare), properties[PROP_LOADING]);
	}
	if (loading || compare->has_begun || g_cancellable_is_cancelled(compare->cancellable))
		return;
	compare->has_begun = TRUE;
	rs_trace_document_compare_async(documents[0], documents[1], compare->cancellable,
					on_progress, on_done, g_object_ref(compare));
}

/* ---- the sides ---- */

static void on_focus(GtkEventControllerFocus *controller, RsViewerCompare *compare)
{
	GtkWidget *page = gtk_event_controller_get_widget(GTK_EVENT_CONTROLLER(controller));

	compare->last = page == GTK_WIDGET(compare->pages[1]);
	/* The window takes another side's actions. */
	g_object_notify_by_pspec(G_OBJECT(compare), properties[PROP_TITLE]);
}

static void add_page(RsViewerCompare *compare, guint which, const char *const *paths)
{
	GtkWidget *page = rs_viewer_page_new(paths);
	GtkEventController *focus = gtk_event_controller_focus_new();

	compare->pages[which] = RS_VIEWER_PAGE(g_object_ref(page));
	if (which)
		gtk_paned_set_end_child(compare->sides, page);
	else
		gtk_paned_set_start_child(compare->sides, page);
	g_signal_connect_object(focus, "enter", G_CALLBACK(on_focus), compare, 0);
	gtk_widget_add_controller(page, focus);
	g_signal_connect_object(rs_viewer_page_document(compare->pages[which]), "changed",
				G_CALLBACK(refresh), compare, G_CONNECT_SWAPPED);
	g_signal_connect_object(rs_viewer_page_document(compare->pages[which]), "ended",
				G_CALLBACK(refresh), compare, G_CONNECT_SWAPPED);
}

GtkWidget *rs_viewer_compare_new(const char *const *first, const char *const *second)
{
	RsViewerCompare *compare = g_object_new(RS_VIEWER_TYPE_COMPARE, NULL);
	g_autofree char *a = NULL, *b = NULL;

	add_page(compare, 0, first);
	add_page(compare, 1, second);
	rs_viewer_page_compare(compare->pages[0], compare->pages[1]);
	g_object_get(compare->pages[0], "title", &a, NULL);
	g_object_get(compare->pages[1], "title", &b, NULL);
	/* Translators: two traces that are compared */
	compare->title = g_strdup_printf(_("%s and %s"), a, b);
	refresh(compare);
	return GTK_WIDGET(compare);
}

RsViewerPage *rs_viewer_compare_page(RsViewerCompare *compare)
{
	return compare->pages[compare->last];
}

void rs_viewer_compare_close(RsViewerCompare *compare)
{
	g_cancellable_cancel(compare->cancellable);
	for (guint i = 0; i < 2; i++)
		rs_viewer_page_close(compare->pages[i]);
}

/* ---- the object ---- */

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	RsViewerCompare *compare = RS_VIEWER_COMPARE(object);

	if (id == PROP_TITLE)
		g_value_set_string(value, compare->title);
	else
		g_value_set_boolean(value, compare->loading);
}

static void dispose(GObject *object)
{
	RsViewerCompare *compare = RS_VIEWER_COMPARE(object);

	g_cancellable_cancel(compare->cancellable);
	g_clear_object(&compare->selection);
	for (guint i = 0; i < 2; i++)
		g_clear_object(&compare->pages[i]);
	G_OBJECT_CLASS(rs_viewer_compare_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_clear_object(&RS_VIEWER_COMPARE(object)->cancellable);
	g_free(RS_VIEWER_COMPARE(object)->title);
	G_OBJECT_CLASS(rs_viewer_compare_parent_class)->finalize(object);
}

static void rs_viewer_compare_class_init(RsViewerCompareClass *class)
{
	GObjectClass *object_class = G_OBJECT_CLASS(class);
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	object_class->get_property = get_property;
	object_class->dispose = dispose;
	object_class->finalize = finalize;
	properties[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL,
						     G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
	properties[PROP_LOADING] = g_param_spec_boolean("loading", NULL, NULL, TRUE,
							G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
	g_object_class_install_properties(object_class, N_PROPERTIES, properties);
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/compare.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, RsViewerCompare, name)
	BIND(sides);
	BIND(status);
	BIND(progress);
	BIND(show_all);
	BIND(table);
#undef BIND
	gtk_widget_class_bind_template_callback(widget_class, on_show_all);
}

static void rs_viewer_compare_init(RsViewerCompare *compare)
{
	compare->loading = TRUE;
	compare->cancellable = g_cancellable_new();
	gtk_widget_init_template(GTK_WIDGET(compare));
	add_columns(compare);
}
