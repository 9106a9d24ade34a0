/* SPDX-License-Identifier: MIT */
#include "rs-trace-reader.h"

#include <string.h>

#define LANES_MAX 65536u /* rings of all sources that have not been read to their end */
/* Providers that have lost their slot, as rs-trace-feed.c bounds them. */
#define RETIRED_MAX 4096u
#define RETIRED_BYTES ((gsize)32 << 20)
#define SYMBOLS_BYTES ((gsize)24 << 20) /* names of addresses, of all sources */

/* A page that is still to be read, or, without data, a loss at the end of a ring. */
typedef struct {
	GBytes *data;
	struct rs_file_page entry;
	guint64 window;
} Page;

typedef struct _Source Source;

/* A ring. */
typedef struct {
	Source *source;
	guint ring;
	GQueue pages; /* Page *, of which the first is being read */
	RsTraceRecord head;
	gboolean has_head; /* it is in the heap */
	guint64 order;     /* of `head` */
} Lane;

struct _Source {
	struct rs_file_source info;
	guint number;
	guint index; /* of all that have joined */
	gboolean left;
	RsTraceSchema *schema;
	RsTraceClock *clock;
	RsTraceCmdline *names;
	RsTraceSymbols *symbols;
	RsTraceDecoder *decoder;
	guint busy; /* lanes that have pages */
	Lane lanes[];
};

struct _RsTraceReader {
	RsTraceFile *file;
	GPtrArray *sources; /* that may have records */
	GHashTable *joined; /* number -> Source, that have not left */
	guint n_joined;     /* so far */
	guint n_lanes;
	guint n_left;     /* sources that have left and are still there */
	GPtrArray *heap;  /* Lane *, the earliest first */
	GPtrArray *fresh; /* Lane *, which have got pages and are not in the heap */
	guint64 window;   /* the newest, of which blocks are being read, or were */
	guint n_old;      /* lanes whose first page is of an older one */
	guint64 until[2]; /* of the window, by number & 1 */
	gboolean ended, cut;
	GError *error;
	Lane *last;               /* whose record was handed out */
	RsTraceDecoderStats gone; /* of sources that were freed */
};

/* ---- the heap ---- */

static gboolean is_before(const Lane *a, const Lane *b)
{
	return a->order != b->order ? a->order < b->order : a < b;
}

static void sift_down(GPtrArray *heap, guint i)
{
	Lane *lane = heap->pdata[i];
	guint child;

	while ((child = 2 * i + 1) < heap->len) {
		if (child + 1 < heap->len && is_before(heap->pdata[child + 1], heap->pdata[child]))
			child++;
		if (!is_before(heap->pdata[child], lane))
			break;
		heap->pdata[i] = heap->pdata[child];
		i = child;
	}
	heap->pdata[i] = lane;
}

static void add_to_heap(GPtrArray *heap, Lane *lane)
{
	guint i = heap->len;

	g_ptr_array_add(heap, lane);
	for (guint parent; i && is_before(lane, heap->pdata[parent = (i - 1) / 2]); i = parent)
		heap->pdata[i] = heap->pdata[parent];
	heap->pdata[i] = lane;
}

static void drop_first(GPtrArray *heap)
{
	heap->pdata[0] = heap->pdata[heap->len - 1];
	g_ptr_array_set_size(heap, (gint)heap->len - 1);
	if (heap->len)
		sift_down(heap, 0);
}

/* ---- lanes ---- */

static void page_free(gpointer data)
{
	Page *page = data;

	g_clear_pointer(&page->data, g_bytes_unref);
	g_free(page);
}

static void add_page(RsTraceReader *reader, Lane *lane, GBytes *data,
		     const struct rs_file_page *entry)
{
	Page *page = g_new(Page, 1);

	*page = (Page){
		.data = data ? g_bytes_ref(data) : NULL, .entry = *entry, .window = reader->window};
	if (!lane->pages.length) {
		lane->source->busy++;
		g_ptr_array_add(reader->fresh, lane);
	}
	g_queue_push_tail(&lane->pages, page);
}

