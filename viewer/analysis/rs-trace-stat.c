/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-stat.h"

#include "analysis/rs-trace-keys.h"

#include <string.h>

#define RECENT 1024u /* events and vCPUs that are found without a table; a power of 2 */

/* The value of a key. */
typedef struct {
	RsTraceStatCounts counts;
	char *label; /* of a vCPU: its source's name */
	guint cpu;
} Row;

struct _RsTraceStat {
	RsTraceStatCounts total;
	guint64 first_ns, last_ns; /* of all records, or as was said */
	gboolean has_any, is_said;
	RsTraceKeys *events, *cpus; /* of Row */
	RsTraceEventName event_name;
	struct {
		guint64 unique;
		Row *row;
	} recent_events[RECENT];
	struct {
		guint64 id; /* 1 + source and cpu */
		Row *row;
	} recent_cpus[RECENT];
};

static void row_clear(gpointer data)
{
	g_free(((Row *)data)->label);
}

RsTraceStat *rs_trace_stat_new(void)
{
	RsTraceStat *stat = g_new0(RsTraceStat, 1);

	stat->events = rs_trace_keys_new(RS_TRACE_STAT_EVENTS, sizeof(Row), row_clear);
	stat->cpus = rs_trace_keys_new(RS_TRACE_STAT_CPUS, sizeof(Row), row_clear);
	return stat;
}

void rs_trace_stat_free(RsTraceStat *stat)
{
	if (!stat)
		return;
	rs_trace_keys_free(stat->events);
	rs_trace_keys_free(stat->cpus);
	rs_trace_event_name_clear(&stat->event_name);
	g_free(stat);
}

/* ---- records ---- */

static Row *event_row(RsTraceStat *stat, const RsTraceRecord *record)
{
	RsTraceCell cell;
	Row *row;

	rs_trace_event_name_take(&stat->event_name, record, &cell);
	row = rs_trace_keys_get(stat->events, 0, &cell);
	if (!row->label)
		row->label = g_strdup(cell.label);
	return row;
}

static Row *find_event(RsTraceStat *stat, const RsTraceRecord *record)
{
	guint at;

	if (!record->event)
		return event_row(stat, record);
	at = record->event->unique % RECENT;
	if (stat->recent_events[at].unique != record->event->unique) {
		stat->recent_events[at].unique = record->event->unique;
		stat->recent_events[at].row = event_row(stat, record);
	}
	return stat->recent_events[at].row;
}

static Row *find_cpu(RsTraceStat *stat, const RsTraceSample *item)
{
	guint cpu = item->record->ring;
	guint64 id = 1 + ((guint64)item->source_index << 16 | cpu);
	guint at = (guint)(id + (id >> 16) * 31) % RECENT;

	if (stat->recent_cpus[at].id != id) {
		const RsTraceCell cell = {.kind = RS_TRACE_CELL_NAMED, .number = cpu};
		Row *row = rs_trace_keys_get(stat->cpus, item->source_index, &cell);

		if (!row->label)
			row->label = g_strdup(item->source);
		row->cpu = cpu;
		stat->recent_cpus[at].id = id;
		stat->recent_cpus[at].row = row;
	}
	return stat->recent_cpus[at].row;
}

static void count(RsTraceStatCounts *counts, const RsTraceRecord *record)
{
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		counts->lost += record->lost;
		counts->gaps++;
		return;
	}
	counts->first_ns = counts->events ? MIN(counts->first_ns, record->ns) : record->ns;
	counts->last_ns = MAX(counts->last_ns, record->ns);
	counts->events++;
}

void rs_trace_stat_add(RsTraceStat *stat, const RsTraceSample *item)
{
	const RsTraceRecord *record = item->record;

	if (!stat->is_said) {
		stat->first_ns = stat->has_any ? MIN(stat->first_ns, record->ns) : record->ns;
		stat->last_ns = MAX(stat->last_ns, record->ns);
		stat->has_any = TRUE;
	}
	if (record->kind == RS_TRACE_RECORD_BOOT)
		return;
	count(&stat->total, record);
	count(&find_cpu(stat, item)->counts, record);
	if (record->kind == RS_TRACE_RECORD_EVENT)
		count(&find_event(stat, record)->counts, record);
}

/* ---- the result ---- */

const RsTraceStatCounts *rs_trace_stat_total(const RsTraceStat *stat)
{
	return &stat->total;
}

void rs_trace_stat_set_span(RsTraceStat *stat, guint64 first_ns, guint64 last_ns)
{
	stat->is_said = TRUE;
	stat->first_ns = first_ns;
	stat->last_ns = MAX(first_ns, last_ns);
}

guint64 rs_trace_stat_span(const RsTraceStat *stat)
{
	return stat->last_ns - stat->first_ns;
}

double rs_trace_stat_rate(guint64 events, guint64 span)
{
	return span ? (double)events * 1e9 / (double)span : 0;
}

static void stat_row_free(gpointer data)
{
	g_free(((RsTraceStatRow *)data)->label);
	g_free(data);
}

static GPtrArray *list_rows(const RsTraceKeys *keys, GCompareFunc compare)
{
	g_autoptr(GPtrArray) list = rs_trace_keys_list(keys);
	GPtrArray *rows = g_ptr_array_new_with_free_func(stat_row_free);

	for (guint i = 0; i < list->len; i++) {
		const RsTraceKey *key = list->pdata[i];
		const Row *from = key->value;
		RsTraceStatRow *row = g_new0(RsTraceStatRow, 1);

		row->is_other = key->is_other;
		row->label = g_strdup(key->is_other ? key->label : from->label);
		row->source_index = key->source;
		row->cpu = key->is_other ? 0 : from->cpu;
		row->counts = from->counts;
		g_ptr_array_add(rows, row);
	}
	g_ptr_array_sort(rows, compare);
	return rows;
}

static int compare_events(gconstpointer a, gconstpointer b)
{
	const RsTraceStatRow *x = *(RsTraceStatRow *const *)a, *y = *(RsTraceStatRow *const *)b;

	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	if (x->counts.events != y->counts.events)
		return x->counts.events > y->counts.events ? -1 : 1;
	return strcmp(x->label, y->label);
}

static int compare_cpus(gconstpointer a, gconstpointer b)
{
	const RsTraceStatRow *x = *(RsTraceStatRow *const *)a, *y = *(RsTraceStatRow *const *)b;

	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	if (x->source_index != y->source_index)
		return x->source_index < y->source_index ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

GPtrArray *rs_trace_stat_events(const RsTraceStat *stat)
{
	return list_rows(stat->events, compare_events);
}

GPtrArray *rs_trace_stat_cpus(const RsTraceStat *stat)
{
	return list_rows(stat->cpus, compare_cpus);
}
