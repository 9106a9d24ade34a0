/* SPDX-License-Identifier: MIT */
/*
 * The other end of server.h: a connection to a running session by name. Synchronous; used by the CLI's
 * verbs, each on its main thread. What comes back was checked by GDBus for type, not for sense; names
 * come from a guest and are escaped before they are printed.
 */
#ifndef RS_HV_SESSION_CLIENT_H
#define RS_HV_SESSION_CLIENT_H

#include "base/error.h"
#include "ring/region.h"
#include <gio/gio.h>
#include <rs-session-dbus.h>

/* -ENOENT: no such session, or it has died. The proxy is to be unreffed. */
int rs_client_connect(const char *name, RsDBusSession1 **out, struct rs_error *err);
/* Likewise, by the path of the socket. */
int rs_client_connect_path(const char *path, RsDBusSession1 **out, struct rs_error *err);

/* The session's region, mapped read-only; to be destroyed. */
int rs_client_open_region(RsDBusSession1 *session, struct rs_region **out, struct rs_error *err);

/*
 * A failed call's GError as an rs_error, with the errno that session.h gives it (-EBADMSG: a bad filter
 * and so on; -ECONNRESET: the session went away). Frees `error`; returns the negative errno.
 */
int rs_client_error(GError *error, struct rs_error *err);

#endif
