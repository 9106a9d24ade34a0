/* SPDX-License-Identifier: MIT */
/* What is said at the end of each expectation. */
#include "expect/rs-trace-verdict-private.h"

#include "rs-trace-escape.h"

#include <math.h>
#include <string.h>

#define SERIAL_LINE 4096                /* bytes of a line in which patterns are looked for */
#define SHOWN_LINE 160                  /* bytes of one that is told */
#define SERIAL_US (10 * G_USEC_PER_SEC) /* for all patterns */

static void finding_clear(gpointer data)
{
	g_free(((RsTraceFinding *)data)->why);
}

static void finding_free(gpointer data)
{
	finding_clear(data);
	g_free(data);
}

/* "2.5 ms" */
static char *show_time(guint64 ns)
{
	static const struct {
		guint64 ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};

	for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
		if (ns >= units[i].ns)
			return g_strdup_printf("%.4g %s", (double)ns / (double)units[i].ns,
					       units[i].name);
	}
	return g_strdup_printf("%" G_GUINT64_FORMAT " ns", ns);
}

static void unmet(RsTraceFinding *f, guint64 record, gboolean nearest, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
static void unmet(RsTraceFinding *f, guint64 record, gboolean nearest, const char *format, ...)
{
	g_autofree char *raw = NULL;
	va_list args;

	va_start(args, format);
	raw = g_strdup_vprintf(format, args);
	f->kind = RS_TRACE_FINDING_UNMET;
	/* Names of the spec may have anything in them. */
	f->why = rs_trace_escape(raw, -1, NULL);
	f->record = record;
	f->nearest = nearest;
	va_end(args);
}

/* Of an expression's mistake the last line says what it is, after a picture of it. */
static void broken(RsTraceFinding *f, const char *why)
{
	const char *last = strrchr(why, '\n');

	g_free(f->why);
	f->kind = RS_TRACE_FINDING_BROKEN;
	f->record = RS_TRACE_VERDICT_NONE;
	f->nearest = FALSE;
	f->why = rs_trace_escape(last ? last + 1 : why, -1, NULL);
}

/* "3", "1 to 5", "at least 1" */
static char *show_range(guint64 least, guint64 most)
{
	if (least == most)
		return g_strdup_printf("%" G_GUINT64_FORMAT, least);
	if (most == G_MAXUINT64)
		return g_strdup_printf("at least %" G_GUINT64_FORMAT, least);
	if (!least)
		return g_strdup_printf("at most %" G_GUINT64_FORMAT, most);
	return g_strdup_printf("%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, least, most);
}

/* ---- events ---- */

/* Why there is none: what came nearest to it. */
static void judge_none(const RsTraceWatch *watch, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;
	g_autofree char *late = show_time(watch->longest), *within = NULL;

	if (watch->n_late) {
		within = show_time(e->within);
		unmet(f, watch->nearest.number, TRUE,
		      "none came within %s: of %" G_GUINT64_FORMAT " that came later, the latest "
		      "took %s",
		      within, watch->n_late, late);
	} else if (watch->subjects) {
		unmet(f,
		      watch->culprit.number != RS_TRACE_VERDICT_NONE ? watch->culprit.number
								     : watch->last.number,
		      TRUE, "it happened %" G_GUINT64_FORMAT " times, but never with %s %s",
		      watch->subjects, e->before ? "before it" : "after it", e->partner);
	} else if (rs_trace_terms_missing(watch->terms)) {
		unmet(f, watch->last.number, TRUE,
		      "none of %" G_GUINT64_FORMAT
		      " records of the event is so; the nearest is, but "
		      "for %s",
		      watch->of_event, rs_trace_terms_missing(watch->terms));
	} else if (watch->of_event) {
		unmet(f, watch->last.number, TRUE,
		      "none of %" G_GUINT64_FORMAT " records of the event is so", watch->of_event);
	} else {
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "it never happened");
	}
}

/* When it began and ceased to watch. */
static guint64 from_of(const RsTraceVerdict *v, const RsTraceWatch *watch)
{
	return watch->since ? watch->since->first.ns : v->first_ns;
}

static guint64 until_of(const RsTraceVerdict *v, const RsTraceWatch *watch)
{
	return watch->until && watch->until->count ? watch->until->first.ns : v->last_ns;
}

static void judge_count(const RsTraceVerdict *v, const RsTraceWatch *watch, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;
	const guint64 from = from_of(v, watch);
	/* Of `since` and `within` no longer than that. */
	const guint64 until = e->partner || e->within > G_MAXUINT64 - from
				      ? until_of(v, watch)
				      : MIN(until_of(v, watch), from + e->within);
	const double seconds = until > from ? (double)(until - from) / 1e9 : 0;
	const double rate = seconds > 0 ? (double)watch->count / seconds : 0;
	g_autofree char *range = show_range(e->least, e->most);
	g_autofree char *per_second = show_range(e->least_rate, e->most_rate);

	if (watch->count < e->least && !watch->count)
		judge_none(watch, f);
	else if (watch->count < e->least || watch->count > e->most)
		unmet(f, watch->last.number, FALSE,
		      "it happened %" G_GUINT64_FORMAT " times, and not %s", watch->count, range);
	else if (seconds <= 0 && watch->count && (e->least_rate || e->most_rate != G_MAXUINT64))
		unmet(f, watch->last.number, FALSE,
		      "it happened %" G_GUINT64_FORMAT " times at one moment, which is no rate",
		      watch->count);
	else if (rate < (double)e->least_rate ||
		 (e->most_rate != G_MAXUINT64 && rate > (double)e->most_rate))
		unmet(f, watch->last.number, FALSE,
		      "it happened %.1f times a second, in %.3f s, and not %s", rate, seconds,
		      per_second);
}

/* The oldest that still waits for its partner, and had the time for it. */
static gboolean find_oldest(const RsTraceVerdict *v, const RsTraceWatch *watch,
			    RsTracePoint *oldest, guint64 *n)
{
	const guint64 end = until_of(v, watch);
	/* Of a guest that has ended by itself nothing more would have come. */
	const gboolean had_time = v->exited && !(watch->until && watch->until->count);
	GHashTableIter iter;
	gpointer waiting;

	*n = 0;
	*oldest = (RsTracePoint){.number = RS_TRACE_VERDICT_NONE};
	g_hash_table_iter_init(&iter, watch->open);
	while (g_hash_table_iter_next(&iter, NULL, &waiting)) {
		for (const GList *at = ((RsTraceWaiting *)waiting)->points.head; at;
		     at = at->next) {
			const RsTracePoint *point = at->data;

			if (watch->e->within != G_MAXUINT64 && !had_time &&
			    end - MIN(point->ns, end) <= watch->e->within)
				continue;
			(*n)++;
			if (point->number < oldest->number)
				*oldest = *point;
		}
	}
	return *n != 0;
}

static void judge_each(const RsTraceVerdict *v, const RsTraceWatch *watch, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;
	RsTracePoint oldest;
	guint64 n;

	if (!watch->subjects) {
		judge_none(watch, f);
	} else if (watch->alone) {
		unmet(f, watch->culprit.number, FALSE,
		      "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " had no %s before",
		      watch->alone, watch->subjects, e->partner);
	} else if (watch->n_late) {
		g_autofree char *within = show_time(e->within), *took = show_time(watch->longest);

		unmet(f, watch->late.number, FALSE,
		      "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
		      " took longer than %s, up to %s",
		      watch->n_late, watch->subjects, within, took);
	} else if (!e->before && find_oldest(v, watch, &oldest, &n) && n > e->open) {
		unmet(f, oldest.number, FALSE,
		      "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " had no %s after", n,
		      watch->subjects, e->partner);
	}
}

/*
 * A percentile of all pairs is at most so much. Those that have begun, and have not ended, count as
 * longer if they had the time for it.
 */
static gboolean judge_limit(const RsTraceVerdict *v, const RsTraceWatch *watch, guint which,
			    const RsTraceDistribution *ns, RsTraceFinding *f)
{
	const RsTraceExpectLimit *limit = &watch->e->limits[which];
	const guint64 n = rs_trace_distribution_count(ns);
	/* Of a guest that has ended by itself nothing more would have come. */
	const guint64 all_open =
		v->exited ? rs_trace_latency_open_since(watch->latency, G_MAXUINT64)
		: v->last_ns > limit->most
			? rs_trace_latency_open_since(watch->latency, v->last_ns - limit->most - 1)
			: 0;
	const guint64 open = all_open - MIN(all_open, watch->e->open);
	const double rank = ceil((double)(n + open) * limit->percent / 100);
	g_autofree char *most = show_time(limit->most), *shown = NULL;

	if (!(n + open) || rank <= (double)watch->in_limit[which])
		return TRUE;
	shown = show_time(rs_trace_distribution_greatest(ns));
	if (rank > (double)n)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
		      " did not end within %s, so %s is longer",
		      open, n + open, most, limit->key);
	else if (limit->percent < 100)
		unmet(f, watch->last.number, FALSE,
		      "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
		      " took longer than %s, and up to %s, so %s is longer",
		      n + open - watch->in_limit[which], n + open, most, shown, limit->key);
	else
		unmet(f, watch->last.number, FALSE,
		      "max of %" G_GUINT64_FORMAT " pairs is %s, and not at most %s", n, shown,
		      most);
	return FALSE;
}

