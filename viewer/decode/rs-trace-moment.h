/* SPDX-License-Identifier: MIT */
/*
 * A moment on a guest's event clock. The counter may start again when the guest boots, and may go
 * back within a boot, so its value has an order only together with its boot and its clock chain
 * (<ringside/control.h>). Plain numbers: whatever a guest says is a moment.
 */
#ifndef RS_TRACE_MOMENT_H
#define RS_TRACE_MOMENT_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
	guint32 boot;  /* of the guest, 1 … */
	guint32 chain; /* clock chain */
	guint64 ts;    /* event clock in ticks */
} RsTraceMoment;

/* Negative: `a` is earlier. 0: they are the same. Positive: `a` is later. */
static inline int rs_trace_moment_compare(const RsTraceMoment *a, const RsTraceMoment *b)
{
	if (a->boot != b->boot)
		return a->boot < b->boot ? -1 : 1;
	if (a->chain != b->chain)
		return a->chain < b->chain ? -1 : 1;
	return a->ts < b->ts ? -1 : a->ts > b->ts;
}

G_END_DECLS

#endif
