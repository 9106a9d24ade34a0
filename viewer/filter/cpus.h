/* SPDX-License-Identifier: MIT */
/* Lists of CPUs: CPUS{0-2,5}, as Linux has them. Inside viewer/filter only. */
#ifndef RS_FILTER_ROOM_CPUS_H
#define RS_FILTER_ROOM_CPUS_H

#include "filter/ast.h"

struct rs_filter_cpus {
	uint8_t map[RS_MAX_CPUS / 8];
	unsigned int count; /* at least 1 */
	bool open;          /* up to the last CPU, and nobody knows which that is: `all`, or N */
};

bool rs_filter_is_cpus(const struct rs_filter_ast *ast, const struct rs_filter_word *word);
int rs_filter_cpus(const struct rs_filter_ast *ast, const struct rs_filter_word *word,
		   struct rs_filter_cpus *out, struct rs_filter_error *err);

#endif
