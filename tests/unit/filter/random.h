/* SPDX-License-Identifier: MIT */
/* Random expressions, and random occurrences of the sample event for them to judge. */
#ifndef RS_TESTS_FILTER_RANDOM_H
#define RS_TESTS_FILTER_RANDOM_H

#include "filter.h" /* the agent's */
#include "sample.h"

struct random_input {
	struct sample entry;
	char why[32], comm[RS_COMM_LEN];
	uint16_t list[6];
	struct rs_dyn dyn[2];
	struct rs_filter_input input; /* points into the rest */
};

/* Fills `out` and returns its input. */
const struct rs_filter_input *random_input(GRand *r, struct random_input *out);
/*
 * Appends an expression that may have a meaning for sample_event and other_event together. Some of
 * its strings are bare words. `quoted`: the same with all strings in quotes. The same numbers are
 * drawn for it.
 */
void random_expression(GRand *r, GString *out, bool quoted, int depth);

#endif
