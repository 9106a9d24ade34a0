/* SPDX-License-Identifier: MIT */
/*
 * The errors of org.ringside.Session1 as a GError domain, so that server and client see the same ones:
 * org.ringside.Error.NoSuchEvent and so on. Any thread.
 */
#ifndef RS_HV_SESSION_DBUS_ERROR_H
#define RS_HV_SESSION_DBUS_ERROR_H

#include "base/error.h"
#include <glib.h>

typedef enum {
	RS_SESSION_ERROR_FAILED,
	RS_SESSION_ERROR_NO_SUCH_EVENT,
	RS_SESSION_ERROR_BAD_FILTER,
	RS_SESSION_ERROR_BAD_ARGUMENT,
	RS_SESSION_ERROR_BUSY,
	RS_SESSION_ERROR_NOT_READY,
	RS_SESSION_ERROR_ENDED,
} RsSessionError;

#define RS_SESSION_ERROR (rs_session_error_quark())
/* Registers the D-Bus names on first use; a client calls it before its first method call. */
GQuark rs_session_error_quark(void);

/* An error of the session (errno as session.h says) as a GError; to be freed. */
GError *rs_session_error_from(const struct rs_error *err);

#endif
