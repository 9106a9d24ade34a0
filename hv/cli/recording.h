/* SPDX-License-Identifier: MIT */
/*
 * A recording as the command makes it: sources, a pump, a recorder, and files. `record` and
 * `snapshot` give it the regions of a session, `run` its own. Thread: main; the recording has one
 * of its own, as rs-trace-pump.h says.
 */
#ifndef RS_HV_CLI_RECORDING_H
#define RS_HV_CLI_RECORDING_H

#include "cli/recording_file.h"
#include <rs-trace-recorder.h>
#include <rs-trace-region.h>
#include <rs-trace-source.h>

struct rs_recording;

struct rs_recording_config {
	struct rs_recording_file *file; /* borrowed */
	int compression;                /* zstd level; 0: none */
	guint64 max_bytes;              /* of all files; 0: no limit */
	guint64 rotate_bytes;           /* another file after so many bytes; 0: not for that */
	guint64 rotate_ms;              /* ... after so long */
	guint window_ms;                /* as RsTraceRecorderConfig has it */
	bool consumes; /* rings in mode drop refuse records until it has read them */
	/* All that a source has written was read, so its region may go. May be NULL. */
	void (*ended)(void *source, void *data);
	/* It has ended by itself: it may write no more, or cannot. May be NULL. */
	void (*done)(void *data);
	void *data;
};

struct rs_recording *rs_recording_new(const struct rs_recording_config *config);
/* Finishes if need be. NULL is accepted. */
void rs_recording_free(struct rs_recording *recording);

/*
 * Adds a source. `header` is its region's; `pages`, which the recording takes over, hands out whole
 * pages of it. `source` is for `ended`. The file begins with the first source, which says where the
 * trace's clock is 0. Returns its number, or -1 after a message.
 */
int rs_recording_add(struct rs_recording *recording, const struct rs_region_header *header,
		     const struct rs_file_source *info, RsTraceSource *pages, void *source);
/* Why that was -1, as the message says; it belongs to the recording. */
const char *rs_recording_problem(const struct rs_recording *recording);
/* Begins to read, perhaps before there is a source. */
void rs_recording_start(struct rs_recording *recording);
/* The source of that number writes no more. */
void rs_recording_end(struct rs_recording *recording, int number);
/* Records are refused from now on while a ring is full. `consumes` is set. */
void rs_recording_set_urgent(struct rs_recording *recording);
/* The doorbell rang. */
void rs_recording_wake(struct rs_recording *recording);

/* What was recorded up to now. */
void rs_recording_progress(const struct rs_recording *recording, RsTraceRecorderStats *out);
/* Reads what is still there, and ends the file. FALSE: it could not be written to its end. */
gboolean rs_recording_finish(struct rs_recording *recording, RsTraceRecorderStats *out,
			     GError **error);
/* Whether a source came. */
bool rs_recording_has_begun(const struct rs_recording *recording);

#endif
