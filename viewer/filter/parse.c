/* SPDX-License-Identifier: MIT */
/*
 * The parser. The meaning of a character depends on what comes next: a field, an operator or a
 * value. So it asks the lexer for what it needs. Only parentheses recurse, and their depth is
 * limited.
 */
#include "filter/lex.h"

#include <errno.h>
#include <string.h>

struct parser {
	struct rs_filter_lexer lexer;
	unsigned int depth;
	GArray *nodes;
};

static int parse_or(struct parser *p, uint16_t *out);

static struct rs_filter_node *node_at(struct parser *p, uint16_t index)
{
	return &g_array_index(p->nodes, struct rs_filter_node, index);
}

static uint16_t node_add(struct parser *p, const struct rs_filter_node *node)
{
	g_array_append_vals(p->nodes, node, 1);
	return (uint16_t)(p->nodes->len - 1);
}

/* Each node takes at least one byte of text, so indices stay below RS_FILTER_NONE. */
static uint16_t node_new(struct parser *p, enum rs_filter_kind kind, uint16_t child)
{
	return node_add(p, &(struct rs_filter_node){
				   .kind = (uint8_t)kind, .child = child, .next = RS_FILTER_NONE});
}

static bool take_mask_sign(struct parser *p)
{
	const char *s;

	rs_filter_skip_space(&p->lexer);
	s = p->lexer.text + p->lexer.at;
	if (s[0] != '&' || s[1] == '&')
		return false;
	p->lexer.at++;
	return true;
}

/* The value after a comparison that has been read. */
static int parse_compared(struct parser *p, struct rs_filter_node *term)
{
	bool glob = term->cmp == RS_CMP_MATCH || term->cmp == RS_CMP_NOMATCH;

	return rs_filter_take_value(&p->lexer, glob ? RS_USE_GLOB : RS_USE_VALUE, &term->value);
}

/* What may follow field & mask. */
static int parse_masked(struct parser *p, struct rs_filter_node *term)
{
	if (!rs_filter_take_cmp(&p->lexer, &term->cmp))
		return 0;
	term->has_mask = true;
	term->mask = term->value;
	return parse_compared(p, term);
}

/* field cmp value | field & mask | field & mask cmp value | field */
static int parse_field_first(struct parser *p, struct rs_filter_node *term)
{
	struct rs_filter_lexer *lexer = &p->lexer;
	int ret = rs_filter_take_field(lexer, term);

	if (ret)
		return ret;
	if (rs_filter_take_cmp(lexer, &term->cmp))
		return parse_compared(p, term);
	if (take_mask_sign(p)) {
		term->cmp = RS_CMP_ANY;
		ret = rs_filter_take_value(lexer, RS_USE_LEFT, &term->value);
		return ret ? ret : parse_masked(p, term);
	}
	term->cmp = RS_CMP_TRUE;
	rs_filter_skip_space(lexer);
	if (!lexer->text[lexer->at] || strchr("&|)", lexer->text[lexer->at]))
		return 0;
	return rs_filter_no_operator(lexer, &term->field);
}

/* value cmp field | mask & field | mask & field cmp value */
static int parse_value_first(struct parser *p, struct rs_filter_node *term)
{
	static const uint8_t mirrored[] = {
		[RS_CMP_EQ] = RS_CMP_EQ, [RS_CMP_NE] = RS_CMP_NE, [RS_CMP_LT] = RS_CMP_GT,
		[RS_CMP_LE] = RS_CMP_GE, [RS_CMP_GT] = RS_CMP_LT, [RS_CMP_GE] = RS_CMP_LE};
	struct rs_filter_lexer *lexer = &p->lexer;
	unsigned int from = lexer->at;
	int ret = rs_filter_take_value(lexer, RS_USE_LEFT, &term->value);

	if (ret)
		return ret;
	if (take_mask_sign(p)) {
		term->cmp = RS_CMP_ANY;
		ret = rs_filter_take_field(lexer, term);
		return ret ? ret : parse_masked(p, term);
	}
	if (!rs_filter_take_cmp(lexer, &term->cmp))
		return rs_filter_no_operator(lexer, &term->value);
	if (term->cmp == RS_CMP_MATCH || term->cmp == RS_CMP_NOMATCH)
		return rs_filter_error_set(lexer->err, EINVAL, from, lexer->at - from,
					   "the pattern stands to the right of '~'");
	term->cmp = mirrored[term->cmp];
	return rs_filter_take_field(lexer, term);
}

static int parse_term(struct parser *p, uint16_t *out)
{
	struct rs_filter_node term = {
		.kind = RS_FILTER_TERM, .child = RS_FILTER_NONE, .next = RS_FILTER_NONE};
	int ret = rs_filter_at_value(&p->lexer) ? parse_value_first(p, &term)
						: parse_field_first(p, &term);

	if (ret)
		return ret;
	*out = node_add(p, &term);
	return 0;
}

