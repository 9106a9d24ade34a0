/* SPDX-License-Identifier: MIT */
#include "cli/test_run.h"

#include "cli/test_judge.h"
#include "cli/test_process.h"
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <rs-trace-escape.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGES_MAX 65536u
#define GRACE_MS 15000u       /* after its time, for a run that does not end by itself */
#define CORE_MS 120000u       /* likewise, while it writes the guest's memory */
#define LOOK_MS 250u          /* between two looks at what it has written */
#define MARK ".ringside-test" /* in a folder of ours */
#define CORE "core"
#define FOLDERS_MAX 1000u

enum phase { NOT_BEGUN, SETUP, RUN, CLEAN, TEARDOWN, OVER };

/* Somebody who waits for the end. */
struct waiter {
	void (*over)(void *data);
	void *data;
};

struct rs_test_run {
	unsigned int refs;
	RsTraceSetup *setup;
	GPtrArray *faults;
	char *spec_folder, *folder, *session;
	enum phase phase;
	struct rs_test_process *process; /* of the phase */
	GArray *waiters;                 /* of struct waiter */
	guint look, idle;
	int lock; /* of the folder; -1: none */
	gint64 began, took;
	bool keep, stopping, too_large;
	guint64 before_teardown; /* bytes written; 0: it has not begun */
	enum rs_test_run_end end;
	int code;
	char *why;
	const char *failed_command; /* the name of its file; NULL: none */
};

static const char *const files[] = {RS_TEST_RUN_TRACE,  "serial", "output", RS_TEST_RUN_MESSAGES,
				    RS_TEST_RUN_RESULT, CORE,     "setup",  "teardown"};

static void next_phase(struct rs_test_run *run);

/* ---- its folder ---- */

char *rs_test_run_file(const struct rs_test_run *run, const char *name)
{
	return g_build_filename(run->folder, name, NULL);
}

char *rs_test_run_console(const struct rs_test_run *run)
{
	return rs_test_run_file(run, run->setup->is_program ? "output" : "serial");
}

const char *rs_test_run_folder(const struct rs_test_run *run)
{
	return run->folder;
}

/* Only what a run writes: the folder may be somebody's. */
static void clear_folder(struct rs_test_run *run)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = rs_test_run_file(run, files[i]);

		g_unlink(path);
	}
}

