/* SPDX-License-Identifier: MIT */
/*
 * Shared by server.c (questions, life), wishes.c (the wishes of peers), commands.c and
 * engines.c (what peers ask of agents); private.
 */
#ifndef RS_HV_SERVER_PRIVATE_H
#define RS_HV_SERVER_PRIVATE_H

#include "server/calls.h"
#include "server/peers.h"
#include "server/server.h"

#include <gio/gio.h>
#include <rs-session-dbus.h>

struct rs_server {
	struct rs_session *session;
	struct rs_session_listener listener;
	RsDBusSession1 *skeleton;
	struct rs_peers *peers;
	struct rs_calls *calls;
	GDBusConnection *claimed; /* the peer that called Claim; not a reference */
	GArray *bonds;            /* owners whose wishes end with a connection */
	GPtrArray *late;          /* of requests that the session has not done yet */
	GPtrArray *commands;      /* of calls that agents have not answered yet */
	GPtrArray *engine_calls;  /* likewise, about engines and threads */
	GSource *later;           /* the next Changed signal, while one is due */
	gint64 changed_at;
	uint32_t generation;
	bool over; /* no call is carried out any more */
};

/* server.c. A handler returns their result, or the result says that the peer got an error. */
gboolean rs_server_give_error(GDBusMethodInvocation *invocation, const struct rs_error *err);
/* For a method without options. True: the peer gave an option and got an error. */
bool rs_server_refuse_options(GDBusMethodInvocation *invocation, GVariant *options);
/* False: there is no source of this number, and the peer got an error. */
bool rs_server_find_source(struct rs_server *server, GDBusMethodInvocation *invocation,
			   guint32 number, struct rs_source **out);
/* Reads the only option, a source's number. *out stays NULL without it. False: as above. */
bool rs_server_take_source(struct rs_server *server, GDBusMethodInvocation *invocation,
			   GVariant *options, struct rs_source **out);
/* Always true. */
bool rs_server_refuse_option(GDBusMethodInvocation *invocation, const char *name);
/* True: no other peer has claimed the session. False: the peer got an error. */
bool rs_server_is_free(struct rs_server *server, GDBusMethodInvocation *invocation);

/* wishes.c */
void rs_server_connect_wishes(struct rs_server *server);
GArray *rs_server_bonds_new(void);
GPtrArray *rs_server_late_new(void);
/* Gives the answer that waits for this request, if there is one. */
void rs_server_settle(struct rs_server *server, uint32_t request, int ret,
		      const struct rs_session_result *result, const struct rs_error *err);
/* Answers all that wait, since nobody will tell that their requests are settled. */
void rs_server_refuse_late(struct rs_server *server);
/*
 * A connection has closed: drops what it asked for and is not worked out, and ends the wishes that
 * are bound to it.
 */
void rs_server_drop_peer(struct rs_server *server, GDBusConnection *connection);

/* commands.c */
void rs_server_connect_commands(struct rs_server *server);
GPtrArray *rs_server_commands_new(void);
/* Answers all calls of a peer, or of all if `connection` is NULL, that wait for an agent. */
void rs_server_refuse_commands(struct rs_server *server, const GDBusConnection *connection);

/* engines.c */
void rs_server_connect_engines(struct rs_server *server);
GPtrArray *rs_server_engine_calls_new(void);
/* As rs_server_refuse_commands(). */
void rs_server_refuse_engine_calls(struct rs_server *server, const GDBusConnection *connection);
/* This source will be freed. */
void rs_server_forget_source(struct rs_server *server, struct rs_source *source);

#endif
