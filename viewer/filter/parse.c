/* SPDX-License-Identifier: MIT */
/*
 * Lexer and parser in one, since the meaning of a character depends on what comes next: a field, an
 * operator or a value. A bare value may hold `*`, `[!a-c]` or `-`. Only parentheses recurse, and
 * their depth is limited.
 */
#include "filter/ast.h"

#include <errno.h>
#include <string.h>

struct parser {
	const char *text;
	unsigned int size, at;
	unsigned int depth;
	GArray *nodes;
	struct rs_filter_error *err;
};

static int parse_or(struct parser *p, uint16_t *out);

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct parser *p)
{
	while (is_space(p->text[p->at]))
		p->at++;
}

static bool take(struct parser *p, const char *what)
{
	skip_space(p);
	/* Nearly always the first byte tells, and a long expression is asked very often. */
	if (p->text[p->at] != *what || strncmp(p->text + p->at, what, strlen(what)) != 0)
		return false;
	p->at += (unsigned int)strlen(what);
	return true;
}

static struct rs_filter_node *node_at(struct parser *p, uint16_t index)
{
	return &g_array_index(p->nodes, struct rs_filter_node, index);
}

/* Each node takes at least one byte of text, so indices stay below RS_FILTER_NONE. */
static uint16_t node_new(struct parser *p, enum rs_filter_kind kind, uint16_t child)
{
	struct rs_filter_node node = {
		.kind = (uint8_t)kind, .child = child, .next = RS_FILTER_NONE};

	g_array_append_val(p->nodes, node);
	return (uint16_t)(p->nodes->len - 1);
}

static int parse_field(struct parser *p, struct rs_filter_word *out)
{
	unsigned int from, n = 0;
	const char *s;

	skip_space(p);
	from = p->at;
	s = p->text + from;
	while (g_ascii_isalnum(s[n]) || s[n] == '_')
		n++;
	if (!s[n] && n == 0)
		return rs_filter_error_set(p->err, EINVAL, from, 0,
					   from ? "the expression ends where a field is due"
						: "the expression is empty");
	if (n == 0 || g_ascii_isdigit(*s))
		return rs_filter_error_set(
			p->err, EINVAL, from, MAX(n, 1),
			"a field name is due here (the field stands to the left of "
			"the operator, the value to its right)");
	*out = (struct rs_filter_word){(uint16_t)from, (uint16_t)n, 0};
	p->at += n;
	return 0;
}

static int parse_quoted(struct parser *p, struct rs_filter_word *out)
{
	unsigned int from = p->at;
	char quote = p->text[p->at++];

	while (p->text[p->at] && p->text[p->at] != quote) {
		if (p->text[p->at] == '\\' &&
		    (p->text[p->at + 1] == quote || p->text[p->at + 1] == '\\'))
			p->at++;
		p->at++;
	}
	if (!p->text[p->at])
		return rs_filter_error_set(p->err, EINVAL, from, p->size - from,
					   "this quote is never closed");
	*out = (struct rs_filter_word){(uint16_t)(from + 1), (uint16_t)(p->at - from - 1),
				       (uint8_t)quote};
	p->at++;
	return 0;
}

/* What a bare word stands for. */
enum word_use {
	USE_VALUE,
	USE_MASK, /* ends at a comparison too */
	USE_GLOB,
};

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
	n += (unsigned int)strspn(s + n, "0123456789-, ");
	return s[n] == '}' ? n + 1 : 0;
}

/*
 * The length of a bare word. What is inside [..] or {..} is no exception: if the word went on there
 * to the next bracket, it could take in the rest of the expression.
 */
static unsigned int bare_length(const char *s, enum word_use use)
{
	const char *stop = use == USE_MASK ? "()&\"'=<>!~" : "()&\"'";
	unsigned int n = use == USE_GLOB ? 0 : negative_length(s);

	if (n)
		return n;
	n = use == USE_GLOB ? 0 : cpus_length(s);
	while (s[n] && !is_space(s[n]) && !strchr(stop, s[n])) {
		if (s[n] == '|' && (s[n + 1] == '|' || n == 0))
			break;
		if (s[n] == '\\' && s[n + 1])
			n++;
		n++;
	}
	return n;
}

