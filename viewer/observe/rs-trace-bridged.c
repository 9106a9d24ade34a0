/* SPDX-License-Identifier: MIT */
#include "rs-trace-bridged.h"
#include "rs-trace-bridged-page-private.h"
#include "rs-trace-expander.h"
#include "rs-trace-feed.h"

#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <rs-trace-decoder.h>
#include <string.h>

#define HELD_MAX ((gsize)64 << 20)   /* bytes of pages that wait; beyond, order is given up */
#define HELD_US (5 * G_USEC_PER_SEC) /* that a page waits for a sweep that does not end */
#define PASSES 8u                    /* through all rings in a round */
#define DESC_SHIFT 32                /* descriptors of a provider lie where no other's do */
#define BOOTS_MAX 16u

typedef RsTraceBridgedPage Page;

typedef struct {
	GQueue held, ready;         /* Page */
	GByteArray *join;           /* of a page that comes in several records */
	struct rs_bridge_page head; /* of that page */
	guint64 expected;           /* number of the next event */
	gboolean known;             /* what to expect */
	guint32 boot;
	guint64 lost; /* not told yet */
	guint64 seq, records;
	Page *last; /* the one that was handed out */
} Lane;

typedef struct {
	RsTraceSource source;
	RsTraceSink sink;
	RsTraceSource *pages; /* of the region */
	const RsTraceRegion *region;
	RsTraceFrom from;
	gboolean may;             /* be a bridge's */
	RsTraceFeed *inner;       /* from `pages` to `sink`; NULL: no bridge has come so far */
	guint32 boots[BOOTS_MAX]; /* the last ones that are a bridge's; 0: none */
	guint n_boots;
	RsTraceFeed *outer; /* during a call */
	RsTraceDecoder *decoder;
	RsTraceExpander *expander;
	GHashTable *desc_sizes;   /* slot → bytes of descriptors that were told */
	RsTraceRingStatus status; /* of the last pass */
	gsize held;               /* bytes */
	RsTraceMoment swept;      /* all up to it was written before what was read last */
	RsTraceMoment until;      /* all up to it was read */
	/* Of the page that is being expanded. */
	Lane *lane;
	const RsTraceRecord *record;
	guint expanded; /* records */
	Lane lanes[];
} Bridged;

static Bridged *from_sink(RsTraceSink *sink)
{
	return (Bridged *)(void *)((char *)sink - G_STRUCT_OFFSET(Bridged, sink));
}

/* ---- pages of ftrace become pages of ours ---- */

static void lose(Lane *lane, guint64 n)
{
	lane->lost += n;
}

/* Takes what has a number into account. */
static void count(Bridged *bridged, Lane *lane, const struct rs_bridge_page *head, guint32 boot)
{
	if (boot != lane->boot && lane->known) {
		lane->expected = 0;
		lane->boot = boot;
	}
	if (!lane->known) {
		lane->known = TRUE;
		lane->boot = boot;
		lane->expected = head->first;
	}
	if (head->first > lane->expected)
		lose(lane, head->first - lane->expected);
	lane->expected = head->first + head->count;
}

static void hold(Bridged *bridged, Lane *lane, Page *page)
{
	g_queue_push_tail(&lane->held, page);
	bridged->held += page->size;
}

static void take_expanded(const guint8 *bytes, guint size, gpointer data)
{
	Bridged *bridged = data;
	const RsTraceRecord *record = bridged->record;
	struct rs_ring_page head;
	Page *page;

	memcpy(&head, bytes, sizeof(head));
	head.boot = record->when.boot;
	head.chain = record->when.chain;
	head.ring = record->ring;
	head.header_size = RS_RING_PAGE_HEADER;
	head.committed = size;
	head.committed_remote = 0;
	head.dropped = 0;
	head.skipped = 0;
	page = rs_trace_bridged_page_new(bytes, size, &head);
	page->lost = bridged->lane->lost;
	bridged->lane->lost = 0;
	bridged->expanded += page->records;
	hold(bridged, bridged->lane, page);
}

