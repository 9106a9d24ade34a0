/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-selection.h"

#include "core/filter.h"
#include "filter/filter.h"
#include "filter/rs-trace-event-glob.h"
#include "filter/rs-trace-ranges.h"
#include "filter/rs-trace-time.h"
#include "rs-trace-error.h"
#include "rs-trace-escape.h"
#include "rs-trace-glob.h"
#include "rs-trace-text.h"

#include <errno.h>
#include <ringside/control.h>
#include <string.h>

/* A record that waited for room in its ring comes late, with its own time. */
#define LATE_NS (10 * G_GUINT64_CONSTANT(1000000000))
/* What is kept of events that have come. Then all is forgotten, and made again as it is needed. */
#define KEPT_MAX 16384u
#define KEPT_BYTES ((gsize)8 << 20)
#define RECENT 256u /* events that are found without the table; a power of 2 */

/* One -F. */
typedef struct {
	char *text;             /* the expression */
	RsTraceEventGlob *glob; /* NULL: for every event */
	struct rs_filter_series *series;
	guint n_noted;               /* events that it is for */
	struct rs_filter_error *why; /* what is wrong with it for the first; NULL: nothing */
} Filter;

/* What is known of an event. */
typedef struct {
	guint64 unique;
	gboolean wanted;     /* its name is, and the filters could be true */
	GPtrArray *programs; /* of GByteArray; all must accept; NULL: none */
	gboolean needs_comm, needs_dyn;
	gsize bytes;
} Kept;

/* Where a function lies. */
typedef struct {
	char *name; /* NULL: none was asked for */
	const RsTraceSymbols *symbols;
	guint32 boot;
	guint64 from, to;
} Function;

struct _RsTraceSelection {
	struct rs_filter_functions functions;
	const RsTraceRecord *record; /* for which a filter is compiled; NULL: for none */
	Function function;           /* the last one that was found */
	GPtrArray *filters;          /* of Filter */
	RsTraceEventGlob *glob;      /* NULL: any */
	GHashTable *noted;           /* events that the trace has, "0/sched:switch prev next" */
	RsTraceRanges *cpus, *pids;
	RsTraceGlob *comm;
	RsTraceTime from_time, until_time;
	guint64 first, last, from, until;
	gboolean has_first, has_last;
	GHashTable *kept; /* &unique -> Kept */
	gsize kept_bytes;
	Kept *recent[RECENT]; /* by `unique` */
	gboolean only_filtered, strict;
	gboolean glob_met; /* some event is one of `glob` */
	gboolean over;     /* the last record was much too late */
	GError *error;
};

/* ---- what the user said ---- */

static int find_function(void *data, const char *name, uint64_t *from, uint64_t *to, char *why,
			 gsize size);

static void filter_free(gpointer data)
{
	Filter *filter = data;

	rs_filter_series_free(filter->series);
	rs_trace_event_glob_free(filter->glob);
	g_free(filter->text);
	g_free(filter->why);
	g_free(filter);
}

static void set_error(GError **error, const Filter *filter, const struct rs_filter_error *why)
{
	g_autofree char *text = rs_filter_error_render(why, filter->text);

	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "bad filter\n%s", text);
}

/* `glob` NULL: of each event. */
static gboolean add_filter(RsTraceSelection *s, const char *glob, const char *expression,
			   GError **error)
{
	Filter *filter = g_new0(Filter, 1);
	struct rs_filter_error why = {0};

	g_ptr_array_add(s->filters, filter);
	filter->text = g_strdup(expression);
	if (glob && !(filter->glob = rs_trace_event_glob_new(glob, error)))
		return FALSE;
	if (!rs_filter_series_new(filter->text, &filter->series, &why)) {
		rs_filter_series_set_functions(filter->series, &s->functions);
		return TRUE;
	}
	set_error(error, filter, &why);
	return FALSE;
}

/* What cannot be split is an expression with a mistake, which is told when it is compiled. */
static gboolean take_filter(RsTraceSelection *s, const char *text, GError **error)
{
	g_autofree char *glob = NULL, *expression = NULL;

	if (!rs_filter_split(text, &glob, &expression))
		return add_filter(s, NULL, text, error);
	if (!rs_filter_is_none(expression))
		return add_filter(s, glob, expression, error);
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION, "'%s' has no expression",
		    text);
	return FALSE;
}

