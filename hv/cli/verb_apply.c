/* SPDX-License-Identifier: MIT */
/*
 * A profile for a session that runs. All of it is tried before any of it is done: by requests of an
 * owner that wants no event, so they change nothing, and that goes with this connection. That tells
 * each mistake with its place. What only shows once it is in force, such as filters of all owners
 * that are too large together, is met later: then everything that was done is taken back.
 */
#include "cli/profile.h"
#include "cli/trigger_add.h"
#include "cli/verb.h"
#include "session/session.h"

#include <ringside/region.h>
#include <rs-trace-session-error.h>
#include <signal.h>
#include <unistd.h>

/* The signal that asks for the end; 0: none has. */
static volatile sig_atomic_t asked;

static void on_asked(int signal)
{
	asked = signal;
}

/* From here on a signal takes back what was done, and ends us after that. */
static void defer_signals(bool on)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction action = {.sa_handler = on ? on_asked : SIG_DFL,
					 .sa_flags = SA_RESTART};

	for (guint i = 0; i < G_N_ELEMENTS(signals); i++) {
		struct sigaction now;

		/* One that is ignored stays so, as under nohup. */
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static int check_asked(void)
{
	return asked ? rs_cli_fail(RS_CLI_FAILED, "interrupted: what was done is taken back") : 0;
}

struct applying {
	RsDBusSession1 *session;
	const struct rs_profile *profile;
	bool ahead;
	bool part; /* something was told that failed, and does not count as a failure of it all */
	/* What is to be taken back. */
	bool saved;    /* the session has what the host wished before */
	char *mode;    /* of the rings, before it was changed; NULL: it was not */
	GArray *added; /* of guint32: triggers */
};

/* `nth`: of the actions. Takes `error` over. Returns an exit code. */
static int blame_part(const struct applying *a, const struct rs_profile_item *item,
		      enum rs_profile_part part, guint nth, GError *error)
{
	g_autofree char *message = NULL;
	g_autoptr(GError) shown = NULL;
	bool is_missing;

	rs_trace_client_fix_error(&error);
	is_missing = g_error_matches(error, RS_TRACE_SESSION_ERROR,
				     RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT);
	message = g_strconcat(error->message,
			      is_missing ? " (--ahead keeps it for what comes)" : NULL, NULL);
	rs_profile_blame(a->profile, item, part, nth, message, &shown);
	g_free(error->message);
	error->message = g_strdup(shown->message);
	return rs_cli_fail_gerror(error);
}

/* The same; which part it is of a filter, a trigger or a glob, the error tells. */
static int blame(const struct applying *a, const struct rs_profile_item *item, GError *error)
{
	enum rs_profile_part part = RS_PROFILE_GLOB;

	rs_trace_client_fix_error(&error);
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_BAD_FILTER))
		part = RS_PROFILE_IF;
	else if (!g_error_matches(error, RS_TRACE_SESSION_ERROR,
				  RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT))
		part = item->expression ? RS_PROFILE_IF
		       : item->trigger  ? RS_PROFILE_ALL
					: RS_PROFILE_GLOB;
	return blame_part(a, item, part, 0, error);
}

/* ---- trying ---- */

static GVariant *trial_options(const struct applying *a)
{
	g_autofree char *owner = g_strdup_printf("apply.%d", getpid());
	GVariantDict dict;

	g_variant_dict_init(&dict, NULL);
	g_variant_dict_insert(&dict, "owner", "s", owner);
	g_variant_dict_insert(&dict, "until-disconnect", "b", TRUE);
	if (a->ahead)
		g_variant_dict_insert(&dict, "ahead", "b", TRUE);
	return g_variant_dict_end(&dict);
}

/* Whether an event matches. */
static int try_glob(const struct applying *a, const struct rs_profile_item *item,
		    enum rs_profile_part part, guint nth, const char *glob)
{
	GError *error = NULL;

	if (rs_dbus_session1_call_disable_sync(a->session, glob, trial_options(a), NULL, NULL, NULL,
					       NULL, NULL, &error))
		return RS_CLI_OK;
	return blame_part(a, item, part, nth, error);
}

static int try_filter(const struct applying *a, const struct rs_profile_item *item,
		      const char *glob, const char *expression)
{
	GError *error = NULL;

	if (rs_dbus_session1_call_set_filter_sync(a->session, glob, expression, trial_options(a),
						  NULL, NULL, NULL, NULL, NULL, &error))
		return RS_CLI_OK;
	return blame(a, item, error);
}

