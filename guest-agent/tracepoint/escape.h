/* SPDX-License-Identifier: MIT */
/*
 * Bytes of records as text that is safe on a terminal. As on the host, each byte that is not part
 * of a plain character becomes \xNN. Plain are the characters that print by themselves and that one
 * sees. One thing is different here: nobody keeps a table of the characters that Unicode has not
 * assigned yet, so they count as plain.
 */
#ifndef RS_TRACEPOINT_ESCAPE_H
#define RS_TRACEPOINT_ESCAPE_H

#include "out.h"

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Any bytes. */
void rs_put_escaped(struct rs_out *out, const char *text, uint32_t size);
/* Bytes of the character at `text` if it is plain, else 0. `size`: bytes there, at least 1. */
uint32_t rs_plain_character(const char *text, uint32_t size);
/* Whether a NUL-terminated text is UTF-8. */
bool rs_is_utf8(const char *text);

#pragma GCC visibility pop

#endif
