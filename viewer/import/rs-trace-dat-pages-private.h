/* SPDX-License-Identifier: MIT */
/*
 * What an import keeps of a trace.dat, and how records become pages of a trace file. Internal to
 * ringside-import.
 */
#ifndef RS_TRACE_DAT_PAGES_PRIVATE_H
#define RS_TRACE_DAT_PAGES_PRIVATE_H

#include "rs-trace-pack-private.h"
#include "rs-trace-writer.h"

#include <event-parse.h>
#include <ringside/record.h>
#include <ringside/region.h>
#include <trace-cmd.h>

G_BEGIN_DECLS

/*
 * The latest record of a ring, while its call stack may still come: that is an event of its
 * own, right behind it.
 */
typedef struct {
	GByteArray *payload; /* NULL: none is held */
	guint id;
	guint64 ns;
	guint32 pid;
	guint16 context;
	guint64 window; /* in which it came */
} Held;

typedef struct {
	RsTracePack pack;
	guint64 seq, records;
	guint64 lost; /* before the page */
	Held held;
} Ring;

/* A buffer of the file. */
typedef struct {
	struct tracecmd_input *handle;
	char *name;
	gboolean joined;
	guint number;
	guint n_rings;
	Ring *rings;
	guint32 boot;
	struct rs_boot boots[RS_BOOTS];
	guint n_slots; /* providers so far, one for each system */
	guint next_id;
	guint64 desc_offset; /* bytes of descriptors so far */
	GHashTable *pids;    /* whose names have been told */
	GHashTable *events;  /* Linux' id -> RsTraceDatEvent */
} Source;

typedef struct {
	RsTraceWriter *writer;
	GPtrArray *sources;
	struct tep_handle *tep;
	struct trace_seq text;
	GByteArray *payload;
	guint64 ns;      /* of the latest record */
	gsize open;      /* bytes of pages that are being filled, and of records that are held */
	guint64 windows; /* that have ended */
	GBytes *symbols; /* of the kernel, as RS_FILE_SYMBOLS has them; NULL: none */
	struct rs_file_symbols symbols_head;
	guint symbols_told;
	gboolean failed; /* `error` is set */
	GError **error;
} Import;

/* All return FALSE with import->error set. */

/* Holds import->payload as the ring's latest record. What it held before goes into its page. */
gboolean rs_trace_dat_pages_hold(Import *import, Source *source, guint ring, const Held *record);
/* Lets go of what the ring holds, with these frames of its call stack. */
gboolean rs_trace_dat_pages_release(Import *import, Source *source, guint ring,
				    const guint64 *frames, guint n_frames);
/* So many records were lost here. */
gboolean rs_trace_dat_pages_lose(Import *import, Source *source, guint ring, guint64 lost);
/* All that the source's rings hold and have in pages goes into the file. */
gboolean rs_trace_dat_pages_flush(Import *import, Source *source);
/* Ends a window if there is enough for one. */
gboolean rs_trace_dat_pages_look(Import *import);
/* The last one. */
gboolean rs_trace_dat_pages_finish(Import *import);

G_END_DECLS

#endif
