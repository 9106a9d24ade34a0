/* SPDX-License-Identifier: MIT */
#include "machine/rescue.h"

#include "hosted/hosted.h"
#include <errno.h>
#include <glib.h>
#include <string.h>

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
	pid = (pid_t)rs_journal_process(journal, &start);
	if (pid > 0 && rs_journal_count(journal) && start && rs_hosted_start_time(pid) == start) {
		ret = rs_hosted_attach(pid, start, &target, err);
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
