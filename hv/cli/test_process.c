/* SPDX-License-Identifier: MIT */
#include "cli/test_process.h"

#include "cli/test_tie.h"

#include <string.h>
#include <unistd.h>

struct rs_test_process {
	GSubprocess *process;    /* its supervisor */
	GCancellable *forgotten; /* nobody waits any more */
	unsigned int grace_ms;
	void (*done)(struct rs_test_process *process, void *data);
	void *data;
	guint alarm;
	bool asked, killed, over;
};

/* In the child. */
static void tie(gpointer parent)
{
	rs_test_tie(GPOINTER_TO_INT(parent));
}

static void send(struct rs_test_process *process, int signal)
{
	g_subprocess_send_signal(process->process, signal);
	/* Somebody may have stopped it. */
	g_subprocess_send_signal(process->process, SIGCONT);
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
	send(process, RS_TEST_TIE_STOP);
	g_clear_handle_id(&process->alarm, g_source_remove);
	process->alarm = g_timeout_add(process->grace_ms, on_alarm, process);
}

void rs_test_process_kill(struct rs_test_process *process)
{
	if (process->over)
		return;
	process->asked = process->killed = true;
	g_clear_handle_id(&process->alarm, g_source_remove);
	send(process, RS_TEST_TIE_KILL);
}

static void settle(struct rs_test_process *process)
{
	process->over = true;
	g_clear_handle_id(&process->alarm, g_source_remove);
}

static void on_ended(GObject *object, GAsyncResult *result, gpointer data)
{
	struct rs_test_process *process = data;

	/* Cancelled: it is gone, and so is whoever asked. */
	if (!g_subprocess_wait_finish(G_SUBPROCESS(object), result, NULL))
		return;
	settle(process);
	process->done(process, process->data);
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
	GSubprocess *child = g_subprocess_launcher_spawnv(launcher, config->argv, error);
	struct rs_test_process *process;

	if (!child)
		return NULL;
	process = g_new0(struct rs_test_process, 1);
	process->process = child;
	process->forgotten = g_cancellable_new();
	process->grace_ms = config->grace_ms;
	process->done = config->done;
	process->data = config->data;
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
