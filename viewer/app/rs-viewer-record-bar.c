/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-record-bar.h"

#include "app/rs-viewer-events.h"
#include "app/rs-viewer-recording.h"
#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <string.h>

struct _RsViewerRecordBar {
	AdwBin parent;
	RsDBusSession1 *session;
	GCancellable *cancellable;
	char *name;
	GtkWidget *record, *snapshot, *pause;
	GtkRevealer *revealer;
	GtkLabel *progress;
	GtkWidget *stop;
	GtkFileChooserNative *chooser;
	RsViewerRecording *recording; /* that is under way; NULL: none is */
	GPtrArray *snapshots;         /* likewise, of RsViewerRecording */
	gboolean paused;
	gboolean asking, wanted; /* that it be paused, while that is asked for */
};

G_DEFINE_FINAL_TYPE(RsViewerRecordBar, rs_viewer_record_bar, ADW_TYPE_BIN)

enum { SAID, WRITTEN, N_SIGNALS };
static guint signals[N_SIGNALS];

static void say(RsViewerRecordBar *bar, const char *text, gboolean failed)
{
	g_signal_emit(bar, signals[SAID], 0, text, failed);
}

static void show_state(RsViewerRecordBar *bar)
{
	g_autofree char *command = rs_viewer_recording_command();
	const gboolean can = bar->session && command;
	const char *why =
		command ? NULL : _("The command “ringside”, which records, is not installed");

	gtk_widget_set_sensitive(bar->record, can && !bar->recording);
	gtk_widget_set_sensitive(bar->snapshot, can);
	gtk_widget_set_sensitive(bar->pause, bar->session && !bar->asking);
	gtk_widget_set_tooltip_text(bar->record,
				    why ? why : _("Record to a file what comes from now on"));
	gtk_widget_set_tooltip_text(bar->snapshot, why ? why : _("Keep what the rings hold now"));
	gtk_button_set_label(GTK_BUTTON(bar->pause), bar->paused ? _("Resume") : _("Pause"));
	gtk_widget_set_tooltip_text(bar->pause, bar->paused ? _("Let the guest go on")
							    : _("Let the guest rest"));
	gtk_revealer_set_reveal_child(bar->revealer, bar->recording != NULL);
}

/* ---- recordings ---- */

/* The file's name as people see it. To be freed. */
static char *name_of(RsViewerRecording *recording)
{
	g_autofree char *base = g_path_get_basename(rs_viewer_recording_path(recording));

	return rs_trace_escape(base, -1, NULL);
}

static void show_progress(RsViewerRecordBar *bar)
{
	g_autofree char *name = name_of(bar->recording), *text = NULL;
	g_autofree char *size = g_format_size(rs_viewer_recording_size(bar->recording));
	const guint64 s = rs_viewer_recording_us(bar->recording) / G_USEC_PER_SEC;

	text = g_strdup_printf("%s\n%s · %" G_GUINT64_FORMAT ":%02" G_GUINT64_FORMAT, name, size,
			       s / 60, s % 60);
	gtk_label_set_text(bar->progress, text);
}

static void tell_end(RsViewerRecordBar *bar, RsViewerRecording *recording)
{
	g_autofree char *name = name_of(recording), *text = NULL, *count = NULL;
	g_autofree char *size = g_format_size(rs_viewer_recording_size(recording));
	g_autoptr(GError) error = NULL;
	guint64 events, lost;

	if (!rs_viewer_recording_result(recording, &events, &lost, &error)) {
		say(bar, error->message, TRUE);
		return;
	}
	count = rs_viewer_number(events);
	/* Translators: a file's name, a number of events, the file's size */
	text = g_strdup_printf(
		ngettext("%s has %s event (%s)", "%s has %s events (%s)", (gulong)events), name,
		count, size);
	if (lost) {
		g_autofree char *n_lost = rs_viewer_number(lost);
		g_autofree char *gap = g_strdup_printf(
			ngettext("%s was lost", "%s were lost", (gulong)lost), n_lost);
		g_autofree char *both =
			/* Translators: what a recording has; what it lost */
			g_strdup_printf(C_("recording", "%s; %s"), text, gap);

		say(bar, both, FALSE);
	} else {
		say(bar, text, FALSE);
	}
	g_signal_emit(bar, signals[WRITTEN], 0, rs_viewer_recording_path(recording));
}

static void ended(RsViewerRecordBar *bar, RsViewerRecording *recording)
{
	g_autoptr(RsViewerRecording) kept = g_object_ref(recording);

	g_signal_handlers_disconnect_by_data(recording, bar);
	if (recording == bar->recording)
		g_clear_object(&bar->recording);
	else
		g_ptr_array_remove_fast(bar->snapshots, recording);
	show_state(bar);
	tell_end(bar, kept);
}

