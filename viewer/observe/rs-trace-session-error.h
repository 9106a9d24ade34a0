/* SPDX-License-Identifier: MIT */
/*
 * The errors of org.ringside.Session1 as a GError domain, so that server and client see the same
 * errors: org.ringside.Error.NoSuchEvent and so on. Any thread.
 */
#ifndef RS_TRACE_SESSION_ERROR_H
#define RS_TRACE_SESSION_ERROR_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_SESSION_ERROR_FAILED,
	RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT,
	RS_TRACE_SESSION_ERROR_BAD_FILTER, /* the message holds the expression and a caret line */
	RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
	RS_TRACE_SESSION_ERROR_BUSY,
	RS_TRACE_SESSION_ERROR_NOT_READY, /* the guest's agent has not said hello */
	RS_TRACE_SESSION_ERROR_ENDED,
	RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, /* or process; or it has died */
	RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, /* of this peer; or not any more */
	RS_TRACE_SESSION_ERROR_NOT_STOPPED,    /* the thread runs, or has stopped elsewhere */
	RS_TRACE_SESSION_ERROR_NOT_SUPPORTED,  /* this guest, or its target, cannot do that */
	/* These are never sent: only rs-trace-client.h returns them. */
	RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION,
	RS_TRACE_SESSION_ERROR_GONE,   /* the session went away */
	RS_TRACE_SESSION_ERROR_SILENT, /* the session has not answered in time */
} RsTraceSessionError;

#define RS_TRACE_SESSION_ERROR (rs_trace_session_error_quark())
/* Registers the D-Bus names on first use; a client calls it before its first method call. */
GQuark rs_trace_session_error_quark(void);

G_END_DECLS

#endif
