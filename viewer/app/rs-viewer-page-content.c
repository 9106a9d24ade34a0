/* SPDX-License-Identifier: MIT */
/* Which widgets a page has, and what they say to each other. */
#include "rs-viewer-page-private.h"

#include "app/rs-viewer-accels.h"
#include "app/rs-viewer-control.h"
#include "app/rs-viewer-figures.h"
#include "app/rs-viewer-remarks.h"
#include "app/rs-viewer-settings.h"
#include "app/rs-viewer-site.h"
#include "app/rs-viewer-summary.h"

#include <glib/gi18n.h>
#include <rs-trace-error.h>
#include <rs-trace-escape.h>
#include <string.h>

/* ---- the filter ---- */

gboolean rs_viewer_page_apply_filter(RsViewerPage *page, const char *text)
{
	g_autofree char *former = g_strdup(rs_trace_document_filter(page->document)[0]);
	const char *const filters[] = {text, NULL};
	g_autoptr(GError) error = NULL;

	if (rs_trace_document_set_filter(page->document, *text ? filters : NULL, &error)) {
		/* One that is applied again may have a mistake all the same. */
		if (g_strcmp0(former, text) != 0) {
			g_free(page->former_filter);
			page->former_filter = g_steal_pointer(&former);
		}
		rs_viewer_filter_entry_clear_error(page->filter);
		return TRUE;
	}
	rs_viewer_filter_entry_set_session_error(page->filter, error->message);
	return FALSE;
}

static void on_apply(RsViewerPage *page, const char *text)
{
	if (rs_viewer_page_apply_filter(page, text))
		gtk_widget_grab_focus(GTK_WIDGET(page->list));
}

/* The filter completes the fields of all events that have come. */
static void update_fields(RsViewerPage *page)
{
	RsTraceTimeline *timeline = rs_trace_document_all(page->document);
	g_autoptr(GString) formats = g_string_new(NULL);
	g_autoptr(GPtrArray) fields = NULL;
	const RsTraceTimelineClass *class;
	guint n = 0;

	rs_trace_timeline_lock(timeline);
	if (rs_trace_timeline_class(timeline, page->n_classes))
		for (; (class = rs_trace_timeline_class(timeline, n)); n++)
			if (class->format)
				g_string_append(formats, class->format);
	rs_trace_timeline_unlock(timeline);
	if (!n)
		return;
	page->n_classes = n;
	fields = rs_viewer_fields_parse(formats->str);
	rs_viewer_filter_entry_set_fields(page->filter, fields);
}

static gboolean has_focus(RsViewerPage *page, gpointer part)
{
	GtkRoot *root = gtk_widget_get_root(GTK_WIDGET(page));
	GtkWidget *focus = root ? gtk_root_get_focus(root) : NULL;

	return focus && (focus == part || gtk_widget_is_ancestor(focus, part));
}

/*
 * What a filter lacks is known only once records come. Then the former one comes back, as if the
 * mistake had been seen at once, and the focus is at the mistake unless the user went elsewhere.
 */
static void restore_filter(RsViewerPage *page, const GError *wrong)
{
	g_autoptr(GError) error = g_error_copy(wrong);
	g_autofree char *former = g_steal_pointer(&page->former_filter);
	g_autofree char *text = g_strdup(rs_trace_document_filter(page->document)[0]);
	g_autofree char *plain = NULL;

	rs_trace_document_set_filter(page->document,
				     former ? (const char *const[]){former, NULL} : NULL, NULL);
	/* What is being typed by now is another filter. */
	if (g_strcmp0(text, rs_viewer_filter_entry_text(page->filter)) != 0) {
		plain = rs_trace_escape(error->message, -1, "\n");
		rs_viewer_page_tell(page, plain);
		return;
	}
	rs_viewer_filter_entry_set_session_error(page->filter, error->message);
	if (has_focus(page, page->list))
		gtk_widget_grab_focus(GTK_WIDGET(page->filter));
	if (has_focus(page, page->filter))
		rs_viewer_filter_entry_go_to_error(page->filter);
}

static void check_filter(RsViewerPage *page)
{
	const GError *error = rs_trace_document_filter_error(page->document);

	if (g_error_matches(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION)) {
		restore_filter(page, error);
		return;
	}
	if (error)
		rs_viewer_filter_entry_set_session_error(page->filter, error->message);
	else if (page->filter_failed)
		rs_viewer_filter_entry_clear_error(page->filter);
	page->filter_failed = error != NULL;
}

static void on_filter_asked(RsViewerPage *page, const char *glob, const char *expression)
{
	g_autofree char *text = glob ? g_strconcat(glob, ":", NULL) : g_strdup(expression);

	rs_viewer_page_set_filter(page, text);
}

