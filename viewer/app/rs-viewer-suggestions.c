/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-suggestions.h"

#include <glib/gi18n.h>

#define WIDTH 260
#define HEIGHT_MAX 220

/* A widget that is nothing but the parent of its popover: a GtkPopover cannot be derived from. */
struct _RsViewerSuggestions {
	GtkWidget parent;
	GtkPopover *popover;
	GtkListView *list;
	GtkStringList *texts;
	GtkSingleSelection *selection;
	RsViewerCompletion *completion; /* NULL: hidden */
	gboolean moved;                 /* one was chosen by Up or Down */
};

G_DEFINE_FINAL_TYPE(RsViewerSuggestions, rs_viewer_suggestions, GTK_TYPE_WIDGET)

static guint chosen_signal;

void rs_viewer_suggestions_hide(RsViewerSuggestions *suggestions)
{
	gtk_popover_popdown(suggestions->popover);
	g_clear_pointer(&suggestions->completion, rs_viewer_completion_free);
}

void rs_viewer_suggestions_show(RsViewerSuggestions *suggestions, RsViewerCompletion *completion)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new();

	rs_viewer_suggestions_hide(suggestions);
	for (guint i = 0; i < completion->candidates->len; i++) {
		const RsViewerCandidate *candidate = completion->candidates->pdata[i];

		g_ptr_array_add(texts, candidate->text);
	}
	g_ptr_array_add(texts, NULL);
	suggestions->completion = completion;
	suggestions->moved = FALSE;
	gtk_string_list_splice(suggestions->texts, 0,
			       g_list_model_get_n_items(G_LIST_MODEL(suggestions->texts)),
			       (const char *const *)texts->pdata);
	if (!completion->candidates->len) {
		rs_viewer_suggestions_hide(suggestions);
		return;
	}
	gtk_single_selection_set_selected(suggestions->selection, 0);
	gtk_popover_popup(suggestions->popover);
}

gboolean rs_viewer_suggestions_shown(RsViewerSuggestions *suggestions)
{
	return suggestions->completion != NULL;
}

static void choose(RsViewerSuggestions *suggestions, guint which)
{
	g_autoptr(RsViewerCompletion) completion = g_steal_pointer(&suggestions->completion);
	const RsViewerCandidate *candidate;

	if (!completion || which >= completion->candidates->len)
		return;
	gtk_popover_popdown(suggestions->popover);
	candidate = completion->candidates->pdata[which];
	g_signal_emit(suggestions, chosen_signal, 0, (guint)completion->start,
		      (guint)completion->end, candidate->text);
}

static void move(RsViewerSuggestions *suggestions, int by)
{
	const int n = (int)suggestions->completion->candidates->len;
	const int now = (int)gtk_single_selection_get_selected(suggestions->selection);
	const guint next = (guint)((now + by + n) % n);

	suggestions->moved = TRUE;
	gtk_single_selection_set_selected(suggestions->selection, next);
	gtk_widget_activate_action(GTK_WIDGET(suggestions->list), "list.scroll-to-item", "u", next);
}

gboolean rs_viewer_suggestions_key(RsViewerSuggestions *suggestions, guint key)
{
	if (!suggestions->completion)
		return FALSE;
	switch (key) {
	case GDK_KEY_Down:
	case GDK_KEY_KP_Down:
		move(suggestions, 1);
		return TRUE;
	case GDK_KEY_Up:
	case GDK_KEY_KP_Up:
		move(suggestions, -1);
		return TRUE;
	case GDK_KEY_Return:
	case GDK_KEY_KP_Enter:
		if (!suggestions->moved)
			return FALSE;
		G_GNUC_FALLTHROUGH;
	case GDK_KEY_Tab:
		choose(suggestions, gtk_single_selection_get_selected(suggestions->selection));
		return TRUE;
	case GDK_KEY_Escape:
		rs_viewer_suggestions_hide(suggestions);
		return TRUE;
	default:
		return FALSE;
	}
}

