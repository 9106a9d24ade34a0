/* SPDX-License-Identifier: MIT */
/*
 * Turns untrusted bytes into text for a person or for a JSON parser. This is the only place that
 * does so: hv uses it too (docs/adr/0001).
 *
 * A character is "plain" if it prints by itself. These are not plain: control characters, line and
 * paragraph separators, unassigned characters, and invisible ones. The invisible ones join, hide or
 * change the direction of a line (Unicode's Cf), or nobody sees them at all (those that Unicode
 * calls ignorable by default). Bytes that are not UTF-8 are never plain.
 *
 * Any bytes are safe. Any thread.
 */
#ifndef RS_TRACE_ESCAPE_H
#define RS_TRACE_ESCAPE_H

#include <glib.h>

G_BEGIN_DECLS

/* Bytes of the character at `text` if it is plain, else 0. `size`: bytes at `text`, at least 1. */
gsize rs_trace_plain_char(const char *text, gsize size);

/*
 * Appends `size` bytes for a terminal: each byte that is not plain becomes \xNN. Control characters
 * in `keep` (may be NULL), e.g. "\n\t", stay as they are. A backslash stays too. So text can be
 * escaped twice without harm, but "\x0a" in the output may be a newline or those four characters.
 */
void rs_trace_append_escaped(GString *out, const char *text, gsize size, const char *keep);

/* The same as a new string. `size` -1: up to the NUL. */
char *rs_trace_escape(const char *text, gssize size, const char *keep);

/*
 * Appends `size` bytes in the form that they have between the quotes of a JSON string. A parser
 * returns the same characters. Those that are not plain are written as \n or \uNNNN, so that the
 * line is safe on a terminal. A byte that is not UTF-8 becomes a character of private use, U+EF80
 * to U+EFFF, whose low half is the byte. If the text holds such a character itself, its bytes are
 * written in the same way. So a reader can restore all bytes.
 */
void rs_trace_append_json_escaped(GString *out, const char *text, gsize size);

G_END_DECLS

#endif
