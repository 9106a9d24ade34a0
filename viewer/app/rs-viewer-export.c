/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-export.h"
#include "app/rs-viewer-time.h"

#include "document/rs-trace-document-export.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

typedef enum { STRETCH_ALL, STRETCH_MARKERS, STRETCH_RANGE } Stretch;

struct _RsViewerExport {
	AdwWindow parent;
	RsViewerView *view;
	char *title;
	GStrv filters;        /* those that the dialog shows */
	Stretch stretches[3]; /* what the rows of `stretch` mean */
	GtkFileChooserNative *chooser;
	GCancellable *cancellable; /* of the export that runs; NULL: none does */
	char *path;                /* to which it goes */

	GtkButton *cancel, *go;
	GtkRevealer *error_part;
	GtkLabel *error, *what, *figures;
	AdwPreferencesPage *options;
	GtkBox *running; /* it is shown, or the options are */
	GtkProgressBar *progress;
	AdwComboRow *format, *stretch;
	AdwActionRow *filter_row;
	GtkSwitch *filtered;
	AdwPreferencesGroup *columns_group, *slices_group;
	GtkEditable *columns, *slices, *counters;
};

G_DEFINE_FINAL_TYPE(RsViewerExport, rs_viewer_export, ADW_TYPE_WINDOW)

enum { EXPORTED, N_SIGNALS };
static guint signals[N_SIGNALS];

/* ---- what is shown ---- */

/* NULL: there is no error any more. */
static void show_error(RsViewerExport *self, const char *text)
{
	g_autofree char *plain = text ? rs_trace_escape(text, -1, "\n") : NULL;

	if (plain)
		gtk_label_set_text(self->error, plain);
	gtk_revealer_set_reveal_child(self->error_part, plain != NULL);
}

static void set_running(RsViewerExport *self, gboolean running)
{
	gtk_widget_set_visible(GTK_WIDGET(self->options), !running);
	gtk_widget_set_visible(GTK_WIDGET(self->running), running);
	gtk_widget_set_visible(GTK_WIDGET(self->go), !running);
	gtk_progress_bar_set_fraction(self->progress, 0);
	gtk_label_set_text(self->figures, "");
	if (running)
		gtk_widget_grab_focus(GTK_WIDGET(self->cancel));
}

static const RsTraceExportFormat *selected_format(RsViewerExport *self)
{
	return rs_trace_export_formats()[adw_combo_row_get_selected(self->format)];
}

static void on_format(RsViewerExport *self)
{
	const RsTraceExportFormat *format = selected_format(self);
	g_autofree char *markup = NULL;

	markup = g_markup_escape_text(_(format->summary), -1);
	adw_action_row_set_subtitle(ADW_ACTION_ROW(self->format), markup);
	gtk_widget_set_visible(GTK_WIDGET(self->columns_group), format->has_columns);
	gtk_widget_set_visible(GTK_WIDGET(self->slices_group), format->too_deep != NULL);
}

/* ---- the export ---- */

static void on_progress(const RsTraceDocumentExported *exported, gpointer data)
{
	RsViewerExport *self = data;
	g_autofree char *number = rs_viewer_number(exported->events);
	g_autofree char *size = g_format_size(exported->bytes);
	/* Translators: how many events, and the size of what is written */
	g_autofree char *text = g_strdup_printf(_("%s events, %s"), number, size);

	gtk_progress_bar_set_fraction(self->progress, exported->share);
	gtk_label_set_text(self->figures, text);
}

static char *shown_name(const char *path)
{
	g_autofree char *name = g_path_get_basename(path);
	g_autofree char *valid = g_filename_display_name(name);

	return rs_trace_escape(valid, -1, NULL);
}

/* What was written, and what is to be said of it. */
static char *describe(RsViewerExport *self, const RsTraceDocumentExportResult *got)
{
	g_autofree char *name = shown_name(self->path), *size = g_format_size(got->bytes);
	g_autofree char *events = rs_viewer_number(got->result.events);
	GString *text = g_string_new(NULL);

	/* Translators: a file's name, how many events, its size */
	g_string_append_printf(text, _("%s has %s events, %s"), name, events, size);
	if (got->missing[0]) {
		g_autofree char *missing = rs_trace_escape(got->missing[0], -1, NULL);

		g_string_append(text, "; ");
		g_string_append_printf(text, _("no event matches %s"), missing);
	}
	if (got->result.too_deep)
		g_string_append_printf(text, "; %" G_GUINT64_FORMAT " %s", got->result.too_deep,
				       _("slices are too deep to be drawn"));
	if (got->result.damage) {
		g_autofree char *damage = rs_trace_escape(got->result.damage->message, -1, NULL);

		g_string_append(text, "; ");
		g_string_append_printf(text, _("the rest cannot be read: %s"), damage);
	}
	return g_string_free(text, FALSE);
}

