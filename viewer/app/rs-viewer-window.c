/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-window.h"

#include "app/rs-viewer-accels.h"
#include "app/rs-viewer-chooser.h"
#include "app/rs-viewer-compare.h"
#include "app/rs-viewer-page.h"
#include "app/rs-viewer-settings.h"
#include "app/rs-viewer-start.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

#define TRACE_TYPE "application/x-ringside-trace"

struct _RsViewerWindow {
	AdwApplicationWindow parent;
	AdwToastOverlay *toasts;
	AdwWindowTitle *title;
	GtkWidget *open, *home;
	GtkMenuButton *menu;
	AdwTabView *tabs;
	GtkWidget *start; /* it is shown, or the tabs are */
};

G_DEFINE_FINAL_TYPE(RsViewerWindow, rs_viewer_window, ADW_TYPE_APPLICATION_WINDOW)

/* ---- what is shown ---- */

static RsViewerPage *selected(RsViewerWindow *window)
{
	AdwTabPage *tab = adw_tab_view_get_selected_page(window->tabs);
	GtkWidget *child = tab ? adw_tab_page_get_child(tab) : NULL;

	if (child && RS_VIEWER_IS_COMPARE(child))
		return rs_viewer_compare_page(RS_VIEWER_COMPARE(child));
	return child ? RS_VIEWER_PAGE(child) : NULL;
}

static void show_start(RsViewerWindow *window, gboolean start)
{
	GAction *action = g_action_map_lookup_action(G_ACTION_MAP(window), "start");
	gboolean empty = adw_tab_view_get_n_pages(window->tabs) == 0;

	start |= empty;
	g_simple_action_set_state(G_SIMPLE_ACTION(action), g_variant_new_boolean(start));
	g_simple_action_set_enabled(G_SIMPLE_ACTION(action), !empty);
	gtk_widget_set_visible(window->start, start);
}

/* The title, and the actions of the page that is shown. */
static void refresh(RsViewerWindow *window)
{
	AdwTabPage *tab = adw_tab_view_get_selected_page(window->tabs);
	RsViewerPage *page = selected(window);
	gboolean start = gtk_widget_get_visible(window->start);
	const char *title = tab && !start ? adw_tab_page_get_title(tab) : "";
	g_autofree char *whole = *title ? g_strdup_printf("%s — %s", title, _("Ringside Viewer"))
					: g_strdup(_("Ringside Viewer"));

	gtk_window_set_title(GTK_WINDOW(window), whole);
	adw_window_title_set_title(window->title, *title ? title : _("Ringside Viewer"));
	gtk_widget_insert_action_group(GTK_WIDGET(window), "page",
				       page && !start ? rs_viewer_page_actions(page) : NULL);
	gtk_widget_action_set_enabled(
		GTK_WIDGET(window), "win.compare",
		page && !start && rs_trace_document_paths(rs_viewer_page_document(page)));
}

/* The widget that has the focus may be in a page that is gone: then no key would reach anybody. */
static gboolean keep_focus(gpointer data)
{
	RsViewerWindow *window = data;
	GtkWidget *focus = gtk_window_get_focus(GTK_WINDOW(window));

	if (focus && gtk_widget_get_root(focus) != GTK_ROOT(window))
		gtk_window_set_focus(GTK_WINDOW(window), NULL);
	return G_SOURCE_REMOVE;
}

/* A page is counted out before it goes. */
static void page_count_changed(RsViewerWindow *window)
{
	g_idle_add_full(G_PRIORITY_DEFAULT, keep_focus, g_object_ref(window), g_object_unref);
	show_start(window, FALSE);
	refresh(window);
}

/* ---- tabs ---- */

/* A tooltip is markup, and a title is not. */
static gboolean escape_title(GBinding *binding, const GValue *from, GValue *to, gpointer data)
{
	const char *title = g_value_get_string(from);

	g_value_take_string(to, g_markup_escape_text(title ? title : "", -1));
	return TRUE;
}

