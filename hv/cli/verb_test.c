/* SPDX-License-Identifier: MIT */
/* `ringside test`: runs specs, and says which of them passed. */
#include "base/output.h"
#include "cli/color.h"
#include "cli/test_case.h"
#include "cli/test_progress.h"
#include "cli/test_tie.h"
#include "cli/verb.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".spec"
#define FOLDER "ringside-test"
/* Exit codes of this verb. */
#define SPEC_BROKEN RS_CLI_USAGE
#define NOT_RUN 3
#define AS_THE_SPEC G_MININT /* of --retries: what nobody can type by mistake */

struct options {
	char *format, *report, *output;
	char **tags, **cases, **set;
	int jobs, retries;
	gboolean keep, list, view, fail_fast;
	char *when; /* there are colours, as --color was given */
	bool color;
};

/* A file that was read, or why it could not be. */
struct spec {
	RsTraceSpec *spec;
	GError *broken;
};

struct run {
	const struct options *options;
	GHashTable *settings;      /* of --set */
	GPtrArray *specs;          /* of struct spec */
	GPtrArray *cases;          /* of struct rs_test_case; NULL: it is over, and was told */
	struct rs_test_case *told; /* the last of those, until nobody is in it */
	struct rs_test_fixtures *fixtures;
	GHashTable *shared;
	struct rs_test_progress *progress;
	guint next, going;
	bool stopping, interrupted;
	gint64 began;
	GMainLoop *loop;
	struct rs_test_report *shown, *written; /* `written` NULL: no file is asked for */
	GString *file;                          /* what it gets */
	guint verdicts[RS_TEST_SKIPPED + 1];
	char *evidence; /* of the first that failed */
};

/* ---- which specs ---- */

static int compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All specs of a folder, sorted. */
static int add_folder(const char *path, GPtrArray *paths)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) dir = g_dir_open(path, 0, &error);
	g_autoptr(GPtrArray) found = g_ptr_array_new();
	const char *name;

	if (!dir)
		return rs_cli_fail(NOT_RUN, "%s", error->message);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *one = g_build_filename(path, name, NULL);

		/* A pipe would be waited for. */
		if (g_str_has_suffix(name, SUFFIX) && g_file_test(one, G_FILE_TEST_IS_REGULAR))
			g_ptr_array_add(found, g_steal_pointer(&one));
	}
	if (!found->len)
		return rs_cli_fail(SPEC_BROKEN, "%s: there is no *" SUFFIX " in it", path);
	g_ptr_array_sort(found, compare);
	g_ptr_array_extend_and_steal(paths, g_steal_pointer(&found));
	return RS_CLI_OK;
}

static int find_specs(int argc, char **argv, GPtrArray *paths)
{
	int code = RS_CLI_OK;

	for (int i = 1; i < argc && !code; i++) {
		if (g_file_test(argv[i], G_FILE_TEST_IS_DIR))
			code = add_folder(argv[i], paths);
		else
			g_ptr_array_add(paths, g_strdup(argv[i]));
	}
	return code;
}

/* What is broken has neither tags nor a name for sure, and is told. */
static bool is_wanted(const struct options *o, const struct rs_test_case *test)
{
	bool tagged = !o->tags, named = !o->cases;

	for (char **tag = o->tags; tag && *tag; tag++)
		tagged |= rs_test_case_has_tag(test, *tag);
	for (char **glob = o->cases; glob && *glob; glob++)
		named |= g_pattern_match_simple(*glob, rs_test_case_name(test));
	return (tagged && named) || rs_test_case_outcome(test);
}

/* ---- reports ---- */

static void show(struct run *run, GString *text)
{
	rs_test_progress_hide(run->progress);
	fwrite(text->str, 1, text->len, stdout);
	fflush(stdout);
	g_string_truncate(text, 0);
}