static int parse_value(struct parser *p, enum word_use use, struct rs_filter_word *out)
{
	unsigned int n;

	skip_space(p);
	if (p->text[p->at] == '"' || p->text[p->at] == '\'')
		return parse_quoted(p, out);
	n = bare_length(p->text + p->at, use);
	if (n == 0)
		return rs_filter_error_set(p->err, EINVAL, p->at, p->text[p->at] ? 1 : 0,
					   "a value is due here");
	*out = (struct rs_filter_word){(uint16_t)p->at, (uint16_t)n, 0};
	p->at += n;
	return 0;
}

/* Reads a comparison operator, if there is one here. */
static bool take_cmp(struct parser *p, uint8_t *cmp)
{
	static const struct {
		const char *text;
		uint8_t cmp;
	} ops[] = {{"==", RS_CMP_EQ},   {"!=", RS_CMP_NE},     {"<=", RS_CMP_LE},
		   {">=", RS_CMP_GE},   {"<", RS_CMP_LT},      {">", RS_CMP_GT},
		   {"~", RS_CMP_MATCH}, {"!~", RS_CMP_NOMATCH}};

	for (unsigned int i = 0; i < G_N_ELEMENTS(ops); i++) {
		if (take(p, ops[i].text)) {
			*cmp = ops[i].cmp;
			return true;
		}
	}
	return false;
}

static enum word_use use_after(uint8_t cmp)
{
	return cmp == RS_CMP_MATCH || cmp == RS_CMP_NOMATCH ? USE_GLOB : USE_VALUE;
}

static int missing_operator(struct parser *p, const struct rs_filter_word *field)
{
	unsigned int n = p->text[p->at] ? 1 : 0;

	if (p->text[p->at] == '=')
		return rs_filter_error_set(p->err, EINVAL, p->at, 1, "equality is written ==");
	return rs_filter_error_set(p->err, EINVAL, p->at, n,
				   "an operator is due after '%.*s': == != < <= > >= & ~ !~",
				   field->length, p->text + field->at);
}

/* field cmp value | field & mask | field & mask cmp value */
static int parse_term(struct parser *p, uint16_t *out)
{
	struct rs_filter_node term = {
		.kind = RS_FILTER_TERM, .child = RS_FILTER_NONE, .next = RS_FILTER_NONE};
	int ret = parse_field(p, &term.field);

	if (ret)
		return ret;
	skip_space(p);
	if (take_cmp(p, &term.cmp)) {
		ret = parse_value(p, use_after(term.cmp), &term.value);
	} else if (p->text[p->at] == '&' && p->text[p->at + 1] != '&') {
		p->at++;
		term.cmp = RS_CMP_ANY;
		ret = parse_value(p, USE_MASK, &term.value);
		if (!ret && take_cmp(p, &term.cmp)) {
			term.has_mask = true;
			term.mask = term.value;
			ret = parse_value(p, use_after(term.cmp), &term.value);
		}
	} else {
		ret = missing_operator(p, &term.field);
	}
	if (ret)
		return ret;
	g_array_append_val(p->nodes, term);
	*out = (uint16_t)(p->nodes->len - 1);
	return 0;
}

/* ( expr ), and, as in C, ( field & mask ) cmp value. */
static int parse_parentheses(struct parser *p, uint16_t *out)
{
	unsigned int from = p->at - 1;
	struct rs_filter_node *term;
	int ret;

	if (++p->depth > RS_FILTER_MAX_NESTING)
		return rs_filter_error_set(p->err, E2BIG, from, 1,
					   "parentheses are nested more than %u deep",
					   RS_FILTER_MAX_NESTING);
	ret = parse_or(p, out);
	if (ret)
		return ret;
	p->depth--;
	if (!take(p, ")"))
		return rs_filter_error_set(
			p->err, EINVAL, p->at, p->text[p->at] ? 1 : 0,
			"'&&', '||' or ')' is due here, for the '(' at column %u", from + 1);
	term = node_at(p, *out);
	if (term->kind == RS_FILTER_TERM && term->cmp == RS_CMP_ANY && take_cmp(p, &term->cmp)) {
		term->has_mask = true;
		term->mask = term->value;
		return parse_value(p, use_after(term->cmp), &term->value);
	}
	return 0;
}

