/* SPDX-License-Identifier: MIT */
/*
 * The numbers in an expression: literals and symbols of a field. Inside viewer/filter only.
 * The type holds every s64 and every u64, so that no value wraps before it is checked.
 */
#ifndef RS_FILTER_ROOM_NUMBER_H
#define RS_FILTER_ROOM_NUMBER_H

#include "filter/ast.h"

typedef __int128 rs_wide_t;

/* `field` NULL: one without symbols; `name` and `type` are for messages. */
int rs_filter_number(const struct rs_filter_ast *ast, const struct rs_filter_word *word,
		     const RsTraceField *field, const char *name, rs_wide_t *out,
		     struct rs_filter_error *err);
/* NULL: it has none of this name, or `field` is NULL. */
const RsTraceSymbol *rs_filter_find_symbol(const RsTraceField *field, const char *name);

#endif
