/* SPDX-License-Identifier: MIT */
/*
 * A guest of a test: it is started, traced from outside, and looked at, by a program in C or, as
 * RsTest-1.0, in another language. docs/test-library.md begins with an example.
 *
 *	guest = rs_test_guest_new()
 *	rs_test_guest_set_demo(), rs_test_guest_enable() ...    what runs, and what is traced
 *	rs_test_guest_boot()
 *	rs_test_guest_expect(), rs_test_guest_next() ...        as often as one likes
 *	rs_test_guest_end()
 *	g_object_unref()                                        the guest ends at the latest here
 *
 * Threads: a guest belongs to the thread that boots it, and ends with it. All calls are
 * synchronous, use a main context of their own, and end in time. Trust: what comes from the guest
 * is hostile; what this hands out is bounded.
 */
#ifndef RS_TEST_GUEST_H
#define RS_TEST_GUEST_H

#include "rs-test-error.h"

#include <rs-trace-item.h>

G_BEGIN_DECLS

#define RS_TEST_TYPE_GUEST (rs_test_guest_get_type())
/**
 * RsTestGuest:
 *
 * A virtual machine or a program that a test runs and traces.
 *
 * It runs in a process of its own, `ringside run`, which records into a file. The calls read that
 * file while it grows, from its first record on: so no event is missed, records come in the order
 * of time, and the trace is there when a test has failed. An event can be seen some 150 ms after it
 * happened. The program `ringside` is looked for in `PATH`, unless the environment has `RINGSIDE`.
 *
 * The guest has a position in its trace. [method@Guest.next] and [method@Guest.expect] read on from
 * there, and leave it behind what they return.
 *
 * A guest ends when its object goes, and when the thread or process that booted it ends, in any
 * way.
 *
 * Errors are of [error@Error], unless a function says more.
 */
G_DECLARE_FINAL_TYPE(RsTestGuest, rs_test_guest, RS_TEST, GUEST, GObject)

/**
 * rs_test_guest_new:
 *
 * Makes a guest that is nothing yet: one of [method@Guest.set_kernel], [method@Guest.set_demo] and
 * [method@Guest.set_hosted] says what it is.
 *
 * Returns: (transfer full): a guest
 */
RsTestGuest *rs_test_guest_new(void);

/**
 * rs_test_guest_new_from_spec:
 * @path: (type filename): of a spec, as `ringside test` has them
 * @number: which case of its matrix, from 0 on
 *
 * Makes a guest as the groups `guest` and `trace` of a spec say it, with the timeout of its group
 * `test`. All other things that a spec may say are the test's: nobody looks for its expectations,
 * its commands and fixtures are not run, and the test says when the guest ends.
 *
 * Errors: %RS_TEST_ERROR_BAD_ARGUMENT with the place in the spec, or there is no such case.
 *
 * Returns: (transfer full): a guest
 */
RsTestGuest *rs_test_guest_new_from_spec(const char *path, guint number, GError **error);

/* ---- what it is: before the boot ---- */

/**
 * rs_test_guest_set_kernel:
 * @guest: a guest
 * @path: (type filename): an ELF file or a Linux kernel
 *
 * It is a virtual machine with this kernel.
 */
void rs_test_guest_set_kernel(RsTestGuest *guest, const char *path);
/**
 * rs_test_guest_set_demo:
 * @guest: a guest
 *
 * It is a virtual machine with the small kernel that comes with Ringside.
 */
void rs_test_guest_set_demo(RsTestGuest *guest);
/**
 * rs_test_guest_set_hosted:
 * @guest: a guest
 * @argv: (array zero-terminated=1) (element-type filename): the program and its arguments
 *
 * It is a program with an agent, on this machine.
 */
void rs_test_guest_set_hosted(RsTestGuest *guest, const char *const *argv);
/**
 * rs_test_guest_set_option:
 * @guest: a guest
 * @name: `accel`, `append`, `cpus`, `initrd`, `memory`, `mode`, `regions` or `ring-size`
 * @value: (nullable): its value, as `ringside run` takes it; %NULL: what it is without it
 *
 * Says more of the machine. What is wrong with a value, or with a name, is an error of
 * [method@Guest.boot].
 */
void rs_test_guest_set_option(RsTestGuest *guest, const char *name, const char *value);
/**
 * rs_test_guest_set_host_events:
 * @guest: a guest
 * @on: whether they can be had
 *
 * The host has events of its own, `host:*`: exits, pauses, patches. They are in the trace if they
 * are enabled, too.
 */
