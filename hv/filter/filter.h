/* SPDX-License-Identifier: MIT */
/*
 * Filter expressions: text in, a program for the agent out. The grammar and its rules are in
 * docs/filters.md, the program's form in ringside/filter.h.
 *
 * Called by the session (to publish) and by the CLI (to check before it asks a session). Any
 * thread; no state. The expression is untrusted text, the events come from a hostile guest and have
 * been parsed by viewer/decode. Time and memory are bounded by the limits below.
 */
#ifndef RS_HV_FILTER_H
#define RS_HV_FILTER_H

#include "base/error.h"
#include "rs-trace-schema.h"
#include <ringside/filter.h>
#include <stddef.h>

#define RS_FILTER_MAX_EXPRESSION 4096u /* bytes */
#define RS_FILTER_MAX_NESTING 64u      /* parentheses within parentheses */

struct rs_filter_error {
	int code;        /* errno value: EINVAL, ENOENT (no such field), E2BIG (a limit); 0: none */
	unsigned int at; /* byte of the expression where it goes wrong, 0..strlen */
	unsigned int length; /* bytes that are to blame, may be 0 */
	char message[320];   /* one sentence; control characters of the input are escaped in it */
};

/* Syntax only: 0 or -errno. */
int rs_filter_check(const char *expression, struct rs_filter_error *err);

/*
 * Compiles one expression for each of `count` events: what a glob of events means. On success each
 * of programs[] is a new verified array of bytes for the caller to unref: a struct
 * rs_filter_program with `sequence` 0, a multiple of RS_FILTER_GRAIN long. On failure none is set.
 *
 * One event: a field that it lacks, and a value that the field can never hold, are errors. More: a
 * term whose field an event lacks is left out for that event. If nothing is left, programs[i] is
 * NULL: that event is not filtered. A field that none of them has is an error. A number that does
 * not fit the field of one of them is compared all the same, as in mathematics.
 */
int rs_filter_compile(const RsTraceEvent *const *events, size_t count, const char *expression,
		      GByteArray **programs, struct rs_filter_error *err);

/*
 * The same for one more event of a set that the expression was compiled for before: by the rules
 * for several, and a name that it lacks is no error. *program may become NULL.
 */
int rs_filter_compile_more(const RsTraceEvent *event, const char *expression, GByteArray **program,
			   struct rs_filter_error *err);

/*
 * One program that accepts what any of `count` (>= 1) programs accepts. They were compiled for
 * `event`. On success *joined is a new verified array, for the caller to unref. Equal programs
 * count once. -E2BIG: together they are beyond RS_FILTER_MAX_INSNS or RS_FILTER_MAX_SIZE; -EINVAL:
 * one does not fit the event.
 */
int rs_filter_join(const RsTraceEvent *event, GByteArray *const *programs, size_t count,
		   GByteArray **joined, struct rs_error *err);

/*
 * All that the agent relies on, for a program of `size` bytes that is to judge an event with this
 * entry size and so many dynamic fields. `program` is 8-byte aligned. Reads only inside it. 0 or
 * -EINVAL with what is wrong.
 */
int rs_filter_verify(const void *program, size_t size, unsigned int entry_size,
		     unsigned int dyn_count, struct rs_error *err);
unsigned int rs_filter_dyn_count(const RsTraceEvent *event);

/*
 * Three lines for a terminal: expression, caret, message (the last without a newline); of a long
 * expression the part around the caret. Whatever is not printable is escaped. Free with g_free().
 */
char *rs_filter_error_render(const struct rs_filter_error *err, const char *expression);

#endif
