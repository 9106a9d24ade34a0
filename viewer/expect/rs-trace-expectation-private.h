/* SPDX-License-Identifier: MIT */
/* What expectations have to do with each other. */
#ifndef RS_TRACE_EXPECTATION_PRIVATE_H
#define RS_TRACE_EXPECTATION_PRIVATE_H

#include "expect/rs-trace-expectation.h"

G_BEGIN_DECLS

/*
 * Whether all of them (of RsTraceExpectation) can be met at once, as far as that can be seen, and
 * what they name is there. FALSE: RS_TRACE_SPEC_ERROR.
 */
gboolean rs_trace_expectations_agree(const RsTraceSpec *spec, const GPtrArray *all, GError **error);

G_END_DECLS

#endif
