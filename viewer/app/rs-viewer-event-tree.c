/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-event-tree.h"

#include "app/rs-viewer-event-row.h"

#include <glib/gi18n.h>
#include <string.h>

/* So many events are shown at once; of more, their systems. */
#define EXPANDED_MAX 60u

struct _RsViewerEventTree {
	AdwBin parent;
	RsViewerEvents *events;
	GtkSearchEntry *search;
	GtkStack *stack; /* "list", "empty" */
	AdwStatusPage *empty;
	GtkListView *view;
	GtkSingleSelection *selection;
	GtkCustomFilter *filter;
	char *wanted;    /* what is searched for, without capitals; "": nothing */
	GPtrArray *rows; /* RsViewerEventRow, all that were made and live */
	gboolean live;
};

G_DEFINE_FINAL_TYPE(RsViewerEventTree, rs_viewer_event_tree, ADW_TYPE_BIN)

static guint selected_signal;

/* ---- models ---- */

static GListModel *children_of(gpointer item, gpointer data)
{
	GListStore *children = rs_viewer_event_children(item);

	return children ? G_LIST_MODEL(g_object_ref(children)) : NULL;
}

static GListModel *no_children(gpointer item, gpointer data)
{
	return NULL;
}

static gboolean matches(gpointer item, gpointer data)
{
	const RsViewerEventTree *tree = data;
	g_autofree char *label = g_utf8_casefold(rs_viewer_event_label(item), -1);

	return strstr(label, tree->wanted) != NULL;
}

static int compare(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(rs_viewer_event_label((RsViewerEvent *)a),
		      rs_viewer_event_label((RsViewerEvent *)b));
}

static GListModel *found_events(RsViewerEventTree *tree)
{
	GtkFilterListModel *found =
		gtk_filter_list_model_new(g_object_ref(rs_viewer_events_all(tree->events)),
					  GTK_FILTER(g_object_ref(tree->filter)));
	GtkSorter *sorter = GTK_SORTER(gtk_custom_sorter_new(compare, NULL, NULL));

	return G_LIST_MODEL(gtk_sort_list_model_new(G_LIST_MODEL(found), sorter));
}

static void show_rows(RsViewerEventTree *tree)
{
	GListModel *roots = rs_viewer_events_roots(tree->events);
	const guint n = g_list_model_get_n_items(rs_viewer_events_all(tree->events));
	g_autoptr(GtkTreeListModel) model = NULL;

	/* The first answer may have thousands of events, which would come one by one. */
	if (!rs_viewer_events_known(tree->events))
		return;
	if (*tree->wanted)
		model = gtk_tree_list_model_new(found_events(tree), FALSE, FALSE, no_children, NULL,
						NULL);
	else
		model = gtk_tree_list_model_new(g_object_ref(roots), FALSE, n <= EXPANDED_MAX,
						children_of, NULL, NULL);
	gtk_single_selection_set_model(tree->selection, G_LIST_MODEL(model));
}

/* Says why there is nothing. */
static void show_state(RsViewerEventTree *tree)
{
	const gboolean any = g_list_model_get_n_items(G_LIST_MODEL(tree->selection)) > 0;

	adw_status_page_set_title(tree->empty, *tree->wanted ? _("No Event Found")
					       : rs_viewer_events_known(tree->events)
						       ? _("No Events Yet")
						       : _("Asking the Session"));
	gtk_stack_set_visible_child_name(tree->stack, any ? "list" : "empty");
}

static void search_changed(RsViewerEventTree *tree)
{
	g_autofree char *before = tree->wanted;

	tree->wanted = g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(tree->search)), -1);
	if (!*before != !*tree->wanted)
		show_rows(tree);
	gtk_filter_changed(GTK_FILTER(tree->filter), GTK_FILTER_CHANGE_DIFFERENT);
	show_state(tree);
}

/* ---- rows ---- */

RsViewerEvent *rs_viewer_event_tree_selected(RsViewerEventTree *tree)
{
	GtkTreeListRow *row = gtk_single_selection_get_selected_item(tree->selection);
	g_autoptr(RsViewerEvent) event = row ? gtk_tree_list_row_get_item(row) : NULL;

	/* The model has it. */
	return event;
}

static void selection_changed(RsViewerEventTree *tree)
{
	g_signal_emit(tree, selected_signal, 0, rs_viewer_event_tree_selected(tree));
}

static void activated(RsViewerEventTree *tree, guint position)
{
	g_autoptr(GtkTreeListRow) row =
		g_list_model_get_item(G_LIST_MODEL(tree->selection), position);
	g_autoptr(RsViewerEvent) event = row ? gtk_tree_list_row_get_item(row) : NULL;

	if (!event)
		return;
	if (rs_viewer_event_children(event))
		gtk_tree_list_row_set_expanded(row, !gtk_tree_list_row_get_expanded(row));
	else if (tree->live)
		rs_viewer_events_switch(tree->events, event,
					rs_viewer_event_state(event) == RS_VIEWER_EVENT_OFF);
}

static void switched(RsViewerEventTree *tree, RsViewerEvent *event, gboolean on)
{
	rs_viewer_events_switch(tree->events, event, on);
}

static void row_gone(gpointer data, GObject *row)
{
	g_ptr_array_remove_fast(data, row);
}

static void set_up_row(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
	RsViewerEventTree *tree = data;
	GtkWidget *expander = gtk_tree_expander_new(), *row = rs_viewer_event_row_new();

	gtk_tree_expander_set_child(GTK_TREE_EXPANDER(expander), row);
	gtk_list_item_set_child(item, expander);
	rs_viewer_event_row_set_live(RS_VIEWER_EVENT_ROW(row), tree->live);
	g_signal_connect_object(row, "switched", G_CALLBACK(switched), tree, G_CONNECT_SWAPPED);
	g_ptr_array_add(tree->rows, row);
	g_object_weak_ref(G_OBJECT(row), row_gone, tree->rows);
}

