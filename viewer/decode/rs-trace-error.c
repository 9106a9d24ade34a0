/* SPDX-License-Identifier: MIT */
#include "rs-trace-error.h"

GQuark rs_trace_error_quark(void)
{
	return g_quark_from_static_string("rs-trace-error-quark");
}
