/* SPDX-License-Identifier: MIT */
#include "session/event_glob.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>

int rs_event_glob_check(const char *text, struct rs_error *err)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceEventGlob) glob = rs_trace_event_glob_new(text, &error);

	return glob ? 0 : rs_error_set(err, EINVAL, "%s", error->message);
}

/* What no name of a system or event has makes the glob match none. */
static bool may_match(const char *part)
{
	const char *at = strchr(part, '/');
	guint colons = 0;

	for (at = at ? at + 1 : part; *at && *at != RS_TRACE_EVENT_GLOB_SELECT; at++) {
		const char *end = *at == '[' ? strchr(at + 1, ']') : NULL;

		if (end)
			at = end;
		else if (*at == ':' && !colons)
			colons++;
		else if (!g_ascii_isalnum(*at) && !strchr("_-.*?\\", *at))
			return false;
	}
	return true;
}

int rs_event_glob_check_names(const char *text, struct rs_error *err)
{
	g_auto(GStrv) parts = rs_trace_event_glob_parts(text);

	for (char **part = parts; *part; part++) {
		g_autofree char *shown = NULL;

		if (may_match(*part + (**part == '!')))
			continue;
		shown = rs_trace_escape(*part, -1, NULL);
		return rs_error_set(err, EINVAL, "no event can have a name that '%s' matches",
				    shown);
	}
	return 0;
}
