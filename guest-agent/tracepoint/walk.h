/* SPDX-License-Identifier: MIT */
/*
 * Goes through the records of a page (ringside/record.h). The bytes are hostile, and stay as they
 * are meanwhile. A bad item ends the page.
 */
#ifndef RS_TRACEPOINT_WALK_H
#define RS_TRACEPOINT_WALK_H

#include <ringside/tracepoint_snapshot.h>

struct rs_walk {
	uint32_t at, end; /* bytes of the page */
	uint64_t ts;
	uint32_t chain;
	uint32_t pid;
	uint32_t tgid;
	uint16_t context;
	uint8_t piece; /* of a record in pieces, to which the next record belongs */
};

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* `page` has at least a header, and as many bytes as its `committed` says, `size` at most. */
void rs_walk_begin(struct rs_walk *walk, const uint8_t *page, uint32_t size);
/* All but `cpu` and `ns`. False: there is no further record, or no good one. */
bool rs_walk_next(struct rs_walk *walk, const uint8_t *page, struct rs_tracepoint_record *record);

#pragma GCC visibility pop

#endif
