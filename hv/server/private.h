/* SPDX-License-Identifier: MIT */
/*
 * Shared by server.c (questions, life), options.c, waiting.c (calls that wait), wishes.c (the
 * wishes of peers), and what peers ask of agents: ktrace.c, threads.c, engines.c, examine.c,
 * guest_command.c; inject.c, triggers.c; private.
 */
#ifndef RS_HV_SERVER_PRIVATE_H
#define RS_HV_SERVER_PRIVATE_H

#include "server/calls.h"
#include "server/peers.h"
#include "server/server.h"
#include "session/engines.h"

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
	GHashTable *saved;        /* connection → what SaveWishes has saved for it */
	GQueue waiting;           /* of struct rs_server_call, the oldest first */
	GSource *later;           /* the next Changed signal, while one is due */
	gint64 changed_at, engine_at;
	uint32_t generation;
	bool over; /* no call is carried out any more */
};

/* server.c. A handler returns their result, or the result says that the peer got an error. */
gboolean rs_server_give_error(GDBusMethodInvocation *invocation, const struct rs_error *err);
/* False: there is no source of this number, and the peer got an error. */
bool rs_server_find_source(struct rs_server *server, GDBusMethodInvocation *invocation,
			   guint32 number, struct rs_source **out);
/* True: no other peer has claimed the session. False: the peer got an error. */
bool rs_server_is_free(struct rs_server *server, GDBusMethodInvocation *invocation);

/* The same for a method without options. False also: there was one. */
bool rs_server_may_control(struct rs_server *server, GDBusMethodInvocation *invocation,
			   GVariant *options);

/*
 * options.c: each of these answers with an error and returns false if the peer gives an option that
 * is not known there, or one of another type. What was not given stays as it is.
 */
struct rs_server_option {
	const char *name, *type; /* a basic one */
	void *out;               /* of a string, a pointer into the options */
	gboolean *given;         /* becomes TRUE; may be NULL */
};
bool rs_server_take_options(GDBusMethodInvocation *invocation, GVariant *options,
			    const struct rs_server_option *known, gsize n);
/* The same with a single one. */
bool rs_server_take_option(GDBusMethodInvocation *invocation, GVariant *options, const char *known,
			   const char *type, void *out);
/* A source's number, and for the second one a flag. False also: there is no such source. */
bool rs_server_take_source(struct rs_server *server, GDBusMethodInvocation *invocation,
			   GVariant *options, struct rs_source **out);
bool rs_server_take_source_and(struct rs_server *server, GDBusMethodInvocation *invocation,
			       GVariant *options, struct rs_source **out, const char *flag,
			       gboolean *set);
/* For a method without options. True: there was one. */
bool rs_server_refuse_options(GDBusMethodInvocation *invocation, GVariant *options);

/*
 * waiting.c: a call that cannot be answered at once: of the session, which works requests out, or
 * of a guest's agent. It is the first member of what its file keeps of it, in memory of g_new().
 */
struct rs_server_call {
	struct rs_server *server;
	GDBusMethodInvocation *invocation; /* until it is answered */
	/* Clears the rest, and sees to it that nobody answers any more. NULL: there is nothing. */
	void (*fini)(struct rs_server_call *call);
	GList link;
};
/* It waits from now on. */
void rs_server_call_begin(struct rs_server_call *call, struct rs_server *server,
			  GDBusMethodInvocation *invocation,
			  void (*fini)(struct rs_server_call *call));
/* It was answered: frees it. */
void rs_server_call_end(struct rs_server_call *call);
/* The peer gets an error; ends the call. */
void rs_server_call_fail(struct rs_server_call *call, const struct rs_error *err);
/* Answers all that wait, of a peer, or of all if `connection` is NULL: the session has ended. */
void rs_server_refuse_calls(struct rs_server *server, const GDBusConnection *connection);
GDBusConnection *rs_server_peer(GDBusMethodInvocation *invocation);

/* wishes.c */
void rs_server_connect_wishes(struct rs_server *server);
GArray *rs_server_bonds_new(void);
GHashTable *rs_server_saved_new(void);
/*
 * Answers what the session was asked for: by `give`, which gets `number`, now or once it is done.
 */
typedef void (*rs_server_give_result)(GDBusMethodInvocation *invocation,
				      const struct rs_session_result *result, uint32_t number);
void rs_server_answer(struct rs_server *server, GDBusMethodInvocation *invocation,
		      const struct rs_session_result *result, rs_server_give_result give,
		      uint32_t number);
/* As D-Bus carries them: UTF-8, NULL-terminated; to be freed. */
char **rs_server_problems(const struct rs_session_result *result);
/* Gives the answer that waits for this request, if there is one. */
void rs_server_settle(struct rs_server *server, uint32_t request, int ret,
		      const struct rs_session_result *result, const struct rs_error *err);
/*
 * A connection has closed: drops what it asked for and is not worked out, and what it has saved.
 * Ends the wishes that are bound to it.
 */
void rs_server_drop_peer(struct rs_server *server, GDBusConnection *connection);

/* ktrace.c, guest_command.c */
void rs_server_connect_ktrace(struct rs_server *server);
void rs_server_connect_guest_command(struct rs_server *server);

/* inject.c */
void rs_server_connect_inject(struct rs_server *server);

/* triggers.c */
void rs_server_connect_triggers(struct rs_server *server);

/* threads.c */
void rs_server_connect_threads(struct rs_server *server);

/* engines.c */
void rs_server_connect_engines(struct rs_server *server);
/*
 * For all methods about one engine: sends a command, whose success `give` answers. A claim of the
 * session refuses none of them: the engine is the peer's own, and its thread must not stay stopped
 * for somebody else's claim. True.
 */
typedef void (*rs_server_give_engine)(struct rs_server *server, GDBusMethodInvocation *invocation,
				      const struct rs_engine_info *engine,
				      const struct rs_command_result *result);
gboolean rs_server_send_engine(struct rs_server *server, GDBusMethodInvocation *invocation,
			       guint engine, const struct rs_source_command *command,
			       rs_server_give_engine give);

/* Says nothing but that it was done: for methods that answer with `more` alone. */
void rs_server_give_done(struct rs_server *server, GDBusMethodInvocation *invocation,
			 const struct rs_engine_info *engine,
			 const struct rs_command_result *result);

/* examine.c */
void rs_server_connect_examine(struct rs_server *server);
/* Numbers of a guest's: at. They need no alignment. */
GVariant *rs_server_numbers(const uint8_t *bytes, uint32_t count);
/* Copies at most `most` numbers. False: there are more, and the peer got an error. */
bool rs_server_take_numbers(GDBusMethodInvocation *invocation, GVariant *from, uint64_t *to,
			    gsize most, gsize *count);
/* RS_CMD_DATA bytes at most, which stay the variant's. False: likewise. */
bool rs_server_take_bytes(GDBusMethodInvocation *invocation, GVariant *from, const void **bytes,
			  uint32_t *count);

#endif
