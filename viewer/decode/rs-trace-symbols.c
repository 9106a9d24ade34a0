/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memrchr */
#include "rs-trace-symbols.h"
#include "rs-trace-append-private.h"

#include <string.h>
#include <zstd.h>

#define IMAGES_MAX 1024u

/* Of one block, or of a file that somebody has chosen. */
typedef struct {
	guint64 from, to;
	RsTraceMoment since; /* valid up to the end of this boot; boot 0: always */
	guint64 bias;        /* to be added to the table's addresses */
	GBytes *table;       /* struct rs_file_symbol[count], then the names */
	const guint8 *data;
	gsize size; /* of `data` */
	guint count;
	guint32 data_names; /* names from here on are of data; 0: none are */
} Image;

struct _RsTraceSymbols {
	/* Image, in the order in which they were told; behind them those that are preferred. */
	GArray *images;
	guint n_told;
	gsize size; /* of what was told */
};

static void clear_image(gpointer data)
{
	g_bytes_unref(((Image *)data)->table);
}

RsTraceSymbols *rs_trace_symbols_new(void)
{
	RsTraceSymbols *symbols = g_new0(RsTraceSymbols, 1);

	symbols->images = g_array_new(FALSE, FALSE, sizeof(Image));
	g_array_set_clear_func(symbols->images, clear_image);
	return symbols;
}

void rs_trace_symbols_free(RsTraceSymbols *symbols)
{
	if (!symbols)
		return;
	g_array_unref(symbols->images);
	g_free(symbols);
}

gsize rs_trace_symbols_size(const RsTraceSymbols *symbols)
{
	return symbols->size;
}

gboolean rs_trace_symbols_is_empty(const RsTraceSymbols *symbols)
{
	return !symbols->images->len;
}

static Image *nth(const RsTraceSymbols *symbols, guint i)
{
	return &g_array_index(symbols->images, Image, i);
}

/* ---- a block ---- */

static gboolean refuse(GError **error, const char *why)
{
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE, "bad symbols: %s", why);
	return FALSE;
}

static struct rs_file_symbol symbol_at(const Image *image, guint i)
{
	struct rs_file_symbol symbol;

	memcpy(&symbol, image->data + (gsize)i * sizeof(symbol), sizeof(symbol));
	symbol.at += image->bias;
	return symbol;
}

static const char *name_of(const Image *image, const struct rs_file_symbol *symbol)
{
	return (const char *)image->data + image->count * sizeof(*symbol) + symbol->name;
}

/* So that a look-up need check nothing. Returns what is wrong, or NULL. */
static const char *check(const Image *image)
{
	gsize names = image->size - image->count * sizeof(struct rs_file_symbol);
	guint64 last = image->from;

	if (image->count && (!names || image->data[image->size - 1]))
		return "a name has no end";
	for (guint i = 0; i < image->count; i++) {
		struct rs_file_symbol symbol = symbol_at(image, i);

		if (symbol.at < last || symbol.at >= image->to)
			return "an address is out of order";
		if (symbol.name >= names)
			return "a name is not there";
		last = symbol.at;
	}
	return NULL;
}

/* So that no look-up has to do with a name of megabytes, wherever in the names it begins. */
static void cut_names(guint8 *data, const struct rs_file_symbols *head)
{
	gsize left = head->unpacked - head->count * sizeof(struct rs_file_symbol), size;
	char *at = (char *)data + (head->unpacked - left);

	while (left) {
		size = strnlen(at, MIN(left, RS_FILE_SYMBOL_NAME_MAX));
		if (size == left)
			break;
		at[size++] = 0;
		at += size;
		left -= size;
	}
}

/* NULL: the data are damaged. */
static GBytes *unpack(const struct rs_file_symbols *head, gconstpointer data, gsize size)
{
	gsize frame = ZSTD_findFrameCompressedSize(data, size);
	g_autofree guint8 *out = NULL;

	if (ZSTD_isError(frame))
		return NULL;
	out = g_malloc(head->unpacked);
	frame = ZSTD_decompress(out, head->unpacked, data, frame);
	if (ZSTD_isError(frame) || frame != head->unpacked)
		return NULL;
	cut_names(out, head);
	return g_bytes_new_take(g_steal_pointer(&out), head->unpacked);
}

