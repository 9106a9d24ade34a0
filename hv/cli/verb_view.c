/* SPDX-License-Identifier: MIT */
/* `ringside view`: shows a trace or a session in a window, which is another program's. */
#include "cli/verb.h"

#include <errno.h>
#include <rs-trace-rundir.h>
#include <string.h>
#include <unistd.h>

#define VIEWER "ringside-viewer"

/* The program beside our own, or else the one that is found by PATH; to be freed. NULL: none. */
static char *find_viewer(void)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *folder = g_path_get_dirname(self ? self : "");
	g_autofree char *beside = g_build_filename(folder, VIEWER, NULL);

	if (self && g_file_test(beside, G_FILE_TEST_IS_EXECUTABLE))
		return g_steal_pointer(&beside);
	return g_find_program_in_path(VIEWER);
}

static bool is_set(const char *name)
{
	const char *value = g_getenv(name);

	return value && *value;
}

static bool is_session(const char *name)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, NULL);

	return entry && entry->live;
}

/* Adds what the arguments mean. Returns an exit code after a message. */
static int add_arguments(const char *session, int argc, char **argv, GPtrArray *args)
{
	int n_files = 0;

	for (int i = 1; i < argc; i++)
		n_files += g_file_test(argv[i], G_FILE_TEST_EXISTS);
	if (!session && argc == 2 && n_files == 0) {
		if (!is_session(argv[1]))
			return rs_cli_fail(RS_CLI_NOT_FOUND,
					   "'%s' is no file and no session that runs", argv[1]);
		session = argv[1];
	} else {
		for (int i = 1; i < argc; i++)
			if (!g_file_test(argv[i], G_FILE_TEST_EXISTS))
				return rs_cli_fail(RS_CLI_FAILED, "%s: %s", argv[i],
						   g_strerror(ENOENT));
	}
	if (session) {
		g_ptr_array_add(args, g_strdup("--session"));
		g_ptr_array_add(args, g_strdup(session));
		return RS_CLI_OK;
	}
	g_ptr_array_add(args, g_strdup("--"));
	for (int i = 1; i < argc; i++)
		g_ptr_array_add(args, g_strdup(argv[i]));
	return RS_CLI_OK;
}

static int execute(GPtrArray *args)
{
	g_autofree char *viewer = find_viewer();

	if (!viewer)
		return rs_cli_fail(RS_CLI_FAILED,
				   VIEWER " is not installed (package ringside-viewer)");
	if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return rs_cli_fail(RS_CLI_FAILED, "there is no display (DISPLAY or WAYLAND_DISPLAY "
						  "names one); see ringside report and "
						  "ringside trace");
	g_ptr_array_add(args, NULL);
	execv(viewer, (char **)args->pdata);
	return rs_cli_fail(RS_CLI_FAILED, "%s: %s", viewer, g_strerror(errno));
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *session = NULL;
	gboolean compare = FALSE, tabs = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &session, "The session", "NAME"},
		{"compare", 0, 0, G_OPTION_ARG_NONE, &compare, "Show two files side by side", NULL},
		{"tabs", 0, 0, G_OPTION_ARG_NONE, &tabs, "Each file in a tab of its own", NULL},
		{0}};
	g_autoptr(GPtrArray) args = g_ptr_array_new_with_free_func(g_free);
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (session && (argc > 1 || compare || tabs))
		return rs_cli_usage(verb, "either a session or files");
	if (compare && argc != 3)
		return rs_cli_usage(verb, "--compare is for two files");
	g_ptr_array_add(args, g_strdup(VIEWER));
	if (compare)
		g_ptr_array_add(args, g_strdup("--compare"));
	if (tabs)
		g_ptr_array_add(args, g_strdup("--tabs"));
	code = add_arguments(session, argc, argv, args);
	return code ? code : execute(args);
}

const struct rs_verb rs_verb_view = {
	.name = "view",
	.args = "[FILE… | NAME]",
	.summary = "show a trace, or a session, in a window",
	.details =
		"Several files are shown on one clock. NAME is a session that runs, if there is no "
		"such file.\n"
		"Without an argument ringside-viewer shows what can be opened.",
	.run = run,
};
