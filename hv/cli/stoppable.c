/* SPDX-License-Identifier: MIT */
#include "cli/stoppable.h"

typedef struct {
	GFilterInputStream parent;
	GCancellable *cancellable;
} RsStoppable;
typedef GFilterInputStreamClass RsStoppableClass;

static GType rs_stoppable_get_type(void);
G_DEFINE_TYPE(RsStoppable, rs_stoppable, G_TYPE_FILTER_INPUT_STREAM)

static gssize read_bytes(GInputStream *stream, void *buffer, gsize count, GCancellable *unused,
			 GError **error)
{
	RsStoppable *self = (RsStoppable *)stream;

	return g_input_stream_read(self->parent.base_stream, buffer, count, self->cancellable,
				   error);
}

static void finalize(GObject *object)
{
	g_object_unref(((RsStoppable *)object)->cancellable);
	G_OBJECT_CLASS(rs_stoppable_parent_class)->finalize(object);
}

static void rs_stoppable_class_init(RsStoppableClass *class)
{
	((GObjectClass *)class)->finalize = finalize;
	((GInputStreamClass *)class)->read_fn = read_bytes;
}

static void rs_stoppable_init(RsStoppable *self)
{
}

GInputStream *rs_stoppable_new(GInputStream *base, GCancellable *cancellable)
{
	RsStoppable *self = g_object_new(rs_stoppable_get_type(), "base-stream", base, NULL);

	self->cancellable = g_object_ref(cancellable);
	return (GInputStream *)self;
}
