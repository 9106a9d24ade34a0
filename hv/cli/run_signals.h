/* SPDX-License-Identifier: MIT */
/* Signals that end a session of this process. Thread: main. */
#ifndef RS_HV_CLI_RUN_SIGNALS_H
#define RS_HV_CLI_RUN_SIGNALS_H

#include "target/target.h"
#include <stdbool.h>

struct rs_run_signals;

struct rs_run_signals_config {
	/* A signal came, which may not be the first. */
	void (*came)(void *data, int signal);
	/* None came soon after rs_run_signals_may_follow() has said that one may. */
	void (*late)(void *data);
	void *data;
};

/*
 * To be called before a guest is started: from here on a signal ends the session once it runs, and
 * not this process at once, whose guest nobody would end. The same signal twice ends us.
 */
void rs_run_signals_expect(void);

/* One that has been expected comes now. */
struct rs_run_signals *rs_run_signals_new(const struct rs_run_signals_config *config);
/* Accepts NULL. */
void rs_run_signals_free(struct rs_run_signals *signals);

/* The first that came; 0: none. */
int rs_run_signals_first(const struct rs_run_signals *signals);
/*
 * Whether a source ended by a signal that may still reach us. A terminal signals us as well as the
 * program. Whoever is seen first, the end is the same.
 */
bool rs_run_signals_may_follow(struct rs_run_signals *signals, const struct rs_target_end *end);
/* Waits until one that may follow has come, or is late. */
void rs_run_signals_wait(const struct rs_run_signals *signals);

#endif
