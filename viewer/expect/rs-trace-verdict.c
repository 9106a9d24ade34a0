/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-verdict-private.h"

#include "expect/rs-trace-match.h"
#include "rs-trace-escape.h"

#include <string.h>

/* ---- what an expectation watches ---- */

/* What every record has, and no event. */
static gboolean is_own(const char *name)
{
	static const char *const own[] = {"CPU", "PID", "TGID", "COMM", "SOURCE", NULL};

	return g_strv_contains(own, name);
}

/* As in a filter: PID is the task that wrote the record, pid a field of the event. */
static RsTraceColumn *column_of(const char *name)
{
	g_autofree char *lower = g_ascii_strdown(name, -1), *field = g_strconcat("*.", name, NULL);

	return rs_trace_column_new(is_own(name) ? lower : field, NULL);
}

static void columns_of(GStrv names, GPtrArray *of_subject, GPtrArray *of_partner)
{
	for (char **name = names; name && *name; name++) {
		g_auto(GStrv) halves = g_strsplit(*name, "=", 2);
		const char *first = g_strstrip(halves[0]);
		const char *second = halves[1] ? g_strstrip(halves[1]) : first;

		g_ptr_array_add(of_subject, column_of(first));
		g_ptr_array_add(of_partner, column_of(second));
	}
}

static void column_free(gpointer column)
{
	rs_trace_column_free(column);
}

static void queue_free(gpointer queue)
{
	g_queue_free_full(queue, g_free);
}

static RsTraceWatch *watch_new(const RsTraceExpectation *e)
{
	RsTraceWatch *watch = g_new0(RsTraceWatch, 1);

	watch->e = e;
	watch->of_subject = g_ptr_array_new_with_free_func(column_free);
	watch->of_partner = g_ptr_array_new_with_free_func(column_free);
	watch->bound = g_ptr_array_new_with_free_func(column_free);
	watch->open = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, queue_free);
	watch->culprit.number = watch->nearest.number = watch->last.number = RS_TRACE_VERDICT_NONE;
	watch->armed_at = RS_TRACE_VERDICT_NONE;
	columns_of(e->same, watch->of_subject, watch->of_partner);
	for (char **one = e->bind; one && *one; one++)
		g_ptr_array_add(watch->bound, column_of(strchr(*one, '=') + 1));
	if (e->kind == RS_TRACE_EXPECT_PAIR) {
		g_auto(GStrv) halves = g_strsplit(e->subject, "..", 2);

		watch->latency = rs_trace_latency_new(e->subject, e->key, NULL);
		watch->glob = rs_trace_event_glob_new(halves[0], NULL);
		watch->partner_glob = rs_trace_event_glob_new(halves[1], NULL);
	} else if (e->kind <= RS_TRACE_EXPECT_LAST) {
		watch->glob = rs_trace_match_glob(e->subject, NULL);
		watch->partner_glob = e->partner ? rs_trace_match_glob(e->partner, NULL) : NULL;
	}
	return watch;
}

static void watch_free(gpointer data)
{
	RsTraceWatch *watch = data;

	rs_trace_selection_free(watch->subject);
	rs_trace_selection_free(watch->partner);
	rs_trace_selection_free(watch->is);
	rs_trace_event_glob_free(watch->glob);
	rs_trace_event_glob_free(watch->partner_glob);
	rs_trace_terms_free(watch->terms);
	rs_trace_latency_free(watch->latency);
	g_ptr_array_unref(watch->of_subject);
	g_ptr_array_unref(watch->of_partner);
	g_ptr_array_unref(watch->bound);
	g_hash_table_unref(watch->open);
	g_free(watch->broken);
	g_free(watch);
}

/* ---- variables ---- */

static void break_watch(RsTraceWatch *watch, GError *error)
{
	if (!watch->broken)
		watch->broken = g_strdup(error->message);
	g_error_free(error);
}

static void select_filled(RsTraceVerdict *v, RsTraceWatch *watch, const char *event,
			  RsTraceSelection **out)
{
	g_autofree char *filled = rs_trace_expect_fill(event, v->values, NULL);
	GError *error = NULL;

	*out = filled ? rs_trace_match_select(filled, &error) : NULL;
	if (*out && out == &watch->subject && watch->e->kind == RS_TRACE_EXPECT_EVENT)
		watch->terms = rs_trace_terms_new(filled);
	if (error)
		break_watch(watch, error);
}

