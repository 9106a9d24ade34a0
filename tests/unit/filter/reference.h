/* SPDX-License-Identifier: MIT */
/*
 * A slow second opinion: judges an entry by the parsed expression itself, in 128-bit arithmetic and
 * with a backtracking glob, sharing nothing with the compiler and the agent but the parser.
 */
#ifndef RS_TESTS_FILTER_REFERENCE_H
#define RS_TESTS_FILTER_REFERENCE_H

#include "filter.h" /* the agent's */
#include "filter/ast.h"

enum reference { REF_FALSE, REF_TRUE, REF_UNKNOWN };

enum reference reference_run(const struct rs_filter_ast *ast, const RsTraceEvent *event,
			     const struct rs_filter_input *input);
/* Linux's and tp-lexer's globs, without classes that are malformed. */
bool reference_glob(const char *pattern, const char *end, const char *s);

#endif