static gboolean take_config(RsTraceSelection *s, const RsTraceSelectionConfig *config,
			    GError **error)
{
	for (const char *const *text = config->filters; text && *text; text++) {
		if (!take_filter(s, *text, error))
			return FALSE;
	}
	if (config->expression && !add_filter(s, NULL, config->expression, error))
		return FALSE;
	if (config->cpus && !(s->cpus = rs_trace_ranges_new(config->cpus, RS_MAX_CPUS - 1, error)))
		return FALSE;
	if (config->pids && !(s->pids = rs_trace_ranges_new(config->pids, G_MAXUINT32, error)))
		return FALSE;
	if (config->comm && !(s->comm = rs_trace_task_glob_new(config->comm, error)))
		return FALSE;
	if (config->events && !(s->glob = rs_trace_event_glob_new(config->events, error)))
		return FALSE;
	return rs_trace_time_parse(config->from, &s->from_time, error) &&
	       rs_trace_time_parse(config->until, &s->until_time, error);
}

static void kept_free(gpointer data)
{
	Kept *kept = data;

	g_clear_pointer(&kept->programs, g_ptr_array_unref);
	g_free(kept);
}

static void resolve(RsTraceSelection *s)
{
	s->from = rs_trace_time_resolve(s->from_time, s->first, s->last, 0);
	s->until = rs_trace_time_resolve(s->until_time, s->first, s->last, G_MAXUINT64);
}

RsTraceSelection *rs_trace_selection_new(const RsTraceSelectionConfig *config, GError **error)
{
	g_autoptr(RsTraceSelection) s = g_new0(RsTraceSelection, 1);

	s->filters = g_ptr_array_new_with_free_func(filter_free);
	s->functions = (struct rs_filter_functions){find_function, s};
	s->strict = config->strict;
	s->only_filtered = config->only_filtered;
	s->kept = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, kept_free);
	s->noted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (!take_config(s, config, error))
		return NULL;
	resolve(s);
	return g_steal_pointer(&s);
}

void rs_trace_selection_free(RsTraceSelection *s)
{
	if (!s)
		return;
	g_hash_table_unref(s->kept);
	g_hash_table_unref(s->noted);
	g_ptr_array_unref(s->filters);
	g_clear_pointer(&s->glob, rs_trace_event_glob_free);
	rs_trace_ranges_free(s->cpus);
	rs_trace_ranges_free(s->pids);
	rs_trace_glob_free(s->comm);
	g_clear_error(&s->error);
	g_free(s->function.name);
	g_free(s);
}

/* ---- times ---- */

gboolean rs_trace_selection_needs_first(const RsTraceSelection *s)
{
	return !s->has_first && (s->from_time.kind == RS_TRACE_TIME_AFTER_FIRST ||
				 s->until_time.kind == RS_TRACE_TIME_AFTER_FIRST);
}

gboolean rs_trace_selection_needs_last(const RsTraceSelection *s)
{
	return !s->has_last && (s->from_time.kind == RS_TRACE_TIME_BEFORE_LAST ||
				s->until_time.kind == RS_TRACE_TIME_BEFORE_LAST);
}

void rs_trace_selection_set_last(RsTraceSelection *s, guint64 ns)
{
	s->has_last = TRUE;
	s->last = ns;
	resolve(s);
}

void rs_trace_selection_set_first(RsTraceSelection *s, guint64 ns)
{
	s->has_first = TRUE;
	s->first = ns;
	resolve(s);
}

guint64 rs_trace_selection_from(const RsTraceSelection *s)
{
	return s->from_time.kind == RS_TRACE_TIME_AFTER_FIRST && !s->has_first ? 0 : s->from;
}

guint64 rs_trace_selection_until(const RsTraceSelection *s)
{
	return s->until_time.kind == RS_TRACE_TIME_AFTER_FIRST && !s->has_first ? G_MAXUINT64
										: s->until;
}

static gboolean is_in_time(RsTraceSelection *s, guint64 ns)
{
	if (!s->has_first)
		rs_trace_selection_set_first(s, ns);
	s->over = ns >= s->until && ns - s->until >= LATE_NS;
	return ns >= s->from && ns < s->until;
}

/* ---- events ---- */

static gboolean matches_name(RsTraceSelection *s, const char *source, const RsTraceEvent *event)
{
	gboolean matches = !s->glob || rs_trace_event_glob_matches(s->glob, source, event);

	s->glob_met |= matches;
	return matches;
}

static void note_sources(Kept *kept, const GByteArray *program)
{
	const struct rs_filter_program *head = (const void *)program->data;
	const struct rs_filter_insn *insns = (const void *)(head + 1);

	for (guint i = 0; i < head->insn_count; i++) {
		kept->needs_comm |= insns[i].source == RS_SRC_COMM;
		kept->needs_dyn |= insns[i].source == RS_SRC_DYN ||
				   insns[i].source == RS_SRC_DYN_INT ||
				   (insns[i].op >= RS_OP_PAIR_EQ &&
				    (insns[i].imm >> 8 & 0xff) == RS_SRC_DYN_INT);
	}
}

