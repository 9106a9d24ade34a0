/* SPDX-License-Identifier: MIT */
/*
 * A connection to a running session, by name. org.ringside.Session1.xml says what it can be asked.
 * Everything here is synchronous, on the caller's thread. GDBus has checked the type of what comes
 * back, but not its sense. Names come from a guest: they are escaped before they are shown.
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

/* The one option of Stat and OpenRegion: a source by its number, 0: none. A floating reference. */
GVariant *rs_trace_client_source(guint32 number);

typedef struct {
	guint32 number; /* never another source's */
	char *name, *kind, *kernel, *state;
	char *region; /* the file by which programs of its host join; empty: they cannot */
	gboolean joined;
	guint32 pid; /* 0: none, or not known */
} RsTraceClientSource;

/* The session's sources, RsTraceClientSource, to be unreffed. */
GPtrArray *rs_trace_client_sources(RsDBusSession1 *session, GError **error);

/* A source's region, mapped read-only. */
RsTraceRegion *rs_trace_client_open_region(RsDBusSession1 *session, guint32 number, GError **error);

/*
 * Makes the error of a failed call fit to be shown: the name of the remote error is removed, and
 * the errors of a broken connection become GONE.
 */
void rs_trace_client_fix_error(GError **error);

G_END_DECLS

#endif
