/* SPDX-License-Identifier: MIT */
#include "cli/run_faults.h"

#include "cli/event_bell.h"
#include "cli/verb.h"
#include "session/fault.h"
#include "session/faults.h"

#include <rs-trace-error.h>
#include <rs-trace-live.h>
#include <string.h>

#define MARK " @ "
#define NS_PER_MS 1000000u
#define LOOK_MS 2u

struct planned {
	struct rs_run_faults *all;
	char *fault, *when;         /* `when` NULL: at the hello */
	struct rs_event_bell *bell; /* NULL: it waits for no event */
	bool reads;                 /* ignored: its sources stay */
	guint timer;
	bool done;
};

struct rs_run_faults {
	struct rs_session *session;
	GPtrArray *planned; /* of struct planned */
	bool greeted;
	gint64 patient_until; /* g_get_monotonic_time() */
	int code;
};

/* ---- texts ---- */

char *rs_run_faults_split(const char *text, char **when)
{
	const char *mark = strstr(text, MARK);
	char *fault = mark ? g_strndup(text, (gsize)(mark - text)) : g_strdup(text);

	*when = mark ? g_strstrip(g_strdup(mark + strlen(MARK))) : NULL;
	return g_strstrip(fault);
}

static bool is_time(const char *when)
{
	return g_ascii_isdigit(*when);
}

static void on_nothing(void *data)
{
}

bool rs_run_faults_check_when(const char *when, GError **error)
{
	const char *const texts[] = {when, NULL};
	struct rs_event_bell *bell;
	uint64_t ns;

	if (is_time(when) && rs_fault_parse_time(when, &ns))
		return true;
	if (is_time(when) || !*when) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "a time, such as 200ms, or an event is due");
		return false;
	}
	bell = rs_event_bell_new(texts, on_nothing, NULL, error);
	rs_event_bell_free(bell);
	return bell != NULL;
}

int rs_run_faults_check(const struct rs_verb *verb, char **texts)
{
	for (; texts && *texts; texts++) {
		g_autofree char *when = NULL, *fault = rs_run_faults_split(*texts, &when);
		struct rs_filter_error why = {0};
		g_autoptr(GError) error = NULL;
		struct rs_error err = {0};
		struct rs_fault parsed;

		if (rs_fault_parse(fault, &parsed, &why)) {
			rs_fault_blame(fault, &why, &err);
			return rs_cli_fail(RS_CLI_USAGE, "--fault: %s", err.message);
		}
		if (when && !rs_run_faults_check_when(when, &error))
			return rs_cli_fail(RS_CLI_USAGE, "--fault: %s", error->message);
	}
	return 0;
}

/* ---- when it is time ---- */

static void inject(struct planned *planned)
{
	struct rs_error err = {0};
	uint32_t number;

	if (planned->done)
		return;
	planned->done = true;
	if (!rs_session_inject(planned->all->session, NULL, planned->fault, &number, &err))
		return;
	planned->all->code = RS_CLI_FAILED;
	rs_cli_fail(0, "fault '%s': %s", planned->fault, err.message);
}

/* A record that the bell is for. */
static void on_event(void *data)
{
	inject(data);
}

/* Where symbols lie is known once a guest has registered its events, right after its hello. */
static bool has_events(struct rs_session *session)
{
	g_autoptr(GArray) list = rs_session_list(session, "*");

	for (guint i = 0; i < list->len; i++) {
		if (!rs_source_is_host(g_array_index(list, struct rs_session_event, i).source))
			return true;
	}
	return false;
}

static gboolean on_time(gpointer data)
{
	struct planned *planned = data;

	planned->timer = 0;
	if (g_get_monotonic_time() < planned->all->patient_until &&
	    !has_events(planned->all->session))
		planned->timer =
			g_timeout_add_full(G_PRIORITY_HIGH, LOOK_MS, on_time, planned, NULL);
	else
		inject(planned);
	return G_SOURCE_REMOVE;
}

static void watch(struct planned *planned)
{
	const char *const texts[] = {planned->when, NULL};
	const struct rs_session *session = planned->all->session;

	planned->bell = rs_event_bell_new(texts, on_event, planned, NULL);
	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		struct rs_source *source = rs_session_source((struct rs_session *)session, i);

		rs_event_bell_add(planned->bell, rs_source_name(source), rs_source_number(source),
				  rs_source_region(source),
				  rs_trace_live_flags(rs_source_joined(source)), &planned->reads);
	}
	rs_event_bell_start(planned->bell);
}

struct rs_run_faults *rs_run_faults_new(struct rs_session *session, char **texts)
{
	struct rs_run_faults *faults;

	if (!texts || !*texts)
		return NULL;
	faults = g_new0(struct rs_run_faults, 1);
	faults->session = session;
	faults->planned = g_ptr_array_new();
	for (; *texts; texts++) {
		struct planned *planned = g_new0(struct planned, 1);

		planned->all = faults;
		planned->fault = rs_run_faults_split(*texts, &planned->when);
		g_ptr_array_add(faults->planned, planned);
		if (planned->when && !is_time(planned->when))
			watch(planned);
	}
	return faults;
}

void rs_run_faults_hello(struct rs_run_faults *faults, const struct rs_source *source)
{
	/* A guest may boot more than once. */
	if (!faults || faults->greeted || rs_source_joined(source))
		return;
	faults->greeted = true;
	faults->patient_until = g_get_monotonic_time() + RS_SESSION_START_MS * 1000;
	for (guint i = 0; i < faults->planned->len; i++) {
		struct planned *planned = faults->planned->pdata[i];
		uint64_t ns = 0;

		if (planned->bell)
			continue;
		if (planned->when)
			rs_fault_parse_time(planned->when, &ns);
		/* Not out of the session's own call. */
		planned->timer = g_timeout_add_full(G_PRIORITY_HIGH, (guint)(ns / NS_PER_MS),
						    on_time, planned, NULL);
	}
}

/* ---- the end ---- */

static void tell_missed(struct planned *planned)
{
	g_autoptr(GError) error = NULL;

	if (planned->bell && !rs_event_bell_finish(planned->bell, &error))
		rs_cli_fail(0, "fault '%s': %s", planned->fault, error->message);
	else if (planned->bell)
		rs_cli_fail(0, "fault '%s': no record of '%s' was seen", planned->fault,
			    planned->when);
	else
		rs_cli_fail(0, "fault '%s': its time has not come", planned->fault);
}

int rs_run_faults_finish(struct rs_run_faults *faults, bool tell)
{
	int code;

	if (!faults)
		return 0;
	for (guint i = 0; i < faults->planned->len; i++) {
		struct planned *planned = faults->planned->pdata[i];

		g_clear_handle_id(&planned->timer, g_source_remove);
		if (!planned->done && tell) {
			tell_missed(planned);
			faults->code = RS_CLI_FAILED;
		}
		rs_event_bell_free(planned->bell);
		g_free(planned->fault);
		g_free(planned->when);
		g_free(planned);
	}
	code = faults->code;
	g_ptr_array_unref(faults->planned);
	g_free(faults);
	return code;
}