static GtkWidget *row_of(GtkListItem *item)
{
	return gtk_tree_expander_get_child(GTK_TREE_EXPANDER(gtk_list_item_get_child(item)));
}

static void bind_row(GtkSignalListItemFactory *factory, GtkListItem *item)
{
	GtkTreeListRow *place = gtk_list_item_get_item(item);
	g_autoptr(RsViewerEvent) event = gtk_tree_list_row_get_item(place);

	gtk_tree_expander_set_list_row(GTK_TREE_EXPANDER(gtk_list_item_get_child(item)), place);
	rs_viewer_event_row_set_event(RS_VIEWER_EVENT_ROW(row_of(item)), event,
				      !gtk_tree_list_row_get_depth(place));
}

static void unbind_row(GtkSignalListItemFactory *factory, GtkListItem *item)
{
	rs_viewer_event_row_set_event(RS_VIEWER_EVENT_ROW(row_of(item)), NULL, FALSE);
	gtk_tree_expander_set_list_row(GTK_TREE_EXPANDER(gtk_list_item_get_child(item)), NULL);
}

void rs_viewer_event_tree_set_live(RsViewerEventTree *tree, gboolean live)
{
	tree->live = live;
	for (guint i = 0; i < tree->rows->len; i++)
		rs_viewer_event_row_set_live(tree->rows->pdata[i], live);
}

/* ---- the widget ---- */

static void dispose(GObject *object)
{
	RsViewerEventTree *tree = RS_VIEWER_EVENT_TREE(object);

	if (tree->events)
		g_signal_handlers_disconnect_by_data(tree->events, tree);
	if (tree->selection)
		g_signal_handlers_disconnect_by_data(tree->selection, tree);
	g_clear_object(&tree->events);
	g_clear_object(&tree->filter);
	G_OBJECT_CLASS(rs_viewer_event_tree_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerEventTree *tree = RS_VIEWER_EVENT_TREE(object);

	for (guint i = 0; i < tree->rows->len; i++)
		g_object_weak_unref(tree->rows->pdata[i], row_gone, tree->rows);
	g_ptr_array_unref(tree->rows);
	g_free(tree->wanted);
	G_OBJECT_CLASS(rs_viewer_event_tree_parent_class)->finalize(object);
}

static void rs_viewer_event_tree_class_init(RsViewerEventTreeClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	selected_signal = g_signal_new("selected", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
				       NULL, NULL, NULL, G_TYPE_NONE, 1, RS_VIEWER_TYPE_EVENT);
}

static GtkWidget *make_list(RsViewerEventTree *tree)
{
	GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
	GtkWidget *scrolled = gtk_scrolled_window_new();

	g_signal_connect(factory, "setup", G_CALLBACK(set_up_row), tree);
	g_signal_connect(factory, "bind", G_CALLBACK(bind_row), NULL);
	g_signal_connect(factory, "unbind", G_CALLBACK(unbind_row), NULL);
	tree->selection = gtk_single_selection_new(NULL);
	gtk_single_selection_set_autoselect(tree->selection, FALSE);
	gtk_single_selection_set_can_unselect(tree->selection, TRUE);
	g_signal_connect_swapped(tree->selection, "notify::selected-item",
				 G_CALLBACK(selection_changed), tree);
	tree->view =
		GTK_LIST_VIEW(gtk_list_view_new(GTK_SELECTION_MODEL(tree->selection), factory));
	g_signal_connect_swapped(tree->view, "activate", G_CALLBACK(activated), tree);
	gtk_widget_add_css_class(GTK_WIDGET(tree->view), "navigation-sidebar");
	gtk_accessible_update_property(GTK_ACCESSIBLE(tree->view), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Events"), -1);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), GTK_WIDGET(tree->view));
	return scrolled;
}

static void rs_viewer_event_tree_init(RsViewerEventTree *tree)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);

	tree->wanted = g_strdup("");
	tree->rows = g_ptr_array_new();
	tree->live = TRUE;
	tree->filter = gtk_custom_filter_new(matches, tree, NULL);
	tree->search = GTK_SEARCH_ENTRY(gtk_search_entry_new());
	g_object_set(tree->search, "placeholder-text", _("Search events"), NULL);
	gtk_accessible_update_property(GTK_ACCESSIBLE(tree->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Search events"), -1);
	g_signal_connect_swapped(tree->search, "search-changed", G_CALLBACK(search_changed), tree);
	tree->empty = ADW_STATUS_PAGE(adw_status_page_new());
	gtk_widget_add_css_class(GTK_WIDGET(tree->empty), "compact");
	tree->stack = GTK_STACK(gtk_stack_new());
	gtk_stack_add_named(tree->stack, make_list(tree), "list");
	gtk_stack_add_named(tree->stack, GTK_WIDGET(tree->empty), "empty");
	gtk_widget_set_vexpand(GTK_WIDGET(tree->stack), TRUE);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(tree->search));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(tree->stack));
	adw_bin_set_child(ADW_BIN(tree), box);
}

GtkWidget *rs_viewer_event_tree_new(RsViewerEvents *events)
{
	RsViewerEventTree *tree = g_object_new(RS_VIEWER_TYPE_EVENT_TREE, NULL);

	tree->events = g_object_ref(events);
	g_signal_connect_swapped(events, "notify::roots", G_CALLBACK(show_rows), tree);
	g_signal_connect_swapped(events, "listed", G_CALLBACK(show_state), tree);
	show_rows(tree);
	show_state(tree);
	return GTK_WIDGET(tree);
}
