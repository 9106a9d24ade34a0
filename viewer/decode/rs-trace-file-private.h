/* SPDX-License-Identifier: MIT */
/* What the parts of RsTraceFile know of each other. */
#ifndef RS_TRACE_FILE_PRIVATE_H
#define RS_TRACE_FILE_PRIVATE_H

#include "rs-trace-file.h"

#include <zstd.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/* What is wrong with the first part of a head, of the file `id`; NULL: nothing. */
const char *rs_trace_head_judge(const struct rs_file_block *block, guint32 id);
/* Checks a whole head (it clears the check), and finds its parts. What is wrong, or NULL. */
const char *rs_trace_head_parse(GByteArray *head, RsTraceFileBlock *out);

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
/* What the file's data are unpacked with; for others, too. */
ZSTD_DCtx *rs_trace_file_zstd(RsTraceFile *file);

#pragma GCC visibility pop
G_END_DECLS

#endif