static void judge_pair(const RsTraceVerdict *v, const RsTraceWatch *watch, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;
	RsTraceLatencyResult r;
	guint64 n;

	rs_trace_latency_result(watch->latency, &r);
	n = rs_trace_distribution_count(r.ns);
	if (r.refused || r.without_key) {
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      "%" G_GUINT64_FORMAT " records lack the key, and %" G_GUINT64_FORMAT
		      " were too many at once",
		      r.without_key, r.refused);
		return;
	}
	if (n < e->least || n > e->most) {
		g_autofree char *range = show_range(e->least, e->most);

		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      "there are %" G_GUINT64_FORMAT " pairs, and not %s", n, range);
		return;
	}
	for (guint i = 0; i < e->n_limits; i++) {
		if (!judge_limit(v, watch, i, r.ns, f))
			return;
	}
}

static void break_unknown(RsTraceFinding *f, const RsTraceEventGlob *glob)
{
	g_autofree char *clean = rs_trace_escape(rs_trace_event_glob_text(glob), -1, NULL);
	g_autofree char *why = g_strdup_printf("no event that is enabled matches '%s'", clean);

	broken(f, why);
}

/* A field that no event has, and an event that the guest does not have, are mistakes. */
static void judge_spec(const RsTraceVerdict *v, const RsTraceWatch *watch, RsTraceFinding *f)
{
	RsTraceSelection *const selections[] = {watch->checks[0], watch->checks[1],
						watch->checks[2], watch->subject,
						watch->partner,   watch->is};

	if (watch->broken) {
		broken(f, watch->broken);
		return;
	}
	/* A trace without a record tells no events. */
	if (v->told && watch->glob && !watch->known) {
		break_unknown(f, watch->glob);
		return;
	}
	if (v->told && watch->partner_glob && !watch->partner_known) {
		break_unknown(f, watch->partner_glob);
		return;
	}
	for (guint i = 0; i < G_N_ELEMENTS(selections); i++) {
		g_autoptr(GError) error = NULL;

		if (selections[i] && !rs_trace_selection_finish(selections[i], &error))
			broken(f, error->message);
	}
}

