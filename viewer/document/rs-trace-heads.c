/* SPDX-License-Identifier: MIT */
#include "rs-trace-heads-private.h"

#include "timeline/rs-trace-timeline.h"

struct _RsTraceHeads {
	GPtrArray *sources; /* by index, of GArray of RsTraceHead by ring; NULL: none */
};

static void source_free(gpointer data)
{
	if (data)
		g_array_unref(data);
}

RsTraceHeads *rs_trace_heads_new(void)
{
	RsTraceHeads *heads = g_new0(RsTraceHeads, 1);

	heads->sources = g_ptr_array_new_with_free_func(source_free);
	return heads;
}

void rs_trace_heads_free(RsTraceHeads *heads)
{
	g_ptr_array_unref(heads->sources);
	g_free(heads);
}

void rs_trace_heads_clear(RsTraceHeads *heads)
{
	g_ptr_array_set_size(heads->sources, 0);
}

RsTraceHead *rs_trace_heads_get(RsTraceHeads *heads, guint source, guint ring)
{
	GArray *rings;

	if (source >= heads->sources->len)
		g_ptr_array_set_size(heads->sources, (gint)source + 1);
	if (!heads->sources->pdata[source])
		heads->sources->pdata[source] = g_array_new(FALSE, TRUE, sizeof(RsTraceHead));
	rings = heads->sources->pdata[source];
	if (ring >= rings->len)
		g_array_set_size(rings, ring + 1);
	return &g_array_index(rings, RsTraceHead, ring);
}

const RsTraceHead *rs_trace_heads_take(RsTraceHeads *heads, const RsTraceRecord *record)
{
	RsTraceHead *head = rs_trace_heads_get(heads, record->origin->index, record->ring);
	const guint64 ns = rs_trace_timeline_time_of(record, head->ns);

	if (ns > head->ns)
		*head = (RsTraceHead){.ns = ns};
	if (record->kind == RS_TRACE_RECORD_EVENT)
		head->events++;
	else
		head->others++;
	return head;
}
