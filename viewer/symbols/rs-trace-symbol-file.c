/* SPDX-License-Identifier: MIT */
#include "rs-trace-symbol-file-private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 1 /* of zstd: an observer does this between two rounds */

gboolean rs_trace_symbols_refuse(GError **error, const char *why)
{
	g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE, why);
	return FALSE;
}

guint8 *rs_trace_symbols_read(int fd, guint64 at, guint64 size)
{
	g_autofree guint8 *out = NULL;
	gsize got = 0;
	ssize_t n;

	if (size > SYMBOL_TABLE_MAX || at > (guint64)G_MAXINT64 - size ||
	    (guint64)lseek(fd, 0, SEEK_END) < at + size)
		return NULL;
	out = g_malloc((gsize)size + 1);
	while (got < size) {
		n = pread(fd, out + got, (gsize)size - got, (off_t)(at + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		got += (gsize)n;
	}
	out[size] = 0; /* what ends a name that the file does not */
	return g_steal_pointer(&out);
}

/* ---- in order ---- */

static const char *name_of(const RsTraceSymbolFile *file, const Symbol *symbol)
{
	return (const char *)g_bytes_get_data(file->names, NULL) + symbol->name;
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const Symbol *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strncmp(name_of(data, x), name_of(data, y), RS_FILE_SYMBOL_NAME_MAX);
}

/* One for each address, and only those that lie in the image. */
static void settle(RsTraceSymbolFile *file)
{
	guint kept = 0;

	g_array_sort_with_data(file->symbols, compare, file);
	for (guint i = 0; i < file->symbols->len; i++) {
		Symbol *symbol = &g_array_index(file->symbols, Symbol, i);

		if (symbol->at < file->from || symbol->at >= file->to ||
		    (kept && g_array_index(file->symbols, Symbol, kept - 1).at == symbol->at))
			continue;
		g_array_index(file->symbols, Symbol, kept++) = *symbol;
	}
	g_array_set_size(file->symbols, kept);
}

/* ---- the file ---- */

static RsTraceSymbolFile *file_new(const char *name)
{
	RsTraceSymbolFile *file = g_new0(RsTraceSymbolFile, 1);
	g_autofree char *base = g_path_get_basename(name);

	g_atomic_ref_count_init(&file->refs);
	g_strlcpy(file->name, base, sizeof(file->name));
	file->symbols = g_array_new(FALSE, FALSE, sizeof(Symbol));
	return file;
}

/* Once all symbols are there. */
static gboolean finish(RsTraceSymbolFile *file, GError **error)
{
	settle(file);
	return file->symbols->len || rs_trace_symbols_refuse(error, "it has no symbols");
}

RsTraceSymbolFile *rs_trace_symbol_file_new_text(const char *text, const char *name, GError **error)
{
	g_autoptr(RsTraceSymbolFile) file = file_new(name);
	GByteArray *bytes = g_byte_array_new();

	g_byte_array_append(bytes, (const guint8 *)text,
			    (guint)MIN(strlen(text), SYMBOL_TABLE_MAX));
	if (!rs_trace_symbols_take_lines(file, bytes, error) || !finish(file, error))
		return NULL;
	return g_steal_pointer(&file);
}

RsTraceSymbolFile *rs_trace_symbol_file_read(int fd, const char *name, GError **error)
{
	g_autoptr(RsTraceSymbolFile) file = file_new(name);
	char magic[SELFMAG] = "";
	gboolean done;

	if (pread(fd, magic, sizeof(magic), 0) < 0) {
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s",
			    g_strerror(errno));
		return NULL;
	}
	done = memcmp(magic, ELFMAG, SELFMAG) ? rs_trace_symbols_take_text(file, fd, error)
					      : rs_trace_symbols_take_elf(file, fd, error);
	return done && finish(file, error) ? g_steal_pointer(&file) : NULL;
}

RsTraceSymbolFile *rs_trace_symbol_file_open(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	RsTraceSymbolFile *file;

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s",
			    g_strerror(errno));
		return NULL;
	}
	file = rs_trace_symbol_file_read(fd, path, error);
	close(fd);
	return file;
}

RsTraceSymbolFile *rs_trace_symbol_file_ref(RsTraceSymbolFile *file)
{
	g_atomic_ref_count_inc(&file->refs);
	return file;
}

void rs_trace_symbol_file_unref(RsTraceSymbolFile *file)
{
	if (!file || !g_atomic_ref_count_dec(&file->refs))
		return;
	g_clear_pointer(&file->names, g_bytes_unref);
	g_clear_pointer(&file->table, g_bytes_unref);
	g_array_unref(file->symbols);
	g_free(file);
}

guint rs_trace_symbol_file_count(const RsTraceSymbolFile *file)
{
	return file->symbols->len;
}

guint rs_trace_symbol_file_find(const RsTraceSymbolFile *file, const char *name, guint64 *at,
				guint64 *size)
{
	guint found = 0;

	for (guint i = 0; i < file->symbols->len; i++) {
		const Symbol *symbol = &g_array_index(file->symbols, Symbol, i);

		if (strcmp(name_of(file, symbol), name))
			continue;
		if (!found++) {
			*at = symbol->at;
			*size = symbol->size;
		}
	}
	return found;
}

/* ---- in a source ---- */

