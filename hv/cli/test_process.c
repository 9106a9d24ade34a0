/* SPDX-License-Identifier: MIT */
#include "cli/test_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORPHANS_MAX 4096u /* looked for after each process */

struct rs_test_process {
	struct rs_test_process_config config;
	GSubprocess *process;
	GCancellable *forgotten; /* nobody waits any more */
	pid_t pid;
	guint alarm;
	bool asked, killed, over;
};

/* Of all that live: pids. */
static GHashTable *living;

/* ---- what it has left ---- */

/* A child of ours that we have not started. 0: there is none. */
static pid_t find_orphan(void)
{
	g_autofree char *path = g_strdup_printf("/proc/self/task/%d/children", (int)getpid());
	g_autofree char *text = NULL;
	g_auto(GStrv) children = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	children = g_strsplit(text, " ", -1);
	for (char **child = children; *child; child++) {
		const pid_t pid = (pid_t)strtol(*child, NULL, 10);

		if (pid > 0 && !g_hash_table_contains(living, GINT_TO_POINTER(pid)))
			return pid;
	}
	return 0;
}

/*
 * Each process of ours gets the orphans below it, and we get them when it ends (see tie()). One
 * that is killed leaves its own children to us, so we look again.
 */
static void end_orphans(void)
{
	pid_t pid;

	for (guint i = 0; i < ORPHANS_MAX && (pid = find_orphan()) > 0; i++) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* ---- its life ---- */

/* In the child. */
static void tie(gpointer data)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != GPOINTER_TO_INT(data))
		_exit(1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* A terminal's Ctrl-C is for us, who then end all runs. */
	setpgid(0, 0);
}

static gboolean on_alarm(gpointer data)
{
	struct rs_test_process *process = data;

	process->alarm = 0;
	if (process->asked)
		rs_test_process_kill(process);
	else
		rs_test_process_stop(process);
	return G_SOURCE_REMOVE;
}

void rs_test_process_stop(struct rs_test_process *process)
{
	if (process->over || process->asked)
		return;
	process->asked = true;
	g_subprocess_send_signal(process->process, SIGTERM);
	g_clear_handle_id(&process->alarm, g_source_remove);
	process->alarm = g_timeout_add(process->config.grace_ms, on_alarm, process);
}

void rs_test_process_kill(struct rs_test_process *process)
{
	if (process->over)
		return;
	process->asked = process->killed = true;
	g_clear_handle_id(&process->alarm, g_source_remove);
	g_subprocess_send_signal(process->process, SIGKILL);
}

static void settle(struct rs_test_process *process)
{
	process->over = true;
	g_clear_handle_id(&process->alarm, g_source_remove);
	g_hash_table_remove(living, GINT_TO_POINTER(process->pid));
	end_orphans();
}

static void on_ended(GObject *object, GAsyncResult *result, gpointer data)
{
	struct rs_test_process *process = data;

	/* Cancelled: it is gone, and so is whoever asked. */
	if (!g_subprocess_wait_finish(G_SUBPROCESS(object), result, NULL))
		return;
	settle(process);
	process->config.done(process, process->config.data);
}

static GSubprocessLauncher *make_launcher(const struct rs_test_process_config *config)
{
	const bool both = g_strcmp0(config->output, config->messages) == 0;
	GSubprocessLauncher *launcher = g_subprocess_launcher_new(
		both ? G_SUBPROCESS_FLAGS_STDERR_MERGE : G_SUBPROCESS_FLAGS_NONE);

	g_subprocess_launcher_set_stdout_file_path(launcher, config->output);
	if (!both)
		g_subprocess_launcher_set_stderr_file_path(launcher, config->messages);
	if (config->folder)
		g_subprocess_launcher_set_cwd(launcher, config->folder);
	for (const char *const *one = config->environment; one && *one; one++) {
		g_autofree char *name = g_strndup(*one, strcspn(*one, "="));

		g_subprocess_launcher_setenv(launcher, name, *one + strlen(name) + 1, TRUE);
	}
	g_subprocess_launcher_set_child_setup(launcher, tie, GINT_TO_POINTER((int)getpid()), NULL);
	return launcher;
}

struct rs_test_process *rs_test_process_start(const struct rs_test_process_config *config,
					      GError **error)
{
	g_autoptr(GSubprocessLauncher) launcher = make_launcher(config);
	GSubprocess *child;
	struct rs_test_process *process;
	const char *identifier;

	if (!living) {
		living = g_hash_table_new(NULL, NULL);
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	}
	child = g_subprocess_launcher_spawnv(launcher, config->argv, error);
	if (!child)
		return NULL;
	process = g_new0(struct rs_test_process, 1);
	process->config = *config;
	process->process = child;
	process->forgotten = g_cancellable_new();
	/* NULL: it has ended, and was waited for. */
	identifier = g_subprocess_get_identifier(child);
	process->pid = identifier ? (pid_t)strtol(identifier, NULL, 10) : 0;
	g_hash_table_add(living, GINT_TO_POINTER(process->pid));
	if (config->limit_ms)
		process->alarm = g_timeout_add(config->limit_ms, on_alarm, process);
	g_subprocess_wait_async(child, process->forgotten, on_ended, process);
	return process;
}

void rs_test_process_free(struct rs_test_process *process)
{
	if (!process)
		return;
	if (!process->over) {
		g_cancellable_cancel(process->forgotten);
		rs_test_process_kill(process);
		g_subprocess_wait(process->process, NULL, NULL);
		settle(process);
	}
	g_clear_object(&process->process);
	g_clear_object(&process->forgotten);
	g_free(process);
}

int rs_test_process_code(const struct rs_test_process *process)
{
	return g_subprocess_get_if_exited(process->process)
		       ? g_subprocess_get_exit_status(process->process)
		       : -1;
}

bool rs_test_process_was_killed(const struct rs_test_process *process)
{
	return process->killed;
}
