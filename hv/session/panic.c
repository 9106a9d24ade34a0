/* SPDX-License-Identifier: MIT */
/*
 * A guest whose kernel has panicked, as its machine tells. If the machine is not ours, the session
 * goes on: whoever runs it may reset it, and until then its rings hold what came before.
 */
#include "session/private.h"

#include <rs-trace-escape.h>

static void end_by_panic(struct rs_source *source, const char *why)
{
	struct rs_target_end end = {.reason = RS_END_PANIC};

	g_strlcpy(end.text, *why ? why : "the guest reported a panic to its machine",
		  sizeof(end.text));
	rs_source_set_ended(source, &end);
	source->target->ops->stop(source->target, "the guest has ended");
}

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
	/* Whoever runs a machine that is not ours may go on with it. Ours has ended. */
	if (!source->target->ops->borrowed)
		end_by_panic(source, why);
}

uint32_t rs_source_panics(const struct rs_source *source)
{
	return source->panics;
}
