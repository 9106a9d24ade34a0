/* SPDX-License-Identifier: MIT */
/*
 * Serves a session over peer-to-peer D-Bus (org.ringside.Session1.xml) on a unix socket. Trust:
 * only peers of the same user and root are let in (EXTERNAL authentication).
 *
 * Thread: the session's. The session's GMainContext handles requests, one at a time. It must be the
 * default context, since GDBus always reports there that a connection has closed.
 */
#ifndef RS_HV_SERVER_H
#define RS_HV_SERVER_H

#include "session/session.h"

struct rs_server;

/*
 * The session must have a source, and must outlive the server. Replaces an old socket file at
 * `path`. -EIO: the socket cannot be made.
 */
int rs_server_create(struct rs_session *session, const char *path, struct rs_server **out,
		     struct rs_error *err);
/* Closes every connection and removes the socket. NULL is accepted. */
void rs_server_destroy(struct rs_server *server);

#endif
