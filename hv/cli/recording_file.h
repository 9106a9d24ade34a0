/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording: one, or FILE.0001, FILE.0002 … of which the newest are kept. Only
 * traces are written over, unless that is forced, and numbered files never are: their numbers go on
 * where those of an earlier recording ended.
 */
#ifndef RS_HV_CLI_RECORDING_FILE_H
#define RS_HV_CLI_RECORDING_FILE_H

#include "base/error.h"

#include <gio/gio.h>
#include <stdbool.h>

struct rs_recording_file;

struct rs_recording_file_config {
	const char *path; /* "-": standard output */
	bool force;       /* write over a file that is no trace */
	bool numbered;    /* files get numbers */
	unsigned keep;    /* of those, so many are kept; 0: all */
};

/*
 * Opens the file, or, if files are numbered, finds the first number. -EINVAL: such a recording is
 * not for this file. -EIO, -EBUSY, -EEXIST: the file cannot be written, or is not to be.
 */
int rs_recording_file_open(const struct rs_recording_file_config *config,
			   struct rs_recording_file **out, struct rs_error *err);
/* NULL is accepted. Its streams must have gone. */
void rs_recording_file_free(struct rs_recording_file *file);

/*
 * The stream of the file that was opened, or of the next numbered one: then one that is older than
 * those to be kept is removed. On one thread at a time.
 */
GOutputStream *rs_recording_file_next(struct rs_recording_file *file, GError **error);
/*
 * The path of the newest file, or of the one that could not be opened, to be freed. On any thread.
 */
char *rs_recording_file_path(struct rs_recording_file *file);
/* What the `n` files of a recording that has finished are called together, to be freed. */
char *rs_recording_file_label(struct rs_recording_file *file, guint64 n);
/* The recording ends: a reader that reads nothing is not waited for longer than 3 s. Any thread. */
void rs_recording_file_end(struct rs_recording_file *file);
/* From now on, a reader that stands still is not waited for longer than 0.4 s. On any thread. */
void rs_recording_file_hurry(struct rs_recording_file *file);

#endif
