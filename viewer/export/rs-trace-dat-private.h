/* SPDX-License-Identifier: MIT */
/*
 * The parts of a trace.dat, version 7, as trace-cmd and KernelShark read it: a place where pages
 * wait, pages as Linux' ring buffer has them, format files, and the file itself. Internal to the
 * export (rs-trace-export-dat.c). One thread at a time.
 */
#ifndef RS_TRACE_DAT_PRIVATE_H
#define RS_TRACE_DAT_PRIVATE_H

#include <gio/gio.h>

#include "rs-trace-decoder.h"

G_BEGIN_DECLS

/* ---- rs-trace-dat-spool.c: the pages of many CPUs, in one file without a name ---- */

typedef struct _RsTraceDatSpool RsTraceDatSpool;

/* What one CPU has there. */
typedef struct {
	GArray *extents; /* guint32: numbers of extents, in order */
	guint64 size;    /* bytes */
} RsTraceDatChain;

/* Takes `fd` over: an empty file, for reading and writing. */
RsTraceDatSpool *rs_trace_dat_spool_new(int fd);
void rs_trace_dat_spool_free(RsTraceDatSpool *spool);
/*
 * Writes the beginning of the page behind the chain's end, which does not move. What is not written
 * of the page is zero. A page has a power of two of bytes, 64 KiB at most, all of a chain the same.
 */
gboolean rs_trace_dat_spool_put(RsTraceDatSpool *spool, RsTraceDatChain *chain, const guint8 *bytes,
				gsize size, GError **error);
/* Reads it again. */
gboolean rs_trace_dat_spool_get(RsTraceDatSpool *spool, const RsTraceDatChain *chain, guint8 *bytes,
				gsize size, GError **error);
/* Writes all of a chain. */
gboolean rs_trace_dat_spool_copy(RsTraceDatSpool *spool, const RsTraceDatChain *chain,
				 GOutputStream *out, GCancellable *cancellable, GError **error);

/* ---- rs-trace-dat-lane.c: a CPU's records become pages ---- */

#define RS_TRACE_DAT_PAGE_HEADER 16u
/* What a record may take of a page: all but the header, a count of losses and a long time. */
#define RS_TRACE_DAT_OVERHEAD (RS_TRACE_DAT_PAGE_HEADER + 8u + 16u)

/*
 * The pages that are being filled, of all lanes. If they take too much memory, the one that was not
 * used for longest waits in the spool.
 */
typedef struct {
	RsTraceDatSpool *spool;
	gsize max;    /* bytes of pages, but at least one page */
	gsize held;   /* bytes now */
	GQueue lanes; /* RsTraceDatLane * that hold a page; the one used last is first */
} RsTraceDatPool;

typedef struct {
	RsTraceDatChain chain;
	gsize page_size;
	GList link;      /* in the pool */
	guint8 *page;    /* the one that is being filled; NULL: it waits, or there is none */
	guint used;      /* bytes of records in it */
	guint64 ns;      /* of the last record in it */
	guint64 missed;  /* records lost before it */
	guint64 pending; /* lost since the last record */
	guint64 events, lost;
} RsTraceDatLane;

RsTraceDatLane *rs_trace_dat_lane_new(gsize page_size);
/* Its pool is not used any more. */
void rs_trace_dat_lane_free(RsTraceDatLane *lane);
/* `size` bytes, page_size - RS_TRACE_DAT_OVERHEAD at most: common fields and payload. */
gboolean rs_trace_dat_lane_add(RsTraceDatLane *lane, RsTraceDatPool *pool, guint64 ns,
			       const guint8 *record, gsize size, GError **error);
/* The last page. The lane holds no memory for pages then. */
gboolean rs_trace_dat_lane_end(RsTraceDatLane *lane, RsTraceDatPool *pool, GError **error);

/* ---- rs-trace-dat-format.c ---- */

/*
 * The event's format file behind the line with its id. It is written for libtraceevent, which
 * knows less of printf than the kernel does. For the caller to free.
 */
char *rs_trace_dat_format(const RsTraceEvent *event);

/* ---- rs-trace-dat-names.c: names of tasks and of the frames of call stacks ---- */

typedef struct _RsTraceDatNames RsTraceDatNames;

RsTraceDatNames *rs_trace_dat_names_new(void);
void rs_trace_dat_names_free(RsTraceDatNames *names);
/* A task's name, as it is now. */
void rs_trace_dat_names_task(RsTraceDatNames *names, guint source, guint32 pid, const char *comm);
/*
 * The name of frame `i` of a record's stack, for the place where it lies. FALSE: there are too many
 * such places already.
 */
gboolean rs_trace_dat_names_frame(RsTraceDatNames *names, const RsTraceRecord *record, guint i);
/* Notes the name of an address in a field, if it has one, and there is room. */
void rs_trace_dat_names_pointer(RsTraceDatNames *names, const RsTraceRecord *record,
				guint64 address);
/* "PID NAME" lines, and lines as in /proc/kallsyms; for the caller to free. */
char *rs_trace_dat_names_cmdlines(const RsTraceDatNames *names);
char *rs_trace_dat_names_kallsyms(const RsTraceDatNames *names);

/* ---- rs-trace-dat-file.c ---- */

typedef struct {
	const char *name; /* "": the only one */
	gsize page_size;
	guint n_lanes;
	RsTraceDatLane *const *lanes;
} RsTraceDatBuffer;

typedef struct {
	const char *system; /* its formats follow one another */
	const char *text;   /* the format file */
} RsTraceDatEvent;

typedef struct {
	guint n_buffers;
	const RsTraceDatBuffer *buffers;
	guint n_events;
	const RsTraceDatEvent *events; /* sorted by system */
	const char *cmdlines;          /* "PID NAME" a line */
	const char *kallsyms;          /* as /proc/kallsyms has them */
	guint64 id;                    /* of the trace */
} RsTraceDatFile;

gboolean rs_trace_dat_write(const RsTraceDatFile *file, RsTraceDatSpool *spool, GOutputStream *out,
			    GCancellable *cancellable, GError **error);

G_END_DECLS

#endif
