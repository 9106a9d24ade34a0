/* SPDX-License-Identifier: MIT */
#include "cli/ends.h"

#include "cli/verb.h"
#include <rs-trace-escape.h>
#include <signal.h>

const char *rs_ends_why(int signal)
{
	switch (signal) {
	case SIGINT:
		return "interrupted";
	case SIGTERM:
		return "terminated";
	case SIGHUP:
		return "the terminal went away";
	}
	return NULL;
}

bool rs_ends_by_shared_signal(const struct rs_target_end *end)
{
	return end->reason == RS_END_FAULT && rs_ends_why(end->signal);
}

static int tell_exit(const struct rs_target_end *end, const struct rs_ends_view *view)
{
	if (!end->code || view->propagate)
		return end->code;
	return rs_cli_fail(RS_CLI_GUEST_CODE, "%s ended with exit code %d", view->name, end->code);
}

static int tell_stop(const struct rs_ends_view *view, const char *colon, const char *text)
{
	if (!view->quiet)
		rs_cli_fail(0, "%s was stopped%s%s", view->name, colon, text);
	return RS_CLI_OK;
}

int rs_ends_tell(const struct rs_target_end *end, const struct rs_ends_view *view)
{
	/*
	 * The guest's text stays on one line. A second line could be taken for a message of ours.
	 */
	g_autofree char *text = rs_trace_escape(end->text, -1, NULL);
	const char *colon = *text ? ": " : "";

	switch (end->reason) {
	case RS_END_EXIT:
		return tell_exit(end, view);
	case RS_END_KILLED:
		/* If we stopped the guest, this is no failure. */
		if (!view->stopping && !*text)
			return rs_cli_fail(RS_CLI_GUEST, "%s was killed", view->name);
		return tell_stop(view, colon, text);
	case RS_END_PANIC:
		return rs_cli_fail(RS_CLI_GUEST, "%s panicked: %s", view->name, text);
	case RS_END_TRIPLE_FAULT:
		return rs_cli_fail(RS_CLI_GUEST, "%s: its CPU shut down (triple fault)%s%s",
				   view->name, colon, text);
	case RS_END_RESET:
		return rs_cli_fail(RS_CLI_GUEST, "%s reset the machine%s%s", view->name, colon,
				   text);
	case RS_END_GONE:
		/* Its owner may have ended it; that is no error of anybody's. */
		return rs_cli_fail(RS_CLI_GUEST, "%s has ended%s%s", view->name, colon, text);
	case RS_END_FAULT:
		break;
	}
	/* One signal has ended both the program and us. */
	if (rs_ends_by_shared_signal(end) && end->signal == view->signalled)
		return tell_stop(view, ": ", rs_ends_why(end->signal));
	return rs_cli_fail(RS_CLI_GUEST, "%s could not go on%s%s", view->name, colon, text);
}
