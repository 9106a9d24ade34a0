/* SPDX-License-Identifier: MIT */
#include "items.h"

void test_items_init(TestItems *items)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	*items = (TestItems){.schema = rs_trace_schema_new()};
	test_desc_switch(descs);
	test_desc_all(descs);
	test_take(items->schema, 0, descs);
	items->all = test_payload_all();
	items->task = (RsTraceTask){.comm = "task", .tgid = 70};
	items->item =
		(RsTraceSample){.record = &items->record, .task = &items->task, .source = "guest"};
}

void test_items_clear(TestItems *items)
{
	rs_trace_schema_free(items->schema);
	g_byte_array_unref(items->all);
}

static const RsTraceSample *event(TestItems *items, guint id, guint64 ns, guint pid)
{
	items->record = (RsTraceRecord){.ns = ns, .pid = pid, .id = (guint16)id};
	items->record.event = rs_trace_schema_by_id(items->schema, id);
	return &items->item;
}

const RsTraceSample *test_items_switch(TestItems *items, guint64 ns, guint pid, guint prev,
				       guint next)
{
	event(items, TEST_SWITCH, ns, pid);
	items->pair[0] = prev;
	items->pair[1] = next;
	items->record.payload = (const guint8 *)items->pair;
	items->record.size = sizeof(items->pair);
	return &items->item;
}

const RsTraceSample *test_items_all(TestItems *items, guint64 ns, guint pid)
{
	event(items, TEST_ALL, ns, pid);
	items->record.payload = items->all->data;
	items->record.size = items->all->len;
	return &items->item;
}

const RsTraceSample *test_items_loss(TestItems *items, guint64 ns, guint64 lost)
{
	items->record = (RsTraceRecord){.kind = RS_TRACE_RECORD_LOSS, .ns = ns, .lost = lost};
	return &items->item;
}
