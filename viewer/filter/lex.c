/* SPDX-License-Identifier: MIT */
#include "filter/lex.h"

#include <errno.h>
#include <string.h>

#define INDEX_MAX 65535u /* no array has more elements */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void rs_filter_skip_space(struct rs_filter_lexer *lexer)
{
	while (is_space(lexer->text[lexer->at]))
		lexer->at++;
}

bool rs_filter_take(struct rs_filter_lexer *lexer, const char *sign)
{
	const char *s;

	rs_filter_skip_space(lexer);
	s = lexer->text + lexer->at;
	/* Nearly always the first byte tells, and a long expression is asked very often. */
	if (*s != *sign || strncmp(s, sign, strlen(sign)) != 0)
		return false;
	lexer->at += (unsigned int)strlen(sign);
	return true;
}

/* What other languages have, and what is written here. */
static const struct {
	const char *text, *here;
} FOREIGN[] = {{"===", "=="}, {"!==", "!="}, {"!=~", "!~"}, {"=~", "~"},
	       {"<>", "!="},  {"=>", ">="},  {"=<", "<="}};

static const char *foreign_operator(const char *s, const char **here)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(FOREIGN); i++) {
		if (*s == *FOREIGN[i].text && g_str_has_prefix(s, FOREIGN[i].text)) {
			*here = FOREIGN[i].here;
			return FOREIGN[i].text;
		}
	}
	return NULL;
}

bool rs_filter_take_cmp(struct rs_filter_lexer *lexer, uint8_t *cmp)
{
	static const struct {
		const char *text;
		uint8_t cmp;
	} ops[] = {{"==", RS_CMP_EQ},   {"!=", RS_CMP_NE},     {"<=", RS_CMP_LE},
		   {">=", RS_CMP_GE},   {"<", RS_CMP_LT},      {">", RS_CMP_GT},
		   {"~", RS_CMP_MATCH}, {"!~", RS_CMP_NOMATCH}};
	const char *here;

	rs_filter_skip_space(lexer);
	if (foreign_operator(lexer->text + lexer->at, &here))
		return false;
	for (unsigned int i = 0; i < G_N_ELEMENTS(ops); i++) {
		if (rs_filter_take(lexer, ops[i].text)) {
			*cmp = ops[i].cmp;
			return true;
		}
	}
	return false;
}

/* The bytes of a curly quote, as word processors make them of a straight one; 0: there is none. */
static unsigned int curly_quote(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	return u[0] == 0xe2 && u[1] == 0x80 && u[2] >= 0x98 && u[2] <= 0x9f ? 3 : 0;
}

static int refuse(struct rs_filter_lexer *lexer, unsigned int length, const char *what)
{
	return rs_filter_error_set(lexer->err, EINVAL, lexer->at, length, "%s", what);
}

static unsigned int name_length(const char *s)
{
	unsigned int n = 0;

	while (g_ascii_isalnum(s[n]) || s[n] == '_')
		n++;
	return n;
}

static int no_field(struct rs_filter_lexer *lexer)
{
	const char *s = lexer->text + lexer->at;

	if (!*s)
		return refuse(lexer, 0,
			      lexer->at ? "the expression ends where a field is due"
					: "the expression is empty");
	if (*s == '$')
		return refuse(lexer, 1 + (unsigned int)strcspn(s + 1, " \t=<>!~&|()"),
			      "a name has no '$': the task and the CPU are COMM, PID, TGID and CPU "
			      "here");
	if (curly_quote(s))
		return refuse(lexer, 3, "quotes are straight ones here: \" or '");
	return refuse(lexer, 1, "a field name is due here, or a number to compare one with");
}

/* [1] */
static int take_index(struct rs_filter_lexer *lexer, struct rs_filter_node *term)
{
	const char *s = lexer->text + lexer->at;
	char *end;
	guint64 index = 0;

	if (g_ascii_isdigit(s[1]))
		index = g_ascii_strtoull(s + 1, &end, 10);
	if (!g_ascii_isdigit(s[1]) || *end != ']')
		return refuse(lexer, (unsigned int)strcspn(s, " \t]") + 1,
			      "an element of an array is written field[1]");
	if (index > INDEX_MAX)
		return refuse(lexer, (unsigned int)(end - s) + 1, "no array has so many elements");
	term->has_index = true;
	term->index = (uint32_t)index;
	lexer->at += (unsigned int)(end - s) + 1;
	return 0;
}

