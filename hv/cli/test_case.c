/* SPDX-License-Identifier: MIT */
#include "cli/test_case.h"

#include "cli/test_domain.h"
#include "cli/test_faults.h"
#include "cli/test_judge.h"
#include "cli/test_run.h"
#include "cli/verb.h"
#include "expect/rs-trace-expectation.h"

#include <errno.h>
#include <rs-trace-escape.h>
#include <string.h>
#include <unistd.h>

#define NAME_LENGTH 100u /* of a folder, at most, before its number */
#define MESSAGES_MAX 65536u

/* Where a case is. It waits for fixtures one by one. */
enum phase { WAITING, FIXTURES, RUNNING, JUDGING, OVER };

/* A run of several cases. */
struct rs_test_shared {
	unsigned int users;      /* that are not over */
	struct rs_test_run *run; /* NULL: not begun */
};

struct rs_test_case {
	struct rs_test_case_config config;
	char *name, *plain; /* `plain`: of its folder */
	GStrv tags;
	char *share; /* key of config.shared; NULL: it has a run of its own */
	GPtrArray *fixtures;
	guint next_fixture;
	/* While it runs. */
	RsTraceSpec *spec;
	RsTraceSetup *setup;
	struct rs_test_faults faults;
	GPtrArray *expectations;
	struct rs_test_run *run;
	enum phase phase;
	bool stopping;
	guint idle;
	struct rs_test_outcome outcome;
	struct rs_test_judgement *judgement; /* whose texts the outcome's are; NULL: none */
	char *why, *story, *first_why;
};

static void attempt(struct rs_test_case *test);

/* ---- the outcome ---- */

static void settle(struct rs_test_case *test, enum rs_test_verdict verdict, char *why)
{
	g_free(test->why);
	test->why = why;
	test->outcome.verdict = verdict;
	test->outcome.why = why;
	test->outcome.us += test->run ? rs_test_run_us(test->run) : 0;
}

static void set_story(struct rs_test_case *test, char *story)
{
	g_free(test->story);
	test->story = story;
	test->outcome.story = story;
}

/* The message of an error about a spec begins with its place. */
static void settle_broken(struct rs_test_case *test, const GError *error)
{
	g_autofree char *place = g_strdup_printf("%s:", test->config.path);
	const char *message = error->message, *line;

	if (g_str_has_prefix(message, place)) {
		test->outcome.line = (unsigned int)g_ascii_strtoull(message + strlen(place),
								    (char **)&message, 10);
		message += strspn(message, ": ");
	}
	/* The first line says what; the rest shows where. */
	line = strchr(message, '\n');
	if (line)
		set_story(test, g_strdup(line + 1));
	settle(test, RS_TEST_BROKEN,
	       line ? g_strndup(message, (gsize)(line - message)) : g_strdup(message));
	test->phase = OVER;
}

/* What an attempt before has left. */
static void forget(struct rs_test_case *test)
{
	set_story(test, NULL);
	g_clear_pointer(&test->judgement, rs_test_judgement_free);
	test->outcome.checks = NULL;
	test->outcome.n_checks = test->outcome.line = 0;
	test->outcome.evidence = NULL;
}

const struct rs_test_outcome *rs_test_case_outcome(const struct rs_test_case *test)
{
	return test->phase == OVER ? &test->outcome : NULL;
}

const char *rs_test_case_name(const struct rs_test_case *test)
{
	return test->name;
}

bool rs_test_case_has_tag(const struct rs_test_case *test, const char *tag)
{
	return test->tags && g_strv_contains((const char *const *)test->tags, tag);
}

int64_t rs_test_case_running_us(const struct rs_test_case *test)
{
	if (test->phase == WAITING || test->phase == OVER)
		return -1;
	return test->run ? rs_test_run_us(test->run) : 0;
}

/* ---- the spec ---- */

