/* SPDX-License-Identifier: MIT */
/*
 * The events of a running session as a tree: sources, their systems, their events. It follows what
 * anybody changes, and changes what this program's user asks for.
 *
 * Signals:
 *   "listed" ()          the tree was compared with the session
 *   "problem" (text)     what people are to be told of a change: it failed, or was done in part
 *
 * Property "roots": the GListModel of RsViewerEvent at the top: systems while there is one source,
 * else sources.
 *
 * Thread: main; no call waits. Trust: what a session says is hostile, as rs-viewer-event.h says.
 */
#ifndef RS_VIEWER_EVENTS_H
#define RS_VIEWER_EVENTS_H

#include "app/rs-viewer-event.h"
#include "timeline/rs-trace-timeline.h"

#include <rs-trace-client.h>

G_BEGIN_DECLS

/*
 * For whom the viewer asks: the same owner as the command line's. What the viewer shows as on is
 * what is recorded, whoever asked for it, and a switch that a user turns off must also turn off
 * what was asked for at the start of the session. With an owner of its own, it would only take back
 * what the viewer itself had asked for. So wishes made here outlive the window, as those of
 * `ringside enable` outlive the command.
 */
#define RS_VIEWER_OWNER "host"

#define RS_VIEWER_TYPE_EVENTS (rs_viewer_events_get_type())
G_DECLARE_FINAL_TYPE(RsViewerEvents, rs_viewer_events, RS_VIEWER, EVENTS, GObject)

RsViewerEvents *rs_viewer_events_new(void);
/* NULL: it has ended. The tree stays as it was. */
void rs_viewer_events_set_session(RsViewerEvents *events, RsDBusSession1 *session);
GListModel *rs_viewer_events_roots(RsViewerEvents *events);
/* All events of all sources, without the tree, in no order. */
GListModel *rs_viewer_events_all(RsViewerEvents *events);
/* Whether the session has answered once. */
gboolean rs_viewer_events_known(RsViewerEvents *events);
/* A glob for this node: "sched:*", with its source before it if there are several. To be freed. */
char *rs_viewer_events_glob(RsViewerEvents *events, RsViewerEvent *event);

/* The answer comes with "listed", and with "problem" if it was not done as a whole. */
void rs_viewer_events_switch(RsViewerEvents *events, RsViewerEvent *event, gboolean on);
/*
 * An empty expression takes the filter away. Finish: FALSE, it was refused. Errors:
 * RS_TRACE_SESSION_ERROR_BAD_FILTER, whose message has the expression and a caret.
 */
void rs_viewer_events_filter_async(RsViewerEvents *events, RsViewerEvent *event,
				   const char *expression, GAsyncReadyCallback done, gpointer data);
gboolean rs_viewer_events_filter_finish(RsViewerEvents *events, GAsyncResult *result,
					GError **error);

/* How often each event has come, as the timeline knows it. To be called once a second or so. */
void rs_viewer_events_count(RsViewerEvents *events, const RsTraceTimeline *timeline);

/* An error of a call as people are told it. To be freed. */
char *rs_viewer_events_explain(const GError *error);

/*
 * Takes the rows of an answer of List, aa{sv}. For tests, and for the object itself.
 */
void rs_viewer_events_take(RsViewerEvents *events, GVariant *rows);

G_END_DECLS

#endif
