/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-pages-private.h"
#include "rs-trace-dat-maps-private.h"

#include <ringside/ring.h>
#include <string.h>

#define WINDOW (RS_FILE_WINDOW_BYTES / 2)
#define OPEN_MAX (WINDOW / 2) /* bytes of pages that are being filled, and held */

static gboolean end_page(Import *import, Source *source, guint number)
{
	Ring *ring = &source->rings[number];
	struct rs_file_page entry = {
		.lost = ring->lost, .from = RS_RING_PAGE_HEADER, .ring = number};
	g_autoptr(GByteArray) page = NULL;
	gboolean ok;

	if (!ring->pack.page)
		return TRUE;
	page = rs_trace_pack_end(&ring->pack);
	entry.to = page->len;
	ok = rs_trace_writer_put_page(import->writer, source->number, page->data, &entry,
				      import->error);
	import->open -= page->len;
	ring->lost = 0;
	return ok;
}

static void begin_page(Import *import, const Source *source, guint number,
		       const RsTracePackRecord *first)
{
	Ring *ring = &source->rings[number];
	const struct rs_ring_page head = {.seq = ring->seq++,
					  .records = ring->records,
					  .boot = source->boot,
					  .ring = (uint16_t)number};

	rs_trace_pack_begin(&ring->pack, first, &head);
	import->open += ring->pack.page->len;
}

gboolean rs_trace_dat_pages_release(Import *import, Source *source, guint number,
				    const guint64 *frames, guint n_frames)
{
	Ring *ring = &source->rings[number];
	Held *held = &ring->held;
	const RsTracePackRecord record = {.payload = held->payload,
					  .id = held->id,
					  .ts = held->ns,
					  .pid = held->pid,
					  .context = held->context,
					  .frames = frames,
					  .n_frames = n_frames};

	if (!held->payload)
		return TRUE;
	if (ring->pack.page && !rs_trace_pack_fits(&ring->pack, &record) &&
	    !end_page(import, source, number))
		return FALSE;
	if (!ring->pack.page)
		begin_page(import, source, number, &record);
	import->open -= ring->pack.page->len + held->payload->len;
	rs_trace_pack_put(&ring->pack, &record);
	import->open += ring->pack.page->len;
	ring->records++;
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
		const RsTracePackRecord last = {
			.ts = import->ns, .pid = ring->pack.pid, .context = ring->pack.context};

		if (!rs_trace_dat_pages_release(import, source, i, NULL, 0))
			return FALSE;
		/* What was lost is told by a page. */
		if (!ring->pack.page && ring->lost)
			begin_page(import, source, i, &last);
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