static void expand(Bridged *bridged, Lane *lane, const RsTraceRecord *record)
{
	const struct rs_bridge_page *head = &lane->head;
	const RsTraceExpanderPage page = {.cpu = record->ring,
					  .chain = record->when.chain,
					  .page_size = bridged->source.page_size,
					  .bytes = lane->join->data,
					  .size = lane->join->len};

	count(bridged, lane, head, record->when.boot);
	if (!head->count)
		return;
	bridged->lane = lane;
	bridged->record = record;
	bridged->expanded = 0;
	rs_trace_expander_page(bridged->expander, &page, take_expanded, bridged);
	/* Those of events that nobody knows. A hostile decoder may say more than there were. */
	lose(lane, head->count - MIN(bridged->expanded, head->count));
}

/* The bytes of a part. FALSE: they make no sense. */
static gboolean take_part(const RsTraceRecord *record, struct rs_bridge_page *head,
			  const guint8 **bytes, guint *size)
{
	guint offset;

	if (record->size < sizeof(*head))
		return FALSE;
	memcpy(head, record->payload, sizeof(*head));
	offset = rs_locator_offset(head->data);
	*size = rs_locator_length(head->data);
	*bytes = record->payload + offset;
	return !record->cut && offset <= record->size && *size <= record->size - offset &&
	       head->total <= RS_FTRACE_PAGE_MAX && head->offset <= head->total &&
	       *size <= head->total - head->offset;
}

static gboolean goes_on(const Lane *lane, const struct rs_bridge_page *head)
{
	return lane->join->len == head->offset && lane->head.first == head->first &&
	       lane->head.count == head->count && lane->head.total == head->total;
}

static void take_page(Bridged *bridged, const RsTraceRecord *record)
{
	Lane *lane = &bridged->lanes[record->ring];
	struct rs_bridge_page head;
	const guint8 *bytes;
	guint size;

	if (!take_part(record, &head, &bytes, &size))
		return;
	if (!head.offset) {
		g_byte_array_set_size(lane->join, 0);
		lane->head = head;
	} else if (!goes_on(lane, &head)) {
		return;
	}
	g_byte_array_append(lane->join, bytes, size);
	if (lane->join->len == head.total)
		expand(bridged, lane, record);
}

static void take_swept(Bridged *bridged, const RsTraceRecord *record)
{
	struct rs_bridge_swept swept;

	if (record->size < sizeof(swept))
		return;
	memcpy(&swept, record->payload, sizeof(swept));
	bridged->swept = (RsTraceMoment){
		.boot = record->when.boot, .chain = record->when.chain, .ts = swept.until};
}

static void take_record(const RsTraceRecord *record, gpointer data)
{
	Bridged *bridged = data;

	if (record->kind != RS_TRACE_RECORD_EVENT || !record->event ||
	    strcmp(record->event->system, RS_BRIDGE_SYSTEM))
		return;
	if (!strcmp(record->event->name, RS_BRIDGE_PAGE))
		take_page(bridged, record);
	else if (!strcmp(record->event->name, RS_BRIDGE_SWEPT))
		take_swept(bridged, record);
}

/* ---- the region's pages: the inner sink ---- */

static void inner_join(RsTraceSink *sink, RsTraceFeed *feed)
{
}

static void inner_boots(RsTraceSink *sink, RsTraceFeed *feed,
			const struct rs_file_boot boots[RS_BOOTS], guint64 hz)
{
	rs_trace_feed_tell_boots(from_sink(sink)->outer, boots, hz);
}

/* Of a provider that is known already, only its entry comes. */
static void inner_provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			   const struct rs_provider *entry, const guint8 *descs, gsize size)
{
	Bridged *bridged = from_sink(sink);
	struct rs_provider told = *entry;
	gpointer key = GUINT_TO_POINTER(slot);
	g_autoptr(GByteArray) made = NULL;

	if (size && strcmp(entry->name, RS_BRIDGE_SYSTEM))
		made = rs_trace_expander_provider(bridged->expander, slot, entry, descs, size);
	if (made) {
		descs = made->data;
		size = made->len;
	}
	if (size)
		g_hash_table_insert(bridged->desc_sizes, key, GSIZE_TO_POINTER(size));
	told.desc_offset = (guint64)slot << DESC_SHIFT;
	told.desc_size = GPOINTER_TO_SIZE(g_hash_table_lookup(bridged->desc_sizes, key));
	rs_trace_feed_tell_provider(bridged->outer, slot, &told, descs, size);
}

