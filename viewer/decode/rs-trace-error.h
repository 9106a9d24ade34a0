/* SPDX-License-Identifier: MIT */
/*
 * Errors of decoding. Any thread.
 */
#ifndef RS_TRACE_ERROR_H
#define RS_TRACE_ERROR_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_ERROR (rs_trace_error_quark())
GQuark rs_trace_error_quark(void);

typedef enum {
	RS_TRACE_ERROR_BAD_DESCRIPTOR,
	RS_TRACE_ERROR_BAD_REGION,  /* no region, or its header contradicts itself */
	RS_TRACE_ERROR_NO_AGENT,    /* the guest's agent has not reported to this session */
	RS_TRACE_ERROR_BAD_VERSION, /* the ABI version is not ours */
	RS_TRACE_ERROR_NO_RING,     /* the region has no such ring */
	RS_TRACE_ERROR_READ_ONLY,
	RS_TRACE_ERROR_BAD_FILE,  /* no trace file, or one that contradicts itself */
	RS_TRACE_ERROR_FULL,      /* a trace file has all the bytes that it may have */
	RS_TRACE_ERROR_SELECTION, /* an expression, list or time that is wrong, or of no event */
} RsTraceError;

G_END_DECLS

#endif
