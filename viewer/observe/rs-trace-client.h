/* SPDX-License-Identifier: MIT */
/*
 * A connection to a running session. org.ringside.Session1.xml describes what a session can be
 * asked.
 *
 * Threads: all calls are synchronous, on the caller's thread. Trust: GDBus checks the types of
 * answers, and nobody their sense. Names may come from a guest: escape them before they are shown.
 */
#ifndef RS_TRACE_CLIENT_H
#define RS_TRACE_CLIENT_H

#include "rs-trace-region.h"
#include "rs-trace-session-error.h"

#include <rs-session-dbus.h>
#include <rs-trace-symbol-file.h>

G_BEGIN_DECLS

/*
 * Connects to the session of that name; to be unreffed. NO_SUCH_SESSION: there is none, it has
 * died, or nobody listens. SILENT: it has not answered in time, for example because it is stopped
 * (^Z). Its calls fail after half a minute without an answer; rs_trace_client_fix_error() makes
 * that error SILENT.
 */
RsDBusSession1 *rs_trace_client_connect(const char *name, GError **error);
/* Likewise; connecting, and then each call, takes `limit_ms` at most, from 1 on. */
RsDBusSession1 *rs_trace_client_connect_within(const char *name, guint limit_ms, GError **error);
/* Likewise, by the path of the socket. */
RsDBusSession1 *rs_trace_client_connect_path(const char *path, GError **error);

/*
 * Whether the session has said its last words, which may not have been read yet. A call now finds
 * the connection broken, after which GDBus reads no more of it.
 */
gboolean rs_trace_client_is_closing(RsDBusSession1 *session);

/* The options of a call that needs none; a floating reference. */
GVariant *rs_trace_client_no_options(void);

/*
 * The options of Stat, OpenRegion and OpenProgram: a source's number, or none if `number` is 0. A
 * floating reference.
 */
GVariant *rs_trace_client_source(guint32 number);

typedef struct {
	guint32 number; /* never another source's */
	char *name, *kind, *kernel, *state;
	char *end;    /* how it has ended, as a reason of RsTraceWatchEnd; empty: it has not */
	char *region; /* path by which programs of this host join; empty: they cannot */
	gboolean joined;
	gboolean native; /* a CPU of this host runs its code */
	guint32 pid;     /* 0: none, or not known */
	guint32 panics;  /* of its kernel so far, after which the machine went on */
	guint32 machine; /* number of the source in whose memory it joined; 0: it did not */
} RsTraceClientSource;

/* The session's sources, RsTraceClientSource, to be unreffed. */
GPtrArray *rs_trace_client_sources(RsDBusSession1 *session, GError **error);

/* A source's region, mapped read-only. */
RsTraceRegion *rs_trace_client_open_region(RsDBusSession1 *session, guint32 number, GError **error);

/*
 * The symbols of what runs in a source, from the file that the session hands over. To be unreffed.
 * NULL: the session knows of no such file, or it has none.
 */
RsTraceSymbolFile *rs_trace_client_open_symbols(RsDBusSession1 *session, guint32 number,
						GError **error);

/*
 * Makes the error of a failed call fit to be shown: the name of the remote error is removed, and
 * the errors of a broken connection become GONE, and that of a limit in time SILENT.
 */
void rs_trace_client_fix_error(GError **error);

G_END_DECLS

#endif