int rs_filter_take_field(struct rs_filter_lexer *lexer, struct rs_filter_node *term)
{
	unsigned int n;
	int ret;

	rs_filter_skip_space(lexer);
	n = name_length(lexer->text + lexer->at);
	if (n == 0 || g_ascii_isdigit(lexer->text[lexer->at]))
		return no_field(lexer);
	term->field = (struct rs_filter_word){(uint16_t)lexer->at, (uint16_t)n, 0};
	lexer->at += n;
	if (lexer->text[lexer->at] == '[' && (ret = take_index(lexer, term)))
		return ret;
	n = (unsigned int)strlen(".function");
	if (strncmp(lexer->text + lexer->at, ".function", n) == 0 &&
	    !name_length(lexer->text + lexer->at + n)) {
		term->function = true;
		lexer->at += n;
	}
	return 0;
}

/* ---- values ---- */

static int take_quoted(struct rs_filter_lexer *lexer, struct rs_filter_word *out)
{
	unsigned int from = lexer->at, at = from + 1;
	const char *text = lexer->text;
	char quote = text[from];

	for (; text[at] && text[at] != quote; at++)
		at += text[at] == '\\' && (text[at + 1] == quote || text[at + 1] == '\\');
	if (!text[at])
		return refuse(lexer, lexer->size - from, "this quote is never closed");
	*out = (struct rs_filter_word){(uint16_t)(from + 1), (uint16_t)(at - from - 1),
				       (uint8_t)quote};
	lexer->at = at + 1;
	return 0;
}

/* The length of -(10), the one word with parentheses; 0 if there is none here. */
static unsigned int negative_length(const char *s)
{
	unsigned int n = 2;

	if (strncmp(s, "-(", 2) != 0)
		return 0;
	n += (unsigned int)strspn(s + n, " ");
	if (!g_ascii_isdigit(s[n]))
		return 0;
	while (g_ascii_isalnum(s[n]))
		n++;
	n += (unsigned int)strspn(s + n, " ");
	return s[n] == ')' ? n + 1 : 0;
}

/* The length of CPUS{0-2, 5}, the one word with blanks; 0 if there is none here. */
static unsigned int cpus_length(const char *s)
{
	unsigned int n = 5;

	if (strncmp(s, "CPUS{", n) != 0)
		return 0;
	n += (unsigned int)strspn(s + n, "0123456789-,:/Nal ");
	return s[n] == '}' ? n + 1 : 0;
}

/*
 * The length of a bare word. What is inside [..] or {..} is no exception: if the word went on there
 * to the next bracket, it could take in the rest of the expression.
 */
static unsigned int bare_length(const char *s, enum rs_filter_use use)
{
	const char *stop = use == RS_USE_LEFT ? "()&\"'=<>!~" : "()&\"'";
	unsigned int n = use == RS_USE_GLOB ? 0 : negative_length(s);

	if (n)
		return n;
	if (*s && strchr("=<>!~|", *s)) /* it is rather an operator that was mistyped */
		return 0;
	n = use == RS_USE_GLOB ? 0 : cpus_length(s);
	while (s[n] && !is_space(s[n]) && !strchr(stop, s[n])) {
		if (s[n] == '|' && s[n + 1] == '|')
			break;
		if (s[n] == '\\' && s[n + 1])
			n++;
		n++;
	}
	return n;
}

static int no_value(struct rs_filter_lexer *lexer)
{
	const char *s = lexer->text + lexer->at;

	if (*s && strchr("=<>!~|&", *s))
		return refuse(lexer, 1, "a value is due here; one that begins so is put in quotes");
	return refuse(lexer, *s ? 1 : 0, "a value is due here");
}

int rs_filter_take_value(struct rs_filter_lexer *lexer, enum rs_filter_use use,
			 struct rs_filter_word *out)
{
	unsigned int n;
	const char *s;

