/* SPDX-License-Identifier: MIT */
/*
 * The start page: what can be opened. Running sessions, domains of libvirt, recent files.
 *
 * Signals:
 *   "session-chosen" (name)   a running session is to be opened
 *   "file-chosen" (path)      a file is
 *   "failed" (text)           what was asked for could not be done
 *
 * Thread: main. Trust: names of sessions, domains and files may be anything.
 */
#ifndef RS_VIEWER_START_H
#define RS_VIEWER_START_H

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_START (rs_viewer_start_get_type())
G_DECLARE_FINAL_TYPE(RsViewerStart, rs_viewer_start, RS_VIEWER, START, AdwBin)

G_END_DECLS

#endif