/* It is ours, and nobody has anything in it, or only a run that has ended. */
static bool is_free(const struct rs_test_run *run, const char *folder)
{
	g_autofree char *mark = g_build_filename(folder, MARK, NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	struct stat of;

	return dir && !fstat(run->lock, &of) && of.st_uid == geteuid() &&
	       (!g_dir_read_name(dir) || g_file_test(mark, G_FILE_TEST_EXISTS));
}

/*
 * Takes a folder of that name, or NAME-2, NAME-3 …, which no other run has and which holds nothing
 * of anybody else. The lock goes with us. False: errno is set.
 */
static bool take_folder(struct rs_test_run *run)
{
	g_autofree char *wish = g_strdup(run->folder);

	for (unsigned int n = 2; n < FOLDERS_MAX; n++) {
		if (g_mkdir_with_parents(run->folder, 0755))
			return false;
		run->lock = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (run->lock < 0)
			return false;
		if (!flock(run->lock, LOCK_EX | LOCK_NB) && is_free(run, run->folder)) {
			g_autofree char *mark = rs_test_run_file(run, MARK);
			int fd = open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

			return fd >= 0 && !close(fd);
		}
		close(run->lock);
		run->lock = -1;
		g_free(run->folder);
		run->folder = g_strdup_printf("%s-%u", wish, n);
	}
	errno = EBUSY;
	return false;
}

static guint64 bytes_written(const struct rs_test_run *run)
{
	guint64 sum = 0;

	for (unsigned int i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = rs_test_run_file(run, files[i]);
		GStatBuf of;

		/* The guest's memory has its own bound. */
		if (g_str_equal(files[i], CORE))
			continue;
		/* What it takes on the disk: a file may have holes. */
		if (g_stat(path, &of) == 0)
			sum += (guint64)of.st_blocks * 512;
	}
	return sum;
}

static gboolean on_look(gpointer data)
{
	struct rs_test_run *run = data;

	/* A teardown may write as much again: it has to put right what there is. */
	if (bytes_written(run) <= run->setup->disk + run->before_teardown)
		return G_SOURCE_CONTINUE;
	run->too_large = true;
	if (run->process)
		rs_test_process_stop(run->process);
	return G_SOURCE_CONTINUE;
}

/* ---- its processes ---- */

static void on_done(struct rs_test_process *process, void *data)
{
	next_phase(data);
}

static unsigned int limit_ms(const struct rs_test_run *run)
{
	return (unsigned int)(run->setup->timeout_ns / 1000000);
}

static unsigned int core_ms(const struct rs_test_run *run)
{
	return run->setup->keeps_core ? CORE_MS : 0;
}

/* False: it could not be started, and run->why says so. */
static bool start_process(struct rs_test_run *run, struct rs_test_process_config *config)
{
	g_autoptr(GError) error = NULL;

	config->grace_ms = GRACE_MS + (run->phase == RUN ? core_ms(run) : 0);
	config->done = on_done;
	config->data = run;
	run->process = rs_test_process_start(config, &error);
	if (!run->process && !run->why)
		run->why = g_strdup(error->message);
	return run->process != NULL;
}

/* A shell command of the spec. */
static bool start_command(struct rs_test_run *run, const char *command, const char *name)
{
	g_autofree char *output = rs_test_run_file(run, name);
	g_autofree char *real = g_canonicalize_filename(run->folder, NULL);
	g_autofree char *folder = g_strconcat("RINGSIDE_FOLDER=", real, NULL);
	g_autofree char *session = g_strconcat("RINGSIDE_SESSION=", run->session, NULL);
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	const char *const environment[] = {folder, session, NULL};
	struct rs_test_process_config config = {.argv = argv,
						.folder = run->spec_folder,
						.environment = environment,
						.output = output,
						.messages = output,
						.limit_ms = limit_ms(run)};

	return start_process(run, &config);
}

static void add(GPtrArray *args, char *arg)
{
	g_ptr_array_add(args, arg);
}

static void add_list(GPtrArray *args, const char *option, GStrv list)
{
	for (char **one = list; one && *one; one++) {
		add(args, g_strdup(option));
		add(args, g_strdup(*one));
	}
}

static guint64 run_ns(const struct rs_test_run *run)
{
	return run->setup->duration_ns ? run->setup->duration_ns : run->setup->timeout_ns;
}

static GPtrArray *make_args(const struct rs_test_run *run)
{
	GPtrArray *args = g_ptr_array_new_with_free_func(g_free);

	add(args, g_file_read_link("/proc/self/exe", NULL));
	add(args, g_strdup("run"));
	add(args, g_strdup("--quiet"));
	add(args, g_strdup("--name"));
	add(args, g_strdup(run->session));
	add(args, g_strdup("--output"));
	add(args, rs_test_run_file(run, RS_TEST_RUN_TRACE));
	add(args, g_strdup("--result"));
	add(args, rs_test_run_file(run, RS_TEST_RUN_RESULT));
	if (!run->setup->is_program && !run->setup->no_console) {
		add(args, g_strdup("--serial"));
		add(args, rs_test_run_file(run, "serial"));
	}
	add(args, g_strdup("--duration"));
	add(args, g_strdup_printf("%.3f", (double)run_ns(run) / 1e9));
	if (run->setup->keeps_core) {
		add(args, g_strdup("--core"));
		add(args, rs_test_run_file(run, CORE));
	}
	/* Whoever has a duration may go on until then. */
	if (run->setup->keeps_core && !run->setup->duration_ns)
		add(args, g_strdup("--core-late"));
	for (guint i = 0; i < run->faults->len; i++) {
		add(args, g_strdup("--fault"));
		add(args, g_strdup(run->faults->pdata[i]));
	}
	if (run->faults->len) {
		add(args, g_strdup("--host"));
		add(args, g_strdup("--enable"));
		add(args, g_strdup("host:fault"));
	}
	add_list(args, "--enable", run->setup->enabled);
	add_list(args, "--filter", run->setup->filters);
	for (char **one = run->setup->args; *one; one++)
		add(args, g_strdup(*one));
	add(args, NULL);
	return args;
}

static bool start_guest(struct rs_test_run *run)
{
	g_autoptr(GPtrArray) args = make_args(run);
	g_autofree char *output = rs_test_run_file(run, "output");
	g_autofree char *messages = rs_test_run_file(run, RS_TEST_RUN_MESSAGES);
	/* It ends by itself when its time is over. */
	struct rs_test_process_config config = {.argv = (const char *const *)args->pdata,
						.output = output,
						.messages = messages,
						.limit_ms = (unsigned int)(run_ns(run) / 1000000) +
							    GRACE_MS + core_ms(run)};

	return start_process(run, &config);
}

/* A run that was killed has left its guest, which `ringside stop` finds by the session's name. */
static bool start_clean(struct rs_test_run *run)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	const char *const argv[] = {self, "stop", run->session, NULL};
	struct rs_test_process_config config = {
		.argv = argv, .output = "/dev/null", .messages = "/dev/null", .limit_ms = GRACE_MS};

	return start_process(run, &config);
}