	rs_filter_skip_space(lexer);
	s = lexer->text + lexer->at;
	if (*s == '"' || *s == '\'')
		return take_quoted(lexer, out);
	if (curly_quote(s))
		return refuse(lexer, 3, "quotes are straight ones here: \" or '");
	n = bare_length(s, use);
	if (n == 0)
		return no_value(lexer);
	if (n == 4 && strncmp(s, "CPUS(", 5) == 0)
		return refuse(lexer, 5, "a CPU list is written CPUS{0-2,5}");
	*out = (struct rs_filter_word){(uint16_t)lexer->at, (uint16_t)n, 0};
	lexer->at += n;
	return 0;
}

bool rs_filter_at_value(struct rs_filter_lexer *lexer)
{
	char c;

	rs_filter_skip_space(lexer);
	c = lexer->text[lexer->at];
	return g_ascii_isdigit(c) || c == '-' || c == '"' || c == '\'';
}

/* ---- hints ---- */

/* A word of another language at `s`, and what is written here. Its length; 0: there is none. */
static unsigned int foreign_word(const char *s, const char **here)
{
	static const char *const words[][2] = {{"and", "&&"}, {"or", "||"},     {"not", "!"},
					       {"eq", "=="},  {"is", "=="},     {"ne", "!="},
					       {"like", "~"}, {"matches", "~"}, {"contains", "~"}};
	unsigned int n = name_length(s);

	for (unsigned int i = 0; i < G_N_ELEMENTS(words); i++) {
		if (strlen(words[i][0]) == n && g_ascii_strncasecmp(s, words[i][0], n) == 0) {
			*here = words[i][1];
			return n;
		}
	}
	return 0;
}

int rs_filter_no_operator(struct rs_filter_lexer *lexer, const struct rs_filter_word *after)
{
	const char *s = lexer->text + lexer->at, *here = NULL;
	const char *sign = foreign_operator(s, &here), *name = lexer->text + after->at;
	unsigned int n = sign ? (unsigned int)strlen(sign) : foreign_word(s, &here);

	if (here)
		return rs_filter_error_set(lexer->err, EINVAL, lexer->at, n,
					   "'%.*s' is written '%s' here", (int)n, s, here);
	if (*s == '=')
		return refuse(lexer, 1, "equality is written ==");
	if (*s == '.')
		return rs_filter_error_set(lexer->err, EINVAL, lexer->at, 1 + name_length(s + 1),
					   "'%.*s' is all of a field's name: there is no '%.*s'",
					   after->length, name, 1 + (int)name_length(s + 1), s);
	if (after->length == 3 && g_ascii_strncasecmp(name, "not", 3) == 0)
		return rs_filter_error_set(lexer->err, EINVAL, after->at, after->length,
					   "'not' is written '!' here");
	return rs_filter_error_set(lexer->err, EINVAL, lexer->at, *s ? 1 : 0,
				   "an operator is due after '%.*s': == != < <= > >= & ~ !~",
				   after->length, name);
}

int rs_filter_no_joiner(struct rs_filter_lexer *lexer, unsigned int open)
{
	static const char due[] = "'&&' or '||' is due here";
	const char *s, *here = NULL;
	unsigned int n;
	uint8_t cmp;

	rs_filter_skip_space(lexer);
	s = lexer->text + lexer->at;
	n = foreign_word(s, &here);
	if (here && (strcmp(here, "&&") == 0 || strcmp(here, "||") == 0))
		return rs_filter_error_set(lexer->err, EINVAL, lexer->at, n,
					   "%s: '%.*s' is written '%s'", due, (int)n, s, here);
	if (*s == '&' || *s == '|')
		return rs_filter_error_set(lexer->err, EINVAL, lexer->at, 1,
					   "%s: one '%c' does not join terms", due, *s);
	if (*s && strchr("=<>!~", *s)) {
		struct rs_filter_lexer ahead = *lexer;

		if (rs_filter_take_cmp(&ahead, &cmp))
			return rs_filter_error_set(lexer->err, EINVAL, lexer->at,
						   ahead.at - lexer->at,
						   "%s: each term has one comparison, as in "
						   "'2 < a && a < 5'",
						   due);
	}
	if (open != RS_FILTER_NONE)
		return rs_filter_error_set(lexer->err, EINVAL, lexer->at, *s ? 1 : 0,
					   "'&&', '||' or ')' is due here, for the '(' at column "
					   "%u",
					   open + 1);
	return refuse(lexer, 1, *s == ')' ? "this ')' closes nothing" : due);
}