/* Of a child, which may be in another window by now, or in none. */
static void title_changed(GtkWidget *child)
{
	GtkRoot *root = gtk_widget_get_root(child);

	if (root && RS_VIEWER_IS_WINDOW(root))
		refresh(RS_VIEWER_WINDOW(root));
}

/* A page, or two that are compared. */
static void add(RsViewerWindow *window, GtkWidget *child)
{
	AdwTabPage *tab = adw_tab_view_append(window->tabs, child);

	g_object_bind_property(child, "loading", tab, "loading", G_BINDING_SYNC_CREATE);
	g_object_bind_property(child, "title", tab, "title", G_BINDING_SYNC_CREATE);
	g_object_bind_property_full(tab, "title", tab, "tooltip", G_BINDING_SYNC_CREATE,
				    escape_title, NULL, NULL, NULL);
	/* Also if another side of those that are compared has the focus. */
	g_signal_connect(child, "notify::title", G_CALLBACK(title_changed), NULL);
	adw_tab_view_set_selected_page(window->tabs, tab);
	show_start(window, FALSE);
	refresh(window);
	gtk_widget_grab_focus(child);
}

static void remember(const char *path)
{
	g_autofree char *uri = g_filename_to_uri(path, NULL, NULL);
	GtkRecentData data = {
		.mime_type = (char *)TRACE_TYPE,
		.app_name = (char *)"Ringside Viewer",
		.app_exec = (char *)"ringside-viewer %f",
	};

	if (uri)
		gtk_recent_manager_add_full(gtk_recent_manager_get_default(), uri, &data);
}

void rs_viewer_window_open(RsViewerWindow *window, const char *const *paths)
{
	GtkWidget *page;

	g_return_if_fail(paths && paths[0]);
	page = rs_viewer_page_new(paths);
	for (; *paths; paths++)
		remember(*paths);
	add(window, page);
}

void rs_viewer_window_open_session(RsViewerWindow *window, const char *session)
{
	GtkWidget *page = rs_viewer_page_new_live(session);

	add(window, page);
}

void rs_viewer_window_compare(RsViewerWindow *window, const char *const *first,
			      const char *const *second)
{
	GtkWidget *both = rs_viewer_compare_new(first, second);

	for (; *first; first++)
		remember(*first);
	for (; *second; second++)
		remember(*second);
	add(window, both);
}

static gboolean close_page(AdwTabView *tabs, AdwTabPage *tab, RsViewerWindow *window)
{
	GtkWidget *child = adw_tab_page_get_child(tab);

	if (RS_VIEWER_IS_COMPARE(child))
		rs_viewer_compare_close(RS_VIEWER_COMPARE(child));
	else
		rs_viewer_page_close(RS_VIEWER_PAGE(child));
	adw_tab_view_close_page_finish(tabs, tab, TRUE);
	return GDK_EVENT_STOP;
}

/* A tab was dragged out. */
static AdwTabView *create_window(AdwTabView *tabs, RsViewerWindow *window)
{
	GtkApplication *application = gtk_window_get_application(GTK_WINDOW(window));
	RsViewerWindow *other = rs_viewer_window_new(application);

	gtk_window_present(GTK_WINDOW(other));
	return other->tabs;
}

void rs_viewer_window_say(RsViewerWindow *window, const char *text)
{
	g_autofree char *plain = rs_trace_escape(text, -1, NULL);
	g_autofree char *markup = g_markup_escape_text(plain, -1);

	adw_toast_overlay_add_toast(window->toasts, adw_toast_new(markup));
}

/* ---- files ---- */

/* Paths of files of this computer, to be freed. */
static GStrv paths_of(RsViewerWindow *window, GListModel *files)
{
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (guint i = 0; i < g_list_model_get_n_items(files); i++) {
		g_autoptr(GFile) file = g_list_model_get_item(files, i);
		g_autofree char *path = g_file_get_path(file);

		if (path)
			g_strv_builder_add(builder, path);
		else
			rs_viewer_window_say(window,
					     _("Only files of this computer can be opened"));
	}
	return g_strv_builder_end(builder);
}

