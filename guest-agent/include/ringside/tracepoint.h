/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints as an OS shows them to its own users: enumerated, found by number and by name, and
 * steered by four files each, as below /sys/kernel/tracing/events of Linux. An OS mounts them
 * where it likes: a file is read by one call here, and written by another.
 *
 *	events/SYSTEM/NAME/enable   "0" or "1": what is in force; write either
 *	events/SYSTEM/NAME/filter   the filters in force, or "none"; write one, or an empty text
 *	events/SYSTEM/NAME/id       the number
 *	events/SYSTEM/NAME/format   its fields and its print format, as Linux shows them
 *
 * A tracepoint is an event (event.h), and its number is the event's id. A number never means
 * another tracepoint while a record that bears it can be read.
 *
 * What is written to `enable` and `filter` is the wish of the guest. The host has wishes of its
 * own, so a tracepoint that was written "0" may still read "1" (hypercall.h). Callbacks have their
 * own header, callback.h.
 *
 * Threads: any context. What is written is a hypercall, which may have to wait for the host, so an
 * OS does that where a task may wait.
 */
#ifndef RINGSIDE_TRACEPOINT_H
#define RINGSIDE_TRACEPOINT_H

#include <ringside/agent.h>
#include <ringside/callback.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the map ---- */

/*
 * Calls f for each tracepoint that is registered, those of a provider in the order in which the
 * image has them, until f returns false. While f runs the tracepoint stays registered. So f must
 * make no call that takes the agent's lock (agent.h), and must not wait for who makes one.
 */
void rs_tracepoint_each(bool (*f)(struct rs_event *event, void *data), void *data);

/*
 * Calls f once for each system, likewise. `system` is good until f returns. The time grows with the
 * square of the number of tracepoints.
 */
void rs_tracepoint_each_system(bool (*f)(const char *system, void *data), void *data);

/* How many are registered now. */
uint32_t rs_tracepoint_count(void);

/* The id of a tracepoint by its names; 0: there is none. Of several the newest provider's. */
uint32_t rs_tracepoint_find(const char *system, const char *name);

/* ---- the files ---- */

enum rs_tracepoint_file {
	RS_TRACEPOINT_ENABLE,
	RS_TRACEPOINT_FILTER,
	RS_TRACEPOINT_ID,
	RS_TRACEPOINT_FORMAT,
};

/*
 * The file's text, with a newline at its end. `out` gets as much of it as fits into `size` bytes
 * together with a NUL; it may be NULL if `size` is 0. Returns the length of the whole text.
 * -RS_ENOENT: no tracepoint has this id (now). -RS_EINVAL: there is no such file. Reading FILTER
 * asks the host, and has its errors. Its text is cut at 255 bytes. FORMAT is what the
 * host's `ringside format` prints, cut at 64 KiB as there. -RS_EBADMSG: the print format breaks a
 * rule of event.h, so the host leaves the event out.
 */
int rs_tracepoint_read(uint32_t id, enum rs_tracepoint_file file, char *out, uint32_t size);

/*
 * Writes `size` bytes of text. Blanks and newlines at its ends do not count. Returns 0.
 * -RS_ENOENT, -RS_EINVAL: as above, or the text is neither "0" nor "1", or holds a NUL;
 * -RS_EACCES: ID and FORMAT cannot be written, or the host refuses; -RS_E2BIG: it is too long.
 * `reply` (may be NULL) has the host's own words, such as where in a filter the mistake is.
 */
int rs_tracepoint_write(uint32_t id, enum rs_tracepoint_file file, const char *text, uint32_t size,
			struct rs_hcall_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
