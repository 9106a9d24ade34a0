/* SPDX-License-Identifier: MIT */
/*
 * A GOutputStream over base/output.h: who writes to it does not wait for a reader that stands still
 * once a deadline has come. One thread at a time; the deadline may be set by another.
 */
#ifndef RS_HV_CLI_OUTPUT_STREAM_H
#define RS_HV_CLI_OUTPUT_STREAM_H

#include <gio/gio.h>

/*
 * `fd` and `until` are borrowed, and must outlive the stream; `until` as for rs_output_write().
 * G_IO_ERROR_TIMED_OUT: nobody read on.
 */
GOutputStream *rs_output_stream_new(int fd, const gint64 *until);

#endif
