/* SPDX-License-Identifier: MIT */
/* Which session a verb means, and the way to it. */
#include "cli/remains.h"
#include "cli/verb.h"

#include <rs-trace-rundir.h>
#include <string.h>

/* What runs on without its session can be taken up again. */
static int fail_none_runs(const GPtrArray *dead)
{
	for (guint i = 0; i < dead->len; i++) {
		const RsTraceRundirEntry *entry = dead->pdata[i];

		if (rs_remains_of(entry) & RS_REMAINS_LIVES)
			return rs_cli_fail(RS_CLI_NOT_FOUND,
					   "no session runs, but what '%s' traced does: ringside "
					   "attach %s takes it up",
					   entry->name, entry->name);
	}
	return rs_cli_fail(RS_CLI_NOT_FOUND, "no session runs");
}

/* The name of the only live session, or NULL and an exit code. */
static char *only_session(const struct rs_verb *verb, int *code)
{
	g_autoptr(GPtrArray) list = NULL;
	g_autoptr(GString) names = g_string_new(NULL);
	const char *found = NULL;
	GError *error = NULL;
	guint live = 0;

	list = rs_trace_rundir_list(&error);
	if (!list) {
		*code = rs_cli_fail_gerror(error);
		return NULL;
	}
	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];

		if (!entry->live)
			continue;
		found = entry->name;
		g_string_append_printf(names, "%s%s", live++ ? ", " : "", entry->name);
	}
	if (live == 1)
		return g_strdup(found);
	if (live == 0)
		*code = fail_none_runs(list);
	else
		*code = rs_cli_usage(verb, "which session? -s NAME, one of: %s", names->str);
	return NULL;
}

static bool is_session(const char *name)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, NULL);

	return entry != NULL;
}

/* Whether it has no sign of globs. */
static bool may_be_session(const char *word)
{
	return !word[strspn(word, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.")];
}

int rs_cli_check_name(const struct rs_verb *verb, const char *wish, int needed, int argc,
		      char **argv)
{
	const int more = argc - 1 - needed;
	g_autoptr(RsTraceRundirEntry) entry = NULL;
	GError *error = NULL;

	if (more <= 0)
		return RS_CLI_OK;
	if (wish || more > 1 || !may_be_session(argv[1]))
		return rs_cli_usage(verb, "too many arguments");
	entry = rs_trace_rundir_find(argv[1], &error);
	return entry ? RS_CLI_OK : rs_cli_fail_gerror(error);
}

/* A file may have been meant. */
static int refuse_session(const char *name, GError *error)
{
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR,
			    RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION) &&
	    g_file_test(name, G_FILE_TEST_IS_REGULAR))
		g_prefix_error(&error,
			       "'%s' is a file, which `ringside report` shows if it is a "
			       "trace: ",
			       name);
	return rs_cli_fail_gerror(error);
}

RsDBusSession1 *rs_cli_connect(const struct rs_verb *verb, const char *wish, int needed, int *argc,
			       char **argv, int *code)
{
	g_autofree char *name = g_strdup(wish);
	RsDBusSession1 *session;
	GError *error = NULL;

	/* If the verb needs no argument, the first one can only be a name. */
	if (!name && *argc - 1 > needed && (needed == 0 || is_session(argv[1]))) {
		name = g_strdup(argv[1]);
		memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof(*argv));
		(*argc)--;
	}
	if (!name)
		name = only_session(verb, code);
	if (!name)
		return NULL;
	session = rs_trace_client_connect(name, &error);
	if (!session)
		*code = refuse_session(name, error);
	return session;
}

RsDBusSession1 *rs_cli_connect_for(const struct rs_verb *verb, const char *wish, bool ahead,
				   int *argc, char **argv, int *code)
{
	const int had = *argc;
	g_autoptr(RsDBusSession1) session = rs_cli_connect(verb, wish, 1, argc, argv, code);
	g_autoptr(GVariant) events = NULL, more = NULL;

	/* With a sign that no session's name has, or with a session's name, it is a glob. */
	if (!session || wish || ahead || *argc != had || had <= 2 || !may_be_session(argv[1]))
		return g_steal_pointer(&session);
	/* Who cannot be asked says so when it is told what to do. */
	if (!rs_dbus_session1_call_list_sync(session, argv[1], rs_trace_client_no_options(),
					     &events, &more, NULL, NULL) ||
	    g_variant_n_children(events))
		return g_steal_pointer(&session);
	*code = rs_cli_fail(RS_CLI_NOT_FOUND, "no session '%s' runs, and no event matches that",
			    argv[1]);
	return NULL;
}

int rs_cli_find_source(RsDBusSession1 *session, const char *name, guint32 *number)
{
	g_autoptr(GPtrArray) list = NULL;
	GError *error = NULL;

	list = rs_trace_client_sources(session, &error);
	if (!list)
		return rs_cli_fail_gerror(error);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceClientSource *source = list->pdata[i];

		if (strcmp(source->name, name) != 0)
			continue;
		*number = source->number;
		return RS_CLI_OK;
	}
	return rs_cli_fail(RS_CLI_NOT_FOUND, "the session has no source '%s'", name);
}
