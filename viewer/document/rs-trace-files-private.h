/* SPDX-License-Identifier: MIT */
/*
 * The files of a document, which any number of readers read. Sources have the same index for all of
 * them. A file may still grow: what a session writes, and what comes through a pipe.
 *
 * Any thread. Trust: as rs-trace-reader.h.
 */
#ifndef RS_TRACE_FILES_PRIVATE_H
#define RS_TRACE_FILES_PRIVATE_H

#include "rs-trace-reader.h"

G_BEGIN_DECLS

typedef struct _RsTraceFiles RsTraceFiles;

RsTraceFiles *rs_trace_files_new(void);
RsTraceFiles *rs_trace_files_ref(RsTraceFiles *files);
/* NULL is accepted. */
void rs_trace_files_unref(RsTraceFiles *files);

/*
 * Opens what is to be read, for the first time; others wait for that. NULL: an error, which names
 * the file.
 */
RsTraceReader *rs_trace_files_open(RsTraceFiles *files, const char *const *paths,
				   GCancellable *cancellable, GError **error);
/* Instead of that: one file that somebody writes. `fd` is taken over. */
void rs_trace_files_take(RsTraceFiles *files, int fd);
/* There will be nothing to open. */
void rs_trace_files_fail(RsTraceFiles *files);
/* Nothing will be added to the files any more. */
void rs_trace_files_end(RsTraceFiles *files);
gboolean rs_trace_files_have_ended(RsTraceFiles *files);
/* Whether it is a file that somebody writes, and who has read all of it has all that there is. */
gboolean rs_trace_files_are_live(RsTraceFiles *files);
/* Whether what is at `path` is one of the files that are open, perhaps by another name. */
gboolean rs_trace_files_have(RsTraceFiles *files, const char *path);
/* Bytes of all files as they are now. */
guint64 rs_trace_files_size(RsTraceFiles *files);

/*
 * A reader of one's own, which begins with the first record. Waits until the files were opened.
 * What is written later it does not read. NULL: error.
 */
RsTraceReader *rs_trace_files_read(RsTraceFiles *files, GCancellable *cancellable, GError **error);
/* Waits for more than `size` bytes, or the end, or some 100 ms. FALSE: cancelled. */
gboolean rs_trace_files_wait(RsTraceFiles *files, guint64 size, GCancellable *cancellable);

G_END_DECLS

#endif
