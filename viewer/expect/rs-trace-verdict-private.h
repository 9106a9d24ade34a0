/* SPDX-License-Identifier: MIT */
/* What a verdict keeps while it reads (rs-trace-verdict.c), and judges (rs-trace-finding.c). */
#ifndef RS_TRACE_VERDICT_PRIVATE_H
#define RS_TRACE_VERDICT_PRIVATE_H

#include "analysis/rs-trace-latency.h"
#include "expect/rs-trace-expectation-private.h"
#include "expect/rs-trace-verdict.h"
#include "filter/rs-trace-event-glob.h"
#include "filter/rs-trace-selection.h"

typedef struct {
	guint64 ns, number;
} RsTracePoint;

/* The terms of "A && B && C", each for itself: how near a record comes (rs-trace-terms.c). */
typedef struct _RsTraceTerms RsTraceTerms;

/* Of "GLOB: EXPR". NULL: it is a single term. */
RsTraceTerms *rs_trace_terms_new(const char *event);
/* Accepts NULL. */
void rs_trace_terms_free(RsTraceTerms *terms);
/* A record of the event. TRUE: no record before it had so many true terms. */
gboolean rs_trace_terms_look(RsTraceTerms *terms, const RsTraceSample *sample);
/* The first term that the nearest record lacks. NULL: none was looked at. */
const char *rs_trace_terms_missing(const RsTraceTerms *terms);

/*
 * Events of one key that wait for their partners. Of those that can only be met too late, or by
 * whomever, there is just the number, and the newest.
 */
typedef struct {
	GQueue points; /* of RsTracePoint, oldest first */
	guint64 n_old;
	RsTracePoint old;
} RsTraceWaiting;

/* Subject, partner, and the subject that is as `is` says. */
#define RS_TRACE_WATCH_EVENTS 3u

/* One expectation. */
typedef struct _RsTraceWatch RsTraceWatch;
struct _RsTraceWatch {
	const RsTraceExpectation *e;
	RsTraceWatch *since, *until;              /* those of `e`; NULL: none */
	RsTraceSelection *subject, *partner, *is; /* once it is armed */
	/*
	 * The same with a number in place of each variable. They are told all events, from the
	 * first on, and so know fields that no event has. NULL: there is no such.
	 */
	RsTraceSelection *checks[RS_TRACE_WATCH_EVENTS];
	RsTraceEventGlob *glob; /* of the subject; NULL: it is of no event */
	RsTraceTerms *terms;    /* of the subject's expression, once it is armed; NULL: none */
	GPtrArray *of_subject, *of_partner; /* columns: what both have in common */
	GPtrArray *bound;                   /* columns of e->bind */
	RsTraceLatency *latency;
	guint64 in_limit[RS_TRACE_EXPECT_LIMITS]; /* pairs that are no longer than e->limits[] */
	gboolean armed;                           /* watches records behind `armed_at` */
	guint64 armed_at;                         /* number of the record that did it; NONE: all */
	guint64 stepped;                          /* number of the last record that it saw, and 1 */
	gboolean known;                           /* an event of the trace matches the glob */
	RsTraceEventGlob *partner_glob; /* of the partner, or of a pair's end; NULL: none */
	gboolean partner_known;
	/* Subjects: that were as expected; of all; that had no partner; that had one too late. */
	guint64 count, subjects, alone, n_late;
	guint64 longest;              /* ns, of those that were late, or of pairs */
	guint64 of_event;             /* of the glob, before there was one as expected */
	guint64 without_key, refused; /* not comparable; more than can be open */
	/* As expected; `last`: or at least of the event, or the end of the longest pair. */
	RsTracePoint first, last;
	RsTracePoint culprit, nearest, late;
	gboolean is_so;   /* the last one is as `is` says */
	GHashTable *open; /* common key (GBytes) -> RsTraceWaiting */
	guint n_open;     /* points in it */
	char *broken;     /* why the spec is wrong */
};

/* What a ring has lost since its last record. */
typedef struct {
	guint64 lost;
	RsTracePoint at;
} RsTraceTail;

/* They count as lost. */
void rs_trace_verdict_take_tail(RsTraceVerdict *verdict, RsTraceTail *tail);

struct _RsTraceVerdict {
	GPtrArray *expectations;
	GPtrArray *watches; /* of RsTraceWatch, likewise */
	GHashTable *values; /* of variables */
	GString *key;
	guint64 number;                     /* of the next record */
	guint64 records, first_ns, last_ns; /* last_ns: at the end, when it was */
	guint64 lost;
	RsTracePoint loss; /* the first */
	GHashTable *tails; /* source and vCPU -> RsTraceTail */
	gboolean may_lose;
	gboolean told; /* of an event at least */
	/* At the end. */
	gboolean exited;  /* the guest, by itself */
	gint64 judged_us; /* since when, by g_get_monotonic_time() */
};

#endif