static void report(struct run *run, const struct rs_test_outcome *outcome)
{
	g_autoptr(GString) text = g_string_new(NULL);

	rs_test_report_add(run->shown, outcome, text);
	show(run, text);
	if (run->written)
		rs_test_report_add(run->written, outcome, run->file);
}

/* ---- the run ---- */

static void start_more(struct run *run);

/* No case is started any more, and those that run are stopped, or killed. */
static void end_all(struct run *run, void (*end)(struct rs_test_case *test))
{
	for (guint i = 0; i < run->cases->len; i++) {
		struct rs_test_case *test = run->cases->pdata[i];

		if (test && i < run->next)
			end(test);
		else if (test && !run->stopping)
			rs_test_case_skip(test);
	}
	run->stopping = true;
}

static void on_done(struct rs_test_case *test, void *data)
{
	struct run *run = data;
	const struct rs_test_outcome *outcome = rs_test_case_outcome(test);
	guint at;

	run->going--;
	run->verdicts[outcome->verdict]++;
	if (!run->evidence && outcome->verdict == RS_TEST_FAILED)
		run->evidence = g_strdup(outcome->evidence);
	report(run, outcome);
	if (g_ptr_array_find(run->cases, test, &at))
		run->cases->pdata[at] = NULL;
	rs_test_case_free(run->told);
	run->told = test;
	if (run->options->fail_fast && outcome->verdict == RS_TEST_FAILED)
		end_all(run, rs_test_case_stop);
	start_more(run);
}

static bool is_over(const struct run *run)
{
	return !run->going && (run->stopping || run->next == run->cases->len) &&
	       !rs_test_fixtures_busy(run->fixtures);
}

static void start_more(struct run *run)
{
	while (!run->stopping && run->next < run->cases->len &&
	       run->going < (guint)run->options->jobs) {
		run->going++;
		rs_test_case_start(run->cases->pdata[run->next++]);
	}
	if (is_over(run))
		g_main_loop_quit(run->loop);
}

static void on_fixture(void *data)
{
	start_more(data);
}

static gboolean on_signal(gpointer data)
{
	struct run *run = data;

	/* Twice: at once. */
	if (run->interrupted) {
		rs_test_fixtures_kill(run->fixtures);
		end_all(run, rs_test_case_kill);
	} else {
		rs_test_fixtures_stop(run->fixtures);
		end_all(run, rs_test_case_stop);
	}
	run->interrupted = true;
	if (is_over(run))
		g_main_loop_quit(run->loop);
	return G_SOURCE_CONTINUE;
}

static void show_running(void *data, GString *out)
{
	const struct run *run = data;
	guint done = run->next - run->going;

	g_string_append_printf(out, "%u of %u", done, run->cases->len);
	for (guint i = 0; i < run->next; i++) {
		const struct rs_test_case *test = run->cases->pdata[i];
		const int64_t us = test ? rs_test_case_running_us(test) : -1;

		if (us < 0)
			continue;
		g_string_append(out, "  ");
		rs_trace_append_escaped(out, rs_test_case_name(test),
					strlen(rs_test_case_name(test)), NULL);
		g_string_append_printf(out, " %.1f s", (double)us / 1e6);
	}
}

static gboolean begin(gpointer data)
{
	start_more(data);
	return G_SOURCE_REMOVE;
}

static void run_all(struct run *run)
{
	guint watches[] = {g_unix_signal_add(SIGINT, on_signal, run),
			   g_unix_signal_add(SIGTERM, on_signal, run),
			   g_unix_signal_add(SIGHUP, on_signal, run)};

	run->loop = g_main_loop_new(NULL, FALSE);
	run->progress = rs_test_progress_new(show_running, run);
	g_idle_add(begin, run);
	g_main_loop_run(run->loop);
	for (guint i = 0; i < G_N_ELEMENTS(watches); i++)
		g_source_remove(watches[i]);
	g_clear_pointer(&run->progress, rs_test_progress_free);
	g_main_loop_unref(run->loop);
}