static int parse_not(struct parser *p, uint16_t *out)
{
	bool negate = false;
	uint16_t child;
	int ret;

	while (take(p, "!"))
		negate = !negate;
	ret = take(p, "(") ? parse_parentheses(p, &child) : parse_term(p, &child);
	if (ret)
		return ret;
	*out = negate ? node_new(p, RS_FILTER_NOT, child) : child;
	return 0;
}

/* Parses any number of `next`, with `sign` between them. */
static int parse_list(struct parser *p, const char *sign, enum rs_filter_kind kind,
		      int (*next)(struct parser *, uint16_t *), uint16_t *out)
{
	uint16_t first, last, more;
	int ret = next(p, &first);

	*out = last = first;
	while (!ret && take(p, sign)) {
		ret = next(p, &more);
		if (ret)
			break;
		if (*out == first)
			*out = node_new(p, kind, first);
		node_at(p, last)->next = more;
		last = more;
	}
	return ret;
}

static int parse_and(struct parser *p, uint16_t *out)
{
	return parse_list(p, "&&", RS_FILTER_AND, parse_not, out);
}

static int parse_or(struct parser *p, uint16_t *out)
{
	return parse_list(p, "||", RS_FILTER_OR, parse_and, out);
}

int rs_filter_parse(const char *expression, struct rs_filter_ast *ast, struct rs_filter_error *err)
{
	struct parser p = {.text = expression, .err = err};
	uint16_t root;
	int ret;

	p.size = (unsigned int)strnlen(expression, RS_FILTER_MAX_EXPRESSION + 1);
	if (p.size > RS_FILTER_MAX_EXPRESSION)
		return rs_filter_error_set(err, E2BIG, RS_FILTER_MAX_EXPRESSION, 0,
					   "the expression is longer than %u bytes",
					   RS_FILTER_MAX_EXPRESSION);
	p.nodes = g_array_new(FALSE, FALSE, sizeof(struct rs_filter_node));
	ret = parse_or(&p, &root);
	skip_space(&p);
	if (!ret && p.at < p.size)
		ret = rs_filter_error_set(err, EINVAL, p.at, 1,
					  p.text[p.at] == ')' ? "this ')' closes nothing"
							      : "'&&' or '||' is due here");
	if (ret) {
		g_array_unref(p.nodes);
		return ret;
	}
	*ast = (struct rs_filter_ast){expression, p.nodes, root};
	return 0;
}

void rs_filter_ast_clear(struct rs_filter_ast *ast)
{
	g_clear_pointer(&ast->nodes, g_array_unref);
}

GString *rs_filter_word_text(const struct rs_filter_ast *ast, const struct rs_filter_word *word)
{
	GString *out = g_string_sized_new(word->length);
	const char *s = ast->text + word->at;

	for (unsigned int i = 0; i < word->length; i++) {
		if (s[i] == '\\' && i + 1 < word->length &&
		    (!word->quote || s[i + 1] == (char)word->quote || s[i + 1] == '\\'))
			i++;
		g_string_append_c(out, s[i]);
	}
	return out;
}

GString *rs_filter_word_pattern(const struct rs_filter_ast *ast, const struct rs_filter_word *word)
{
	if (word->quote)
		return rs_filter_word_text(ast, word);
	return g_string_new_len(ast->text + word->at, word->length);
}

int rs_filter_check(const char *expression, struct rs_filter_error *err)
{
	struct rs_filter_ast ast;
	int ret = rs_filter_parse(expression, &ast, err);

	if (!ret)
		rs_filter_ast_clear(&ast);
	return ret;
}
