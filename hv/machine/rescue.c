/* SPDX-License-Identifier: MIT */
#include "machine/rescue.h"

#include "base/socket.h"
#include "hosted/hosted.h"
#include "machine/reach.h"
#include "qemu/adopt.h"
#include "qemu/qemu.h"
#include "target/process.h"
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US (10 * G_USEC_PER_SEC)
#define LOOK_US 2000u

/* The process that the journal names and that still lives; 0: none. */
static pid_t living_process(const struct rs_journal *journal, uint64_t *start)
{
	pid_t pid = (pid_t)rs_journal_process(journal, start);

	if (pid > 0 && rs_journal_count(journal) && *start && rs_hosted_start_time(pid) == *start)
		return pid;
	return 0;
}

bool rs_machine_process_owed(const char *path)
{
	struct rs_journal *journal = NULL;
	uint64_t start;
	pid_t pid;

	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return false;
	if (rs_journal_open(path, &journal, NULL))
		return true;
	pid = living_process(journal, &start);
	rs_journal_close(journal);
	return pid && rs_process_living_task(pid);
}

int rs_machine_rescue_process(const char *path, struct rs_journal_report *report,
			      struct rs_error *err)
{
	struct rs_journal *journal = NULL;
	struct rs_target *target = NULL;
	uint64_t start;
	pid_t pid;
	int ret;

	memset(report, 0, sizeof(*report));
	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return 0;
	ret = rs_journal_open(path, &journal, err);
	if (ret)
		return ret;
	pid = living_process(journal, &start);
	if (pid) {
		ret = rs_hosted_attach(pid, start, -1, &target, err);
		if (ret == -ESRCH) {
			/* A zombie, which its parent has not reaped, or it has ended just now. */
			ret = 0;
		} else if (!ret) {
			ret = rs_journal_recover(journal, target, report, err);
			target->ops->destroy(target);
		}
	}
	rs_journal_close(journal);
	return ret;
}

int rs_machine_rescue_guest(const char *run_dir, const char *name, const char *path,
			    struct rs_journal_report *report, struct rs_error *err)
{
	struct rs_journal *journal = NULL;
	struct rs_target *target = NULL;
	int ret = rs_qemu_attach(run_dir, name, NULL, &target, err);

	memset(report, 0, sizeof(*report));
	if (ret)
		return ret;
	ret = rs_journal_open(path, &journal, err);
	if (!ret)
		ret = rs_journal_recover(journal, target, report, err);
	if (journal)
		rs_journal_close(journal);
	target->ops->destroy(target);
	return ret;
}

int rs_machine_rescue_reached(const char *run_dir, const char *name, const char *via,
			      const char *path, struct rs_journal_report *report,
			      struct rs_error *err)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	const struct rs_machine_reach wish = {
		.via = via, .run_dir = run_dir, .name = name, .memory = RS_MACHINE_MEMORY_ANY};
	struct rs_machine machine;
	struct rs_journal *journal = NULL;
	int ret;

	memset(report, 0, sizeof(*report));
	if (!rs_machine_reach_owed(run_dir, name)) {
		rs_qemu_forget_left(run_dir, name);
		return 0;
	}
	ret = rs_machine_reach(&wish, &machine, lines, err);
	if (ret)
		return ret;
	ret = rs_journal_open(path, &journal, err);
	if (!ret)
		ret = rs_journal_recover(journal, machine.target, report, err);
	if (journal)
		rs_journal_close(journal);
	/* A guest that the dead session has paused goes on. */
	if (!ret)
		ret = machine.target->ops->start(machine.target, err);
	rs_machine_clear(&machine);
	return ret;
}

static void on_ended(void *data, const struct rs_target_end *end)
{
	*(bool *)data = true;
}

int rs_machine_end_guest(const char *run_dir, const char *name, struct rs_error *err)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_US;
	struct rs_target *target = NULL;
	bool ended = false;
	int ret = rs_qemu_attach(run_dir, name, NULL, &target, err);

	if (ret)
		return ret;
	target->events.data = &ended;
	target->events.ended = on_ended;
	target->ops->stop(target, "its session is gone");
	while (!ended && g_get_monotonic_time() < until) {
		if (!g_main_context_iteration(NULL, FALSE))
			g_usleep(LOOK_US);
	}
	target->ops->destroy(target);
	return ended ? 0 : rs_error_set(err, ETIMEDOUT, "its QEMU does not end");
}

void rs_machine_forget_guest(const char *run_dir, const char *name)
{
	rs_qemu_forget_left(run_dir, name);
}

bool rs_machine_guest_lives(const char *qmp)
{
	int fd = rs_socket_connect(qmp, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -ETIMEDOUT; /* it listens, and somebody else is being served */
}