static void judge_event(const RsTraceVerdict *v, const RsTraceWatch *watch, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;

	if (!watch->armed) {
		if (!watch->broken)
			unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
			      "what it waits for did not happen%s%s", e->since ? ": " : "",
			      e->since ? e->since : "");
	} else if (watch->refused) {
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      "more than %u events wait for their partners", RS_TRACE_VERDICT_OPEN);
	} else if (watch->without_key) {
		unmet(f, watch->culprit.number, FALSE,
		      "%" G_GUINT64_FORMAT " records lack what 'same' names", watch->without_key);
	} else if (e->kind == RS_TRACE_EXPECT_EVENT) {
		judge_count(v, watch, f);
	} else if (e->kind == RS_TRACE_EXPECT_EACH) {
		judge_each(v, watch, f);
	} else if (e->kind == RS_TRACE_EXPECT_NEVER) {
		if (watch->count)
			unmet(f, watch->culprit.number, FALSE,
			      "it happened %" G_GUINT64_FORMAT " times", watch->count);
	} else if (!watch->count) {
		judge_none(watch, f);
	} else if (!watch->is_so) {
		unmet(f, watch->last.number, FALSE, "the last one is not so");
	}
}

/* ---- the guest ---- */

/*
 * How often a pattern is in the lines of a console. A guest chooses the lines, and a pattern may
 * take the square of their length: so both the length and the time have a bound. *first: the front
 * of the first such line, to be freed. FALSE: *why.
 */
static gboolean count_matches(const GRegex *regex, const RsTraceRunEnd *end, gint64 until,
			      guint64 *n, char **first, gboolean *cut, GError **why)
{
	const char *at = end->serial, *stop = at + end->serial_size;

	*cut = end->serial_cut;
	for (*n = 0; at < stop && !*why; at++) {
		const char *line = at, *newline = memchr(at, '\n', (gsize)(stop - at));
		g_autoptr(GMatchInfo) match = NULL;

		at = newline ? newline : stop;
		*cut |= at - line > SERIAL_LINE;
		g_regex_match_full(regex, line, MIN(at - line, SERIAL_LINE), 0, 0, &match, why);
		while (!*why && g_match_info_matches(match)) {
			if (!(*n)++)
				*first = g_strndup(line, MIN(at - line, SHOWN_LINE));
			g_match_info_next(match, why);
		}
		if (!*why && g_get_monotonic_time() > until)
			g_set_error(why, RS_TRACE_SPEC_ERROR, RS_TRACE_SPEC_ERROR_WRONG,
				    "to look for this in the console takes too long");
	}
	return !*why;
}

