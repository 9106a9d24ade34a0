/* SPDX-License-Identifier: MIT */
/* Which record comes nearest to an expression: the one for which the most terms are true. */
#include "expect/rs-trace-verdict-private.h"

#include "filter/filter.h"

#include <string.h>

#define TERMS_MAX 16u

typedef struct {
	char *text;
	RsTraceSelection *selection;
} Term;

struct _RsTraceTerms {
	Term terms[TERMS_MAX];
	guint n;
	guint best; /* terms + 1 that were true at once; 0: no record was looked at */
	guint missing;
};

/* Where the next "&&" stands that is in no parentheses and no quotes. NULL: there is none. */
static const char *find_and(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		if (*text == '"') {
			for (text++; *text && *text != '"'; text++)
				text += *text == '\\' && text[1];
			if (!*text)
				return NULL;
		}
		depth += (*text == '(') - (*text == ')');
		if (!depth && text[0] == '&' && text[1] == '&')
			return text;
	}
	return NULL;
}

static gboolean has_or(const char *text)
{
	/* In quotes it is none, but then only the nearest record is not the best. */
	return strstr(text, "||") != NULL;
}

static gboolean add_term(RsTraceTerms *terms, const char *glob, char *text)
{
	Term *term = &terms->terms[terms->n];
	const RsTraceSelectionConfig config = {.events = glob, .expression = text};

	term->text = text;
	term->selection = rs_trace_selection_new(&config, NULL);
	terms->n++;
	return term->selection != NULL;
}

RsTraceTerms *rs_trace_terms_new(const char *event)
{
	g_autofree char *glob = NULL, *expression = NULL;
	RsTraceTerms *terms;
	const char *from, *and;
	gboolean good = TRUE;

	rs_filter_split_event(event, &glob, &expression);
	if (!glob || !expression || has_or(expression) || !find_and(expression))
		return NULL;
	terms = g_new0(RsTraceTerms, 1);
	for (from = expression; good && (and = find_and(from)); from = and+2)
		good = terms->n + 1 < TERMS_MAX &&
		       add_term(terms, glob, g_strstrip(g_strndup(from, (gsize)(and-from))));
	if (good && add_term(terms, glob, g_strstrip(g_strdup(from))))
		return terms;
	rs_trace_terms_free(terms);
	return NULL;
}

void rs_trace_terms_free(RsTraceTerms *terms)
{
	if (!terms)
		return;
	for (guint i = 0; i < terms->n; i++) {
		g_free(terms->terms[i].text);
		rs_trace_selection_free(terms->terms[i].selection);
	}
	g_free(terms);
}

gboolean rs_trace_terms_look(RsTraceTerms *terms, const RsTraceSample *sample)
{
	guint n = 1, missing = 0;

	for (guint i = terms->n; i-- > 0;) {
		if (rs_trace_selection_matches(terms->terms[i].selection, sample->record,
					       sample->task))
			n++;
		else
			missing = i;
	}
	if (n <= terms->best)
		return FALSE;
	terms->best = n;
	terms->missing = missing;
	return TRUE;
}

const char *rs_trace_terms_missing(const RsTraceTerms *terms)
{
	return terms && terms->best ? terms->terms[terms->missing].text : NULL;
}
