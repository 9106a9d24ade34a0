/* SPDX-License-Identifier: MIT */
#include "cli/output_stream.h"

#include "base/output.h"
#include <errno.h>

typedef struct {
	GOutputStream parent;
	struct rs_output output;
	const gint64 *until;
} RsOutputStream;
typedef GOutputStreamClass RsOutputStreamClass;

GType rs_output_stream_get_type(void);
G_DEFINE_TYPE(RsOutputStream, rs_output_stream, G_TYPE_OUTPUT_STREAM)

static gssize write_bytes(GOutputStream *stream, const void *bytes, gsize size,
			  GCancellable *cancellable, GError **error)
{
	RsOutputStream *self = (RsOutputStream *)stream;
	int ret = rs_output_write(&self->output, bytes, size, self->until, NULL);

	if (ret == 0)
		return (gssize)size;
	if (ret == -ETIMEDOUT)
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT, "nobody read it");
	else
		g_set_error_literal(error, G_IO_ERROR, (gint)g_io_error_from_errno(-ret),
				    g_strerror(-ret));
	return -1;
}

static void finalize(GObject *object)
{
	rs_output_deinit(&((RsOutputStream *)object)->output);
	G_OBJECT_CLASS(rs_output_stream_parent_class)->finalize(object);
}

static void rs_output_stream_class_init(RsOutputStreamClass *class)
{
	class->write_fn = write_bytes;
	G_OBJECT_CLASS(class)->finalize = finalize;
}

static void rs_output_stream_init(RsOutputStream *self)
{
}

GOutputStream *rs_output_stream_new(int fd, const gint64 *until)
{
	RsOutputStream *self = g_object_new(rs_output_stream_get_type(), NULL);

	rs_output_init(&self->output, fd);
	self->until = until;
	return G_OUTPUT_STREAM(self);
}
