/* SPDX-License-Identifier: MIT */
/*
 * Symbols of a program or kernel, from an ELF file (of 64 bits, little-endian: .symtab, else
 * .dynsym) or from text as in /proc/kallsyms and System.map. They are kept as in the file. Once it
 * is known where the image lies in a source, they become what a trace file has of them
 * (RS_FILE_SYMBOLS), and what RsTraceSymbols takes.
 *
 * Trust: the file is hostile, and may change while it is read. Every size is bounded: a table of
 * symbols or of names has at most 64 MiB, and what is beyond RS_FILE_SYMBOLS_MAX is left out. It is
 * read once, and never mapped.
 *
 * Any thread, one at a time; references may be taken and dropped on any.
 */
#ifndef RS_TRACE_SYMBOL_FILE_H
#define RS_TRACE_SYMBOL_FILE_H

#include <rs-trace-symbols.h>

#include <ringside/descriptor.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct _RsTraceSymbolFile RsTraceSymbolFile;

/*
 * Reads an open file, which stays the caller's. `name` is for people. BAD_FILE: it is neither of
 * the two, is damaged, or has no symbols.
 */
RsTraceSymbolFile *rs_trace_symbol_file_read(int fd, const char *name, GError **error);
/* The same of a text in memory. */
RsTraceSymbolFile *rs_trace_symbol_file_new_text(const char *text, const char *name,
						 GError **error);
RsTraceSymbolFile *rs_trace_symbol_file_open(const char *path, GError **error);
RsTraceSymbolFile *rs_trace_symbol_file_ref(RsTraceSymbolFile *file);
/* NULL is accepted. */
void rs_trace_symbol_file_unref(RsTraceSymbolFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSymbolFile, rs_trace_symbol_file_unref)

guint rs_trace_symbol_file_count(const RsTraceSymbolFile *file);

/*
 * How many symbols have this name. The first one's address in the file, and its size in bytes (0:
 * not known). Of names for one address only one is known.
 */
guint rs_trace_symbol_file_find(const RsTraceSymbolFile *file, const char *name, guint64 *at,
				guint64 *size);

/* Where and when the image lies in a source. */
typedef struct {
	guint64 bias; /* to be added to the file's addresses */
	guint64 from, to;
	RsTraceMoment since; /* up to the end of this boot; boot 0: always */
} RsTraceSymbolPlace;

/*
 * Whether these are the symbols of the image that the provider is part of. Then *place is where it
 * lies: always, if it cannot lie elsewhere, else from the start of the provider's last boot. Two
 * build ids that are known must be the same. A file that can lie anywhere needs a provider that
 * says where it lies.
 */
gboolean rs_trace_symbol_file_fits(RsTraceSymbolFile *file, const struct rs_provider *entry,
				   RsTraceSymbolPlace *place);
/* Whether it was asked for, and fitted no provider so far: it is of another program or build. */
gboolean rs_trace_symbol_file_is_foreign(const RsTraceSymbolFile *file);
/*
 * Sets *head, and returns the data of a block RS_FILE_SYMBOLS, to be unreffed. It takes some
 * milliseconds for each MiB. `place` NULL: where the file says, always.
 */
GBytes *rs_trace_symbol_file_place(const RsTraceSymbolFile *file, const RsTraceSymbolPlace *place,
				   struct rs_file_symbols *head);
/*
 * If the file fits this provider of a source, its names count there before all that the source
 * tells. However many there are, they share one table.
 */
void rs_trace_symbol_file_add(RsTraceSymbolFile *file, const struct rs_provider *entry,
			      RsTraceSymbols *symbols);

G_END_DECLS

#endif
