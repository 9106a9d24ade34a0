/* SPDX-License-Identifier: MIT */
#include "cli/choice.h"

#include "filter/filter.h"

#include <rs-trace-escape.h>
#include <string.h>

bool rs_cli_choice_is_made(const struct rs_cli_choice *choice)
{
	static const struct rs_cli_choice nothing;

	return memcmp(choice, &nothing, sizeof(nothing)) != 0;
}

int rs_cli_choice_take(const struct rs_cli_choice *choice, RsTraceSelection **selection)
{
	const RsTraceSelectionConfig config = {
		.filters = (const char *const *)choice->filters,
		.cpus = choice->cpus,
		.pids = choice->pids,
		.comm = choice->comm,
		.events = choice->events,
		.from = choice->from,
		.until = choice->until,
	};
	g_autoptr(GError) error = NULL;

	*selection = NULL;
	if (!rs_cli_choice_is_made(choice))
		return RS_CLI_OK;
	*selection = rs_trace_selection_new(&config, &error);
	for (char **text = choice->filters; *selection && text && *text; text++) {
		g_autofree char *glob = NULL, *expression = NULL;

		if (rs_filter_split(*text, &glob, &expression))
			rs_cli_tell_doubt(expression);
	}
	return *selection ? RS_CLI_OK : rs_cli_fail(RS_CLI_USAGE, "%s", error->message);
}

bool rs_cli_choice_wants(RsTraceSelection *selection, const RsTraceRecord *record,
			 const RsTraceTask *task)
{
	g_autoptr(GError) error = NULL;
	bool was_over, wanted;

	if (!selection)
		return true;
	was_over = rs_trace_selection_is_over(selection);
	wanted = rs_trace_selection_matches(selection, record, task);
	/* The events may still come that a filter fits, but of this one somebody must know now. */
	if (!was_over && rs_trace_selection_is_over(selection) &&
	    !rs_trace_selection_finish(selection, &error))
		rs_cli_fail(0, "%s", error->message);
	return wanted;
}

int rs_cli_choice_finish(const RsTraceSelection *selection, int code)
{
	const char *unmet = selection ? rs_trace_selection_unmet(selection) : NULL;
	g_autoptr(GError) error = NULL;

	if (unmet && !code) {
		g_autofree char *shown = rs_trace_escape(unmet, -1, NULL);

		rs_cli_fail(0, "no event came that matches '%s'", shown);
	}
	if (code || !selection || rs_trace_selection_finish(selection, &error))
		return code;
	if (rs_trace_selection_is_over(selection))
		return RS_CLI_USAGE; /* and it has been said */
	rs_cli_fail(0, "%s", error->message);
	return RS_CLI_OK;
}

void rs_cli_choice_expect(const struct rs_cli_choice *choice, struct rs_cli_input *input)
{
	rs_cli_input_expect(input, choice->events);
	for (char **text = choice->filters; text && *text; text++) {
		g_autofree char *glob = NULL, *expression = NULL;

		if (rs_filter_split(*text, &glob, &expression))
			rs_cli_input_expect(input, glob);
	}
}

void rs_cli_choice_clear(struct rs_cli_choice *choice)
{
	g_strfreev(choice->filters);
	g_free(choice->cpus);
	g_free(choice->pids);
	g_free(choice->comm);
	g_free(choice->events);
	g_free(choice->from);
	g_free(choice->until);
}