/* ---- phases ---- */

static void settle(struct rs_test_run *run, enum rs_test_run_end end, char *why)
{
	run->end = end;
	if (why) {
		g_free(run->why);
		run->why = why;
	}
}

static bool has_file(const struct rs_test_run *run, const char *name)
{
	g_autofree char *path = rs_test_run_file(run, name);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void settle_too_large(struct rs_test_run *run)
{
	g_autofree char *most = g_format_size_full(run->setup->disk, G_FORMAT_SIZE_IEC_UNITS);

	settle(run, RS_TEST_RUN_TOO_LARGE,
	       g_strdup_printf("it wrote more than %s, and was stopped", most));
}

static void judge_guest(struct rs_test_run *run)
{
	run->code = rs_test_process_code(run->process);
	if (run->stopping)
		settle(run, RS_TEST_RUN_STOPPED, g_strdup("it was interrupted"));
	else if (rs_test_process_was_killed(run->process))
		settle(run, RS_TEST_RUN_STUCK,
		       g_strdup("the run did not end in time, and was killed"));
	else if (run->too_large)
		settle_too_large(run);
	else if (!has_file(run, RS_TEST_RUN_TRACE) || !has_file(run, RS_TEST_RUN_RESULT))
		settle(run, RS_TEST_RUN_NO_TRACE, rs_test_run_last_message(run));
}

/* A command must have ended well. */
static bool judge_command(struct rs_test_run *run, const char *name)
{
	const int code = rs_test_process_code(run->process);

	if (run->stopping)
		settle(run, RS_TEST_RUN_STOPPED, g_strdup("it was interrupted"));
	else if (run->too_large)
		settle_too_large(run);
	else if (code) {
		run->failed_command = name;
		settle(run, RS_TEST_RUN_NO_SETUP,
		       code < 0 ? g_strdup_printf("the %s did not end in time", name)
				: g_strdup_printf("the %s ended with code %d", name, code));
	}
	return code == 0 && !run->stopping && !run->too_large;
}

static void finish(struct rs_test_run *run)
{
	g_clear_handle_id(&run->look, g_source_remove);
	if (!run->took)
		run->took = g_get_monotonic_time() - run->began;
	/* Whoever is told may let it go. */
	rs_test_run_ref(run);
	for (guint i = 0; i < run->waiters->len; i++) {
		const struct waiter waiter = g_array_index(run->waiters, struct waiter, i);

		waiter.over(waiter.data);
	}
	g_array_set_size(run->waiters, 0);
	rs_test_run_unref(run);
}

/* Starts what comes then. False: there is nothing to do in it, or it cannot be done. */
static bool enter(struct rs_test_run *run)
{
	if (run->stopping && run->phase <= RUN && run->end == RS_TEST_RUN_ENDED)
		settle(run, RS_TEST_RUN_STOPPED, g_strdup("it was interrupted"));
	switch (run->phase) {
	case SETUP:
		return !run->stopping && run->setup->setup &&
		       start_command(run, run->setup->setup, "setup");
	case RUN:
		return run->end == RS_TEST_RUN_ENDED && !run->why && start_guest(run);
	case CLEAN:
		return run->code < 0 && start_clean(run);
	case TEARDOWN:
		run->before_teardown = bytes_written(run);
		return run->setup->teardown && start_command(run, run->setup->teardown, "teardown");
	default:
		return false;
	}
}

static void leave(struct rs_test_run *run)
{
	if (!run->process)
		return;
	if (run->phase == SETUP)
		judge_command(run, "setup");
	else if (run->phase == RUN)
		judge_guest(run);
	else if (run->phase == TEARDOWN && run->end == RS_TEST_RUN_ENDED)
		judge_command(run, "teardown");
	g_clear_pointer(&run->process, rs_test_process_free);
}

static void next_phase(struct rs_test_run *run)
{
	leave(run);
	do {
		run->phase++;
	} while (run->phase < OVER && !enter(run));
	/* What could not be started has said why. */
	if (run->phase != OVER)
		return;
	if (run->why && run->end == RS_TEST_RUN_ENDED)
		run->end = RS_TEST_RUN_NO_TRACE;
	finish(run);
}

static gboolean on_idle(gpointer data)
{
	struct rs_test_run *run = data;

	run->idle = 0;
	if (run->phase == OVER)
		finish(run);
	else
		next_phase(run);
	return G_SOURCE_REMOVE;
}

static void begin(struct rs_test_run *run)
{
	run->began = g_get_monotonic_time();
	if (take_folder(run)) {
		clear_folder(run);
		run->look = g_timeout_add(LOOK_MS, on_look, run);
		return;
	}
	settle(run, RS_TEST_RUN_NO_TRACE,
	       g_strdup_printf("%s: %s", run->folder, g_strerror(errno)));
	run->phase = OVER;
}

/* ---- its life ---- */

struct rs_test_run *rs_test_run_new(const struct rs_test_run_config *config)
{
	static unsigned int number;
	struct rs_test_run *run = g_new0(struct rs_test_run, 1);

	run->refs = 1;
	run->lock = -1;
	run->setup = rs_trace_setup_ref(config->setup);
	run->faults = g_ptr_array_ref(config->faults);
	run->spec_folder = g_strdup(config->spec_folder);
	run->folder = g_strdup(config->folder);
	run->session = g_strdup_printf("test-%d-%u", (int)getpid(), ++number);
	run->waiters = g_array_new(FALSE, FALSE, sizeof(struct waiter));
	return run;
}

struct rs_test_run *rs_test_run_ref(struct rs_test_run *run)
{
	run->refs++;
	return run;
}

void rs_test_run_unref(struct rs_test_run *run)
{
	if (!run || --run->refs)
		return;
	g_clear_handle_id(&run->look, g_source_remove);
	g_clear_handle_id(&run->idle, g_source_remove);
	rs_test_process_free(run->process);
	if (!run->keep && run->lock >= 0) {
		g_autofree char *mark = rs_test_run_file(run, MARK);

		clear_folder(run);
		g_unlink(mark);
		g_rmdir(run->folder);
	}
	if (run->lock >= 0)
		close(run->lock);
	g_array_unref(run->waiters);
	rs_trace_setup_unref(run->setup);
	g_ptr_array_unref(run->faults);
	g_free(run->spec_folder);
	g_free(run->folder);
	g_free(run->session);
	g_free(run->why);
	g_free(run);
}

void rs_test_run_await(struct rs_test_run *run, void (*over)(void *data), void *data)
{
	const struct waiter waiter = {.over = over, .data = data};

	g_array_append_val(run->waiters, waiter);
	if (run->phase == NOT_BEGUN && !run->idle)
		begin(run);
	if ((run->phase == NOT_BEGUN || run->phase == OVER) && !run->idle)
		run->idle = g_idle_add(on_idle, run);
}

void rs_test_run_stop(struct rs_test_run *run)
{
	run->stopping = true;
	if (run->process && (run->phase == SETUP || run->phase == RUN))
		rs_test_process_stop(run->process);
}

void rs_test_run_kill(struct rs_test_run *run)
{
	run->stopping = true;
	if (run->process && run->phase != CLEAN)
		rs_test_process_kill(run->process);
}

void rs_test_run_keep(struct rs_test_run *run)
{
	run->keep = true;
}

/* ---- of one that is over ---- */

enum rs_test_run_end rs_test_run_end(const struct rs_test_run *run)
{
	return run->end;
}

const char *rs_test_run_why(const struct rs_test_run *run)
{
	return run->why;
}

const char *rs_test_run_command(const struct rs_test_run *run)
{
	return run->failed_command;
}

int rs_test_run_code(const struct rs_test_run *run)
{
	return run->code;
}

int64_t rs_test_run_us(const struct rs_test_run *run)
{
	if (run->phase == NOT_BEGUN)
		return 0;
	return run->phase == OVER ? run->took : g_get_monotonic_time() - run->began;
}

/* So the run could not even say so. */
static bool is_full(const char *folder)
{
	g_autoptr(GFile) file = g_file_new_for_path(folder);
	g_autoptr(GFileInfo) info =
		g_file_query_filesystem_info(file, G_FILE_ATTRIBUTE_FILESYSTEM_FREE, NULL, NULL);

	return info &&
	       g_file_info_get_attribute_uint64(info, G_FILE_ATTRIBUTE_FILESYSTEM_FREE) < 65536;
}

char *rs_test_run_last_message(const struct rs_test_run *run)
{
	g_autofree char *path = rs_test_run_file(run, RS_TEST_RUN_MESSAGES), *text = NULL;
	char *line;
	size_t size;

	text = rs_test_read_end(path, MESSAGES_MAX, &size);
	if (!text || !*g_strchomp(text))
		return g_strdup(run->code < 0          ? "something has killed the run"
				: is_full(run->folder) ? "the disk of its folder is full"
						       : "the run said nothing of why");
	line = strrchr(text, '\n');
	/* How it is used comes after what is wrong. */
	if (line && g_str_has_prefix(line + 1, "usage: ")) {
		*line = 0;
		line = strrchr(text, '\n');
	}
	line = line ? line + 1 : text;
	if (g_str_has_prefix(line, "ringside: "))
		line += strlen("ringside: ");
	return rs_trace_escape(line, -1, NULL);
}
