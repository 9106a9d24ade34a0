/* SPDX-License-Identifier: MIT */
/*
 * Names of the addresses of one source: of its guest's kernel, or of a process. A trace file keeps
 * them (RS_FILE_SYMBOLS in ringside/trace_file.h), so that a trace reads the same where the program
 * is not. viewer/symbols makes such blocks from ELF files and from text as in /proc/kallsyms.
 *
 * Trust: the bytes of a block are hostile. They are bounded and checked when they are taken. Names
 * are any bytes but NUL: rs_trace_symbols_append() escapes them. One thread at a time.
 */
#ifndef RS_TRACE_SYMBOLS_H
#define RS_TRACE_SYMBOLS_H

#include "rs-trace-error.h"
#include "rs-trace-moment.h"

#include <ringside/descriptor.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct _RsTraceSymbols RsTraceSymbols;

/* A source has this provider; its names may be added to. */
typedef void (*RsTraceProviderFunc)(RsTraceSymbols *symbols, const struct rs_provider *entry,
				    gpointer data);

/* Bytes of names that a reader or a follower keeps, of all its sources. */
#define RS_TRACE_SYMBOLS_MAX ((gsize)24 << 20)
/* The bytes of a name that are shown; what is longer ends with "...". */
#define RS_TRACE_SYMBOL_SHOWN 256u

RsTraceSymbols *rs_trace_symbols_new(void);
void rs_trace_symbols_free(RsTraceSymbols *symbols);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSymbols, rs_trace_symbols_free)

/*
 * Takes what one block says: `head` and its data. Of the images that hold an address, the one that
 * was taken last counts, if it is valid at the record's moment. Where it has no symbol, it is the
 * one before. FALSE, and nothing has changed: the block is wrong (BAD_FILE), or needs more than
 * `room` bytes. That is also the bound for all that was taken: older images go, those of earlier
 * boots first.
 */
gboolean rs_trace_symbols_take(RsTraceSymbols *symbols, const struct rs_file_symbols *head,
			       gconstpointer data, gsize size, gsize room, GError **error);
/*
 * Adds an image that somebody has chosen: it counts before all that are taken. `table` is the
 * block's data as they were, with addresses to which `bias` is to be added. It is referred to.
 * FALSE: it is wrong.
 */
gboolean rs_trace_symbols_prefer(RsTraceSymbols *symbols, const struct rs_file_symbols *head,
				 GBytes *table, guint64 bias);
/* Bytes of memory of what was taken. */
gsize rs_trace_symbols_size(const RsTraceSymbols *symbols);
gboolean rs_trace_symbols_is_empty(const RsTraceSymbols *symbols);

/*
 * The symbol that `address` lay in at that moment, which is a record's. The name has
 * RS_FILE_SYMBOL_NAME_MAX bytes at most, " [module]" included, and is valid until the next take.
 * FALSE: none is known. `symbols` may be NULL.
 */
gboolean rs_trace_symbols_find(const RsTraceSymbols *symbols, RsTraceMoment when, guint64 address,
			       const char **name, guint64 *offset);

/*
 * The code that has this name at that moment: [*from, *to). Returns how many addresses have it, of
 * which the first one counts; 0: none. It looks at all names.
 */
guint rs_trace_symbols_find_code(const RsTraceSymbols *symbols, RsTraceMoment when,
				 const char *name, guint64 *from, guint64 *to);

/*
 * As rs_trace_symbols_find(), for a frame of a stack. That is where a call returns to, which may be
 * behind the end of a function whose last instruction is the call. So the symbol is that of the
 * byte before, though *offset is the frame's. Symbols of data name no frame.
 */
gboolean rs_trace_symbols_find_frame(const RsTraceSymbols *symbols, RsTraceMoment when,
				     guint64 address, const char **name, guint64 *offset);

typedef void (*RsTraceSymbolsAppend)(GString *out, const char *text, gsize size);
/*
 * Appends "name+0x12", or "name" at its start, and " [module]" if the symbol is a module's.
 * `escape` gets the name and the module. FALSE: no symbol is known there, and nothing is appended.
 */
gboolean rs_trace_symbols_append(const RsTraceSymbols *symbols, RsTraceMoment when, guint64 address,
				 RsTraceSymbolsAppend escape, GString *out);
/* Likewise, as rs_trace_symbols_find_frame() finds it. */
gboolean rs_trace_symbols_append_frame(const RsTraceSymbols *symbols, RsTraceMoment when,
				       guint64 address, RsTraceSymbolsAppend escape, GString *out);

G_END_DECLS

#endif
