/* SPDX-License-Identifier: MIT */
/*
 * A glob as an automaton whose states are the bits of a few words. In state i the first i elements
 * have matched. Each byte of a text moves all active states on at once.
 */
#include "rs-trace-glob.h"

#include <string.h>

#define WORD_BITS 64u
#define WORDS_MAX ((RS_TRACE_GLOB_MAX + 1 + WORD_BITS - 1) / WORD_BITS)
#define BYTES 256u

struct _RsTraceGlob {
	guint n;     /* elements; each takes one byte of the text, so a star is none */
	guint words; /* of a set of states */
	gboolean has_colon, inverse;
	gboolean open;           /* it ends with a colon: in an event, anything may follow */
	guint64 stay[WORDS_MAX]; /* states that a star lets take any byte and stay */
	guint8 row[BYTES];       /* of each byte, its row in takes; most bytes have row 0 */
	guint rows;
	guint64 *takes; /* owned; rows of `words` words: states that move on with the byte */
};

typedef struct {
	guint64 words[WORDS_MAX];
} States;

/* Whether all elements have matched. */
static gboolean at_end(const RsTraceGlob *glob, const States *states)
{
	return states->words[glob->n / WORD_BITS] >> (glob->n % WORD_BITS) & 1;
}

static void set_bit(guint64 *words, guint bit)
{
	words[bit / WORD_BITS] |= G_GUINT64_CONSTANT(1) << (bit % WORD_BITS);
}

/* What takes one byte: one of those from `from` to `end`, or one of no such. */
typedef struct {
	const char *from, *end;
	gboolean any, negate;
} Element;

/* Where the set at `at` ends, which is behind its '['; NULL: it is none. */
static const char *end_of_set(const char *at)
{
	const gboolean negate = *at == '!' || *at == '^';

	return at[0] && at[negate] ? strchr(at + negate + 1, ']') : NULL;
}

/* Returns what is behind the element at `at`. */
static const char *take_element(const char *at, Element *out)
{
	const char *end = *at == '[' ? end_of_set(at + 1) : NULL;

	if (end) {
		*out = (Element){.from = at + 1, .end = end};
		out->negate = at[1] == '!' || at[1] == '^';
		out->from += out->negate;
		return end + 1;
	}
	*out = (Element){.any = *at == '?'};
	if (*at == '\\' && at[1])
		at++;
	out->from = at;
	out->end = at + 1;
	return out->end;
}

/* The bytes of an element one range after the other. FALSE: there is no more. */
static gboolean next_range(const char **at, const char *end, guint *first, guint *last)
{
	if (*at >= end)
		return FALSE;
	*first = *last = (guchar) * *at;
	if (*at + 2 < end && (*at)[1] == '-') {
		*last = (guchar)(*at)[2];
		*at += 2;
	}
	(*at)++;
	return TRUE;
}

/* Gives each byte that the pattern names a row of its own. The others have row 0. */
static void number_rows(RsTraceGlob *glob, const char *pattern)
{
	guint first, last;
	Element element;

	while (*pattern) {
		if (*pattern == '*') {
			set_bit(glob->stay, glob->n);
			pattern++;
			continue;
		}
		pattern = take_element(pattern, &element);
		glob->n++;
		while (next_range(&element.from, element.end, &first, &last)) {
			for (guint c = first; c <= last; c++) {
				if (!glob->row[c])
					glob->row[c] = (guint8)glob->rows++;
			}
		}
	}
}

/* Element n takes what `element` says. */
static void fill_rows(RsTraceGlob *glob, Element element, guint n)
{
	const gboolean most = element.any || element.negate;
	const guint64 bit = G_GUINT64_CONSTANT(1) << (n % WORD_BITS);
	guint64 *takes = glob->takes + n / WORD_BITS;
	guint first, last;

	for (guint row = 0; most && row < glob->rows; row++)
		takes[(gsize)row * glob->words] |= bit;
	while (!element.any && next_range(&element.from, element.end, &first, &last)) {
		for (guint c = first; c <= last; c++) {
			guint64 *word = &takes[(gsize)glob->row[c] * glob->words];

			*word = element.negate ? *word & ~bit : *word | bit;
		}
	}
}

RsTraceGlob *rs_trace_glob_new(const char *pattern)
{
	RsTraceGlob *glob;
	Element element;

	if (strlen(pattern) > RS_TRACE_GLOB_MAX)
		return NULL;
	glob = g_new0(RsTraceGlob, 1);
	glob->rows = 1;
	glob->has_colon = strchr(pattern, ':') != NULL;
	glob->open = g_str_has_suffix(pattern, ":");
	number_rows(glob, pattern);
	glob->words = glob->n / WORD_BITS + 1;
	glob->takes = g_new0(guint64, (gsize)glob->rows * glob->words);
	for (guint n = 0; *pattern;) {
		if (*pattern == '*') {
			pattern++;
			continue;
		}
		pattern = take_element(pattern, &element);
		fill_rows(glob, element, n++);
	}
	return glob;
}

RsTraceGlob *rs_trace_glob_new_inverse(const char *pattern)
{
	RsTraceGlob *glob = rs_trace_glob_new(pattern);

	if (glob)
		glob->inverse = TRUE;
	return glob;
}

void rs_trace_glob_free(RsTraceGlob *glob)
{
	if (!glob)
		return;
	g_free(glob->takes);
	g_free(glob);
}

static void advance(const RsTraceGlob *glob, States *states, const char *text)
{
	for (; *text; text++) {
		const guint64 *takes = glob->takes + (gsize)glob->row[(guchar)*text] * glob->words;
		guint64 carry = 0, any = 0;

		for (guint w = 0; w < glob->words; w++) {
			const guint64 active = states->words[w], moved = active & takes[w];

			states->words[w] = moved << 1 | carry | (active & glob->stay[w]);
			carry = moved >> (WORD_BITS - 1);
			any |= states->words[w];
		}
		if (!any)
			return;
	}
}

gboolean rs_trace_glob_matches(const RsTraceGlob *glob, const char *text)
{
	States states = {{1}};

	advance(glob, &states, text);
	return at_end(glob, &states) != glob->inverse;
}

gboolean rs_trace_glob_matches_event(const RsTraceGlob *glob, const RsTraceEvent *event)
{
	States states = {{1}};

	if (!glob->has_colon)
		return rs_trace_glob_matches(glob, event->system) ||
		       rs_trace_glob_matches(glob, event->name);
	advance(glob, &states, event->system);
	advance(glob, &states, ":");
	if (glob->open && at_end(glob, &states))
		return TRUE;
	advance(glob, &states, event->name);
	return at_end(glob, &states);
}