/* A name that no other case of this process has. Takes `name`; to be freed. */
static char *own_name(char *name)
{
	static GHashTable *taken;
	char *own;

	if (!taken)
		taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (strlen(name) > NAME_LENGTH)
		name[NAME_LENGTH] = 0;
	own = g_strdup(name);
	for (unsigned int n = 2; g_hash_table_contains(taken, own); n++) {
		g_free(own);
		own = g_strdup_printf("%s-%u", name, n);
	}
	g_hash_table_add(taken, g_strdup(own));
	g_free(name);
	return own;
}

static void take_name(struct rs_test_case *test, const RsTraceSpec *spec)
{
	g_autofree char *base = g_path_get_basename(test->config.path);
	char *dot = strrchr(base, '.');
	const char *which = spec ? rs_trace_spec_case(spec) : "";

	if (dot && dot != base)
		*dot = 0;
	test->name = *which ? g_strdup_printf("%s (%s)", base, which) : g_strdup(base);
	test->plain = g_strdup(test->name);
	g_strcanon(test->plain, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "=.-", '_');
	if (*test->plain == '.')
		*test->plain = '_';
	test->plain = own_name(test->plain);
	test->outcome.name = test->name;
	test->outcome.spec = test->config.path;
}

/* Of the last fixture: it would stand for two folders. */
static bool is_new_name(const struct rs_test_case *test)
{
	const guint last = test->fixtures->len - 1;

	for (guint i = 0; i < last; i++) {
		if (g_str_equal(rs_test_fixture_name(test->fixtures->pdata[i]),
				rs_test_fixture_name(test->fixtures->pdata[last])))
			return false;
	}
	return true;
}

static bool take_fixtures(struct rs_test_case *test, const RsTraceSpec *spec, GError **error)
{
	g_auto(GStrv) paths = rs_trace_setup_fixtures(spec, error);

	for (char **path = paths; path && *path; path++) {
		struct rs_test_fixture *fixture =
			rs_test_fixture_use(test->config.fixtures, *path, error);

		if (!fixture)
			return false;
		g_ptr_array_add(test->fixtures, fixture);
		if (!is_new_name(test)) {
			rs_trace_spec_blame(spec, "test", "fixtures", error,
					    "two of them have the same name");
			return false;
		}
	}
	return paths != NULL;
}

/* The names of its fixtures stand for their folders. */
static void give_fixtures(const struct rs_test_case *test, RsTraceSpec *spec)
{
	for (guint i = 0; i < test->fixtures->len; i++)
		rs_trace_spec_give(spec, rs_test_fixture_name(test->fixtures->pdata[i]),
				   rs_test_fixture_folder(test->fixtures->pdata[i]));
}

static RsTraceSetup *make_setup(const struct rs_test_case *test, const RsTraceSpec *spec,
				GError **error)
{
	g_autoptr(GPtrArray) later = g_ptr_array_new();

	for (guint i = 0; i < test->fixtures->len; i++)
		g_ptr_array_add(later, (char *)rs_test_fixture_folder(test->fixtures->pdata[i]));
	g_ptr_array_add(later, NULL);
	return rs_trace_setup_new(spec, (const char *const *)later->pdata, error);
}

/* What runs that may be shared have in common. */
static char *share_key(const struct rs_test_case *test, const RsTraceSetup *setup,
		       const struct rs_test_faults *faults)
{
	g_autoptr(GString) key = g_string_new(NULL);
	g_autofree char *cwd = g_path_get_dirname(test->config.path);
	g_autofree char *fixtures = g_strjoinv("\n", setup->fixtures);
	g_autofree char *args = g_strjoinv("\n", setup->args);
	g_autofree char *events = setup->enabled ? g_strjoinv("\n", setup->enabled) : NULL;
	g_autofree char *filters = setup->filters ? g_strjoinv("\n", setup->filters) : NULL;

	g_string_printf(key,
			"%s\n\n%s\n\n%s\n\n%s\n\n%s\n\n%s\n\n%s\n\n%" G_GUINT64_FORMAT
			" %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
			cwd, fixtures, args, events ? events : "", filters ? filters : "",
			setup->setup ? setup->setup : "", setup->teardown ? setup->teardown : "",
			setup->duration_ns, setup->timeout_ns, setup->disk);
	g_string_append_printf(key, " %d", setup->keeps_core);
	for (guint i = 0; i < faults->options->len; i++)
		g_string_append_printf(key, "\n%s", (char *)faults->options->pdata[i]);
	return g_string_free(g_steal_pointer(&key), FALSE);
}

