/* SPDX-License-Identifier: MIT */
/*
 * What a full ring of a running session does, as a row: it overwrites the oldest events, or refuses
 * new ones. Choosing changes it in all sources. It follows what others change.
 *
 * The signal "said" (string, boolean) has a line for people, and whether something has failed.
 *
 * Thread: main; no call waits. Trust: what the session says is only compared.
 */
#ifndef RS_VIEWER_RINGS_H
#define RS_VIEWER_RINGS_H

#include <adwaita.h>
#include <rs-trace-client.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_RINGS (rs_viewer_rings_get_type())
G_DECLARE_FINAL_TYPE(RsViewerRings, rs_viewer_rings, RS_VIEWER, RINGS, AdwBin)

GtkWidget *rs_viewer_rings_new(void);
/* NULL: it has ended; the last mode stays, and cannot be changed. */
void rs_viewer_rings_set_session(RsViewerRings *rings, RsDBusSession1 *session);

G_END_DECLS

#endif
