/* SPDX-License-Identifier: MIT */
/*
 * Which source of a trace a record is from: the records of a source all point to one of these
 * (record->origin). Whoever hands out records makes it, such as a reader or a follower.
 *
 * It lives as long as its source is followed or read. A reader's may go when the next record is
 * taken, or with a seek. Then who wants to know the source again keeps its index. Later versions
 * may append to the struct, so nobody else makes or copies one.
 */
#ifndef RS_TRACE_ORIGIN_H
#define RS_TRACE_ORIGIN_H

#include <glib.h>
#include <ringside/region.h>
#include <ringside/trace_file.h>

G_BEGIN_DECLS

typedef struct {
	/* Any bytes; NULL: a live source that nobody described. */
	const char *name;
	const char *escaped; /* the same for a terminal, by rs_trace_escape() */
	guint32 number;      /* in its session, from 1 on; 0: not known */
	/*
	 * 0, 1 … in the order in which sources joined. Never used again, and the same after a seek.
	 */
	guint index;
	const struct rs_file_source *info; /* all that is known of it; never NULL */
	gpointer owner;                    /* of whoever made this, and of nobody else */
	/* Index of the source whose pids it has: of a process that joined, its machine's. */
	guint machine;
} RsTraceOrigin;

/* `info` must outlive it. Its name counts if `named`. */
RsTraceOrigin *rs_trace_origin_new(const struct rs_file_source *info, gboolean named, guint index,
				   gpointer owner);
void rs_trace_origin_free(RsTraceOrigin *origin);
/* Another source that may be its machine. */
void rs_trace_origin_meet(RsTraceOrigin *origin, const RsTraceOrigin *other);
/* What the agents say of themselves becomes part of `info`. */
void rs_trace_origin_take_boots(struct rs_file_source *info,
				const struct rs_file_boot boots[RS_BOOTS]);

G_END_DECLS

#endif
