/* SPDX-License-Identifier: MIT */
/*
 * A recording of a running session to a file, or a snapshot of what its rings hold. It is made by
 * the command `ringside`, a process of its own: it goes on if the viewer is busy, and what was
 * written can be read even if the viewer dies. Its end ends the recording well.
 *
 * Signals:
 *   "progress" ()   size and time have grown; twice a second
 *   "ended" ()      it is over, as result() says
 *
 * Thread: main; no call waits. Trust: what the command prints is read with bounds.
 */
#ifndef RS_VIEWER_RECORDING_H
#define RS_VIEWER_RECORDING_H

#include <gio/gio.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_RECORDING (rs_viewer_recording_get_type())
G_DECLARE_FINAL_TYPE(RsViewerRecording, rs_viewer_recording, RS_VIEWER, RECORDING, GObject)

/* The path of the command: beside this program, or in the PATH. NULL: it is not there. Own it. */
char *rs_viewer_recording_command(void);

/* Begins at once, and writes over what is at `path`. */
RsViewerRecording *rs_viewer_recording_new(const char *session, const char *path, gboolean snapshot,
					   GError **error);
/* Ends it well. "ended" follows. */
void rs_viewer_recording_stop(RsViewerRecording *recording);

const char *rs_viewer_recording_path(RsViewerRecording *recording);
gboolean rs_viewer_recording_is_over(RsViewerRecording *recording);
guint64 rs_viewer_recording_size(RsViewerRecording *recording); /* bytes of the file */
guint64 rs_viewer_recording_us(RsViewerRecording *recording);   /* since it began */
/* After its end. FALSE: it failed. `events` and `lost`: in the file, as the command says. */
gboolean rs_viewer_recording_result(RsViewerRecording *recording, guint64 *events, guint64 *lost,
				    GError **error);

G_END_DECLS

#endif
