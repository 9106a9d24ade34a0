/* SPDX-License-Identifier: MIT */
/*
 * The data of blocks whose pages are still to be read. Of a file that lies here each page is read
 * when it is wanted. If a block is packed, or its file is far away, it is loaded then, kept as far
 * as there is room, and loaded again if need be. Those of a pipe stay until their last page was
 * read. A packed block that is wanted again and again is kept in small parts, so that it is
 * unpacked no more than three times: else rings whose pages lie in blocks of their own would unpack
 * a block for each page. One thread at a time.
 */
#ifndef RS_TRACE_STORE_PRIVATE_H
#define RS_TRACE_STORE_PRIVATE_H

#include "rs-trace-file-private.h"
#include "rs-trace-parts-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

#define RS_TRACE_STORE_BYTES (24u << 20) /* of blocks of files and of parts, at most */
#define RS_TRACE_STORE_LEAST (6u << 20)  /* of them, whatever else there is */
#define RS_TRACE_STORE_ALL (44u << 20)   /* of all that a reader holds, about */
#define RS_TRACE_STORE_PARTS (16u << 20) /* of parts, at most */
#ifdef RS_FUZZING
#define RS_TRACE_STORE_COPIES 256u /* of pages that are being read, at most */
#else
#define RS_TRACE_STORE_COPIES (8u << 20)
#endif

typedef struct {
	GQueue loaded; /* RsTraceStored of files, of which the last was used last */
	gsize bytes;   /* of them */
	gsize parts;   /* bytes of parts */
	gsize held;    /* bytes of pipes */
	guint readers; /* rings that have pages to read: each may read another block */
	GQueue lanes;  /* RsTraceLane that hold bytes of a page; the last got them last */
	gsize copies;  /* those bytes */
	guint8 *page;  /* room for one page, made when it is needed */
	gsize places;  /* of pages that are still to be read, and of their blocks */
	gsize told;    /* that the sources take: see rs-trace-file-source-private.h */
} RsTraceStore;

typedef struct {
	RsTraceStore *store;
	RsTraceFile *file;
	RsTraceFilePlace place;
	GBytes *bytes; /* NULL: not loaded */
	gboolean is_held;
	gboolean is_bad;     /* it cannot be loaded */
	gboolean in_parts;   /* each page is read from the file when it is wanted */
	guint loads;         /* so far */
	RsTraceParts *parts; /* NULL: it was not loaded often, or there is no room */
	guint refs;          /* pages */
	GList link;
} RsTraceStored;

/* How much of `most` bytes the data of blocks may have. */
gsize rs_trace_store_room(const RsTraceStore *store, gsize most);

/* Of a block that was read with its data from a pipe, or without from a file. One reference. */
RsTraceStored *rs_trace_stored_new(RsTraceStore *store, RsTraceFile *file,
				   const RsTraceFileBlock *block);
void rs_trace_stored_unref(RsTraceStored *stored);
/* Copies bytes, which lie within place.size. FALSE: they cannot be had; `error` as a file's. */
gboolean rs_trace_stored_copy(RsTraceStored *stored, guint at, guint8 *to, gsize size,
			      GError **error);
/* The same of a page, if its check is right. FALSE also if it is not. */
gboolean rs_trace_stored_page(RsTraceStored *stored, guint at, guint32 crc, guint8 *to, gsize size,
			      GError **error);

#pragma GCC visibility pop
G_END_DECLS

#endif