static int try_trigger(const struct applying *a, const struct rs_profile_item *item)
{
	const struct rs_trigger_text *text = item->trigger;
	int code;

	code = text->expression ? try_filter(a, item, text->glob, text->expression)
				: try_glob(a, item, RS_PROFILE_GLOB, 0, text->glob);
	for (guint i = 0; i < text->actions->len && code == RS_CLI_OK; i++) {
		const struct rs_trigger_action *action =
			&g_array_index(text->actions, struct rs_trigger_action, i);

		if (action->act == RS_TRIGGER_ENABLE || action->act == RS_TRIGGER_DISABLE)
			code = try_glob(a, item, RS_PROFILE_DO, i, action->arg);
	}
	return code;
}

static int try_globs(const struct applying *a, const GPtrArray *items)
{
	int code = RS_CLI_OK;

	for (guint i = 0; i < items->len && code == RS_CLI_OK; i++) {
		const struct rs_profile_item *item = items->pdata[i];

		code = try_glob(a, item, RS_PROFILE_GLOB, 0, item->glob);
	}
	return code;
}

static int try_all(const struct applying *a)
{
	const struct rs_profile *p = a->profile;
	int code = RS_CLI_OK;

	for (guint i = 0; i < p->filters->len && code == RS_CLI_OK; i++) {
		const struct rs_profile_item *item = p->filters->pdata[i];

		code = try_filter(a, item, item->glob, item->expression);
	}
	if (code == RS_CLI_OK)
		code = try_globs(a, p->enables);
	if (code == RS_CLI_OK)
		code = try_globs(a, p->disables);
	for (guint i = 0; i < p->triggers->len && code == RS_CLI_OK; i++)
		code = try_trigger(a, p->triggers->pdata[i]);
	return code;
}

/* ---- doing ---- */

static int add_trigger(struct applying *a, const struct rs_profile_item *item)
{
	GError *error = NULL;
	guint32 number = rs_cli_add_trigger(a->session, item->trigger, a->ahead, &a->part, &error);

	if (!number)
		return blame(a, item, error);
	g_array_append_val(a->added, number);
	return RS_CLI_OK;
}

/* Last of all: what a trigger does when it fires is not taken back. */
static int add_triggers(struct applying *a)
{
	int code = RS_CLI_OK;

	for (guint i = 0; i < a->profile->triggers->len && code == RS_CLI_OK; i++) {
		code = add_trigger(a, a->profile->triggers->pdata[i]);
		if (code == RS_CLI_OK)
			code = check_asked();
	}
	return code;
}

/* That of the first source: all have the same one. To be freed; NULL: there is no source. */
static char *mode_now(const struct applying *a, GError **error)
{
	g_autoptr(GVariant) sources = NULL, first = NULL;
	char *mode = NULL;

	if (!rs_dbus_session1_call_sources_sync(a->session, rs_trace_client_no_options(), &sources,
						NULL, NULL, error) ||
	    !g_variant_n_children(sources))
		return NULL;
	first = g_variant_get_child_value(sources, 0);
	g_variant_lookup(first, "ring_mode", "s", &mode);
	return mode;
}