/* Whether the expression is good for this event alone is kept of the first. */
static void note_for(const RsTraceSelection *s, Filter *filter, const RsTraceEvent *event)
{
	g_autoptr(GByteArray) program = NULL;
	struct rs_filter_error why = {0};

	rs_filter_series_note(filter->series, event);
	if (filter->n_noted++ || !s->strict ||
	    !rs_filter_series_add(filter->series, event, true, &program, &why))
		return;
	filter->why = g_memdup2(&why, sizeof(why));
}

/* The trace has this event. */
static void note(RsTraceSelection *s, const RsTraceOrigin *origin, const RsTraceEvent *event)
{
	const char *source = origin ? origin->name : NULL;
	GString *key = g_string_new(NULL);

	g_string_printf(key, "%u/%s:%s", origin ? origin->index : 0, event->system, event->name);
	/* One that comes again may have other fields. */
	for (guint i = 0; i < event->n_fields; i++)
		g_string_append_printf(key, " %s", event->fields[i].name);
	if (g_hash_table_size(s->noted) >= KEPT_MAX)
		g_hash_table_remove_all(s->noted);
	if (!g_hash_table_add(s->noted, g_string_free(key, FALSE)))
		return;
	if (!matches_name(s, source, event))
		return;
	for (guint i = 0; i < s->filters->len; i++) {
		Filter *filter = s->filters->pdata[i];

		if (!filter->glob || rs_trace_event_glob_matches(filter->glob, source, event))
			note_for(s, filter, event);
	}
}

void rs_trace_selection_know(RsTraceSelection *s, const RsTraceOrigin *origin,
			     const RsTraceEvent *event)
{
	if (s->filters->len)
		note(s, origin, event);
}

/* ---- functions ---- */

static int no_function(const RsTraceRecord *record, const char *name, guint found, char *why,
		       gsize size)
{
	if (!record->symbols || rs_trace_symbols_is_empty(record->symbols))
		g_snprintf(why, size,
			   "the trace has no symbols, so where '%s' lies is not known: --symbols "
			   "FILE gives them",
			   name);
	else if (!found)
		g_snprintf(why, size, "'%s' is no function of what was traced", name);
	else
		g_snprintf(why, size, "%u functions are called '%s'", found, name);
	return -EINVAL;
}

/* For each event the same is asked, and to find it all names are looked at. */
static int find_function(void *data, const char *name, uint64_t *from, uint64_t *to, char *why,
			 gsize size)
{
	RsTraceSelection *s = data;
	const RsTraceRecord *record = s->record;
	Function *last = &s->function;
	guint found;

	if (!record) /* the event has none yet, so any place will do */
		return 0;
	if (g_strcmp0(last->name, name) != 0 || last->symbols != record->symbols ||
	    last->boot != record->when.boot) {
		found = rs_trace_symbols_find_code(record->symbols, record->when, name, from, to);
		if (found != 1)
			return no_function(record, name, found, why, size);
		g_free(last->name);
		*last = (Function){g_strdup(name), record->symbols, record->when.boot, *from, *to};
	}
	*from = last->from;
	*to = last->to;
	return 0;
}

/* Compiles a filter for the event, and notes what it needs. */
static void add_program(RsTraceSelection *s, const Filter *filter, const RsTraceEvent *event,
			Kept *kept)
{
	struct rs_filter_error why = {0};
	GByteArray *program;

	if (rs_filter_series_add(filter->series, event, false, &program, &why)) {
		if (!s->error)
			set_error(&s->error, filter, &why);
		return;
	}
	if (!program) {
		kept->wanted = FALSE;
		return;
	}
	if (!kept->programs)
		kept->programs = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
	g_ptr_array_add(kept->programs, program);
	kept->bytes += program->len;
	note_sources(kept, program);
}

static Kept *make(RsTraceSelection *s, const char *source, const RsTraceEvent *event)
{
	Kept *kept = g_new0(Kept, 1);
	gboolean filtered = FALSE;

	kept->unique = event->unique;
	kept->bytes = sizeof(*kept);
	kept->wanted = matches_name(s, source, event);
	for (guint i = 0; i < s->filters->len && kept->wanted; i++) {
		const Filter *filter = s->filters->pdata[i];

		if (filter->glob && !rs_trace_event_glob_matches(filter->glob, source, event))
			continue;
		add_program(s, filter, event, kept);
		filtered = TRUE;
	}
	kept->wanted &= filtered || !s->only_filtered;
	return kept;
}

static void forget(RsTraceSelection *s)
{
	g_hash_table_remove_all(s->kept);
	memset(s->recent, 0, sizeof(s->recent));
	s->kept_bytes = 0;
}

