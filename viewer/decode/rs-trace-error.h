/* SPDX-License-Identifier: MIT */
/*
 * What can be wrong with a trace, for all that reads or writes one. Any thread.
 */
#ifndef RS_TRACE_ERROR_H
#define RS_TRACE_ERROR_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_ERROR (rs_trace_error_quark())

/**
 * RsTraceError:
 * @RS_TRACE_ERROR_BAD_DESCRIPTOR: an event is described wrongly
 * @RS_TRACE_ERROR_BAD_REGION: no region, or its header contradicts itself
 * @RS_TRACE_ERROR_NO_AGENT: the guest's agent has not reported to this session
 * @RS_TRACE_ERROR_BAD_VERSION: of a version that this one cannot read
 * @RS_TRACE_ERROR_NO_RING: the region has no such ring
 * @RS_TRACE_ERROR_READ_ONLY: the region can only be read
 * @RS_TRACE_ERROR_BAD_FILE: no trace file, or one that contradicts itself
 * @RS_TRACE_ERROR_FULL: a trace file has all the bytes that it may have
 * @RS_TRACE_ERROR_SELECTION: an expression, list or time that is wrong, or of no event
 *
 * Why a trace cannot be read. A [class@Reader] sets BAD_FILE and BAD_VERSION only.
 *
 * Numbers stay as they are. New ones are added at the end.
 */
typedef enum {
	RS_TRACE_ERROR_BAD_DESCRIPTOR,
	RS_TRACE_ERROR_BAD_REGION,
	RS_TRACE_ERROR_NO_AGENT,
	RS_TRACE_ERROR_BAD_VERSION,
	RS_TRACE_ERROR_NO_RING,
	RS_TRACE_ERROR_READ_ONLY,
	RS_TRACE_ERROR_BAD_FILE,
	RS_TRACE_ERROR_FULL,
	RS_TRACE_ERROR_SELECTION,
} RsTraceError;

/**
 * rs_trace_error_quark:
 *
 * The domain of these errors, %RS_TRACE_ERROR in C.
 *
 * Returns: its quark
 */
GQuark rs_trace_error_quark(void);

G_END_DECLS

#endif