void rs_test_guest_set_host_events(RsTestGuest *guest, gboolean on);
/**
 * rs_test_guest_set_timeout:
 * @guest: a guest
 * @ms: milliseconds, 1 or more
 *
 * Ends the guest when it has run so long, whatever the test does: %RS_TEST_END_TIMEOUT. At first it
 * is 300,000, five minutes.
 */
void rs_test_guest_set_timeout(RsTestGuest *guest, guint ms);
/**
 * rs_test_guest_set_may_lose:
 * @guest: a guest
 * @may_lose: whether losses do not matter
 *
 * Events can be lost where a guest writes faster than its ring is read. Otherwise
 * [method@Guest.expect_none] fails then.
 */
void rs_test_guest_set_may_lose(RsTestGuest *guest, gboolean may_lose);
/**
 * rs_test_guest_set_folder:
 * @guest: a guest
 * @path: (type filename): of a folder, which is made if need be
 *
 * Where the trace and the console go, to be looked at later: `trace` (for `ringside report` and
 * `ringside view`), `serial` of a machine, `output` of a program, `messages` and `result` of the
 * run. Files of these names are written over, and stay. Without it they are in a temporary folder,
 * which goes with the guest.
 */
void rs_test_guest_set_folder(RsTestGuest *guest, const char *path);

/* ---- its events: at any time ---- */

/**
 * rs_test_guest_enable:
 * @guest: a guest
 * @glob: "system:name" with `*`, `?` and `[a-c]`
 *
 * Switches events on. Before the boot that is from their first one on. That no event matches is
 * told by [method@Guest.expect] then, and later at once: %RS_TEST_ERROR_NO_SUCH_EVENT.
 *
 * Returns: %FALSE if that cannot be done
 */
gboolean rs_test_guest_enable(RsTestGuest *guest, const char *glob, GError **error);
/**
 * rs_test_guest_disable:
 * @guest: a guest
 * @glob: likewise
 *
 * Switches events off, after the boot.
 *
 * Returns: %FALSE if that cannot be done
 */
gboolean rs_test_guest_disable(RsTestGuest *guest, const char *glob, GError **error);
/**
 * rs_test_guest_filter:
 * @guest: a guest
 * @glob: of the events
 * @expression: what is recorded, as in `next_pid == 2`
 *
 * Has only some records of these events written at all. What the test waits for is better said to
 * [method@Guest.expect].
 *
 * Returns: %FALSE if that cannot be done
 */
gboolean rs_test_guest_filter(RsTestGuest *guest, const char *glob, const char *expression,
			      GError **error);

/* ---- its life ---- */

/**
 * rs_test_guest_boot:
 * @guest: a guest, of which one thing was said that it is
 *
 * Starts it, and waits until its agent has reported, for a minute at most. A guest that has ended
 * by then has booted if its agent had reported.
 *
 * Errors: %RS_TEST_ERROR_NOT_RUN, with what the run said; %RS_TEST_ERROR_TIMEOUT: no agent.
 *
 * Returns: %FALSE if that was not to be
 */
gboolean rs_test_guest_boot(RsTestGuest *guest, GError **error);

/**
 * RsTestEnd:
 * @RS_TEST_END_NONE: it has not ended, or not booted
 * @RS_TEST_END_EXIT: by itself, with a code
 * @RS_TEST_END_STOPPED: the test stopped it, or a signal did
 * @RS_TEST_END_TIMEOUT: its time was over
 * @RS_TEST_END_PANIC: its kernel panicked
 * @RS_TEST_END_TRIPLE_FAULT: it shut down its CPU
 * @RS_TEST_END_RESET: it reset the machine
 * @RS_TEST_END_FAULT: it, or what ran it, could not go on
 *
 * How a guest ended. Numbers stay as they are. New ones are added at the end.
 */
typedef enum {
	RS_TEST_END_NONE,
	RS_TEST_END_EXIT,
	RS_TEST_END_STOPPED,
	RS_TEST_END_TIMEOUT,
	RS_TEST_END_PANIC,
	RS_TEST_END_TRIPLE_FAULT,
	RS_TEST_END_RESET,
	RS_TEST_END_FAULT,
} RsTestEnd;

#define RS_TEST_TYPE_END (rs_test_end_get_type())
GType rs_test_end_get_type(void);