static void set_up_row(GtkSignalListItemFactory *factory, GtkListItem *item)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
	GtkWidget *text = gtk_label_new(NULL), *detail = gtk_label_new(NULL);

	gtk_label_set_xalign(GTK_LABEL(text), 0);
	gtk_widget_set_hexpand(text, TRUE);
	gtk_label_set_ellipsize(GTK_LABEL(text), PANGO_ELLIPSIZE_END);
	gtk_widget_add_css_class(detail, "dim-label");
	gtk_widget_add_css_class(detail, "caption");
	gtk_box_append(GTK_BOX(box), text);
	gtk_box_append(GTK_BOX(box), detail);
	gtk_list_item_set_child(item, box);
}

static void bind_row(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
	RsViewerSuggestions *suggestions = data;
	const guint at = gtk_list_item_get_position(item);
	GtkWidget *box = gtk_list_item_get_child(item), *text = gtk_widget_get_first_child(box);
	const RsViewerCandidate *candidate;

	if (!suggestions->completion || at >= suggestions->completion->candidates->len)
		return;
	candidate = suggestions->completion->candidates->pdata[at];
	gtk_label_set_text(GTK_LABEL(text), candidate->text);
	gtk_label_set_text(GTK_LABEL(gtk_widget_get_next_sibling(text)), candidate->detail);
}

static void dispose(GObject *object)
{
	RsViewerSuggestions *suggestions = RS_VIEWER_SUGGESTIONS(object);

	g_clear_pointer(&suggestions->completion, rs_viewer_completion_free);
	if (suggestions->popover)
		gtk_widget_unparent(GTK_WIDGET(g_steal_pointer(&suggestions->popover)));
	G_OBJECT_CLASS(rs_viewer_suggestions_parent_class)->dispose(object);
}

static void rs_viewer_suggestions_class_init(RsViewerSuggestionsClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
	chosen_signal =
		g_signal_new("chosen", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
			     NULL, G_TYPE_NONE, 3, G_TYPE_UINT, G_TYPE_UINT, G_TYPE_STRING);
}

static GtkWidget *make_list(RsViewerSuggestions *suggestions)
{
	GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
	GtkWidget *scrolled = gtk_scrolled_window_new();

	suggestions->texts = gtk_string_list_new(NULL);
	suggestions->selection = gtk_single_selection_new(G_LIST_MODEL(suggestions->texts));
	g_signal_connect(factory, "setup", G_CALLBACK(set_up_row), NULL);
	g_signal_connect(factory, "bind", G_CALLBACK(bind_row), suggestions);
	suggestions->list = GTK_LIST_VIEW(
		gtk_list_view_new(GTK_SELECTION_MODEL(suggestions->selection), factory));
	gtk_list_view_set_single_click_activate(suggestions->list, TRUE);
	g_signal_connect_swapped(suggestions->list, "activate", G_CALLBACK(choose), suggestions);
	gtk_accessible_update_property(GTK_ACCESSIBLE(suggestions->list),
				       GTK_ACCESSIBLE_PROPERTY_LABEL, _("Suggestions"), -1);
	gtk_widget_set_size_request(scrolled, WIDTH, -1);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), HEIGHT_MAX);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), GTK_WIDGET(suggestions->list));
	return scrolled;
}

static void rs_viewer_suggestions_init(RsViewerSuggestions *suggestions)
{
	gtk_widget_set_can_focus(GTK_WIDGET(suggestions), FALSE);
	suggestions->popover = GTK_POPOVER(gtk_popover_new());
	gtk_popover_set_autohide(suggestions->popover, FALSE);
	gtk_popover_set_has_arrow(suggestions->popover, FALSE);
	gtk_popover_set_position(suggestions->popover, GTK_POS_BOTTOM);
	gtk_widget_set_halign(GTK_WIDGET(suggestions->popover), GTK_ALIGN_START);
	gtk_widget_set_can_focus(GTK_WIDGET(suggestions->popover), FALSE);
	gtk_widget_add_css_class(GTK_WIDGET(suggestions->popover), "menu");
	gtk_popover_set_child(suggestions->popover, make_list(suggestions));
	gtk_widget_set_parent(GTK_WIDGET(suggestions->popover), GTK_WIDGET(suggestions));
}

RsViewerSuggestions *rs_viewer_suggestions_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_SUGGESTIONS, NULL);
}