static void inner_clock(RsTraceSink *sink, RsTraceFeed *feed, const struct rs_clock_epoch *table,
			guint n, guint32 epoch_count)
{
	rs_trace_feed_tell_clock(from_sink(sink)->outer, table, n, epoch_count);
}

static void inner_names(RsTraceSink *sink, RsTraceFeed *feed, const guint8 *snapshot,
			const guint8 *again, gsize size, gsize stride)
{
	rs_trace_feed_tell_names(from_sink(sink)->outer, snapshot, again, size, stride);
}

/* A page of another agent is handed out as it is, behind what came before it. */
static void pass_on(Bridged *bridged, const RsTraceChunk *chunk)
{
	Lane *lane = &bridged->lanes[chunk->ring];
	Page *page = rs_trace_bridged_page_new_done(chunk->page, chunk->from, chunk->to);

	page->lost = lane->lost + chunk->lost;
	lane->lost = 0;
	hold(bridged, lane, page);
}

static gboolean is_bridges(const Bridged *bridged, guint32 boot)
{
	for (guint i = 0; i < BOOTS_MAX; i++)
		if (boot && bridged->boots[i] == boot)
			return TRUE;
	return FALSE;
}

static void inner_chunk(RsTraceSink *sink, RsTraceFeed *feed, const RsTraceChunk *chunk)
{
	Bridged *bridged = from_sink(sink);

	if (!is_bridges(bridged, ((const struct rs_ring_page *)(const void *)chunk->page)->boot)) {
		pass_on(bridged, chunk);
		return;
	}
	/* What of pages was lost, the next page says. */
	rs_trace_decoder_push(bridged->decoder, chunk->ring, chunk->page, chunk->from, chunk->to,
			      chunk->lost);
}

static void inner_lost(RsTraceSink *sink, RsTraceFeed *feed, guint ring, guint64 lost)
{
	lose(&from_sink(sink)->lanes[ring], lost);
}

/* ---- as a source ---- */

/* Whether all of it may be handed out. If only a part may, the page becomes two. */
static gboolean is_done(Bridged *bridged, Lane *lane, Page *page)
{
	Page *rest;

	if (rs_trace_moment_compare(&page->last, &bridged->until) <= 0)
		return TRUE;
	bridged->held -= page->size;
	rest = rs_trace_bridged_page_split(page, &bridged->until);
	bridged->held += page->size + (rest ? rest->size : 0);
	if (rest)
		g_queue_insert_after(&lane->held, lane->held.head, rest);
	return rest != NULL;
}

static void release(Bridged *bridged, Lane *lane, gboolean all)
{
	Page *page;

	while ((page = g_queue_peek_head(&lane->held)) && (all || is_done(bridged, lane, page))) {
		g_queue_pop_head(&lane->held);
		bridged->held -= page->size;
		g_queue_push_tail(&lane->ready, page);
	}
}

/* The bridge was killed, or its guest hangs: who waits for it waits in vain. */
static gboolean waits_in_vain(Bridged *bridged)
{
	const gint64 now = g_get_monotonic_time();

	for (guint i = 0; i < bridged->source.n_rings; i++) {
		const Page *page = g_queue_peek_head(&bridged->lanes[i].held);

		if (page && now - page->since > HELD_US)
			return TRUE;
	}
	return FALSE;
}

/*
 * The end of a sweep is read from ring 0, the first one. What the sweep has moved into the others
 * was written before it, so a pass that reads them to their ends has it.
 */
static void release_swept(Bridged *bridged)
{
	gboolean all = bridged->held > HELD_MAX || bridged->status == RS_TRACE_RING_END;

	if (!bridged->inner->more && !bridged->inner->stopped)
		bridged->until = bridged->swept;
	for (guint i = 0; i < bridged->source.n_rings; i++)
		release(bridged, &bridged->lanes[i], all);
	/* All at once, so that they are in order among themselves. */
	all = waits_in_vain(bridged);
	for (guint i = 0; all && i < bridged->source.n_rings; i++)
		release(bridged, &bridged->lanes[i], TRUE);
}

