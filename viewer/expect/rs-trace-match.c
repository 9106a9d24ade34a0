/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-match.h"

#include "expect/rs-trace-verdict-private.h"
#include "filter/filter.h"
#include "rs-trace-error.h"
#include "rs-trace-escape.h"

struct _RsTraceMatch {
	RsTraceSelection *selection;
	RsTraceEventGlob *glob;
	RsTraceTerms *terms; /* NULL: it has a single one, or none */
	guint64 of_event;
};

/* FALSE: there is no glob. Both are to be freed. */
static gboolean split(const char *event, char **glob, char **expression, GError **error)
{
	g_autofree char *shown = NULL;

	rs_filter_split_event(event, glob, expression);
	if (*glob)
		return TRUE;
	shown = rs_trace_escape(event, -1, NULL);
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "an event is GLOB or 'GLOB: EXPRESSION', not '%s'", shown);
	return FALSE;
}

RsTraceSelection *rs_trace_match_select(const char *event, GError **error)
{
	g_autofree char *glob = NULL, *expression = NULL;

	if (!split(event, &glob, &expression, error))
		return NULL;
	return rs_trace_selection_new(
		&(RsTraceSelectionConfig){.events = glob, .expression = expression, .strict = TRUE},
		error);
}

RsTraceEventGlob *rs_trace_match_glob(const char *event, GError **error)
{
	g_autofree char *glob = NULL, *expression = NULL;

	return split(event, &glob, &expression, error) ? rs_trace_event_glob_new(glob, error)
						       : NULL;
}

RsTraceMatch *rs_trace_match_new(const char *event, GError **error)
{
	RsTraceMatch *match = g_new0(RsTraceMatch, 1);

	match->selection = rs_trace_match_select(event, error);
	if (match->selection)
		match->glob = rs_trace_match_glob(event, error);
	if (!match->glob) {
		rs_trace_match_free(match);
		return NULL;
	}
	match->terms = rs_trace_terms_new(event);
	return match;
}

void rs_trace_match_free(RsTraceMatch *match)
{
	if (!match)
		return;
	rs_trace_selection_free(match->selection);
	rs_trace_event_glob_free(match->glob);
	rs_trace_terms_free(match->terms);
	g_free(match);
}

gboolean rs_trace_match_know(RsTraceMatch *match, const RsTraceOrigin *origin,
			     const RsTraceEvent *event)
{
	if (!rs_trace_event_glob_matches(match->glob, origin ? origin->name : NULL, event))
		return FALSE;
	rs_trace_selection_know(match->selection, origin, event);
	return TRUE;
}

RsTraceMatchResult rs_trace_match_look(RsTraceMatch *match, const RsTraceSample *sample)
{
	const RsTraceRecord *record = sample->record;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return RS_TRACE_MATCH_NOT;
	if (rs_trace_selection_matches(match->selection, record, sample->task)) {
		match->of_event++;
		return RS_TRACE_MATCH_SO;
	}
	if (!record->event ||
	    !rs_trace_event_glob_matches(match->glob, sample->source, record->event))
		return RS_TRACE_MATCH_NOT;
	match->of_event++;
	/* Without terms none is nearer than another: the first one will do. */
	if (match->terms ? rs_trace_terms_look(match->terms, sample) : match->of_event == 1)
		return RS_TRACE_MATCH_NEAREST;
	return RS_TRACE_MATCH_NOT;
}

gboolean rs_trace_match_check(const RsTraceMatch *match, GError **error)
{
	return rs_trace_selection_finish(match->selection, error);
}

const char *rs_trace_match_name(const RsTraceMatch *match)
{
	return rs_trace_event_glob_text(match->glob);
}

guint64 rs_trace_match_n_of_event(const RsTraceMatch *match)
{
	return match->of_event;
}

const char *rs_trace_match_missing(const RsTraceMatch *match)
{
	return rs_trace_terms_missing(match->terms);
}
