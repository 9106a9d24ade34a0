/* SPDX-License-Identifier: MIT */
/*
 * What server.c (peers, questions, life) and server_wishes.c (what peers want) share; nobody else.
 */
#ifndef RS_HV_SESSION_SERVER_PRIVATE_H
#define RS_HV_SESSION_SERVER_PRIVATE_H

#include "session/server.h"

#include <gio/gio.h>
#include <rs-session-dbus.h>

struct rs_server {
	struct rs_session *session;
	struct rs_session_listener listener;
	GDBusServer *server;
	GDBusAuthObserver *auth;
	RsDBusSession1 *skeleton;
	GPtrArray *peers;         /* GDBusConnection */
	GDBusConnection *claimed; /* the peer that called Claim; not a reference */
	GArray *bonds;            /* owners whose wishes end with a connection */
	char *path;
	GSource *later; /* the next Changed signal, while one is due */
	gint64 changed_at;
	uint32_t generation;
};

/* server.c. What they answer is for a handler to return, or means that the peer has been told. */
gboolean rs_server_give_error(GDBusMethodInvocation *invocation, const struct rs_error *err);
/* Always true. */
bool rs_server_refuse_option(GDBusMethodInvocation *invocation, const char *name);
/* Nobody else has claimed the session; else the peer has been told. */
bool rs_server_is_free(struct rs_server *server, GDBusMethodInvocation *invocation);

/* server_wishes.c */
void rs_server_connect_wishes(struct rs_server *server);
GArray *rs_server_bonds_new(void);
/* A connection has gone: so do the wishes of owners that were to go with it. */
void rs_server_end_bonds(struct rs_server *server, GDBusConnection *connection);

#endif
