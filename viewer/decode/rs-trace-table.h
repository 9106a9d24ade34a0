/* SPDX-License-Identifier: MIT */
/*
 * Looks at the table of providers of a live region (RS_SEC_PROVIDERS), for the schema of a session
 * or of an observer. Each look hands out the slots that have changed since the look before. Slots
 * that became free come first, then slots with a new provider. So if descriptor bytes went from one
 * provider to another, the schema has freed them before it takes the other, although the guest
 * writes meanwhile.
 *
 * One thread at a time. Trust: the table is hostile. A look copies each entry once. It copies at
 * most twice as many bytes of descriptors as the region has. The rest waits for the next look.
 */
#ifndef RS_TRACE_TABLE_H
#define RS_TRACE_TABLE_H

#include "rs-trace-region.h"
#include "rs-trace-schema.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

typedef struct _RsTraceTable RsTraceTable;

/* `region` must outlive the table. */
RsTraceTable *rs_trace_table_new(const RsTraceRegion *region);
void rs_trace_table_free(RsTraceTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceTable, rs_trace_table_free)

/*
 * A slot has changed. `entry` is a private copy of its entry. `descs` are its descriptors, unless
 * the schema knows or refuses them. The function must pass both to rs_trace_schema_take() before it
 * returns. FALSE: it did not, and the look ends.
 */
typedef gboolean (*RsTraceTableFunc)(guint slot, const struct rs_provider *entry,
				     const guint8 *descs, gsize size, gpointer data);
/* Looks at the slots below `n_slots`. TRUE: something was handed out. */
gboolean rs_trace_table_look(RsTraceTable *table, guint n_slots, const RsTraceSchema *schema,
			     RsTraceTableFunc take, gpointer data);
/* Whether the last look left something for the next one. */
gboolean rs_trace_table_pending(const RsTraceTable *table);
/*
 * Whether one of the entries that the last look found being written still is. *found: it found
 * some. This reads a word of each, so it may be called again and again.
 */
gboolean rs_trace_table_is_written(const RsTraceTable *table, gboolean *found);
/* The next look hands out everything once more. */
void rs_trace_table_forget(RsTraceTable *table);

#pragma GCC visibility pop
G_END_DECLS

#endif
