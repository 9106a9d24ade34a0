/* SPDX-License-Identifier: MIT */
/*
 * The figures of a running session, as rows: rings and their mode, what was lost, patched sites,
 * pauses, the clock. It asks anew each second while it is seen.
 *
 * Thread: main; no call waits. Trust: what the session says is shown as text.
 */
#ifndef RS_VIEWER_SESSION_STAT_H
#define RS_VIEWER_SESSION_STAT_H

#include <adwaita.h>
#include <rs-trace-client.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_SESSION_STAT (rs_viewer_session_stat_get_type())
G_DECLARE_FINAL_TYPE(RsViewerSessionStat, rs_viewer_session_stat, RS_VIEWER, SESSION_STAT, AdwBin)

GtkWidget *rs_viewer_session_stat_new(void);
/* NULL: it has ended; the last figures stay. */
void rs_viewer_session_stat_set_session(RsViewerSessionStat *stat, RsDBusSession1 *session);

G_END_DECLS

#endif
