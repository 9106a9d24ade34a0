/* SPDX-License-Identifier: MIT */
/*
 * One term of an expression for one event: the bytes that it looks at, and the test of them. Inside
 * viewer/filter only.
 */
#ifndef RS_FILTER_ROOM_PREDICATE_H
#define RS_FILTER_ROOM_PREDICATE_H

#include "filter/ast.h"
#include "filter/glob.h"

enum rs_filter_verdict {
	RS_PRED_NEVER, /* these two: the same answer for every entry */
	RS_PRED_ALWAYS,
	RS_PRED_UNKNOWN, /* the event has no such field */
	RS_PRED_INTEGER,
	RS_PRED_TEXT,
	RS_PRED_RANGE, /* a number from `imm` up to the one before `end` */
	RS_PRED_CPUS,  /* a number that is a CPU of the list */
	RS_PRED_BITS,  /* an array whose bits are CPUs, against those of the list */
};

struct rs_filter_predicate {
	enum rs_filter_verdict verdict;
	bool negate;    /* true if the operation is false */
	bool no_value;  /* UNKNOWN: not the field, but the one that it is compared with */
	uint8_t op;     /* RS_OP_*; BITS: EQ or ANY */
	uint8_t source; /* RS_SRC_* */
	uint16_t width, offset;
	uint16_t size;                 /* BITS: bytes that are looked at */
	uint64_t imm, mask;            /* INTEGER, RANGE */
	uint64_t end;                  /* RANGE */
	uint8_t cpus[RS_MAX_CPUS / 8]; /* CPUS, BITS: a bit map */
	struct rs_glob glob;           /* TEXT: its literal, or with STR_GLOB its elements; owned */
};

/*
 * `strict`: a missing field is an error, and so is a value that the field can never hold. Otherwise
 * the verdict says so. On success the caller clears *out.
 */
int rs_filter_resolve(const struct rs_filter_ast *ast, const struct rs_filter_node *term,
		      const RsTraceEvent *event, bool strict, struct rs_filter_predicate *out,
		      struct rs_filter_error *err);
/*
 * Compiles the whole expression. *program is NULL if the event has none of its fields.
 */
int rs_filter_compile_one(const struct rs_filter_ast *ast, const RsTraceEvent *event, bool strict,
			  GByteArray **program, struct rs_filter_error *err);
/*
 * The name most like `name`, among the first 1,000 fields of the events and the common names. NULL:
 * none.
 */
const char *rs_filter_nearest(const RsTraceEvent *const *events, size_t count, const char *name);
void rs_filter_predicate_clear(struct rs_filter_predicate *predicate);

#endif