/* What is wrong with a spec hides least, then what failed, then what could not be run. */
static int exit_code(const struct run *run)
{
	if (run->verdicts[RS_TEST_BROKEN])
		return SPEC_BROKEN;
	if (run->verdicts[RS_TEST_FAILED])
		return RS_CLI_FAILED;
	if (run->verdicts[RS_TEST_NOT_RUN] || run->next < run->cases->len ||
	    rs_test_fixtures_failed(run->fixtures))
		return NOT_RUN;
	return RS_CLI_OK;
}

/* ---- cases ---- */

static int list_cases(const GPtrArray *cases)
{
	for (guint i = 0; i < cases->len; i++) {
		const struct rs_test_outcome *outcome = rs_test_case_outcome(cases->pdata[i]);
		g_autofree char *name =
			rs_trace_escape(rs_test_case_name(cases->pdata[i]), -1, NULL);

		if (outcome)
			return rs_cli_fail(SPEC_BROKEN, "%s:%u: %s\n%s", outcome->spec,
					   outcome->line, outcome->why,
					   outcome->story ? outcome->story : "");
		printf("%s\n", name);
	}
	return RS_CLI_OK;
}

static void spec_free(gpointer data)
{
	struct spec *spec = data;

	rs_trace_spec_free(spec->spec);
	g_clear_error(&spec->broken);
	g_free(spec);
}

static void add_cases(struct run *run, const char *path)
{
	const struct options *o = run->options;
	struct spec *spec = g_new0(struct spec, 1);
	guint n;

	spec->spec = rs_trace_spec_load(path, run->settings, &spec->broken);
	g_ptr_array_add(run->specs, spec);
	n = spec->spec ? rs_trace_spec_n_cases(spec->spec) : 1;
	for (guint i = 0; i < n; i++) {
		const struct rs_test_case_config config = {.path = path,
							   .spec = spec->spec,
							   .broken = spec->broken,
							   .number = i,
							   .folder = o->output,
							   .keep = o->keep,
							   .retries = o->retries,
							   .fixtures = run->fixtures,
							   .shared = run->shared,
							   .done = on_done,
							   .data = run};
		struct rs_test_case *test = rs_test_case_new(&config);

		if (is_wanted(o, test)) {
			g_ptr_array_add(run->cases, test);
		} else {
			rs_test_case_skip(test);
			rs_test_case_free(test);
		}
	}
}

static int write_file(struct run *run)
{
	const char *path = run->options->report;
	int ret = run->written ? rs_output_write_file(path, run->file->str, run->file->len) : 0;

	return ret ? rs_cli_fail(NOT_RUN, "%s: %s", path, g_strerror(-ret)) : RS_CLI_OK;
}

static int run_cases(struct run *run, enum rs_test_format shown, enum rs_test_format written)
{
	g_autoptr(GString) text = g_string_new(NULL);
	bool had_folder = g_file_test(run->options->output, G_FILE_TEST_EXISTS);
	gint64 us;
	int code;

	run->began = g_get_monotonic_time();
	run->shown = rs_test_report_new(shown, run->options->color, run->cases->len);
	if (run->options->report)
		run->written = rs_test_report_new(written, false, run->cases->len);
	rs_test_report_begin(run->shown, text);
	show(run, text);
	if (run->written)
		rs_test_report_begin(run->written, run->file);
	run_all(run);
	/* What passed goes now. */
	g_clear_pointer(&run->told, rs_test_case_free);
	/* Only if there is nothing in it, and it was not there before. */
	if (!had_folder)
		g_rmdir(run->options->output);
	us = g_get_monotonic_time() - run->began;
	rs_test_report_end(run->shown, us, text);
	show(run, text);
	if (run->written)
		rs_test_report_end(run->written, us, run->file);
	code = write_file(run);
	rs_test_report_free(run->shown);
	rs_test_report_free(run->written);
	return code ? code : exit_code(run);
}