static void on_done(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerExport) self = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceDocumentExportResult) got =
		rs_trace_document_export_finish(result, &error);
	g_autofree char *text = NULL;

	g_clear_object(&self->cancellable);
	if (!self->view) /* the dialog is gone */
		return;
	if (got) {
		text = describe(self, got);
		g_signal_emit(self, signals[EXPORTED], 0, self->path, text);
		gtk_window_destroy(GTK_WINDOW(self));
		return;
	}
	set_running(self, FALSE);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		show_error(self, _("Cancelled: nothing was written"));
	else
		show_error(self, error->message);
}

/* Of words with spaces between them. To be freed. */
static GStrv words_of(GtkEditable *entry)
{
	g_auto(GStrv) parts = g_strsplit_set(gtk_editable_get_text(entry), " \t,", -1);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (char **part = parts; *part; part++)
		if (**part)
			g_strv_builder_add(builder, *part);
	return g_strv_builder_end(builder);
}

/* The moment of marker B counts. */
static void set_stretch(RsViewerExport *self, RsTraceDocumentExport *what)
{
	Stretch stretch = self->stretches[adw_combo_row_get_selected(self->stretch)];

	what->from = 0;
	what->until = G_MAXUINT64;
	if (stretch == STRETCH_RANGE) {
		rs_viewer_view_range(self->view, &what->from, &what->until);
	} else if (stretch == STRETCH_MARKERS &&
		   rs_viewer_view_selection(self->view, &what->from, &what->until)) {
		what->until += what->until < G_MAXUINT64;
	}
}

static void start(RsViewerExport *self)
{
	RsTraceDocument *document = rs_viewer_view_document(self->view);
	g_auto(GStrv) slices = words_of(self->slices), counters = words_of(self->counters);
	g_autofree char *columns = g_strstrip(g_strdup(gtk_editable_get_text(self->columns)));
	g_autofree char *name = shown_name(self->path), *text = NULL;
	RsTraceDocumentExport what = {
		.format = selected_format(self),
		.path = self->path,
		.replace = TRUE, /* the file chooser has asked */
		.slices = (const char *const *)slices,
		.counters = (const char *const *)counters,
		.columns = *columns ? columns : NULL,
	};

	set_stretch(self, &what);
	if (gtk_switch_get_active(self->filtered))
		what.filters = (const char *const *)self->filters;
	/* Translators: the name of a file that is being written */
	text = g_strdup_printf(_("Exporting %s"), name);
	gtk_label_set_text(self->what, text);
	show_error(self, NULL);
	set_running(self, TRUE);
	self->cancellable = g_cancellable_new();
	rs_trace_document_export_async(document, &what, self->cancellable, on_progress, on_done,
				       g_object_ref(self));
}

/* ---- where to ---- */

static void on_chosen(RsViewerExport *self, int response)
{
	g_autoptr(GtkFileChooserNative) chooser = g_steal_pointer(&self->chooser);
	g_autoptr(GFile) file = NULL;

	if (response != GTK_RESPONSE_ACCEPT)
		return;
	file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(chooser));
	g_free(self->path);
	self->path = file ? g_file_get_path(file) : NULL;
	if (self->path)
		start(self);
	else
		show_error(self, _("Only a folder of this computer can be written to."));
}

/* That of the trace, with the format's end in place of its own. */
static char *proposed_name(RsViewerExport *self)
{
	static const char *const own[] = {".rst", ".dat", ".trace"};
	g_autofree char *stem = g_strdelimit(g_strdup(self->title), G_DIR_SEPARATOR_S, '-');

	for (guint i = 0; i < G_N_ELEMENTS(own); i++)
		if (g_str_has_suffix(stem, own[i]) && strlen(stem) > strlen(own[i]))
			stem[strlen(stem) - strlen(own[i])] = '\0';
	return g_strconcat(*stem ? stem : "trace", selected_format(self)->suffix, NULL);
}

