/* SPDX-License-Identifier: MIT */
/*
 * A GOutputStream over base/output.h: who writes to it does not wait for a reader that stands still
 * once a deadline has come. One thread at a time; the deadlines may be set by another.
 */
#ifndef RS_HV_CLI_OUTPUT_STREAM_H
#define RS_HV_CLI_OUTPUT_STREAM_H

#include <gio/gio.h>

/* Both by the monotonic clock in us, atomic; 0: there is none. */
struct rs_output_deadline {
	gint64 until; /* whatever the reader does */
	gint64 still; /* for one that reads nothing: who reads on gets as much time again */
};
#define RS_OUTPUT_STILL_US 3000000

/*
 * `fd` and `deadline` are borrowed, and must outlive the stream. G_IO_ERROR_TIMED_OUT: nobody read
 * on.
 */
GOutputStream *rs_output_stream_new(int fd, const struct rs_output_deadline *deadline);

#endif
