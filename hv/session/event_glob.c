/* SPDX-License-Identifier: MIT */
#include "session/event_glob.h"

#include <errno.h>
#include <rs-trace-escape.h>

int rs_event_glob_check(const char *text, struct rs_error *err)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceEventGlob) glob = rs_trace_event_glob_new(text, &error);

	return glob ? 0 : rs_error_set(err, EINVAL, "%s", error->message);
}

int rs_event_glob_check_names(const char *text, struct rs_error *err)
{
	g_autofree char *wrong = rs_trace_event_glob_misnamed(text), *shown = NULL;

	if (!wrong)
		return 0;
	shown = rs_trace_escape(wrong, -1, NULL);
	return rs_error_set(err, EINVAL, "no event can have a name that '%s' matches", shown);
}
