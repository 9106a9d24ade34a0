/* SPDX-License-Identifier: MIT */
#include "rs-test-trace-private.h"

#include "expect/rs-trace-verdict.h"

#include "filter/nearest.h"

#include <rs-trace-reader.h>
#include <string.h>

/* What is kept of what a guest describes. It may describe as much as it likes. */
#define KNOWN_MAX 16384u
#define KNOWN_FIELDS (1u << 20) /* and symbols, of all of them */

/* An event that the trace has told. The reader's own goes when its provider is long gone. */
typedef struct {
	RsTraceOrigin origin; /* only its name and index are set, and looked at */
	RsTraceEvent event;   /* without its provider and its format */
} Known;

struct _RsTestTrace {
	char *path;
	RsTraceReader *reader; /* NULL: not open yet */
	RsTraceSample sample;
	gboolean unread; /* it comes once more */
	guint64 lost;
	GHashTable *tails; /* source and ring -> guint64 *, lost since the ring's last record */
	GPtrArray *known;
	GHashTable *names; /* "0/sched:switch 12", of known */
	GStringChunk *texts;
	guint fields; /* kept, with symbols */
};

/* ---- what it tells of events ---- */

static void known_free(gpointer data)
{
	Known *known = data;
	RsTraceField *fields = (RsTraceField *)(gpointer)known->event.fields;

	for (guint i = 0; i < known->event.n_fields; i++)
		g_free((gpointer)fields[i].symbols);
	g_free(fields);
	g_free(known);
}

static const char *keep(RsTestTrace *trace, const char *text)
{
	return text ? g_string_chunk_insert_const(trace->texts, text) : NULL;
}

static void copy_field(RsTestTrace *trace, const RsTraceField *from, RsTraceField *to)
{
	RsTraceSymbol *symbols = g_new(RsTraceSymbol, from->n_symbols);

	*to = *from;
	to->name = keep(trace, from->name);
	to->type = keep(trace, from->type);
	for (guint i = 0; i < from->n_symbols; i++) {
		symbols[i].value = from->symbols[i].value;
		symbols[i].name = keep(trace, from->symbols[i].name);
	}
	to->symbols = symbols;
}

/* What tells one life of an event from another: that may have other fields. */
static char *name_of(const RsTraceEvent *event, const RsTraceOrigin *origin)
{
	GString *name = g_string_new(NULL);

	g_string_printf(name, "%u/%s:%s", origin ? origin->index : 0, event->system, event->name);
	for (guint i = 0; i < event->n_fields; i++)
		g_string_append_printf(name, " %s", event->fields[i].name);
	return g_string_free(name, FALSE);
}

static guint size_of(const RsTraceEvent *event)
{
	guint n = event->n_fields;

	for (guint i = 0; i < event->n_fields; i++)
		n += event->fields[i].n_symbols;
	return n;
}

static void know(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer data)
{
	RsTestTrace *trace = data;
	const guint size = size_of(event);
	RsTraceField *fields;
	Known *known;

	if (trace->known->len >= KNOWN_MAX || size > KNOWN_FIELDS - trace->fields ||
	    !g_hash_table_add(trace->names, name_of(event, origin)))
		return;
	known = g_new0(Known, 1);
	fields = g_new(RsTraceField, event->n_fields);
	for (guint i = 0; i < event->n_fields; i++)
		copy_field(trace, &event->fields[i], &fields[i]);
	known->event = (RsTraceEvent){
		.unique = event->unique,
		.system = keep(trace, event->system),
		.name = keep(trace, event->name),
		.level = event->level,
		.keyword = event->keyword,
		.n_fields = event->n_fields,
		.fields = fields,
		.entry_size = event->entry_size,
	};
	known->origin.name = keep(trace, origin && origin->name ? origin->name : "");
	known->origin.index = origin ? origin->index : 0;
	trace->fields += size;
	g_ptr_array_add(trace->known, known);
}

guint rs_test_trace_tell(const RsTestTrace *trace, RsTraceMatch *match)
{
	guint n = 0;

	for (guint i = 0; i < trace->known->len; i++) {
		const Known *known = trace->known->pdata[i];

		n += (guint)rs_trace_match_know(match, &known->origin, &known->event);
	}
	return n;
}

gboolean rs_test_trace_any(const RsTestTrace *trace, RsTraceMatch *match,
			   gboolean (*is_so)(const char *source, const RsTraceEvent *event,
					     gpointer data),
			   gpointer data)
{
	for (guint i = 0; i < trace->known->len; i++) {
		const Known *known = trace->known->pdata[i];

		if (rs_trace_match_know(match, &known->origin, &known->event) &&
		    is_so(known->origin.name, &known->event, data))
			return TRUE;
	}
	return FALSE;
}

