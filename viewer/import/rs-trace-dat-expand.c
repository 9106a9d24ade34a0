/* SPDX-License-Identifier: MIT */
#include "rs-trace-expand.h"
#include "rs-trace-dat-event-private.h"
#include "rs-trace-pack-private.h"

#include <event-parse.h>
#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <ringside/region.h>
#include <rs-trace-schema.h>
#include <string.h>
#include <trace-seq.h>

#define SLOTS_MAX 4096u
#define WIDTH_DIGITS 3u /* of a width in a print format */

/* A provider: a handle of its own, so that one that comes again does not meet what it was. */
typedef struct {
	struct tep_handle *tep;
	GPtrArray *events; /* RsTraceDatEvent, some of `known` */
	GArray *ids;       /* guint, the kernel's, of each of those */
} Provider;

struct _RsTraceExpand {
	GHashTable *providers; /* slot → Provider */
	GHashTable *known;     /* the kernel's id → RsTraceDatEvent */
	struct trace_seq text;
	GByteArray *payload;
};

static void provider_free(gpointer data)
{
	Provider *provider = data;

	g_ptr_array_unref(provider->events);
	g_array_unref(provider->ids);
	tep_free(provider->tep);
	g_free(provider);
}

RsTraceExpand *rs_trace_expand_new(void)
{
	RsTraceExpand *expand = g_new0(RsTraceExpand, 1);

	tep_set_loglevel(TEP_LOG_NONE);
	trace_seq_init(&expand->text);
	expand->payload = g_byte_array_new();
	expand->providers = g_hash_table_new_full(NULL, NULL, NULL, provider_free);
	expand->known = g_hash_table_new(NULL, NULL);
	return expand;
}

void rs_trace_expand_free(RsTraceExpand *expand)
{
	if (!expand)
		return;
	g_hash_table_unref(expand->known);
	g_hash_table_unref(expand->providers);
	g_byte_array_unref(expand->payload);
	trace_seq_destroy(&expand->text);
	g_free(expand);
}

/* ---- providers ---- */

static struct tep_handle *new_handle(void)
{
	struct tep_handle *tep = tep_alloc();

	tep_set_long_size(tep, 8);
	tep_set_page_size(tep, 4096);
	tep_set_file_bigendian(tep, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep, TEP_LITTLE_ENDIAN);
	return tep;
}

static void forget(RsTraceExpand *expand, guint slot)
{
	const Provider *old = g_hash_table_lookup(expand->providers, GUINT_TO_POINTER(slot));

	for (guint i = 0; old && i < old->ids->len; i++) {
		gpointer id = GUINT_TO_POINTER(g_array_index(old->ids, guint, i));

		if (g_hash_table_lookup(expand->known, id) == old->events->pdata[i])
			g_hash_table_remove(expand->known, id);
	}
	g_hash_table_remove(expand->providers, GUINT_TO_POINTER(slot));
}

/* The kernel's id of an event of a bridge; 0: it is none. */
static guint kernel_id(const RsTraceEvent *event)
{
	guint64 id = 0;

	if (g_str_has_prefix(event->print, RS_BRIDGE_ID))
		id = g_ascii_strtoull(event->print + strlen(RS_BRIDGE_ID), NULL, 10);
	return id <= G_MAXUINT16 ? (guint)id : 0;
}

/*
 * Whether a text of the format may be made longer than its values are: "%9999d", or "%*d" with what
 * a record says. The library makes all of it before it is cut. A kernel has "%*ph" and "%.*s".
 */
static gboolean is_wide(const char *format)
{
	for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
		at += 1 + strspn(at + 1, "-+ #0");
		if (*at == '*' && at[1] != 'p')
			return TRUE;
		if (strspn(at, "0123456789") > WIDTH_DIGITS)
			return TRUE;
		at += strspn(at, "0123456789*");
		if (*at == '.' && strspn(at + 1, "0123456789") > WIDTH_DIGITS)
			return TRUE;
		at += *at == '%';
	}
	return FALSE;
}

