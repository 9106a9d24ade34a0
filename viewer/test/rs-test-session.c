/* SPDX-License-Identifier: MIT */
/* What a guest's session is asked for, over D-Bus. */
#include "rs-test-guest-private.h"

#include "filter/rs-trace-event-glob.h"

#include <rs-trace-glob.h>

/* ---- the connection ---- */

/* A source that the session itself has started, and whose agent has reported. */
static gboolean has_reported(RsDBusSession1 *session)
{
	g_autoptr(GPtrArray) sources = rs_trace_client_sources(session, NULL);

	for (guint i = 0; sources && i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];

		if (!source->joined && !g_str_equal(source->state, "waiting"))
			return TRUE;
	}
	return FALSE;
}

/* It has ended before anybody could ask it. */
static gboolean judge_early_end(RsTestGuest *guest, GError **error)
{
	g_autofree char *path = g_build_filename(guest->folder, RS_TEST_TRACE, NULL);

	if (rs_test_trace_has_agent(path))
		return TRUE;
	if (rs_test_run_check(guest, error))
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NOT_RUN,
			    "it ended before its agent reported (%s)", guest->end_text);
	return FALSE;
}

gboolean rs_test_session_connect(RsTestGuest *guest, GError **error)
{
	const gint64 deadline = rs_test_deadline(2 * RS_TEST_SILENT_MS);

	do {
		if (rs_test_run_has_ended(guest))
			return judge_early_end(guest, error);
		if (!guest->session)
			guest->session = rs_trace_client_connect_within(guest->session_name,
									RS_TEST_SILENT_MS, NULL);
		if (guest->session && has_reported(guest->session))
			return TRUE;
	} while (rs_test_pause(guest, deadline));
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_TIMEOUT,
		    "its agent did not report within %u s", 2 * RS_TEST_SILENT_MS / 1000);
	return FALSE;
}

RsDBusSession1 *rs_test_session_get(RsTestGuest *guest, GError **error)
{
	if (!rs_test_is_booted(guest, error))
		return NULL;
	if (!rs_test_run_has_ended(guest) && guest->session)
		return guest->session;
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_ENDED, "the guest has ended (%s)",
		    guest->end_text ? guest->end_text : "its session did");
	return NULL;
}

/* ---- events ---- */

/* What could not be done, as lines. Returns whether there is nothing. */
static gboolean check_problems(GStrv problems, GError **error)
{
	g_autofree char *lines = problems ? g_strjoinv("\n", problems) : NULL;

	if (!lines || !*lines)
		return TRUE;
	g_set_error_literal(error, RS_TEST_ERROR, RS_TEST_ERROR_FAILED, lines);
	return FALSE;
}

static gboolean add_wish(RsTestGuest *guest, const char *glob, gboolean on, GError **error)
{
	GError *why = NULL;
	RsTraceEventGlob *parsed = rs_trace_event_glob_new(glob, &why);
	RsTestWish *wish;

	if (!parsed)
		return rs_test_fail(error, why);
	wish = g_new(RsTestWish, 1);
	wish->glob = parsed;
	wish->on = on;
	g_ptr_array_add(guest->wishes, wish);
	return TRUE;
}

gboolean rs_test_guest_enable(RsTestGuest *guest, const char *glob, GError **error)
{
	g_auto(GStrv) problems = NULL;
	RsDBusSession1 *session;
	GError *why = NULL;
	guint touched;
	gboolean pending;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && glob, FALSE);
	if (!guest->has_booted) {
		g_ptr_array_add(guest->globs, g_strdup(glob));
		return add_wish(guest, glob, TRUE, error);
	}
	session = rs_test_session_get(guest, error);
	if (!session)
		return FALSE;
	if (!rs_dbus_session1_call_enable_sync(session, glob, rs_trace_client_no_options(),
					       &touched, &pending, &problems, NULL, NULL, &why))
		return rs_test_fail(error, why);
	return add_wish(guest, glob, TRUE, error) && check_problems(problems, error);
}

gboolean rs_test_guest_disable(RsTestGuest *guest, const char *glob, GError **error)
{
	g_auto(GStrv) problems = NULL;
	RsDBusSession1 *session;
	GError *why = NULL;
	guint touched;
	gboolean pending;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && glob, FALSE);
	session = rs_test_session_get(guest, error);
	if (!session)
		return FALSE;
	if (!rs_dbus_session1_call_disable_sync(session, glob, rs_trace_client_no_options(),
						&touched, &pending, &problems, NULL, NULL, &why))
		return rs_test_fail(error, why);
	return add_wish(guest, glob, FALSE, error) && check_problems(problems, error);
}

gboolean rs_test_guest_filter(RsTestGuest *guest, const char *glob, const char *expression,
			      GError **error)
{
	g_auto(GStrv) problems = NULL;
	RsDBusSession1 *session;
	GError *why = NULL;
	guint touched;
	gboolean pending;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && glob && expression, FALSE);
	if (!guest->has_booted) {
		g_autofree char *both = g_strconcat(glob, ": ", expression, NULL);
		g_autoptr(RsTraceMatch) match = rs_trace_match_new(both, &why);

		if (!match)
			return rs_test_fail(error, why);
		g_ptr_array_add(guest->filters, g_steal_pointer(&both));
		return TRUE;
	}
	session = rs_test_session_get(guest, error);
	if (!session)
		return FALSE;
	if (!rs_dbus_session1_call_set_filter_sync(session, glob, expression,
						   rs_trace_client_no_options(), &touched, &pending,
						   &problems, NULL, NULL, &why))
		return rs_test_fail(error, why);
	return check_problems(problems, error);
}