/**
 * rs_test_guest_wait_end:
 * @guest: a guest that has booted
 * @timeout_ms: how long to wait
 *
 * Waits until it ends by itself. Its trace can be read as before.
 *
 * Errors: %RS_TEST_ERROR_TIMEOUT: it still runs; %RS_TEST_ERROR_NOT_RUN: the run has failed in some
 * part, and its messages say why.
 *
 * Returns: %FALSE if it has not ended well; how it ended is told by [method@Guest.get_end]
 */
gboolean rs_test_guest_wait_end(RsTestGuest *guest, guint timeout_ms, GError **error);
/**
 * rs_test_guest_end:
 * @guest: a guest that has booted
 *
 * Ends it now, if it has not ended, and waits for that. Its trace can be read as before.
 *
 * Errors: %RS_TEST_ERROR_NOT_RUN: the run has failed in some part, such as to enable an event.
 *
 * Returns: %FALSE if an error is set; the guest has ended in any case
 */
gboolean rs_test_guest_end(RsTestGuest *guest, GError **error);
/**
 * rs_test_guest_get_end:
 * @guest: a guest
 *
 * How it ended, as far as that was noticed: by [method@Guest.wait_end], or any call that waits.
 *
 * Returns: the kind of end
 */
RsTestEnd rs_test_guest_get_end(RsTestGuest *guest);
/**
 * rs_test_guest_get_exit_code:
 * @guest: a guest
 *
 * The code with which it ended by itself.
 *
 * Returns: the code; -1: it did not
 */
int rs_test_guest_get_exit_code(RsTestGuest *guest);
/**
 * rs_test_guest_get_end_text:
 * @guest: a guest
 *
 * How it ended, in words: "panic: out of memory".
 *
 * Returns: (nullable): the words, without control characters, as long as the guest; %NULL: it has
 *   not ended
 */
const char *rs_test_guest_get_end_text(RsTestGuest *guest);

/* ---- its trace: after the boot ---- */

/**
 * rs_test_guest_expect:
 * @guest: a guest
 * @event: "GLOB" or "GLOB: EXPR", as in `sched:switch: next_comm ~ "lz*"`
 * @timeout_ms: how long to wait for it; 0: it must have been recorded
 *
 * Takes the next event of that kind, from the position in the trace on. If there is none, the
 * position is behind all that was looked at.
 *
 * Errors: %RS_TEST_ERROR_TIMEOUT and %RS_TEST_ERROR_ENDED, each with the record that came nearest
 * to it; %RS_TEST_ERROR_NO_SUCH_EVENT; %RS_TEST_ERROR_BAD_ARGUMENT with the place in the
 * expression.
 *
 * Returns: (transfer full): the event
 */
RsTraceItem *rs_test_guest_expect(RsTestGuest *guest, const char *event, guint timeout_ms,
				  GError **error);
/**
 * rs_test_guest_expect_none:
 * @guest: a guest
 * @event: likewise
 * @ms: for how long from now on
 *
 * Sees to it that no such event happens from the position in the trace on, until that time is over
 * or the guest has ended. The position is behind all of that.
 *
 * Errors: %RS_TEST_ERROR_UNEXPECTED, with the event; %RS_TEST_ERROR_LOST: events are missing;
 * %RS_TEST_ERROR_NO_SUCH_EVENT; %RS_TEST_ERROR_BAD_ARGUMENT.
 *
 * Returns: %FALSE if it happened, or nobody knows
 */
gboolean rs_test_guest_expect_none(RsTestGuest *guest, const char *event, guint ms, GError **error);
/**
 * rs_test_guest_next:
 * @guest: a guest
 * @timeout_ms: how long to wait for it
 *
 * Takes the next event, whichever it is.
 *
 * Errors: %RS_TEST_ERROR_TIMEOUT
 *
 * Returns: (transfer full) (nullable): the event; %NULL without an error: the guest has ended, and
 *   there is none any more
 */
RsTraceItem *rs_test_guest_next(RsTestGuest *guest, guint timeout_ms, GError **error);
/**
 * rs_test_guest_catch_up:
 * @guest: a guest
 *
 * Passes over all that has happened up to now. What is read next has happened later.
 *
 * Returns: %FALSE if that did not come to an end
 */
gboolean rs_test_guest_catch_up(RsTestGuest *guest, GError **error);
/**
 * rs_test_guest_rewind:
 * @guest: a guest
 *
 * The position is again before the first event.
 */
