/* SPDX-License-Identifier: MIT */
#include "rs-trace-live.h"
#include "rs-trace-bridged.h"
#include "rs-trace-feed.h"
#include "rs-trace-ring-info.h"

#include <rs-trace-table.h>

#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <string.h>

/* The doorbell is to ring once this part of a ring has been written. */
#define WAKE_FRACTION 4
/*
 * The host publishes an announced epoch within 2 ms, unless a busy machine delays it. Some guests
 * can write the word that announces it. So all rings of a round together wait no longer than this.
 * After several rounds in vain, the observer does not wait again until an epoch has come.
 */
#define CLOCK_PATIENCE_US 50000u
#define CLOCK_LOOK_US 100u
#define CLOCK_VAIN_MAX 3u
/* Images that are known to be told. A guest that has more is told of some again. */
#define TOLD_MAX 1024u

/* Symbols that were told. */
typedef struct {
	const RsTraceSymbolFile *file;
	RsTraceSymbolPlace place;
} Told;

typedef struct {
	RsTraceSource source;
	const RsTraceRegion *region;
	RsTraceRegion *taken; /* the same, if it is ours to free; else NULL */
	gboolean owner, whole, unarmed;
	RsTraceConsumers *consumers; /* NULL: there are no others, or we consume nothing */
	guint reader;                /* our number there */
	const struct rs_guest_info *shared;
	const struct rs_control *control;
	struct rs_file_boot boots[RS_BOOTS]; /* as last told */
	guint64 hz;                          /* likewise */
	guint32 epoch_count;                 /* rs_control.epoch_count when epochs were last told */
	guint waited;    /* us waited in this round for rs_control.clock_pending */
	guint in_vain;   /* rounds that waited in vain since the last epoch */
	guint32 changes; /* rs_guest_info.provider_changes when providers were last told */
	RsTraceTable *table;
	struct rs_clock_epoch *epochs; /* room for a copy of the section */
	guint32 name_changes;          /* rs_guest_info.cmdline_changes when names were last told */
	guint8 *snapshot;              /* two copies of the names' section; NULL: none so far */
	GPtrArray *symbols;            /* RsTraceSymbolFile */
	GArray *told;                  /* Told, the last ones */
	RsTraceRing *rings[];
} Live;

/*
 * Whether the region was laid out anew, for another agent. That begins with the header. An owner
 * learns it in other ways: a guest may be able to write this word, and must not end the owner's
 * trace by it.
 */
static gboolean is_gone(const Live *live)
{
	const struct rs_region_header *shared = (const void *)live->region->map;

	rs_rmb(); /* so all copies were made before this look at the header */
	return !live->owner && rs_load(&shared->session_id) != live->region->header.session_id;
}

typedef struct {
	Live *live;
	RsTraceFeed *feed;
} Telling;

/* The first file that fits; NULL: there is none. */
static const RsTraceSymbolFile *find_symbols(const Live *live, const struct rs_provider *entry,
					     RsTraceSymbolPlace *place)
{
	for (guint i = 0; i < live->symbols->len; i++)
		if (rs_trace_symbol_file_fits(live->symbols->pdata[i], entry, place))
			return live->symbols->pdata[i];
	return NULL;
}

/*
 * An image lies where it does from the start of its boot, for all that is known. If another one is
 * known to have lain there in that boot, it does so since its first provider was there.
 */
static gboolean is_told(const Live *live, const RsTraceSymbolFile *file,
			const struct rs_provider *entry, RsTraceSymbolPlace *place)
{
	gboolean covers = FALSE;

	for (guint i = 0; i < live->told->len; i++) {
		const Told *told = &g_array_index(live->told, Told, i);

		if (told->place.since.boot != place->since.boot)
			continue;
		if (told->file == file && told->place.bias == place->bias)
			return TRUE;
		covers |= told->place.from < place->to && place->from < told->place.to;
	}
	if (covers && place->since.boot && entry->generation == 1) {
		place->since.chain = entry->since_chain;
		place->since.ts = entry->since;
	}
	return FALSE;
}

