/* SPDX-License-Identifier: MIT */
/*
 * Stands between a session's socket and GDBus, which takes messages of 128 MiB, keeps half ones and
 * their descriptors for ever, and cannot be told otherwise. The gate listens, finds out who a
 * client is, and gives GDBus the other end of a socket pair. Then it passes on whole calls of a
 * limited size, without descriptors. A client that sends anything else is disconnected, and nothing
 * of what it sent last reaches GDBus.
 *
 * GDBus has one call of a client at a time: the next one is passed on once the answer has gone out
 * to the client. Until then the gate keeps one more call, and others wait in the client's socket.
 * So a client that does not read its answers, or whose answer comes late, only makes its own calls
 * wait, and there is nothing to count. GDBus answers some calls that want no answer and others not.
 * So each call that is passed on wants one, and the gate drops those that the client does not want.
 *
 * Answers and signals go out with their descriptors, as fast as the client reads: the gate itself
 * keeps a few KiB of them. When GDBus has closed its end, a client gets what was written before and
 * then the end of file. Its own end stays open until it goes, for as long as a call may take.
 *
 * Threads: it works in one of its own, and never blocks there. The functions and `came` belong to
 * the creator's thread, which runs the default GMainContext. rs_gate_taken() is for any thread.
 */
#ifndef RS_HV_SERVER_GATE_H
#define RS_HV_SERVER_GATE_H

#include "base/error.h"
#include <glib.h>

/*
 * Bytes of a call, with its header. The largest that makes sense has an expression of 4,096, a glob
 * of 512 and an owner of 32.
 */
#define RS_GATE_CALL_MAX (8u << 10)
#define RS_GATE_CALL_MS 5000   /* in which a call that has begun must be there */
#define RS_GATE_LOGIN_MAX 512u /* bytes of a line by which a client says who it is */
#define RS_GATE_LOGIN_MS 2000  /* in which it must have said so */
/*
 * Clients that have not said who they are, and those of one process. If there are more, the first
 * of them that has said nothing is disconnected, or the first at all: whoever does not log in keeps
 * nobody out.
 */
#define RS_GATE_NEW_MAX 32u
#define RS_GATE_NEW_OF_PID_MAX 4u

struct rs_gate;

struct rs_gate_config {
	const char *path;           /* of the socket; an old one is replaced */
	const char *guid;           /* of the server, as g_dbus_generate_guid() makes it */
	unsigned call_ms, login_ms; /* RS_GATE_CALL_MS and RS_GATE_LOGIN_MS, but for tests */
	unsigned max;               /* clients that have said who they are; more are disconnected */
	void *data;
	/*
	 * A client of the same user, or root. `fd` is the caller's now: an end for a GDBus server,
	 * which authenticates it with EXTERNAL as this very process. Each is followed by
	 * rs_gate_taken() once that is done or has failed.
	 */
	void (*came)(void *data, int fd);
};

/* -EIO: the socket cannot be made. */
int rs_gate_create(const struct rs_gate_config *config, struct rs_gate **out, struct rs_error *err);
/* So many clients may come at a time, and the next ones wait until some were taken. */
void rs_gate_taken(struct rs_gate *gate);
/* Removes the socket. Nobody comes from now on, and those that are there stay. */
void rs_gate_close(struct rs_gate *gate);
/*
 * Waits up to `ms` until the clients have all that GDBus wrote, and have gone. It must have closed
 * its ends. NULL is accepted.
 */
void rs_gate_free(struct rs_gate *gate, unsigned ms);

#endif
