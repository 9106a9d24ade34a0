/* SPDX-License-Identifier: MIT */
/*
 * A connection to a running session, by name. What it can be asked is org.ringside.Session1.xml's; its calls
 * come back here for a plain error. Synchronous, on the caller's thread. What comes back was checked by GDBus for
 * type, not for sense; names come from a guest and are escaped before they are shown.
 */
#ifndef RS_TRACE_CLIENT_H
#define RS_TRACE_CLIENT_H

#include "rs-trace-region.h"
#include "rs-trace-session-error.h"

#include <rs-session-dbus.h>

G_BEGIN_DECLS

/* To be unreffed. NO_SUCH_SESSION: there is none, it has died, or it does not answer. */
RsDBusSession1 *rs_trace_client_connect(const char *name, GError **error);
/* Likewise, by the path of the socket. */
RsDBusSession1 *rs_trace_client_connect_path(const char *path, GError **error);

/* No options for a call; a floating reference. */
GVariant *rs_trace_client_no_options(void);

/* The session's region, mapped read-only. */
RsTraceRegion *rs_trace_client_open_region(RsDBusSession1 *session, GError **error);

/*
 * Makes the error of a failed call fit to be shown: the name of the remote error goes, and whatever a broken
 * connection gave becomes GONE.
 */
void rs_trace_client_fix_error(GError **error);

G_END_DECLS

#endif