char *rs_test_trace_like(const RsTestTrace *trace, const char *name)
{
	struct rs_nearest nearest = rs_nearest_to(name);
	char *like = NULL;

	for (guint i = 0; i < trace->known->len; i++) {
		const Known *known = trace->known->pdata[i];
		g_autofree char *full =
			g_strconcat(known->event.system, ":", known->event.name, NULL);

		if (!rs_nearest_offer(&nearest, full))
			continue;
		g_free(like);
		like = g_steal_pointer(&full);
		nearest.found = like;
	}
	return like;
}

/* ---- its records ---- */

RsTestTrace *rs_test_trace_new(const char *path)
{
	RsTestTrace *trace = g_new0(RsTestTrace, 1);

	trace->path = g_strdup(path);
	trace->tails = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	trace->known = g_ptr_array_new_with_free_func(known_free);
	trace->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	trace->texts = g_string_chunk_new(4096);
	return trace;
}

void rs_test_trace_free(RsTestTrace *trace)
{
	if (!trace)
		return;
	g_clear_object(&trace->reader);
	g_hash_table_unref(trace->tails);
	g_ptr_array_unref(trace->known);
	g_hash_table_unref(trace->names);
	g_string_chunk_free(trace->texts);
	g_free(trace->path);
	g_free(trace);
}

void rs_test_trace_rewind(RsTestTrace *trace)
{
	g_clear_object(&trace->reader);
	trace->unread = FALSE;
	g_hash_table_remove_all(trace->tails);
	trace->lost = 0;
}

/* A file whose head is not written yet is no trace, but that is only known at the end. */
static gboolean open_reader(RsTestTrace *trace, gboolean had_ended, GError **error)
{
	GError *why = NULL;

	if (trace->reader)
		return TRUE;
	trace->reader = rs_trace_reader_open(trace->path, NULL, &why);
	if (trace->reader) {
		rs_trace_reader_set_event_func(trace->reader, know, trace);
		return TRUE;
	}
	if (had_ended)
		g_propagate_error(error, g_steal_pointer(&why));
	g_clear_error(&why);
	return FALSE;
}

/* What a ring has lost counts once it has written again. */
static void count(RsTestTrace *trace, const RsTraceRecord *record)
{
	const guint64 ring = ((guint64)record->origin->index << 32) | record->ring;
	guint64 *tail = g_hash_table_lookup(trace->tails, &ring);

	if (record->kind == RS_TRACE_RECORD_LOSS) {
		if (!tail) {
			tail = g_new0(guint64, 1);
			g_hash_table_insert(trace->tails, g_memdup2(&ring, sizeof(ring)), tail);
		}
		*tail += record->lost;
	} else if (tail) {
		trace->lost += *tail;
		*tail = 0;
	}
}

const RsTraceSample *rs_test_trace_next(RsTestTrace *trace, gboolean had_ended, GError **error)
{
	const RsTraceRecord *record;

	if (trace->unread) {
		trace->unread = FALSE;
		return &trace->sample;
	}
	if (!open_reader(trace, had_ended, error))
		return NULL;
	rs_trace_reader_set_growing(trace->reader, !had_ended);
	record = rs_trace_reader_next(trace->reader, NULL, error);
	if (!record)
		return NULL;
	count(trace, record);
	trace->sample = (RsTraceSample){
		.record = record,
		.task = rs_trace_reader_task(trace->reader),
		.source = record->origin->name ? record->origin->name : "",
		.source_index = record->origin->index,
	};
	return &trace->sample;
}

gboolean rs_test_trace_is_after(const RsTestTrace *trace, gint64 us)
{
	const guint64 origin = rs_trace_reader_header(trace->reader)->origin_ns;
	const guint64 ns = (guint64)us * 1000;

	return ns > origin && trace->sample.record->sorted_ns > ns - origin;
}

void rs_test_trace_unread(RsTestTrace *trace)
{
	trace->unread = TRUE;
}

RsTraceItem *rs_test_trace_item(RsTestTrace *trace)
{
	return rs_trace_reader_item(trace->reader);
}

guint64 rs_test_trace_n_windows(const RsTestTrace *trace)
{
	return trace->reader ? rs_trace_reader_n_windows(trace->reader) : 0;
}

guint64 rs_test_trace_lost(const RsTestTrace *trace, gboolean stopped)
{
	guint64 lost = trace->lost;
	GHashTableIter iter;
	gpointer tail;

	g_hash_table_iter_init(&iter, trace->tails);
	while (g_hash_table_iter_next(&iter, NULL, &tail)) {
		const guint64 n = *(const guint64 *)tail;

		if (!stopped || n > RS_TRACE_VERDICT_WRITING)
			lost += n;
	}
	return lost;
}

gboolean rs_test_trace_has_agent(const char *path)
{
	RsTestTrace *trace = rs_test_trace_new(path);
	gboolean has;

	while (!trace->known->len && rs_test_trace_next(trace, TRUE, NULL))
		;
	has = trace->known->len != 0;
	rs_test_trace_free(trace);
	return has;
}
