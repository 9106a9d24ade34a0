/* SPDX-License-Identifier: MIT */
/*
 * A record's call stack, for people and for programs. Frames that lie in no known symbol are shown
 * as addresses. Any bytes are safe.
 */
#ifndef RS_TRACE_STACK_H
#define RS_TRACE_STACK_H

#include "rs-trace-decoder.h"

G_BEGIN_DECLS

/* Frame `i`, which is below record->n_stack; 0 is the innermost. */
guint64 rs_trace_stack_frame(const RsTraceRecord *record, guint i);

/*
 * Appends the symbol of frame `i`, "schedule+0x12", or its address, "0x401234". `escape` gets the
 * symbol's name. Returns whether it is a symbol.
 */
gboolean rs_trace_stack_append_frame(GString *out, const RsTraceRecord *record, guint i,
				     RsTraceSymbolsAppend escape);

/* Appends a line for each frame, as ftrace shows them: " => schedule+0x12". */
void rs_trace_stack_text(GString *out, const RsTraceRecord *record);
/*
 * Appends `,"stack":["0x401234",...]`, and if any frame has a name `,"symbols":["schedule+0x12",
 * null,...]`. Nothing for a record without a stack.
 */
void rs_trace_stack_json(GString *out, const RsTraceRecord *record);

G_END_DECLS

#endif
