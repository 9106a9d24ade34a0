/* SPDX-License-Identifier: MIT */
#include "rs-trace-ctf-private.h"
#include "rs-trace-formats-private.h"
#include "rs-trace-text.h"

#include <string.h>

/* As the metadata describes it: the packet's header and context. */
struct head {
	guint32 magic;
	guint8 uuid[16];
	guint32 stream_id;
	guint64 stream_instance_id;
	guint64 timestamp_begin, timestamp_end;
	guint64 content_size, packet_size; /* bits */
	guint64 packet_seq_num;
	guint64 events_discarded;
	guint32 cpu_id;
} __attribute__((packed));
G_STATIC_ASSERT(sizeof(struct head) == 84);

static void put(RsCtfStream *stream, guint64 value, guint size)
{
	g_byte_array_append(stream->bytes, (const guint8 *)&value, size);
}

static void put_string(RsCtfStream *stream, const char *text, gsize size)
{
	rs_trace_export_put_utf8(stream->bytes, text, size);
	put(stream, 0, 1);
}

/* ---- packets ---- */

static void begin_packet(RsCtfStream *stream, guint64 ns)
{
	if (stream->open)
		return;
	stream->open = TRUE;
	stream->start = stream->bytes->len;
	stream->begin = ns;
	g_byte_array_set_size(stream->bytes, stream->bytes->len + sizeof(struct head));
}

void rs_ctf_stream_end_packet(RsCtfStream *stream, const RsCtfTrace *trace)
{
	guint64 bits = (guint64)(stream->bytes->len - stream->start) * 8;
	struct head head = {
		.magic = RS_CTF_MAGIC,
		.stream_instance_id = stream->ring,
		.timestamp_begin = stream->begin,
		.timestamp_end = stream->last,
		.content_size = bits,
		.packet_size = bits,
		.packet_seq_num = stream->packets,
		.events_discarded = stream->discarded,
		.cpu_id = stream->ring,
	};

	if (!stream->open)
		return;
	memcpy(head.uuid, trace->uuid, sizeof(head.uuid));
	memcpy(stream->bytes->data + stream->start, &head, sizeof(head));
	stream->packets++;
	stream->open = FALSE;
}

/* Times of a stream never go back, which its readers insist on. */
static guint64 time_of(RsCtfStream *stream, guint64 ns)
{
	stream->last = CLAMP(ns, stream->last, RS_CTF_TIME_MAX);
	return stream->last;
}

/*
 * What a packet says to be lost is lost between the end of the packet before it and its own end. So
 * a packet without events says it, and the one before it is ended.
 */
void rs_ctf_stream_loss(RsCtfStream *stream, const RsCtfTrace *trace, guint64 ns, guint64 lost)
{
	if (!stream->packets)
		begin_packet(stream, time_of(stream, ns));
	rs_ctf_stream_end_packet(stream, trace);
	begin_packet(stream, time_of(stream, ns));
	stream->discarded += lost;
	rs_ctf_stream_end_packet(stream, trace);
}

/* ---- events ---- */

static void put_elements(RsCtfStream *stream, const RsTraceField *field, const guint8 *bytes,
			 guint length)
{
	guint count = length / field->elem_size;

	if (field->kind == RS_KIND_DYN_ARRAY)
		put(stream, count, 4);
	g_byte_array_append(stream->bytes, bytes, count * field->elem_size);
}

/* A field that the payload lacks is zero or empty. */
static void put_nothing(RsCtfStream *stream, const RsTraceField *field)
{
	gsize at = stream->bytes->len, size = field->size;

	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING)
		size = 1;
	else if (field->kind == RS_KIND_DYN_ARRAY)
		size = 4;
	else if (field->kind == RS_KIND_ARRAY)
		size = field->size / field->elem_size * field->elem_size;
	g_byte_array_set_size(stream->bytes, (guint)(at + size));
	memset(stream->bytes->data + at, 0, size);
}

/* FALSE: the payload lacks a field. */
static gboolean put_fields(RsCtfStream *stream, const RsTraceRecord *record)
{
	gboolean whole = !record->cut;
	const guint8 *bytes;
	guint length;

	for (guint i = 0; i < record->event->n_fields; i++) {
		const RsTraceField *field = &record->event->fields[i];

		if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length)) {
			put_nothing(stream, field);
			whole = FALSE;
		} else if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
			put_string(stream, (const char *)bytes, length);
		} else if (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY) {
			put_elements(stream, field, bytes, length);
		} else {
			g_byte_array_append(stream->bytes, bytes, field->size);
		}
	}
	return whole;
}

static void put_unknown(RsCtfStream *stream, const RsTraceRecord *record)
{
	put(stream, record->id, 2);
	put(stream, record->size, 4);
	g_byte_array_append(stream->bytes, record->payload, record->size);
}

void rs_ctf_stream_event(RsCtfStream *stream, const RsCtfTrace *trace, guint id,
			 const RsTraceExportItem *item)
{
	const RsTraceRecord *record = item->record;
	guint64 ns = time_of(stream, record->ns);
	gboolean whole = !record->cut;
	char flags[6] = "";
	gsize cut_at;

	begin_packet(stream, ns);
	put(stream, id, 2);
	put(stream, ns, 8);
	put(stream, record->pid, 4);
	put(stream, item->task->tgid, 4);
	put_string(stream, item->task->comm, strlen(item->task->comm));
	if (record->kind == RS_TRACE_RECORD_EVENT)
		rs_trace_text_flags(record->context, flags);
	g_byte_array_append(stream->bytes, (const guint8 *)flags, (guint)strlen(flags) + 1);
	cut_at = stream->bytes->len;
	put(stream, 0, 1);
	if (record->n_stack && id >= RS_CTF_FIRST)
		g_byte_array_append(stream->bytes, record->stack, 8 * record->n_stack);
	if (id == RS_CTF_BOOT)
		put(stream, record->when.boot, 4);
	else if (id == RS_CTF_UNKNOWN)
		put_unknown(stream, record);
	else
		whole = put_fields(stream, record);
	stream->bytes->data[cut_at] = !whole;
}
