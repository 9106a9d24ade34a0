/* SPDX-License-Identifier: MIT */
#include "rs-trace-bytes-private.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gfiledescriptorbased.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (8u << 10)  /* what is read at least */
#define PIECE (1u << 20)  /* what is read at most, before it is known that there is as much */
#define ROOM (256u << 10) /* a larger buffer is given back */

/* Of what is no file, such as a device, fstat() does not say the size. */
static gboolean is_file(int fd)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

void rs_trace_bytes_init(RsTraceBytes *bytes, GInputStream *stream)
{
	*bytes = (RsTraceBytes){
		.stream = g_object_ref(stream),
		.seekable = G_IS_SEEKABLE(stream) && g_seekable_can_seek(G_SEEKABLE(stream)),
		.buffer = g_byte_array_new(),
		.fd = -1,
	};
	if (bytes->seekable && G_IS_FILE_DESCRIPTOR_BASED(stream))
		bytes->fd = g_file_descriptor_based_get_fd(G_FILE_DESCRIPTOR_BASED(stream));
	if (bytes->fd >= 0 && !is_file(bytes->fd))
		bytes->fd = -1;
}

void rs_trace_bytes_init_fd(RsTraceBytes *bytes, int fd)
{
	*bytes = (RsTraceBytes){.seekable = TRUE, .buffer = g_byte_array_new(), .fd = fd};
}

void rs_trace_bytes_deinit(RsTraceBytes *bytes)
{
	if (!bytes->stream)
		close(bytes->fd);
	g_clear_object(&bytes->stream);
	g_clear_pointer(&bytes->buffer, g_byte_array_unref);
}

guint64 rs_trace_bytes_size(RsTraceBytes *bytes)
{
	struct stat stat;

	if (!bytes->seekable)
		return 0;
	if (bytes->fd >= 0)
		bytes->size = fstat(bytes->fd, &stat) == 0 ? (guint64)stat.st_size : bytes->size;
	else if (g_seekable_seek(G_SEEKABLE(bytes->stream), 0, G_SEEK_END, NULL, NULL))
		bytes->size = bytes->pos = (guint64)g_seekable_tell(G_SEEKABLE(bytes->stream));
	return bytes->size;
}

static guint64 end_of(const RsTraceBytes *bytes)
{
	return bytes->start + bytes->buffer->len;
}

static void empty(RsTraceBytes *bytes, guint64 at)
{
	if (bytes->buffer->len > ROOM) {
		g_byte_array_unref(bytes->buffer);
		bytes->buffer = g_byte_array_new();
	}
	g_byte_array_set_size(bytes->buffer, 0);
	bytes->start = at;
}

static gboolean go_to(RsTraceBytes *bytes, guint64 at, GError **error)
{
	if (bytes->pos != at && bytes->fd < 0 &&
	    !g_seekable_seek(G_SEEKABLE(bytes->stream), (goffset)at, G_SEEK_SET, NULL, error))
		return FALSE;
	bytes->pos = at;
	return TRUE;
}

/* A file's own descriptor needs no seek, which makes a look at all heads twice as fast. */
static gssize read_fd(const RsTraceBytes *bytes, guint8 *to, gsize size, GError **error)
{
	gssize n;

	do
		n = pread(bytes->fd, to, size, (off_t)bytes->pos);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		g_set_error_literal(error, G_IO_ERROR, g_io_error_from_errno(errno),
				    g_strerror(errno));
	return n;
}

/* Reads up to `size` bytes to `to`, as many as come at once. Negative: error. */
static gssize read_some(RsTraceBytes *bytes, guint8 *to, gsize size, GCancellable *cancellable,
			GError **error)
{
	gssize n;

	if (bytes->fd < 0)
		n = g_input_stream_read(bytes->stream, to, size, cancellable, error);
	else if (g_cancellable_set_error_if_cancelled(cancellable, error))
		n = -1;
	else
		n = read_fd(bytes, to, size, error);
	if (n > 0)
		bytes->pos += (guint64)n;
	return n;
}

