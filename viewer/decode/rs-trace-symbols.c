/* SPDX-License-Identifier: MIT */
#include "rs-trace-symbols.h"

#include <string.h>
#include <zstd.h>

/* One block's. */
typedef struct {
	guint64 from, to;
	guint count;
	gsize size; /* of `data` */
	gboolean pinned;
	guint8 *data; /* struct rs_file_symbol[count], then the names */
} Image;

struct _RsTraceSymbols {
	GArray *images; /* Image, by address; they do not overlap */
	gsize size;
};

static void clear_image(gpointer data)
{
	g_free(((Image *)data)->data);
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
static void cut_names(Image *image)
{
	char *at = (char *)image->data + image->count * sizeof(struct rs_file_symbol);
	gsize left = image->size - (gsize)(at - (char *)image->data), size;

	while (left) {
		size = strnlen(at, MIN(left, RS_FILE_SYMBOL_NAME_MAX));
		if (size == left)
			break;
		at[size++] = 0;
		at += size;
		left -= size;
	}
}

static gboolean unpack(Image *image, const struct rs_file_symbols *head, gconstpointer data,
		       gsize size, GError **error)
{
	gsize frame = ZSTD_findFrameCompressedSize(data, size);

	if (ZSTD_isError(frame))
		return refuse(error, "the data are damaged");
	image->data = g_malloc(head->unpacked);
	frame = ZSTD_decompress(image->data, head->unpacked, data, frame);
	if (!ZSTD_isError(frame) && frame == head->unpacked)
		return TRUE;
	g_clear_pointer(&image->data, g_free);
	return refuse(error, "the data are damaged");
}

static gboolean overlaps(const Image *a, const Image *b)
{
	return a->from < b->to && b->from < a->to;
}

static gboolean meets_pinned(const RsTraceSymbols *symbols, const Image *image)
{
	for (guint i = 0; i < symbols->images->len; i++) {
		const Image *other = &g_array_index(symbols->images, Image, i);

		if (other->pinned && overlaps(other, image))
			return TRUE;
	}
	return FALSE;
}

static void insert(RsTraceSymbols *symbols, const Image *image)
{
	guint place = 0;

	for (guint i = symbols->images->len; i-- > 0;) {
		const Image *other = &g_array_index(symbols->images, Image, i);

		if (!overlaps(other, image))
			continue;
		symbols->size -= other->size;
		g_array_remove_index(symbols->images, i);
	}
	while (place < symbols->images->len &&
	       g_array_index(symbols->images, Image, place).from < image->from)
		place++;
	g_array_insert_val(symbols->images, place, *image);
	symbols->size += image->size;
}

gboolean rs_trace_symbols_take(RsTraceSymbols *symbols, const struct rs_file_symbols *head,
			       gconstpointer data, gsize size, gsize room, GError **error)
{
	Image image = {
		.from = head->from, .to = head->to, .count = head->count, .size = head->unpacked};
	const char *wrong;

	if (image.from >= image.to || !image.size || image.size > RS_FILE_SYMBOLS_MAX ||
	    image.count > image.size / sizeof(struct rs_file_symbol))
		return refuse(error, "an impossible size");
	if (meets_pinned(symbols, &image))
		return TRUE;
	if (image.size > room)
		return refuse(error, "there are too many");
	if (!unpack(&image, head, data, size, error))
		return FALSE;
	wrong = check(&image);
	if (wrong) {
		g_free(image.data);
		return refuse(error, wrong);
	}
	cut_names(&image);
	insert(symbols, &image);
	return TRUE;
}

/* ---- look-ups ---- */

static const Image *find_image(const RsTraceSymbols *symbols, guint64 address)
{
	guint low = 0, high = symbols->images->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		const Image *image = &g_array_index(symbols->images, Image, middle);

		if (address < image->from)
			high = middle;
		else if (address >= image->to)
			low = middle + 1;
		else
			return image;
	}
	return NULL;
}

gboolean rs_trace_symbols_find(const RsTraceSymbols *symbols, guint64 address, const char **name,
			       guint64 *offset)
{
	const Image *image = symbols ? find_image(symbols, address) : NULL;
	struct rs_file_symbol symbol;
	guint low = 0, high;

	if (!image)
		return FALSE;
	/* The last one that is not behind the address. */
	for (high = image->count; low < high;) {
		guint middle = low + (high - low) / 2;

		if (symbol_at(image, middle).at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return FALSE;
	symbol = symbol_at(image, low - 1);
	if (symbol.size && address - symbol.at >= symbol.size)
		return FALSE;
	*name = name_of(image, &symbol);
	*offset = address - symbol.at;
	return TRUE;
}

static void append(const char *name, guint64 offset, RsTraceSymbolsAppend escape, GString *out)
{
	gsize size = strnlen(name, RS_TRACE_SYMBOL_SHOWN + 1);

	escape(out, name, MIN(size, RS_TRACE_SYMBOL_SHOWN));
	if (size > RS_TRACE_SYMBOL_SHOWN)
		g_string_append(out, "...");
	if (offset)
		g_string_append_printf(out, "+0x%" G_GINT64_MODIFIER "x", offset);
}

gboolean rs_trace_symbols_append(const RsTraceSymbols *symbols, guint64 address,
				 RsTraceSymbolsAppend escape, GString *out)
{
	const char *name;
	guint64 offset;

	if (!rs_trace_symbols_find(symbols, address, &name, &offset))
		return FALSE;
	append(name, offset, escape, out);
	return TRUE;
}

gboolean rs_trace_symbols_append_frame(const RsTraceSymbols *symbols, guint64 address,
				       RsTraceSymbolsAppend escape, GString *out)
{
	const char *name;
	guint64 offset;

	if (!address || !rs_trace_symbols_find(symbols, address - 1, &name, &offset))
		return FALSE;
	append(name, offset + 1, escape, out);
	return TRUE;
}

/* ---- pins ---- */

void rs_trace_symbols_pin(RsTraceSymbols *symbols)
{
	for (guint i = 0; i < symbols->images->len; i++)
		g_array_index(symbols->images, Image, i).pinned = TRUE;
}

gboolean rs_trace_symbols_is_pinned(const RsTraceSymbols *symbols, guint64 address)
{
	const Image *image = find_image(symbols, address);

	return image && image->pinned;
}
