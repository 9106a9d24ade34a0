/* SPDX-License-Identifier: MIT */
/*
 * What `ringside bench` measures: this machine, and a session that runs. Each figure is from a real
 * run. Thread: main.
 */
#ifndef RS_HV_CLI_BENCH_H
#define RS_HV_CLI_BENCH_H

#include "cli/verb.h"

/* Shows figures as they come: a table, or one JSON object a line. */
struct rs_bench {
	bool json;
	const char *source;  /* whom the figures are about; NULL: this machine */
	const char *title;   /* of the group that follows, once; NULL: it was printed */
	int code;            /* of what was written; an exit code, after a message */
	const gint *stopped; /* atomic: no more is wanted, if it is not 0 */
};

/* `key`: in JSON; `what`: for people. */
void rs_bench_ns(struct rs_bench *bench, const char *key, const char *what, double ns);
void rs_bench_rate(struct rs_bench *bench, const char *key, const char *what, double a_second);
void rs_bench_count(struct rs_bench *bench, const char *key, const char *what, uint64_t value);
/* 0.01 is one in a hundred. */
void rs_bench_share(struct rs_bench *bench, const char *key, const char *what, double share);

/* For people only: a line in place of a figure. */
void rs_bench_not_known(struct rs_bench *bench, const char *what);

/*
 * This machine: its counter, an event and what becomes of it, lines of text. An exit code, after
 * messages.
 */
int rs_bench_machine(struct rs_bench *bench);
/*
 * The session: how long it takes to switch one of the events and all of them, what comes in so many
 * seconds, and what that costs. `fresh`: its events may still be to come. If some of them are on
 * for somebody else, they stay on, and no figures of switching are shown.
 */
int rs_bench_session(struct rs_bench *bench, RsDBusSession1 *session, bool fresh, const char *glob,
		     double seconds);

#endif
