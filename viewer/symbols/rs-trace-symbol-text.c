/* SPDX-License-Identifier: MIT */
/* Lines "ffffffff81000000 T name", as in /proc/kallsyms and System.map. */
#include "rs-trace-symbol-file-private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/*
 * Such text does not say where a symbol ends. Where that is not known by the next one, it reaches
 * to its page's end, since what lies behind begins with a page of its own: a module, or data.
 */
#define END_GUESSED 4096u
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

/* Makes "name [module]" of what kallsyms has. Returns where the blank is, or the name's end. */
static char *join_module(char *name)
{
	char *module = name + strcspn(name, " \t");
	gsize size;

	if (!*module)
		return module;
	size = strcspn(module + 1, " \t\r");
	if (module[1] == '[' && size > 2 && module[size] == ']') {
		*module = ' ';
		module[size + 1] = 0;
	} else {
		*module = 0;
	}
	return module;
}

/* FALSE: the line is none of them. `line` ends with a NUL. */
static gboolean take_line(RsTraceSymbolFile *file, const char *text, char *line)
{
	char *end, *name, *module, *plus;
	guint64 offset;
	Symbol symbol = {.at = g_ascii_strtoull(line, &end, 16)};

	if (end == line || *end != ' ' || !g_ascii_isalpha(end[1]) || end[2] != ' ' || !end[3])
		return FALSE;
	name = end + 3;
	module = join_module(name);
	/* Not where something lies, but a number; or what another file has; or an address. */
	if (strchr("aAU", end[1]) || !*name || g_str_has_prefix(name, "0x"))
		return TRUE;
	/* So an export to trace.dat writes an address. The function reaches that far at least. */
	plus = strstr(name, "+0x");
	if (plus && plus < module) {
		offset = MIN(g_ascii_strtoull(plus + 3, NULL, 16), symbol.at);
		symbol.at -= offset;
		symbol.size = offset + 1;
		memmove(plus, module, strlen(module) + 1);
	}
	symbol.rank = strchr("tT", end[1]) ? 0 : strchr("wWi", end[1]) ? 1 : SYMBOL_DATA;
	symbol.name = (guint32)(name - text);
	g_array_append_val(file->symbols, symbol);
	return TRUE;
}

static gint by_address(gconstpointer a, gconstpointer b)
{
	const Symbol *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Symbols at one address. */
typedef struct {
	guint64 at;
	guint64 size; /* 0: not known */
	gboolean code;
	const char *module; /* " [module]"; NULL: of the kernel itself */
} Group;

/* The one that ends before `end`, which becomes its first. */
static Group take_group(const Symbol *symbols, const char *text, guint *end)
{
	Group group = {.at = symbols[*end - 1].at,
		       .module = strchr(text + symbols[*end - 1].name, ' ')};

	for (; *end > 0 && symbols[*end - 1].at == group.at; --*end) {
		group.size = MAX(group.size, symbols[*end - 1].size);
		group.code |= !(symbols[*end - 1].rank & SYMBOL_DATA);
	}
	return group;
}

/* Where one ends and the other begins there is nothing in between. */
static gboolean touch(const Group *group, const Group *next)
{
	return next->at - group->at <= SIZE_MAX_GUESSED && group->code == next->code &&
	       !g_strcmp0(group->module, next->module);
}

/* Up to the next one, or less if that is known. Those at one address have one size. */
static void guess_sizes(RsTraceSymbolFile *file, const char *text)
{
	const guint n = file->symbols->len;
	Symbol *symbols = (Symbol *)(void *)file->symbols->data;
	Group next = {.at = G_MAXUINT64};

	g_array_sort(file->symbols, by_address);
	for (guint first = n, end = n; first > 0; end = first) {
		Group group = take_group(symbols, text, &first);
		guint64 size = next.at - group.at;

		if (group.size)
			size = MIN(size, MIN(group.size, SIZE_MAX_GUESSED));
		else if (!touch(&group, &next))
			size = MIN(size, END_GUESSED - group.at % END_GUESSED);
		for (guint k = first; k < end; k++)
			symbols[k].size = size;
		next = group;
	}
	file->from = symbols[0].at;
	file->to = symbols[n - 1].at + symbols[n - 1].size;
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
	guess_sizes(file, text);
	if (!file->from && file->to == END_GUESSED)
		return rs_trace_symbols_refuse(
			error, "all its addresses are 0: the kernel hides them (kptr_restrict)");
	return TRUE;
}
