/* SPDX-License-Identifier: MIT */
/*
 * Records become pages of ours, one page at a time. Internal to ringside-import.
 */
#ifndef RS_TRACE_PACK_PRIVATE_H
#define RS_TRACE_PACK_PRIVATE_H

#include <glib.h>
#include <ringside/record.h>
#include <ringside/ring.h>

G_BEGIN_DECLS

#define RS_TRACE_PACK_PAGE 65536u /* bytes, if nobody asks for smaller ones */

/* The page that is being filled. */
typedef struct {
	guint size;       /* bytes of a page at most, RS_TRACE_PACK_PAGE or less */
	GByteArray *page; /* NULL: there is none */
	guint64 ts;       /* of its last record */
	guint32 pid;
	guint16 context;
} RsTracePack;

typedef struct {
	GByteArray *payload;
	guint id;
	guint64 ts;
	guint32 pid;
	guint16 context;
	const guint64 *frames; /* of its call stack */
	guint n_frames;
} RsTracePackRecord;

/* Whether the record fits the page. Any record fits a new page: what does not is cut. */
gboolean rs_trace_pack_fits(const RsTracePack *pack, const RsTracePackRecord *record);
/*
 * Begins a page whose first record that will be. The caller says the rest of its header: seq,
 * records, boot, ring.
 */
void rs_trace_pack_begin(RsTracePack *pack, const RsTracePackRecord *first,
			 const struct rs_ring_page *rest);
void rs_trace_pack_put(RsTracePack *pack, const RsTracePackRecord *record);
/* The page, with its length in its header; for the caller to free. */
GByteArray *rs_trace_pack_end(RsTracePack *pack);

G_END_DECLS

#endif
