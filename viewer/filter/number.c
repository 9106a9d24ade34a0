/* SPDX-License-Identifier: MIT */
#include "filter/number.h"

#include "filter/nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define TABLE_FROM 8u /* symbols in an expression for which a table is made */

/* Decimal, 0x hex, 0 octal; a sign in front and parentheses around the digits. */
static const char *parse_literal(const char *text, rs_wide_t *out)
{
	bool negative = *text == '-';
	const char *s = text + negative;
	guint64 value = 0;
	unsigned int base = 10;
	bool parenthesis = negative && *s == '(';
	char *end;

	for (s += parenthesis; parenthesis && *s == ' '; s++)
		;
	if (!g_ascii_isdigit(*s))
		return "is not a number";
	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		base = 16;
	else if (s[0] == '0' && s[1])
		base = 8;
	errno = 0;
	value = g_ascii_strtoull(s, &end, base); /* of 16 it takes the "0x" itself */
	if (errno == ERANGE)
		return "does not fit in 64 bits";
	for (; parenthesis && *end == ' '; end++)
		;
	if (parenthesis && *end++ != ')')
		return "is not a number";
	if (*end)
		return base == 8 && g_ascii_isdigit(*end)
			       ? "is not a number (a leading 0 means octal)"
			       : "is not a number";
	if (negative && value > (guint64)1 << 63)
		return "does not fit in 64 bits";
	*out = negative ? -(rs_wide_t)value : (rs_wide_t)value;
	return NULL;
}

const RsTraceSymbol *rs_filter_find_symbol(const RsTraceField *field, const char *name)
{
	for (guint i = 0; field && i < field->n_symbols; i++) {
		if (strcmp(field->symbols[i].name, name) == 0)
			return &field->symbols[i];
	}
	return NULL;
}

static rs_wide_t symbol_value(const RsTraceField *field, const RsTraceSymbol *symbol)
{
	unsigned int bits = field->size * 8;
	guint64 value = bits < 64 ? symbol->value & (((guint64)1 << bits) - 1) : symbol->value;

	if (field->is_signed)
		return (gint64)(value << (64 - bits)) >> (64 - bits);
	return value;
}

static int no_such_symbol(const struct rs_filter_word *word, const RsTraceField *field,
			  const char *part, struct rs_filter_error *err)
{
	g_autoptr(GString) names = g_string_new(NULL);
	struct rs_nearest nearest = {.wanted = part, .limit = 3};

	for (guint i = 0; i < field->n_symbols; i++) {
		const char *name = field->symbols[i].name;

		rs_nearest_offer(&nearest, name);
		if (i < 8)
			g_string_append_printf(names, "%s%s", i ? ", " : "", name);
		else if (i == 8)
			g_string_append(names, ", …");
	}
	if (nearest.found)
		return rs_filter_error_set(err, EINVAL, word->at, word->length,
					   "'%s' has no symbol '%s'; did you mean '%s'?",
					   field->name, part, nearest.found);
	return rs_filter_error_set(err, EINVAL, word->at, word->length,
				   "'%s' has no symbol '%s'; it has: %s", field->name, part,
				   names->str);
}

/* `table`: the field's symbols by name; NULL: there is none. */
static int parse_part(const struct rs_filter_word *word, const RsTraceField *field,
		      GHashTable *table, const char *name, const char *part, rs_wide_t *out,
		      struct rs_filter_error *err)
{
	const char *why = parse_literal(part, out);
	const RsTraceSymbol *symbol;

	if (!why && !word->quote)
		return 0;
	symbol = table ? g_hash_table_lookup(table, part) : rs_filter_find_symbol(field, part);
	if (symbol) {
		*out = symbol_value(field, symbol);
		return 0;
	}
	if (field && field->n_symbols && !g_ascii_isdigit(*part) && *part != '-')
		return no_such_symbol(word, field, part, err);
	if (word->quote)
		return rs_filter_error_set(err, EINVAL, word->at, word->length,
					   "'%s' is a number, not a string", name);
	return rs_filter_error_set(err, EINVAL, word->at, word->length, "'%s' %s", part, why);
}

/* The guest chooses its symbols, so none of them may hide what is a number to whoever reads it. */
static bool all_numbers(char **parts)
{
	rs_wide_t value;

	while (*parts && !parse_literal(*parts, &value))
		parts++;
	return !*parts;
}

/* A field may have thousands of symbols, and an expression hundreds. NULL: there are few. */
static GHashTable *table_of(const RsTraceField *field, char **parts)
{
	GHashTable *table;

	if (!field || g_strv_length(parts) <= TABLE_FROM)
		return NULL;
	table = g_hash_table_new(g_str_hash, g_str_equal);
	/* Of two with one name the first one counts. */
	for (guint i = field->n_symbols; i-- > 0;)
		g_hash_table_replace(table, (gpointer)field->symbols[i].name,
				     (gpointer)&field->symbols[i]);
	return table;
}

/* Who joins plain numbers rarely means the bits of both. */
static int refuse_joined(const struct rs_filter_word *word, const char *name, rs_wide_t value,
			 struct rs_filter_error *err)
{
	return rs_filter_error_set(
		err, EINVAL, word->at, word->length,
		"'|' joins symbols, and '%s' has none; write %s%" PRIu64 ", or two terms with ||",
		name, value < 0 ? "-" : "", (uint64_t)(value < 0 ? -value : value));
}

int rs_filter_number(const struct rs_filter_ast *ast, const struct rs_filter_word *word,
		     const RsTraceField *field, const char *name, rs_wide_t *out,
		     struct rs_filter_error *err)
{
	GString *text = rs_filter_word_text(ast, word);
	g_autofree char *owned = g_string_free(text, FALSE);
	g_auto(GStrv) parts = g_strsplit(owned, "|", -1);
	g_autoptr(GHashTable) table = NULL;
	const RsTraceSymbol *whole = NULL;
	rs_wide_t value = 0;

	if (word->quote || !all_numbers(parts))
		whole = rs_filter_find_symbol(field, owned);
	if (whole) { /* a symbol's name may hold a '|' */
		*out = symbol_value(field, whole);
		return 0;
	}
	if (!parts[0])
		return parse_part(word, field, NULL, name, "", out, err);
	table = table_of(field, parts);
	for (unsigned int i = 0; parts[i]; i++) {
		rs_wide_t part;
		int ret = parse_part(word, field, table, name, parts[i], &part, err);

		if (ret)
			return ret;
		value |= part;
	}
	if (parts[1] && !(field && field->n_symbols))
		return refuse_joined(word, name, value, err);
	*out = value;
	return 0;
}
