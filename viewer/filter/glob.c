/* SPDX-License-Identifier: MIT */
#include "filter/glob.h"

#include <string.h>

static void accept(struct rs_glob_element *e, unsigned int from, unsigned int to)
{
	for (unsigned int c = from; c <= to; c++)
		e->accepts[c / 64] |= 1ull << c % 64;
}

/* Parses [..] at s[*at]. Moves *at past it. */
static const char *parse_class(const char *s, size_t size, size_t *at, struct rs_glob_element *e)
{
	size_t i = *at + 1, first;
	bool negate = i < size && (s[i] == '!' || s[i] == '^');

	i += negate;
	for (first = i; i < size && (s[i] != ']' || i == first); i++) {
		unsigned char from, to;

		if (s[i] == '\\' && i + 1 < size)
			i++;
		from = to = (unsigned char)s[i];
		if (i + 2 < size && s[i + 1] == '-' && s[i + 2] != ']') {
			i += 2;
			if (s[i] == '\\' && i + 1 < size)
				i++;
			to = (unsigned char)s[i];
		}
		if (from > to)
			return "this range of a class runs backwards";
		accept(e, from, to);
	}
	if (i >= size)
		return "this '[' has no ']' (write \\[ for the character itself, and a class with "
		       "a space or one of ( ) & in quotes)";
	for (unsigned int w = 0; negate && w < 4; w++)
		e->accepts[w] = ~e->accepts[w];
	*at = i + 1;
	return NULL;
}

/* Recognises the shapes that need no table. */
static void classify(struct rs_glob *g, const GString *plain, unsigned int stars, bool classes)
{
	unsigned int n = g->elements->len;
	bool first = n && g_array_index(g->elements, struct rs_glob_element, 0).star;
	bool last = n && g_array_index(g->elements, struct rs_glob_element, n - 1).star;

	g->shape = RS_GLOB_TABLE;
	if (classes || stars > 2)
		return;
	if (stars == 2)
		g->shape = first && last && n > RS_FILTER_MAX_GLOB ? RS_GLOB_INSIDE : RS_GLOB_TABLE;
	else if (stars == 0)
		g->shape = RS_GLOB_EXACT;
	else if (n == 1)
		g->shape = RS_GLOB_ALL;
	else if (last)
		g->shape = RS_GLOB_PREFIX;
	else if (first)
		g->shape = RS_GLOB_SUFFIX;
	if (g->shape != RS_GLOB_TABLE)
		g_string_append_len(g->literal, plain->str, (gssize)plain->len);
}

const char *rs_glob_parse(const char *s, size_t size, struct rs_glob *out, size_t *at)
{
	g_autoptr(GString) plain = g_string_new(NULL);
	struct rs_glob g = {.literal = g_string_new(NULL)};
	unsigned int stars = 0;
	bool classes = false;
	const char *why = NULL;

	g.elements = g_array_new(FALSE, TRUE, sizeof(struct rs_glob_element));
	for (*at = 0; *at < size && !why;) {
		struct rs_glob_element e = {0};

		if (s[*at] == '*') {
			for (; *at < size && s[*at] == '*'; (*at)++)
				;
			e.star = true;
			stars++;
		} else if (s[*at] == '?') {
			accept(&e, 1, 255);
			classes = true;
			(*at)++;
		} else if (s[*at] == '[') {
			why = parse_class(s, size, at, &e);
			classes = true;
		} else {
			if (s[*at] == '\\' && *at + 1 < size)
				(*at)++;
			accept(&e, (unsigned char)s[*at], (unsigned char)s[*at]);
			g_string_append_c(plain, s[(*at)++]);
		}
		if (!why)
			g_array_append_val(g.elements, e);
	}
	classify(&g, plain, stars, classes);
	if (!why && g.shape == RS_GLOB_TABLE && g.elements->len > RS_FILTER_MAX_GLOB) {
		*at = 0;
		why = "this pattern has more than " G_STRINGIFY(63) " characters, classes, ? and *";
		G_STATIC_ASSERT(RS_FILTER_MAX_GLOB == 63);
	}
	if (why)
		rs_glob_clear(&g);
	else
		*out = g;
	return why;
}

void rs_glob_clear(struct rs_glob *glob)
{
	if (glob->literal)
		g_string_free(glob->literal, TRUE);
	glob->literal = NULL;
	g_clear_pointer(&glob->elements, g_array_unref);
}

void rs_glob_emit_inside(const struct rs_glob *glob, GByteArray *pool)
{
	const char *text = glob->literal->str;
	gsize length = glob->literal->len;
	g_autofree guint16 *shorter = g_new0(guint16, length + 1);
	guint16 have = 0;

	/* shorter[i]: the longest end of the first i bytes with which the text begins, too */
	for (gsize i = 1; i < length; i++) {
		while (have && text[i] != text[have])
			have = shorter[have];
		have = (guint16)(have + (text[i] == text[have]));
		shorter[i + 1] = have;
	}
	g_byte_array_append(pool, (const guint8 *)shorter, (guint)(length * sizeof(*shorter)));
	g_byte_array_append(pool, (const guint8 *)text, (guint)length);
}

/* Of each byte the elements that match it. */
static void fill_rows(const struct rs_glob *glob, uint64_t rows[256])
{
	memset(rows, 0, 256 * sizeof(*rows));
	for (unsigned int i = 0; i < glob->elements->len; i++) {
		const struct rs_glob_element *e =
			&g_array_index(glob->elements, struct rs_glob_element, i);

		for (unsigned int c = 0; c < 256; c += 64)
			for (uint64_t left = e->accepts[c / 64]; left; left &= left - 1)
				rows[c + (unsigned int)__builtin_ctzll(left)] |= 1ull << i;
	}
}

void rs_glob_emit(const struct rs_glob *glob, GByteArray *pool)
{
	struct rs_filter_glob head = {.length = (uint16_t)glob->elements->len};
	uint64_t rows[256];
	unsigned int n = 0;

	for (unsigned int i = 0; i < glob->elements->len; i++) {
		if (g_array_index(glob->elements, struct rs_glob_element, i).star)
			head.empty |= 1ull << i;
	}
	head.stay = head.empty;
	fill_rows(glob, rows);
	/* Bytes that the same elements match share a row. The first n rows are those to be kept. */
	for (unsigned int c = 0; c < 256; c++) {
		const uint64_t row = rows[c];
		unsigned int k = 0;

		while (k < n && rows[k] != row)
			k++;
		if (k == n)
			rows[n++] = row;
		head.class_of[c] = (uint8_t)k;
	}
	head.classes = (uint16_t)n;
	g_byte_array_append(pool, (const guint8 *)&head, sizeof(head));
	g_byte_array_append(pool, (const guint8 *)rows, n * (guint)sizeof(rows[0]));
}
