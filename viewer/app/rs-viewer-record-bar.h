/* SPDX-License-Identifier: MIT */
/*
 * Buttons that record a session to a file, keep a snapshot, and let the guest rest and go on; and
 * how far a recording is.
 *
 * Signals:
 *   "said" (text, failed)   what people are to be told
 *   "written" (path)        a recording or a snapshot is complete
 *
 * Thread: main; no call waits. Trust: names of sessions and files may be anything.
 */
#ifndef RS_VIEWER_RECORD_BAR_H
#define RS_VIEWER_RECORD_BAR_H

#include <adwaita.h>
#include <rs-trace-client.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_RECORD_BAR (rs_viewer_record_bar_get_type())
G_DECLARE_FINAL_TYPE(RsViewerRecordBar, rs_viewer_record_bar, RS_VIEWER, RECORD_BAR, AdwBin)

GtkWidget *rs_viewer_record_bar_new(void);
/* NULL: it has ended. A recording that is under way ends by itself. */
void rs_viewer_record_bar_set_session(RsViewerRecordBar *bar, RsDBusSession1 *session);
/* Begins without asking where. */
void rs_viewer_record_bar_record(RsViewerRecordBar *bar, const char *path, gboolean snapshot);

G_END_DECLS

#endif