static void open_files(RsViewerWindow *window, GListModel *files)
{
	g_auto(GStrv) paths = paths_of(window, files);

	if (*paths)
		rs_viewer_window_open(window, (const char *const *)paths);
}

static void chosen(GtkNativeDialog *dialog, int response, RsViewerWindow *window)
{
	if (response == GTK_RESPONSE_ACCEPT) {
		g_autoptr(GListModel) files = gtk_file_chooser_get_files(GTK_FILE_CHOOSER(dialog));

		open_files(window, files);
	}
}

static void add_filter(GtkFileChooser *chooser, const char *name, const char *const *patterns)
{
	g_autoptr(GtkFileFilter) filter = gtk_file_filter_new();

	gtk_file_filter_set_name(filter, name);
	for (; *patterns; patterns++)
		if (strchr(*patterns, '/'))
			gtk_file_filter_add_mime_type(filter, *patterns);
		else
			gtk_file_filter_add_pattern(filter, *patterns);
	gtk_file_chooser_add_filter(chooser, filter);
}

static void choose(RsViewerWindow *window, const char *title, const char *accept,
		   void (*then)(GtkNativeDialog *dialog, int response, RsViewerWindow *window))
{
	GtkFileChooserNative *dialog = gtk_file_chooser_native_new(
		title, GTK_WINDOW(window), GTK_FILE_CHOOSER_ACTION_OPEN, accept, NULL);

	gtk_file_chooser_set_select_multiple(GTK_FILE_CHOOSER(dialog), TRUE);
	add_filter(GTK_FILE_CHOOSER(dialog), _("Traces"),
		   (const char *[]){TRACE_TYPE, "*.rst", "*.dat", NULL});
	add_filter(GTK_FILE_CHOOSER(dialog), _("All Files"), (const char *[]){"*", NULL});
	gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
	g_signal_connect_object(dialog, "response", G_CALLBACK(then), window, 0);
	rs_viewer_chooser_show(dialog, window);
}

static void choose_files(GtkWidget *widget, const char *name, GVariant *parameter)
{
	choose(RS_VIEWER_WINDOW(widget), _("Open Traces"), _("_Open"), chosen);
}

/* What is shown, and what was chosen. It may be that nothing is shown any more. */
static void compare_chosen(GtkNativeDialog *dialog, int response, RsViewerWindow *window)
{
	RsViewerPage *page = selected(window);
	const char *const *first =
		page ? rs_trace_document_paths(rs_viewer_page_document(page)) : NULL;

	if (response == GTK_RESPONSE_ACCEPT && first) {
		g_autoptr(GListModel) files = gtk_file_chooser_get_files(GTK_FILE_CHOOSER(dialog));
		g_auto(GStrv) second = paths_of(window, files);

		if (*second)
			rs_viewer_window_compare(window, first, (const char *const *)second);
	}
}

static void choose_compared(GtkWidget *widget, const char *name, GVariant *parameter)
{
	choose(RS_VIEWER_WINDOW(widget), _("Compare With"), _("_Compare"), compare_chosen);
}

static gboolean dropped(GtkDropTarget *target, const GValue *value, double x, double y,
			RsViewerWindow *window)
{
	g_autoptr(GListStore) files = g_list_store_new(G_TYPE_FILE);
	GSList *list = g_value_get_boxed(value);

	for (; list; list = list->next)
		g_list_store_append(files, list->data);
	open_files(window, G_LIST_MODEL(files));
	return TRUE;
}

/* ---- actions ---- */

static void close_tab(GtkWidget *widget, const char *name, GVariant *parameter)
{
	RsViewerWindow *window = RS_VIEWER_WINDOW(widget);
	AdwTabPage *tab = adw_tab_view_get_selected_page(window->tabs);

	if (tab && !gtk_widget_get_visible(window->start))
		adw_tab_view_close_page(window->tabs, tab);
	else
		gtk_window_close(GTK_WINDOW(window));
}

