/* SPDX-License-Identifier: MIT */
#include "rs-trace-told.h"

#include <rs-trace-origin.h>
#include <rs-trace-symbols.h>

#include <string.h>

#define WINDOWS_KEPT 2
/* Of providers that have lost their slot. A guest may change them as fast as it can. */
#define GONE_MAX 1024u
#define GONE_BYTES ((gsize)8 << 20)
#define SYMBOLS_MAX 1024u /* images */

typedef struct {
	guint slot;
	struct rs_provider entry;
	GBytes *descs;  /* NULL: it has none */
	guint64 window; /* in which another one took its slot; of those in `gone` */
} Provider;

typedef struct {
	struct rs_file_symbols head;
	GBytes *data;
	guint64 window; /* in which its boot was seen to be over; 0: it is not */
} Symbols;

struct _RsTraceTold {
	struct rs_file_source source;
	gboolean has_boots;
	struct rs_file_boot boots[RS_BOOTS];
	guint64 hz;
	GArray *clock; /* struct rs_clock_epoch */
	guint32 epoch_count;
	GArray *symbols; /* Symbols, in the order in which they were told */
	gsize symbol_bytes;
	GHashTable *slots; /* slot → Provider */
	GQueue gone;       /* Provider, the oldest first */
	gsize gone_bytes;
	guint64 windows; /* that have ended */
};

static void free_provider(gpointer data)
{
	Provider *provider = data;

	g_clear_pointer(&provider->descs, g_bytes_unref);
	g_free(provider);
}

static gsize bytes_of(const Provider *provider)
{
	return sizeof(*provider) + (provider->descs ? g_bytes_get_size(provider->descs) : 0);
}

static void drop_oldest(RsTraceTold *told)
{
	Provider *oldest = g_queue_pop_head(&told->gone);

	told->gone_bytes -= bytes_of(oldest);
	free_provider(oldest);
}

static void retire(RsTraceTold *told, guint slot)
{
	gpointer taken;
	Provider *provider;

	if (!g_hash_table_steal_extended(told->slots, GUINT_TO_POINTER(slot), NULL, &taken))
		return;
	provider = taken;
	provider->window = told->windows;
	told->gone_bytes += bytes_of(provider);
	g_queue_push_tail(&told->gone, provider);
	while (told->gone.length > GONE_MAX || told->gone_bytes > GONE_BYTES)
		drop_oldest(told);
}

void rs_trace_told_boots(RsTraceTold *told, const struct rs_file_boot boots[RS_BOOTS], guint64 hz)
{
	if (!told)
		return;
	told->has_boots = TRUE;
	memcpy(told->boots, boots, sizeof(told->boots));
	rs_trace_origin_take_boots(&told->source, boots);
	told->hz = hz;
}

void rs_trace_told_provider(RsTraceTold *told, guint slot, const struct rs_provider *entry,
			    const guint8 *descs, gsize size)
{
	Provider *provider;

	if (!told)
		return;
	provider = g_hash_table_lookup(told->slots, GUINT_TO_POINTER(slot));
	/* Without descriptors it is news of the same provider. */
	if (provider && !size && entry->state != RS_PROVIDER_FREE) {
		provider->entry = *entry;
		return;
	}
	retire(told, slot);
	if (entry->state == RS_PROVIDER_FREE)
		return;
	provider = g_new0(Provider, 1);
	provider->slot = slot;
	provider->entry = *entry;
	provider->descs = size ? g_bytes_new(descs, size) : NULL;
	g_hash_table_insert(told->slots, GUINT_TO_POINTER(slot), provider);
}

void rs_trace_told_clock(RsTraceTold *told, const struct rs_clock_epoch *table, guint n,
			 guint32 epoch_count)
{
	if (!told)
		return;
	g_array_set_size(told->clock, 0);
	g_array_append_vals(told->clock, table, n);
	told->epoch_count = epoch_count;
}

static void clear_symbols(gpointer data)
{
	g_bytes_unref(((Symbols *)data)->data);
}

static Symbols *nth_symbols(const RsTraceTold *told, guint i)
{
	return &g_array_index(told->symbols, Symbols, i);
}

static void drop_symbols(RsTraceTold *told, guint i)
{
	told->symbol_bytes -= g_bytes_get_size(nth_symbols(told, i)->data);
	g_array_remove_index(told->symbols, i);
}

static gboolean is_same(const struct rs_file_symbols *a, const struct rs_file_symbols *b)
{
	return a->from == b->from && a->to == b->to && a->boot == b->boot && a->chain == b->chain &&
	       a->ts == b->ts;
}

void rs_trace_told_symbols(RsTraceTold *told, const struct rs_file_symbols *head, GBytes *data)
{
	Symbols symbols;

	if (!told)
		return;
	for (guint i = told->symbols->len; i-- > 0;)
		if (is_same(&nth_symbols(told, i)->head, head))
			drop_symbols(told, i);
	symbols = (Symbols){.head = *head, .data = g_bytes_ref(data)};
	g_array_append_val(told->symbols, symbols);
	told->symbol_bytes += g_bytes_get_size(data);
	while (told->symbols->len > SYMBOLS_MAX || told->symbol_bytes > RS_TRACE_SYMBOLS_MAX)
		drop_symbols(told, 0);
}

