/* SPDX-License-Identifier: MIT */
/*
 * Print formats of events, parsed once and checked against the fields that they print. Internal
 * to viewer/decode. The format and the argument list come from the guest.
 */
#ifndef RS_TRACE_PRINT_PRIVATE_H
#define RS_TRACE_PRINT_PRIVATE_H

#include "rs-trace-schema.h"

G_BEGIN_DECLS

/*
 * Fills print, print_args and steps of `event`, whose fields are complete. `print` NULL: a format
 * of all fields. What was allocated is freed by rs_trace_print_clear(), after a failure too.
 */
gboolean rs_trace_print_parse(RsTraceEvent *event, const char *print, const char *args,
			      GError **error);
void rs_trace_print_clear(RsTraceEvent *event);

G_END_DECLS

#endif
