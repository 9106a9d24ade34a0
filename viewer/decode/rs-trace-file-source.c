/* SPDX-License-Identifier: MIT */
#include "rs-trace-file-source-private.h"
#include "rs-trace-decoder-private.h"

/* Providers that have lost their slot, as rs-trace-feed.c bounds them. */
#define RETIRED_MAX 4096u
#define RETIRED_BYTES ((gsize)32 << 20)

static gsize fixed_size(const RsTraceFileSource *source)
{
	const guint n = source->info.ring_count;

	/* And its name, escaped, and a place in each of the tables of sources. */
	return sizeof(*source) + n * sizeof(*source->lanes) + rs_trace_decoder_size(n) +
	       sizeof(*source->origin) + 256;
}

/* Replaces what was counted in a sum. */
static void count(gsize *sum, gsize *counted, gsize now)
{
	*sum += now - *counted;
	*counted = now;
}

static void count_all(RsTraceFileSource *source, gsize tasks, gsize symbols, gsize others)
{
	RsTraceTold *told = source->told;
	const gsize before = MIN(told->symbols, RS_TRACE_TOLD_COUNTED);

	count(told->used, &source->counted, tasks + others);
	count(&told->tasks, &source->tasks_counted, tasks);
	count(&told->symbols, &source->symbols_counted, symbols);
	*told->used += MIN(told->symbols, RS_TRACE_TOLD_COUNTED) - before;
}

void rs_trace_file_source_count(RsTraceFileSource *source)
{
	count_all(source, source->names ? rs_trace_cmdline_size(source->names) : 0,
		  source->symbols ? 128 + rs_trace_symbols_size(source->symbols) : 0,
		  fixed_size(source) + (source->clock ? rs_trace_clock_size(source->clock) : 0));
}

RsTraceFileSource *rs_trace_file_source_new(const struct rs_file_source *info, guint index,
					    RsTraceTold *told)
{
	RsTraceFileSource *source =
		g_malloc0(sizeof(*source) + info->ring_count * sizeof(*source->lanes));

	source->info = *info;
	source->origin = rs_trace_origin_new(&source->info, TRUE, index, source);
	source->told = told;
	source->decoder = rs_trace_decoder_new(info->ring_count, NULL, NULL, NULL, NULL);
	rs_trace_decoder_set_origin(source->decoder, source->origin);
	for (guint i = 0; i < info->ring_count; i++) {
		source->lanes[i].source = source;
		source->lanes[i].ring = i;
		source->lanes[i].rank = rs_trace_lane_rank(index, i);
	}
	told->n_sources++;
	rs_trace_file_source_count(source);
	return source;
}

void rs_trace_file_source_free(RsTraceFileSource *source)
{
	for (guint i = 0; i < source->info.ring_count; i++)
		rs_trace_lane_clear(&source->lanes[i]);
	rs_trace_decoder_free(source->decoder);
	rs_trace_cmdline_free(source->names);
	rs_trace_symbols_free(source->symbols);
	rs_trace_clock_free(source->clock);
	rs_trace_schema_free(source->schema);
	rs_trace_origin_free(source->origin);
	count_all(source, 0, 0, 0);
	source->told->n_sources--;
	g_free(source);
}

static RsTraceClock *clock_of(RsTraceFileSource *source)
{
	if (!source->clock) {
		source->clock = rs_trace_clock_new(0);
		rs_trace_decoder_set_tables(source->decoder, source->schema, source->clock);
	}
	return source->clock;
}

static RsTraceSchema *schema_of(RsTraceFileSource *source)
{
	if (!source->schema) {
		source->schema = rs_trace_schema_new_in(&source->told->pool);
		rs_trace_decoder_set_tables(source->decoder, source->schema, source->clock);
	}
	return source->schema;
}

RsTraceSymbols *rs_trace_file_source_symbols(RsTraceFileSource *source)
{
	if (!source->symbols) {
		source->symbols = rs_trace_symbols_new();
		if (!source->hide_symbols)
			rs_trace_decoder_set_symbols(source->decoder, source->symbols);
	}
	return source->symbols;
}

void rs_trace_file_source_add_stats(const RsTraceFileSource *source, RsTraceDecoderStats *sum)
{
	const RsTraceDecoderStats *stats = rs_trace_decoder_stats(source->decoder);

	sum->records += stats->records;
	sum->lost += stats->lost;
	sum->bad_pages += stats->bad_pages;
	sum->unknown += stats->unknown;
}

