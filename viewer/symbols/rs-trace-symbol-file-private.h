/* SPDX-License-Identifier: MIT */
/* What the readers of the two kinds of file fill in. */
#ifndef RS_TRACE_SYMBOL_FILE_PRIVATE_H
#define RS_TRACE_SYMBOL_FILE_PRIVATE_H

#include "rs-trace-symbol-file.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

#define SYMBOL_TABLE_MAX ((gsize)64 << 20) /* bytes of a section, or of a text */

typedef struct {
	guint64 at;
	guint64 size; /* 0: up to the next one */
	guint32 name; /* in `names` */
	guint32 rank; /* of those at one address, the one with the lowest is kept */
} Symbol;
#define SYMBOL_DATA 0x100u /* in `rank`: it is no code */

struct _RsTraceSymbolFile {
	gatomicrefcount refs;
	char name[64];
	guint64 from, to; /* of the image, as linked */
	gboolean moves;   /* it can lie anywhere */
	guint8 build_id[32];
	guint build_id_size;
	GArray *symbols;      /* Symbol; sorted once the file is read */
	GBytes *names;        /* ends with a NUL */
	gint fitted, refused; /* atomic: it was asked of a provider, and was of that, or not */
	GBytes *table;        /* as of a block, at the file's addresses; NULL: not asked for yet */
	struct rs_file_symbols head; /* with `table` */
};

/* Reads [at, at + size). NULL: that is more than SYMBOL_TABLE_MAX, or not there. */
guint8 *rs_trace_symbols_read(int fd, guint64 at, guint64 size);

/* FALSE: it is no such file, or damaged. */
gboolean rs_trace_symbols_take_elf(RsTraceSymbolFile *file, int fd, GError **error);
gboolean rs_trace_symbols_take_text(RsTraceSymbolFile *file, int fd, GError **error);
/* Takes over `text`, and changes it. */
gboolean rs_trace_symbols_take_lines(RsTraceSymbolFile *file, GByteArray *text, GError **error);

gboolean rs_trace_symbols_refuse(GError **error, const char *why);

#pragma GCC visibility pop
G_END_DECLS

#endif
