/* SPDX-License-Identifier: MIT */
/*
 * An output that somebody else reads, or not: a terminal, pipe, socket or file. A reader that
 * stands still holds a writer only until a deadline, which another thread may set meanwhile. Other
 * programs share the description behind our descriptor, so it stays as it is, and the output is
 * opened anew where that can be. A file never waits, and has its place for writing in the
 * description.
 *
 * Thread: one at a time. SIGPIPE is to be ignored.
 */
#ifndef RS_HV_BASE_OUTPUT_H
#define RS_HV_BASE_OUTPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct rs_output {
	int fd;
	bool is_ours;   /* opened anew */
	bool is_socket; /* which is asked not to wait, each time */
	size_t piece;   /* a write of more bytes may wait; 0: none waits */
};

/* `fd` is borrowed, and must stay open. */
void rs_output_init(struct rs_output *output, int fd);
void rs_output_deinit(struct rs_output *output);

/*
 * Writes all of it. -ETIMEDOUT: its reader did not read on until *until, an atomic time of
 * g_get_monotonic_time() (0: for ever, as yet; one that has passed: what can be written at once). A
 * change is seen within 50 ms. Another -errno: the write failed. *done (may be NULL): how many
 * bytes were written.
 */
int rs_output_write(const struct rs_output *output, const char *text, size_t size,
		    const gint64 *until, size_t *done);

/* Makes this the content of a file, or writes it to the device or pipe of that name. -errno. */
int rs_output_write_file(const char *path, const char *text, size_t size);

#endif