/* Frees old providers, but not under the records that come next. */
static void trim(RsTraceFileSource *source)
{
	const gboolean tight = *source->told->used > RS_TRACE_TOLD_BYTES / 2;
	const guint most = tight ? RETIRED_MAX / 16 : RETIRED_MAX;
	const gsize most_bytes = tight ? RETIRED_BYTES / 16 : RETIRED_BYTES;
	guint n;
	gsize bytes = rs_trace_schema_retired(source->schema, &n);

	if (n <= most && bytes <= most_bytes)
		return;
	rs_trace_schema_trim(source->schema, most / 2, most_bytes / 2);
	for (guint i = 0; i < source->info.ring_count; i++) {
		RsTraceRecord *head = &source->lanes[i].head;

		if (source->lanes[i].has_head && head->event)
			head->event = rs_trace_schema_lookup(source->schema, head->id, head->when);
	}
}

static void take_boots(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	struct rs_file_boot boots[RS_BOOTS] = {0};

	for (guint i = 0; i < MIN(block->count, RS_BOOTS); i++)
		rs_trace_file_take(block, i, &boots[i], sizeof(*boots));
	rs_trace_clock_set_file_boots(clock_of(source), boots);
	rs_trace_origin_take_boots(&source->info, boots);
	rs_trace_clock_set_hz(clock_of(source), block->arg);
}

static const char *take_provider(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	RsTraceDescriptorPool *pool = &source->told->pool;
	struct rs_provider entry;
	gsize size = 0;
	const guint8 *descs = block->data ? g_bytes_get_data(block->data, &size) : NULL;

	if (!block->count || block->arg > G_MAXUINT16)
		return NULL;
	rs_trace_file_take(block, 0, &entry, sizeof(entry));
	entry.name[sizeof(entry.name) - 1] = 0;
	pool->is_full = FALSE;
	rs_trace_schema_take(schema_of(source), (guint)block->arg, &entry, descs, size, NULL, NULL);
	trim(source);
	return pool->is_full ? "events have more descriptions than there is room for" : NULL;
}

static const char *take_clock(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	g_autofree struct rs_clock_epoch *table = NULL;

	if (rs_trace_told_is_full(source->told))
		return "there is no room for a clock";
	table = g_new(struct rs_clock_epoch, block->count);
	for (guint i = 0; i < block->count; i++)
		rs_trace_file_take(block, i, &table[i], sizeof(*table));
	rs_trace_clock_take(clock_of(source), table, block->count, (guint32)block->arg);
	return NULL;
}

#define NAMES_AT_ONCE 1024u

/* The pids that got no name for longest are dropped if this source has more than its share. */
static void take_names(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	const RsTraceTold *told = source->told;
	const guint8 *bytes = block->body;
	guint n;

	if (!source->names)
		source->names = rs_trace_cmdline_new();
	for (guint i = 0; i < block->count; i += n) {
		n = MIN(block->count - i, NAMES_AT_ONCE);
		rs_trace_cmdline_merge(source->names, bytes + (gsize)i * block->stride, NULL,
				       (gsize)n * block->stride, block->stride);
		rs_trace_file_source_count(source);
		if (told->tasks > RS_TRACE_TOLD_TASKS &&
		    source->tasks_counted > RS_TRACE_TOLD_TASKS / told->n_sources)
			rs_trace_cmdline_age(source->names);
	}
}

/* Names that are wrong, or too many, cost nothing but the names. */
static void take_symbols(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	const RsTraceTold *told = source->told;
	const gsize others = told->symbols - source->symbols_counted;
	gsize size = 0, room = RS_TRACE_TOLD_SYMBOLS - MIN(others, RS_TRACE_TOLD_SYMBOLS);
	const guint8 *data = block->data ? g_bytes_get_data(block->data, &size) : NULL;
	struct rs_file_symbols head;

	if (!block->count)
		return;
	rs_trace_file_take(block, 0, &head, sizeof(head));
	rs_trace_symbols_take(rs_trace_file_source_symbols(source), &head, data, size, room, NULL);
}

static const char *take(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	switch (block->kind) {
	case RS_FILE_BOOTS:
		take_boots(source, block);
		return NULL;
	case RS_FILE_PROVIDER:
		return take_provider(source, block);
	case RS_FILE_CLOCK:
		return take_clock(source, block);
	case RS_FILE_NAMES:
		take_names(source, block);
		return NULL;
	case RS_FILE_SYMBOLS:
		take_symbols(source, block);
		return NULL;
	default:
		return NULL;
	}
}

const char *rs_trace_file_source_take(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	const char *wrong = take(source, block);

	rs_trace_file_source_count(source);
	return wrong;
}
