/* SPDX-License-Identifier: MIT */
/* The name that somebody may have meant, among those that there are. Any thread. */
#ifndef RS_FILTER_NEAREST_H
#define RS_FILTER_NEAREST_H

#include <stdbool.h>

/* The Levenshtein distance without regard to case. Compares the first 64 bytes of each. */
unsigned int rs_distance(const char *a, const char *b);

struct rs_nearest {
	const char *wanted;
	unsigned int limit; /* what is as far as this is not near */
	const char *found;  /* the nearest that was offered; NULL: none is near; borrowed */
};

/* The longer the name, the more may be wrong with it. `wanted` is borrowed. */
struct rs_nearest rs_nearest_to(const char *wanted);
/* Returns whether `name` is near, and nearer than all before. */
bool rs_nearest_offer(struct rs_nearest *nearest, const char *name);

#endif
