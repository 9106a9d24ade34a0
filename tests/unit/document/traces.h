/* SPDX-License-Identifier: MIT */
/* Trace files of random records, each with a number of its own, and what a plain reading gives. */
#ifndef RS_TEST_TRACES_H
#define RS_TEST_TRACES_H

#include "document/rs-trace-document.h"
#include "rs-trace-reader.h"
#include "../decode/build.h"

typedef struct {
	guint sources, windows;
	guint64 session;  /* of its sources */
	gboolean late;    /* sources join and leave meanwhile */
	gboolean back;    /* times of a ring go back */
	gboolean damaged; /* some bytes of the file are others */
	guint64 wall_ns;  /* of time 0 */
	GArray *ends;     /* gsize: how long the file is at the end of each window; may be NULL */
} Plan;

/* Writes a file, and returns its path, to be unlinked and freed. */
char *traces_write(GRand *rand, const Plan *plan);
/* The lines of a plain reading, by "source/ring": of GPtrArray. To be unreffed. */
GHashTable *traces_read(const char *const *paths);
/* Adds a line to them. */
void traces_take(GHashTable *lines, RsTraceReader *reader, const RsTraceRecord *record);
guint traces_count(GHashTable *lines);

/* Opens a trace, and waits until all of it was read. */
RsTraceDocument *traces_open(const char *const *paths);
/* Lets the main loop run until that is so. */
#define traces_wait(condition)                                                                     \
	while (!(condition))                                                                       \
	g_main_context_iteration(NULL, TRUE)
/* Reads rows [first, first + n). */
GPtrArray *traces_fetch(RsTraceDocument *document, RsTraceTimeline *timeline, guint64 first,
			guint n, gboolean with_details);
/* Checks all rows of a timeline, in an order of its own, by those lines. Returns how many. */
guint64 traces_check(RsTraceDocument *document, RsTraceTimeline *timeline, GHashTable *lines,
		     GRand *rand);

#endif
