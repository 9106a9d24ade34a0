/* SPDX-License-Identifier: MIT */
/*
 * A process of a test: a run, or a command of its spec. It is tied to us (cli/test_tie.h), with all
 * that it starts. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_PROCESS_H
#define RS_HV_CLI_TEST_PROCESS_H

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

struct rs_test_process;

struct rs_test_process_config {
	const char *const *argv;
	const char *folder;             /* in which it runs; NULL: ours */
	const char *const *environment; /* "NAME=VALUE", besides ours; NULL: none */
	const char *output, *messages;  /* paths for what it writes; one file may be both */
	unsigned int limit_ms;          /* after which it is asked to end; 0: never */
	unsigned int grace_ms;          /* after which it is then killed */
	/* It has ended. Never called from rs_test_process_start(). */
	void (*done)(struct rs_test_process *process, void *data);
	void *data;
};

/* NULL: *error is set. */
struct rs_test_process *rs_test_process_start(const struct rs_test_process_config *config,
					      GError **error);
/* One that runs is killed. Accepts NULL. */
void rs_test_process_free(struct rs_test_process *process);

/* Asks it to end; it has `grace_ms` for that. */
void rs_test_process_stop(struct rs_test_process *process);
/* Kills it at once. */
void rs_test_process_kill(struct rs_test_process *process);

/* Of one that has ended: its exit code; -1: a signal ended it. */
int rs_test_process_code(const struct rs_test_process *process);
/* Its time was over, or it was stopped, and it did not end within the grace: it was killed. */
bool rs_test_process_was_killed(const struct rs_test_process *process);

#endif