/* NULL: nobody asks for one. */
static RsTraceWatch *find_watch(const RsTraceVerdict *v, const char *name)
{
	for (guint i = 0; name && i < v->watches->len; i++) {
		RsTraceWatch *watch = v->watches->pdata[i];

		if (g_str_equal(watch->e->name, name))
			return watch;
	}
	return NULL;
}

/* Watches from the next record on, if what it needs has happened. */
static void arm(RsTraceVerdict *v, RsTraceWatch *watch)
{
	const RsTraceExpectation *e = watch->e;

	if (watch->armed || watch->latency || !watch->glob ||
	    (watch->since && !watch->since->count))
		return;
	select_filled(v, watch, e->subject, &watch->subject);
	if (watch->subject && e->partner)
		select_filled(v, watch, e->partner, &watch->partner);
	if (watch->subject && e->is) {
		g_autofree char *both = g_strconcat(e->subject, ": ", e->is, NULL);

		select_filled(v, watch, both, &watch->is);
	}
	watch->armed = watch->subject && (!e->partner || watch->partner) && (!e->is || watch->is);
	if (!watch->armed) {
		g_clear_pointer(&watch->subject, rs_trace_selection_free);
		g_clear_pointer(&watch->terms, rs_trace_terms_free);
	}
	watch->armed_at = v->records ? v->number : RS_TRACE_VERDICT_NONE;
}

static void arm_all(RsTraceVerdict *v)
{
	for (guint i = 0; i < v->watches->len; i++)
		arm(v, v->watches->pdata[i]);
}

/* A text becomes a string of the filters' grammar. */
static char *value_of(const RsTraceCell *cell)
{
	g_autoptr(GString) out = g_string_new("\"");

	if (cell->kind == RS_TRACE_CELL_SIGNED)
		return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)cell->number);
	if (cell->kind != RS_TRACE_CELL_TEXT)
		return g_strdup_printf("%" G_GUINT64_FORMAT, cell->number);
	for (gsize i = 0; i < cell->size && cell->text[i]; i++) {
		if (cell->text[i] == '"' || cell->text[i] == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, cell->text[i]);
	}
	g_string_append_c(out, '"');
	return g_string_free(g_steal_pointer(&out), FALSE);
}

/*
 * Of an event without such a field, a column may have the record's own. Here that is a slip of the
 * pen.
 */
static gboolean get_cell(RsTraceWatch *watch, RsTraceColumn *column, const RsTraceSample *sample,
			 RsTraceCell *out)
{
	const RsTraceEvent *event = sample->record->event;
	const char *name = rs_trace_column_name(column);

	if (g_str_has_prefix(name, "*.") && !rs_trace_event_field(event, name + 2)) {
		if (!watch->broken)
			watch->broken = g_strdup_printf("%s:%s has no field '%s'", event->system,
							event->name, name + 2);
		return FALSE;
	}
	return rs_trace_column_get(column, sample, out);
}

static void bind_values(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	for (guint i = 0; i < watch->bound->len; i++) {
		const char *name = watch->e->bind[i];
		RsTraceCell cell;

		if (get_cell(watch, watch->bound->pdata[i], sample, &cell))
			g_hash_table_insert(v->values, g_strndup(name, strcspn(name, "=")),
					    value_of(&cell));
		else if (!watch->broken)
			watch->broken = g_strdup_printf("the event has no field for %s", name);
	}
}

/* ---- records ---- */

static void hit(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	RsTracePoint now = {.ns = sample->record->ns, .number = v->number};

	watch->last = now;
	if (watch->count++)
		return;
	watch->first = now;
	bind_values(v, watch, sample);
	arm_all(v);
}

static void note(RsTracePoint *at, RsTracePoint point)
{
	if (at->number == RS_TRACE_VERDICT_NONE)
		*at = point;
}

/* What both have in common, as a text. FALSE: the record lacks it. */
static gboolean take_key(RsTraceWatch *watch, GPtrArray *columns, const RsTraceSample *sample,
			 GString *out)
{
	g_string_truncate(out, 0);
	for (guint i = 0; i < columns->len; i++) {
		RsTraceCell cell;

		if (!get_cell(watch, columns->pdata[i], sample, &cell))
			return FALSE;
		if (cell.kind == RS_TRACE_CELL_TEXT) {
			g_autofree char *hex = g_compute_checksum_for_data(
				G_CHECKSUM_SHA256, (const guchar *)cell.text, cell.size);

			g_string_append(out, hex);
		} else {
			g_string_append_printf(out, "%" G_GINT64_MODIFIER "x;", cell.number);
		}
	}
	return TRUE;
}

