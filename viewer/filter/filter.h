/* SPDX-License-Identifier: MIT */
/*
 * Compiles filter expressions into programs for the agent. docs/filters.md describes the grammar
 * and its rules, ringside/filter.h the form of a program.
 *
 * The session calls it to publish a program, the CLI to check an expression before it asks a
 * session, and a selection (filter/rs-trace-selection.h) for records that are read back. Any
 * thread; no state. The expression is untrusted text. The events come from a hostile
 * guest, and viewer/decode has parsed them. The limits below bound time and memory.
 */
#ifndef RS_FILTER_ROOM_FILTER_H
#define RS_FILTER_ROOM_FILTER_H

#include "rs-trace-schema.h"
#include <ringside/filter.h>
#include <stdbool.h>
#include <stddef.h>

#define RS_FILTER_MAX_EXPRESSION 4096u /* bytes */
#define RS_FILTER_MAX_NESTING 64u      /* parentheses within parentheses */
/*
 * Steps that a program takes at most, on whatever way through it: cost.c says what a step is. One
 * takes one to two nanoseconds, so no event waits longer than some 60 us for its filter.
 */
#define RS_FILTER_MAX_STEPS 32768u

struct rs_filter_error {
	int code;        /* errno value: EINVAL, ENOENT (no such field), E2BIG (a limit); 0: none */
	unsigned int at; /* byte of the expression where the mistake begins, 0..strlen */
	unsigned int length; /* bytes of the mistake, may be 0 */
	char message[320];   /* one sentence; control characters of the input are escaped in it */
};

/*
 * Takes apart what a user writes as a filter: "GLOB: EXPR", "SYSTEM:NAME:EXPR", or "EXPR" alone,
 * whose *glob is NULL. In "GLOB:" and "GLOB: 0" the expression is empty. A list of globs, or one
 * with a selection, has a blank behind its colon. Who calls it frees both, and checks them. False:
 * it is none of them, and neither is set.
 */
bool rs_filter_split(const char *text, char **glob, char **expression);
/*
 * The same where an event is named, so that the expression may be left out, and then a name alone
 * is an event's, and no field's. What is missing is NULL: both are only if nothing is there.
 */
void rs_filter_split_event(const char *text, char **glob, char **expression);

/* Whether it stands for no filter: it is empty, or 0 as in Linux. It has no blanks at its ends. */
bool rs_filter_is_none(const char *expression);

/* Checks only the syntax: 0 or -errno. */
int rs_filter_check(const char *expression, struct rs_filter_error *err);

/*
 * What is good, but hardly meant: `name == "a*"`, which asks for the character. One line, to be
 * freed; NULL: nothing.
 */
char *rs_filter_doubt(const char *expression);

/*
 * Compiles one expression for each of `count` events, usually those that match a glob. On success
 * each of programs[] is a new verified array of bytes, which the caller unrefs: a struct
 * rs_filter_program with `sequence` 0, a multiple of RS_FILTER_GRAIN long. On failure none is set.
 *
 * For one event, a field that it lacks is an error, and so is a value that the field can never
 * hold. For several events, a term whose field an event lacks is left out for that event. If
 * nothing is left, programs[i] is NULL: that event is not filtered. A field that none of them has
 * is an error. A number that does not fit an event's field is compared as in mathematics.
 */
int rs_filter_compile(const RsTraceEvent *const *events, size_t count, const char *expression,
		      GByteArray **programs, struct rs_filter_error *err);

/*
 * Compiles the expression for one more event, after it was compiled for others. The rules for
 * several events apply, and a field that this event lacks is not an error. *program may become
 * NULL.
 */
int rs_filter_compile_more(const RsTraceEvent *event, const char *expression, GByteArray **program,
			   struct rs_filter_error *err);

/* Where functions lie, for `field.function == name`. */
struct rs_filter_functions {
	/* In [*from, *to). 0, or -errno and what is wrong, in `why` of `size` bytes. */
	int (*find)(void *data, const char *name, uint64_t *from, uint64_t *to, char *why,
		    size_t size);
	void *data;
};

/*
 * rs_filter_compile() in steps, for so many events that somebody else must be served in between. A
 * series is an expression that is compiled for one event after the other.
 */
struct rs_filter_series;

/* Parses it: 0 or -errno. */
int rs_filter_series_new(const char *expression, struct rs_filter_series **out,
			 struct rs_filter_error *err);
void rs_filter_series_free(struct rs_filter_series *series); /* accepts NULL */
/*
 * Before all else, and again while it returns 1: looks for the field of one more term in the events
 * for which the expression will be compiled. *looks: events looked at. -ENOENT: none has it, and
 * there are several.
 */
int rs_filter_series_names(struct rs_filter_series *series, const RsTraceEvent *const *events,
			   size_t count, size_t *looks, struct rs_filter_error *err);
/*
 * Compiles it for the next event, or for the only one if `alone`. *program is as programs[i] of
 * rs_filter_compile(), NULL on failure.
 */
int rs_filter_series_add(struct rs_filter_series *series, const RsTraceEvent *event, bool alone,
			 GByteArray **program, struct rs_filter_error *err);

/* Whom rs_filter_series_add() asks from now on; NULL: nobody. Stays the caller's. */
void rs_filter_series_set_functions(struct rs_filter_series *series,
				    const struct rs_filter_functions *functions);

/*
 * For events that come one after the other, and are not known before: notes which terms have their
 * field in this event.
 */
void rs_filter_series_note(struct rs_filter_series *series, const RsTraceEvent *event);
/* 0, or -ENOENT: the field of a term is in none of the events that were noted, if any was. */
int rs_filter_series_missing(const struct rs_filter_series *series, struct rs_filter_error *err);

/*
 * Joins `count` (>= 1) programs, all compiled for `event`, into one that accepts an entry if any of
 * them does. On success *joined is a new verified array, which the caller unrefs. Equal programs
 * count once. -E2BIG: together they exceed RS_FILTER_MAX_INSNS, RS_FILTER_MAX_SIZE or
 * RS_FILTER_MAX_STEPS; -EINVAL: one does not fit the event.
 */
int rs_filter_join(const RsTraceEvent *event, GByteArray *const *programs, size_t count,
		   GByteArray **joined, struct rs_filter_error *err);

/*
 * Checks everything that the agent relies on, for a program of `size` bytes and an event of this
 * entry size and number of dynamic fields. `program` is 8-byte aligned. Reads only inside it. 0, or
 * what is wrong: -EINVAL, or -E2BIG if it may take more than RS_FILTER_MAX_STEPS.
 */
int rs_filter_verify(const void *program, size_t size, unsigned int entry_size,
		     unsigned int dyn_count, struct rs_filter_error *err);
unsigned int rs_filter_dyn_count(const RsTraceEvent *event);
/* Of a verified program: the steps that it takes at most for one event. */
unsigned int rs_filter_steps(const void *program);
/* Of a verified program: the minor version of the ABI that an agent must have to run it. */
unsigned int rs_filter_minor(const void *program);

/*
 * Three lines for a terminal: expression, caret, message. The last has no newline. Of a long
 * expression it shows the part around the caret. Escapes what is not printable. Free with g_free().
 */
char *rs_filter_error_render(const struct rs_filter_error *err, const char *expression);

#endif