static void on_field_asked(RsViewerPage *page, const char *field)
{
	rs_viewer_list_add_field(page->list, field);
}

static GtkWidget *toggle(const char *icon, const char *label, const char *action)
{
	GtkWidget *button = gtk_toggle_button_new();

	gtk_button_set_icon_name(GTK_BUTTON(button), icon);
	rs_viewer_accels_set_tooltip(button, label, action);
	/* The filter gets higher if it has a mistake. */
	gtk_widget_set_valign(button, GTK_ALIGN_START);
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
				       -1);
	gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
	return button;
}

static GtkWidget *filter_row(RsViewerPage *page)
{
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);

	page->filter = RS_VIEWER_FILTER_ENTRY(rs_viewer_filter_entry_new(TRUE));
	rs_viewer_filter_entry_set_label(page->filter, _("Filter"));
	rs_viewer_filter_entry_set_placeholder(page->filter,
					       _("Filter: pid == 1 or sched:*: next_pid > 2"));
	gtk_widget_set_hexpand(GTK_WIDGET(page->filter), TRUE);
	gtk_widget_set_margin_start(row, 6);
	gtk_widget_set_margin_end(row, 6);
	gtk_widget_set_margin_top(row, 6);
	gtk_widget_set_margin_bottom(row, 6);
	gtk_box_append(GTK_BOX(row), GTK_WIDGET(page->filter));
	if (rs_trace_document_is_live(page->document))
		gtk_box_append(GTK_BOX(row), toggle("media-seek-forward-symbolic",
						    _("Follow the end"), "page.follow"));
	gtk_box_append(GTK_BOX(row),
		       toggle("sidebar-show-right-symbolic", _("Side pane"), "page.side"));
	g_signal_connect_object(page->filter, "apply", G_CALLBACK(on_apply), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(page->document, "grown", G_CALLBACK(check_filter), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(page->document, "grown", G_CALLBACK(update_fields), page,
				G_CONNECT_SWAPPED);
	return row;
}

/* ---- the main part ---- */

static void apply_time_style(RsViewerPage *page)
{
	const char *format = rs_viewer_settings_text(rs_viewer_settings_get(), "time-format");
	RsViewerTimeStyle style = g_strcmp0(format, RS_VIEWER_FORMAT_WALL) ? RS_VIEWER_TIME_SECONDS
									   : RS_VIEWER_TIME_WALL;

	rs_viewer_list_set_time_style(page->list, style);
	rs_viewer_details_set_time_style(page->details, style);
}

static GtkWidget *list_part(RsViewerPage *page)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *scrolled = gtk_scrolled_window_new();

	page->list = RS_VIEWER_LIST(rs_viewer_list_new(page->view));
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), GTK_WIDGET(page->list));
	g_signal_connect_object(page->list, "notice", G_CALLBACK(rs_viewer_page_tell), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(page->list, "filter-asked", G_CALLBACK(on_filter_asked), page,
				G_CONNECT_SWAPPED);
	page->find_bar = RS_VIEWER_FIND_BAR(rs_viewer_find_bar_new(page->list));
	gtk_widget_set_vexpand(scrolled, TRUE);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(page->find_bar));
	gtk_box_append(GTK_BOX(box), scrolled);
	return box;
}

static GtkWidget *main_part(RsViewerPage *page)
{
	GtkWidget *paned = gtk_paned_new(GTK_ORIENTATION_VERTICAL);

	page->timeline = RS_VIEWER_TIMELINE(rs_viewer_timeline_new(page->view));
	gtk_paned_set_start_child(GTK_PANED(paned), GTK_WIDGET(page->timeline));
	gtk_paned_set_end_child(GTK_PANED(paned), list_part(page));
	gtk_paned_set_shrink_start_child(GTK_PANED(paned), FALSE);
	gtk_paned_set_shrink_end_child(GTK_PANED(paned), FALSE);
	gtk_paned_set_position(GTK_PANED(paned), 380);
	gtk_widget_set_hexpand(paned, TRUE);
	return paned;
}

/* ---- the side ---- */

