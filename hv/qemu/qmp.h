/* SPDX-License-Identifier: MIT */
/*
 * A monitor over QEMU's machine protocol (QMP): each line on a unix socket is one JSON object.
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

#include "target/monitor.h"

#define RS_QMP_LINE_MAX (1u << 20) /* bytes */
#define RS_QMP_DEPTH_MAX 64u       /* nested objects and arrays */

/*
 * Connects, waits for the greeting and leaves the negotiation mode. Keeps a reference to `context`.
 * With `context` NULL nothing is delivered but in calls. `listener` is copied; NULL: nobody
 * listens so far.
 */
int rs_qmp_connect(const char *path, GMainContext *context, int timeout_ms,
		   const struct rs_monitor_listener *listener, struct rs_monitor **out,
		   struct rs_error *err);

/* The process that made the socket, which may be another one than QEMU's; 0: not known. */
pid_t rs_qmp_peer(struct rs_monitor *monitor);

#endif
