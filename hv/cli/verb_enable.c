/* SPDX-License-Identifier: MIT */
#include "cli/select.h"

#include <stdio.h>

/* What is the same for all globs of the command. */
struct wish {
	const char *owner; /* NULL: the host */
	gboolean ahead, quiet;
	int stack;
};

/* What has come of all globs so far. */
struct outcome {
	bool part, frozen;
};

static GVariant *enable_options(const struct wish *wish)
{
	GVariantDict dict;

	g_variant_dict_init(&dict,
			    g_variant_ref_sink(rs_cli_wish_options(wish->owner, wish->ahead)));
	if (wish->stack)
		g_variant_dict_insert(&dict, "stack", "u", (guint32)wish->stack);
	return g_variant_dict_end(&dict);
}

static int enable_one(RsDBusSession1 *session, const struct wish *wish, const char *glob,
		      struct outcome *outcome)
{
	g_autoptr(GVariant) more = NULL;
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;
	gboolean pending;
	guint touched;

	if (!rs_dbus_session1_call_enable_sync(session, glob, enable_options(wish), &touched,
					       &pending, &problems, &more, NULL, &error))
		return rs_cli_fail_wish(error);
	if (!wish->quiet && pending)
		rs_cli_print_pending(glob, wish->ahead);
	else if (!wish->quiet)
		printf("%s: %u event%s enabled\n", glob, touched, touched == 1 ? "" : "s");
	outcome->part |= rs_cli_tell_problems(problems);
	outcome->frozen |= rs_cli_says_frozen(more);
	return RS_CLI_OK;
}

/* What is so now: some events may have been off before. */
static void print_off(const char *glob, guint touched, GVariant *more)
{
	guint kept = 0;

	g_variant_lookup(more, "kept", "u", &kept);
	if (kept)
		printf("%s: %u of %u event%s off", glob, touched - MIN(kept, touched), touched,
		       touched == 1 ? "" : "s");
	else
		printf("%s: %u event%s off", glob, touched, touched == 1 ? " is" : "s are");
	rs_cli_print_kept(more, "stays on for", "stay on for", "will be on again for");
	printf("\n");
}

static int disable_one(RsDBusSession1 *session, const struct wish *wish, const char *glob,
		       struct outcome *outcome)
{
	g_autoptr(GVariant) more = NULL;
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;
	gboolean pending;
	guint touched;

	if (!rs_dbus_session1_call_disable_sync(session, glob, rs_cli_owner_options(wish->owner),
						&touched, &pending, &problems, &more, NULL, &error))
		return rs_cli_fail_gerror(error);
	if (!wish->quiet && pending)
		printf("%s: what comes stays off\n", glob);
	else if (!wish->quiet)
		print_off(glob, touched, more);
	outcome->part |= rs_cli_tell_problems(problems);
	outcome->frozen |= rs_cli_says_frozen(more);
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	const bool enables = verb == &rs_verb_enable;
	g_autofree char *name = NULL, *owner = NULL;
	g_auto(RsCliSelect) select = {0};
	struct wish wish = {.stack = RS_CLI_NO_STACK};
	const GOptionEntry more[] = {{"ahead", 'a', 0, G_OPTION_ARG_NONE, &wish.ahead,
				      "Also if no event matches yet", NULL},
				     RS_CLI_STACK_OPTION(wish.stack),
				     {0}};
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"owner", 0, 0, G_OPTION_ARG_STRING, &owner, "For whom, if not for the host",
		 "OWNER"},
		RS_CLI_SELECT_OPTIONS(select),
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &wish.quiet, "Say nothing on success", NULL},
		enables ? more[0] : more[2],
		enables ? more[1] : more[2],
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	int code = RS_CLI_OK;
	struct outcome outcome = {0};

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2)
		return rs_cli_usage(verb, "which events?");
	code = rs_cli_select_check(verb, &select);
	if (code == RS_CLI_OK)
		code = rs_cli_stack_check(verb, &wish.stack);
	if (code != RS_CLI_OK)
		return code;
	wish.owner = owner;
	session = rs_cli_connect_for(verb, name, wish.ahead, &argc, argv, &code);
	for (int i = 1; session && i < argc && code == RS_CLI_OK; i++) {
		g_auto(GStrv) globs = rs_cli_select_globs(&select, argv[i]);

		for (char **glob = globs; *glob && code == RS_CLI_OK; glob++)
			code = enables ? enable_one(session, &wish, *glob, &outcome)
				       : disable_one(session, &wish, *glob, &outcome);
	}
	if (outcome.frozen && !wish.quiet)
		rs_cli_tell_frozen(rs_dbus_session1_get_name(session));
	return code == RS_CLI_OK && outcome.part ? RS_CLI_FAILED : code;
}

const struct rs_verb rs_verb_enable = {
	.name = "enable",
	.args = "[NAME] GLOB…",
	.summary = "switch events on",
	.details = "GLOB is system:name with * ? [a-c] [!a]; without a colon it may match either. "
		   "Several\n"
		   "may have commas between them; one after '!' excludes: 'sched:*,!sched:steal'. "
		   "It is kept\n"
		   "and applied to events that appear later; --ahead asks for those alone, too. "
		   "NAME may be\n"
		   "left out if one session runs.",
	.run = run,
};

const struct rs_verb rs_verb_disable = {
	.name = "disable",
	.args = "[NAME] GLOB…",
	.summary = "switch events off",
	.details = "An event stays on while another owner wants it, such as the guest itself; "
		   "'ringside list'\n"
		   "shows who.",
	.run = run,
};
