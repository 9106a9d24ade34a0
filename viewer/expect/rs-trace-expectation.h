/* SPDX-License-Identifier: MIT */
/*
 * What one group "expect NAME" of a spec says, checked as far as it can be without a trace.
 * docs/testing.md has the meaning of each key. It does not change once it is made.
 */
#ifndef RS_TRACE_EXPECTATION_H
#define RS_TRACE_EXPECTATION_H

#include "expect/rs-trace-spec.h"

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_EXPECT_EVENT, /* happens, as often as `count` and `rate` say */
	RS_TRACE_EXPECT_NEVER,
	RS_TRACE_EXPECT_EACH, /* each has its partner */
	RS_TRACE_EXPECT_LAST, /* the last one is so */
	RS_TRACE_EXPECT_PAIR, /* times between two events */
	RS_TRACE_EXPECT_SERIAL,
	RS_TRACE_EXPECT_SERIAL_NEVER,
	RS_TRACE_EXPECT_EXIT,
	RS_TRACE_EXPECT_END, /* badly, as `subject` names it */
} RsTraceExpectKind;

#define RS_TRACE_EXPECT_LIMITS 4u

/* A percentile of a pair's times must lie there. */
typedef struct {
	const char *key; /* "p99" */
	double percent;
	guint64 most; /* ns */
} RsTraceExpectLimit;

/* What a subject and its partner have in common: a field of each. */
typedef struct {
	char *of_subject, *of_partner;
} RsTraceExpectSame;

/* What $NAME is later. */
typedef struct {
	char *name, *field;
} RsTraceExpectBinding;

typedef struct {
	char *name;
	guint line;
	RsTraceExpectKind kind;
	char *subject;   /* an event, "GLOB" or "GLOB: EXPR"; a pair; a pattern; "panic"; "" */
	char *partner;   /* an event; NULL: none */
	gboolean before; /* the partner comes before the subject */
	GArray *same;    /* of RsTraceExpectSame */
	GArray *bind;    /* of RsTraceExpectBinding */
	char *is;        /* an expression of the last one */
	/*
	 * Only what is between the first events of these two, or all if NULL. `since` comes before
	 * this expectation, `until` may come anywhere.
	 */
	char *since, *until;
	guint64 within;      /* ns, from the partner, or from `since`; G_MAXUINT64: any time */
	guint64 least, most; /* how often */
	/* Of `each` with a partner after it, and of pairs: so many may still wait at the end. */
	guint64 open;
	guint64 least_rate, most_rate; /* per second */
	char *key;                     /* of a pair */
	RsTraceExpectLimit limits[RS_TRACE_EXPECT_LIMITS];
	guint n_limits;
	guint64 least_code, most_code; /* of the exit */
	char *text; /* a pattern, in what is told of the end; NULL: whatever it is */
} RsTraceExpectation;

/*
 * All of the case that was chosen, in the order of the spec: GPtrArray of RsTraceExpectation, to be
 * unreffed. NULL: RS_TRACE_SPEC_ERROR.
 */
GPtrArray *rs_trace_expectations_new(const RsTraceSpec *spec, GError **error);

/*
 * An event of an expectation, with the value of each "$NAME" put in, and "$" for "$$": to be freed.
 * NULL: one has no value in `values` (names to texts), and is *missing if that is not NULL; to be
 * freed.
 */
char *rs_trace_expect_fill(const char *event, GHashTable *values, char **missing);

G_END_DECLS

#endif
