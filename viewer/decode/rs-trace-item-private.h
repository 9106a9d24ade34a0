/* SPDX-License-Identifier: MIT */
/* How a reader makes an item of a record. */
#ifndef RS_TRACE_ITEM_PRIVATE_H
#define RS_TRACE_ITEM_PRIVATE_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-item.h"

#include <ringside/trace_file.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

/* `named`: the text says the source, as JSON does in any case. */
RsTraceItem *rs_trace_item_new(const RsTraceRecord *record, const RsTraceTask *task,
			       const struct rs_file_source *source, gboolean named);

#pragma GCC visibility pop
G_END_DECLS

#endif
