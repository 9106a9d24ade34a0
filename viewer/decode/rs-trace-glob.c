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
	gboolean has_colon;
	gboolean open;           /* it ends with a colon: in an event, anything may follow */
	guint64 stay[WORDS_MAX]; /* states that a star lets take any byte and stay */
	guint8 row[BYTES];       /* of each byte, its row in takes; most bytes have row 0 */
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

/* Element n is the set behind a '['. `end` is its ']'. */
static void take_set(const char *at, const char *end, guint64 (*takes)[WORDS_MAX], guint n)
{
	const gboolean negate = *at == '!' || *at == '^';
	gboolean named[BYTES] = {FALSE};

	for (at += negate; at < end; at++) {
		guint first = (guchar)*at, last = first;

		if (at + 2 < end && at[1] == '-') {
			last = (guchar)at[2];
			at += 2;
		}
		for (guint c = first; c <= last; c++)
			named[c] = TRUE;
	}
	for (guint c = 0; c < BYTES; c++) {
		if (named[c] != negate)
			set_bit(takes[c], n);
	}
}

/* Where the set at `at` ends, which is behind its '['; NULL: it is none. */
static const char *end_of_set(const char *at)
{
	const gboolean negate = *at == '!' || *at == '^';

	return at[0] && at[negate] ? strchr(at + negate + 1, ']') : NULL;
}

/* Element n is the one at `at`. Returns what is behind it. */
static const char *take_element(const char *at, guint64 (*takes)[WORDS_MAX], guint n)
{
	const char *end = *at == '[' ? end_of_set(at + 1) : NULL;

	if (end) {
		take_set(at + 1, end, takes, n);
		return end + 1;
	}
	for (guint c = 0; *at == '?' && c < BYTES; c++)
		set_bit(takes[c], n);
	if (*at == '\\' && at[1])
		at++;
	set_bit(takes[(guchar)*at], n);
	return at + 1;
}

/* Gives each byte its row. A byte that the glob does not name has the row of the byte 0. */
static void keep_rows(RsTraceGlob *glob, guint64 (*takes)[WORDS_MAX])
{
	const gsize size = glob->words * sizeof(guint64);
	guint rows = 1;

	for (guint c = 1; c < BYTES; c++) {
		if (memcmp(takes[c], takes[0], size))
			glob->row[c] = (guint8)rows++;
	}
	glob->takes = g_new(guint64, (gsize)rows * glob->words);
	for (guint c = 0; c < BYTES; c++)
		memcpy(glob->takes + (gsize)glob->row[c] * glob->words, takes[c], size);
}

RsTraceGlob *rs_trace_glob_new(const char *pattern)
{
	guint64 takes[BYTES][WORDS_MAX] = {0};
	RsTraceGlob *glob;

	if (strlen(pattern) > RS_TRACE_GLOB_MAX)
		return NULL;
	glob = g_new0(RsTraceGlob, 1);
	glob->has_colon = strchr(pattern, ':') != NULL;
	glob->open = g_str_has_suffix(pattern, ":");
	while (*pattern) {
		if (*pattern == '*') {
			set_bit(glob->stay, glob->n);
			pattern++;
			continue;
		}
		pattern = take_element(pattern, takes, glob->n++);
	}
	glob->words = glob->n / WORD_BITS + 1;
	keep_rows(glob, takes);
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
	return at_end(glob, &states);
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