static void judge_serial(const RsTraceVerdict *v, const RsTraceWatch *watch,
			 const RsTraceRunEnd *end, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;
	const gboolean never = e->kind == RS_TRACE_EXPECT_SERIAL_NEVER;
	const guint64 least = never ? 0 : e->least, most = never ? 0 : e->most;
	g_autoptr(GRegex) regex = g_regex_new(e->subject, RS_TRACE_EXPECT_REGEX, 0, NULL);
	g_autoptr(GError) error = NULL;
	g_autofree char *range = show_range(least, most);
	g_autofree char *first = NULL;
	gboolean cut;
	guint64 n;

	if (!end->serial)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "the guest has no serial log");
	else if (!count_matches(regex, end, v->judged_us + SERIAL_US, &n, &first, &cut, &error))
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "%s", error->message);
	else if (never && n)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      "the guest wrote it %" G_GUINT64_FORMAT " times: %s", n, first);
	else if (n < least || n > most)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      "the guest wrote it %" G_GUINT64_FORMAT " times, and not %s", n, range);
	else if (cut && most != G_MAXUINT64)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE,
		      end->serial_cut ? "the guest wrote more than the %" G_GSIZE_FORMAT
					" bytes that were read"
				      : "of a line only the first %" G_GSIZE_FORMAT
					" bytes were read",
		      end->serial_cut ? end->serial_size : (gsize)SERIAL_LINE);
}

static void judge_exit(const RsTraceWatch *watch, const RsTraceRunEnd *end, RsTraceFinding *f)
{
	g_autofree char *range = show_range(watch->e->least_code, watch->e->most_code);

	if (!end->exited)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "the guest did not end by itself: %s",
		      end->end);
	else if (end->code < watch->e->least_code || end->code > watch->e->most_code)
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "the guest ended with code %u, and not %s",
		      end->code, range);
}

static void judge_end(const RsTraceWatch *watch, const RsTraceRunEnd *end, RsTraceFinding *f)
{
	const RsTraceExpectation *e = watch->e;

	if (g_strcmp0(end->how, e->subject))
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "it should have ended by %s, and not so: %s",
		      e->subject, end->end);
	else if (e->text && !g_regex_match_simple(e->text, end->text ? end->text : "",
						  RS_TRACE_EXPECT_REGEX, 0))
		unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "its end says something else: %s", end->end);
}

static void judge(const RsTraceVerdict *v, const RsTraceWatch *watch, const RsTraceRunEnd *end,
		  RsTraceFinding *f)
{
	switch (watch->e->kind) {
	case RS_TRACE_EXPECT_PAIR:
		judge_pair(v, watch, f);
		judge_spec(v, watch, f);
		return;
	case RS_TRACE_EXPECT_SERIAL:
	case RS_TRACE_EXPECT_SERIAL_NEVER:
		judge_serial(v, watch, end, f);
		return;
	case RS_TRACE_EXPECT_EXIT:
		judge_exit(watch, end, f);
		return;
	case RS_TRACE_EXPECT_END:
		judge_end(watch, end, f);
		return;
	default:
		judge_event(v, watch, f);
		judge_spec(v, watch, f);
	}
}

static RsTraceFinding *finding_new(GPtrArray *all, const char *name, guint line)
{
	RsTraceFinding *f = g_new0(RsTraceFinding, 1);

	f->name = name;
	f->line = line;
	f->record = RS_TRACE_VERDICT_NONE;
	g_ptr_array_add(all, f);
	return f;
}

GPtrArray *rs_trace_verdict_finish(RsTraceVerdict *v, const RsTraceRunEnd *end)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(finding_free);
	GHashTableIter iter;
	gpointer tail;

	v->last_ns = MAX(v->last_ns, end->until_ns);
	v->exited = end->exited;
	v->judged_us = g_get_monotonic_time();
	g_hash_table_iter_init(&iter, v->tails);
	while (g_hash_table_iter_next(&iter, NULL, &tail)) {
		/* What it was just writing is nobody's loss. */
		if (!end->stopped || ((RsTraceTail *)tail)->lost > RS_TRACE_VERDICT_WRITING)
			rs_trace_verdict_take_tail(v, tail);
	}

	for (guint i = 0; i < v->watches->len; i++) {
		const RsTraceWatch *watch = v->watches->pdata[i];

		judge(v, watch, end, finding_new(all, watch->e->name, watch->e->line));
	}
	v->lost += end->lost;
	if (!v->may_lose) {
		RsTraceFinding *f = finding_new(all, "no loss", 0);

		if (v->lost)
			unmet(f, v->loss.number, FALSE,
			      "%" G_GUINT64_FORMAT " events are lost: what is expected of events "
			      "cannot be known",
			      v->lost);
		else if (end->damage)
			unmet(f, RS_TRACE_VERDICT_NONE, FALSE, "%s", end->damage);
	}
	return all;
}
