/* SPDX-License-Identifier: MIT */
/*
 * The live rings of a region as a source of pages. It also tells what the region says of boot,
 * descriptors, clock and names. All of it is hostile. It is copied here and parsed by
 * viewer/decode.
 */
#ifndef RS_TRACE_LIVE_H
#define RS_TRACE_LIVE_H

#include "rs-trace-source.h"

G_BEGIN_DECLS

/*
 * `region` must outlive the source. `owner`: the region is ours, so the doorbell is armed, and in
 * drop mode pages are consumed. READ_ONLY: the owner's region is not writable.
 */
RsTraceSource *rs_trace_live_new(const RsTraceRegion *region, RsTraceFrom from, gboolean owner,
				 GError **error);

G_END_DECLS

#endif
