/* SPDX-License-Identifier: MIT */
/*
 * A parsed filter expression. It does not depend on any event yet. Only for viewer/filter and its
 * tests. Nodes lie in one array and refer to each other by index. The parser bounds the depth.
 */
#ifndef RS_FILTER_ROOM_AST_H
#define RS_FILTER_ROOM_AST_H

#include "filter/filter.h"

enum rs_filter_kind {
	RS_FILTER_AND, /* two children or more */
	RS_FILTER_OR,  /* likewise */
	RS_FILTER_NOT, /* one child */
	RS_FILTER_TERM,
};

enum rs_filter_cmp {
	RS_CMP_EQ,
	RS_CMP_NE,
	RS_CMP_LT,
	RS_CMP_LE,
	RS_CMP_GT,
	RS_CMP_GE,
	RS_CMP_MATCH,   /* ~ */
	RS_CMP_NOMATCH, /* !~ */
	RS_CMP_ANY,     /* a bare mask: field & value */
	RS_CMP_TRUE,    /* a field alone: it is not 0, or not empty */
};

/* A piece of the expression. */
struct rs_filter_word {
	uint16_t at;
	uint16_t length;
	uint8_t quote; /* the quote around it (`at` and `length` leave it out), or 0 */
};

#define RS_FILTER_NONE 0xffffu

struct rs_filter_node {
	uint8_t kind;   /* enum rs_filter_kind */
	uint8_t cmp;    /* enum rs_filter_cmp, as if the field stood on the left */
	bool has_mask;  /* field & mask cmp value; with RS_CMP_ANY the mask is in `value` */
	bool has_index; /* field[index] */
	bool function;  /* field.function */
	uint16_t child; /* AND, OR, NOT: the first one, else RS_FILTER_NONE */
	uint16_t next;  /* sibling */
	uint32_t index;
	struct rs_filter_word field, mask, value;
};

struct rs_filter_ast {
	const char *text; /* the caller's; outlives the AST */
	GArray *nodes;    /* of struct rs_filter_node */
	uint16_t root;
	const struct rs_filter_functions *functions; /* NULL: nobody knows where they lie */
};

/* Of a term: from its first to its last byte. */
struct rs_filter_word rs_filter_extent(const struct rs_filter_node *term);

int rs_filter_parse(const char *expression, struct rs_filter_ast *ast, struct rs_filter_error *err);
void rs_filter_ast_clear(struct rs_filter_ast *ast);

static inline const struct rs_filter_node *rs_filter_node(const struct rs_filter_ast *ast,
							  unsigned int index)
{
	return &g_array_index(ast->nodes, struct rs_filter_node, index);
}

/* The word's text without quotes and escapes. A new string. */
GString *rs_filter_word_text(const struct rs_filter_ast *ast, const struct rs_filter_word *word);
/* The same of a pattern: the escapes of a bare word are the pattern's own, and stay. */
GString *rs_filter_word_pattern(const struct rs_filter_ast *ast, const struct rs_filter_word *word);

/* Whether the operation has something in the program's pool. */
static inline bool rs_filter_is_pooled(unsigned int op)
{
	return op >= RS_OP_CPUSET && op <= RS_OP_STR_SUB;
}

/* Bytes that a string of this source has at most, as far as a filter looks. */
unsigned int rs_filter_capacity(unsigned int source, unsigned int width);
/* Steps of this instruction alone. */
unsigned int rs_filter_insn_steps(const struct rs_filter_insn *insn);

/* Records an error at a word. `code` is positive; returns -code. The message is escaped. */
int rs_filter_error_set(struct rs_filter_error *err, int code, unsigned int at, unsigned int length,
			const char *format, ...) G_GNUC_PRINTF(5, 6);

#endif
