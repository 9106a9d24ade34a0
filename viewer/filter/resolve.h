/* SPDX-License-Identifier: MIT */
/* How a term is resolved for an event: what predicate.c, integer.c, sets.c and
 * function.c share. Only they. */
#ifndef RS_FILTER_ROOM_RESOLVE_H
#define RS_FILTER_ROOM_RESOLVE_H

#include "filter/number.h"
#include "filter/predicate.h"

/* What a term's name means: a field of the event, or one of the names that every event has. */
struct rs_subject {
	const RsTraceField *field; /* NULL for the latter, and for an element of an array */
	char name[RS_NAME_MAX + 16];
	char type[RS_NAME_MAX + 1]; /* for messages */
	uint8_t source;             /* RS_SRC_* */
	uint16_t width, offset;     /* as an instruction has them */
	unsigned int bits;          /* integers */
	bool is_signed, is_text;
	bool is_array;  /* all of it; `bits` of a fixed one, 0: a dynamic one */
	bool is_beyond; /* the array never has so many elements */
};

struct rs_resolver {
	const struct rs_filter_ast *ast;
	const struct rs_filter_node *term;
	const RsTraceEvent *event;
	bool strict;
	struct rs_subject subject;
	struct rs_filter_predicate *out;
	struct rs_filter_error *err;
};

int rs_resolve_error(struct rs_resolver *r, const struct rs_filter_word *word, const char *format,
		     ...) G_GNUC_PRINTF(3, 4);
/*
 * Finds what the word "field" or "field[1]" means. 1: the event has no such field. `word`: what an
 * error is about.
 */
int rs_resolve_name(struct rs_resolver *r, const struct rs_filter_word *word, const char *name,
		    bool has_index, uint32_t index, struct rs_subject *out);
/* The value is a bare word that could name a field. */
bool rs_resolve_is_name(const struct rs_resolver *r);

int rs_resolve_integer(struct rs_resolver *r);
int rs_resolve_cpus(struct rs_resolver *r);
int rs_resolve_function(struct rs_resolver *r);
/* Compares the field with a number: fills in operation, mask and value. */
void rs_resolve_compare(struct rs_resolver *r, bool is_signed, rs_wide_t mask, rs_wide_t value);

#endif
