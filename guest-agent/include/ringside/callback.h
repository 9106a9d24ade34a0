/* SPDX-License-Identifier: MIT */
/*
 * Callbacks of the guest: functions that are called where an event fires.
 *
 *	static void on_switch(const struct rs_event *event, const uint64_t *args, uint32_t count,
 *			      void *data);
 *	static struct rs_callback callback = {.raw = on_switch};
 *
 *	register_trace_sched_switch(&callback);
 *
 * An event may have any number of callbacks. The one that was registered last is called first.
 * Callbacks see every event, whatever a host has enabled or filtered: its wishes decide what is
 * recorded. An event that has a callback has its sites on, and costs what they do. An event without
 * callbacks costs its NOP.
 *
 * A callback is called in the context in which the event fired, on its CPU, before the record is
 * written. It may register and unregister callbacks, also itself, enable events, change filters
 * and fire events. It must not wait for somebody who waits for it: that is, it must not call
 * rs_agent_register(), unregister, init or fini. A task must not go on on another CPU while it is
 * in a callback, unless the port is one for preemptible threads.
 *
 * Events that callbacks fire have callbacks, too: up to RS_CALLBACK_DEPTH of them lie in one
 * another on a CPU or in a thread. An event that is deeper is recorded, but its callbacks are left
 * out and counted in rs_guest_info.callbacks_skipped.
 *
 * The sites are patched by the host, or by the guest itself. Without either a callback is not
 * called. A guest that patches itself does it in rs_agent_apply_control(), which registering calls
 * unless a callback does it. When a host leaves it puts all text back, and callbacks end with it.
 */
#ifndef RINGSIDE_CALLBACK_H
#define RINGSIDE_CALLBACK_H

#include <ringside/event.h>

#define RS_CALLBACK_DEPTH 4u

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's memory, from register until unregister has returned 0. Zero at first. */
struct rs_callback {
	/*
	 * One of these two, or both. `args`: what trace_*() was called with, `count` of them, each
	 * as its bytes in memory order, 8 at most, then zeroes. A structure of more than 8 bytes is
	 * cut.
	 */
	void (*raw)(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data);
	/* The record as in a ring, in one piece: struct rs_rec_header, then the payload. It is cut
	 * at RS_RAW_MAX bytes. Called only while rs_event_enable_callbacks() says so. */
	void (*record)(const struct rs_event *event, const void *record, uint32_t size, void *data);
	void *data; /* is handed on */
	/* the agent's: */
	struct rs_callback *next;
	struct rs_event *event;
	uint32_t state;
	uint32_t reserved;
};

/*
 * Any context. Returns once the sites are on, if somebody patches them. -RS_EINVAL: neither
 * function is set. -RS_EBUSY: it is registered already, or was not yet given back. -RS_ENOSPC: the
 * event has 65,535 of them.
 */
int rs_callback_register(struct rs_event *event, struct rs_callback *callback);

/*
 * Any context but an interrupt that may have interrupted this function. From now on the callback is
 * not called any more, but for calls that have begun.
 * 0: none has, and the memory is the caller's again. -RS_EINPROGRESS: this is inside of a callback,
 * or has interrupted one, so it cannot wait; call it again later until it returns 0. -RS_ENOENT: it
 * is not registered (any more), and nothing was done. -RS_EBUSY: it is being registered just now.
 *
 * Callbacks of a provider that is unregistered are taken out with it, since the events may go: then
 * their memory is the caller's again once that has returned.
 */
int rs_callback_unregister(struct rs_callback *callback);

/* Whether callbacks of the event get records. At first they do not. */
void rs_event_enable_callbacks(struct rs_event *event, bool on);

#ifdef __cplusplus
}
#endif

#endif