/* All is checked now, but not kept: there may be many cases. */
static bool check(struct rs_test_case *test, RsTraceSpec *spec, GError **error)
{
	g_autoptr(RsTraceSetup) setup = NULL;
	g_autoptr(GPtrArray) expectations = NULL;
	struct rs_test_faults faults = {0};
	struct rs_test_shared *shared;

	if (!take_fixtures(test, spec, error))
		return false;
	give_fixtures(test, spec);
	expectations = rs_trace_expectations_new(spec, error);
	setup = expectations && rs_test_faults_read(spec, &faults, error)
			? make_setup(test, spec, error)
			: NULL;
	if (setup && setup->boot_once)
		test->share = share_key(test, setup, &faults);
	rs_test_faults_clear(&faults);
	if (!setup)
		return false;
	if (setup->duration_ns && !expectations->len) {
		rs_trace_spec_blame(spec, "trace", "duration", error,
				    "a guest that does not end by itself needs an expectation");
		return false;
	}
	test->tags = g_steal_pointer(&setup->tags);
	if (!test->share)
		return true;
	shared = g_hash_table_lookup(test->config.shared, test->share);
	if (!shared) {
		shared = g_new0(struct rs_test_shared, 1);
		g_hash_table_insert(test->config.shared, g_strdup(test->share), shared);
	}
	shared->users++;
	return true;
}

struct rs_test_case *rs_test_case_new(const struct rs_test_case_config *config)
{
	struct rs_test_case *test = g_new0(struct rs_test_case, 1);
	g_autoptr(RsTraceSpec) spec =
		config->spec ? rs_trace_spec_new_case(config->spec, config->number) : NULL;
	g_autoptr(GError) error = NULL;

	test->config = *config;
	test->fixtures = g_ptr_array_new();
	take_name(test, spec);
	if (!spec)
		settle_broken(test, config->broken);
	else if (!check(test, spec, &error))
		settle_broken(test, error);
	return test;
}

/* ---- the verdict ---- */

/* All that the run, or its setup, said comes after the story. */
static void show_messages(struct rs_test_case *test, const char *file)
{
	g_autofree char *path = rs_test_run_file(test->run, file), *text = NULL, *clean = NULL;
	size_t size;

	text = rs_test_read_end(path, MESSAGES_MAX, &size);
	if (!text)
		return;
	clean = rs_trace_escape(text, -1, "\n\t");
	set_story(test, g_strconcat(test->story ? test->story : "", clean, NULL));
}

/* A server may have ended while the guest ran. */
static enum rs_test_verdict judge_fixtures(const struct rs_test_case *test, char **why)
{
	for (guint i = 0; i < test->fixtures->len; i++) {
		const char *what = rs_test_fixture_why(test->fixtures->pdata[i]);

		if (!what)
			continue;
		g_free(*why);
		*why = g_strdup(what);
		return RS_TEST_NOT_RUN;
	}
	return RS_TEST_PASSED;
}

/* The line of what only the guest could know to be wrong: its filters, or else its events. */
static unsigned int line_of_refusal(const struct rs_test_case *test)
{
	g_autofree char *path = rs_test_run_file(test->run, RS_TEST_RUN_MESSAGES), *text = NULL;
	size_t size;

	text = rs_test_read_end(path, MESSAGES_MAX, &size);
	return rs_trace_spec_line(test->spec, "trace",
				  text && strstr(text, "bad filter\n") ? "filter" : "enable");
}

