/* SPDX-License-Identifier: MIT */
/*
 * A guest whose kernel has panicked, in a machine that is not ours. The session goes on: whoever
 * runs the machine may reset it, and until then its rings hold what came before.
 */
#include "session/private.h"

#include <rs-trace-escape.h>

/* Its machine tells that it did, its agent also why. Either may come first, or alone. */
void rs_source_note_panic(struct rs_source *source, const char *why)
{
	g_autofree char *shown = rs_trace_escape(why, -1, NULL);
	bool known = source->panicked;

	if (source->ending || (known && (!*why || *source->panic)))
		return;
	source->panicked = true;
	rs_host_note_panic(source, why);
	g_strlcpy(source->panic, why, sizeof(source->panic));
	rs_source_say(source, "the %s has panicked%s%s", source->machine ? "program" : "guest",
		      *why ? ": " : "", shown);
	/* Any program in a guest may say so, and the machine's own panic must not be missed. */
	if (known || source->machine)
		return;
	source->panics++;
	rs_source_say_panicked(source);
}

uint32_t rs_source_panics(const struct rs_source *source)
{
	return source->panics;
}
