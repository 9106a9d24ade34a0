/* SPDX-License-Identifier: MIT */
#include "rs-trace-session-error.h"

#include <gio/gio.h>

static const GDBusErrorEntry entries[] = {
	{RS_TRACE_SESSION_ERROR_FAILED, "org.ringside.Error.Failed"},
	{RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT, "org.ringside.Error.NoSuchEvent"},
	{RS_TRACE_SESSION_ERROR_BAD_FILTER, "org.ringside.Error.BadFilter"},
	{RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "org.ringside.Error.BadArgument"},
	{RS_TRACE_SESSION_ERROR_BUSY, "org.ringside.Error.Busy"},
	{RS_TRACE_SESSION_ERROR_NOT_READY, "org.ringside.Error.NotReady"},
	{RS_TRACE_SESSION_ERROR_ENDED, "org.ringside.Error.Ended"},
	{RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, "org.ringside.Error.NoSuchThread"},
	{RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, "org.ringside.Error.NoSuchEngine"},
	{RS_TRACE_SESSION_ERROR_NOT_STOPPED, "org.ringside.Error.NotStopped"},
	{RS_TRACE_SESSION_ERROR_NOT_SUPPORTED, "org.ringside.Error.NotSupported"},
};

GQuark rs_trace_session_error_quark(void)
{
	static gsize quark;

	g_dbus_error_register_error_domain("rs-trace-session-error-quark", &quark, entries,
					   G_N_ELEMENTS(entries));
	return (GQuark)quark;
}
