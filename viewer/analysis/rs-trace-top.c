/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-top.h"

#include "analysis/rs-trace-keys.h"

#include <string.h>

#define RECENT 1024u                        /* rows that are found without a table */
#define CROWDED (RS_TRACE_TOP_ROWS / 4 * 3) /* from here on, silent rows are given up */

/* The value of a key. */
typedef struct {
	RsTraceTopCounts now, all;
	char *label, *source;
	guint32 number, pid;
	guint cpu;
	double cost; /* of a source */
} Row;

typedef struct {
	RsTraceKeys *keys; /* of Row */
	RsTraceTopCounts given_up;
	struct {
		guint64 id; /* 0: empty */
		Row *row;
	} recent[RECENT];
} Kind;

struct _RsTraceTop {
	double (*cost)(guint32 number, gpointer data);
	gpointer data;
	Kind kinds[RS_TRACE_TOP_KINDS];
	RsTraceTopCounts now, all;
	RsTraceEventName event_name;
	guint64 since_ns; /* of the interval; 0: none has ended */
};

static void row_clear(gpointer data)
{
	g_free(((Row *)data)->label);
	g_free(((Row *)data)->source);
}

RsTraceTop *rs_trace_top_new(double (*cost)(guint32 number, gpointer data), gpointer data)
{
	RsTraceTop *top = g_new0(RsTraceTop, 1);

	top->cost = cost;
	top->data = data;
	for (guint i = 0; i < RS_TRACE_TOP_KINDS; i++)
		top->kinds[i].keys = rs_trace_keys_new(RS_TRACE_TOP_ROWS, sizeof(Row), row_clear);
	return top;
}

void rs_trace_top_free(RsTraceTop *top)
{
	if (!top)
		return;
	for (guint i = 0; i < RS_TRACE_TOP_KINDS; i++)
		rs_trace_keys_free(top->kinds[i].keys);
	rs_trace_event_name_clear(&top->event_name);
	g_free(top);
}

/* ---- records ---- */

static gboolean is_silent(const RsTraceTopCounts *counts)
{
	return !counts->events && !counts->lost;
}

static void sum(RsTraceTopCounts *to, const RsTraceTopCounts *more)
{
	to->events += more->events;
	to->lost += more->lost;
	to->unknown += more->unknown;
	to->cost_ns += more->cost_ns;
}

/* The row with that id, which is not 0; NULL: it is not a recent one. */
static Row **recent_row(Kind *kind, guint64 id)
{
	const guint at = (guint)(id ^ id >> 32) % RECENT;

	if (kind->recent[at].id != id) {
		kind->recent[at].id = id;
		kind->recent[at].row = NULL;
	}
	return &kind->recent[at].row;
}

static Row *find_number(Kind *kind, const RsTraceSample *item, guint64 number)
{
	const RsTraceCell cell = {.kind = RS_TRACE_CELL_NAMED, .number = number};
	Row **row = recent_row(kind, ((guint64)item->source_index + 1) << 32 | number);

	if (!*row)
		*row = rs_trace_keys_get(kind->keys, item->source_index, &cell);
	return *row;
}

static void set_text(char **text, const char *to)
{
	if (g_strcmp0(*text, to) == 0)
		return;
	g_free(*text);
	*text = g_strdup(to);
}

static Row *find_event(RsTraceTop *top, const RsTraceRecord *record)
{
	Kind *kind = &top->kinds[RS_TRACE_TOP_EVENT];
	const guint64 id =
		record->event ? record->event->unique << 1 | 1 : (guint64)record->id << 1;
	Row **row = recent_row(kind, id ? id : 1);
	RsTraceCell cell;

	/* Of unknown events, an id may mean another one at another time. */
	if (!*row || !record->event) {
		rs_trace_event_name_take(&top->event_name, record, &cell);
		*row = rs_trace_keys_get(kind->keys, 0, &cell);
		if (!(*row)->label)
			(*row)->label =
				cell.label ? g_strdup(cell.label) : g_strndup(cell.text, cell.size);
	}
	return *row;
}

