/* SPDX-License-Identifier: MIT */
/* What emit.c asks of judge.c. Any context. */
#ifndef RS_AGENT_JUDGE_H
#define RS_AGENT_JUDGE_H

#include "core.h"

#include <ringside/native.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/*
 * Called first where `control` names a filter. 0: rejected. RS_EVENT_ENABLED: accepted.
 * RS_JUDGE_OPEN: rs_judge_any() is to judge, since the filter asks for more than integer fields.
 */
#define RS_JUDGE_OPEN ~0u
uint32_t rs_judge(const struct rs_event *event, uint32_t control, const uint64_t *entry,
		  uint32_t size);

/* For a filter that needs more than integer fields, or that is just being replaced. */
bool rs_judge_any(const struct rs_event *event, uint32_t control, const uint64_t *entry,
		  uint32_t size, const struct rs_dyn *dyn, uint32_t dyn_count);

/*
 * Filters as machine code. `words` has one for each id that a control word has; `entries` is 0
 * while there is no pool, or no region that names any of it.
 */
struct rs_native_pool {
	const uint32_t *words;
	const uint8_t *pool;
	uint32_t entries; /* no word leads further */
};
extern struct rs_native_pool rs_native;

/*
 * The pool's entry for such an event, if its native word names one: after the control word was
 * loaded (acquire). `shape`: as rs_native_entry.entry_size. NULL: the program decides. Only `code`
 * and `dyn_count` of what is returned are to be read. The pool is text that nobody but the host
 * writes, and only once.
 */
static inline const struct rs_native_entry *rs_native_find(uint32_t id, uint32_t shape)
{
	uint32_t number = rs_load_acquire(&rs_native.words[id]) - 1;
	const struct rs_native_entry *entry =
		(const struct rs_native_entry *)rs_native.pool + number;

	/* `event` and `entry_size` at once. */
	if (rs_likely(number < rs_native.entries &&
		      rs_load((const uint32_t *)&entry->event) == (id | shape << 16)))
		return entry;
	return NULL;
}

/* Runs the code of the kind FIELDS. It is text of the guest's own: not of the region, which others
 * may write. 1: the event is to be recorded; else 0. */
static inline uint32_t rs_native_judge(const struct rs_native_entry *native, const void *entry)
{
	uintptr_t code = (uintptr_t)rs_native.pool + rs_load(&native->code);

	return ((uint32_t(*)(const void *))code)(entry);
}

#pragma GCC visibility pop

#endif
