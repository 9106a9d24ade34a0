/* SPDX-License-Identifier: MIT */
#include "rs-trace-pack-private.h"

/* More than a record needs besides its payload, with all its marks. */
#define ROOM(frames) (40 + sizeof(struct rs_rec_stack) + (frames) * sizeof(guint64))

/* Bytes of the payload that go into a page of any other record but this. */
static gsize payload_size(const RsTracePack *pack, const RsTracePackRecord *record)
{
	gsize most = pack->size - RS_RING_PAGE_HEADER - ROOM(record->n_frames);

	return MIN(record->payload->len, MIN(most, RS_REC_MAX - sizeof(struct rs_rec_header)));
}

gboolean rs_trace_pack_fits(const RsTracePack *pack, const RsTracePackRecord *record)
{
	return pack->page->len + ROOM(record->n_frames) + payload_size(pack, record) <= pack->size;
}

static void put(RsTracePack *pack, gconstpointer bytes, gsize size)
{
	static const guint8 zero[8];

	g_byte_array_append(pack->page, bytes, (guint)size);
	g_byte_array_append(pack->page, zero, (guint)(-size & 7));
}

void rs_trace_pack_begin(RsTracePack *pack, const RsTracePackRecord *first,
			 const struct rs_ring_page *rest)
{
	struct rs_ring_page head = *rest;

	head.ts = first->ts;
	head.context = first->context;
	head.pid = first->pid;
	head.header_size = RS_RING_PAGE_HEADER;
	pack->page = g_byte_array_new();
	pack->ts = first->ts;
	pack->pid = first->pid;
	pack->context = first->context;
	put(pack, &head, sizeof(head));
}

static void put_stack(RsTracePack *pack, const RsTracePackRecord *record)
{
	const gsize size = record->n_frames * sizeof(*record->frames);
	struct rs_rec_stack mark = {.id = RS_REC_STACK, .size = (uint16_t)(sizeof(mark) + size)};

	put(pack, &mark, sizeof(mark));
	put(pack, record->frames, size);
}

void rs_trace_pack_put(RsTracePack *pack, const RsTracePackRecord *record)
{
	struct rs_rec_context mark = {
		.id = RS_REC_CONTEXT, .context = record->context, .pid = record->pid};
	struct rs_rec_time time = {.id = RS_REC_TIME, .size = sizeof(time), .ts = record->ts};
	gsize size = payload_size(pack, record);
	struct rs_rec_header head = {.id = (uint16_t)record->id,
				     .size = (uint16_t)(size + sizeof(head)),
				     .ts = (uint32_t)record->ts};

	if (record->pid != pack->pid || record->context != pack->context)
		put(pack, &mark, sizeof(mark));
	if (record->ts < pack->ts || record->ts - pack->ts > G_MAXUINT32) {
		time.chain = ((const struct rs_ring_page *)pack->page->data)->chain;
		put(pack, &time, sizeof(time));
	}
	if (record->n_frames)
		put_stack(pack, record);
	if (size < record->payload->len)
		head.size |= RS_REC_CUT;
	g_byte_array_append(pack->page, (const guint8 *)&head, sizeof(head));
	put(pack, record->payload->data, size);
	pack->ts = record->ts;
	pack->pid = record->pid;
	pack->context = record->context;
}

GByteArray *rs_trace_pack_end(RsTracePack *pack)
{
	((struct rs_ring_page *)pack->page->data)->committed = pack->page->len;
	return g_steal_pointer(&pack->page);
}