/* Appends what comes. Negative: error. 0: the end. */
static gssize fill(RsTraceBytes *bytes, gsize size, GError **error)
{
	guint had = bytes->buffer->len;
	gssize n;

	size = CLAMP(size, CHUNK, PIECE);
	g_byte_array_set_size(bytes->buffer, had + (guint)size);
	n = read_some(bytes, bytes->buffer->data + had, size, bytes->cancellable, error);
	g_byte_array_set_size(bytes->buffer, had + (guint)MAX(n, 0));
	return n;
}

void rs_trace_bytes_forget(RsTraceBytes *bytes, guint64 at)
{
	if (!bytes->seekable)
		bytes->keep = MAX(bytes->keep, at);
}

static void drop_forgotten(RsTraceBytes *bytes)
{
	guint64 n = bytes->keep > bytes->start ? bytes->keep - bytes->start : 0;

	n = MIN(n, bytes->buffer->len);
	if (n)
		g_byte_array_remove_range(bytes->buffer, 0, (guint)n);
	bytes->start += n;
}

gboolean rs_trace_bytes_reach(RsTraceBytes *bytes, guint64 at)
{
	return !bytes->seekable || at <= bytes->size || at <= rs_trace_bytes_size(bytes);
}

const guint8 *rs_trace_bytes_peek(RsTraceBytes *bytes, guint64 at, gsize size, gsize *got,
				  GError **error)
{
	gssize n = 1;

	*got = 0;
	/* Some streams refuse to go beyond their end. */
	if (!rs_trace_bytes_reach(bytes, at))
		return (const guint8 *)"";
	if (bytes->seekable && (at < bytes->start || at + size > end_of(bytes))) {
		empty(bytes, at);
		if (!go_to(bytes, at, error))
			return NULL;
	}
	while (n > 0 && end_of(bytes) < at + size) {
		drop_forgotten(bytes);
		n = fill(bytes, (gsize)MIN(at + size - end_of(bytes), PIECE), error);
	}
	if (n < 0)
		return NULL;
	if (end_of(bytes) <= at)
		return (const guint8 *)"";
	*got = (gsize)MIN(size, end_of(bytes) - at);
	return bytes->buffer->data + (at - bytes->start);
}

/* What is in the buffer, and then the rest without it. */
static gboolean read_seekable(RsTraceBytes *bytes, guint64 at, guint8 *to, gsize size,
			      GError **error)
{
	gsize n = 0;
	gssize got = 1;

	if (!rs_trace_bytes_reach(bytes, at))
		return FALSE;
	if (at >= bytes->start && at < end_of(bytes)) {
		n = (gsize)MIN(size, end_of(bytes) - at);
		memcpy(to, bytes->buffer->data + (at - bytes->start), n);
	}
	if (n < size && !go_to(bytes, at + n, error))
		return FALSE;
	while (n < size && got > 0) {
		got = read_some(bytes, to + n, size - n, NULL, error);
		n += (gsize)MAX(got, 0);
	}
	return n == size;
}

gboolean rs_trace_bytes_read(RsTraceBytes *bytes, guint64 at, guint8 *to, gsize size,
			     GError **error)
{
	const guint8 *there;
	gsize got;

	if (bytes->seekable)
		return read_seekable(bytes, at, to, size, error);
	there = rs_trace_bytes_peek(bytes, at, size, &got, error);
	if (there && got == size)
		memcpy(to, there, size);
	return there && got == size;
}

guint8 *rs_trace_bytes_copy(RsTraceBytes *bytes, guint64 at, gsize size, GError **error)
{
	g_autofree guint8 *copy = NULL;
	const guint8 *there;
	gsize got;

	if (bytes->seekable) {
		if (!rs_trace_bytes_reach(bytes, at + size))
			return NULL;
		copy = g_malloc(MAX(size, 1));
		return read_seekable(bytes, at, copy, size, error) ? g_steal_pointer(&copy) : NULL;
	}
	there = rs_trace_bytes_peek(bytes, at, size, &got, error);
	return there && got == size ? g_memdup2(there, MAX(size, 1)) : NULL;
}

gboolean rs_trace_bytes_announce(RsTraceBytes *bytes, guint64 at, gsize size)
{
	if (bytes->fd < 0)
		return FALSE;
	posix_fadvise(bytes->fd, (off_t)at, (off_t)size, POSIX_FADV_WILLNEED);
	return TRUE;
}