static void pop_up_menu(GtkWidget *widget, const char *name, GVariant *parameter)
{
	gtk_menu_button_popup(RS_VIEWER_WINDOW(widget)->menu);
}

static void change_start(GSimpleAction *action, GVariant *state, gpointer data)
{
	show_start(data, g_variant_get_boolean(state));
	refresh(data);
}

static void session_chosen(RsViewerWindow *window, const char *name)
{
	rs_viewer_window_open_session(window, name);
}

static void file_chosen(RsViewerWindow *window, const char *path)
{
	rs_viewer_window_open(window, (const char *[]){path, NULL});
}

/* ---- the object ---- */

static gboolean close_request(GtkWindow *widget)
{
	RsViewerSettings *settings = rs_viewer_settings_get();
	int width, height;

	gtk_window_get_default_size(widget, &width, &height);
	g_object_set(settings, "window-maximized", gtk_window_is_maximized(widget), NULL);
	if (!gtk_window_is_maximized(widget) && !gtk_window_is_fullscreen(widget))
		g_object_set(settings, "window-width", width, "window-height", height, NULL);
	return GTK_WINDOW_CLASS(rs_viewer_window_parent_class)->close_request(widget);
}

static void rs_viewer_window_class_init(RsViewerWindowClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	GTK_WINDOW_CLASS(class)->close_request = close_request;
	g_type_ensure(RS_VIEWER_TYPE_START);
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/window.ui");
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, toasts);
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, title);
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, open);
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, home);
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, menu);
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, tabs);
	gtk_widget_class_bind_template_child(widget_class, RsViewerWindow, start);
	gtk_widget_class_bind_template_callback(widget_class, close_page);
	gtk_widget_class_bind_template_callback(widget_class, create_window);
	gtk_widget_class_bind_template_callback(widget_class, page_count_changed);
	gtk_widget_class_bind_template_callback(widget_class, refresh);
	gtk_widget_class_bind_template_callback(widget_class, session_chosen);
	gtk_widget_class_bind_template_callback(widget_class, file_chosen);
	gtk_widget_class_bind_template_callback(widget_class, rs_viewer_window_say);
	gtk_widget_class_install_action(widget_class, "win.open", NULL, choose_files);
	gtk_widget_class_install_action(widget_class, "win.compare", NULL, choose_compared);
	gtk_widget_class_install_action(widget_class, "win.close-tab", NULL, close_tab);
	gtk_widget_class_install_action(widget_class, "win.menu", NULL, pop_up_menu);
	gtk_widget_class_install_property_action(widget_class, "win.fullscreen", "fullscreened");
}

static void rs_viewer_window_init(RsViewerWindow *window)
{
	RsViewerSettings *settings = rs_viewer_settings_get();
	GtkDropTarget *target = gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
	const GActionEntry actions[] = {{"start", NULL, NULL, "true", change_start}};

	g_action_map_add_action_entries(G_ACTION_MAP(window), actions, G_N_ELEMENTS(actions),
					window);
	gtk_widget_init_template(GTK_WIDGET(window));
	rs_viewer_accels_set_tooltip(window->open, _("Open trace files"), "win.open");
	rs_viewer_accels_set_tooltip(window->home, _("Start page"), "win.start");
	rs_viewer_accels_set_tooltip(GTK_WIDGET(window->menu), _("Main menu"), "win.menu");
	gtk_window_set_default_size(GTK_WINDOW(window),
				    rs_viewer_settings_number(settings, "window-width"),
				    rs_viewer_settings_number(settings, "window-height"));
	if (rs_viewer_settings_flag(settings, "window-maximized"))
		gtk_window_maximize(GTK_WINDOW(window));
	g_signal_connect(target, "drop", G_CALLBACK(dropped), window);
	gtk_widget_add_controller(GTK_WIDGET(window), GTK_EVENT_CONTROLLER(target));
	show_start(window, TRUE);
	refresh(window);
}

RsViewerWindow *rs_viewer_window_new(GtkApplication *application)
{
	return g_object_new(RS_VIEWER_TYPE_WINDOW, "application", application, NULL);
}