void rs_viewer_record_bar_record(RsViewerRecordBar *bar, const char *path, gboolean snapshot)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsViewerRecording) recording = NULL;

	if (!bar->session || (!snapshot && bar->recording))
		return;
	recording = rs_viewer_recording_new(bar->name, path, snapshot, &error);
	if (!recording) {
		g_autofree char *text = rs_trace_escape(error->message, -1, NULL);

		say(bar, text, TRUE);
		return;
	}
	g_signal_connect_swapped(recording, "ended", G_CALLBACK(ended), bar);
	if (snapshot) {
		g_ptr_array_add(bar->snapshots, g_steal_pointer(&recording));
		return;
	}
	g_signal_connect_swapped(recording, "progress", G_CALLBACK(show_progress), bar);
	bar->recording = g_steal_pointer(&recording);
	show_progress(bar);
	show_state(bar);
}

static void stop_clicked(RsViewerRecordBar *bar)
{
	if (bar->recording)
		rs_viewer_recording_stop(bar->recording);
}

/* ---- where to ---- */

static void chosen(RsViewerRecordBar *bar, int response)
{
	g_autoptr(GtkFileChooserNative) chooser = g_steal_pointer(&bar->chooser);
	g_autoptr(GFile) file = NULL;
	g_autofree char *path = NULL;

	if (response != GTK_RESPONSE_ACCEPT)
		return;
	file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(chooser));
	path = file ? g_file_get_path(file) : NULL;
	if (path)
		rs_viewer_record_bar_record(
			bar, path, g_object_get_data(G_OBJECT(chooser), "snapshot") != NULL);
	else
		say(bar, _("Only a folder of this computer can be written to."), TRUE);
}

static void ask_where(RsViewerRecordBar *bar, gboolean snapshot)
{
	GtkRoot *root = gtk_widget_get_root(GTK_WIDGET(bar));
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *time = g_date_time_format(now, "%Y-%m-%d-%H%M%S");
	g_autofree char *name = g_strdup_printf("%s-%s.rst", bar->name, time);
	GtkFileFilter *filter;

	if (bar->chooser || !bar->session)
		return;
	filter = gtk_file_filter_new();
	gtk_file_filter_set_name(filter, _("Traces of Ringside"));
	gtk_file_filter_add_pattern(filter, "*.rst");
	bar->chooser = gtk_file_chooser_native_new(
		snapshot ? _("Save a Snapshot") : _("Record To"),
		GTK_IS_WINDOW(root) ? GTK_WINDOW(root) : NULL, GTK_FILE_CHOOSER_ACTION_SAVE,
		snapshot ? _("_Save") : _("_Record"), _("_Cancel"));
	gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(bar->chooser), filter);
	gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(bar->chooser), name);
	gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(bar->chooser), TRUE);
	if (snapshot)
		g_object_set_data(G_OBJECT(bar->chooser), "snapshot", bar);
	g_signal_connect_swapped(bar->chooser, "response", G_CALLBACK(chosen), bar);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(bar->chooser));
}

static void record_clicked(RsViewerRecordBar *bar)
{
	ask_where(bar, FALSE);
}

static void snapshot_clicked(RsViewerRecordBar *bar)
{
	ask_where(bar, TRUE);
}

/* ---- pause ---- */

/* Who runs on, as Pause says. */
static void tell_running(RsViewerRecordBar *bar, GVariant *more)
{
	g_autofree const char **names = NULL;
	g_autofree char *joined = NULL, *text = NULL, *safe = NULL;

	if (!g_variant_lookup(more, "running", "^a&s", &names) || !*names)
		return;
	joined = g_strjoinv(", ", (char **)names);
	text = g_strdup_printf(_("These cannot be paused, and run on: %s"), joined);
	safe = rs_trace_escape(text, -1, NULL);
	say(bar, safe, FALSE);
}

