/* SPDX-License-Identifier: MIT */
#include "cli/ends.h"

#include "base/output.h"
#include "cli/verb.h"

#include <json-glib/json-glib.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>

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

const char *rs_ends_name(struct rs_session *session, const struct rs_source *source)
{
	guint started = 0;

	for (guint i = 0; i < rs_session_n_sources(session); i++)
		started += !rs_source_joined(rs_session_source(session, i));
	return started > 1 ? rs_source_name(source) : "the guest";
}

struct rs_source *rs_ends_first(struct rs_session *session)
{
	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		struct rs_source *source = rs_session_source(session, i);

		if (!rs_source_joined(source) && !rs_source_is_host(source))
			return source;
	}
	return NULL;
}

/*
 * Only of a guest that was stopped: when one has ended by itself we see somewhat later, and what it
 * did not do in between is no fault of its own.
 */
static uint64_t until_ns(struct rs_source *source, gint64 ran_us)
{
	const uint64_t origin = rs_source_region(source)->header.origin_ns;
	const uint64_t ns = (uint64_t)ran_us * 1000;

	return ran_us && ns > origin ? ns - origin : 0;
}

int rs_ends_write(const char *path, const struct rs_target_end *end,
		  const struct rs_ends_result *result)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = rs_trace_escape(end ? end->text : "", -1, NULL), *json = NULL;
	int ret;

	json_builder_begin_object(builder);
	rs_cli_add_text(builder, "end", end ? rs_end_reason_name(end->reason) : "");
	rs_cli_add_number(builder, "code",
			  end && end->reason == RS_END_EXIT ? (uint64_t)end->code : 0);
	rs_cli_add_text(builder, "text", text);
	json_builder_set_member_name(builder, "over");
	json_builder_add_boolean_value(builder, result->over);
	rs_cli_add_text(builder, "signal", result->signalled ? rs_ends_why(result->signalled) : "");
	json_builder_set_member_name(builder, "agent");
	json_builder_add_boolean_value(builder, result->agent);
	json_builder_set_member_name(builder, "matched");
	json_builder_add_boolean_value(builder, result->matched);
	json_builder_set_member_name(builder, "core");
	json_builder_add_boolean_value(builder, result->core);
	rs_cli_add_number(builder, "until_ns", result->until_ns);
	rs_cli_add_number(builder, "lost_no_ring", result->lost_no_ring);
	rs_cli_add_number(builder, "lost_nested", result->lost_nested);
	rs_cli_add_number(builder, "console_unread", result->console_unread);
	json_builder_end_object(builder);
	root = json_builder_get_root(builder);
	json = json_to_string(root, FALSE);
	ret = rs_output_write_file(path, json, strlen(json));
	return ret ? rs_cli_fail(RS_CLI_FAILED, "%s: %s", path, g_strerror(-ret)) : RS_CLI_OK;
}

int rs_ends_write_first(const char *path, struct rs_session *session, gint64 ran_us,
			struct rs_ends_result *result)
{
	struct rs_source *source = rs_ends_first(session);
	struct rs_source_stat stat;

	rs_session_stat(session, &stat);
	result->core = rs_session_has_core(session);
	result->until_ns = source ? until_ns(source, ran_us) : 0;
	result->lost_no_ring = stat.lost_no_ring;
	result->lost_nested = stat.lost_nested;
	result->console_unread = stat.target.console_waiting + stat.target.console_lost;
	return rs_ends_write(path, source ? rs_source_end(source) : NULL, result);
}