void rs_test_guest_rewind(RsTestGuest *guest);
/**
 * rs_test_guest_get_lost:
 * @guest: a guest
 *
 * Counts the events that nobody could record, up to the position in the trace. What a ring was
 * losing when the guest was stopped does not count.
 *
 * Returns: how many
 */
guint64 rs_test_guest_get_lost(RsTestGuest *guest);

/* ---- its console: after the boot ---- */

/**
 * rs_test_guest_get_serial:
 * @guest: a guest
 *
 * What a machine has written on its serial console, or a program to its standard output, up to now.
 * Of more than 16 MiB it is the first part.
 *
 * Returns: (transfer full): the text; what is no UTF-8 is replaced
 */
char *rs_test_guest_get_serial(RsTestGuest *guest);
/**
 * rs_test_guest_expect_serial:
 * @guest: a guest
 * @pattern: a regular expression, as GLib has them
 * @timeout_ms: how long to wait for it
 *
 * Takes the next line that matches, from the last one that was taken on. The first 4096 bytes of a
 * line are looked at. A line that is not complete will do, such as a prompt.
 *
 * Errors: %RS_TEST_ERROR_TIMEOUT, %RS_TEST_ERROR_ENDED, %RS_TEST_ERROR_BAD_ARGUMENT
 *
 * Returns: (transfer full): that line, without its end
 */
char *rs_test_guest_expect_serial(RsTestGuest *guest, const char *pattern, guint timeout_ms,
				  GError **error);

/* ---- what is done to it: after the boot ---- */

/**
 * rs_test_guest_inject:
 * @guest: a guest
 * @fault: as in "pause cpu=1 for=10ms"
 * @number: (out) (optional): the number of the fault in its session
 *
 * Has its session inject a fault.
 *
 * Errors: %RS_TEST_ERROR_BAD_ARGUMENT; %RS_TEST_ERROR_NOT_SUPPORTED: not in this guest, or the
 * command is older than that
 *
 * Returns: %FALSE if it was not injected
 */
gboolean rs_test_guest_inject(RsTestGuest *guest, const char *fault, guint *number, GError **error);
/**
 * rs_test_guest_find_thread:
 * @guest: a guest
 * @name: a glob
 *
 * Finds a thread of the guest that lives, the one with the lowest id.
 *
 * Errors: %RS_TEST_ERROR_NO_SUCH_THREAD; %RS_TEST_ERROR_NOT_SUPPORTED: this guest lets nobody hold
 * its threads
 *
 * Returns: its id; 0: @error is set
 */
guint rs_test_guest_find_thread(RsTestGuest *guest, const char *name, GError **error);
/**
 * rs_test_guest_stop_thread:
 * @guest: a guest
 * @thread: the id of a thread
 *
 * Stops it at its next safe point, by an engine, and waits for that, half a minute at most. A
 * system call that waits comes to an end. All others go on.
 *
 * Errors: %RS_TEST_ERROR_NO_SUCH_THREAD, %RS_TEST_ERROR_NOT_SUPPORTED, %RS_TEST_ERROR_TIMEOUT: it
 * comes to no such point
 *
 * Returns: %FALSE if it does not stand
 */
gboolean rs_test_guest_stop_thread(RsTestGuest *guest, guint thread, GError **error);
/**
 * rs_test_guest_resume_thread:
 * @guest: a guest
 * @thread: the id of a thread that was stopped
 *
 * Lets it go on.
 *
 * Errors: %RS_TEST_ERROR_NO_SUCH_THREAD: it is not held, or has died
 *
 * Returns: %FALSE if it does not go on by that
 */
gboolean rs_test_guest_resume_thread(RsTestGuest *guest, guint thread, GError **error);

/* ---- where it is ---- */

/**
 * rs_test_guest_get_session:
 * @guest: a guest
 *
 * The name of its session, for commands such as `ringside stat`.
 *
 * Returns: the name, as long as the guest
 */
const char *rs_test_guest_get_session(RsTestGuest *guest);
/**
 * rs_test_guest_get_folder:
 * @guest: a guest
 *
 * Where its trace and its console are.
 *
 * Returns: (type filename) (nullable): the folder, as long as the guest; %NULL: it has not booted
 */
const char *rs_test_guest_get_folder(RsTestGuest *guest);

G_END_DECLS

#endif
