/* SPDX-License-Identifier: MIT */
/*
 * A record's payload as text, by the print format of its event. The payload is hostile: whoever may
 * write to a ring may have written it. Each byte is looked at once it is known to lie inside, and
 * the text is bounded.
 */
#ifndef RS_TRACEPOINT_TEXT_H
#define RS_TRACEPOINT_TEXT_H

#include "out.h"

#include <ringside/event.h>

/* A text ends after so many bytes with "...". As on the host. */
#define RS_MESSAGE_MAX 65536u

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* `info` NULL: nobody knows the event. `cut`: its record was. */
void rs_put_message(struct rs_out *out, const struct rs_event_info *info, const void *payload,
		    uint32_t size, bool cut);

#pragma GCC visibility pop

#endif
