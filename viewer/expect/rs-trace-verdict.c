/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-verdict-private.h"

#include "expect/rs-trace-match.h"
#include "rs-trace-escape.h"

#include <string.h>

/* ---- what an expectation watches ---- */

static void column_free(gpointer column)
{
	rs_trace_column_free(column);
}

static void waiting_free(gpointer data)
{
	RsTraceWaiting *waiting = data;

	g_queue_clear_full(&waiting->points, g_free);
	g_free(waiting);
}

/* They were checked when the expectation was made. */
static void make_columns(RsTraceWatch *watch)
{
	const RsTraceExpectation *e = watch->e;

	watch->of_subject = g_ptr_array_new_with_free_func(column_free);
	watch->of_partner = g_ptr_array_new_with_free_func(column_free);
	watch->bound = g_ptr_array_new_with_free_func(column_free);
	for (guint i = 0; i < e->same->len; i++) {
		const RsTraceExpectSame *same = &g_array_index(e->same, RsTraceExpectSame, i);

		g_ptr_array_add(watch->of_subject, rs_trace_expect_column(same->of_subject, NULL));
		g_ptr_array_add(watch->of_partner, rs_trace_expect_column(same->of_partner, NULL));
	}
	for (guint i = 0; i < e->bind->len; i++)
		g_ptr_array_add(
			watch->bound,
			rs_trace_expect_column(
				g_array_index(e->bind, RsTraceExpectBinding, i).field, NULL));
}

static RsTraceSelection *make_check(const char *event, GHashTable *numbers)
{
	g_autofree char *filled = event ? rs_trace_expect_fill(event, numbers, NULL) : NULL;

	return filled ? rs_trace_match_select(filled, NULL) : NULL;
}

/* "EVENT: EXPR" of the last one; NULL: it is of another kind. To be freed. */
static char *last_event(const RsTraceExpectation *e)
{
	return e->is ? g_strconcat(e->subject, ": ", e->is, NULL) : NULL;
}

static void make_checks(RsTraceWatch *watch, GHashTable *numbers)
{
	g_autofree char *last = last_event(watch->e);

	if (watch->e->kind > RS_TRACE_EXPECT_LAST)
		return;
	watch->checks[0] = make_check(watch->e->subject, numbers);
	watch->checks[1] = make_check(watch->e->partner, numbers);
	watch->checks[2] = make_check(last, numbers);
}

static RsTraceWatch *watch_new(const RsTraceExpectation *e)
{
	RsTraceWatch *watch = g_new0(RsTraceWatch, 1);

	watch->e = e;
	make_columns(watch);
	watch->open = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
					    (GDestroyNotify)g_bytes_unref, waiting_free);
	watch->culprit.number = watch->nearest.number = watch->last.number = RS_TRACE_VERDICT_NONE;
	watch->armed_at = RS_TRACE_VERDICT_NONE;
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
	for (guint i = 0; i < RS_TRACE_WATCH_EVENTS; i++)
		rs_trace_selection_free(watch->checks[i]);
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
		g_autofree char *last = last_event(e);

		select_filled(v, watch, last, &watch->is);
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
		const char *name = g_array_index(watch->e->bind, RsTraceExpectBinding, i).name;
		RsTraceCell cell;

		if (get_cell(watch, watch->bound->pdata[i], sample, &cell))
			g_hash_table_insert(v->values, g_strdup(name), value_of(&cell));
		else if (!watch->broken)
			watch->broken = g_strdup_printf("the event has no value for '$%s'", name);
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

/* What both have in common, as bytes. FALSE: the record lacks it. */
static gboolean take_key(RsTraceWatch *watch, GPtrArray *columns, const RsTraceSample *sample,
			 GString *out)
{
	g_string_truncate(out, 0);
	for (guint i = 0; i < columns->len; i++) {
		RsTraceCell cell;

		if (!get_cell(watch, columns->pdata[i], sample, &cell))
			return FALSE;
		if (cell.kind == RS_TRACE_CELL_TEXT) {
			/* With its length, or two texts could be taken for two others. */
			g_string_append_printf(out, "%" G_GSIZE_FORMAT ":", cell.size);
			g_string_append_len(out, cell.text, (gssize)cell.size);
		} else {
			g_string_append_printf(out, "%" G_GINT64_MODIFIER "x;", cell.number);
		}
	}
	return TRUE;
}

/* NULL: there is none. */
static RsTraceWaiting *find_waiting(const RsTraceWatch *watch, const GString *key)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static(key->str, key->len);

	return g_hash_table_lookup(watch->open, bytes);
}

