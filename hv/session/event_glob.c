/* SPDX-License-Identifier: MIT */
#include "session/event_glob.h"

#include <string.h>

struct rs_event_glob *rs_event_glob_new(const char *text)
{
	struct rs_event_glob *glob = g_new0(struct rs_event_glob, 1);
	const char *slash = strchr(text, '/');

	if (slash) {
		g_autofree char *source = g_strndup(text, (gsize)(slash - text));

		glob->source = rs_trace_glob_new(source);
		if (!glob->source)
			return glob;
	}
	glob->event = rs_trace_glob_new(slash ? slash + 1 : text);
	return glob;
}

void rs_event_glob_free(struct rs_event_glob *glob)
{
	if (!glob)
		return;
	rs_trace_glob_free(glob->source);
	rs_trace_glob_free(glob->event);
	g_free(glob);
}

bool rs_event_glob_matches(const struct rs_event_glob *glob, const char *source,
			   const RsTraceEvent *event)
{
	return glob->event && (!glob->source || rs_trace_glob_matches(glob->source, source)) &&
	       rs_trace_glob_matches_event(glob->event, event);
}
