/* SPDX-License-Identifier: MIT */
/*
 * Where an export goes. It is written under another name beside its place, and gets its own name at
 * the end, so that there is never half of it under that name. What was not committed is removed.
 *
 * A path is trusted, as the user named it. One thread at a time.
 */
#ifndef RS_TRACE_OUTPUT_H
#define RS_TRACE_OUTPUT_H

#include <gio/gio.h>
#include <sys/stat.h>

G_BEGIN_DECLS

typedef struct _RsTraceOutput RsTraceOutput;

typedef enum {
	RS_TRACE_OUTPUT_FILE = 0,
	RS_TRACE_OUTPUT_DIRECTORY = 1 << 0,
	/*
	 * What is there is replaced, at the end. Of a directory only if nothing else is in it than
	 * such an export: files "metadata" and "stream-*", also in folders of it.
	 */
	RS_TRACE_OUTPUT_FORCE = 1 << 1,
} RsTraceOutputFlags;

/*
 * G_IO_ERROR_EXISTS: something is there, and FORCE is not given or may not replace it.
 * IS_DIRECTORY, NOT_DIRECTORY: it is of the other kind. What is there and is neither a file nor a
 * directory, as a pipe or a device, is written as it is.
 */
RsTraceOutput *rs_trace_output_new(const char *path, RsTraceOutputFlags flags, GError **error);
/* Of a file: to a stream, which is closed at the end. Keeps a reference to it. */
RsTraceOutput *rs_trace_output_new_for_stream(GOutputStream *stream);
/* Of a directory that nobody sees: what is written to it is only counted. For tests. */
RsTraceOutput *rs_trace_output_new_nowhere(void);
/* NULL is accepted. */
void rs_trace_output_free(RsTraceOutput *output);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceOutput, rs_trace_output_free)

/*
 * Whether what is at `path` is this file, perhaps by another name, so that it must not be replaced.
 * `info` is of stat() or fstat().
 */
gboolean rs_trace_output_is_file(const char *path, const struct stat *info);

/* Bytes that are written so far, also after the commit; of a stream, 0. */
guint64 rs_trace_output_size(const RsTraceOutput *output);
/* Of a file. Borrowed. Whether it is seekable, GSeekable says. */
GOutputStream *rs_trace_output_stream(const RsTraceOutput *output);
/* Of a directory: makes a folder in it. `name` has no slash. */
gboolean rs_trace_output_make_folder(RsTraceOutput *output, const char *name, GError **error);
/* Of a directory: appends to a file in such a folder, which may be new. It is not kept open. */
gboolean rs_trace_output_append(RsTraceOutput *output, const char *folder, const char *name,
				gconstpointer bytes, gsize size, GError **error);
/*
 * An empty file for what has to wait, open for reading and writing. It has no name, and lies on the
 * disk of the output, or, of a stream, in the folder for temporary files. Returns a descriptor that
 * is the caller's, or -1.
 */
int rs_trace_output_scratch(const RsTraceOutput *output, GError **error);

/* Closes the stream, and puts the output into its place. */
gboolean rs_trace_output_commit(RsTraceOutput *output, GCancellable *cancellable, GError **error);

G_END_DECLS

#endif
