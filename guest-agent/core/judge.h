/* SPDX-License-Identifier: MIT */
/* What emit.c asks of judge.c, beside rs_judge() (event_impl.h). Any context. */
#ifndef RS_AGENT_JUDGE_H
#define RS_AGENT_JUDGE_H

#include "core.h"

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* For a filter that needs more than integer fields, or that is just being replaced. */
bool rs_judge_any(const struct rs_event *event, uint32_t control, const uint64_t *entry,
		  uint32_t size, const struct rs_dyn *dyn, uint32_t dyn_count);

#pragma GCC visibility pop

#endif
