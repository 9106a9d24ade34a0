/* SPDX-License-Identifier: MIT */
/*
 * The event loop that libvirt needs for its events and for noticing a dead daemon. A process has
 * one, on a thread of its own, which never waits for anything else. libvirt's functions may be
 * called on it as its callbacks are.
 *
 * The functions have the types that virEventRegisterImpl() wants. Any thread.
 */
#ifndef RS_HV_LIBVIRT_LOOP_H
#define RS_HV_LIBVIRT_LOOP_H

#include <glib.h>

#define RS_LOOP_READABLE 1
#define RS_LOOP_WRITABLE 2
#define RS_LOOP_ERROR 4
#define RS_LOOP_HANGUP 8

typedef void (*rs_loop_handle_fn)(int watch, int fd, int events, void *opaque);
typedef void (*rs_loop_timeout_fn)(int timer, void *opaque);
typedef void (*rs_loop_free_fn)(void *opaque);

/* Starts the thread, which ends with the process. */
void rs_loop_start(void);

/* A number for the others, or -1. `events` may be 0 for now. `release` is called by the loop. */
int rs_loop_add_handle(int fd, int events, rs_loop_handle_fn call, void *opaque,
		       rs_loop_free_fn release);
void rs_loop_update_handle(int watch, int events);
int rs_loop_remove_handle(int watch);

/* In ms; below 0: not for now. It comes again and again. */
int rs_loop_add_timeout(int ms, rs_loop_timeout_fn call, void *opaque, rs_loop_free_fn release);
void rs_loop_update_timeout(int timer, int ms);
int rs_loop_remove_timeout(int timer);

#endif
