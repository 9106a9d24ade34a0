/* SPDX-License-Identifier: MIT */
#include "rs-trace-keep-private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct _RsTraceKeep {
	GInputStream parent_instance;
	GInputStream *base;
	int fd;
};

G_DEFINE_FINAL_TYPE(RsTraceKeep, rs_trace_keep, G_TYPE_INPUT_STREAM)

static gboolean put(const RsTraceKeep *keep, const guint8 *bytes, gsize size, GError **error)
{
	while (size) {
		ssize_t n = write(keep->fd, bytes, size);
		int saved_errno = errno;

		if (n < 0 && saved_errno == EINTR)
			continue;
		if (n < 0) {
			g_set_error(error, G_IO_ERROR, g_io_error_from_errno(saved_errno),
				    "what was read cannot be kept in a temporary file: %s",
				    g_strerror(saved_errno));
			return FALSE;
		}
		bytes += n;
		size -= (gsize)n;
	}
	return TRUE;
}

static gssize keep_read(GInputStream *stream, void *buffer, gsize size, GCancellable *cancellable,
			GError **error)
{
	const RsTraceKeep *keep = RS_TRACE_KEEP(stream);
	gssize n = g_input_stream_read(keep->base, buffer, size, cancellable, error);

	if (n > 0 && !put(keep, buffer, (gsize)n, error))
		return -1;
	return n;
}

static gboolean keep_close(GInputStream *stream, GCancellable *cancellable, GError **error)
{
	return g_input_stream_close(RS_TRACE_KEEP(stream)->base, cancellable, error);
}

static void finalize(GObject *object)
{
	RsTraceKeep *keep = RS_TRACE_KEEP(object);

	g_object_unref(keep->base);
	if (keep->fd >= 0)
		close(keep->fd);
	G_OBJECT_CLASS(rs_trace_keep_parent_class)->finalize(object);
}

static void rs_trace_keep_init(RsTraceKeep *keep)
{
}

static void rs_trace_keep_class_init(RsTraceKeepClass *class)
{
	G_OBJECT_CLASS(class)->finalize = finalize;
	G_INPUT_STREAM_CLASS(class)->read_fn = keep_read;
	G_INPUT_STREAM_CLASS(class)->close_fn = keep_close;
}

GInputStream *rs_trace_keep_new(GInputStream *base, int fd)
{
	RsTraceKeep *keep = g_object_new(RS_TYPE_TRACE_KEEP, NULL);

	keep->base = g_object_ref(base);
	keep->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return G_INPUT_STREAM(keep);
}