static void begin_bridge(Bridged *bridged)
{
	static const RsTraceSinkOps ops = {
		.join = inner_join,
		.leave = inner_join,
		.boots = inner_boots,
		.provider = inner_provider,
		.clock = inner_clock,
		.names = inner_names,
		.chunk = inner_chunk,
		.lost = inner_lost,
	};

	bridged->sink.ops = &ops;
	bridged->expander = rs_trace_expander_new();
	bridged->desc_sizes = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < bridged->source.n_rings; i++) {
		Lane *lane = &bridged->lanes[i];

		lane->join = g_byte_array_new();
		/* All that was overwritten before counts as lost. */
		lane->known = bridged->from == RS_TRACE_FROM_START;
		lane->records = bridged->pages->ops->records(bridged->pages, i);
	}
	bridged->inner = rs_trace_feed_new(bridged->pages, &bridged->sink, 0, NULL);
	bridged->decoder = rs_trace_decoder_new(bridged->source.n_rings, bridged->inner->schema,
						NULL, take_record, bridged);
}

/* An agent says what it is before it writes its first record. */
static void look(Bridged *bridged)
{
	struct rs_guest_info info;

	if (!bridged->may || !rs_trace_region_guest_info(bridged->region, &info, NULL) ||
	    !(info.flags & RS_GUEST_BRIDGE) || is_bridges(bridged, info.boot))
		return;
	bridged->boots[bridged->n_boots++ % BOOTS_MAX] = info.boot;
	if (!bridged->inner)
		begin_bridge(bridged);
}

static void begin_round(RsTraceSource *source, RsTraceFeed *feed)
{
	Bridged *bridged = (Bridged *)source;
	guint64 now_ns = (guint64)g_get_monotonic_time() * 1000;

	bridged->outer = feed;
	look(bridged);
	if (!bridged->inner) {
		bridged->pages->ops->begin_round(bridged->pages, feed);
		return;
	}
	for (guint i = 0; i < PASSES; i++) {
		bridged->status = rs_trace_feed_read(bridged->inner, now_ns);
		if (bridged->status != RS_TRACE_RING_DATA || bridged->held > HELD_MAX)
			break;
	}
	release_swept(bridged);
}

static void changes(RsTraceSource *source, RsTraceFeed *feed)
{
	Bridged *bridged = (Bridged *)source;

	/* Of a bridge all was told when its pages were read. */
	if (!bridged->inner)
		bridged->pages->ops->changes(bridged->pages, feed);
}

static void names(RsTraceSource *source, RsTraceFeed *feed)
{
	Bridged *bridged = (Bridged *)source;

	bridged->outer = feed;
	bridged->pages->ops->names(bridged->pages, bridged->inner ? bridged->inner : feed);
}

static void hand_out(Lane *lane, Page *page, guint ring, RsTraceChunk *out)
{
	struct rs_ring_page head;

	memcpy(&head, page->bytes, sizeof(head));
	head.seq = lane->seq++;
	head.records = lane->records;
	memcpy(page->bytes, &head, sizeof(head));
	*out = (RsTraceChunk){.ring = ring,
			      .from = page->from,
			      .to = page->size,
			      .page = page->bytes,
			      .lost = page->lost,
			      .records = lane->records};
	lane->records += page->records;
	g_free(lane->last);
	lane->last = page;
}

static RsTraceRingStatus next(RsTraceSource *source, guint ring, guint64 now_ns, RsTraceChunk *out)
{
	Bridged *bridged = (Bridged *)source;
	Lane *lane = &bridged->lanes[ring];
	RsTraceRingStatus status;
	Page *page;

	if (!bridged->inner) {
		status = bridged->pages->ops->next(bridged->pages, ring, now_ns, out);
		if (status == RS_TRACE_RING_DATA)
			lane->seq = ((const struct rs_ring_page *)(const void *)out->page)->seq + 1;
		return status;
	}
	page = g_queue_pop_head(&lane->ready);
	if (page) {
		hand_out(lane, page, ring, out);
		return RS_TRACE_RING_DATA;
	}
	if (bridged->status == RS_TRACE_RING_DATA)
		return RS_TRACE_RING_IN_FLIGHT;
	return bridged->status == RS_TRACE_RING_END ? RS_TRACE_RING_END : RS_TRACE_RING_IDLE;
}

