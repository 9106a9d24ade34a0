/* SPDX-License-Identifier: MIT */
/*
 * One trace file of a reader: its sources, and its windows (docs/adr/0017-trace-files.md), of which
 * two are held. Of a seekable file only where their pages lie is held. One thread at a time.
 */
#ifndef RS_TRACE_INPUT_PRIVATE_H
#define RS_TRACE_INPUT_PRIVATE_H

#include "rs-trace-file-source-private.h"
#include "rs-trace-kept.h"
#include "rs-trace-order-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/*
 * Held at most: bytes of windows of a pipe; of any file, where pages lie, which is 262,144 of them
 * if each block has many; and sources that have left.
 */
#define RS_TRACE_INPUT_HELD (32u << 20)
#define RS_TRACE_INPUT_PLACES ((256u << 10) * sizeof(RsTraceLanePage))
#define RS_TRACE_INPUT_LEFT 4096u

/* What the files of a reader share. */
typedef struct {
	RsTraceStore store;
	GError *stopped; /* what is under way was cancelled: there is no first record */
	guint n_joined;  /* sources so far */
	RsTraceTold told;
	RsTraceProviderFunc provider; /* NULL: nobody wants to know */
	gpointer provider_data;
	gboolean hide_symbols; /* of records */
	/*
	 * Nothing is loaded while `pausing`, since that may change what earlier records refer to.
	 * `paused`: a window must be loaded before one knows which record comes next.
	 */
	gboolean pausing, paused;
	guint64 n_windows;   /* that were loaded, or a part of one: names of tasks may have moved */
	gboolean is_growing; /* only windows are read that are there as a whole */
	guint n_lanes;       /* rings of those that are there */
	RsTraceEventFunc event; /* likewise */
	gpointer event_data;
	GHashTable *names;       /* of sources -> guint64 *, session that had it first; or NULL */
	RsTraceNumbers *numbers; /* NULL: they are the reader's own */
	guint n_files;
} RsTraceShared;

typedef struct {
	RsTraceFile *file;
	RsTraceShared *shared;
	guint number;       /* 0, 1 ... of the reader's files */
	guint64 shift;      /* from its own times to those of the reader */
	GPtrArray *sources; /* RsTraceFileSource *, that may have records */
	GHashTable *joined; /* number in the file -> RsTraceFileSource, that have not left */
	GHashTable *known;  /* at -> index + 1, of sources that ever joined */
	guint n_left;       /* sources that have left and are still there */
	guint n_pages;      /* held */
	RsTraceOrder order;
	GPtrArray *fresh; /* RsTraceLane *, which have got pages and are not in the order */
	guint64 window;   /* the newest, of which blocks are being read, or were */
	guint n_old;      /* lanes whose first page is of an older one */
	guint64 until[2]; /* of the window, by number & 1; in the reader's time */
	guint64 gaps;     /* damaged parts so far */
	gboolean ended, cut, unordered;
	gboolean waits; /* the next window is not there as a whole, as far as one knows */
	GError *error;
	RsTraceDecoderStats gone; /* of sources that were freed */
	GArray *places;           /* NULL: not asked for yet */
	gboolean scanned;         /* the index is wrong, and not believed any more */
	gboolean counted;         /* n_listed was asked for */
	guint n_listed;           /* sources that the index has */
	GHashTable *floors;       /* NULL, or of the pages that rs_trace_input_seek_last() wants */
} RsTraceInput;

/* Takes `file` over. */
RsTraceInput *rs_trace_input_new(RsTraceFile *file, RsTraceShared *shared);
void rs_trace_input_free(RsTraceInput *input);

/*
 * Whose record comes next. NULL: there is none any more, and input->error may say why; or
 * shared->stopped or ->paused is set, or input->waits. Once that is cleared, this goes on where it
 * was stopped.
 */
RsTraceLane *rs_trace_input_first(RsTraceInput *input);
/* Goes on behind that record, and returns whose comes then. */
RsTraceLane *rs_trace_input_next(RsTraceInput *input);

/* Sees to it that the bytes of its record are there until the next call. FALSE: they are lost. */
gboolean rs_trace_input_hold(RsTraceInput *input, RsTraceLane *lane);

/*
 * Only for seekable files: goes to where all records from `ns` on (the reader's time) are still to
 * come. FALSE: error, and nothing has changed; but if it was cancelled, or the index is wrong and
 * the file cannot be read without it, the place is lost.
 */
gboolean rs_trace_input_seek(RsTraceInput *input, guint64 ns, GError **error);
/* The same for the last `n` events. *have: how many will come, some more as a rule. */
gboolean rs_trace_input_seek_last(RsTraceInput *input, guint64 n, guint64 *have, GError **error);

/*
 * How many sources join in the file, or, if it has no index that says so, have joined so far. The
 * first call reads the index.
 */
guint rs_trace_input_n_sources(RsTraceInput *input);

/* For rs-trace-input-seek.c. Drops what is held, to begin elsewhere. */
void rs_trace_input_reset(RsTraceInput *input);
/* Takes a block, and loads what it tells. One that is wrong counts as damage. */
void rs_trace_input_take(RsTraceInput *input, RsTraceFileBlock *block);
gboolean rs_trace_input_page_fits(const RsTraceFileBlock *block, const struct rs_file_page *page);
/* Whether it is one of the pages that are wanted. */
gboolean rs_trace_input_wants(const RsTraceInput *input, const RsTraceFileBlock *block,
			      const struct rs_file_page *page, guint index);
static inline guint64 rs_trace_add_ns(guint64 ns, guint64 shift)
{
	return ns > G_MAXUINT64 - shift ? G_MAXUINT64 : ns + shift;
}

#pragma GCC visibility pop
G_END_DECLS

#endif