/* Once for each place where the image lies. */
static void tell_symbols(Live *live, RsTraceFeed *feed, const struct rs_provider *entry)
{
	g_autoptr(GBytes) data = NULL;
	struct rs_file_symbols head;
	Told told;

	if (!live->symbols->len || entry->state == RS_PROVIDER_FREE)
		return;
	told.file = find_symbols(live, entry, &told.place);
	if (!told.file || is_told(live, told.file, entry, &told.place))
		return;
	if (live->told->len >= TOLD_MAX)
		g_array_remove_index(live->told, 0);
	g_array_append_val(live->told, told);
	data = rs_trace_symbol_file_place(told.file, &told.place, &head);
	rs_trace_feed_tell_symbols(feed, &head, data);
}

static gboolean tell_provider(guint slot, const struct rs_provider *entry, const guint8 *descs,
			      gsize size, gpointer data)
{
	const Telling *telling = data;

	/* Descriptors of another agent would make nonsense of this agent's records. */
	if (is_gone(telling->live))
		return FALSE;
	rs_trace_feed_tell_provider(telling->feed, slot, entry, descs, size);
	tell_symbols(telling->live, telling->feed, entry);
	return TRUE;
}

static void tell_providers(Live *live, RsTraceFeed *feed)
{
	Telling telling = {live, feed};
	struct rs_guest_info info;

	if ((rs_load(&live->shared->provider_changes) == live->changes &&
	     !rs_trace_table_pending(live->table)) ||
	    !rs_trace_region_guest_info(live->region, &info, NULL))
		return;
	live->changes = info.provider_changes;
	rs_trace_table_look(live->table, info.provider_slots, feed->schema, tell_provider,
			    &telling);
}

/*
 * The copied records may be those of a provider whose entry is being written. Until then its life
 * is not known, and the entry as it was before does not explain them. An agent writes an entry in
 * microseconds, unless a busy machine delays it. This waits for entries that the look has found,
 * and looks once more. So what a guest does to its table costs a chunk two looks at most.
 */
static void await_providers(Live *live, RsTraceFeed *feed)
{
	gboolean found;

	tell_providers(live, feed);
	while (rs_trace_table_is_written(live->table, &found)) {
		if (!rs_trace_feed_rest(feed))
			return;
	}
	if (found)
		tell_providers(live, feed);
}

static void tell_clock(Live *live, RsTraceFeed *feed)
{
	const struct rs_section *section = &live->region->header.section[RS_SEC_CLOCK];
	/* Acquire: the epochs are written before their count grows. */
	guint32 count = rs_load_acquire(&live->control->epoch_count);

	if (count == live->epoch_count)
		return;
	for (guint i = 0; i < section->count; i++)
		rs_trace_region_take(live->region, RS_SEC_CLOCK, i, &live->epochs[i],
				     sizeof(*live->epochs));
	if (is_gone(live))
		return;
	rs_trace_feed_tell_clock(feed, live->epochs, section->count, count);
	live->epoch_count = count;
	live->in_vain = 0;
}

/* The copied records may belong to an epoch that the host is about to publish. */
static void await_clock(Live *live)
{
	if (live->in_vain >= CLOCK_VAIN_MAX)
		return;
	/* Pairs with the host's release: who sees the even number sees the epoch. */
	while (live->waited < CLOCK_PATIENCE_US &&
	       rs_load_acquire(&live->control->clock_pending) & 1) {
		g_usleep(CLOCK_LOOK_US);
		live->waited += CLOCK_LOOK_US;
		if (live->waited == CLOCK_PATIENCE_US)
			live->in_vain++;
	}
}

static void tell_changes(RsTraceSource *source, RsTraceFeed *feed)
{
	Live *live = (Live *)source;

	rs_rmb(); /* the guest wrote all that a record refers to before the record */
	await_providers(live, feed);
	await_clock(live);
	tell_clock(live, feed);
}

