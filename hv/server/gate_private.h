/* SPDX-License-Identifier: MIT */
/* What gate.c and gate_client.c share. All of it belongs to the gate's thread. */
#ifndef RS_HV_SERVER_GATE_PRIVATE_H
#define RS_HV_SERVER_GATE_PRIVATE_H

#include "server/gate.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct rs_gate_client;

/* `fd` is not blocking, and taken. It must say who it is within `ms`. Owned by `context`. */
struct rs_gate_client *rs_gate_client_new(struct rs_gate *gate, GMainContext *context, int fd,
					  const struct ucred *who, unsigned ms);
void rs_gate_client_free(struct rs_gate_client *client);
/* Of the process that connected. */
pid_t rs_gate_client_pid(const struct rs_gate_client *client);
/* It has said nothing at all. */
bool rs_gate_client_is_silent(const struct rs_gate_client *client);

const char *rs_gate_guid(const struct rs_gate *gate);
gint64 rs_gate_call_us(const struct rs_gate *gate);
/*
 * The client has said who it is. Takes the end for GDBus. False: there are too many clients; the
 * end is still the caller's.
 */
bool rs_gate_admit(struct rs_gate *gate, struct rs_gate_client *client, int fd);
/* This client is to be freed. */
void rs_gate_leave(struct rs_gate *gate, struct rs_gate_client *client);

#endif
