/* SPDX-License-Identifier: MIT */
/*
 * A profile for a session that runs. All of it is tried before any of it is done: by requests of an
 * owner that wants no event, so they change nothing, and that goes with this connection.
 */
#include "cli/profile.h"
#include "cli/trigger_add.h"
#include "cli/verb.h"
#include "session/trigger_text.h"

#include <ringside/region.h>
#include <rs-trace-session-error.h>
#include <unistd.h>

struct applying {
	RsDBusSession1 *session;
	const struct rs_profile *profile;
	bool ahead;
	GArray *added; /* of guint32: triggers */
};

/* Takes `error` over. Returns an exit code. */
static int blame(const struct applying *a, const struct rs_profile_item *item, GError *error)
{
	const bool is_missing = g_error_matches(error, RS_TRACE_SESSION_ERROR,
						RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT);
	g_autoptr(GError) shown = NULL;
	int code;

	rs_trace_client_fix_error(&error);
	rs_trace_spec_blame(a->profile->spec, item->group, item->key, &shown, "%s%s",
			    error->message, is_missing ? " (--ahead keeps it for what comes)" : "");
	g_free(error->message);
	error->message = g_strdup(shown->message);
	code = rs_cli_fail_gerror(error);
	return code;
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
static int try_glob(const struct applying *a, const struct rs_profile_item *item, const char *glob)
{
	GError *error = NULL;

	if (rs_dbus_session1_call_disable_sync(a->session, glob, trial_options(a), NULL, NULL, NULL,
					       NULL, NULL, &error))
		return RS_CLI_OK;
	return blame(a, item, error);
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
	struct rs_trigger_text *text;
	struct rs_error err = {0};
	int code;

	if (rs_trigger_text_parse(item->text, &text, &err))
		return rs_cli_fail_error(&err);
	code = text->expression ? try_filter(a, item, text->glob, text->expression)
				: try_glob(a, item, text->glob);
	for (guint i = 0; i < text->actions->len && code == RS_CLI_OK; i++) {
		const struct rs_trigger_action *action =
			&g_array_index(text->actions, struct rs_trigger_action, i);

		if (action->act == RS_TRIGGER_ENABLE || action->act == RS_TRIGGER_DISABLE)
			code = try_glob(a, item, action->arg);
	}
	rs_trigger_text_free(text);
	return code;
}

static int try_all(const struct applying *a)
{
	const struct rs_profile *p = a->profile;
	int code = RS_CLI_OK;

	for (guint i = 0; i < p->filters->len && code == RS_CLI_OK; i++) {
		const struct rs_profile_item *item = p->filters->pdata[i];

		code = try_filter(a, item, item->glob, rs_profile_expression(item));
	}
	for (guint i = 0; i < p->enables->len && code == RS_CLI_OK; i++)
		code = try_glob(a, p->enables->pdata[i],
				((const struct rs_profile_item *)p->enables->pdata[i])->glob);
	for (guint i = 0; i < p->disables->len && code == RS_CLI_OK; i++)
		code = try_glob(a, p->disables->pdata[i],
				((const struct rs_profile_item *)p->disables->pdata[i])->glob);
	for (guint i = 0; i < p->triggers->len && code == RS_CLI_OK; i++)
		code = try_trigger(a, p->triggers->pdata[i]);
	return code;
}

/* ---- doing ---- */

static int add_trigger(struct applying *a, const struct rs_profile_item *item)
{
	g_autoptr(GPtrArray) actions = g_ptr_array_new_with_free_func(g_free);
	struct rs_trigger_text *text;
	struct rs_error err = {0};
	GError *error = NULL;
	guint32 number;

	if (rs_trigger_text_parse(item->text, &text, &err))
		return rs_cli_fail_error(&err);
	for (guint i = 0; i < text->actions->len; i++)
		g_ptr_array_add(actions, rs_trigger_action_format(&g_array_index(
						 text->actions, struct rs_trigger_action, i)));
	g_ptr_array_add(actions, NULL);
	number = rs_cli_add_trigger(a->session, text->event, (char **)actions->pdata,
				    (guint32)text->count, a->ahead, &error);
	rs_trigger_text_free(text);
	if (!number)
		return blame(a, item, error);
	g_array_append_val(a->added, number);
	return RS_CLI_OK;
}

/* First what may still be refused, for want of room, and can be taken back. */
static int add_triggers(struct applying *a)
{
	int code = RS_CLI_OK;

	for (guint i = 0; i < a->profile->triggers->len && code == RS_CLI_OK; i++)
		code = add_trigger(a, a->profile->triggers->pdata[i]);
	for (guint i = 0; i < a->added->len && code != RS_CLI_OK; i++)
		rs_dbus_session1_call_remove_trigger_sync(
			a->session, g_array_index(a->added, guint32, i),
			rs_trace_client_no_options(), NULL, NULL, NULL);
	return code;
}

static int set_mode(const struct applying *a)
{
	const char *mode = a->profile->mode == RS_MODE_DROP ? "drop" : "overwrite";
	GError *error = NULL;

	if (a->profile->mode == RS_PROFILE_ANY_MODE ||
	    rs_dbus_session1_call_set_ring_mode_sync(a->session, mode, rs_trace_client_no_options(),
						     NULL, NULL, &error))
		return RS_CLI_OK;
	return rs_cli_fail_gerror(error);
}

/* One that was tried. A part of it may still fail, for a guest that does not answer. */
static int wish(const struct applying *a, const GPtrArray *items, bool *part)
{
	int code = RS_CLI_OK;

	for (guint i = 0; i < items->len && code == RS_CLI_OK; i++) {
		const struct rs_profile_item *item = items->pdata[i];
		GVariant *options = rs_cli_wish_options(NULL, a->ahead);
		g_auto(GStrv) problems = NULL;
		GError *error = NULL;
		gboolean done;

		if (items == a->profile->filters)
			done = rs_dbus_session1_call_set_filter_sync(
				a->session, item->glob, rs_profile_expression(item), options, NULL,
				NULL, &problems, NULL, NULL, &error);
		else if (items == a->profile->enables)
			done = rs_dbus_session1_call_enable_sync(a->session, item->glob, options,
								 NULL, NULL, &problems, NULL, NULL,
								 &error);
		else
			done = rs_dbus_session1_call_disable_sync(a->session, item->glob, options,
								  NULL, NULL, &problems, NULL, NULL,
								  &error);
		code = done ? RS_CLI_OK : blame(a, item, error);
		*part |= done && rs_cli_tell_problems(problems);
	}
	return code;
}

static int apply(struct applying *a)
{
	GError *error = NULL;
	bool part = false;
	int code;

	/* Nobody changes anything in between. It ends with the connection. */
	if (!rs_dbus_session1_call_claim_sync(a->session, rs_trace_client_no_options(), NULL, NULL,
					      &error))
		return rs_cli_fail_gerror(error);
	code = try_all(a);
	if (code == RS_CLI_OK)
		code = add_triggers(a);
	if (code == RS_CLI_OK)
		code = set_mode(a);
	if (code == RS_CLI_OK)
		code = wish(a, a->profile->filters, &part);
	if (code == RS_CLI_OK)
		code = wish(a, a->profile->enables, &part);
	if (code == RS_CLI_OK)
		code = wish(a, a->profile->disables, &part);
	return code == RS_CLI_OK && part ? RS_CLI_FAILED : code;
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
	profile = rs_profile_take(argv[argc - 1], &code);
	if (!profile || check)
		return code;
	session = rs_cli_connect(verb, name, 1, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 2)
		return rs_cli_usage(verb, "too many arguments");
	a = (struct applying){.session = session, .profile = profile, .ahead = ahead};
	a.added = g_array_new(FALSE, FALSE, sizeof(guint32));
	code = apply(&a);
	g_array_unref(a.added);
	return code;
}

const struct rs_verb rs_verb_apply = {
	.name = "apply",
	.args = "[NAME] FILE",
	.summary = "enable, filter and trigger events as a file says",
	.details = "FILE is a profile, as `run` takes one. If anything in it is wrong, nothing is "
		   "done.\n"
		   "  [events]        enable, disable: globs\n"
		   "  [filter NAME]   events: a glob; if: an expression\n"
		   "  [trigger NAME]  on: a glob; if: an expression; do: actions; count\n"
		   "  [ring]          mode: overwrite or drop",
	.run = run,
};