/* Partners that come before, and could only be met too late. */
static void let_age(RsTraceWatch *watch, RsTraceWaiting *waiting, guint64 ns)
{
	const RsTracePoint *oldest;

	while ((oldest = g_queue_peek_head(&waiting->points)) && oldest->ns < ns &&
	       ns - oldest->ns > watch->e->within) {
		waiting->old = *oldest;
		waiting->n_old++;
		watch->n_open--;
		g_free(g_queue_pop_head(&waiting->points));
	}
}

static void open_point(RsTraceWatch *watch, const GString *key, RsTracePoint point)
{
	RsTraceWaiting *waiting = find_waiting(watch, key);

	if (!waiting && g_hash_table_size(watch->open) >= RS_TRACE_VERDICT_OPEN) {
		watch->refused++;
		return;
	}
	if (!waiting) {
		waiting = g_new0(RsTraceWaiting, 1);
		g_hash_table_insert(watch->open, g_bytes_new(key->str, key->len), waiting);
	}
	/* If any time is good, it does not matter which of them it was. */
	if (watch->e->before && watch->e->within == G_MAXUINT64) {
		waiting->old = point;
		waiting->n_old++;
		return;
	}
	if (watch->e->before)
		let_age(watch, waiting, point.ns);
	if (watch->n_open >= RS_TRACE_VERDICT_OPEN) {
		watch->refused++;
		return;
	}
	g_queue_push_tail(&waiting->points, g_memdup2(&point, sizeof(point)));
	watch->n_open++;
}

/* The newest of those that came before, or the oldest of those that wait. FALSE: there is none. */
static gboolean close_point(RsTraceWatch *watch, const GString *key, RsTracePoint *out)
{
	RsTraceWaiting *waiting = find_waiting(watch, key);
	RsTracePoint *point;

	if (!waiting)
		return FALSE;
	point = watch->e->before ? g_queue_pop_tail(&waiting->points)
				 : g_queue_pop_head(&waiting->points);
	if (point) {
		*out = *point;
		g_free(point);
		watch->n_open--;
	} else {
		*out = waiting->old;
		waiting->n_old--;
	}
	if (g_queue_is_empty(&waiting->points) && !waiting->n_old) {
		g_autoptr(GBytes) bytes = g_bytes_new_static(key->str, key->len);

		g_hash_table_remove(watch->open, bytes);
	}
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
		open_point(watch, v->key, now);
	} else if (close_point(watch, v->key, &other)) {
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
		note(&watch->culprit, now);
		return;
	}
	if (watch->e->before)
		open_point(watch, v->key, now);
	else if (close_point(watch, v->key, &other))
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

/* With a mark at the end of the longest pair. */
static void add_to_pairs(const RsTraceVerdict *v, RsTraceWatch *watch, const RsTraceSample *sample)
{
	RsTraceLatencyResult r;
	guint64 n;

	rs_trace_latency_result(watch->latency, &r);
	n = rs_trace_distribution_count(r.ns);
	rs_trace_latency_add(watch->latency, sample);
	rs_trace_latency_result(watch->latency, &r);
	if (rs_trace_distribution_count(r.ns) == n)
		return;
	/* A distribution's percentiles are not exact. */
	for (guint i = 0; i < watch->e->n_limits; i++)
		watch->in_limit[i] += r.newest <= watch->e->limits[i].most;
	if (watch->last.number != RS_TRACE_VERDICT_NONE && r.newest <= watch->longest)
		return;
	watch->longest = r.newest;
	watch->last = (RsTracePoint){.ns = sample->record->ns, .number = v->number};
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
		add_to_pairs(v, watch, sample);
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
		for (guint k = 0; k < RS_TRACE_WATCH_EVENTS; k++) {
			if (watch->checks[k])
				rs_trace_selection_know(watch->checks[k], origin, event);
		}
	}
}

/* ---- life ---- */

RsTraceVerdict *rs_trace_verdict_new(GPtrArray *expectations, gboolean may_lose)
{
	RsTraceVerdict *v = g_new0(RsTraceVerdict, 1);
	g_autoptr(GHashTable) numbers =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);

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

		make_checks(watch, numbers);
		for (guint k = 0; k < watch->e->bind->len; k++)
			g_hash_table_insert(
				numbers,
				g_array_index(watch->e->bind, RsTraceExpectBinding, k).name,
				g_strdup("1"));
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
