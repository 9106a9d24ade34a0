/* SPDX-License-Identifier: MIT */
/*
 * The live rings of a region as a source of pages. The source also tells what the region says about
 * boots, descriptors, clock and names.
 *
 * Thread: as rs-trace-source.h. Trust: all of the region is hostile. It is copied here, and the
 * copies are parsed by viewer/decode.
 */
#ifndef RS_TRACE_LIVE_H
#define RS_TRACE_LIVE_H

#include "rs-trace-source.h"

#include <rs-trace-symbol-file.h>

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_LIVE_NONE = 0,
	/* The region is our own: the source arms the doorbell, and says which pages it has read. */
	RS_TRACE_LIVE_OWNER = 1 << 0,
	/* Pages come when they are full: for a sink that keeps pages. */
	RS_TRACE_LIVE_WHOLE = 1 << 1,
	/* With OWNER: another source of ours arms the doorbell, of which each ring has one. */
	RS_TRACE_LIVE_UNARMED = 1 << 2,
	/* Of a process that joined: no bridge, whatever its agent says. */
	RS_TRACE_LIVE_JOINED = 1 << 3,
} RsTraceLiveFlags;

/* Those that follow from what the session says of a source. */
static inline RsTraceLiveFlags rs_trace_live_flags(gboolean joined)
{
	return joined ? RS_TRACE_LIVE_JOINED : RS_TRACE_LIVE_NONE;
}

/*
 * `region` must outlive the source. READ_ONLY: it is to consume pages, but the region is not
 * writable.
 */
RsTraceSource *rs_trace_live_new(const RsTraceRegion *region, RsTraceFrom from,
				 RsTraceLiveFlags flags, GError **error);
/* Likewise, beside others that read the region: with OWNER, each is one of `consumers`. */
RsTraceSource *rs_trace_live_new_beside(const RsTraceRegion *region, RsTraceConsumers *consumers,
					RsTraceFrom from, RsTraceLiveFlags flags, GError **error);
/*
 * As rs_trace_live_new(). The source frees the region at its end, and if there is an error, at
 * once.
 */
RsTraceSource *rs_trace_live_new_take(RsTraceRegion *region, RsTraceFrom from,
				      RsTraceLiveFlags flags, GError **error);
/*
 * Where the source's names of addresses may come from: `symbols`, which the source refers to. Of
 * those that were added, the first that fits an image is told as soon as the guest says where that
 * lies, once for each place. To be called before the source is read.
 */
void rs_trace_live_add_symbols(RsTraceSource *live, RsTraceSymbolFile *symbols);
/*
 * The memory of a virtual machine's device is a file that others may cut short, and the kernel
 * answers an access beyond its end with SIGBUS. A program calls this once, from any thread, so that
 * it does not end then: regions whose memory was cut become zeros for it. Any other SIGBUS does
 * what it did before. A program that handles SIGBUS itself does so before it calls this.
 */
void rs_trace_live_guard(void);

G_END_DECLS

#endif
