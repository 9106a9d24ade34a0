/* SPDX-License-Identifier: MIT */
#include "rs-trace-table.h"

#include <ringside/atomic.h>
#include <string.h>

/* So many entries that are being written are remembered. More than one at a time is rare. */
#define WRITTEN_MAX 4u

struct _RsTraceTable {
	const RsTraceRegion *region;
	gboolean pending;
	struct {
		guint slot;
		guint32 sequence;
	} written[WRITTEN_MAX]; /* that the last look found being written */
	guint n_written;
	guint n_slots;
	guint32 told[]; /* by slot: sequence of the entry that was handed out last */
};

typedef struct {
	RsTraceTable *table;
	const RsTraceSchema *schema;
	RsTraceTableFunc take;
	gpointer data;
	guint64 bytes; /* bytes of descriptors that may still be copied in this look */
	gboolean changed, ended;
} Look;

RsTraceTable *rs_trace_table_new(const RsTraceRegion *region)
{
	guint n_slots = region->header.section[RS_SEC_PROVIDERS].count;
	RsTraceTable *table = g_malloc0(sizeof(*table) + n_slots * sizeof(*table->told));

	table->region = region;
	table->n_slots = n_slots;
	return table;
}

void rs_trace_table_free(RsTraceTable *table)
{
	g_free(table);
}

gboolean rs_trace_table_pending(const RsTraceTable *table)
{
	return table->pending;
}

static guint32 sequence_of(const RsTraceTable *table, guint slot)
{
	const struct rs_provider *entry =
		rs_trace_region_element(table->region, RS_SEC_PROVIDERS, slot);

	return entry ? rs_load(&entry->sequence) : 0;
}

static void note_written(RsTraceTable *table, guint slot)
{
	table->pending = TRUE;
	if (table->n_written == WRITTEN_MAX)
		return;
	table->written[table->n_written].slot = slot;
	table->written[table->n_written++].sequence = sequence_of(table, slot);
}

gboolean rs_trace_table_is_written(const RsTraceTable *table, gboolean *found)
{
	*found = table->n_written > 0;
	for (guint i = 0; i < table->n_written; i++) {
		const guint32 sequence = table->written[i].sequence;

		if (sequence % 2 && sequence_of(table, table->written[i].slot) == sequence)
			return TRUE;
	}
	return FALSE;
}

void rs_trace_table_forget(RsTraceTable *table)
{
	memset(table->told, 0, table->n_slots * sizeof(*table->told));
}

static void hand_out(Look *look, guint slot, const struct rs_provider *entry, const guint8 *descs,
		     gsize size)
{
	look->ended = !look->take(slot, entry, descs, size, look->data);
	if (look->ended)
		return;
	look->table->told[slot] = entry->sequence;
	look->changed = TRUE;
}

/* Whether the provider that the schema has in that slot has lost the slot. */
static gboolean is_lost(const Look *look, guint slot, const struct rs_provider *entry)
{
	return rs_trace_schema_provider(look->schema, slot) &&
	       (entry->state == RS_PROVIDER_FREE ||
		!rs_trace_schema_knows(look->schema, slot, entry));
}

/* Hands the slot out as free. A new provider in it is handed out later in the same look. */
static void hand_out_loss(Look *look, guint slot, const struct rs_provider *entry)
{
	const struct rs_provider free = {.sequence = entry->sequence, .state = RS_PROVIDER_FREE};

	hand_out(look, slot, &free, NULL, 0);
	if (!look->ended && entry->state != RS_PROVIDER_FREE)
		look->table->told[slot] = ~entry->sequence;
}

static gboolean has_changed(Look *look, guint slot, struct rs_provider *entry)
{
	if (rs_trace_region_provider(look->table->region, slot, entry))
		return entry->sequence != look->table->told[slot];
	note_written(look->table, slot);
	return FALSE;
}

/*
 * The entry may name bytes that the schema knows as another provider's. The guest changes that
 * provider's entry before it gives the bytes away. So a second look at that entry tells whether it
 * still has them. FALSE: the entry is being written, so it is too early to tell, or the look has
 * ended.
 */
static gboolean settle_bytes(Look *look, guint slot, const struct rs_provider *entry)
{
	const RsTraceProvider *other;

	while ((other = rs_trace_schema_overlap(look->schema, slot, entry))) {
		struct rs_provider now;

		if (!rs_trace_region_provider(look->table->region, other->slot, &now)) {
			note_written(look->table, other->slot);
			return FALSE;
		}
		if (!is_lost(look, other->slot, &now))
			return TRUE;
		hand_out_loss(look, other->slot, &now);
		if (look->ended)
			return FALSE;
	}
	return TRUE;
}

/* Copies the descriptors of an entry that the schema accepts. NULL: not in this look. */
static guint8 *copy_descriptors(Look *look, guint slot, const struct rs_provider *entry,
				gsize *size)
{
	const RsTraceRegion *region = look->table->region;
	guint64 want = MIN(entry->desc_size, region->header.section[RS_SEC_EVENTS].size);
	guint8 *copy = NULL;

	if (want <= look->bytes) {
		look->bytes -= want;
		copy = rs_trace_region_descriptors(region, slot, entry, size);
	}
	look->table->pending |= !copy;
	return copy;
}

static void look_at(Look *look, guint slot)
{
	g_autofree guint8 *copy = NULL;
	struct rs_provider entry;
	gsize size = 0;

	if (!has_changed(look, slot, &entry))
		return;
	if (!rs_trace_schema_knows(look->schema, slot, &entry)) {
		if (!settle_bytes(look, slot, &entry))
			return;
		if (!rs_trace_schema_overlap(look->schema, slot, &entry)) {
			copy = copy_descriptors(look, slot, &entry, &size);
			if (!copy)
				return;
		}
	}
	hand_out(look, slot, &entry, copy, size);
}

gboolean rs_trace_table_look(RsTraceTable *table, guint n_slots, const RsTraceSchema *schema,
			     RsTraceTableFunc take, gpointer data)
{
	Look look = {.table = table, .schema = schema, .take = take, .data = data};
	gboolean any = FALSE;
	struct rs_provider entry;

	look.bytes = 2 * table->region->header.section[RS_SEC_EVENTS].size;
	table->pending = FALSE;
	table->n_written = 0;
	n_slots = MIN(n_slots, table->n_slots);
	for (guint slot = 0; !look.ended && slot < n_slots; slot++) {
		if (!has_changed(&look, slot, &entry))
			continue;
		any = TRUE;
		if (is_lost(&look, slot, &entry))
			hand_out_loss(&look, slot, &entry);
	}
	for (guint slot = 0; !look.ended && (any || table->pending) && slot < n_slots; slot++)
		look_at(&look, slot);
	return look.changed;
}