static const Page *first_page(const Lane *lane)
{
	return lane->pages.head ? lane->pages.head->data : NULL;
}

static gboolean is_old(const RsTraceReader *reader, const Lane *lane)
{
	const Page *page = first_page(lane);

	return page && page->window < reader->window;
}

static void begin_page(Lane *lane)
{
	const Page *page = first_page(lane);
	const guint8 *bytes;

	if (!page || !page->data)
		return;
	bytes = (const guint8 *)g_bytes_get_data(page->data, NULL) + page->entry.at;
	rs_trace_decoder_begin(lane->source->decoder, lane->ring, bytes, page->entry.from,
			       page->entry.to, page->entry.lost);
}

static void end_page(RsTraceReader *reader, Lane *lane)
{
	gboolean was_old = is_old(reader, lane);

	page_free(g_queue_pop_head(&lane->pages));
	reader->n_old -= was_old && !is_old(reader, lane);
	if (!lane->pages.length)
		lane->source->busy--;
	begin_page(lane);
}

/* The loss at a ring's end comes where its last record was. */
static gboolean take_last_loss(Lane *lane, const Page *page)
{
	if (page->data || !page->entry.lost)
		return FALSE;
	lane->head = (RsTraceRecord){
		.kind = RS_TRACE_RECORD_LOSS,
		.ns = lane->head.ns,
		.when = lane->head.when,
		.lost = page->entry.lost,
		.ring = (guint16)lane->ring,
		.source = (guint16)lane->source->number,
	};
	((Page *)page)->entry.lost = 0;
	return TRUE;
}

/* Takes the ring's next record. FALSE: it has no more so far. */
static gboolean advance(RsTraceReader *reader, Lane *lane)
{
	const Page *page;

	while ((page = first_page(lane))) {
		if (page->data
			    ? rs_trace_decoder_next(lane->source->decoder, lane->ring, &lane->head)
			    : take_last_loss(lane, page)) {
			/* Who claims to be later than its window's end holds up nobody else. */
			lane->order = MIN(lane->head.ns, reader->until[page->window & 1]);
			return TRUE;
		}
		end_page(reader, lane);
	}
	return FALSE;
}

/* ---- sources ---- */

static void source_free(gpointer data)
{
	Source *source = data;

	for (guint i = 0; i < source->info.ring_count; i++)
		g_queue_clear_full(&source->lanes[i].pages, page_free);
	rs_trace_decoder_free(source->decoder);
	rs_trace_cmdline_free(source->names);
	rs_trace_symbols_free(source->symbols);
	rs_trace_clock_free(source->clock);
	rs_trace_schema_free(source->schema);
	g_free(source);
}

static void add_stats(RsTraceDecoderStats *sum, const Source *source)
{
	RsTraceDecoderStats stats;

	rs_trace_decoder_stats(source->decoder, &stats);
	sum->records += stats.records;
	sum->lost += stats.lost;
	sum->bad_pages += stats.bad_pages;
	sum->unknown += stats.unknown;
}