/* The run itself has done its work, however its guest ended. */
static bool went_well(int code)
{
	return code == RS_CLI_OK || code == RS_CLI_GUEST_CODE || code == RS_CLI_GUEST;
}

/* The run had a trace and a result, and now has a judgement. */
static void take_judgement(struct rs_test_case *test)
{
	struct rs_test_judgement *is = test->judgement;
	const int code = rs_test_run_code(test->run);

	/* The run has refused what the spec asks for. */
	if (code == RS_CLI_USAGE) {
		is->verdict = RS_TEST_BROKEN;
		g_clear_pointer(&is->why, g_free);
		g_clear_pointer(&is->story, g_free);
	}
	if (is->verdict == RS_TEST_BROKEN && !is->why)
		is->line = line_of_refusal(test);
	/* A fault was refused, the disk was full, or the run has died: nobody knows. */
	if ((is->verdict == RS_TEST_PASSED && !went_well(code)) ||
	    (is->verdict == RS_TEST_FAILED && code == RS_CLI_FAILED)) {
		is->verdict = RS_TEST_NOT_RUN;
		g_clear_pointer(&is->why, g_free);
	} else if (is->verdict == RS_TEST_PASSED) {
		is->verdict = judge_fixtures(test, &is->why);
	}
	if (is->verdict != RS_TEST_PASSED && !is->why)
		is->why = rs_test_run_last_message(test->run);
	test->outcome.checks = (const struct rs_test_check *)(const void *)is->checks->data;
	test->outcome.n_checks = is->checks->len;
	test->outcome.line = is->line;
	set_story(test, g_steal_pointer(&is->story));
	settle(test, is->verdict, g_steal_pointer(&is->why));
	if (is->verdict == RS_TEST_NOT_RUN || !went_well(code))
		show_messages(test, RS_TEST_RUN_MESSAGES);
}

static void on_judged(void *data);

static void begin_judging(struct rs_test_case *test)
{
	g_autofree char *trace = rs_test_run_file(test->run, RS_TEST_RUN_TRACE);
	g_autofree char *result = rs_test_run_file(test->run, RS_TEST_RUN_RESULT);
	g_autofree char *serial = rs_test_run_console(test->run);
	const struct rs_test_judge_config config = {.expectations = test->expectations,
						    .may_lose = test->setup->may_lose,
						    .enabled = test->setup->enabled,
						    .trace = trace,
						    .result = result,
						    .serial = serial,
						    .may_go_on = test->setup->duration_ns != 0,
						    .may_be_killed = test->faults.kills,
						    .has_faults = test->faults.options->len > 0,
						    .timeout_ns = test->setup->timeout_ns,
						    .done = on_judged,
						    .data = test};

	test->phase = JUDGING;
	test->judgement = rs_test_judge(&config);
}

/* Of a run that has left nothing to judge. */
static void settle_run(struct rs_test_case *test)
{
	char *why = g_strdup(rs_test_run_why(test->run));

	switch (rs_test_run_end(test->run)) {
	case RS_TEST_RUN_NO_TRACE:
		settle(test,
		       rs_test_run_code(test->run) == RS_CLI_USAGE ? RS_TEST_BROKEN
								   : RS_TEST_NOT_RUN,
		       why);
		break;
	case RS_TEST_RUN_STUCK:
	case RS_TEST_RUN_TOO_LARGE:
		settle(test, RS_TEST_FAILED, why);
		break;
	default:
		settle(test, RS_TEST_NOT_RUN, why);
		break;
	}
	if (rs_test_run_end(test->run) == RS_TEST_RUN_NO_SETUP)
		show_messages(test, rs_test_run_command(test->run));
	else
		show_messages(test, RS_TEST_RUN_MESSAGES);
}

/* ---- its way ---- */

