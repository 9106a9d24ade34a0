/* SPDX-License-Identifier: MIT */
/*
 * Looks at the table of providers of a live region (RS_SEC_PROVIDERS), for the schema of a session
 * or of an observer. Each look hands out what has changed since the one before: first what lost its
 * slot, then what has one now. So bytes that went from one provider to another are free in the
 * schema before the other is taken, although the guest writes meanwhile.
 *
 * The table is hostile. A look copies each entry once, and no more bytes of descriptors than twice
 * what the region has; the rest waits for the next look. One thread at a time.
 */
#ifndef RS_TRACE_TABLE_H
#define RS_TRACE_TABLE_H

#include "rs-trace-region.h"
#include "rs-trace-schema.h"

G_BEGIN_DECLS

typedef struct _RsTraceTable RsTraceTable;

/* `region` outlives it. */
RsTraceTable *rs_trace_table_new(const RsTraceRegion *region);
void rs_trace_table_free(RsTraceTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceTable, rs_trace_table_free)

/*
 * A slot has changed: a private copy of its entry, and its descriptors unless the schema knows or
 * refuses them. To be given to rs_trace_schema_take() before it returns. FALSE: that was not done,
 * and the look ends.
 */
typedef gboolean (*RsTraceTableFunc)(guint slot, const struct rs_provider *entry,
				     const guint8 *descs, gsize size, gpointer data);
/* Looks at the slots below `n_slots`. TRUE: something was handed out. */
gboolean rs_trace_table_look(RsTraceTable *table, guint n_slots, const RsTraceSchema *schema,
			     RsTraceTableFunc take, gpointer data);
/* Whether the last look left something for the next one. */
gboolean rs_trace_table_pending(const RsTraceTable *table);
/* The next look hands out everything once more. */
void rs_trace_table_forget(RsTraceTable *table);

G_END_DECLS

#endif
