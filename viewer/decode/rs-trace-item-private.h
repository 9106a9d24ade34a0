/* SPDX-License-Identifier: MIT */
/* How a reader makes an item of a record. */
#ifndef RS_TRACE_ITEM_PRIVATE_H
#define RS_TRACE_ITEM_PRIVATE_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-item.h"
#include "rs-trace-text.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/* `record` has an origin. `style`: of its text. */
RsTraceItem *rs_trace_item_new(const RsTraceRecord *record, const RsTraceTask *task,
			       RsTraceTextStyle style);

#pragma GCC visibility pop
G_END_DECLS

#endif
