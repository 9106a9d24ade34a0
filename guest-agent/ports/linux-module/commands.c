/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "core.h"
#include "ktrace_probes.h"
#include "ktrace_table.h"
#include "task_names.h"

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <ringside/ktrace.h>
#include <ringside/serve.h>

#define PAUSE_US 10000     /* while there is nothing to do */
#define PAUSE_BUSY_US 1000 /* for so many pauses after there was something: */
#define BUSY 100u
#define AWAY_US 100000 /* while nobody can be asked */
#define STEPS 16       /* before a pause, whatever the host does */

static struct task_struct *task;
static struct rs_serve serve;
static struct rs_ktrace_server server;
static int32_t (*run_ktrace)(struct rs_serve_handler *, const struct rs_command *,
			     struct rs_command_reply *);

/* As rs_ktrace_serve() does it, with entries of all processes, which stay where they are. */
static int32_t run(struct rs_serve_handler *handler, const struct rs_command *command,
		   struct rs_command_reply *reply)
{
	int32_t result = -RS_ENOSPC;

	if (!rs_ktrace_probes_begin()) {
		rcu_read_lock();
		result = run_ktrace(handler, command, reply);
		rcu_read_unlock();
	}
	rs_ktrace_probes_follow();
	return result;
}

static int32_t step(bool *did)
{
	int32_t result = 1;

	for (u32 i = 0; i < STEPS && result > 0; i++) {
		result = rs_serve_step(&serve);
		*did |= result > 0;
	}
	return result;
}

/* Whether a host has been heard of late: it answers each second. */
static bool is_heard(int32_t result)
{
	u64 longest = rs_core.config.tsc_hz / 1000 * RS_CMD_SILENCE_MS;

	return result >= 0 && serve.asking && serve.silence < longest;
}

static int live(void *data)
{
	u32 busy = 0, us;

	while (!kthread_should_stop()) {
		bool did = false;
		int32_t result = step(&did);

		rs_task_names_follow(is_heard(result));
		rs_ktrace_probes_follow();
		busy = did ? BUSY : busy ? busy - 1 : 0;
		us = busy ? PAUSE_BUSY_US : result < 0 ? AWAY_US : PAUSE_US;
		usleep_range_state(us, us + us / 4, TASK_IDLE);
	}
	return 0;
}

void rs_commands_find(void)
{
	rs_ktrace_probes_find();
	rs_task_names_find();
	rs_ktrace_serve(&server, &serve, &rs_ktrace_linux_caller);
	run_ktrace = server.handler.run;
	server.handler.run = run;
}

int rs_commands_begin(void)
{
	struct task_struct *made = kthread_run(live, NULL, "ringside-serve");

	if (IS_ERR(made))
		return PTR_ERR(made);
	task = made;
	return 0;
}

void rs_commands_end(void)
{
	if (task)
		kthread_stop(task);
	task = NULL;
	rs_task_names_stop();
	rs_ktrace_probes_stop();
}

void rs_commands_free(void)
{
	rs_ktrace_probes_free();
}
