/* SPDX-License-Identifier: MIT */
/*
 * The sessions of this user, kept fresh: those that run, and those that died and can be attached.
 *
 * Signal "changed" (): another list.
 *
 * Thread: main; the directory is read on others. Trust: texts of entries are to be escaped.
 */
#ifndef RS_VIEWER_SESSIONS_H
#define RS_VIEWER_SESSIONS_H

#include <gio/gio.h>
#include <rs-trace-rundir.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_SESSIONS (rs_viewer_sessions_get_type())
G_DECLARE_FINAL_TYPE(RsViewerSessions, rs_viewer_sessions, RS_VIEWER, SESSIONS, GObject)

RsViewerSessions *rs_viewer_sessions_new(void);
/* Looks again, soon. */
void rs_viewer_sessions_refresh(RsViewerSessions *sessions);
/* Of RsTraceRundirEntry, in order of name; good until "changed". Never NULL. */
const GPtrArray *rs_viewer_sessions_list(RsViewerSessions *sessions);

G_END_DECLS

#endif
