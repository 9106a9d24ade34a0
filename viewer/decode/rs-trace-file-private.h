/* SPDX-License-Identifier: MIT */
/* What the parts of RsTraceFile know of each other. */
#ifndef RS_TRACE_FILE_PRIVATE_H
#define RS_TRACE_FILE_PRIVATE_H

#include "rs-trace-file.h"

#include <zstd.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/* The same as rs_trace_file_new() of the descriptor of a file, which is taken over in any case. */
RsTraceFile *rs_trace_file_new_fd(int fd, GCancellable *cancellable, GError **error);

/*
 * A pipe is made of a trace.dat. `fd`: that file, taken over. So rs_trace_file_make_seekable() can
 * make a file of it without a name, once somebody wants to seek.
 */
void rs_trace_file_set_origin(RsTraceFile *file, int fd);
/* -1: it has none. */
int rs_trace_file_origin(const RsTraceFile *file);
/* FALSE: it is as it was. G_IO_ERROR_NOT_SUPPORTED: nothing is known of where it comes from. */
gboolean rs_trace_file_make_seekable(RsTraceFile *file, GError **error);
/* The same bytes come from the file `fd` from now on, the first block first. `fd` is taken over. */
gboolean rs_trace_file_replace(RsTraceFile *file, int fd, GError **error);

GCancellable *rs_trace_file_cancellable(const RsTraceFile *file);

/* rs_trace_file_places() if the file has its end and an index; else NULL. */
GArray *rs_trace_file_index(RsTraceFile *file);
/*
 * Whether there is the block that a place says: of its kind, of its source, and a window of its
 * moment. `out` is its head, as from rs_trace_file_read().
 */
gboolean rs_trace_file_place_fits(RsTraceFile *file, const struct rs_file_place *place,
				  RsTraceFileBlock *out);

/* What is wrong with the first part of a head, of the file `id`; NULL: nothing. */
const char *rs_trace_head_judge(const struct rs_file_block *block, guint32 id);
/* Checks a whole head (it clears the check), and finds its parts. What is wrong, or NULL. */
const char *rs_trace_head_parse(GByteArray *head, RsTraceFileBlock *out);

/* Bytes of data that blocks of a kind may have. 0: nobody looks at their data. */
gsize rs_trace_head_most_data(guint kind);

/* Where the next block is read. */
guint64 rs_trace_file_at(const RsTraceFile *file);
/* Bytes that a seekable file has now. */
guint64 rs_trace_file_size(RsTraceFile *file);
/*
 * Searches from *at, before `to`, for the first whole head of a block, and tells where it is. What
 * is passed over does not count as damage.
 */
gboolean rs_trace_file_find(RsTraceFile *file, guint64 *at, guint64 to, RsTraceFileBlock *out);
/* FALSE: some of these bytes cannot be read. `error` is set if the stream is why. */
gboolean rs_trace_file_read_part(RsTraceFile *file, guint64 at, guint8 *to, gsize size,
				 GError **error);
/* Parts of this will be read. FALSE: a call for each would take long, as the file is far away. */
gboolean rs_trace_file_announce(RsTraceFile *file, const RsTraceFilePlace *place);
/* What the file's data are unpacked with; for others, too. */
ZSTD_DCtx *rs_trace_file_zstd(RsTraceFile *file);

#pragma GCC visibility pop
G_END_DECLS

#endif