/* ---- the verb ---- */

static const char *format_of(const char *report)
{
	if (report && g_str_has_suffix(report, ".xml"))
		return "junit";
	if (report && g_str_has_suffix(report, ".tap"))
		return "tap";
	return "human";
}

/* It would be a pity to find out at the end. */
static int check_report(const char *report)
{
	g_autofree char *folder = report ? g_path_get_dirname(report) : NULL;

	if (!folder ||
	    (!g_access(report, F_OK) ? !g_access(report, W_OK) : !g_access(folder, W_OK)))
		return RS_CLI_OK;
	return rs_cli_fail(NOT_RUN, "%s: %s", report, g_strerror(errno));
}

static bool take_format(const char *text, enum rs_test_format *out)
{
	static const char *const names[] = {[RS_TEST_HUMAN] = "human",
					    [RS_TEST_TAP] = "tap",
					    [RS_TEST_JUNIT] = "junit",
					    [RS_TEST_GITHUB] = "github"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		*out = (enum rs_test_format)i;
		if (g_str_equal(names[i], text))
			return true;
	}
	return false;
}

/* Until its window is closed. The exit code is that of the tests. */
static void view(const char *folder)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *trace = g_build_filename(folder, "trace", NULL);
	const char *argv[] = {self, "view", trace, NULL};
	g_autoptr(GError) error = NULL;

	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL,
			  NULL, NULL, &error))
		g_printerr("ringside: %s\n", error->message);
}

static void free_case(gpointer test)
{
	rs_test_case_free(test);
}

static void run_init(struct run *run, const struct options *o)
{
	*run = (struct run){
		.options = o,
		.settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
		.specs = g_ptr_array_new_with_free_func(spec_free),
		.cases = g_ptr_array_new_with_free_func(free_case),
		.shared = rs_test_shared_new(),
		.file = g_string_new(NULL),
	};
	run->fixtures = rs_test_fixtures_new(o->output, o->keep, on_fixture, run);
}

static void run_clear(struct run *run)
{
	g_ptr_array_unref(run->cases);
	rs_test_case_free(run->told);
	g_hash_table_unref(run->shared);
	rs_test_fixtures_free(run->fixtures);
	g_ptr_array_unref(run->specs);
	g_hash_table_unref(run->settings);
	g_string_free(run->file, TRUE);
	g_free(run->evidence);
}

static int take_settings(struct run *run)
{
	for (char **one = run->options->set; one && *one; one++) {
		const char *equals = strchr(*one, '=');

		if (!equals || equals == *one)
			return rs_cli_fail(SPEC_BROKEN, "--set is NAME=VALUE");
		g_hash_table_replace(run->settings, g_strndup(*one, (gsize)(equals - *one)),
				     g_strdup(equals + 1));
	}
	return RS_CLI_OK;
}

/* Or it is a slip of the pen. */
static int check_settings(const struct run *run)
{
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, run->settings);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		bool used = false;

		for (guint i = 0; i < run->specs->len; i++) {
			const struct spec *spec = run->specs->pdata[i];

			/* A broken one might. */
			used |= !spec->spec || rs_trace_spec_uses(spec->spec, name);
		}
		if (!used)
			return rs_cli_fail(SPEC_BROKEN, "--set: no spec has a name '%s'",
					   (const char *)name);
	}
	return RS_CLI_OK;
}

static int do_specs(struct run *run, int argc, char **argv, enum rs_test_format format)
{
	const struct options *o = run->options;
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	int code = find_specs(argc, argv, paths);

	if (!code)
		code = take_settings(run);
	for (guint i = 0; i < paths->len && !code; i++)
		add_cases(run, paths->pdata[i]);
	if (!code)
		code = check_settings(run);
	if (code)
		return code;
	if (!run->cases->len)
		return rs_cli_fail(SPEC_BROKEN, o->cases ? "no case has that name and tag"
							 : "no spec has that tag");
	if (o->list)
		return list_cases(run->cases);
	code = check_report(o->report);
	if (code)
		return code;
	return run_cases(run, o->report ? RS_TEST_HUMAN : format, format);
}