/* Those of boots that are over are kept as long as pages of them may come. */
static void age_symbols(RsTraceTold *told)
{
	guint32 boot = 0;

	for (guint i = 0; i < RS_BOOTS; i++)
		boot = MAX(boot, told->boots[i].boot);
	for (guint i = told->symbols->len; i-- > 0;) {
		Symbols *symbols = nth_symbols(told, i);

		if (!symbols->head.boot || symbols->head.boot >= boot)
			continue;
		if (!symbols->window)
			symbols->window = told->windows;
		else if (symbols->window + WINDOWS_KEPT < told->windows)
			drop_symbols(told, i);
	}
}

static gboolean write_symbols(const RsTraceTold *told, RsTraceWriter *writer, guint number,
			      GError **error)
{
	for (guint i = 0; i < told->symbols->len; i++) {
		const Symbols *symbols = nth_symbols(told, i);
		RsTraceWriterTable table = {
			.elements = &symbols->head, .count = 1, .stride = sizeof(symbols->head)};

		table.data = g_bytes_get_data(symbols->data, &table.data_size);
		if (!rs_trace_writer_put_table(writer, RS_FILE_SYMBOLS, number, &table, error))
			return FALSE;
	}
	return TRUE;
}

void rs_trace_told_end_window(RsTraceTold *told)
{
	if (!told)
		return;
	told->windows++;
	age_symbols(told);
	while (told->gone.length &&
	       ((const Provider *)g_queue_peek_head(&told->gone))->window + WINDOWS_KEPT <
		       told->windows)
		drop_oldest(told);
}

static gboolean write_provider(const Provider *provider, const struct rs_provider *entry,
			       RsTraceWriter *writer, guint number, GError **error)
{
	RsTraceWriterTable table = {provider->slot, entry, 1, sizeof(*entry), NULL, 0};

	if (provider->descs && entry == &provider->entry)
		table.data = g_bytes_get_data(provider->descs, &table.data_size);
	return rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, number, &table, error);
}

/* Each that has gone gives up its slot again, and with it its descriptors' place. */
static gboolean write_gone(const RsTraceTold *told, RsTraceWriter *writer, guint number,
			   GError **error)
{
	for (const GList *at = told->gone.head; at; at = at->next) {
		const Provider *provider = at->data;
		struct rs_provider none = provider->entry;

		none.state = RS_PROVIDER_FREE;
		if (!write_provider(provider, &provider->entry, writer, number, error) ||
		    !write_provider(provider, &none, writer, number, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean write_slots(const RsTraceTold *told, RsTraceWriter *writer, guint number,
			    GError **error)
{
	g_autoptr(GList) slots = g_hash_table_get_values(told->slots);

	for (const GList *at = slots; at; at = at->next) {
		const Provider *provider = at->data;

		if (!write_provider(provider, &provider->entry, writer, number, error))
			return FALSE;
	}
	return TRUE;
}

gboolean rs_trace_told_write(const RsTraceTold *told, RsTraceWriter *writer, guint number,
			     GError **error)
{
	const RsTraceWriterTable boots = {
		told->hz, told->boots, RS_BOOTS, sizeof(*told->boots), NULL, 0};
	const RsTraceWriterTable clock = {told->epoch_count,
					  told->clock->data,
					  told->clock->len,
					  sizeof(struct rs_clock_epoch),
					  NULL,
					  0};

	if (!rs_trace_writer_put(writer, RS_FILE_SOURCE, number, &told->source,
				 sizeof(told->source), error) ||
	    (told->has_boots &&
	     !rs_trace_writer_put_table(writer, RS_FILE_BOOTS, number, &boots, error)) ||
	    (told->clock->len &&
	     !rs_trace_writer_put_table(writer, RS_FILE_CLOCK, number, &clock, error)))
		return FALSE;
	return write_gone(told, writer, number, error) &&
	       write_slots(told, writer, number, error) &&
	       write_symbols(told, writer, number, error);
}

RsTraceTold *rs_trace_told_new(const struct rs_file_source *source)
{
	RsTraceTold *told = g_new0(RsTraceTold, 1);

	told->source = *source;
	told->clock = g_array_new(FALSE, FALSE, sizeof(struct rs_clock_epoch));
	told->symbols = g_array_new(FALSE, FALSE, sizeof(Symbols));
	g_array_set_clear_func(told->symbols, clear_symbols);
	told->slots = g_hash_table_new_full(NULL, NULL, NULL, free_provider);
	return told;
}

void rs_trace_told_free(RsTraceTold *told)
{
	if (!told)
		return;
	while (told->gone.length)
		drop_oldest(told);
	g_array_unref(told->clock);
	g_array_unref(told->symbols);
	g_hash_table_unref(told->slots);
	g_free(told);
}
