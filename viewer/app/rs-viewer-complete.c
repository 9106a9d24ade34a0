/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-complete.h"

#include <string.h>

#define CANDIDATES_MAX 100u

typedef enum { WANT_FIELD, WANT_OPERATOR, WANT_VALUE, WANT_JOINER } Want;

/* What is known at the cursor. */
typedef struct {
	Want want;
	gsize start;                /* of the word that is being written */
	const RsViewerField *field; /* of this term; NULL: not known */
} Place;

static const char *const number_operators[] = {"==", "!=", "<", "<=", ">", ">=", "&", NULL};
static const char *const text_operators[] = {"==", "!=", "~", "!~", NULL};
static const char *const all_operators[] = {"==", "!=", "<", "<=", ">", ">=", "~", "!~", "&", NULL};
static const char *const joiners[] = {"&&", "||", NULL};

/* ---- where the cursor is ---- */

static gsize word_size(const char *text)
{
	return strcspn(text, " \t()&|=<>!~\"'");
}

/* Bytes of an operator or joiner; 0: there is none. */
static gsize sign_size(const char *text)
{
	static const char *const signs[] = {"&&", "||", "==", "!=", "<=", ">=", "!~",
					    "&",  "|",  "=",  "<",  ">",  "~",  "!"};

	for (gsize i = 0; i < G_N_ELEMENTS(signs); i++)
		if (g_str_has_prefix(text, signs[i]))
			return strlen(signs[i]);
	return 0;
}

/* With its quotes; to the end if it has no second one. */
static gsize quoted_size(const char *text)
{
	gsize size = 1;

	while (text[size] && text[size] != *text)
		size += text[size] == '\\' && text[size + 1] ? 2 : 1;
	return text[size] ? size + 1 : size;
}

static void pass_word(Place *place, const char *word, gsize size, const GPtrArray *fields)
{
	if (place->want == WANT_FIELD) {
		place->field = rs_viewer_fields_find(fields, word, size);
		place->want = WANT_OPERATOR;
	} else {
		place->want = WANT_JOINER;
	}
}

static void pass_sign(Place *place, const char *sign, gsize size)
{
	const gboolean joins = size == 2 && (*sign == '&' || *sign == '|');

	if (joins)
		place->want = WANT_FIELD;
	else if (place->want != WANT_FIELD || *sign != '!' || size > 1)
		place->want = WANT_VALUE;
	if (joins)
		place->field = NULL;
}

static Place find_place(const char *text, gsize cursor, const GPtrArray *fields)
{
	Place place = {.want = WANT_FIELD};
	gsize at = 0;

	while (at < cursor) {
		const char c = text[at];
		const gboolean quoted = c == '"' || c == '\'';
		const gsize sign = sign_size(text + at);
		const gsize size = quoted ? quoted_size(text + at) : word_size(text + at);

		place.start = at;
		if (c == ' ' || c == '\t' || c == '(' || c == ')') {
			at++;
			place.want = c == '(' ? WANT_FIELD : c == ')' ? WANT_JOINER : place.want;
		} else if (sign) {
			/* A sign before the cursor may be the first half of one that is due. */
			if (at + sign >= cursor &&
			    (place.want == WANT_OPERATOR || place.want == WANT_JOINER))
				return place;
			pass_sign(&place, text + at, sign);
			at += sign;
		} else {
			if (at + size >= cursor &&
			    (!quoted || text[at + size - 1] != c || size < 2))
				return place;
			pass_word(&place, text + at, MAX(size, 1), fields);
			at += MAX(size, 1);
		}
	}
	place.start = cursor;
	return place;
}

/* ---- what fits there ---- */

/* Takes `text`. */
static void offer(RsViewerCompletion *completion, char *text, const char *detail)
{
	RsViewerCandidate *candidate = g_new(RsViewerCandidate, 1);

	candidate->text = text;
	candidate->detail = detail;
	g_ptr_array_add(completion->candidates, candidate);
}