static int set_mode(struct applying *a)
{
	const char *mode = a->profile->mode == RS_MODE_DROP ? "drop" : "overwrite";
	g_autofree char *before = NULL;
	GError *error = NULL;

	if (a->profile->mode == RS_PROFILE_ANY_MODE)
		return RS_CLI_OK;
	before = mode_now(a, &error);
	if (error || !rs_dbus_session1_call_set_ring_mode_sync(
			     a->session, mode, rs_trace_client_no_options(), NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	a->mode = g_steal_pointer(&before);
	return RS_CLI_OK;
}

/* Whether a source refused it as a whole. */
static bool was_refused(GVariant *more)
{
	g_autoptr(GVariant) failed = g_variant_lookup_value(more, "failed", G_VARIANT_TYPE("au"));

	return failed && g_variant_n_children(failed);
}

/* Those that were tried. A site may still be refused, or an agent not follow in time. */
static int wish(struct applying *a, const GPtrArray *items)
{
	int code = RS_CLI_OK;

	for (guint i = 0; i < items->len && code == RS_CLI_OK; i++) {
		const struct rs_profile_item *item = items->pdata[i];
		GVariant *options = rs_cli_wish_options(NULL, a->ahead);
		g_autoptr(GVariant) more = NULL;
		g_auto(GStrv) problems = NULL;
		GError *error = NULL;
		gboolean done;

		if (items == a->profile->filters)
			done = rs_dbus_session1_call_set_filter_sync(
				a->session, item->glob, item->expression, options, NULL, NULL,
				&problems, &more, NULL, &error);
		else if (items == a->profile->enables)
			done = rs_dbus_session1_call_enable_sync(a->session, item->glob, options,
								 NULL, NULL, &problems, &more, NULL,
								 &error);
		else
			done = rs_dbus_session1_call_disable_sync(a->session, item->glob, options,
								  NULL, NULL, &problems, &more,
								  NULL, &error);
		if (!done)
			return blame(a, item, error);
		a->part |= rs_cli_tell_problems(problems);
		code = was_refused(more) ? RS_CLI_FAILED : check_asked();
	}
	return code;
}

/* ---- taking back ---- */

static void tell_left(const char *what, GError *error)
{
	rs_trace_client_fix_error(&error);
	rs_cli_fail(RS_CLI_FAILED, "%s could not be taken back: %s", what, error->message);
	g_error_free(error);
}

static void take_back(const struct applying *a)
{
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;

	for (guint i = 0; i < a->added->len; i++) {
		if (!rs_dbus_session1_call_remove_trigger_sync(
			    a->session, g_array_index(a->added, guint32, i),
			    rs_trace_client_no_options(), NULL, NULL, &error))
			tell_left("a trigger", g_steal_pointer(&error));
	}
	if (a->mode && !rs_dbus_session1_call_set_ring_mode_sync(a->session, a->mode,
								 rs_trace_client_no_options(), NULL,
								 NULL, &error))
		tell_left("the rings' mode", g_steal_pointer(&error));
	if (a->saved &&
	    !rs_dbus_session1_call_restore_wishes_sync(a->session, rs_trace_client_no_options(),
						       NULL, NULL, &problems, NULL, NULL, &error))
		tell_left("what is enabled and filtered", error);
	if (problems)
		rs_cli_tell_problems(problems);
}

/* ---- all of it ---- */

static int save(struct applying *a)
{
	GError *error = NULL;

	if (!rs_dbus_session1_call_save_wishes_sync(
		    a->session, RS_OWNER_HOST, rs_trace_client_no_options(), NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	a->saved = true;
	return RS_CLI_OK;
}

static int apply(struct applying *a)
{
	GError *error = NULL;
	int code;

	/* Nobody changes anything in between. It ends with the connection. */
	if (!rs_dbus_session1_call_claim_sync(a->session, rs_trace_client_no_options(), NULL, NULL,
					      &error))
		return rs_cli_fail_gerror(error);
	code = try_all(a);
	if (code != RS_CLI_OK)
		return code;
	defer_signals(true);
	code = save(a);
	if (code == RS_CLI_OK)
		code = wish(a, a->profile->filters);
	if (code == RS_CLI_OK)
		code = wish(a, a->profile->enables);
	if (code == RS_CLI_OK)
		code = wish(a, a->profile->disables);
	if (code == RS_CLI_OK)
		code = set_mode(a);
	if (code == RS_CLI_OK)
		code = add_triggers(a);
	if (code != RS_CLI_OK)
		take_back(a);
	defer_signals(false);
	if (asked)
		raise(asked);
	return code == RS_CLI_OK && a->part ? RS_CLI_FAILED : code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	gboolean ahead = FALSE, check = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"ahead", 'a', 0, G_OPTION_ARG_NONE, &ahead, "Also if no event matches yet", NULL},
		{"check", 'c', 0, G_OPTION_ARG_NONE, &check,
		 "Only look at the file, without a session", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(RsProfile) profile = NULL;
	struct applying a = {.ahead = false};
	int code = RS_CLI_OK;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2)
		return rs_cli_usage(verb, "which file?");
	if (check && (name || argc > 2))
		return rs_cli_usage(verb, "--check looks at a file alone, without a session");
	code = rs_cli_check_name(verb, name, 1, argc, argv);
	if (code)
		return code;
	profile = rs_profile_take(argv[argc - 1], &code);
	if (!profile || check)
		return code;
	session = rs_cli_connect(verb, name, 1, &argc, argv, &code);
	if (!session)
		return code;
	a = (struct applying){.session = session, .profile = profile, .ahead = ahead};
	a.added = g_array_new(FALSE, FALSE, sizeof(guint32));
	code = apply(&a);
	g_array_unref(a.added);
	g_free(a.mode);
	return code;
}

const struct rs_verb rs_verb_apply = {
	.name = "apply",
	.args = "[NAME] FILE",
	.summary = "enable, filter and trigger events as a file says",
	.details = "FILE is a profile, as `run` takes one. If anything of it fails, nothing of "
		   "it is done.\n"
		   "  [events]        enable, disable: globs\n"
		   "  [filter NAME]   events: a glob; if: an expression\n"
		   "  [trigger NAME]  on: a glob; if: an expression; do: actions; count\n"
		   "  [ring]          mode: overwrite or drop",
	.run = run,
};