static const char *join(RsTraceReader *reader, const RsTraceFileBlock *block)
{
	struct rs_file_source info;
	Source *source;

	if (!rs_take_sized_record(&info, sizeof(info), block->body, block->body_size,
				  RS_FILE_SOURCE_MIN_SIZE, 0) ||
	    !info.ring_count || info.ring_count > RS_MAX_CPUS || block->source > G_MAXUINT16)
		return "a source is described wrongly";
	if (reader->n_lanes + info.ring_count > LANES_MAX)
		return "there are too many sources";
	info.name[sizeof(info.name) - 1] = info.kind[sizeof(info.kind) - 1] = 0;
	source = g_malloc0(sizeof(*source) + info.ring_count * sizeof(*source->lanes));
	source->info = info;
	source->number = block->source;
	source->index = reader->n_joined;
	source->schema = rs_trace_schema_new();
	source->clock = rs_trace_clock_new(0);
	source->names = rs_trace_cmdline_new();
	source->symbols = rs_trace_symbols_new();
	source->decoder =
		rs_trace_decoder_new(info.ring_count, source->schema, source->clock, NULL, NULL);
	rs_trace_decoder_set_source(source->decoder, (guint16)block->source);
	rs_trace_decoder_set_symbols(source->decoder, source->symbols);
	for (guint i = 0; i < info.ring_count; i++) {
		source->lanes[i].source = source;
		source->lanes[i].ring = i;
	}
	reader->n_joined++;
	reader->n_lanes += info.ring_count;
	g_ptr_array_add(reader->sources, source);
	g_hash_table_insert(reader->joined, GUINT_TO_POINTER(block->source), source);
	return NULL;
}

/* Sources that have left and were read to their end go, but not under the last record. */
static void drop_sources(RsTraceReader *reader)
{
	for (guint i = reader->sources->len; reader->n_left && i-- > 0;) {
		Source *source = reader->sources->pdata[i];

		if (!source->left || source->busy ||
		    (reader->last && reader->last->source == source))
			continue;
		add_stats(&reader->gone, source);
		reader->n_lanes -= source->info.ring_count;
		reader->n_left--;
		g_ptr_array_remove_index(reader->sources, i);
	}
}

static void trim(Source *source)
{
	guint n;
	gsize bytes = rs_trace_schema_retired(source->schema, &n);

	if (n <= RETIRED_MAX && bytes <= RETIRED_BYTES)
		return;
	rs_trace_schema_trim(source->schema, RETIRED_MAX / 2, RETIRED_BYTES / 2);
	for (guint i = 0; i < source->info.ring_count; i++) {
		RsTraceRecord *head = &source->lanes[i].head;

		if (source->lanes[i].has_head && head->event)
			head->event = rs_trace_schema_lookup(source->schema, head->id, head->when);
	}
}

/* ---- blocks ---- */

static void take_boots(Source *source, const RsTraceFileBlock *block)
{
	struct rs_boot boots[RS_BOOTS] = {0};

	for (guint i = 0; i < MIN(block->count, RS_BOOTS); i++)
		rs_trace_file_take(block, i, &boots[i], sizeof(*boots));
	rs_trace_clock_set_boots(source->clock, boots);
	rs_trace_clock_set_hz(source->clock, block->arg);
}

static void take_provider(Source *source, const RsTraceFileBlock *block)
{
	struct rs_provider entry;
	gsize size = 0;
	const guint8 *descs = block->data ? g_bytes_get_data(block->data, &size) : NULL;

	if (!block->count || block->arg > G_MAXUINT16)
		return;
	rs_trace_file_take(block, 0, &entry, sizeof(entry));
	entry.name[sizeof(entry.name) - 1] = 0;
	rs_trace_schema_take(source->schema, (guint)block->arg, &entry, descs, size, NULL, NULL);
	trim(source);
}

static void take_clock(Source *source, const RsTraceFileBlock *block)
{
	g_autofree struct rs_clock_epoch *table = g_new(struct rs_clock_epoch, block->count);

	for (guint i = 0; i < block->count; i++)
		rs_trace_file_take(block, i, &table[i], sizeof(*table));
	rs_trace_clock_take(source->clock, table, block->count, (guint32)block->arg);
}

/* Names that are wrong, or too many, cost nothing but the names. */
static void take_symbols(RsTraceReader *reader, Source *source, const RsTraceFileBlock *block)
{
	gsize size = 0, used = 0;
	const guint8 *data = block->data ? g_bytes_get_data(block->data, &size) : NULL;
	struct rs_file_symbols head;

	if (!block->count)
		return;
	for (guint i = 0; i < reader->sources->len; i++)
		used += rs_trace_symbols_size(((Source *)reader->sources->pdata[i])->symbols);
	rs_trace_file_take(block, 0, &head, sizeof(head));
	rs_trace_symbols_take(source->symbols, &head, data, size,
			      SYMBOLS_BYTES - MIN(used, SYMBOLS_BYTES), NULL);
}

