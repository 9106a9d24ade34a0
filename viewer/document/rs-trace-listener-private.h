/* SPDX-License-Identifier: MIT */
/*
 * Follows a running session, on a thread of its own: records go to a timeline as they come, and
 * their pages to a file without a name, from which rows are read. Calls here: the main thread.
 * Trust: as rs-trace-client.h.
 */
#ifndef RS_TRACE_LISTENER_PRIVATE_H
#define RS_TRACE_LISTENER_PRIVATE_H

#include "rs-trace-loader-private.h"

#include <gio/gio.h>

G_BEGIN_DECLS

typedef struct _RsTraceListener RsTraceListener;

/* Begins at once. */
RsTraceListener *rs_trace_listener_new(const char *session, RsTraceFiles *files,
				       RsTraceTimeline *timeline, RsTracePulse *pulse);
/* Ends the thread, without waiting for it. NULL is accepted. */
void rs_trace_listener_free(RsTraceListener *listener);

/* Progress is not known before the end. */
void rs_trace_listener_status(RsTraceListener *listener, RsTraceLoaderStatus *out);
/*
 * To the session, while it is there: a new reference. NULL: not yet, or not any more. It stays
 * after the end if that came because the file could not be written.
 */
GDBusConnection *rs_trace_listener_connection(RsTraceListener *listener);

G_END_DECLS

#endif