/* ( expr ), and, as in C, ( field & mask ) cmp value and ( field ) cmp value. */
static int parse_parentheses(struct parser *p, uint16_t *out)
{
	struct rs_filter_lexer *lexer = &p->lexer;
	unsigned int from = lexer->at - 1;
	struct rs_filter_node *term;
	int ret;

	if (++p->depth > RS_FILTER_MAX_NESTING)
		return rs_filter_error_set(lexer->err, E2BIG, from, 1,
					   "parentheses are nested more than %u deep",
					   RS_FILTER_MAX_NESTING);
	ret = parse_or(p, out);
	if (ret)
		return ret;
	p->depth--;
	if (!rs_filter_take(lexer, ")"))
		return rs_filter_no_joiner(lexer, from);
	term = node_at(p, *out);
	if (term->kind != RS_FILTER_TERM)
		return 0;
	if (term->cmp == RS_CMP_ANY)
		return parse_masked(p, term);
	if (term->cmp == RS_CMP_TRUE && rs_filter_take_cmp(lexer, &term->cmp))
		return parse_compared(p, term);
	return 0;
}

static int parse_not(struct parser *p, uint16_t *out)
{
	bool negate = false;
	uint16_t child;
	int ret;

	while (rs_filter_take(&p->lexer, "!"))
		negate = !negate;
	ret = rs_filter_take(&p->lexer, "(") ? parse_parentheses(p, &child) : parse_term(p, &child);
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
	while (!ret && rs_filter_take(&p->lexer, sign)) {
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
	struct parser p = {.lexer = {.text = expression, .err = err}};
	uint16_t root;
	int ret;

	p.lexer.size = (unsigned int)strnlen(expression, RS_FILTER_MAX_EXPRESSION + 1);
	if (p.lexer.size > RS_FILTER_MAX_EXPRESSION)
		return rs_filter_error_set(err, E2BIG, RS_FILTER_MAX_EXPRESSION, 0,
					   "the expression is longer than %u bytes",
					   RS_FILTER_MAX_EXPRESSION);
	p.nodes = g_array_new(FALSE, FALSE, sizeof(struct rs_filter_node));
	ret = parse_or(&p, &root);
	rs_filter_skip_space(&p.lexer);
	if (!ret && p.lexer.at < p.lexer.size)
		ret = rs_filter_no_joiner(&p.lexer, RS_FILTER_NONE);
	if (ret) {
		g_array_unref(p.nodes);
		return ret;
	}
	*ast = (struct rs_filter_ast){.text = expression, .nodes = p.nodes, .root = root};
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

struct rs_filter_word rs_filter_extent(const struct rs_filter_node *term)
{
	const struct rs_filter_word words[] = {term->field, term->mask, term->value};
	unsigned int from = term->field.at, to = from;

	for (unsigned int i = 0; i < G_N_ELEMENTS(words); i++) {
		unsigned int quote = words[i].quote ? 1 : 0;

		if (!words[i].length && !quote)
			continue;
		from = MIN(from, words[i].at - quote);
		to = MAX(to, (unsigned int)words[i].at + words[i].length + quote);
	}
	return (struct rs_filter_word){(uint16_t)from, (uint16_t)(to - from), 0};
}

/* A string is compared with one that looks like a pattern. */
static bool is_doubtful(const struct rs_filter_ast *ast, const struct rs_filter_node *node)
{
	return node->kind == RS_FILTER_TERM && !node->has_mask &&
	       (node->cmp == RS_CMP_EQ || node->cmp == RS_CMP_NE) &&
	       memchr(ast->text + node->value.at, '*', node->value.length);
}

char *rs_filter_doubt(const char *expression)
{
	struct rs_filter_ast ast;
	char *doubt = NULL;

	if (rs_filter_parse(expression, &ast, NULL))
		return NULL;
	for (unsigned int i = 0; i < ast.nodes->len && !doubt; i++) {
		const struct rs_filter_node *node = rs_filter_node(&ast, i);
		struct rs_filter_word term = rs_filter_extent(node);

		if (is_doubtful(&ast, node))
			doubt = g_strdup_printf("%.*s: this compares with the character '*'; for a "
						"pattern use %s",
						term.length, expression + term.at,
						node->cmp == RS_CMP_EQ ? "~" : "!~");
	}
	rs_filter_ast_clear(&ast);
	return doubt;
}

int rs_filter_check(const char *expression, struct rs_filter_error *err)
{
	struct rs_filter_ast ast;
	int ret = rs_filter_parse(expression, &ast, err);

	if (!ret)
		rs_filter_ast_clear(&ast);
	return ret;
}