/* An event is of one source. */
static const Kept *find(RsTraceSelection *s, const RsTraceOrigin *origin, const RsTraceEvent *event)
{
	Kept **recent = &s->recent[event->unique % RECENT], *kept = *recent;

	if (kept && kept->unique == event->unique)
		return kept;
	kept = g_hash_table_lookup(s->kept, &event->unique);
	if (!kept) {
		if (g_hash_table_size(s->kept) >= KEPT_MAX || s->kept_bytes >= KEPT_BYTES)
			forget(s);
		rs_trace_selection_know(s, origin, event);
		kept = make(s, origin ? origin->name : NULL, event);
		s->kept_bytes += kept->bytes;
		g_hash_table_insert(s->kept, &kept->unique, kept);
	}
	return *recent = kept;
}

/* ---- filters ---- */

static guint take_dyn(const RsTraceRecord *record, struct rs_dyn out[RS_MAX_FIELDS])
{
	guint n = 0;

	for (guint i = 0; i < record->event->n_fields && n < RS_MAX_FIELDS; i++) {
		const RsTraceField *field = &record->event->fields[i];
		const guint8 *bytes = NULL;
		guint length = 0;

		if (field->kind != RS_KIND_DYN_STRING && field->kind != RS_KIND_DYN_ARRAY)
			continue;
		/* What is cut passes, and those behind it are cut, too. */
		if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
			return n;
		out[n++] = (struct rs_dyn){length ? bytes : NULL, length};
	}
	return n;
}

static gboolean passes(const Kept *kept, const RsTraceRecord *record, const RsTraceEvent *event,
		       const RsTraceTask *task)
{
	struct rs_filter_input input = {
		.entry = record->payload ? (const void *)record->payload : "",
		.entry_size = MIN(record->size, event->entry_size),
		.pid = record->pid,
		.tgid = task->tgid,
		.cpu = record->ring,
	};
	struct rs_dyn dyn[RS_MAX_FIELDS];
	char comm[RS_COMM_LEN] = {0};

	if (kept->needs_comm) {
		memcpy(comm, task->comm, strnlen(task->comm, sizeof(comm)));
		input.comm = comm;
	}
	if (kept->needs_dyn) {
		input.dyn_count = take_dyn(record, dyn);
		input.dyn = dyn;
	}
	for (guint i = 0; i < kept->programs->len; i++) {
		const GByteArray *program = kept->programs->pdata[i];

		if (!rs_filter_run((const void *)program->data, program->len, &input))
			return FALSE;
	}
	return TRUE;
}

static gboolean matches_event(RsTraceSelection *s, const RsTraceRecord *record,
			      const RsTraceTask *task)
{
	/*
	 * Of one that nothing is known of, only what every event has can be asked, and its source.
	 */
	const RsTraceEvent unknown = {
		.unique = G_MAXUINT64 - (record->origin ? record->origin->index : 0),
		.system = (char *)"",
		.name = (char *)"",
	};
	const RsTraceEvent *event = record->event ? record->event : &unknown;
	const Kept *kept;

	if (!s->filters->len && !s->glob)
		return TRUE;
	s->record = record;
	kept = find(s, record->origin, event);
	s->record = NULL;
	return kept->wanted && !s->error && (!kept->programs || passes(kept, record, event, task));
}

gboolean rs_trace_selection_matches(RsTraceSelection *s, const RsTraceRecord *record,
				    const RsTraceTask *task)
{
	if (s->error || !is_in_time(s, record->sorted_ns))
		return FALSE;
	if (s->cpus && !rs_trace_ranges_contain(s->cpus, record->ring))
		return FALSE;
	if (record->kind != RS_TRACE_RECORD_EVENT)
		return TRUE;
	if (!matches_event(s, record, task))
		return FALSE;
	return (!s->pids || rs_trace_ranges_contain(s->pids, record->pid)) &&
	       (!s->comm || rs_trace_glob_matches(s->comm, task->comm));
}

gboolean rs_trace_selection_is_over(const RsTraceSelection *s)
{
	return s->error || s->over;
}

gboolean rs_trace_selection_finish(const RsTraceSelection *s, GError **error)
{
	if (s->error) {
		g_propagate_error(error, g_error_copy(s->error));
		return FALSE;
	}
	for (guint i = 0; i < s->filters->len; i++) {
		const Filter *filter = s->filters->pdata[i];
		struct rs_filter_error why = {0};

		if (!rs_filter_series_missing(filter->series, &why)) {
			if (filter->n_noted != 1 || !filter->why)
				continue;
			why = *filter->why;
		}
		set_error(error, filter, &why);
		return FALSE;
	}
	return TRUE;
}

const char *rs_trace_selection_unmet(const RsTraceSelection *s)
{
	return s->glob && !s->glob_met ? rs_trace_event_glob_text(s->glob) : NULL;
}

gboolean rs_trace_selection_is_filtered(const RsTraceSelection *s)
{
	return s->filters->len != 0;
}
