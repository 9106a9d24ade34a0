/* SPDX-License-Identifier: MIT */
/*
 * The sources of a running session, as they come and go. A session may have them from its start,
 * and programs may join it and leave it.
 *
 * Thread: that of rs_trace_watch_new(). The callbacks are called there too, while its
 * thread-default main context runs, and some by rs_trace_watch_new() itself. Trust: as
 * rs-trace-client.h.
 */
#ifndef RS_TRACE_WATCH_H
#define RS_TRACE_WATCH_H

#include "rs-trace-client.h"
#include "rs-trace-ring.h"

G_BEGIN_DECLS

typedef struct _RsTraceWatch RsTraceWatch;

/* How a session ended. */
typedef struct {
	const char *reason;
	gint code;          /* the guest's, if it exited */
	const char *text;   /* more about the reason, or empty */
	const char *source; /* the name of the source that ended last, or empty */
} RsTraceWatchEnd;

typedef struct {
	/*
	 * A source has come. `region` is the callee's now, and it is mapped read-only. Its records
	 * are to be read from `from` on. Returns a number for gone(), or -1 if there will be
	 * nothing to end.
	 */
	gint (*come)(const RsTraceClientSource *source, RsTraceRegion *region, RsTraceFrom from,
		     gpointer data);
	/* The source with that number writes no more. Its region is to be read to its end. */
	void (*gone)(gint number, gpointer data);
	/*
	 * Once for each source that was told, also for the last one: it has ended, for that reason.
	 * Before gone() and over(). May be NULL.
	 */
	void (*ended)(const char *name, const char *reason, gpointer data);
	/* Each time that its kernel has panicked while its machine went on. May be NULL. */
	void (*panicked)(const char *name, gpointer data);
	/* Once: more than one source has reported, so names tell them apart. May be NULL. */
	void (*several)(gpointer data);
	/* The last call: the session has ended. NULL: its process has, or nobody said how. */
	void (*over)(const RsTraceWatchEnd *end, gpointer data);
	gpointer data;
} RsTraceWatchConfig;

/*
 * Tells the sources that are there now, which are read from `from` on. Later ones are new, and are
 * read from their start. `session` must outlive the watch.
 */
RsTraceWatch *rs_trace_watch_new(RsDBusSession1 *session, RsTraceFrom from,
				 const RsTraceWatchConfig *config);
/* No callback comes any more. NULL is accepted. */
void rs_trace_watch_free(RsTraceWatch *watch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceWatch, rs_trace_watch_free)

G_END_DECLS

#endif
