/* SPDX-License-Identifier: MIT */
/*
 * Bytes that somebody else chose, made into text for a person or for a JSON parser. This is the only
 * place that does so: hv uses it too (docs/adr/0001).
 *
 * Bytes that are not UTF-8 are never plain. Of characters, those are plain that print by themselves:
 * not control characters, not the invisible ones that turn the direction of a line, join or hide
 * (Unicode's Cf), not line and paragraph separators, not what Unicode has not assigned.
 *
 * Any bytes are survived. Any thread.
 */
#ifndef RS_TRACE_ESCAPE_H
#define RS_TRACE_ESCAPE_H

#include <glib.h>

G_BEGIN_DECLS

/* Bytes of the character at `text` if it is plain, else 0. `size` counts the bytes there; at least 1. */
gsize rs_trace_plain_char(const char *text, gsize size);

/*
 * Appends `size` bytes for a terminal: each byte of what is not plain becomes \xNN. Control characters
 * in `keep` (may be NULL) stay themselves, e.g. "\n\t". So does a backslash: text can be escaped
 * twice without harm, and what was a backslash before can no longer be told.
 */
void rs_trace_append_escaped(GString *out, const char *text, gsize size, const char *keep);

/* The same as a new string. `size` -1: up to the NUL. */
char *rs_trace_escape(const char *text, gssize size, const char *keep);

/*
 * Appends `size` bytes as they stand between the quotes of a JSON string. A parser returns the very
 * characters; those that are not plain are written as \n or \uNNNN, so that a terminal may see the line.
 * A byte that is not UTF-8 becomes a character of private use, U+EF80 to U+EFFF, whose low half is the
 * byte. A character that is one of these itself is taken for such bytes: so all bytes can be had back.
 */
void rs_trace_append_json_escaped(GString *out, const char *text, gsize size);

G_END_DECLS

#endif
