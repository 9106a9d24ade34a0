/* SPDX-License-Identifier: MIT */
/*
 * A client of QEMU's machine protocol (QMP): one JSON object a line over a unix socket.
 *
 * Caller: hv/qemu. Thread: that of the GMainContext that it was connected with. Trust: QEMU is a process
 * that a guest may have broken into, so a line is bounded in length and nesting before it is parsed; one
 * that makes no sense is counted and passed over.
 *
 * Errors: -ENOENT/-ECONNREFUSED nobody listens; -ETIMEDOUT no answer in time (QMP serves one client
 * at a time); -EPIPE the peer has closed; -EREMOTEIO QEMU refused the command, the message is
 * QEMU's; -EPROTO what answers is not QMP.
 */
#ifndef RS_HV_QEMU_QMP_H
#define RS_HV_QEMU_QMP_H

#include "base/error.h"
#include <gio/gio.h>
#include <json-glib/json-glib.h>

#define RS_QMP_LINE_MAX (1u << 20) /* bytes */
#define RS_QMP_DEPTH_MAX 64u       /* nested objects and arrays */

struct rs_qmp;

/*
 * An event came; `event` NULL: the peer has closed. `payload` is its data object, NULL if none; both
 * live during the call only. Called from the context or from inside any function below, so it
 * must not call them: it may note what it saw.
 */
typedef void (*rs_qmp_event_fn)(void *data, const char *event, JsonObject *payload);

/* Connects, waits for the greeting and leaves the negotiation mode. `context` is kept (ref). */
int rs_qmp_connect(const char *path, GMainContext *context, int timeout_ms, rs_qmp_event_fn event,
		   void *data, struct rs_qmp **out, struct rs_error *err);

/*
 * Carries out one command and waits for its answer. `arguments` (may be NULL) is taken over.
 * `reply` (may be NULL) gets the "return" member, to be freed with json_node_unref().
 */
int rs_qmp_call(struct rs_qmp *qmp, const char *command, JsonObject *arguments, int timeout_ms,
		JsonNode **reply, struct rs_error *err);

/*
 * Sends a command without arguments and does not wait: its answer is passed over when it comes. -EAGAIN:
 * QEMU has not read for so long that there is no room to send.
 */
int rs_qmp_post(struct rs_qmp *qmp, const char *command, struct rs_error *err);

/* Takes what has arrived and delivers its events, without waiting. */
void rs_qmp_drain(struct rs_qmp *qmp);

void rs_qmp_destroy(struct rs_qmp *qmp);

#endif
