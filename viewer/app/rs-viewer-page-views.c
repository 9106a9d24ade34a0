/* SPDX-License-Identifier: MIT */
/*
 * A view as a file: what is shown of a trace, for another day or another person. A key file:
 *
 *	[view]
 *	version=1
 *	from=…, until=…, marker-a=…, marker-b=…   nanoseconds of the trace
 *	filter=…
 *	[timeline …], [list]                      lanes and columns, as those save them
 *
 * Trust: such a file may come from anybody. Each number is bounded where it is used, and a filter
 * is checked like one that was typed.
 */
#include "rs-viewer-page-private.h"

#include "app/rs-viewer-chooser.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

#define GROUP "view"
#define VERSION 1
#define SUFFIX ".ringview"
#define FILE_MAX (1u << 20) /* bytes */

/* ---- to a key file and back ---- */

static void save_marker(RsViewerPage *page, GKeyFile *file, RsViewerMarker which, const char *key)
{
	guint64 ns;

	if (rs_viewer_view_marker(page->view, which, &ns))
		g_key_file_set_uint64(file, GROUP, key, ns);
}

static GKeyFile *to_file(RsViewerPage *page)
{
	GKeyFile *file = g_key_file_new();
	const char *const *filters = rs_trace_document_filter(page->document);
	guint64 from, until;

	rs_viewer_view_range(page->view, &from, &until);
	g_key_file_set_integer(file, GROUP, "version", VERSION);
	g_key_file_set_uint64(file, GROUP, "from", from);
	g_key_file_set_uint64(file, GROUP, "until", until);
	save_marker(page, file, RS_VIEWER_MARKER_A, "marker-a");
	save_marker(page, file, RS_VIEWER_MARKER_B, "marker-b");
	/* What is shown, which is not always what was typed. */
	if (filters && filters[0])
		g_key_file_set_string(file, GROUP, "filter", filters[0]);
	rs_viewer_timeline_save(page->timeline, file);
	rs_viewer_list_save(page->list, file);
	return file;
}

static void load_marker(RsViewerPage *page, GKeyFile *file, RsViewerMarker which, const char *key)
{
	if (g_key_file_has_key(file, GROUP, key, NULL))
		rs_viewer_view_set_marker(page->view, which,
					  g_key_file_get_uint64(file, GROUP, key, NULL));
	else
		rs_viewer_view_clear_marker(page->view, which);
}

static gboolean from_file(RsViewerPage *page, GKeyFile *file, GError **error)
{
	g_autofree char *filter = g_key_file_get_string(file, GROUP, "filter", NULL);
	int version = g_key_file_get_integer(file, GROUP, "version", NULL);

	if (version != VERSION) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
				    version > VERSION ? _("it is of a later version")
						      : _("it is no view of a trace"));
		return FALSE;
	}
	rs_viewer_timeline_load(page->timeline, file);
	rs_viewer_list_load(page->list, file);
	rs_viewer_page_set_filter(page, filter ? filter : "");
	load_marker(page, file, RS_VIEWER_MARKER_A, "marker-a");
	load_marker(page, file, RS_VIEWER_MARKER_B, "marker-b");
	rs_viewer_view_set_range(page->view, g_key_file_get_uint64(file, GROUP, "from", NULL),
				 g_key_file_get_uint64(file, GROUP, "until", NULL));
	return TRUE;
}

/* ---- files ---- */

static void fail(RsViewerPage *page, const char *what, const GError *error)
{
	g_autofree char *text = g_strdup_printf("%s: %s", what, error->message);

	if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		rs_viewer_page_tell(page, text);
}

static void on_saved(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerPage) page = data;
	g_autoptr(GError) error = NULL;

	if (g_file_replace_contents_finish(G_FILE(object), result, NULL, &error))
		rs_viewer_page_tell(page, _("The view was saved"));
	else
		fail(page, _("The view could not be saved"), error);
}

static void on_save_chosen(GtkNativeDialog *dialog, int response, RsViewerPage *page)
{
	g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
	g_autoptr(GKeyFile) keys = NULL;
	g_autoptr(GBytes) bytes = NULL;
	char *text;
	gsize size;

	if (response == GTK_RESPONSE_ACCEPT && file) {
		keys = to_file(page);
		text = g_key_file_to_data(keys, &size, NULL);
		bytes = g_bytes_new_take(text, size);
		g_file_replace_contents_bytes_async(file, bytes, NULL, FALSE, G_FILE_CREATE_NONE,
						    NULL, on_saved, g_object_ref(page));
	}
}

/* It may be any file, also one without an end. */
static gboolean wants_more(const char *text, goffset size, gpointer data)
{
	return size <= FILE_MAX;
}

/* FALSE: it cannot be read, or is no view, and nothing has changed. */
static gboolean load(RsViewerPage *page, GFile *from, GAsyncResult *result, GError **error)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *text = NULL;
	gsize size;

	if (!g_file_load_partial_contents_finish(from, result, &text, &size, NULL, error))
		return FALSE;
	if (size > FILE_MAX) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
				    _("it is too long for a view of a trace"));
		return FALSE;
	}
	return g_key_file_load_from_data(file, text, size, G_KEY_FILE_NONE, error) &&
	       from_file(page, file, error);
}

static void on_loaded(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerPage) page = data;
	g_autoptr(GError) error = NULL;

	if (!load(page, G_FILE(object), result, &error))
		fail(page, _("The view could not be opened"), error);
}

static void on_open_chosen(GtkNativeDialog *dialog, int response, RsViewerPage *page)
{
	g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));

	if (response == GTK_RESPONSE_ACCEPT && file)
		g_file_load_partial_contents_async(file, NULL, wants_more, on_loaded,
						   g_object_ref(page));
}

/* ---- actions ---- */

static GtkFileChooserNative *chooser_new(RsViewerPage *page, const char *title,
					 GtkFileChooserAction action, GCallback chosen)
{
	GtkWindow *window = GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(page)));
	GtkFileChooserNative *dialog =
		gtk_file_chooser_native_new(title, window, action, NULL, NULL);
	g_autoptr(GtkFileFilter) filter = gtk_file_filter_new();

	gtk_file_filter_set_name(filter, _("Views of traces"));
	gtk_file_filter_add_pattern(filter, "*" SUFFIX);
	gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(dialog), filter);
	gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
	g_signal_connect_object(dialog, "response", chosen, page, 0);
	return dialog;
}

static void save_view(GSimpleAction *action, GVariant *parameter, gpointer data)
{
	RsViewerPage *page = data;
	GtkFileChooserNative *dialog = chooser_new(
		page, _("Save the View"), GTK_FILE_CHOOSER_ACTION_SAVE, G_CALLBACK(on_save_chosen));
	g_autofree char *name = g_strconcat(page->title, SUFFIX, NULL);

	g_strdelimit(name, G_DIR_SEPARATOR_S, '-');
	gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), name);
	rs_viewer_chooser_show(dialog, page);
}

static void open_view(GSimpleAction *action, GVariant *parameter, gpointer data)
{
	rs_viewer_chooser_show(chooser_new(data, _("Open a View"), GTK_FILE_CHOOSER_ACTION_OPEN,
					   G_CALLBACK(on_open_chosen)),
			       data);
}

void rs_viewer_page_add_views(RsViewerPage *page)
{
	static const GActionEntry entries[] = {{.name = "save-view", .activate = save_view},
					       {.name = "open-view", .activate = open_view}};

	g_action_map_add_action_entries(G_ACTION_MAP(page->actions), entries, G_N_ELEMENTS(entries),
					page);
}
