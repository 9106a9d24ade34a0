/* SPDX-License-Identifier: MIT */
/*
 * Who is connected to a session: lets in peers of the same user and root, through a gate (gate.h)
 * that bounds what GDBus reads, and keeps what one of them does from the others. What is queued for
 * a peer is bounded, since it may never read: one answer, since the gate passes on one call of a
 * peer at a time, and some signals.
 *
 * Thread: the session's. GDBus has a thread of its own, which counts signals as it writes them, and
 * so has the gate. The session's GMainContext must be the default one, since GDBus
 * always reports there that a connection has closed.
 */
#ifndef RS_HV_SERVER_PEERS_H
#define RS_HV_SERVER_PEERS_H

#include "base/error.h"
#include <gio/gio.h>
#include <stdbool.h>

#define RS_PEERS_MAX 128u     /* more are disconnected at once */
#define RS_PEER_SIGNALS_MAX 8 /* signals that wait for a peer; later ones replace each other */

struct rs_peers;

struct rs_peers_config {
	void *data;
	/* A peer is there; it is not heard before this returns. False: it cannot be served. */
	bool (*joined)(void *data, GDBusConnection *connection);
	/* It has gone. Called once for each that joined, but not by rs_peers_destroy(). */
	void (*left)(void *data, GDBusConnection *connection);
};

/* Replaces an old socket file at `path`. -EIO: the socket cannot be made. */
int rs_peers_create(const char *path, const struct rs_peers_config *config, struct rs_peers **out,
		    struct rs_error *err);
/*
 * Removes the socket, waits up to half a second until all peers have got what is queued for them,
 * and closes all connections. It waits 300 ms more if GDBus's thread stands still. NULL is
 * accepted.
 */
void rs_peers_destroy(struct rs_peers *peers);

/*
 * Sends a signal to all peers, and takes `arguments` if they are floating. `replaces`: it says all
 * that an earlier one of this name did. A peer that does not read gets the newest of them when it
 * reads again.
 */
void rs_peers_tell(struct rs_peers *peers, const char *path, const char *interface,
		   const char *name, GVariant *arguments, bool replaces);
/* The same to one peer, by its connection, if it is still there. It replaces earlier ones. */
void rs_peers_tell_one(struct rs_peers *peers, const void *connection, const char *path,
		       const char *interface, const char *name, GVariant *arguments);

#endif
