/* SPDX-License-Identifier: MIT */
#include "rs-trace-file-source-private.h"

/* Providers that have lost their slot, as rs-trace-feed.c bounds them. */
#define RETIRED_MAX 4096u
#define RETIRED_BYTES ((gsize)32 << 20)

RsTraceFileSource *rs_trace_file_source_new(const struct rs_file_source *info, guint index)
{
	RsTraceFileSource *source =
		g_malloc0(sizeof(*source) + info->ring_count * sizeof(*source->lanes));

	source->info = *info;
	source->origin = rs_trace_origin_new(&source->info, TRUE, index, source);
	source->schema = rs_trace_schema_new();
	source->clock = rs_trace_clock_new(0);
	source->names = rs_trace_cmdline_new();
	source->symbols = rs_trace_symbols_new();
	source->decoder =
		rs_trace_decoder_new(info->ring_count, source->schema, source->clock, NULL, NULL);
	rs_trace_decoder_set_origin(source->decoder, source->origin);
	rs_trace_decoder_set_symbols(source->decoder, source->symbols);
	for (guint i = 0; i < info->ring_count; i++) {
		source->lanes[i].source = source;
		source->lanes[i].ring = i;
	}
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
	g_free(source);
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

static void take_boots(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	struct rs_boot boots[RS_BOOTS] = {0};

	for (guint i = 0; i < MIN(block->count, RS_BOOTS); i++)
		rs_trace_file_take(block, i, &boots[i], sizeof(*boots));
	rs_trace_clock_set_boots(source->clock, boots);
	rs_trace_clock_set_hz(source->clock, block->arg);
}

static void take_provider(RsTraceFileSource *source, const RsTraceFileBlock *block)
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

static void take_clock(RsTraceFileSource *source, const RsTraceFileBlock *block)
{
	g_autofree struct rs_clock_epoch *table = g_new(struct rs_clock_epoch, block->count);

	for (guint i = 0; i < block->count; i++)
		rs_trace_file_take(block, i, &table[i], sizeof(*table));
	rs_trace_clock_take(source->clock, table, block->count, (guint32)block->arg);
}

/* Names that are wrong, or too many, cost nothing but the names. */
static void take_symbols(RsTraceFileSource *source, const RsTraceFileBlock *block, gsize room)
{
	gsize size = 0;
	const guint8 *data = block->data ? g_bytes_get_data(block->data, &size) : NULL;
	struct rs_file_symbols head;

	if (!block->count)
		return;
	rs_trace_file_take(block, 0, &head, sizeof(head));
	rs_trace_symbols_take(source->symbols, &head, data, size, room, NULL);
}

void rs_trace_file_source_take(RsTraceFileSource *source, const RsTraceFileBlock *block, gsize room)
{
	switch (block->kind) {
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
		take_symbols(source, block, room);
		break;
	default:
		break;
	}
}