static void set_whole(RsTraceSource *source, guint ring, gboolean whole)
{
	RsTraceSource *pages = ((Bridged *)source)->pages;

	pages->ops->set_whole(pages, ring, whole);
}

static void written(RsTraceSource *source, guint ring, RsTraceRingMark *out)
{
	Bridged *bridged = (Bridged *)source;
	const Lane *lane = &bridged->lanes[ring];
	guint waiting = lane->ready.length;
	const Page *last = waiting ? lane->ready.tail->data : lane->last;

	if (!bridged->inner)
		bridged->pages->ops->written(bridged->pages, ring, out);
	else
		*out = (RsTraceRingMark){.seq = (gint64)lane->seq + waiting - 1,
					 .offset = last ? last->size : 0};
}

static gboolean let_go(RsTraceSource *source)
{
	Bridged *bridged = (Bridged *)source;

	for (guint i = 0; bridged->inner && i < source->n_rings; i++)
		release(bridged, &bridged->lanes[i], TRUE);
	return bridged->inner != NULL;
}

static guint64 records(RsTraceSource *source, guint ring)
{
	Bridged *bridged = (Bridged *)source;

	return bridged->inner ? bridged->lanes[ring].records
			      : bridged->pages->ops->records(bridged->pages, ring);
}

/* After let_go(), all pages that were read are handed out. */
static guint64 pending_loss(RsTraceSource *source, guint ring)
{
	Bridged *bridged = (Bridged *)source;
	RsTraceSource *pages = bridged->pages;
	const Lane *lane = &bridged->lanes[ring];

	return lane->lost + pages->ops->pending_loss(pages, ring);
}

static gboolean arm(RsTraceSource *source)
{
	Bridged *bridged = (Bridged *)source;

	/* Nobody sleeps on while pages wait for the end of a sweep. */
	return bridged->pages->ops->arm(bridged->pages) && !bridged->held;
}

static void free_lane(Lane *lane)
{
	g_queue_clear_full(&lane->held, g_free);
	g_queue_clear_full(&lane->ready, g_free);
	g_clear_pointer(&lane->join, g_byte_array_unref);
	g_free(lane->last);
}

static void free_bridged(RsTraceSource *source)
{
	Bridged *bridged = (Bridged *)source;

	for (guint i = 0; i < source->n_rings; i++)
		free_lane(&bridged->lanes[i]);
	rs_trace_decoder_free(bridged->decoder);
	rs_trace_expander_free(bridged->expander);
	g_clear_pointer(&bridged->desc_sizes, g_hash_table_unref);
	/* A feed frees its source. */
	if (bridged->inner)
		rs_trace_feed_free(bridged->inner);
	else
		bridged->pages->ops->free(bridged->pages);
	g_free(bridged);
}

RsTraceSource *rs_trace_bridged_new(RsTraceSource *pages, const RsTraceRegion *region,
				    RsTraceFrom from, gboolean may)
{
	static const RsTraceSourceOps ops = {
		.begin_round = begin_round,
		.changes = changes,
		.names = names,
		.next = next,
		.set_whole = set_whole,
		.written = written,
		.let_go = let_go,
		.records = records,
		.pending_loss = pending_loss,
		.arm = arm,
		.free = free_bridged,
	};
	Bridged *bridged = g_malloc0(sizeof(*bridged) + pages->n_rings * sizeof(*bridged->lanes));

	bridged->source = *pages;
	bridged->source.ops = &ops;
	bridged->pages = pages;
	bridged->region = region;
	bridged->from = from;
	bridged->may = may;
	return &bridged->source;
}

RsTraceSource *rs_trace_bridged_pages(RsTraceSource *bridged)
{
	return ((Bridged *)bridged)->pages;
}
