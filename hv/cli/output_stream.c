/* SPDX-License-Identifier: MIT */
#include "cli/output_stream.h"

#include "base/output.h"
#include <errno.h>
#include <ringside/atomic.h>

#define LOOK_US 50000

typedef struct {
	GOutputStream parent;
	struct rs_output output;
	const struct rs_output_deadline *deadline;
	gint64 until; /* of what is being written */
} RsOutputStream;
typedef GOutputStreamClass RsOutputStreamClass;

GType rs_output_stream_get_type(void);
G_DEFINE_TYPE(RsOutputStream, rs_output_stream, G_TYPE_OUTPUT_STREAM)

/* Looks at the deadlines, which another thread sets, a few times a second. */
static int write_on(RsOutputStream *self, const char *bytes, gsize size)
{
	gint64 read_on = g_get_monotonic_time();
	gsize done = 0, part;
	int ret;

	do {
		const gint64 now = g_get_monotonic_time(), until = rs_load(&self->deadline->until);
		const gint64 still = rs_load(&self->deadline->still);

		if ((until && now >= until) ||
		    (still && now >= MAX(still, read_on + RS_OUTPUT_STILL_US)))
			return -ETIMEDOUT;
		self->until = now + LOOK_US;
		ret = rs_output_write(&self->output, bytes + done, size - done, &self->until,
				      &part);
		done += part;
		if (part)
			read_on = g_get_monotonic_time();
	} while (ret == -ETIMEDOUT);
	return ret;
}

static gssize write_bytes(GOutputStream *stream, const void *bytes, gsize size,
			  GCancellable *cancellable, GError **error)
{
	RsOutputStream *self = (RsOutputStream *)stream;
	int ret = write_on(self, bytes, size);

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

GOutputStream *rs_output_stream_new(int fd, const struct rs_output_deadline *deadline)
{
	RsOutputStream *self = g_object_new(rs_output_stream_get_type(), NULL);

	rs_output_init(&self->output, fd);
	self->deadline = deadline;
	return G_OUTPUT_STREAM(self);
}
