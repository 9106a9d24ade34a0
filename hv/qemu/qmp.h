/* SPDX-License-Identifier: MIT */
/*
 * A client of QEMU's machine protocol (QMP): each line on a unix socket is one JSON object.
 *
 * Caller: hv/qemu. Thread: that of the GMainContext given at connect. Trust: a guest may have taken
 * over QEMU. So the length and the nesting of a line are bounded before it is parsed. An invalid
 * line is counted and ignored. After some lines that are no JSON at all the connection is closed.
 *
 * Errors: -ENOENT/-ECONNREFUSED nobody listens; -ETIMEDOUT no answer in time (QMP serves one client
 * at a time); -EPIPE the peer has closed; -EREMOTEIO QEMU refused the command, and the message is
 * QEMU's; -EPROTO the peer does not speak QMP.
 */
#ifndef RS_HV_QEMU_QMP_H
#define RS_HV_QEMU_QMP_H

#include "base/error.h"
#include "qemu/patience.h"
#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

#define RS_QMP_LINE_MAX (1u << 20) /* bytes */
#define RS_QMP_DEPTH_MAX 64u       /* nested objects and arrays */

struct rs_qmp;

/*
 * An event came. `event` NULL: the peer has closed. `payload` is its data object, NULL: none. Both
 * are valid only during the call. The context calls it, or any function below, so it must not call
 * these functions: it may only note the event.
 */
typedef void (*rs_qmp_event_fn)(void *data, const char *event, JsonObject *payload);

/*
 * Connects, waits for the greeting and leaves the negotiation mode. Keeps a reference to `context`.
 */
int rs_qmp_connect(const char *path, GMainContext *context, int timeout_ms, rs_qmp_event_fn event,
		   void *data, struct rs_qmp **out, struct rs_error *err);

/* Says which process answers. If it has been stopped, nobody waits long for it. */
void rs_qmp_set_process(struct rs_qmp *qmp, pid_t pid);

/*
 * Carries out one command and waits for its answer. Takes over `arguments` (may be NULL). `reply`
 * (may be NULL) gets the "return" member; free it with json_node_unref(). -ETIMEDOUT: no answer
 * came. From then on QEMU is silent until it says anything, and nobody waits for it a second time:
 * -EAGAIN at once, and the command is not sent.
 */
int rs_qmp_call(struct rs_qmp *qmp, const char *command, JsonObject *arguments, int timeout_ms,
		JsonNode **reply, struct rs_error *err);

/*
 * Sends a command without arguments and does not wait: its answer is ignored. -EAGAIN: QEMU has not
 * read for so long that the socket is full.
 */
int rs_qmp_post(struct rs_qmp *qmp, const char *command, struct rs_error *err);

/* The same for a command whose answer is to tell that QEMU answers. */
int rs_qmp_probe(struct rs_qmp *qmp, const char *command, struct rs_error *err);
/* Whether answers to probes are still to come, as far as what has arrived tells. */
bool rs_qmp_owes(struct rs_qmp *qmp);
/*
 * Whether QEMU has answered any command within this time, as far as what has arrived tells. Then
 * its main loop is at work, and whoever asks it something will not wait long.
 */
#define RS_QMP_FRESH_MS 200
bool rs_qmp_is_fresh(struct rs_qmp *qmp);
/* Waits until it has. -ETIMEDOUT: it is silent from now on. */
int rs_qmp_await(struct rs_qmp *qmp, struct rs_patience *patience, struct rs_error *err);
/*
 * `answered` is called, by the rules of the event callback and with its data, for each answer for
 * which no function here waits.
 */
void rs_qmp_set_answered(struct rs_qmp *qmp, void (*answered)(void *data));

/* Whether QEMU is silent, as far as what has arrived tells. */
bool rs_qmp_is_silent(struct rs_qmp *qmp);
/* QEMU did not answer a probe, or did not answer elsewhere: it is silent until it answers here. */
void rs_qmp_doubt(struct rs_qmp *qmp);

/* Delivers the events that have arrived, without waiting. */
void rs_qmp_drain(struct rs_qmp *qmp);

void rs_qmp_destroy(struct rs_qmp *qmp);

#endif
