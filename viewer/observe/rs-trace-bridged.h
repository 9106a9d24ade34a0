/* SPDX-License-Identifier: MIT */
/*
 * A source of pages whose region may be a bridge's (ringside/bridge.h), whose records hold pages of
 * ftrace. It reads them through another source, has them decoded (rs-trace-expander.h), and hands
 * out pages of the events themselves. So whatever reads sources sees the kernel's events as any
 * others. Losses are exact: a page says how many events of its vCPU came before it.
 *
 * Until the first agent says that it is a bridge, it is the other source and nothing else. Pages of
 * boots that are no bridge's are always handed out as they are.
 *
 * Pages are held until all events up to a time have come, so that the vCPUs are in order.
 *
 * Thread: as rs-trace-source.h; a round may take as long as decoding does. Trust: all is hostile.
 */
#ifndef RS_TRACE_BRIDGED_H
#define RS_TRACE_BRIDGED_H

#include "rs-trace-source.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/*
 * Takes `pages`, which was made with `from`, over. `region` must outlive its free(). `may`: whether
 * its agent may be a bridge at all.
 */
RsTraceSource *rs_trace_bridged_new(RsTraceSource *pages, const RsTraceRegion *region,
				    RsTraceFrom from, gboolean may);
/* The source that it was made with. */
RsTraceSource *rs_trace_bridged_pages(RsTraceSource *bridged);

#pragma GCC visibility pop
G_END_DECLS

#endif
