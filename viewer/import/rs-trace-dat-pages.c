/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-pages-private.h"
#include "rs-trace-dat-maps-private.h"

#include <ringside/ring.h>
#include <string.h>

#define WINDOW (RS_FILE_WINDOW_BYTES / 2)
#define OPEN_MAX (WINDOW / 2) /* bytes of pages that are being filled, and held */
/* More than a record needs besides its payload, with all its marks. */
#define ROOM(frames) (40 + sizeof(struct rs_rec_stack) + (frames) * sizeof(guint64))

static gboolean end_page(Import *import, Source *source, guint number)
{
	Ring *ring = &source->rings[number];
	struct rs_file_page entry = {
		.lost = ring->lost, .from = RS_RING_PAGE_HEADER, .ring = number};
	gboolean ok;

	if (!ring->page)
		return TRUE;
	((struct rs_ring_page *)ring->page->data)->committed = ring->page->len;
	entry.to = ring->page->len;
	ok = rs_trace_writer_put_page(import->writer, source->number, ring->page->data, &entry,
				      import->error);
	import->open -= ring->page->len;
	g_clear_pointer(&ring->page, g_byte_array_unref);
	ring->lost = 0;
	return ok;
}

static void put(Import *import, Ring *ring, gconstpointer bytes, gsize size)
{
	static const guint8 zero[8];

	g_byte_array_append(ring->page, bytes, (guint)size);
	g_byte_array_append(ring->page, zero, (guint)(-size & 7));
	import->open += (size + 7) & ~(gsize)7;
}

static void begin_page(Import *import, const Source *source, guint number, guint64 ns, guint32 pid,
		       guint16 context)
{
	Ring *ring = &source->rings[number];
	struct rs_ring_page head = {.seq = ring->seq++,
				    .ts = ns,
				    .records = ring->records,
				    .boot = source->boot,
				    .context = context,
				    .ring = (uint16_t)number,
				    .header_size = RS_RING_PAGE_HEADER,
				    .pid = pid};

	ring->page = g_byte_array_new();
	ring->ns = ns;
	ring->pid = pid;
	ring->context = context;
	put(import, ring, &head, sizeof(head));
}

static void put_stack(Import *import, Ring *ring, const guint64 *frames, guint n)
{
	struct rs_rec_stack mark = {.id = RS_REC_STACK,
				    .size = (uint16_t)(sizeof(mark) + n * sizeof(*frames))};

	put(import, ring, &mark, sizeof(mark));
	put(import, ring, frames, n * sizeof(*frames));
}

static void put_record(Import *import, Ring *ring, const Held *held, const guint64 *frames,
		       guint n_frames)
{
	struct rs_rec_context mark = {
		.id = RS_REC_CONTEXT, .context = held->context, .pid = held->pid};
	struct rs_rec_time time = {.id = RS_REC_TIME, .size = sizeof(time), .ts = held->ns};
	gsize size = MIN(held->payload->len, RS_TRACE_DAT_PAYLOAD_MAX);
	struct rs_rec_header head = {.id = (uint16_t)held->id,
				     .size = (uint16_t)(size + sizeof(head)),
				     .ts = (uint32_t)held->ns};

	if (held->pid != ring->pid || held->context != ring->context)
		put(import, ring, &mark, sizeof(mark));
	if (held->ns < ring->ns || held->ns - ring->ns > G_MAXUINT32)
		put(import, ring, &time, sizeof(time));
	if (n_frames)
		put_stack(import, ring, frames, n_frames);
	if (size < held->payload->len)
		head.size |= RS_REC_CUT;
	g_byte_array_append(ring->page, (const guint8 *)&head, sizeof(head));
	import->open += sizeof(head);
	put(import, ring, held->payload->data, size);
	ring->records++;
	ring->ns = held->ns;
	ring->pid = held->pid;
	ring->context = held->context;
}

gboolean rs_trace_dat_pages_release(Import *import, Source *source, guint number,
				    const guint64 *frames, guint n_frames)
{
	Ring *ring = &source->rings[number];
	Held *held = &ring->held;
	gsize size;

	if (!held->payload)
		return TRUE;
	size = ROOM(n_frames) + MIN(held->payload->len, RS_TRACE_DAT_PAYLOAD_MAX);
	if (ring->page && ring->page->len + size > RS_TRACE_DAT_PAGE &&
	    !end_page(import, source, number))
		return FALSE;
	if (!ring->page)
		begin_page(import, source, number, held->ns, held->pid, held->context);
	put_record(import, ring, held, frames, n_frames);
	import->open -= held->payload->len;
	g_clear_pointer(&held->payload, g_byte_array_unref);
	return TRUE;
}

gboolean rs_trace_dat_pages_hold(Import *import, Source *source, guint number, const Held *record)
{
	Held *held = &source->rings[number].held;

	if (!rs_trace_dat_pages_release(import, source, number, NULL, 0))
		return FALSE;
	*held = *record;
	held->window = import->windows;
	held->payload = g_byte_array_ref(import->payload);
	g_byte_array_unref(import->payload);
	import->payload = g_byte_array_new();
	import->open += held->payload->len;
	import->ns = MAX(import->ns, held->ns);
	return TRUE;
}

gboolean rs_trace_dat_pages_lose(Import *import, Source *source, guint number, guint64 lost)
{
	Ring *ring = &source->rings[number];

	if (!lost)
		return TRUE;
	if (!rs_trace_dat_pages_release(import, source, number, NULL, 0) ||
	    !end_page(import, source, number))
		return FALSE;
	ring->lost += lost;
	ring->records += lost;
	return TRUE;
}

gboolean rs_trace_dat_pages_flush(Import *import, Source *source)
{
	for (guint i = 0; i < source->n_rings; i++) {
		Ring *ring = &source->rings[i];

		if (!rs_trace_dat_pages_release(import, source, i, NULL, 0))
			return FALSE;
		/* What was lost is told by a page. */
		if (!ring->page && ring->lost)
			begin_page(import, source, i, import->ns, ring->pid, ring->context);
		if (!end_page(import, source, i))
			return FALSE;
	}
	return TRUE;
}

/* ---- windows ---- */

/*
 * A record that is held may come in the next window, but in none after that: what is behind a
 * window's end was written after all that is before its start.
 */
static gboolean end_pages(Import *import, Source *source)
{
	for (guint i = 0; i < source->n_rings; i++) {
		const Held *held = &source->rings[i].held;

		if (held->payload && held->window < import->windows &&
		    !rs_trace_dat_pages_release(import, source, i, NULL, 0))
			return FALSE;
		if (!end_page(import, source, i))
			return FALSE;
	}
	return TRUE;
}

static gboolean end_window(Import *import, gboolean last)
{
	rs_trace_dat_maps_forget();
	for (guint i = 0; i < import->sources->len; i++) {
		Source *source = import->sources->pdata[i];

		if (!(last ? rs_trace_dat_pages_flush : end_pages)(import, source))
			return FALSE;
	}
	import->windows++;
	return rs_trace_writer_end_window(import->writer, import->ns, import->error);
}

gboolean rs_trace_dat_pages_look(Import *import)
{
	return (rs_trace_writer_window_bytes(import->writer) < WINDOW && import->open < OPEN_MAX) ||
	       end_window(import, FALSE);
}

gboolean rs_trace_dat_pages_finish(Import *import)
{
	return end_window(import, TRUE);
}
