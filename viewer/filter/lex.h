/* SPDX-License-Identifier: MIT */
/*
 * The words and signs of an expression, and hints for those who write it as in another language.
 * Only for parse.c.
 */
#ifndef RS_FILTER_ROOM_LEX_H
#define RS_FILTER_ROOM_LEX_H

#include "filter/ast.h"

struct rs_filter_lexer {
	const char *text;
	unsigned int size, at;
	struct rs_filter_error *err;
};

/* What a value is for. That decides where a bare word ends. */
enum rs_filter_use {
	RS_USE_VALUE,
	RS_USE_LEFT, /* a mask, or to the left of an operator: it ends at one, too */
	RS_USE_GLOB,
};

void rs_filter_skip_space(struct rs_filter_lexer *lexer);
/* Whether `sign` comes next. If so, it is passed. */
bool rs_filter_take(struct rs_filter_lexer *lexer, const char *sign);
/* The same of any comparison. False: none comes next, or something that only looks like one. */
bool rs_filter_take_cmp(struct rs_filter_lexer *lexer, uint8_t *cmp);
/* field or field[index], also with .function behind it */
int rs_filter_take_field(struct rs_filter_lexer *lexer, struct rs_filter_node *term);
int rs_filter_take_value(struct rs_filter_lexer *lexer, enum rs_filter_use use,
			 struct rs_filter_word *out);
/* Whether a number or a quote comes next. */
bool rs_filter_at_value(struct rs_filter_lexer *lexer);

/* Errors at the place where the lexer is. Each returns -EINVAL. */
int rs_filter_no_operator(struct rs_filter_lexer *lexer, const struct rs_filter_word *after);
/* Something that is no joiner stands behind a term. `open`: where its '(' is, or RS_FILTER_NONE. */
int rs_filter_no_joiner(struct rs_filter_lexer *lexer, unsigned int open);

#endif