/* ---- faults ---- */

gboolean rs_test_guest_inject(RsTestGuest *guest, const char *fault, guint *number, GError **error)
{
	g_autoptr(GVariant) answer = NULL, first = NULL;
	RsDBusSession1 *session;
	GError *why = NULL;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && fault, FALSE);
	session = rs_test_session_get(guest, error);
	if (!session)
		return FALSE;
	answer = g_dbus_proxy_call_sync(
		G_DBUS_PROXY(session), "Inject",
		g_variant_new("(s@a{sv})", fault, rs_trace_client_no_options()),
		G_DBUS_CALL_FLAGS_NONE, -1, NULL, &why);
	if (!answer)
		return rs_test_fail(error, why);
	if (g_variant_n_children(answer))
		first = g_variant_get_child_value(answer, 0);
	if (number)
		*number = first && g_variant_is_of_type(first, G_VARIANT_TYPE_UINT32)
				  ? g_variant_get_uint32(first)
				  : 0;
	return TRUE;
}

/* ---- threads ---- */

guint rs_test_guest_find_thread(RsTestGuest *guest, const char *name, GError **error)
{
	g_autoptr(GVariant) rows = NULL;
	g_autoptr(RsTraceGlob) glob = NULL;
	RsDBusSession1 *session;
	GError *why = NULL;
	guint32 found = 0;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest) && name, 0);
	session = rs_test_session_get(guest, error);
	if (!session)
		return 0;
	glob = rs_trace_name_glob_new(name, &why);
	if (!glob || !rs_dbus_session1_call_threads_sync(session, rs_trace_client_no_options(),
							 &rows, NULL, NULL, &why)) {
		rs_test_fail(error, why);
		return 0;
	}
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
		const char *comm = "", *state = "";
		guint32 id = 0;

		g_variant_lookup(row, "id", "u", &id);
		g_variant_lookup(row, "comm", "&s", &comm);
		g_variant_lookup(row, "state", "&s", &state);
		if (id && (!found || id < found) && g_str_equal(state, "alive") &&
		    rs_trace_glob_matches(glob, comm))
			found = id;
	}
	if (!found)
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NO_SUCH_THREAD,
			    "the guest has no thread '%s'", name);
	return found;
}

static guint32 engine_of(const RsTestGuest *guest, guint thread)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(guest->engines, GUINT_TO_POINTER(thread)));
}

/* Its state in the list, or "" if it is not there. Freed. */
static char *state_of(RsDBusSession1 *session, guint32 engine, GError **error)
{
	g_autoptr(GVariant) rows = NULL;

	if (!rs_dbus_session1_call_engine_list_sync(session, rs_trace_client_no_options(), &rows,
						    NULL, NULL, error))
		return NULL;
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
		char *state = NULL;
		guint32 number = 0;

		if (g_variant_lookup(row, "engine", "u", &number) && number == engine &&
		    g_variant_lookup(row, "state", "s", &state))
			return state;
	}
	return g_strdup("");
}

static gboolean control(RsDBusSession1 *session, guint32 engine, const char *action, GError **error)
{
	return rs_dbus_session1_call_engine_control_sync(
		session, engine, action, rs_trace_client_no_options(), NULL, NULL, error);
}

static gboolean wait_for_stop(RsTestGuest *guest, RsDBusSession1 *session, guint32 engine,
			      GError **error)
{
	const gint64 deadline = rs_test_deadline(RS_TEST_SILENT_MS);

	do {
		g_autofree char *state = state_of(session, engine, error);

		if (!state || g_str_equal(state, "stopped"))
			return state != NULL;
		if (!g_str_equal(state, "running")) {
			g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NO_SUCH_THREAD,
				    "the thread has died");
			return FALSE;
		}
	} while (rs_test_pause(guest, deadline));
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_TIMEOUT,
		    "the thread did not stop within %u s", RS_TEST_SILENT_MS / 1000);
	return FALSE;
}

gboolean rs_test_guest_stop_thread(RsTestGuest *guest, guint thread, GError **error)
{
	RsDBusSession1 *session;
	GError *why = NULL;
	guint32 engine;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), FALSE);
	session = rs_test_session_get(guest, error);
	if (!session)
		return FALSE;
	if (engine_of(guest, thread)) {
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_WRONG_TIME,
			    "thread %u is held already", thread);
		return FALSE;
	}
	if (!rs_dbus_session1_call_engine_attach_sync(
		    session, thread, 0, rs_trace_client_no_options(), &engine, NULL, NULL, &why))
		return rs_test_fail(error, why);
	if (control(session, engine, "interrupt", &why) &&
	    wait_for_stop(guest, session, engine, &why)) {
		g_hash_table_insert(guest->engines, GUINT_TO_POINTER(thread),
				    GUINT_TO_POINTER(engine));
		return TRUE;
	}
	control(session, engine, "detach", NULL);
	return rs_test_fail(error, why);
}

gboolean rs_test_guest_resume_thread(RsTestGuest *guest, guint thread, GError **error)
{
	RsDBusSession1 *session;
	GError *why = NULL;
	guint32 engine;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), FALSE);
	session = rs_test_session_get(guest, error);
	if (!session)
		return FALSE;
	engine = engine_of(guest, thread);
	if (!engine) {
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_NO_SUCH_THREAD,
			    "thread %u is not held", thread);
		return FALSE;
	}
	g_hash_table_remove(guest->engines, GUINT_TO_POINTER(thread));
	return control(session, engine, "detach", &why) || rs_test_fail(error, why);
}
