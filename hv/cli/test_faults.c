/* SPDX-License-Identifier: MIT */
#include "cli/test_faults.h"

#include "cli/run_faults.h"
#include "session/fault.h"
#include "session/faults.h"

#include <string.h>

/* Between a fault and its event. */
#define MARK " @ "

static bool check_fault(const RsTraceSpec *spec, const char *group, const char *text,
			struct rs_test_faults *out, GError **error)
{
	struct rs_filter_error why = {0};
	struct rs_fault fault;

	if (strstr(text, MARK)) {
		rs_trace_spec_blame(spec, group, "inject", error,
				    "when it is injected is said by 'at' or 'on'");
		return false;
	}
	if (rs_fault_parse(text, &fault, &why)) {
		rs_trace_spec_blame_part(spec, group, "inject", text, why.at, why.length,
					 why.message, error);
		return false;
	}
	out->kills |= fault.kind == RS_FAULT_KILL;
	return true;
}

/* *when: a time, or an event; NULL: neither is there. */
static bool read_when(const RsTraceSpec *spec, const char *group, char **when, GError **error)
{
	const bool at = rs_trace_spec_has(spec, group, "at"),
		   on = rs_trace_spec_has(spec, group, "on");
	const char *key = at ? "at" : "on";
	g_autofree char *text = NULL;
	g_autoptr(GError) why = NULL;

	*when = NULL;
	if (!at && !on)
		return true;
	if (at && on) {
		rs_trace_spec_blame(spec, group, "on", error, "'at' says already when");
		return false;
	}
	text = rs_trace_spec_get(spec, group, key, error);
	if (!text)
		return false;
	if (at != g_ascii_isdigit(*text)) {
		rs_trace_spec_blame(spec, group, key, error, "%s is due",
				    at ? "a time after the agent's hello, such as 200ms"
				       : "an event, such as sched:switch");
		return false;
	}
	if (!rs_run_faults_check_when(text, &why)) {
		rs_trace_spec_blame(spec, group, key, error, "%s", why->message);
		return false;
	}
	*when = g_steal_pointer(&text);
	return true;
}

static bool read_one(const RsTraceSpec *spec, const char *group, struct rs_test_faults *out,
		     GError **error)
{
	g_autofree char *text = NULL, *when = NULL;

	if (!rs_trace_spec_has(spec, group, "inject")) {
		rs_trace_spec_blame(spec, group, NULL, error, "which fault? inject is missing");
		return false;
	}
	text = rs_trace_spec_get(spec, group, "inject", error);
	if (!text || !check_fault(spec, group, text, out, error) ||
	    !read_when(spec, group, &when, error))
		return false;
	g_ptr_array_add(out->options,
			when ? g_strconcat(text, MARK, when, NULL) : g_steal_pointer(&text));
	return true;
}

bool rs_test_faults_read(const RsTraceSpec *spec, struct rs_test_faults *out, GError **error)
{
	g_auto(GStrv) names = rs_trace_spec_named(spec, "fault");
	bool good = true;

	out->options = g_ptr_array_new_with_free_func(g_free);
	out->kills = false;
	for (char **name = names; *name && good; name++) {
		g_autofree char *group = g_strconcat("fault ", *name, NULL);

		good = read_one(spec, group, out, error);
	}
	return good;
}

void rs_test_faults_clear(struct rs_test_faults *faults)
{
	g_clear_pointer(&faults->options, g_ptr_array_unref);
}

bool rs_test_faults_killed(const char *end, const char *text)
{
	return !g_strcmp0(end, "killed") && !g_strcmp0(text, RS_FAULT_KILL_WHY);
}