static Row *find_source(RsTraceTop *top, const RsTraceSample *item)
{
	Row *row = find_number(&top->kinds[RS_TRACE_TOP_SOURCE], item, 0);

	if (!row->label) {
		row->label = g_strdup(item->source);
		row->number = item->record->origin->number;
		row->cost = top->cost(row->number, top->data);
	}
	return row;
}

static Row *find_cpu(RsTraceTop *top, const RsTraceSample *item)
{
	Row *row = find_number(&top->kinds[RS_TRACE_TOP_CPU], item, item->record->ring);

	if (!row->label) {
		row->label = g_strdup(item->source);
		row->source = g_strdup(item->source);
		row->number = item->record->origin->number;
		row->cpu = item->record->ring;
	}
	return row;
}

static Row *find_task(RsTraceTop *top, const RsTraceSample *item)
{
	Row *row = find_number(&top->kinds[RS_TRACE_TOP_TASK], item, item->record->pid);

	/* It may have another name by now. */
	if (!is_silent(&row->now))
		return row;
	set_text(&row->label, item->task->comm);
	set_text(&row->source, item->source);
	row->number = item->record->origin->number;
	row->pid = item->record->pid;
	return row;
}

void rs_trace_top_add(RsTraceTop *top, const RsTraceSample *item)
{
	const RsTraceRecord *record = item->record;
	const gboolean is_event = record->kind == RS_TRACE_RECORD_EVENT;
	RsTraceTopCounts one = {0};
	Row *source;

	if (record->kind == RS_TRACE_RECORD_BOOT)
		return;
	source = find_source(top, item);
	if (is_event)
		one.events = 1;
	else
		one.lost = record->lost;
	if (source->cost < 0)
		one.unknown = one.events + one.lost;
	else
		one.cost_ns = source->cost * ((double)one.events + (double)one.lost);
	sum(&top->now, &one);
	sum(&source->now, &one);
	sum(&find_cpu(top, item)->now, &one);
	if (is_event) {
		sum(&find_event(top, record)->now, &one);
		sum(&find_task(top, item)->now, &one);
	}
}

/* ---- pages ---- */

static void row_free(gpointer data)
{
	RsTraceTopRow *row = data;

	g_free(row->label);
	g_free(row->source);
	g_free(row);
}

static RsTraceTopRow *row_copy(const RsTraceTopRow *row)
{
	RsTraceTopRow *copy = g_memdup2(row, sizeof(*row));

	copy->label = g_strdup(row->label);
	copy->source = g_strdup(row->source);
	return copy;
}

static RsTraceTopRow *row_of(const Row *from, gboolean is_other)
{
	const RsTraceTopRow row = {
		.label = is_other ? (char *)"(other)" : from->label,
		.source = is_other ? NULL : from->source,
		.number = is_other ? 0 : from->number,
		.cpu = is_other ? 0 : from->cpu,
		.pid = is_other ? 0 : from->pid,
		.is_other = is_other,
		.now = from->now,
		.all = from->all,
	};

	return row_copy(&row);
}

/* What vCPUs and sources say stays: there cannot be many, and their totals are asked for. */
static gboolean may_give_up(const RsTraceTop *top, const Kind *kind)
{
	return (kind == &top->kinds[RS_TRACE_TOP_EVENT] ||
		kind == &top->kinds[RS_TRACE_TOP_TASK]) &&
	       rs_trace_keys_n(kind->keys) > CROWDED;
}