static GtkWidget *side_part(RsViewerPage *page)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
	GtkWidget *switcher = gtk_stack_switcher_new();

	page->side = GTK_STACK(gtk_stack_new());
	page->details = RS_VIEWER_DETAILS(rs_viewer_details_new(page->view));
	gtk_stack_add_titled(page->side, GTK_WIDGET(page->details), "details", _("Details"));
	rs_viewer_site_connect(page->details, page->document);
	g_signal_connect_object(page->details, "field-asked", G_CALLBACK(on_field_asked), page,
				G_CONNECT_SWAPPED);
	gtk_stack_add_titled(page->side, rs_viewer_figures_new(page->view), "figures",
			     _("Selection"));
	/* Who opens a session wants to choose what is recorded, before there is a record. */
	if (rs_trace_document_is_live(page->document)) {
		gtk_stack_add_titled(page->side, rs_viewer_control_new(page->document), "control",
				     _("Session"));
		gtk_stack_set_visible_child_name(page->side, "control");
	}
	gtk_stack_switcher_set_stack(GTK_STACK_SWITCHER(switcher), page->side);
	gtk_widget_set_margin_start(switcher, 6);
	gtk_widget_set_margin_end(switcher, 6);
	gtk_widget_set_vexpand(GTK_WIDGET(page->side), TRUE);
	gtk_box_append(GTK_BOX(box), switcher);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(page->side));
	gtk_widget_set_size_request(box, 340, -1);
	gtk_widget_add_css_class(box, "background");
	gtk_widget_set_hexpand(box, FALSE); /* whatever is in it */
	return box;
}

/* ---- actions ---- */

static void focus_filter(GSimpleAction *action, GVariant *parameter, gpointer page)
{
	gtk_widget_grab_focus(GTK_WIDGET(((RsViewerPage *)page)->filter));
}

static void find(GSimpleAction *action, GVariant *parameter, gpointer page)
{
	rs_viewer_find_bar_open(((RsViewerPage *)page)->find_bar);
}

static void find_next(GSimpleAction *action, GVariant *parameter, gpointer page)
{
	rs_viewer_find_bar_find(((RsViewerPage *)page)->find_bar, TRUE);
}

static void find_previous(GSimpleAction *action, GVariant *parameter, gpointer page)
{
	rs_viewer_find_bar_find(((RsViewerPage *)page)->find_bar, FALSE);
}

static void focus_list(GSimpleAction *action, GVariant *parameter, gpointer page)
{
	gtk_widget_grab_focus(GTK_WIDGET(((RsViewerPage *)page)->list));
}

static void focus_timeline(GSimpleAction *action, GVariant *parameter, gpointer page)
{
	rs_viewer_timeline_focus(((RsViewerPage *)page)->timeline);
}

static void change_follow(GSimpleAction *action, GVariant *state, gpointer page)
{
	rs_viewer_view_set_following(((RsViewerPage *)page)->view, g_variant_get_boolean(state));
}

static void on_following(RsViewerPage *page)
{
	GAction *action = g_action_map_lookup_action(G_ACTION_MAP(page->actions), "follow");

	g_simple_action_set_state(G_SIMPLE_ACTION(action),
				  g_variant_new_boolean(rs_viewer_view_following(page->view)));
}

static void add_actions(RsViewerPage *page)
{
	static const GActionEntry entries[] = {
		{.name = "filter", .activate = focus_filter},
		{.name = "find", .activate = find},
		{.name = "find-next", .activate = find_next},
		{.name = "find-previous", .activate = find_previous},
		{.name = "list", .activate = focus_list},
		{.name = "timeline", .activate = focus_timeline},
		{.name = "follow", .state = "false", .change_state = change_follow}};
	g_autoptr(GPropertyAction) side = g_property_action_new("side", page->flap, "reveal-flap");
	GAction *follow;

	g_action_map_add_action_entries(G_ACTION_MAP(page->actions), entries, G_N_ELEMENTS(entries),
					page);
	g_action_map_add_action(G_ACTION_MAP(page->actions), G_ACTION(side));
	follow = g_action_map_lookup_action(G_ACTION_MAP(page->actions), "follow");
	g_simple_action_set_enabled(G_SIMPLE_ACTION(follow),
				    rs_trace_document_is_live(page->document));
	g_signal_connect_object(page->view, "following", G_CALLBACK(on_following), page,
				G_CONNECT_SWAPPED);
	on_following(page);
	rs_viewer_page_add_export(page);
	rs_viewer_page_add_views(page);
}

void rs_viewer_page_fill(RsViewerPage *page)
{
	page->flap = ADW_FLAP(adw_flap_new());
	adw_flap_set_flap_position(page->flap, GTK_PACK_END);
	adw_flap_set_separator(page->flap, gtk_separator_new(GTK_ORIENTATION_VERTICAL));
	adw_flap_set_content(page->flap, main_part(page));
	adw_flap_set_flap(page->flap, side_part(page));
	gtk_widget_set_vexpand(GTK_WIDGET(page->flap), TRUE);
	gtk_box_append(page->content, rs_viewer_remarks_new(page->document));
	gtk_box_append(page->content, filter_row(page));
	gtk_box_append(page->content, rs_viewer_summary_new(page->view));
	gtk_box_append(page->content, GTK_WIDGET(page->flap));
	apply_time_style(page);
	g_signal_connect_object(rs_viewer_settings_get(), "notify::time-format",
				G_CALLBACK(apply_time_style), page, G_CONNECT_SWAPPED);
	add_actions(page);
}