/* Of an agent that has gone, what it was is known if it was told. */
static void make_boots(const Live *live, const struct rs_guest_info *info,
		       struct rs_file_boot boots[RS_BOOTS])
{
	for (guint i = 0; i < RS_BOOTS; i++) {
		const struct rs_boot *boot = &info->boots[i];
		const struct rs_file_boot *old = &live->boots[i];
		const gboolean told = boot->boot && boot->boot == old->boot;

		boots[i] = (struct rs_file_boot){boot->boot, boot->chain, boot->ts,
						 told ? old->arch : 0, told ? old->pid : 0};
		if (!boot->boot || boot->boot != info->boot)
			continue;
		boots[i].arch = info->arch;
		boots[i].pid = info->owner_pid;
	}
}

static void tell_boots(Live *live, RsTraceFeed *feed)
{
	struct rs_file_boot boots[RS_BOOTS];
	struct rs_guest_info info;

	if (!rs_trace_region_guest_info(live->region, &info, NULL) || is_gone(live))
		return;
	make_boots(live, &info, boots);
	if (info.tsc_hz == live->hz && !memcmp(boots, live->boots, sizeof(boots)))
		return;
	memcpy(live->boots, boots, sizeof(boots));
	live->hz = info.tsc_hz;
	rs_trace_feed_tell_boots(feed, live->boots, live->hz);
}

static void begin_round(RsTraceSource *source, RsTraceFeed *feed)
{
	Live *live = (Live *)source;

	guint pages = 0;

	for (guint i = 0; i < source->n_rings; i++)
		pages = MAX(pages, rs_trace_ring_bytes(live->rings[i]) / source->page_size);
	source->ring_pages = pages;
	live->waited = 0;
	tell_boots(live, feed);
	tell_clock(live, feed);
}

static void names(RsTraceSource *source, RsTraceFeed *feed)
{
	Live *live = (Live *)source;
	/* Acquire: an entry is written before the count grows. */
	guint32 changes = rs_load_acquire(&live->shared->cmdline_changes);
	gsize size = 0;

	rs_trace_region_section(live->region, RS_SEC_CMDLINE, &size);
	if (!size || (live->snapshot && changes == live->name_changes))
		return;
	if (!live->snapshot)
		live->snapshot = g_malloc(2 * size);
	live->name_changes = changes;
	rs_trace_region_copy(live->region, RS_SEC_CMDLINE, 0, live->snapshot, size);
	/* The second copy after the first: pairs with the agent's barriers around an entry. */
	rs_rmb();
	rs_trace_region_copy(live->region, RS_SEC_CMDLINE, 0, live->snapshot + size, size);
	if (is_gone(live))
		return;
	rs_trace_feed_tell_names(feed, live->snapshot, live->snapshot + size, size,
				 live->region->header.section[RS_SEC_CMDLINE].stride /
					 RS_CMDLINE_WAYS);
}

static RsTraceRingStatus next(RsTraceSource *source, guint ring, guint64 now_ns, RsTraceChunk *out)
{
	Live *live = (Live *)source;
	RsTraceRingStatus status = rs_trace_ring_next(live->rings[ring], now_ns, out);

	return is_gone(live) ? RS_TRACE_RING_END : status;
}

static void set_whole(RsTraceSource *source, guint ring, gboolean whole)
{
	Live *live = (Live *)source;

	/* A sink that follows wants no whole pages. */
	if (live->whole)
		rs_trace_ring_set_whole(live->rings[ring], whole);
}

static void written(RsTraceSource *source, guint ring, RsTraceRingMark *out)
{
	rs_trace_ring_written(((Live *)source)->rings[ring], out);
}

static guint64 records(RsTraceSource *source, guint ring)
{
	return rs_trace_ring_records(((Live *)source)->rings[ring]);
}

static guint64 pending_loss(RsTraceSource *source, guint ring)
{
	Live *live = (Live *)source;
	guint64 lost = rs_trace_ring_pending_loss(live->rings[ring]);

	/* If the region is gone, nobody knows how much was left to read. */
	return is_gone(live) ? 0 : lost;
}

