/* SPDX-License-Identifier: MIT */
#include "session/dbus-error.h"

#include <errno.h>
#include <gio/gio.h>

static const GDBusErrorEntry entries[] = {
	{RS_SESSION_ERROR_FAILED, "org.ringside.Error.Failed"},
	{RS_SESSION_ERROR_NO_SUCH_EVENT, "org.ringside.Error.NoSuchEvent"},
	{RS_SESSION_ERROR_BAD_FILTER, "org.ringside.Error.BadFilter"},
	{RS_SESSION_ERROR_BAD_ARGUMENT, "org.ringside.Error.BadArgument"},
	{RS_SESSION_ERROR_BUSY, "org.ringside.Error.Busy"},
	{RS_SESSION_ERROR_NOT_READY, "org.ringside.Error.NotReady"},
	{RS_SESSION_ERROR_ENDED, "org.ringside.Error.Ended"},
};

GQuark rs_session_error_quark(void)
{
	static gsize quark;

	g_dbus_error_register_error_domain("rs-session-error-quark", &quark, entries,
					   G_N_ELEMENTS(entries));
	return (GQuark)quark;
}

GError *rs_session_error_from(const struct rs_error *err)
{
	/* D-Bus carries UTF-8 only; a path in a message may be anything. */
	g_autofree char *text = g_utf8_make_valid(err->message, -1);
	RsSessionError code;

	switch (err->code) {
	case ENOENT:
		code = RS_SESSION_ERROR_NO_SUCH_EVENT;
		break;
	case EBADMSG:
		code = RS_SESSION_ERROR_BAD_FILTER;
		break;
	case EINVAL:
		code = RS_SESSION_ERROR_BAD_ARGUMENT;
		break;
	case EBUSY:
		code = RS_SESSION_ERROR_BUSY;
		break;
	case EAGAIN:
		code = RS_SESSION_ERROR_NOT_READY;
		break;
	case ESHUTDOWN:
		code = RS_SESSION_ERROR_ENDED;
		break;
	default:
		code = RS_SESSION_ERROR_FAILED;
	}
	return g_error_new_literal(RS_SESSION_ERROR, code, text);
}