static void let_fixtures_go(struct rs_test_case *test)
{
	for (guint i = 0; i < test->fixtures->len; i++)
		rs_test_fixture_release(test->fixtures->pdata[i]);
	g_ptr_array_set_size(test->fixtures, 0);
}

/* Nobody needs a shared run any more that all its users have judged. */
static void let_shared_go(struct rs_test_case *test)
{
	struct rs_test_shared *shared =
		test->share ? g_hash_table_lookup(test->config.shared, test->share) : NULL;

	if (shared && !--shared->users)
		g_hash_table_remove(test->config.shared, test->share);
	g_clear_pointer(&test->share, g_free);
}

static void finish(struct rs_test_case *test)
{
	const bool good =
		test->outcome.verdict == RS_TEST_PASSED || test->outcome.verdict == RS_TEST_SKIPPED;

	if (test->run && (test->config.keep || !good)) {
		rs_test_run_keep(test->run);
		test->outcome.evidence = rs_test_run_folder(test->run);
	}
	test->phase = OVER;
	let_shared_go(test);
	let_fixtures_go(test);
	test->config.done(test, test->config.data);
}

static bool tries_again(const struct rs_test_case *test)
{
	const unsigned int retries = test->config.retries >= 0 ? (unsigned int)test->config.retries
							       : test->setup->retries;

	return !test->stopping && test->outcome.attempts <= retries &&
	       (test->outcome.verdict == RS_TEST_FAILED ||
		test->outcome.verdict == RS_TEST_NOT_RUN);
}

static gboolean on_retry(gpointer data)
{
	struct rs_test_case *test = data;

	test->idle = 0;
	attempt(test);
	return G_SOURCE_REMOVE;
}

/* It has its verdict. */
static void end_attempt(struct rs_test_case *test)
{
	test->outcome.attempts++;
	if (!tries_again(test)) {
		test->outcome.first_why = test->first_why;
		finish(test);
		return;
	}
	if (!test->first_why)
		test->first_why = g_strdup(test->why);
	/* Another one would be judged by the same run. */
	let_shared_go(test);
	forget(test);
	test->phase = RUNNING;
	g_clear_pointer(&test->run, rs_test_run_unref);
	/* The run is still telling us that it is over. It clears its folder when it goes. */
	test->idle = g_idle_add(on_retry, test);
}

static void on_judged(void *data)
{
	take_judgement(data);
	end_attempt(data);
}

static void on_over(void *data)
{
	struct rs_test_case *test = data;

	if (rs_test_run_end(test->run) == RS_TEST_RUN_ENDED) {
		begin_judging(test);
		return;
	}
	settle_run(test);
	end_attempt(test);
}

static struct rs_test_run *make_run(struct rs_test_case *test)
{
	g_autofree char *cwd = g_path_get_dirname(test->config.path);
	/* Others may still judge by a shared run when this case tries again by itself. */
	g_autofree char *plain = g_strconcat(test->plain, test->share ? ".once" : "", NULL);
	g_autofree char *folder = g_build_filename(test->config.folder, plain, NULL);
	struct rs_test_shared *shared =
		test->share ? g_hash_table_lookup(test->config.shared, test->share) : NULL;
	struct rs_test_run_config config = {.faults = test->faults.options,
					    .setup = test->setup,
					    .spec_folder = cwd,
					    .folder = folder};

	if (!shared)
		return rs_test_run_new(&config);
	if (!shared->run)
		shared->run = rs_test_run_new(&config);
	return rs_test_run_ref(shared->run);
}

static void attempt(struct rs_test_case *test)
{
	test->phase = RUNNING;
	test->run = make_run(test);
	if (test->stopping)
		rs_test_run_stop(test->run);
	rs_test_run_await(test->run, on_over, test);
}

static gboolean on_idle(gpointer data)
{
	struct rs_test_case *test = data;

	test->idle = 0;
	finish(test);
	return G_SOURCE_REMOVE;
}

