/* SPDX-License-Identifier: MIT */
/*
 * An output that somebody else reads, or not: a terminal, pipe, socket or file. No write waits, so
 * a reader that stands still does not hold the session. Other programs share the description behind
 * our descriptor, so it stays as it is, and the output is opened anew where that can be. A file
 * never waits, and has its place for writing in the description.
 *
 * Thread: one at a time.
 */
#ifndef RS_HV_CLI_OUTPUT_H
#define RS_HV_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct rs_output {
	int fd;
	bool is_ours; /* opened anew */
	bool is_socket;
};

/* `fd` is borrowed, and must stay open. */
void rs_output_init(struct rs_output *output, int fd);
void rs_output_deinit(struct rs_output *output);

/* Writes what can be written at once. Returns how much, or -errno; -EAGAIN: nothing. */
ssize_t rs_output_write(const struct rs_output *output, const char *text, size_t size);
/* Waits until something can be written, or for `ms`. */
void rs_output_wait(const struct rs_output *output, int ms);

/*
 * Writes a message to standard error, whole or not at all but for a part that was written already.
 * Waits for a reader for 200 ms at most, and not at all after a message that was dropped. The next
 * one that is read says how many were. `text` ends with a newline.
 */
void rs_output_say(const char *text);

#endif