static void open_point(RsTraceWatch *watch, const char *key, RsTracePoint point)
{
	GQueue *queue = g_hash_table_lookup(watch->open, key);

	if (watch->n_open >= RS_TRACE_VERDICT_OPEN) {
		watch->refused++;
		return;
	}
	if (!queue) {
		queue = g_queue_new();
		g_hash_table_insert(watch->open, g_strdup(key), queue);
	}
	g_queue_push_tail(queue, g_memdup2(&point, sizeof(point)));
	watch->n_open++;
}

/* FALSE: there is none. */
static gboolean close_point(RsTraceWatch *watch, const char *key, gboolean newest,
			    RsTracePoint *out)
{
	GQueue *queue = g_hash_table_lookup(watch->open, key);
	g_autofree RsTracePoint *point = NULL;

	if (!queue)
		return FALSE;
	point = newest ? g_queue_pop_tail(queue) : g_queue_pop_head(queue);
	if (g_queue_is_empty(queue))
		g_hash_table_remove(watch->open, key);
	watch->n_open--;
	*out = *point;
	return TRUE;
}

/* Both are there: in time, or not. The culprit is the first of both. */
static void meet(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample,
		 RsTracePoint other)
{
	const guint64 ns = sample->record->ns;
	const RsTracePoint now = {.ns = ns, .number = v->number};
	const guint64 took = ns > other.ns ? ns - other.ns : 0;

	if (took <= watch->e->within) {
		hit(v, watch, sample);
		return;
	}
	if (!watch->n_late)
		watch->late = now;
	watch->longest = MAX(watch->longest, took);
	watch->n_late++;
	note(&watch->nearest, now);
}

static void step_subject(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	RsTracePoint now = {.ns = sample->record->ns, .number = v->number}, other;

	watch->subjects++;
	if (!take_key(watch, watch->of_subject, sample, v->key)) {
		watch->without_key++;
		note(&watch->culprit, now);
	} else if (!watch->e->before) {
		open_point(watch, v->key->str, now);
	} else if (close_point(watch, v->key->str, TRUE, &other)) {
		meet(v, watch, sample, other);
	} else {
		watch->alone++;
		note(&watch->culprit, now);
	}
}

static void step_partner(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	RsTracePoint now = {.ns = sample->record->ns, .number = v->number}, other;

	if (!take_key(watch, watch->of_partner, sample, v->key)) {
		watch->without_key++;
		return;
	}
	if (watch->e->before)
		open_point(watch, v->key->str, now);
	else if (close_point(watch, v->key->str, FALSE, &other))
		meet(v, watch, sample, other);
}

/* A record may be both. What was open before closes first. */
static void step_pair(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	gboolean subject = rs_trace_selection_matches(watch->subject, sample->record, sample->task);
	gboolean partner = rs_trace_selection_matches(watch->partner, sample->record, sample->task);

	if (subject && watch->e->before)
		step_subject(v, watch, sample);
	if (partner)
		step_partner(v, watch, sample);
	if (subject && !watch->e->before)
		step_subject(v, watch, sample);
}

static void step_single(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	const guint64 ns = sample->record->ns;
	const RsTracePoint now = {.ns = ns, .number = v->number};
	const guint64 from_ns = watch->since ? watch->since->first.ns : 0;
	gboolean in_time = ns < from_ns || ns - from_ns <= watch->e->within;

	if (!rs_trace_selection_matches(watch->subject, sample->record, sample->task))
		return;
	if (watch->e->is)
		watch->is_so = rs_trace_selection_matches(watch->is, sample->record, sample->task);
	if (in_time) {
		hit(v, watch, sample);
		note(&watch->culprit, now);
	} else {
		watch->n_late++;
		watch->longest = MAX(watch->longest, ns - from_ns);
		note(&watch->nearest, now);
	}
}

/* Whether this record, or one before it, ends what is watched. */
static gboolean is_over(const RsTraceWatch *watch)
{
	return watch->until && watch->until->count;
}

