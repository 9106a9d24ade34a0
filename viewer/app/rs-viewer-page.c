/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-page.h"

#include <glib/gi18n.h>
#include <rs-trace-client.h>
#include <rs-trace-escape.h>
#include <rs-trace-reader.h>

struct _RsViewerPage {
	AdwBin parent;
	GSimpleActionGroup *actions;
	GCancellable *cancellable;
	GtkWidget *waiting; /* one of the three is shown */
	AdwStatusPage *content, *error;
	char *title;
	gboolean loading;
};

G_DEFINE_FINAL_TYPE(RsViewerPage, rs_viewer_page, ADW_TYPE_BIN)

enum { PROP_TITLE = 1, PROP_LOADING, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

/* ---- opening ---- */

struct wish {
	GStrv paths; /* or … */
	char *session;
};

static void free_wish(gpointer data)
{
	struct wish *wish = data;

	g_strfreev(wish->paths);
	g_free(wish->session);
	g_free(wish);
}

static void open_wish(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const struct wish *wish = data;
	GError *error = NULL;

	if (wish->session) {
		g_autoptr(RsDBusSession1) session = rs_trace_client_connect(wish->session, &error);
	}
	for (char **path = wish->paths; path && *path && !error; path++) {
		g_autoptr(RsTraceReader) reader = rs_trace_reader_open(*path, cancellable, &error);
		g_autofree char *name = g_path_get_basename(*path);

		if (!reader)
			g_prefix_error(&error, "%s: ", name);
	}
	if (error)
		g_task_return_error(task, error);
	else
		g_task_return_boolean(task, TRUE);
}

static void opened(GObject *object, GAsyncResult *result, gpointer data)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);
	g_autoptr(GError) error = NULL;

	g_task_propagate_boolean(G_TASK(result), &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	page->loading = FALSE;
	g_object_notify_by_pspec(object, properties[PROP_LOADING]);
	if (error) {
		g_autofree char *text = rs_trace_escape(error->message, -1, "\n");
		g_autofree char *markup = g_markup_escape_text(text, -1);

		adw_status_page_set_description(page->error, markup);
	}
	gtk_widget_set_visible(page->waiting, FALSE);
	gtk_widget_set_visible(GTK_WIDGET(error ? page->error : page->content), TRUE);
}

static GtkWidget *begin(struct wish *wish, char *title)
{
	RsViewerPage *page = g_object_new(RS_VIEWER_TYPE_PAGE, NULL);
	g_autoptr(GTask) task = g_task_new(page, page->cancellable, opened, NULL);
	g_autofree char *markup = g_markup_escape_text(title, -1);

	page->title = title;
	adw_status_page_set_title(page->content, markup);
	g_task_set_task_data(task, wish, free_wish);
	g_task_run_in_thread(task, open_wish);
	return GTK_WIDGET(page);
}

GtkWidget *rs_viewer_page_new(const char *const *paths)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_auto(GStrv) list = NULL;
	struct wish *wish = g_new0(struct wish, 1);

	for (const char *const *path = paths; *path; path++) {
		g_autofree char *base = g_path_get_basename(*path);
		g_autofree char *name = rs_trace_escape(base, -1, NULL);

		g_strv_builder_add(names, name);
	}
	list = g_strv_builder_end(names);
	wish->paths = g_strdupv((char **)paths);
	return begin(wish, g_strjoinv(", ", list));
}

GtkWidget *rs_viewer_page_new_live(const char *session)
{
	struct wish *wish = g_new0(struct wish, 1);

	wish->session = g_strdup(session);
	return begin(wish, rs_trace_escape(session, -1, NULL));
}

void rs_viewer_page_close(RsViewerPage *page)
{
	g_cancellable_cancel(page->cancellable);
}

GActionGroup *rs_viewer_page_actions(RsViewerPage *page)
{
	return G_ACTION_GROUP(page->actions);
}

/* ---- the object ---- */

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);

	if (id == PROP_TITLE)
		g_value_set_string(value, page->title);
	else
		g_value_set_boolean(value, page->loading);
}

static void dispose(GObject *object)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);

	g_cancellable_cancel(page->cancellable);
	g_clear_object(&page->cancellable);
	g_clear_object(&page->actions);
	G_OBJECT_CLASS(rs_viewer_page_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_PAGE(object)->title);
	G_OBJECT_CLASS(rs_viewer_page_parent_class)->finalize(object);
}

static void rs_viewer_page_class_init(RsViewerPageClass *class)
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
						    "/org/ringside/Viewer/ui/page.ui");
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, waiting);
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, content);
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, error);
}

static void rs_viewer_page_init(RsViewerPage *page)
{
	page->loading = TRUE;
	page->cancellable = g_cancellable_new();
	page->actions = g_simple_action_group_new();
	gtk_widget_init_template(GTK_WIDGET(page));
}
