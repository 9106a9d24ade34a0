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
	origin->index = origin->machine = index;
	origin->info = info;
	origin->owner = owner;
	return origin;
}

void rs_trace_origin_free(RsTraceOrigin *origin)
{
	g_free((char *)origin->escaped);
	g_free(origin);
}

void rs_trace_origin_meet(RsTraceOrigin *origin, const RsTraceOrigin *other)
{
	const struct rs_file_source *info = origin->info;

	if (info->machine && other->number == info->machine &&
	    other->info->session_id == info->session_id)
		origin->machine = other->machine;
}

void rs_trace_origin_take_boots(struct rs_file_source *info,
				const struct rs_file_boot boots[RS_BOOTS])
{
	guint32 newest = 0;

	for (guint i = 0; i < RS_BOOTS; i++) {
		if (!boots[i].arch || boots[i].boot < newest)
			continue;
		newest = boots[i].boot;
		info->arch = boots[i].arch;
		info->pid = boots[i].pid;
	}
}
