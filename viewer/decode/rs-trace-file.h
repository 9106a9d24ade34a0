/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace file (<ringside/trace_file.h>) block by block, from a file or a pipe. It checks
 * what is said about sizes; what is in the pages is the decoder's. Damaged parts are passed over: a
 * search finds the next block whose check is right, and rs_trace_file_damage() says what is gone.
 *
 * Trust: a file is hostile. No size in it makes this allocate more than its bytes, or, if they are
 * compressed, than RS_FILE_PAGES_MAX. One thread at a time.
 */
#ifndef RS_TRACE_FILE_H
#define RS_TRACE_FILE_H

#include <gio/gio.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct _RsTraceFile RsTraceFile;

/* BAD_FILE: it is no trace file. BAD_VERSION: of another version. Else G_IO_ERROR. */
RsTraceFile *rs_trace_file_new(GInputStream *stream, GCancellable *cancellable, GError **error);
void rs_trace_file_free(RsTraceFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceFile, rs_trace_file_free)

/*
 * What cancels the calls that follow (G_IO_ERROR_CANCELLED); NULL: nothing. The caller keeps it. A
 * call that was cancelled can be made again, and goes on.
 */
void rs_trace_file_set_cancellable(RsTraceFile *file, GCancellable *cancellable);

/* How it is called in messages; NULL: not at all. */
void rs_trace_file_set_name(RsTraceFile *file, const char *name);
const char *rs_trace_file_name(const RsTraceFile *file);

/* A checked copy. Valid as long as the file. */
const struct rs_file_header *rs_trace_file_header(const RsTraceFile *file);
/* Whether one can go to other places: not in a pipe. */
gboolean rs_trace_file_is_seekable(const RsTraceFile *file);

typedef enum {
	RS_TRACE_FILE_BLOCK, /* `out` is filled */
	RS_TRACE_FILE_END,   /* the file was closed properly, and ends here */
	RS_TRACE_FILE_CUT,   /* the file ends here, in the middle: its recorder did not end it */
	RS_TRACE_FILE_ERROR, /* it cannot be read; `error` is set */
} RsTraceFileStatus;

/* Where the data of a block lie. */
typedef struct {
	guint64 at;   /* from the file's start */
	guint stored; /* bytes there */
	guint size;   /* once decompressed; 0: the block has none */
	gboolean packed;
	gboolean checked; /* by `crc`; pages are not, as each has a check of its own */
	guint32 crc;
} RsTraceFilePlace;

/* A block of a kind that is known, and whose parts fit. Valid until the next call. */
typedef struct {
	guint64 at; /* from the file's start */
	guint kind; /* RS_FILE_* */
	guint source;
	/* What the head holds. Of a table: its elements. */
	gconstpointer body;
	gsize body_size;
	guint64 arg; /* of a table, as the next three */
	guint32 crc; /* of the data */
	guint count;
	guint stride;
	GBytes *data; /* decompressed; NULL: there is none, or it was not asked for */
	RsTraceFilePlace place;
	gboolean after_gap; /* what was before it is damaged */
} RsTraceFileBlock;

/* The next block. Passes over blocks of unknown kinds. */
RsTraceFileStatus rs_trace_file_next(RsTraceFile *file, gboolean with_data, RsTraceFileBlock *out,
				     GError **error);
/* These four only for files that are seekable. The block at `at` comes next. */
void rs_trace_file_seek(RsTraceFile *file, guint64 at);
/* The block at `at`, and no other. FALSE: there is none that is whole. */
gboolean rs_trace_file_read(RsTraceFile *file, guint64 at, gboolean with_data,
			    RsTraceFileBlock *out);
/* The data of a block that was read without. NULL: they are damaged, or an error of the stream. */
GBytes *rs_trace_file_load(RsTraceFile *file, const RsTraceFilePlace *place, GError **error);
/*
 * Where blocks are that are not of pages, as struct rs_file_place, in order: from the index and, if
 * the file has no end, from the heads of the blocks behind it; or, if there is no sound index, or
 * it is not to be believed, from the heads of all blocks. What an index lists may be wrong. That
 * there is one which was not believed is damage. *complete: the file has its end. NULL: error.
 */
GArray *rs_trace_file_places(RsTraceFile *file, gboolean believe, gboolean *complete,
			     GError **error);

/* What was passed over so far. Parts that one comes to a second time are not counted again. */
typedef struct {
	guint64 gaps; /* damaged parts */
	guint64 bytes;
	guint64 first;   /* where the first of them begins */
	const char *why; /* what is wrong there */
} RsTraceFileDamage;
const RsTraceFileDamage *rs_trace_file_damage(const RsTraceFile *file);
/* Counts a block that cannot be used, for a reason that stays valid. */
void rs_trace_file_reject(RsTraceFile *file, const RsTraceFileBlock *block, const char *why);

/* Bytes read so far, and in all; 0: not known. */
void rs_trace_file_progress(RsTraceFile *file, guint64 *done, guint64 *total);

/* Copies an element of a table into our struct of `size` bytes: see <ringside/grow.h>. */
void rs_trace_file_take(const RsTraceFileBlock *block, guint index, gpointer out, gsize size);

G_END_DECLS

#endif