static void add_event(RsTraceExpand *expand, Provider *provider, const RsTraceEvent *event,
		      guint slot, GByteArray *out)
{
	g_autofree char *format = rs_trace_event_format(event);
	guint id = kernel_id(event);
	struct tep_event *tep;
	RsTraceDatEvent *made;

	if (!id || is_wide(format))
		return;
	tep_parse_event(provider->tep, format, strlen(format), event->system);
	tep = tep_find_event(provider->tep, (int)id);
	if (!tep || strcmp(tep->system, event->system) || strcmp(tep->name, event->name))
		return;
	made = rs_trace_dat_event_new(tep, event->id);
	rs_trace_dat_event_describe(made, slot, out);
	g_ptr_array_add(provider->events, made);
	g_array_append_val(provider->ids, id);
	g_hash_table_insert(expand->known, GUINT_TO_POINTER(id), made);
}

void rs_trace_expand_provider(RsTraceExpand *expand, guint slot, const guint8 *bytes, gsize size,
			      GByteArray *out)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	const RsTraceEvent *event;
	struct rs_provider entry;
	Provider *provider;

	if (slot >= SLOTS_MAX)
		return;
	forget(expand, slot);
	if (size < sizeof(entry))
		return;
	memcpy(&entry, bytes, sizeof(entry));
	rs_trace_schema_take(schema, slot, &entry, bytes + sizeof(entry), size - sizeof(entry),
			     NULL, NULL);
	provider = g_new0(Provider, 1);
	provider->tep = new_handle();
	provider->events = g_ptr_array_new_with_free_func(rs_trace_dat_event_free);
	provider->ids = g_array_new(FALSE, FALSE, sizeof(guint));
	g_hash_table_insert(expand->providers, GUINT_TO_POINTER(slot), provider);
	for (guint i = 0; (event = rs_trace_schema_nth_of(schema, slot, i)); i++)
		add_event(expand, provider, event, slot, out);
}

/* ---- pages ---- */

static void end_page(RsTracePack *pack, GByteArray *out)
{
	g_autoptr(GByteArray) page = NULL;
	guint32 length;

	if (!pack->page)
		return;
	page = rs_trace_pack_end(pack);
	length = page->len;
	g_byte_array_append(out, (const guint8 *)&length, sizeof(length));
	g_byte_array_append(out, page->data, page->len);
}

static void add_record(RsTraceExpand *expand, RsTracePack *pack, const RsTraceDatEvent *event,
		       struct tep_record *tep, guint32 chain, GByteArray *out)
{
	const struct rs_ring_page head = {.chain = chain};
	const RsTracePackRecord record = {.payload = expand->payload,
					  .id = event->id,
					  .ts = tep->ts,
					  .pid = rs_trace_dat_event_pid(event, tep),
					  .context = rs_trace_dat_event_context(event, tep)};

	rs_trace_dat_event_payload(event, tep, &expand->text, expand->payload);
	if (pack->page && !rs_trace_pack_fits(pack, &record))
		end_page(pack, out);
	if (!pack->page)
		rs_trace_pack_begin(pack, &record, &head);
	rs_trace_pack_put(pack, &record);
}

void rs_trace_expand_page(RsTraceExpand *expand, const RsTraceExpandRequest *request,
			  const guint8 *bytes, gsize size, GByteArray *out, guint32 *records)
{
	struct rs_ftrace_record found;
	struct rs_ftrace_walk walk;
	RsTracePack pack = {.size = CLAMP(request->page_size, RS_RING_PAGE_MIN, RS_RING_PAGE_MAX)};

	*records = 0;
	if (size > RS_FTRACE_PAGE_MAX || !rs_ftrace_begin(&walk, bytes, (guint32)size))
		return;
	while (rs_ftrace_next(&walk, &found)) {
		struct tep_record record = {.ts = found.ts,
					    .size = (int)found.data_size,
					    .record_size = (int)found.size,
					    .data = (void *)found.data,
					    .cpu = (int)(request->arg % RS_MAX_CPUS)};
		const RsTraceDatEvent *event = NULL;
		guint16 id;

		if (found.data_size >= RS_FTRACE_COMMON) {
			memcpy(&id, found.data, sizeof(id));
			event = g_hash_table_lookup(expand->known, GUINT_TO_POINTER((guint)id));
		}
		if (!event)
			continue;
		add_record(expand, &pack, event, &record, request->chain, out);
		++*records;
	}
	end_page(&pack, out);
}
