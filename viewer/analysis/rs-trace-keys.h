/* SPDX-License-Identifier: MIT */
/*
 * What is counted for each of a bounded number of keys. A key that comes when there are as many as
 * there may be belongs to "(other)". Of a text, the first RS_TRACE_KEY_TEXT bytes are the key. Of
 * an enum, of flags and of an address that has a name, it is the number and what it is called,
 * since events differ in what they call it.
 *
 * Trust: keys are hostile; the hash has a secret. One thread at a time.
 */
#ifndef RS_TRACE_KEYS_H
#define RS_TRACE_KEYS_H

#include "analysis/rs-trace-column.h"

G_BEGIN_DECLS

typedef struct _RsTraceKeys RsTraceKeys;

typedef struct {
	char *label; /* any bytes: escape before printing; "(other)" of the others */
	RsTraceCellKind kind;
	guint64 number;
	guint source; /* as rs_trace_keys_get() was told */
	gboolean is_other;
	gpointer value; /* zeroed at first */
} RsTraceKey;

/* At most `max` keys besides the others, each with `size` bytes of a value. `clear`: of a value. */
RsTraceKeys *rs_trace_keys_new(guint max, gsize size, GDestroyNotify clear);
/* Accepts NULL. */
void rs_trace_keys_free(RsTraceKeys *keys);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceKeys, rs_trace_keys_free)

/* The value of a key, or of the others. Keys of different `source` are different. */
gpointer rs_trace_keys_get(RsTraceKeys *keys, guint source, const RsTraceCell *cell);
/* The value of a key; NULL: there is none. */
gpointer rs_trace_keys_find(RsTraceKeys *keys, guint source, const RsTraceCell *cell);
/* Forgets a key. `value`: what rs_trace_keys_find() found; not that of the others. */
void rs_trace_keys_remove(RsTraceKeys *keys, gpointer value);

/* How many there are, with the others if there are any. */
guint rs_trace_keys_n(const RsTraceKeys *keys);
/* All of them, the others last, else in no order. Valid as long as nothing is added or removed. */
GPtrArray *rs_trace_keys_list(const RsTraceKeys *keys);

G_END_DECLS

#endif