static void step(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	/* What this record has armed watches from the next one on. */
	if (!watch->armed || watch->armed_at == v->number || is_over(watch))
		return;
	if (watch->partner)
		step_pair(v, watch, sample);
	else
		step_single(v, watch, sample);
	/* Of its event, but not as it was expected: perhaps nearly. */
	if (!watch->count && sample->record->event &&
	    rs_trace_event_glob_matches(watch->glob, sample->source, sample->record->event)) {
		watch->of_event++;
		if (!watch->terms || rs_trace_terms_look(watch->terms, sample))
			watch->last = (RsTracePoint){.ns = sample->record->ns, .number = v->number};
	}
}

/* Shows it the record, after those whose event may end what it watches. */
static void show(RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	if (watch->stepped == v->number + 1)
		return;
	watch->stepped = v->number + 1;
	if (watch->until)
		show(v, watch->until, sample);
	if (watch->latency)
		rs_trace_latency_add(watch->latency, sample);
	else if (sample->record->kind == RS_TRACE_RECORD_EVENT)
		step(v, watch, sample);
}

void rs_trace_verdict_take_tail(RsTraceVerdict *v, RsTraceTail *tail)
{
	if (!tail->lost)
		return;
	v->lost += tail->lost;
	note(&v->loss, tail->at);
	tail->lost = 0;
}

static void look_at_tail(RsTraceVerdict *v, const RsTraceSample *sample)
{
	const RsTraceRecord *record = sample->record;
	const gpointer ring = GUINT_TO_POINTER(sample->source_index << 12 | record->ring);
	RsTraceTail *tail = g_hash_table_lookup(v->tails, ring);

	if (!tail) {
		tail = g_new0(RsTraceTail, 1);
		g_hash_table_insert(v->tails, ring, tail);
	}
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		if (!tail->lost)
			tail->at = (RsTracePoint){.ns = record->ns, .number = v->number};
		tail->lost += record->lost;
	} else {
		rs_trace_verdict_take_tail(v, tail);
	}
}

void rs_trace_verdict_add(RsTraceVerdict *v, const RsTraceSample *sample)
{
	const RsTraceRecord *record = sample->record;

	if (!v->records++)
		v->first_ns = record->ns;
	v->last_ns = MAX(v->last_ns, record->ns);
	look_at_tail(v, sample);
	for (guint i = 0; i < v->watches->len; i++)
		show(v, v->watches->pdata[i], sample);
	v->number++;
}

void rs_trace_verdict_know(RsTraceVerdict *v, const RsTraceOrigin *origin,
			   const RsTraceEvent *event)
{
	v->told = TRUE;
	for (guint i = 0; i < v->watches->len; i++) {
		RsTraceWatch *watch = v->watches->pdata[i];

		watch->known |= rs_trace_event_glob_matches(watch->glob,
							    origin ? origin->name : NULL, event);
		watch->partner_known |= rs_trace_event_glob_matches(
			watch->partner_glob, origin ? origin->name : NULL, event);
		if (watch->subject)
			rs_trace_selection_know(watch->subject, origin, event);
		if (watch->partner)
			rs_trace_selection_know(watch->partner, origin, event);
	}
}

/* ---- life ---- */

RsTraceVerdict *rs_trace_verdict_new(GPtrArray *expectations, gboolean may_lose)
{
	RsTraceVerdict *v = g_new0(RsTraceVerdict, 1);

	v->expectations = g_ptr_array_ref(expectations);
	v->may_lose = may_lose;
	v->watches = g_ptr_array_new_with_free_func(watch_free);
	v->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	v->key = g_string_new(NULL);
	v->tails = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	v->loss.number = RS_TRACE_VERDICT_NONE;
	for (guint i = 0; i < expectations->len; i++)
		g_ptr_array_add(v->watches, watch_new(expectations->pdata[i]));
	for (guint i = 0; i < v->watches->len; i++) {
		RsTraceWatch *watch = v->watches->pdata[i];

		watch->since = find_watch(v, watch->e->since);
		watch->until = find_watch(v, watch->e->until);
	}
	arm_all(v);
	return v;
}

void rs_trace_verdict_free(RsTraceVerdict *v)
{
	if (!v)
		return;
	g_ptr_array_unref(v->watches);
	g_ptr_array_unref(v->expectations);
	g_hash_table_unref(v->values);
	g_string_free(v->key, TRUE);
	g_hash_table_unref(v->tails);
	g_free(v);
}
