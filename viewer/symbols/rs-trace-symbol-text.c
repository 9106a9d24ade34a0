/* SPDX-License-Identifier: MIT */
/* Lines "ffffffff81000000 T name", as in /proc/kallsyms and System.map. */
#include "rs-trace-symbol-file-private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Such text does not say where a symbol ends. The last one before a hole has no more than this. */
#define SIZE_MAX_GUESSED (1u << 20)
#define LINES_BAD_MAX 16u

/* /proc has no sizes, so it is read to its end. */
static GByteArray *read_all(int fd)
{
	GByteArray *all = g_byte_array_new();
	gsize piece = 1 << 16;
	ssize_t n;

	do {
		guint had = all->len;

		g_byte_array_set_size(all, had + (guint)piece);
		n = pread(fd, all->data + had, piece, (off_t)had);
		g_byte_array_set_size(all, had + (guint)MAX(n, 0));
	} while ((n > 0 && all->len < SYMBOL_TABLE_MAX) || (n < 0 && errno == EINTR));
	return all;
}

/* FALSE: the line is none of them. `line` ends with a NUL. */
static gboolean take_line(RsTraceSymbolFile *file, const char *text, char *line)
{
	char *end, *name, *plus;
	guint64 offset;
	Symbol symbol = {.at = g_ascii_strtoull(line, &end, 16)};

	if (end == line || *end != ' ' || !g_ascii_isalpha(end[1]) || end[2] != ' ' || !end[3])
		return FALSE;
	name = end + 3;
	name[strcspn(name, " \t")] = 0; /* then its module */
	/* Not where something lies, but a number; or what another file has; or an address. */
	if (strchr("aAU", end[1]) || !*name || g_str_has_prefix(name, "0x"))
		return TRUE;
	/* So an export to trace.dat writes an address. The function reaches that far at least. */
	plus = strstr(name, "+0x");
	if (plus) {
		*plus = 0;
		offset = MIN(g_ascii_strtoull(plus + 3, NULL, 16), symbol.at);
		symbol.at -= offset;
		symbol.size = offset + 1;
	}
	symbol.rank = strchr("tT", end[1]) ? 0 : 1;
	symbol.name = (guint32)(name - text);
	g_array_append_val(file->symbols, symbol);
	return TRUE;
}

static gint by_address(gconstpointer a, gconstpointer b)
{
	const Symbol *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Up to the next one, or less if that is known. Those at one address have one size. */
static void guess_sizes(RsTraceSymbolFile *file)
{
	const guint n = file->symbols->len;
	Symbol *symbols = (Symbol *)(void *)file->symbols->data;
	guint64 next = G_MAXUINT64;

	g_array_sort(file->symbols, by_address);
	for (guint i = n, first; i > 0; i = first) {
		const guint64 at = symbols[i - 1].at;
		guint64 size = 0;

		for (first = i; first > 0 && symbols[first - 1].at == at; first--)
			size = MAX(size, symbols[first - 1].size);
		size = MIN(size ? size : SIZE_MAX_GUESSED, next - at);
		for (guint k = first; k < i; k++)
			symbols[k].size = MIN(size, SIZE_MAX_GUESSED);
		next = at;
	}
	file->from = symbols[0].at;
	file->to = symbols[n - 1].at + MIN(SIZE_MAX_GUESSED, G_MAXUINT64 - symbols[n - 1].at);
}

gboolean rs_trace_symbols_take_text(RsTraceSymbolFile *file, int fd, GError **error)
{
	return rs_trace_symbols_take_lines(file, read_all(fd), error);
}

gboolean rs_trace_symbols_take_lines(RsTraceSymbolFile *file, GByteArray *all, GError **error)
{
	guint bad = 0;
	char *text;

	g_byte_array_append(all, (const guint8 *)"\n", 2); /* its NUL, too */
	text = (char *)all->data;
	for (char *line = text, *end; (end = memchr(line, '\n', all->len - (gsize)(line - text)));
	     line = end + 1) {
		*end = 0;
		bad += *line && !take_line(file, text, line);
		if (bad > LINES_BAD_MAX)
			break;
	}
	file->names = g_byte_array_free_to_bytes(all);
	if (bad > LINES_BAD_MAX || !file->symbols->len)
		return rs_trace_symbols_refuse(error, "it is no ELF file, and no list of symbols");
	guess_sizes(file);
	if (!file->from && file->to == SIZE_MAX_GUESSED)
		return rs_trace_symbols_refuse(
			error, "all its addresses are 0: the kernel hides them (kptr_restrict)");
	return TRUE;
}
