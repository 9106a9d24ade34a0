/* SPDX-License-Identifier: MIT */
/* The options that all verbs share which record. Thread: main. */
#ifndef RS_HV_CLI_RECORDING_OPTIONS_H
#define RS_HV_CLI_RECORDING_OPTIONS_H

#include "cli/recording.h"
#include "cli/verb.h"

struct rs_recording_options {
	gint compression;
	char *max_size, *rotate;
	gint keep, window;
};

#define RS_RECORDING_OPTION(name, letter, kind, to, help, value)                                   \
	{                                                                                          \
		name, letter, 0, G_OPTION_ARG_##kind, &(to), help, value                           \
	}
/* Rows of a verb's options for a struct rs_recording_options: that of every recording, and all. */
#define RS_RECORDING_ZSTD(o)                                                                       \
	RS_RECORDING_OPTION("zstd", 'z', INT, (o).compression,                                     \
			    "Compress recorded pages, 1 (fast) to 19 (small); 0: do not", "LEVEL")
#define RS_RECORDING_OPTIONS(o)                                                                    \
	RS_RECORDING_ZSTD(o),                                                                      \
		RS_RECORDING_OPTION("max-size", 0, STRING, (o).max_size,                           \
				    "End the recording before it has more bytes", "SIZE"),         \
		RS_RECORDING_OPTION("rotate", 0, STRING, (o).rotate,                               \
				    "Record to FILE.0001, FILE.0002 …: 64M each, or 60s",          \
				    "SIZE|TIME"),                                                  \
		RS_RECORDING_OPTION("keep", 0, INT, (o).keep, "Keep only so many of those files",  \
				    "N"),                                                          \
		RS_RECORDING_OPTION("window", 0, INT, (o).window,                                  \
				    "Write what has come at least so often (1000)", "MS")

/* What is recorded of a running session, and where to. */
struct rs_recording_target {
	char *session, *path; /* NULL: not given */
	gboolean force;
};

/* Rows of a verb's options for a struct rs_recording_target. */
#define RS_RECORDING_TARGET(t)                                                                     \
	RS_RECORDING_OPTION("session", 's', STRING, (t).session, "The session", "NAME"),           \
		RS_RECORDING_OPTION("output", 'o', FILENAME, (t).path,                             \
				    "The file; - is standard output (ringside.trace)", "FILE"),    \
		RS_RECORDING_OPTION("force", 'f', NONE, (t).force,                                 \
				    "Write over a file that is no trace", NULL)

/* The file that is meant, which refers to the path. */
void rs_recording_target_fill(const struct rs_recording_target *target,
			      struct rs_recording_file_config *file);
void rs_recording_target_clear(struct rs_recording_target *target);
typedef struct rs_recording_target RsRecordingTarget; /* for g_auto() */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsRecordingTarget, rs_recording_target_clear)

void rs_recording_options_clear(struct rs_recording_options *options);
/*
 * Fills the limits of `config` and the numbers of `file`. Returns 0, or RS_CLI_USAGE after a
 * message.
 */
int rs_recording_options_check(const struct rs_verb *verb,
			       const struct rs_recording_options *options,
			       struct rs_recording_config *config,
			       struct rs_recording_file_config *file);

#endif
