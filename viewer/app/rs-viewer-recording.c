/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-recording.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>

#define LOOK_MS 500
/* The variable of the environment that names the command, for a program that is not installed. */
#define COMMAND_VARIABLE "RINGSIDE"

struct _RsViewerRecording {
	GObject parent;
	GSubprocess *process;
	GCancellable *cancellable;
	char *path;
	gboolean snapshot, over, looking;
	gint64 begun, ended;
	guint64 size, events, lost;
	GError *error;
	guint timer;
};

G_DEFINE_FINAL_TYPE(RsViewerRecording, rs_viewer_recording, G_TYPE_OBJECT)

enum { PROGRESS, ENDED, N_SIGNALS };
static guint signals[N_SIGNALS];

char *rs_viewer_recording_command(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;
	g_autofree char *beside = dir ? g_build_filename(dir, "ringside", NULL) : NULL;
	const char *named = g_getenv(COMMAND_VARIABLE);

	if (named && g_file_test(named, G_FILE_TEST_IS_EXECUTABLE))
		return g_strdup(named);
	if (beside && g_file_test(beside, G_FILE_TEST_IS_EXECUTABLE))
		return g_steal_pointer(&beside);
	return g_find_program_in_path("ringside");
}

/* ---- size and time ---- */

static void looked(GObject *file, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GFileInfo) info = g_file_query_info_finish(G_FILE(file), result, &error);
	RsViewerRecording *recording = data;

	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	recording->looking = FALSE;
	if (info)
		recording->size = (guint64)g_file_info_get_size(info);
	g_signal_emit(recording, signals[PROGRESS], 0);
}

static gboolean look(gpointer data)
{
	RsViewerRecording *recording = data;
	g_autoptr(GFile) file = g_file_new_for_path(recording->path);

	if (recording->looking)
		return G_SOURCE_CONTINUE;
	recording->looking = TRUE;
	g_file_query_info_async(file, G_FILE_ATTRIBUTE_STANDARD_SIZE, G_FILE_QUERY_INFO_NONE,
				G_PRIORITY_DEFAULT, recording->cancellable, looked, recording);
	return G_SOURCE_CONTINUE;
}

/* ---- the end ---- */

/* In the command's JSON, which is one object without others in it. */
static guint64 number_of(const char *json, const char *name)
{
	g_autofree char *pattern = g_strdup_printf("\"%s\":(\\d{1,19})", name);
	g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autofree char *digits = NULL;

	if (!g_regex_match(regex, json, 0, &match))
		return 0;
	digits = g_match_info_fetch(match, 1);
	return g_ascii_strtoull(digits, NULL, 10);
}

static void take_end(RsViewerRecording *recording, const char *out, const char *err)
{
	g_autofree char *valid = g_utf8_make_valid(out ? out : "", -1);
	g_autofree char *said = g_utf8_make_valid(err ? err : "", -1);

	recording->events = number_of(valid, "events");
	recording->lost = number_of(valid, "lost");
	if (number_of(valid, "bytes"))
		recording->size = number_of(valid, "bytes");
	if (!recording->error && !g_subprocess_get_successful(recording->process)) {
		g_autofree char *text = rs_trace_escape(g_strstrip(said), -1, "\n");

		g_set_error_literal(&recording->error, G_IO_ERROR, G_IO_ERROR_FAILED,
				    *text ? text : _("The recording has failed."));
	}
}

static void ended(GObject *process, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerRecording) recording = data;
	g_autofree char *out = NULL, *err = NULL;

	/* What it prints that is no UTF-8 only costs the words. */
	g_subprocess_communicate_utf8_finish(G_SUBPROCESS(process), result, &out, &err, NULL);
	recording->over = TRUE;
	recording->ended = g_get_monotonic_time();
	g_clear_handle_id(&recording->timer, g_source_remove);
	if (g_subprocess_get_if_exited(recording->process) ||
	    g_subprocess_get_if_signaled(recording->process))
		take_end(recording, out, err);
	g_signal_emit(recording, signals[ENDED], 0);
}

void rs_viewer_recording_stop(RsViewerRecording *recording)
{
	if (!recording->over)
		g_subprocess_send_signal(recording->process, SIGINT);
}

RsViewerRecording *rs_viewer_recording_new(const char *session, const char *path, gboolean snapshot,
					   GError **error)
{
	g_autoptr(RsViewerRecording) recording = g_object_new(RS_VIEWER_TYPE_RECORDING, NULL);
	g_autofree char *command = rs_viewer_recording_command();
	/* A path or a name that begins with "-" is no option. */
	g_autofree char *output = g_strconcat("--output=", path, NULL);
	g_autofree char *whose = g_strconcat("--session=", session, NULL);

	if (!command) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "%s",
			    _("The command “ringside”, which records, is not installed."));
		return NULL;
	}
	recording->process =
		g_subprocess_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE,
				 error, command, snapshot ? "snapshot" : "record", "--quiet",
				 "--json", "--force", output, whose, NULL);
	if (!recording->process)
		return NULL;
	recording->path = g_strdup(path);
	recording->snapshot = snapshot;
	recording->begun = g_get_monotonic_time();
	recording->timer = g_timeout_add(LOOK_MS, look, recording);
	g_subprocess_communicate_utf8_async(recording->process, NULL, NULL, ended,
					    g_object_ref(recording));
	return g_steal_pointer(&recording);
}

/* ---- what it is ---- */

const char *rs_viewer_recording_path(RsViewerRecording *recording)
{
	return recording->path;
}

gboolean rs_viewer_recording_is_over(RsViewerRecording *recording)
{
	return recording->over;
}

guint64 rs_viewer_recording_size(RsViewerRecording *recording)
{
	return recording->size;
}

guint64 rs_viewer_recording_us(RsViewerRecording *recording)
{
	return (guint64)((recording->over ? recording->ended : g_get_monotonic_time()) -
			 recording->begun);
}

gboolean rs_viewer_recording_result(RsViewerRecording *recording, guint64 *events, guint64 *lost,
				    GError **error)
{
	*events = recording->events;
	*lost = recording->lost;
	if (recording->error && error)
		*error = g_error_copy(recording->error);
	return !recording->error;
}

/* While it runs it has a reference to itself, so it is over here. */
static void dispose(GObject *object)
{
	RsViewerRecording *recording = RS_VIEWER_RECORDING(object);

	g_cancellable_cancel(recording->cancellable);
	g_clear_object(&recording->cancellable);
	g_clear_handle_id(&recording->timer, g_source_remove);
	g_clear_object(&recording->process);
	G_OBJECT_CLASS(rs_viewer_recording_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerRecording *recording = RS_VIEWER_RECORDING(object);

	g_free(recording->path);
	g_clear_error(&recording->error);
	G_OBJECT_CLASS(rs_viewer_recording_parent_class)->finalize(object);
}

static void rs_viewer_recording_class_init(RsViewerRecordingClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	signals[PROGRESS] = g_signal_new("progress", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
					 NULL, NULL, NULL, G_TYPE_NONE, 0);
	signals[ENDED] = g_signal_new("ended", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL,
				      NULL, NULL, G_TYPE_NONE, 0);
}

static void rs_viewer_recording_init(RsViewerRecording *recording)
{
	recording->cancellable = g_cancellable_new();
}
