/* SPDX-License-Identifier: MIT */
#include "rs-test-error.h"

#include "rs-test-guest-private.h"

#include <rs-trace-error.h>

GQuark rs_test_error_quark(void)
{
	return g_quark_from_static_string("rs-test-error-quark");
}

static RsTestError code_of_session(int code)
{
	switch (code) {
	case RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT:
		return RS_TEST_ERROR_NO_SUCH_EVENT;
	case RS_TRACE_SESSION_ERROR_BAD_FILTER:
	case RS_TRACE_SESSION_ERROR_BAD_ARGUMENT:
		return RS_TEST_ERROR_BAD_ARGUMENT;
	case RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD:
	case RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE:
		return RS_TEST_ERROR_NO_SUCH_THREAD;
	case RS_TRACE_SESSION_ERROR_NOT_SUPPORTED:
		return RS_TEST_ERROR_NOT_SUPPORTED;
	case RS_TRACE_SESSION_ERROR_SILENT:
		return RS_TEST_ERROR_TIMEOUT;
	case RS_TRACE_SESSION_ERROR_GONE:
	case RS_TRACE_SESSION_ERROR_ENDED:
	case RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION:
		return RS_TEST_ERROR_ENDED;
	}
	return RS_TEST_ERROR_FAILED;
}

gboolean rs_test_fail(GError **error, GError *why)
{
	int code = RS_TEST_ERROR_FAILED;

	rs_trace_client_fix_error(&why);
	if (why->domain == RS_TRACE_SESSION_ERROR)
		code = (int)code_of_session(why->code);
	else if (g_error_matches(why, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION))
		code = RS_TEST_ERROR_BAD_ARGUMENT;
	else if (g_error_matches(why, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_METHOD))
		code = RS_TEST_ERROR_NOT_SUPPORTED;
	else if (why->domain == RS_TEST_ERROR)
		code = why->code;
	g_set_error_literal(error, RS_TEST_ERROR, code, why->message);
	g_error_free(why);
	return FALSE;
}