/* Returns what is wrong, or NULL. */
static const char *make_image(Image *image, const struct rs_file_symbols *head, GBytes *table,
			      guint64 bias)
{
	*image = (Image){
		.from = head->from,
		.to = head->to,
		.since = {head->boot, head->chain, head->ts},
		.bias = bias,
		.table = table,
		.count = head->count,
		.data_names = head->data_names,
	};
	image->data = g_bytes_get_data(table, &image->size);
	if (image->from >= image->to || image->count > image->size / sizeof(struct rs_file_symbol))
		return "an impossible size";
	return check(image);
}

/* ---- room ---- */

static gsize cost_of(const Image *image)
{
	return sizeof(*image) + image->size;
}

static void drop(RsTraceSymbols *symbols, guint i)
{
	symbols->size -= cost_of(nth(symbols, i));
	symbols->n_told--;
	g_array_remove_index(symbols->images, i);
}

/*
 * What goes first where there is no room: an image that lies under the new one, then those of the
 * earliest boot, in the order in which they were told.
 */
static guint64 worth(const Image *old, const Image *fresh)
{
	if (fresh->from <= old->from && old->to <= fresh->to)
		return 0;
	return old->since.boot ? old->since.boot : G_MAXUINT64;
}

static void drop_one(RsTraceSymbols *symbols, const Image *fresh)
{
	guint least = 0;

	for (guint i = 1; i < symbols->n_told; i++)
		if (worth(nth(symbols, i), fresh) < worth(nth(symbols, least), fresh))
			least = i;
	drop(symbols, least);
}

/* The same image again, perhaps with other names. */
static void drop_same(RsTraceSymbols *symbols, const Image *fresh)
{
	for (guint i = symbols->n_told; i-- > 0;) {
		const Image *old = nth(symbols, i);

		if (old->from == fresh->from && old->to == fresh->to &&
		    !rs_trace_moment_compare(&old->since, &fresh->since))
			drop(symbols, i);
	}
}

gboolean rs_trace_symbols_take(RsTraceSymbols *symbols, const struct rs_file_symbols *head,
			       gconstpointer data, gsize size, gsize room, GError **error)
{
	const char *wrong;
	GBytes *table;
	Image image;

	if (!head->unpacked || head->unpacked > RS_FILE_SYMBOLS_MAX ||
	    head->count > head->unpacked / sizeof(struct rs_file_symbol))
		return refuse(error, "an impossible size");
	if (sizeof(image) + head->unpacked > room)
		return refuse(error, "there are too many");
	table = unpack(head, data, size);
	if (!table)
		return refuse(error, "the data are damaged");
	wrong = make_image(&image, head, table, 0);
	if (wrong) {
		g_bytes_unref(table);
		return refuse(error, wrong);
	}
	drop_same(symbols, &image);
	while (symbols->n_told &&
	       (symbols->size + cost_of(&image) > room || symbols->n_told >= IMAGES_MAX))
		drop_one(symbols, &image);
	g_array_insert_val(symbols->images, symbols->n_told, image);
	symbols->n_told++;
	symbols->size += cost_of(&image);
	return TRUE;
}

static gboolean is_preferred(const RsTraceSymbols *symbols, const Image *image)
{
	for (guint i = symbols->n_told; i < symbols->images->len; i++) {
		const Image *other = nth(symbols, i);

		if (other->from == image->from && other->to == image->to &&
		    other->since.boot == image->since.boot)
			return TRUE;
	}
	return FALSE;
}

gboolean rs_trace_symbols_prefer(RsTraceSymbols *symbols, const struct rs_file_symbols *head,
				 GBytes *table, guint64 bias)
{
	Image image;

	if (make_image(&image, head, table, bias))
		return FALSE;
	if (is_preferred(symbols, &image))
		return TRUE;
	if (symbols->images->len - symbols->n_told >= IMAGES_MAX)
		g_array_remove_index(symbols->images, symbols->n_told);
	g_bytes_ref(table);
	g_array_append_val(symbols->images, image);
	return TRUE;
}

/* ---- look-ups ---- */

static gboolean is_valid(const Image *image, const RsTraceMoment *when)
{
	return !image->since.boot || (image->since.boot == when->boot &&
				      rs_trace_moment_compare(&image->since, when) <= 0);
}