static gboolean begins(const char *text, const char *prefix, gsize size, gboolean exact)
{
	return exact ? !strncmp(text, prefix, size) : !g_ascii_strncasecmp(text, prefix, size);
}

/* Those that are written so come before those that differ in capitals. */
static void offer_fields(RsViewerCompletion *completion, const GPtrArray *fields,
			 const char *prefix, gsize size)
{
	for (guint pass = 0; pass < 2; pass++) {
		for (guint i = 0; i < fields->len; i++) {
			const RsViewerField *field = fields->pdata[i];

			if (field->kind == RS_VIEWER_FIELD_OTHER ||
			    completion->candidates->len >= CANDIDATES_MAX ||
			    begins(field->name, prefix, size, TRUE) != !pass ||
			    !begins(field->name, prefix, size, FALSE))
				continue;
			offer(completion, g_strconcat(field->name, " ", NULL), field->type);
		}
	}
}

static void offer_signs(RsViewerCompletion *completion, const char *const *signs,
			const char *prefix, gsize size)
{
	for (; *signs; signs++)
		if (begins(*signs, prefix, size, TRUE))
			offer(completion, g_strconcat(*signs, " ", NULL), "");
}

/* As an expression has it: quoted if it is more than a word. To be freed. */
static char *quote(const char *symbol)
{
	const char *c = symbol;

	while (g_ascii_isalnum(*c) || *c == '_' || *c == '.' || (*c == '-' && c > symbol))
		c++;
	if (!*c && !g_ascii_isdigit(*symbol))
		return g_strconcat(symbol, " ", NULL);
	return g_strconcat("\"", symbol, "\" ", NULL);
}

static void offer_values(RsViewerCompletion *completion, const RsViewerField *field,
			 const char *prefix, gsize size)
{
	const gboolean quoted = size && (*prefix == '"' || *prefix == '\'');

	for (guint i = 0; field && i < field->symbols->len; i++) {
		const char *symbol = field->symbols->pdata[i];

		if (begins(symbol, prefix + quoted, size - quoted, FALSE))
			offer(completion, quote(symbol), "");
	}
}

static const char *const *operators_of(const RsViewerField *field)
{
	if (!field || field->kind == RS_VIEWER_FIELD_OTHER)
		return all_operators;
	return field->kind == RS_VIEWER_FIELD_TEXT ? text_operators : number_operators;
}

static void free_candidate(gpointer data)
{
	RsViewerCandidate *candidate = data;

	g_free(candidate->text);
	g_free(candidate);
}

RsViewerCompletion *rs_viewer_complete(const char *text, gsize cursor, const GPtrArray *fields)
{
	RsViewerCompletion *completion = g_new0(RsViewerCompletion, 1);
	const Place place = find_place(text, cursor, fields);
	const char *prefix = text + place.start;
	const gsize size = cursor - place.start;

	completion->candidates = g_ptr_array_new_with_free_func(free_candidate);
	completion->start = place.start;
	completion->end = cursor;
	switch (place.want) {
	case WANT_FIELD:
		offer_fields(completion, fields, prefix, size);
		break;
	case WANT_OPERATOR:
		offer_signs(completion, operators_of(place.field), prefix, size);
		offer_signs(completion, joiners, prefix, size); /* a field alone is a term */
		break;
	case WANT_VALUE:
		offer_values(completion, place.field, prefix, size);
		break;
	case WANT_JOINER:
		offer_signs(completion, joiners, prefix, size);
		break;
	}
	/* The rest of the word is replaced, too. */
	if (place.want == WANT_FIELD || place.want == WANT_VALUE)
		completion->end += word_size(text + cursor);
	return completion;
}

void rs_viewer_completion_free(RsViewerCompletion *completion)
{
	if (!completion)
		return;
	g_ptr_array_unref(completion->candidates);
	g_free(completion);
}
