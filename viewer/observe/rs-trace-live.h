/* SPDX-License-Identifier: MIT */
/*
 * The live rings of a region as a source of pages, and what the region says beside them: boot, descriptors,
 * clock, names. All of it is hostile; it is copied, and parsed by viewer/decode.
 */
#ifndef RS_TRACE_LIVE_H
#define RS_TRACE_LIVE_H

#include "rs-trace-source.h"

G_BEGIN_DECLS

/*
 * `region` must outlive the source. `owner`: it is our region; the doorbell is armed, and in drop mode what was read is
 * consumed. READ_ONLY: an owner's region must be writable.
 */
RsTraceSource *rs_trace_live_new(const RsTraceRegion *region, RsTraceFrom from, gboolean owner,
				 GError **error);

G_END_DECLS

#endif