/* The last one that is not behind the address. FALSE: there is none, or it ends before that. */
static gboolean find_in(const Image *image, guint64 address, struct rs_file_symbol *symbol)
{
	guint low = 0, high;

	for (high = image->count; low < high;) {
		guint middle = low + (high - low) / 2;

		if (symbol_at(image, middle).at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return FALSE;
	*symbol = symbol_at(image, low - 1);
	return !symbol->size || address - symbol->at < symbol->size;
}

static gboolean is_code(const Image *image, const struct rs_file_symbol *symbol)
{
	return !image->data_names || symbol->name < image->data_names;
}

static gboolean find(const RsTraceSymbols *symbols, const RsTraceMoment *when, guint64 address,
		     gboolean code, const char **name, guint64 *offset)
{
	struct rs_file_symbol symbol;

	if (!symbols)
		return FALSE;
	for (guint i = symbols->images->len; i-- > 0;) {
		const Image *image = nth(symbols, i);

		if (image->from > address || address >= image->to || !is_valid(image, when) ||
		    !find_in(image, address, &symbol) || (code && !is_code(image, &symbol)))
			continue;
		*name = name_of(image, &symbol);
		*offset = address - symbol.at;
		return TRUE;
	}
	return FALSE;
}

gboolean rs_trace_symbols_find(const RsTraceSymbols *symbols, RsTraceMoment when, guint64 address,
			       const char **name, guint64 *offset)
{
	return find(symbols, &when, address, FALSE, name, offset);
}

/* Where a symbol ends: it says so, or where the next one begins. */
static guint64 end_of(const Image *image, guint i)
{
	struct rs_file_symbol symbol = symbol_at(image, i);

	if (symbol.size)
		return symbol.at + symbol.size;
	return i + 1 < image->count ? symbol_at(image, i + 1).at : image->to;
}

guint rs_trace_symbols_find_code(const RsTraceSymbols *symbols, RsTraceMoment when,
				 const char *name, guint64 *from, guint64 *to)
{
	guint found = 0;

	/* What was chosen or told last counts first. An image may be told more than once. */
	for (guint i = symbols ? symbols->images->len : 0; i-- > 0 && !found;) {
		const Image *image = nth(symbols, i);

		for (guint k = 0; is_valid(image, &when) && k < image->count; k++) {
			struct rs_file_symbol symbol = symbol_at(image, k);

			if (!is_code(image, &symbol) || strcmp(name_of(image, &symbol), name) != 0)
				continue;
			if (!found++) {
				*from = symbol.at;
				*to = end_of(image, k);
			}
		}
	}
	return found;
}

gboolean rs_trace_symbols_find_frame(const RsTraceSymbols *symbols, RsTraceMoment when,
				     guint64 address, const char **name, guint64 *offset)
{
	if (!address || !find(symbols, &when, address - 1, TRUE, name, offset))
		return FALSE;
	++*offset;
	return TRUE;
}

/* " [module]" at the end of such a name, or its end. */
static const char *module_of(const char *name, gsize size)
{
	const char *blank = size && name[size - 1] == ']' ? memrchr(name, ' ', size) : NULL;

	return blank && blank > name && blank[1] == '[' ? blank : name + size;
}

static void append_part(const char *text, gsize size, RsTraceSymbolsAppend escape, GString *out)
{
	escape(out, text, MIN(size, RS_TRACE_SYMBOL_SHOWN));
	if (size > RS_TRACE_SYMBOL_SHOWN)
		g_string_append(out, "...");
}

static void append(const char *name, guint64 offset, RsTraceSymbolsAppend escape, GString *out)
{
	const gsize size = strnlen(name, RS_FILE_SYMBOL_NAME_MAX);
	const char *module = module_of(name, size);

	append_part(name, (gsize)(module - name), escape, out);
	if (offset) {
		rs_append_char(out, '+');
		rs_append_hex(out, offset);
	}
	append_part(module, size - (gsize)(module - name), escape, out);
}

gboolean rs_trace_symbols_append(const RsTraceSymbols *symbols, RsTraceMoment when, guint64 address,
				 RsTraceSymbolsAppend escape, GString *out)
{
	const char *name;
	guint64 offset;

	if (!rs_trace_symbols_find(symbols, when, address, &name, &offset))
		return FALSE;
	append(name, offset, escape, out);
	return TRUE;
}

gboolean rs_trace_symbols_append_frame(const RsTraceSymbols *symbols, RsTraceMoment when,
				       guint64 address, RsTraceSymbolsAppend escape, GString *out)
{
	const char *name;
	guint64 offset;

	if (!rs_trace_symbols_find_frame(symbols, when, address, &name, &offset))
		return FALSE;
	append(name, offset, escape, out);
	return TRUE;
}
