/* SPDX-License-Identifier: MIT */
#include "rs-trace-origin.h"
#include "rs-trace-escape.h"

RsTraceOrigin *rs_trace_origin_new(const struct rs_file_source *info, gboolean named, guint index,
				   gpointer owner)
{
	RsTraceOrigin *origin = g_new0(RsTraceOrigin, 1);

	if (named) {
		origin->name = info->name;
		origin->escaped = rs_trace_escape(info->name, -1, NULL);
	}
	origin->number = info->number;
	origin->index = index;
	origin->info = info;
	origin->owner = owner;
	return origin;
}

void rs_trace_origin_free(RsTraceOrigin *origin)
{
	g_free((char *)origin->escaped);
	g_free(origin);
}
