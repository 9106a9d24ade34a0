/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a stream by their place, from a file or a pipe. A pipe keeps what is behind the last
 * rs_trace_bytes_forget(), so one can look at it twice.
 *
 * A wait for bytes of a pipe, and a walk from block to block, can be cancelled: they fail with
 * G_IO_ERROR_CANCELLED, and can be done again. Reads of what a block of a file has cannot.
 *
 * Trust: sizes that a caller asks for may be lies of a file. No more memory is taken than there are
 * bytes. One thread at a time.
 */
#ifndef RS_TRACE_BYTES_PRIVATE_H
#define RS_TRACE_BYTES_PRIVATE_H

#include <gio/gio.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

typedef struct {
	GInputStream *stream;      /* NULL: there is only `fd` */
	GCancellable *cancellable; /* borrowed; NULL: none */
	gboolean seekable;
	int fd;             /* of a file that lies here; -1: of anything else */
	guint64 pos;        /* where the next read begins */
	guint64 size;       /* of a seekable stream, as it was seen last */
	guint64 keep;       /* of a pipe: what is before it was forgotten */
	guint64 start;      /* where `buffer` lies */
	GByteArray *buffer; /* bytes that were read */
} RsTraceBytes;

/* Keeps a reference to `stream`. */
void rs_trace_bytes_init(RsTraceBytes *bytes, GInputStream *stream);
/* Takes over the descriptor of a file. */
void rs_trace_bytes_init_fd(RsTraceBytes *bytes, int fd);
void rs_trace_bytes_deinit(RsTraceBytes *bytes);

/* Of a pipe: nothing before `at` is asked for again. */
void rs_trace_bytes_forget(RsTraceBytes *bytes, guint64 at);
/*
 * The bytes from `at` on, valid until the next call: *got of them, fewer than `size` only where the
 * stream ends. NULL: an error of the stream.
 */
const guint8 *rs_trace_bytes_peek(RsTraceBytes *bytes, guint64 at, gsize size, gsize *got,
				  GError **error);
/* All of them, to `to`. FALSE without `error`: the stream ends before. */
gboolean rs_trace_bytes_read(RsTraceBytes *bytes, guint64 at, guint8 *to, gsize size,
			     GError **error);
/* The same as a copy, for the caller to free. No memory is taken for bytes that are not there. */
guint8 *rs_trace_bytes_copy(RsTraceBytes *bytes, guint64 at, gsize size, GError **error);
/* These bytes will be asked for, a few at a time. FALSE: nobody can be told, as it has no `fd`. */
gboolean rs_trace_bytes_announce(RsTraceBytes *bytes, guint64 at, gsize size);
/* FALSE: the stream is known to end before `at`. */
gboolean rs_trace_bytes_reach(RsTraceBytes *bytes, guint64 at);
/* Up to where a seekable stream reaches now; 0 for a pipe. */
guint64 rs_trace_bytes_size(RsTraceBytes *bytes);

#pragma GCC visibility pop
G_END_DECLS

#endif
