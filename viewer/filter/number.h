/* SPDX-License-Identifier: MIT */
/*
 * The numbers in an expression: literals, symbols of a field, CPU lists. Inside viewer/filter only.
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
/* CPUS{0-2,5} as a bit map, and how many bits are set. */
int rs_filter_cpus(const struct rs_filter_ast *ast, const struct rs_filter_word *word,
		   uint8_t out[RS_MAX_CPUS / 8], unsigned int *count, struct rs_filter_error *err);
bool rs_filter_is_cpus(const struct rs_filter_ast *ast, const struct rs_filter_word *word);

#endif
