/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-keys.h"

#include "rs-trace-value.h"

#include <string.h>

#define LABEL_MAX 128u /* bytes of a symbol's name that are shown */

/* A key as it is compared. */
typedef struct {
	guint64 hash;
	guint64 number;
	guint source;
	guint size; /* of the text */
	gboolean is_text;
	const char *text;
} Ident;

typedef struct {
	Ident ident; /* first: it is what the table compares */
	RsTraceKey key;
	char text[RS_TRACE_KEY_TEXT];
	guint8 value[] __attribute__((aligned(8)));
} Entry;

struct _RsTraceKeys {
	GHashTable *table; /* Ident -> Entry, which begins with it */
	guint max;
	gsize size;
	GDestroyNotify clear;
	guint64 secret;
	GString *name; /* of the key that is looked up */
	Entry *other;
};

static guint hash_of(gconstpointer key)
{
	return (guint)((const Ident *)key)->hash;
}

static gboolean same(gconstpointer a, gconstpointer b)
{
	const Ident *x = a, *y = b;

	return x->hash == y->hash && x->number == y->number && x->source == y->source &&
	       x->is_text == y->is_text && x->size == y->size && !memcmp(x->text, y->text, x->size);
}

static guint64 mix(guint64 hash, guint64 word)
{
	hash = (hash ^ word) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static void append_bytes(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

/* What a number is called, in keys->name. FALSE: nothing. */
static gboolean take_name(RsTraceKeys *keys, const RsTraceCell *cell)
{
	g_string_truncate(keys->name, 0);
	if (cell->kind == RS_TRACE_CELL_SYMBOL)
		rs_trace_append_symbols(keys->name, cell->field, cell->number, append_bytes);
	else if (cell->symbols)
		rs_trace_symbols_append(cell->symbols, cell->when, cell->number, append_bytes,
					keys->name);
	return keys->name->len != 0;
}

static guint64 mix_text(guint64 hash, const char *text, guint size)
{
	hash = mix(hash, size + 1);
	for (guint i = 0; i < size; i += 8) {
		guint64 word = 0;

		memcpy(&word, text + i, MIN(size - i, 8));
		hash = mix(hash, word);
	}
	return hash;
}

static Ident identify(RsTraceKeys *keys, guint source, const RsTraceCell *cell)
{
	Ident ident = {.source = source, .text = ""};
	guint64 hash = mix(keys->secret, source);

	ident.is_text = cell->kind == RS_TRACE_CELL_TEXT;
	if (!ident.is_text) {
		ident.number = cell->number;
		hash = mix(hash, cell->number);
	}
	if (ident.is_text) {
		ident.text = cell->text;
		ident.size = (guint)MIN(cell->size, RS_TRACE_KEY_TEXT);
	} else if (take_name(keys, cell)) {
		ident.text = keys->name->str;
		ident.size = (guint)MIN(keys->name->len, RS_TRACE_KEY_TEXT);
	}
	if (ident.is_text || ident.size)
		hash = mix_text(hash, ident.text, ident.size);
	ident.hash = mix(hash, keys->secret);
	ident.hash ^= ident.hash >> 32;
	return ident;
}

static char *label_of(const RsTraceKeys *keys, const Ident *ident, const RsTraceCell *cell)
{
	if (cell->label)
		return g_strdup(cell->label);
	if (cell->kind == RS_TRACE_CELL_SYMBOL || (!ident->is_text && ident->size))
		return g_strndup(keys->name->str, LABEL_MAX);
	switch (cell->kind) {
	case RS_TRACE_CELL_TEXT:
		return g_strndup(cell->text, MIN(cell->size, RS_TRACE_KEY_TEXT));
	case RS_TRACE_CELL_SIGNED:
		return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)cell->number);
	default:
		if (cell->field && cell->field->is_hex)
			return g_strdup_printf("0x%" G_GINT64_MODIFIER "x", cell->number);
		return g_strdup_printf("%" G_GUINT64_FORMAT, cell->number);
	}
}

static Entry *entry_new(const RsTraceKeys *keys)
{
	Entry *entry = g_malloc0(sizeof(*entry) + keys->size);

	entry->key.value = entry->value;
	return entry;
}

static Entry *add(RsTraceKeys *keys, const Ident *ident, const RsTraceCell *cell)
{
	Entry *entry = entry_new(keys);

	entry->ident = *ident;
	memcpy(entry->text, ident->text, ident->size);
	entry->ident.text = entry->text;
	entry->key.label = label_of(keys, ident, cell);
	entry->key.kind = cell->kind;
	entry->key.number = cell->number;
	entry->key.source = ident->source;
	g_hash_table_insert(keys->table, &entry->ident, entry);
	return entry;
}

static void entry_free(const RsTraceKeys *keys, Entry *entry)
{
	if (keys->clear)
		keys->clear(entry->value);
	g_free(entry->key.label);
	g_free(entry);
}

RsTraceKeys *rs_trace_keys_new(guint max, gsize size, GDestroyNotify clear)
{
	RsTraceKeys *keys = g_new0(RsTraceKeys, 1);

	keys->table = g_hash_table_new(hash_of, same);
	keys->name = g_string_new(NULL);
	keys->max = max;
	keys->size = size;
	keys->clear = clear;
	keys->secret = (guint64)g_random_int() << 32 | g_random_int();
	return keys;
}

void rs_trace_keys_free(RsTraceKeys *keys)
{
	GHashTableIter iter;
	gpointer entry;

	if (!keys)
		return;
	g_hash_table_iter_init(&iter, keys->table);
	while (g_hash_table_iter_next(&iter, NULL, &entry))
		entry_free(keys, entry);
	g_hash_table_unref(keys->table);
	g_string_free(keys->name, TRUE);
	if (keys->other)
		entry_free(keys, keys->other);
	g_free(keys);
}

gpointer rs_trace_keys_find(RsTraceKeys *keys, guint source, const RsTraceCell *cell)
{
	const Ident ident = identify(keys, source, cell);
	Entry *entry = g_hash_table_lookup(keys->table, &ident);

	return entry ? entry->value : NULL;
}

gpointer rs_trace_keys_get(RsTraceKeys *keys, guint source, const RsTraceCell *cell)
{
	const Ident ident = identify(keys, source, cell);
	Entry *entry = g_hash_table_lookup(keys->table, &ident);

	if (!entry && g_hash_table_size(keys->table) < keys->max)
		entry = add(keys, &ident, cell);
	if (entry)
		return entry->value;
	if (!keys->other) {
		keys->other = entry_new(keys);
		keys->other->key.label = g_strdup("(other)");
		keys->other->key.kind = RS_TRACE_CELL_TEXT;
		keys->other->key.is_other = TRUE;
	}
	return keys->other->value;
}

void rs_trace_keys_remove(RsTraceKeys *keys, gpointer value)
{
	Entry *entry = (Entry *)((guint8 *)value - G_STRUCT_OFFSET(Entry, value));

	g_hash_table_remove(keys->table, &entry->ident);
	entry_free(keys, entry);
}

guint rs_trace_keys_n(const RsTraceKeys *keys)
{
	return g_hash_table_size(keys->table) + (keys->other != NULL);
}

GPtrArray *rs_trace_keys_list(const RsTraceKeys *keys)
{
	GPtrArray *list = g_ptr_array_new();
	GHashTableIter iter;
	gpointer entry;

	g_hash_table_iter_init(&iter, keys->table);
	while (g_hash_table_iter_next(&iter, NULL, &entry))
		g_ptr_array_add(list, &((Entry *)entry)->key);
	if (keys->other)
		g_ptr_array_add(list, &keys->other->key);
	return list;
}