static void finish_later(struct rs_test_case *test)
{
	test->idle = g_idle_add(on_idle, test);
}

static void await_fixtures(void *data)
{
	struct rs_test_case *test = data;
	struct rs_test_fixture *fixture;

	if (test->next_fixture) {
		const char *why =
			rs_test_fixture_why(test->fixtures->pdata[test->next_fixture - 1]);

		if (why || test->stopping) {
			settle(test, RS_TEST_NOT_RUN, g_strdup(why ? why : "it was interrupted"));
			finish(test);
			return;
		}
	}
	if (test->next_fixture == test->fixtures->len) {
		attempt(test);
		return;
	}
	fixture = test->fixtures->pdata[test->next_fixture++];
	rs_test_fixture_await(fixture, await_fixtures, test);
}

/* What was checked and not kept. It may be gone by now, such as a kernel. */
static bool load(struct rs_test_case *test, GError **error)
{
	test->spec = rs_trace_spec_new_case(test->config.spec, test->config.number);
	give_fixtures(test, test->spec);
	test->expectations = rs_trace_expectations_new(test->spec, error);
	if (test->expectations && rs_test_faults_read(test->spec, &test->faults, error))
		test->setup = make_setup(test, test->spec, error);
	return test->setup != NULL;
}

static bool skips(struct rs_test_case *test)
{
	char *missing = test->setup->libvirt ? rs_test_domain_missing(test->setup->libvirt) : NULL;

	if (missing) {
		settle(test, RS_TEST_SKIPPED, missing);
		return true;
	}
	if (!test->setup->needs_kvm || access("/dev/kvm", R_OK | W_OK) == 0)
		return false;
	settle(test, RS_TEST_SKIPPED, g_strdup_printf("/dev/kvm: %s", g_strerror(errno)));
	return true;
}

void rs_test_case_start(struct rs_test_case *test)
{
	g_autoptr(GError) error = NULL;

	if (test->phase == OVER) {
		finish_later(test);
		return;
	}
	test->phase = FIXTURES;
	if (!load(test, &error)) {
		settle_broken(test, error);
		finish_later(test);
	} else if (skips(test)) {
		finish_later(test);
	} else {
		await_fixtures(test);
	}
}

void rs_test_case_stop(struct rs_test_case *test)
{
	if (test->run && test->phase == RUNNING)
		rs_test_run_stop(test->run);
	test->stopping = true;
}

void rs_test_case_kill(struct rs_test_case *test)
{
	rs_test_case_stop(test);
	if (test->run && test->phase == RUNNING)
		rs_test_run_kill(test->run);
	if (test->phase != JUDGING)
		return;
	g_clear_pointer(&test->judgement, rs_test_judgement_free);
	settle(test, RS_TEST_NOT_RUN, g_strdup("it was interrupted"));
	/* Nobody is told from here. */
	finish_later(test);
}

void rs_test_case_skip(struct rs_test_case *test)
{
	let_shared_go(test);
	let_fixtures_go(test);
}

/* ---- the end ---- */

static void shared_free(gpointer data)
{
	struct rs_test_shared *shared = data;

	rs_test_run_unref(shared->run);
	g_free(shared);
}

GHashTable *rs_test_shared_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, shared_free);
}

void rs_test_case_free(struct rs_test_case *test)
{
	if (!test)
		return;
	g_clear_handle_id(&test->idle, g_source_remove);
	rs_test_run_unref(test->run);
	rs_trace_spec_free(test->spec);
	rs_trace_setup_unref(test->setup);
	rs_test_faults_clear(&test->faults);
	rs_test_judgement_free(test->judgement);
	g_clear_pointer(&test->expectations, g_ptr_array_unref);
	g_ptr_array_unref(test->fixtures);
	g_strfreev(test->tags);
	g_free(test->share);
	g_free(test->name);
	g_free(test->plain);
	g_free(test->why);
	g_free(test->first_why);
	g_free(test->story);
	g_free(test);
}
