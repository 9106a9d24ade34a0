/* SPDX-License-Identifier: MIT */
/*
 * Serves a session over peer-to-peer D-Bus (org.ringside.Session1.xml) on a unix socket. Only the
 * same user and root are let in (EXTERNAL authentication).
 *
 * Thread: the session's. Its GMainContext handles requests, one at a time. It must be the default
 * context, since GDBus reports a peer's end there, wherever the server was made.
 */
#ifndef RS_HV_SESSION_SERVER_H
#define RS_HV_SESSION_SERVER_H

#include "session/session.h"

struct rs_server;

/* The session has a source, and outlives the server. Replaces an old socket file at `path`. */
int rs_server_create(struct rs_session *session, const char *path, struct rs_server **out,
		     struct rs_error *err);
/* Closes every connection and removes the socket. NULL is accepted. */
void rs_server_destroy(struct rs_server *server);

#endif
