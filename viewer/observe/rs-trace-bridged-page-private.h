/* SPDX-License-Identifier: MIT */
/*
 * A page of events that waits until all before them have come. Internal to rs-trace-bridged.c.
 * Trust: the bytes are a hostile guest's; the walk over them bounds every step.
 */
#ifndef RS_TRACE_BRIDGED_PAGE_PRIVATE_H
#define RS_TRACE_BRIDGED_PAGE_PRIVATE_H

#include <rs-trace-moment.h>
#include <rs-trace-page.h>

#pragma GCC visibility push(hidden) /* not for outsiders */

typedef struct {
	RsTraceMoment last; /* of its last record; boot 0: it need not wait */
	gint64 since;       /* monotonic us: when it came */
	guint64 lost;       /* events before it */
	guint records;
	guint from, size; /* bytes */
	guint8 bytes[];
} RsTraceBridgedPage;

/* Copies a page, but for its header, which becomes `head`. To be freed with g_free(). */
RsTraceBridgedPage *rs_trace_bridged_page_new(const guint8 *bytes, guint size,
					      const struct rs_ring_page *head);
/* Copies a page of which the records in [from, size) need not wait. Likewise. */
RsTraceBridgedPage *rs_trace_bridged_page_new_done(const guint8 *bytes, guint from, guint size);

/*
 * Leaves the records up to the last one that is not later than `until`, and returns a page of the
 * rest. NULL: nothing is changed, since there are none, or no others.
 */
RsTraceBridgedPage *rs_trace_bridged_page_split(RsTraceBridgedPage *page,
						const RsTraceMoment *until);

#pragma GCC visibility pop

#endif