static const char *take_pages(RsTraceReader *reader, Source *source, const RsTraceFileBlock *block)
{
	gsize size = block->data ? g_bytes_get_size(block->data) : 0;
	struct rs_file_page page;

	for (guint i = 0; i < block->count; i++) {
		rs_trace_file_take(block, i, &page, sizeof(page));
		if (page.ring >= source->info.ring_count || page.from < RS_RING_PAGE_HEADER ||
		    page.from > page.to || page.at % RS_FILE_ALIGN || page.at > size ||
		    page.to > size - page.at)
			return "a page does not fit its block";
		add_page(reader, &source->lanes[page.ring], block->data, &page);
	}
	return NULL;
}

static void take_lost(RsTraceReader *reader, Source *source, const RsTraceFileBlock *block)
{
	struct rs_file_page page = {0};
	struct rs_file_lost lost;

	memcpy(&lost, block->body, sizeof(lost));
	if (lost.ring >= source->info.ring_count)
		return;
	page.lost = lost.lost;
	add_page(reader, &source->lanes[lost.ring], NULL, &page);
}

/* Returns what is wrong, or NULL. */
static const char *take_block(RsTraceReader *reader, const RsTraceFileBlock *block)
{
	Source *source = g_hash_table_lookup(reader->joined, GUINT_TO_POINTER(block->source));

	if (block->kind == RS_FILE_SOURCE)
		return source ? "two sources have one number" : join(reader, block);
	if (!source)
		return block->kind == RS_FILE_INDEX ? NULL : "a block is of no source";
	switch (block->kind) {
	case RS_FILE_LEFT:
		source->left = TRUE;
		reader->n_left++;
		g_hash_table_remove(reader->joined, GUINT_TO_POINTER(block->source));
		break;
	case RS_FILE_BOOTS:
		take_boots(source, block);
		break;
	case RS_FILE_PROVIDER:
		take_provider(source, block);
		break;
	case RS_FILE_CLOCK:
		take_clock(source, block);
		break;
	case RS_FILE_NAMES:
		rs_trace_cmdline_merge(source->names, block->body, NULL,
				       (gsize)block->count * block->stride, block->stride);
		break;
	case RS_FILE_SYMBOLS:
		take_symbols(reader, source, block);
		break;
	case RS_FILE_PAGES:
		return take_pages(reader, source, block);
	case RS_FILE_LOST:
		take_lost(reader, source, block);
		break;
	default:
		break;
	}
	return NULL;
}

/* ---- windows ---- */

/* Lanes that have something again take their place in the order. */
static void prime(RsTraceReader *reader)
{
	for (guint i = 0; i < reader->fresh->len; i++) {
		Lane *lane = reader->fresh->pdata[i];

		begin_page(lane);
		lane->has_head = advance(reader, lane);
		if (lane->has_head)
			add_to_heap(reader->heap, lane);
	}
	g_ptr_array_set_size(reader->fresh, 0);
}

static void count_old(RsTraceReader *reader)
{
	reader->n_old = 0;
	for (guint i = 0; i < reader->heap->len; i++)
		reader->n_old += is_old(reader, reader->heap->pdata[i]);
}