static void paused(GObject *object, GAsyncResult *result, gpointer data)
{
	RsDBusSession1 *session = RS_DBUS_SESSION1(object);
	g_autoptr(GVariant) more = NULL;
	g_autoptr(GError) error = NULL;
	RsViewerRecordBar *bar = data;

	/* Both answer alike. */
	rs_dbus_session1_call_pause_finish(session, &more, result, &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	bar->asking = FALSE;
	if (error) {
		g_autofree char *text = rs_viewer_events_explain(error);

		say(bar, text, TRUE);
	} else {
		/* The session may have said so already. */
		bar->paused = bar->wanted;
		tell_running(bar, more);
	}
	show_state(bar);
}

static void pause_clicked(RsViewerRecordBar *bar)
{
	if (!bar->session || bar->asking)
		return;
	bar->asking = TRUE;
	bar->wanted = !bar->paused;
	(bar->paused ? rs_dbus_session1_call_resume : rs_dbus_session1_call_pause)(
		bar->session, rs_trace_client_no_options(), bar->cancellable, paused, bar);
	show_state(bar);
}

/* Others may pause it, too. */
static void session_changed(RsViewerRecordBar *bar, guint generation, GVariant *more)
{
	const char *state;

	if (!g_variant_lookup(more, "state", "&s", &state))
		return;
	bar->paused = strcmp(state, "paused") == 0;
	show_state(bar);
}

void rs_viewer_record_bar_set_session(RsViewerRecordBar *bar, RsDBusSession1 *session)
{
	if (session == bar->session)
		return;
	if (bar->session)
		g_signal_handlers_disconnect_by_data(bar->session, bar);
	g_cancellable_cancel(bar->cancellable);
	g_clear_object(&bar->cancellable);
	bar->asking = FALSE;
	g_set_object(&bar->session, session);
	bar->cancellable = g_cancellable_new();
	if (session) {
		g_free(bar->name);
		bar->name = g_strdup(rs_dbus_session1_get_name(session));
		bar->paused = !g_strcmp0(rs_dbus_session1_get_state(session), "paused");
		g_signal_connect_swapped(session, "changed", G_CALLBACK(session_changed), bar);
	}
	show_state(bar);
}

/* ---- the widget ---- */

/* Nobody could end a recording whose buttons have gone. */
static void dispose(GObject *object)
{
	RsViewerRecordBar *bar = RS_VIEWER_RECORD_BAR(object);

	rs_viewer_record_bar_set_session(bar, NULL);
	g_cancellable_cancel(bar->cancellable);
	g_clear_object(&bar->cancellable);
	if (bar->chooser)
		gtk_native_dialog_destroy(GTK_NATIVE_DIALOG(bar->chooser));
	g_clear_object(&bar->chooser);
	if (bar->recording) {
		g_signal_handlers_disconnect_by_data(bar->recording, bar);
		rs_viewer_recording_stop(bar->recording);
	}
	g_clear_object(&bar->recording);
	for (guint i = 0; bar->snapshots && i < bar->snapshots->len; i++)
		g_signal_handlers_disconnect_by_data(bar->snapshots->pdata[i], bar);
	g_clear_pointer(&bar->snapshots, g_ptr_array_unref);
	G_OBJECT_CLASS(rs_viewer_record_bar_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_RECORD_BAR(object)->name);
	G_OBJECT_CLASS(rs_viewer_record_bar_parent_class)->finalize(object);
}

static void rs_viewer_record_bar_class_init(RsViewerRecordBarClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	signals[SAID] = g_signal_new("said", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
				     NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_BOOLEAN);
	signals[WRITTEN] = g_signal_new("written", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
					NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static GtkWidget *add_button(RsViewerRecordBar *bar, GtkWidget *box, const char *label,
			     void (*clicked)(RsViewerRecordBar *bar))
{
	GtkWidget *button = gtk_button_new_with_label(label);

	g_signal_connect_swapped(button, "clicked", G_CALLBACK(clicked), bar);
	gtk_widget_set_hexpand(button, TRUE);
	gtk_box_append(GTK_BOX(box), button);
	return button;
}

static GtkWidget *make_progress(RsViewerRecordBar *bar)
{
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
	GtkWidget *icon = gtk_image_new_from_icon_name("media-record-symbolic");

	gtk_widget_add_css_class(icon, "error");
	bar->progress = GTK_LABEL(gtk_label_new(NULL));
	gtk_label_set_xalign(bar->progress, 0);
	gtk_label_set_ellipsize(bar->progress, PANGO_ELLIPSIZE_MIDDLE);
	gtk_widget_set_hexpand(GTK_WIDGET(bar->progress), TRUE);
	gtk_widget_add_css_class(GTK_WIDGET(bar->progress), "numeric");
	gtk_box_append(GTK_BOX(row), icon);
	gtk_box_append(GTK_BOX(row), GTK_WIDGET(bar->progress));
	bar->stop = add_button(bar, row, _("Stop"), stop_clicked);
	gtk_widget_set_tooltip_text(bar->stop, _("End the recording"));
	gtk_widget_set_hexpand(bar->stop, FALSE);
	gtk_widget_set_valign(bar->stop, GTK_ALIGN_CENTER);
	bar->revealer = GTK_REVEALER(gtk_revealer_new());
	gtk_revealer_set_child(bar->revealer, row);
	return GTK_WIDGET(bar->revealer);
}

static void rs_viewer_record_bar_init(RsViewerRecordBar *bar)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
	GtkWidget *buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);

	bar->cancellable = g_cancellable_new();
	bar->snapshots = g_ptr_array_new_with_free_func(g_object_unref);
	gtk_box_set_homogeneous(GTK_BOX(buttons), TRUE);
	bar->record = add_button(bar, buttons, _("Record…"), record_clicked);
	bar->snapshot = add_button(bar, buttons, _("Snapshot…"), snapshot_clicked);
	bar->pause = add_button(bar, buttons, _("Pause"), pause_clicked);
	gtk_box_append(GTK_BOX(box), buttons);
	gtk_box_append(GTK_BOX(box), make_progress(bar));
	adw_bin_set_child(ADW_BIN(bar), box);
	show_state(bar);
}

GtkWidget *rs_viewer_record_bar_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_RECORD_BAR, NULL);
}