static void on_go(RsViewerExport *self)
{
	g_autofree char *name = proposed_name(self);

	if (self->chooser || self->cancellable)
		return;
	self->chooser = gtk_file_chooser_native_new(_("Export To"), GTK_WINDOW(self),
						    GTK_FILE_CHOOSER_ACTION_SAVE, _("_Export"),
						    _("_Cancel"));
	gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
	gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
	g_signal_connect_swapped(self->chooser, "response", G_CALLBACK(on_chosen), self);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

/* Ends the export, or if there is none, closes the dialog. */
static void on_cancel(RsViewerExport *self)
{
	if (self->cancellable)
		g_cancellable_cancel(self->cancellable);
	else
		gtk_window_close(GTK_WINDOW(self));
}

static void cancel(GtkWidget *widget, const char *name, GVariant *parameter)
{
	on_cancel(RS_VIEWER_EXPORT(widget));
}

/* ---- the object ---- */

static void fill_stretches(RsViewerExport *self)
{
	g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
	guint64 from, until;
	guint n = 0;

	gtk_string_list_append(names, _("The whole trace"));
	self->stretches[n++] = STRETCH_ALL;
	if (rs_viewer_view_selection(self->view, &from, &until)) {
		gtk_string_list_append(names, _("Between the markers"));
		self->stretches[n++] = STRETCH_MARKERS;
	}
	gtk_string_list_append(names, _("What the timeline shows"));
	self->stretches[n++] = STRETCH_RANGE;
	adw_combo_row_set_model(self->stretch, G_LIST_MODEL(names));
	/* Who has set both wants what is between them. */
	if (n == 3)
		adw_combo_row_set_selected(self->stretch, 1);
}

static void fill_filter(RsViewerExport *self)
{
	const char *const *filters = rs_trace_document_filter(rs_viewer_view_document(self->view));
	gboolean is_there = filters[0] != NULL;
	g_autofree char *joined = is_there ? g_strjoinv("\n", (char **)filters) : NULL;
	g_autofree char *plain = is_there ? rs_trace_escape(joined, -1, "\n") : NULL;
	g_autofree char *markup = g_markup_escape_text(plain ? plain : _("There is no filter"), -1);

	self->filters = g_strdupv((char **)filters);
	adw_action_row_set_subtitle(self->filter_row, markup);
	gtk_widget_set_sensitive(GTK_WIDGET(self->filter_row), is_there);
	gtk_switch_set_active(self->filtered, is_there);
}

RsViewerExport *rs_viewer_export_new(GtkWindow *parent, RsViewerView *view, const char *title)
{
	RsViewerExport *self = g_object_new(RS_VIEWER_TYPE_EXPORT, "transient-for", parent, NULL);

	self->view = g_object_ref(view);
	self->title = g_strdup(title);
	fill_stretches(self);
	fill_filter(self);
	return self;
}

static void dispose(GObject *object)
{
	RsViewerExport *self = RS_VIEWER_EXPORT(object);

	g_cancellable_cancel(self->cancellable);
	if (self->chooser)
		gtk_native_dialog_destroy(GTK_NATIVE_DIALOG(self->chooser));
	g_clear_object(&self->chooser);
	g_clear_object(&self->view);
	G_OBJECT_CLASS(rs_viewer_export_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerExport *self = RS_VIEWER_EXPORT(object);

	g_clear_object(&self->cancellable);
	g_strfreev(self->filters);
	g_free(self->title);
	g_free(self->path);
	G_OBJECT_CLASS(rs_viewer_export_parent_class)->finalize(object);
}

static void rs_viewer_export_class_init(RsViewerExportClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	signals[EXPORTED] =
		g_signal_new("exported", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
			     NULL, G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/export.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, RsViewerExport, name)
	BIND(cancel);
	BIND(go);
	BIND(error_part);
	BIND(error);
	BIND(what);
	BIND(figures);
	BIND(options);
	BIND(running);
	BIND(progress);
	BIND(format);
	BIND(stretch);
	BIND(filter_row);
	BIND(filtered);
	BIND(columns_group);
	BIND(slices_group);
	BIND(columns);
	BIND(slices);
	BIND(counters);
#undef BIND
	gtk_widget_class_bind_template_callback(widget_class, on_cancel);
	gtk_widget_class_bind_template_callback(widget_class, on_go);
	gtk_widget_class_bind_template_callback(widget_class, on_format);
	gtk_widget_class_install_action(widget_class, "export.cancel", NULL, cancel);
	gtk_widget_class_add_binding_action(widget_class, GDK_KEY_Escape, 0, "export.cancel", NULL);
}

static void rs_viewer_export_init(RsViewerExport *self)
{
	g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);

	gtk_widget_init_template(GTK_WIDGET(self));
	for (const RsTraceExportFormat *const *f = rs_trace_export_formats(); *f; f++)
		gtk_string_list_append(names, (*f)->name);
	adw_combo_row_set_model(self->format, G_LIST_MODEL(names));
	on_format(self);
}