static GPtrArray *take_kind(RsTraceTop *top, Kind *kind)
{
	GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
	g_autoptr(GPtrArray) list = rs_trace_keys_list(kind->keys);
	const gboolean gives_up = may_give_up(top, kind);
	Row gone = {0};

	for (guint i = 0; i < list->len; i++) {
		const RsTraceKey *key = list->pdata[i];
		Row *row = key->value;

		sum(&row->all, &row->now);
		if (key->is_other) {
			sum(&gone.now, &row->now);
			sum(&gone.all, &row->all);
		} else if (gives_up && is_silent(&row->now)) {
			sum(&kind->given_up, &row->all);
			rs_trace_keys_remove(kind->keys, row);
			continue;
		} else {
			g_ptr_array_add(rows, row_of(row, FALSE));
		}
		row->now = (RsTraceTopCounts){0};
	}
	if (gives_up)
		memset(kind->recent, 0, sizeof(kind->recent));
	sum(&gone.all, &kind->given_up);
	if (!is_silent(&gone.all))
		g_ptr_array_add(rows, row_of(&gone, TRUE));
	return rows;
}

RsTraceTopPage *rs_trace_top_take(RsTraceTop *top, guint64 now_ns)
{
	RsTraceTopPage *page = g_new0(RsTraceTopPage, 1);

	page->interval_ns = top->since_ns ? now_ns - MIN(top->since_ns, now_ns) : 0;
	top->since_ns = now_ns;
	sum(&top->all, &top->now);
	page->now = top->now;
	page->all = top->all;
	top->now = (RsTraceTopCounts){0};
	for (guint i = 0; i < RS_TRACE_TOP_KINDS; i++)
		page->rows[i] = take_kind(top, &top->kinds[i]);
	return page;
}

void rs_trace_top_page_free(RsTraceTopPage *page)
{
	if (!page)
		return;
	for (guint i = 0; i < RS_TRACE_TOP_KINDS; i++)
		g_ptr_array_unref(page->rows[i]);
	g_free(page);
}

/* ---- in an order ---- */

static int compare_numbers(guint64 x, guint64 y)
{
	return x == y ? 0 : x > y ? -1 : 1;
}

static int compare_names(const RsTraceTopRow *x, const RsTraceTopRow *y)
{
	int order = strcmp(x->label ? x->label : "", y->label ? y->label : "");

	if (!order)
		order = compare_numbers(y->number, x->number);
	if (!order)
		order = compare_numbers(y->cpu, x->cpu);
	return order ? order : compare_numbers(y->pid, x->pid);
}

static int compare_rows(gconstpointer a, gconstpointer b, gpointer data)
{
	const RsTraceTopRow *x = *(RsTraceTopRow *const *)a, *y = *(RsTraceTopRow *const *)b;
	const RsTraceTopSort sort = *(const RsTraceTopSort *)data;
	int order = 0;

	if (x->is_other != y->is_other)
		return x->is_other ? 1 : -1;
	if (sort == RS_TRACE_TOP_RATE)
		order = compare_numbers(x->now.events + x->now.lost, y->now.events + y->now.lost);
	if (sort == RS_TRACE_TOP_LOST)
		order = compare_numbers(x->all.lost, y->all.lost);
	if (!order && sort != RS_TRACE_TOP_NAME)
		order = compare_numbers(x->all.events + x->all.lost, y->all.events + y->all.lost);
	return order ? order : compare_names(x, y);
}

GPtrArray *rs_trace_top_rows(const RsTraceTopPage *page, RsTraceTopBy by, RsTraceTopSort sort,
			     guint max)
{
	g_autoptr(GPtrArray) all = g_ptr_array_copy(page->rows[by], NULL, NULL);
	GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
	RsTraceTopRow rest = {.label = (char *)"(other)", .is_other = TRUE};

	g_ptr_array_set_free_func(all, NULL);
	g_ptr_array_sort_with_data(all, compare_rows, &sort);
	for (guint i = 0; i < all->len; i++) {
		const RsTraceTopRow *row = all->pdata[i];

		if (!row->is_other && (!max || i < max)) {
			g_ptr_array_add(rows, row_copy(row));
			continue;
		}
		rest.others += !row->is_other;
		sum(&rest.now, &row->now);
		sum(&rest.all, &row->all);
	}
	if (!is_silent(&rest.all))
		g_ptr_array_add(rows, row_copy(&rest));
	return rows;
}
