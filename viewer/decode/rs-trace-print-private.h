/* SPDX-License-Identifier: MIT */
/*
 * Parses the print format of an event once and checks it against the fields that it prints.
 * Internal to viewer/decode. The format and the argument list come from the guest.
 */
#ifndef RS_TRACE_PRINT_PRIVATE_H
#define RS_TRACE_PRINT_PRIVATE_H

#include "rs-trace-schema.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/*
 * Fills print, print_args and steps of `event`, whose fields are complete. `print` NULL: makes a
 * format of all fields. rs_trace_print_clear() frees them, also after a failure.
 */
gboolean rs_trace_print_parse(RsTraceEvent *event, const char *print, const char *args,
			      GError **error);
void rs_trace_print_clear(RsTraceEvent *event);

#pragma GCC visibility pop
G_END_DECLS

#endif