static gboolean arm(RsTraceSource *source)
{
	Live *live = (Live *)source;

	if (!live->owner || live->unarmed)
		return FALSE;
	for (guint i = 0; i < source->n_rings; i++)
		rs_trace_ring_arm(live->rings[i],
				  rs_trace_ring_bytes(live->rings[i]) / WAKE_FRACTION);
	return TRUE;
}

static void free_live(RsTraceSource *source)
{
	Live *live = (Live *)source;

	for (guint i = 0; i < source->n_rings; i++)
		rs_trace_ring_free(live->rings[i]);
	if (live->consumers)
		rs_trace_consumers_leave(live->consumers, live->reader);
	rs_trace_consumers_unref(live->consumers);
	rs_trace_table_free(live->table);
	g_ptr_array_unref(live->symbols);
	g_array_unref(live->told);
	g_free(live->epochs);
	g_free(live->snapshot);
	rs_trace_region_free(live->taken);
	g_free(live);
}

static Live *live_of(RsTraceSource *source)
{
	return (Live *)rs_trace_bridged_pages(source);
}

RsTraceSource *rs_trace_live_new(const RsTraceRegion *region, RsTraceFrom from,
				 RsTraceLiveFlags flags, GError **error)
{
	return rs_trace_live_new_beside(region, NULL, from, flags, error);
}

RsTraceSource *rs_trace_live_new_beside(const RsTraceRegion *region, RsTraceConsumers *consumers,
					RsTraceFrom from, RsTraceLiveFlags flags, GError **error)
{
	static const RsTraceSourceOps ops = {
		.begin_round = begin_round,
		.changes = tell_changes,
		.names = names,
		.next = next,
		.set_whole = set_whole,
		.written = written,
		.records = records,
		.pending_loss = pending_loss,
		.arm = arm,
		.free = free_live,
	};
	guint n_rings = region->header.ring_count;
	gboolean owner = (flags & RS_TRACE_LIVE_OWNER) != 0;
	RsTraceRingConfig config = {
		.from = from,
		.whole = (flags & RS_TRACE_LIVE_WHOLE) != 0,
		.consumer = owner,
	};
	Live *live = g_malloc0(sizeof(*live) + n_rings * sizeof(*live->rings));

	live->source.ops = &ops;
	live->source.n_rings = n_rings;
	live->source.ring_pages = region->header.ring_pages;
	live->source.page_size = region->header.ring_page_size;
	live->region = region;
	live->owner = owner;
	live->whole = config.whole;
	live->unarmed = (flags & RS_TRACE_LIVE_UNARMED) != 0;
	if (config.consumer && consumers) {
		live->consumers = rs_trace_consumers_ref(consumers);
		live->reader = rs_trace_consumers_join(consumers);
	}
	config.consumers = live->consumers;
	config.reader = live->reader;
	live->shared = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	live->control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	live->table = rs_trace_table_new(region);
	live->symbols = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_symbol_file_unref);
	live->told = g_array_new(FALSE, FALSE, sizeof(Told));
	live->epochs = g_new0(struct rs_clock_epoch, region->header.section[RS_SEC_CLOCK].count);
	for (; config.ring < n_rings; config.ring++) {
		live->rings[config.ring] = rs_trace_ring_new(region, &config, error);
		if (!live->rings[config.ring]) {
			free_live(&live->source);
			return NULL;
		}
	}
	return rs_trace_bridged_new(&live->source, region, from, !(flags & RS_TRACE_LIVE_JOINED));
}

RsTraceSource *rs_trace_live_new_take(RsTraceRegion *region, RsTraceFrom from,
				      RsTraceLiveFlags flags, GError **error)
{
	RsTraceSource *source = rs_trace_live_new(region, from, flags, error);

	if (source)
		live_of(source)->taken = region;
	else
		rs_trace_region_free(region);
	return source;
}

void rs_trace_live_add_symbols(RsTraceSource *source, RsTraceSymbolFile *symbols)
{
	g_ptr_array_add(live_of(source)->symbols, rs_trace_symbol_file_ref(symbols));
}

void rs_trace_live_guard(void)
{
	rs_trace_region_guard();
}
