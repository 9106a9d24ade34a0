/* SPDX-License-Identifier: MIT */
/* What the rooms of expectations share: how they are checked, and judged. */
#ifndef RS_TRACE_EXPECTATION_PRIVATE_H
#define RS_TRACE_EXPECTATION_PRIVATE_H

#include "analysis/rs-trace-column.h"
#include "expect/rs-trace-expectation.h"

G_BEGIN_DECLS

/* How patterns are compiled. Guests write bytes, and lines. */
#define RS_TRACE_EXPECT_REGEX ((GRegexCompileFlags)(G_REGEX_MULTILINE | G_REGEX_RAW))

/*
 * Whether all of them (of RsTraceExpectation) can be met at once, as far as that can be seen, and
 * what they name is there. FALSE: RS_TRACE_SPEC_ERROR.
 */
gboolean rs_trace_expectations_agree(const RsTraceSpec *spec, const GPtrArray *all, GError **error);

/*
 * The column of a field that `same` or `bind` names, to be freed. As in a filter PID is the task
 * that wrote the record, and pid a field of the event. NULL: RS_TRACE_ERROR_SELECTION.
 */
RsTraceColumn *rs_trace_expect_column(const char *field, GError **error);

G_END_DECLS

#endif