/* Reads blocks up to the end of a window, or of the file. */
static void load_window(RsTraceReader *reader)
{
	guint64 *until = &reader->until[++reader->window & 1];
	RsTraceFileStatus status;
	RsTraceFileBlock block;
	const char *wrong = NULL;
	guint64 bytes = 0;

	*until = G_MAXUINT64;
	while ((status = rs_trace_file_next(reader->file, TRUE, &block, &reader->error)) ==
		       RS_TRACE_FILE_BLOCK &&
	       block.kind != RS_FILE_WINDOW) {
		wrong = take_block(reader, &block);
		bytes += block.data ? g_bytes_get_size(block.data) : 0;
		/* A file that says no windows is still read, but not in order. */
		if (wrong || bytes > 2 * (guint64)RS_FILE_WINDOW_BYTES)
			break;
	}
	if (wrong)
		g_set_error(&reader->error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
			    "the file is damaged at byte %" G_GUINT64_FORMAT ": %s", block.at,
			    wrong);
	else if (status == RS_TRACE_FILE_BLOCK && block.kind == RS_FILE_WINDOW)
		*until = ((const struct rs_file_window *)block.body)->until_ns;
	reader->cut = status == RS_TRACE_FILE_CUT;
	reader->ended = wrong || status != RS_TRACE_FILE_BLOCK;
	prime(reader);
	count_old(reader);
}

gboolean rs_trace_reader_next(RsTraceReader *reader, RsTraceRecord *out, GError **error)
{
	Lane *lane;

	if (reader->last) {
		lane = reader->last;
		lane->has_head = advance(reader, lane);
		if (lane->has_head)
			sift_down(reader->heap, 0);
		else
			drop_first(reader->heap);
		reader->last = NULL;
	}
	while (!reader->ended && !reader->n_old) {
		drop_sources(reader);
		load_window(reader);
	}
	if (!reader->heap->len) {
		if (reader->error)
			g_propagate_error(error, g_steal_pointer(&reader->error));
		return FALSE;
	}
	reader->last = reader->heap->pdata[0];
	*out = reader->last->head;
	return TRUE;
}

gboolean rs_trace_reader_is_cut(const RsTraceReader *reader)
{
	return reader->cut;
}

const RsTraceSymbols *rs_trace_reader_symbols(const RsTraceReader *reader)
{
	return reader->last ? reader->last->source->symbols : NULL;
}

void rs_trace_reader_task(RsTraceReader *reader, RsTraceTask *out)
{
	const Lane *lane = reader->last;

	*out = (RsTraceTask){.comm = ""};
	if (!lane || lane->head.kind != RS_TRACE_RECORD_EVENT)
		return;
	rs_trace_cmdline_lookup(lane->source->names, lane->head.pid, lane->head.when, out);
	/* The table may have lost the task, or not have it yet. */
	if (lane->head.tgid)
		out->tgid = lane->head.tgid;
}

const struct rs_file_source *rs_trace_reader_source(const RsTraceReader *reader)
{
	return reader->last ? &reader->last->source->info : NULL;
}

guint rs_trace_reader_source_index(const RsTraceReader *reader)
{
	return reader->last ? reader->last->source->index : 0;
}

const struct rs_file_header *rs_trace_reader_header(const RsTraceReader *reader)
{
	return rs_trace_file_header(reader->file);
}

guint rs_trace_reader_n_sources(const RsTraceReader *reader)
{
	return reader->n_joined;
}

void rs_trace_reader_stats(const RsTraceReader *reader, RsTraceDecoderStats *out)
{
	*out = reader->gone;
	for (guint i = 0; i < reader->sources->len; i++)
		add_stats(out, reader->sources->pdata[i]);
}

RsTraceReader *rs_trace_reader_new(RsTraceFile *file)
{
	RsTraceReader *reader = g_new0(RsTraceReader, 1);

	reader->file = file;
	reader->sources = g_ptr_array_new_with_free_func(source_free);
	reader->joined = g_hash_table_new(NULL, NULL);
	reader->heap = g_ptr_array_new();
	reader->fresh = g_ptr_array_new();
	return reader;
}

void rs_trace_reader_free(RsTraceReader *reader)
{
	if (!reader)
		return;
	rs_trace_file_free(reader->file);
	g_ptr_array_unref(reader->sources);
	g_hash_table_unref(reader->joined);
	g_ptr_array_unref(reader->heap);
	g_ptr_array_unref(reader->fresh);
	g_clear_error(&reader->error);
	g_free(reader);
}
