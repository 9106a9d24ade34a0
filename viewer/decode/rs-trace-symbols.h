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

#include <ringside/descriptor.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct _RsTraceSymbols RsTraceSymbols;

/* A source has this provider; its names may be added to. */
typedef void (*RsTraceProviderFunc)(RsTraceSymbols *symbols, const struct rs_provider *entry,
				    gpointer data);

/* The bytes of names that are shown; what is longer ends with "...". */
#define RS_TRACE_SYMBOL_SHOWN 256u

RsTraceSymbols *rs_trace_symbols_new(void);
void rs_trace_symbols_free(RsTraceSymbols *symbols);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSymbols, rs_trace_symbols_free)

/*
 * Takes what one block says: `head` and its data. Images that lie where this one does are
 * forgotten. FALSE, and nothing has changed: the block is wrong (BAD_FILE), or there would be more
 * than `room` bytes. `room` is the caller's bound for all its tables: rs_trace_symbols_size().
 */
gboolean rs_trace_symbols_take(RsTraceSymbols *symbols, const struct rs_file_symbols *head,
			       gconstpointer data, gsize size, gsize room, GError **error);
/* What it has now is not replaced by what is taken later: somebody has chosen it. */
void rs_trace_symbols_pin(RsTraceSymbols *symbols);
/* Whether an image there is pinned. */
gboolean rs_trace_symbols_is_pinned(const RsTraceSymbols *symbols, guint64 address);
/* Bytes of memory that the names take. */
gsize rs_trace_symbols_size(const RsTraceSymbols *symbols);
gboolean rs_trace_symbols_is_empty(const RsTraceSymbols *symbols);

/*
 * The symbol that `address` lies in. The name has RS_FILE_SYMBOL_NAME_MAX bytes at most, and is
 * valid until the next take. FALSE: none is known.
 * `symbols` may be NULL.
 */
gboolean rs_trace_symbols_find(const RsTraceSymbols *symbols, guint64 address, const char **name,
			       guint64 *offset);

typedef void (*RsTraceSymbolsAppend)(GString *out, const char *text, gsize size);
/*
 * Appends "name+0x12", or "name" at its start. `escape` gets the name. FALSE: no symbol is known
 * there, and nothing is appended.
 */
gboolean rs_trace_symbols_append(const RsTraceSymbols *symbols, guint64 address,
				 RsTraceSymbolsAppend escape, GString *out);
/*
 * Likewise, for a frame of a stack. That is where a call returns to, which may be behind the end of
 * a function whose last instruction is the call. So the symbol is that of the byte before.
 */
gboolean rs_trace_symbols_append_frame(const RsTraceSymbols *symbols, guint64 address,
				       RsTraceSymbolsAppend escape, GString *out);

G_END_DECLS

#endif