static int run_specs(const struct rs_verb *verb, struct options *o, int argc, char **argv)
{
	enum rs_test_format format;
	struct run run;
	int code;

	if (!take_format(o->format, &format))
		return rs_cli_usage(verb, "--format is human, tap, junit or github");
	if (o->jobs < 1 || o->jobs > 1024)
		return rs_cli_usage(verb, "--jobs is a number of runs, 1 to 1024");
	if (o->retries != AS_THE_SPEC && (o->retries < 0 || o->retries > 100))
		return rs_cli_usage(verb, "--retries is 0 to 100");
	if (argc < 2)
		return rs_cli_usage(verb, "no spec is named");
	rs_test_tie_adopt();
	run_init(&run, o);
	code = do_specs(&run, argc, argv, format);
	if (o->view && run.evidence)
		view(run.evidence);
	run_clear(&run);
	/* What has killed its supervisor. */
	if (!rs_test_tie_end_all())
		code = rs_cli_fail(NOT_RUN, "not all that was started could be ended");
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct options o = {.jobs = (int)g_get_num_processors(), .retries = AS_THE_SPEC};
	const GOptionEntry options[] = {
		{"jobs", 'j', 0, G_OPTION_ARG_INT, &o.jobs,
		 "So many runs at a time (as many as there are CPUs)", "N"},
		{"tag", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.tags, "Only specs with this tag",
		 "TAG"},
		{"case", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.cases,
		 "Only cases whose name, as --list shows it, matches the glob", "GLOB"},
		{"list", 0, 0, G_OPTION_ARG_NONE, &o.list, "List the cases, and run none", NULL},
		{"format", 0, 0, G_OPTION_ARG_STRING, &o.format, "How it is told (human)",
		 "human|tap|junit|github"},
		{"report", 0, 0, G_OPTION_ARG_FILENAME, &o.report,
		 "Write the report there (*.xml: junit, *.tap: tap), and tell people here", "FILE"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output,
		 "Keep what failed there (" FOLDER ")", "FOLDER"},
		{"fail-fast", 0, 0, G_OPTION_ARG_NONE, &o.fail_fast,
		 "End all runs once a test has failed", NULL},
		{"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.set,
		 "What ${NAME} stands for, in place of what a spec says", "NAME=VALUE"},
		{"retries", 0, 0, G_OPTION_ARG_INT, &o.retries,
		 "Try what failed so often again (as each spec says)", "N"},
		{"keep", 0, 0, G_OPTION_ARG_NONE, &o.keep, "Keep what passed, too", NULL},
		RS_CLI_COLOR_OPTION(o.when),
		{"view", 0, 0, G_OPTION_ARG_NONE, &o.view,
		 "Show the trace of the first that failed", NULL},
		{0}};
	int code;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		if (!o.format)
			o.format = g_strdup(format_of(o.report));
		if (!o.output)
			o.output = g_strdup(FOLDER);
		code = rs_cli_color_take(verb, o.when, STDOUT_FILENO, &o.color);
		if (!code)
			code = run_specs(verb, &o, argc, argv);
	}
	g_free(o.when);
	g_free(o.format);
	g_free(o.report);
	g_free(o.output);
	g_strfreev(o.tags);
	g_strfreev(o.cases);
	g_strfreev(o.set);
	return code;
}

const struct rs_verb rs_verb_test = {
	.name = "test",
	.args = "SPEC|FOLDER…",
	.summary = "run guests, and check what they did",
	.details = "A spec says which guest is run, what is traced, and what is expected of it:\n"
		   "docs/testing.md. Exit codes: 0 all passed, 1 some failed, 2 a spec is wrong, "
		   "3 some could\n"
		   "not be run.",
	.run = run,
};