static gboolean is_of(const RsTraceSymbolFile *file, const struct rs_provider *entry,
		      RsTraceSymbolPlace *place)
{
	guint size = MIN(entry->build_id_size, sizeof(entry->build_id));
	guint64 bias = file->moves ? entry->image_start - file->from : 0;

	if (size && file->build_id_size &&
	    (size != file->build_id_size || memcmp(entry->build_id, file->build_id, size)))
		return FALSE;
	/* No image ends above the last address. */
	if ((file->moves && !entry->image_start) || file->to + bias <= file->from + bias)
		return FALSE;
	*place = (RsTraceSymbolPlace){
		.bias = bias,
		.from = file->from + bias,
		.to = file->to + bias,
		.since.boot = file->moves ? entry->last_boot : 0,
	};
	return TRUE;
}

gboolean rs_trace_symbol_file_fits(RsTraceSymbolFile *file, const struct rs_provider *entry,
				   RsTraceSymbolPlace *place)
{
	const gboolean fits = is_of(file, entry, place);

	g_atomic_int_set(fits ? &file->fitted : &file->refused, TRUE);
	return fits;
}

gboolean rs_trace_symbol_file_is_foreign(const RsTraceSymbolFile *file)
{
	return g_atomic_int_get(&file->refused) && !g_atomic_int_get(&file->fitted);
}

/* How many of the symbols fit, names included. */
static guint fitting(const RsTraceSymbolFile *file, gsize *size)
{
	guint i;

	*size = 1; /* an empty name comes first */
	for (i = 0; i < file->symbols->len; i++) {
		const Symbol *symbol = &g_array_index(file->symbols, Symbol, i);
		gsize more = sizeof(struct rs_file_symbol) + 1 +
			     strnlen(name_of(file, symbol), RS_FILE_SYMBOL_NAME_MAX);

		if (*size + more > RS_FILE_SYMBOLS_MAX)
			break;
		*size += more;
	}
	return i;
}

/* Appends the name at *at, and steps behind it. */
static void append_name(const RsTraceSymbolFile *file, const Symbol *symbol, char **at)
{
	const char *name = name_of(file, symbol);
	gsize size = strnlen(name, RS_FILE_SYMBOL_NAME_MAX);

	memcpy(*at, name, size);
	(*at)[size] = 0;
	*at += size + 1;
}

/* Fills in the symbols that are data, or those that are not, with names from *at on. */
static void fill(const RsTraceSymbolFile *file, guint64 bias, guint count, gboolean data,
		 guint8 *out, char **at)
{
	const char *names = (const char *)out + count * sizeof(struct rs_file_symbol);

	for (guint i = 0; i < count; i++) {
		const Symbol *symbol = &g_array_index(file->symbols, Symbol, i);
		const struct rs_file_symbol one = {.at = symbol->at + bias,
						   .size = (guint32)MIN(symbol->size, G_MAXUINT32),
						   .name = (guint32)(*at - names)};

		if (((symbol->rank & SYMBOL_DATA) != 0) != data)
			continue;
		memcpy(out + i * sizeof(one), &one, sizeof(one));
		append_name(file, symbol, at);
	}
}

/* The names with addresses as in the file, plus `bias`. Sets *head for this place. */
static GBytes *make_table(const RsTraceSymbolFile *file, const RsTraceSymbolPlace *place,
			  guint64 bias, struct rs_file_symbols *head)
{
	gsize size;
	guint count = fitting(file, &size);
	guint8 *table = g_malloc(size);
	char *names = (char *)table + count * sizeof(struct rs_file_symbol), *at = names;

	*head = (struct rs_file_symbols){
		.from = place->from,
		.to = place->to,
		.count = count,
		.unpacked = (guint32)size,
		.build_id_size = file->build_id_size,
		.boot = place->since.boot,
		.chain = place->since.chain,
		.ts = place->since.ts,
	};
	memcpy(head->build_id, file->build_id, sizeof(head->build_id));
	memcpy(head->name, file->name, sizeof(head->name));
	*at++ = 0;
	fill(file, bias, count, FALSE, table, &at);
	head->data_names = (guint32)(at - names);
	fill(file, bias, count, TRUE, table, &at);
	return g_bytes_new_take(table, size);
}

GBytes *rs_trace_symbol_file_place(const RsTraceSymbolFile *file, const RsTraceSymbolPlace *place,
				   struct rs_file_symbols *head)
{
	const RsTraceSymbolPlace linked = {.from = file->from, .to = file->to};
	const RsTraceSymbolPlace *at = place ? place : &linked;
	g_autoptr(GBytes) table = make_table(file, at, at->bias, head);
	gsize size = head->unpacked, room = ZSTD_compressBound(size);
	guint8 *packed = g_malloc(room);

	size = ZSTD_compress(packed, room, g_bytes_get_data(table, NULL), size, LEVEL);
	return g_bytes_new_take(packed, size);
}

void rs_trace_symbol_file_add(RsTraceSymbolFile *file, const struct rs_provider *entry,
			      RsTraceSymbols *symbols)
{
	RsTraceSymbolPlace place;

	if (entry->state == RS_PROVIDER_FREE || !rs_trace_symbol_file_fits(file, entry, &place))
		return;
	if (!file->table)
		file->table = make_table(file, &place, 0, &file->head);
	file->head.from = place.from;
	file->head.to = place.to;
	file->head.boot = place.since.boot;
	rs_trace_symbols_prefer(symbols, &file->head, file->table, place.bias);
}
