/* SPDX-License-Identifier: MIT */
/* Reads files into a timeline, on a thread of its own. All calls here: the main thread. */
#ifndef RS_TRACE_LOADER_PRIVATE_H
#define RS_TRACE_LOADER_PRIVATE_H

#include "rs-trace-files-private.h"
#include "rs-trace-pulse-private.h"
#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

typedef struct _RsTraceLoader RsTraceLoader;

/* Begins at once. */
RsTraceLoader *rs_trace_loader_new(const char *const *paths, RsTraceFiles *files,
				   RsTraceTimeline *timeline, RsTracePulse *pulse);
/* Ends the thread, without waiting for it. NULL is accepted. */
void rs_trace_loader_free(RsTraceLoader *loader);

/* How far it is. All that is not NULL is the caller's. */
typedef struct {
	gboolean has_ended;
	double progress; /* negative: not known */
	guint64 wall_ns;
	GError *error; /* why it ended too early */
	GStrv remarks; /* never NULL */
} RsTraceLoaderStatus;
void rs_trace_loader_status(RsTraceLoader *loader, RsTraceLoaderStatus *out);

G_END_DECLS

#endif
