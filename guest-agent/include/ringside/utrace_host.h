/* SPDX-License-Identifier: MIT */
/*
 * Engines of the host: `ringside engine` attaches them to threads of this guest, whose callbacks
 * stop the thread. The OS gives memory for as many as there may be at once:
 *
 *	static struct rs_utrace_host host;
 *	static struct rs_utrace_host_engine engines[32];
 *
 *	rs_utrace_serve(&host, &serve, &my_hooks, engines, 32);
 *
 * They are engines as any other (utrace.h), under the data pointer of `host`. A thread that such an
 * engine has stopped goes on when the host says so, detaches the engine, or is gone (serve.h). The
 * hooks for those who look at threads (utrace_os.h) say what the host can see.
 *
 * The task that serves must be none of the threads that the hooks find. Who stopped it could not
 * let it go on.
 *
 * Threads: rs_utrace_serve() before the first step of `serve`; all the rest happens in the task
 * that serves, and in the threads themselves.
 */
#ifndef RINGSIDE_UTRACE_HOST_H
#define RINGSIDE_UTRACE_HOST_H

#include <ringside/serve.h>
#include <ringside/utrace_examine.h>
#include <ringside/utrace_os.h>

struct rs_utrace_host_engine { /* all zero at first; ours */
	struct rs_utrace_engine engine;
	struct rs_utrace_host *host;
	uint64_t handle; /* 0: free */
	bool held;       /* we have a reference; the host may use the handle */
	uint32_t events; /* at which the host wants its thread to stop */
	uint32_t stop;   /* atomic: and at the next safe point */
	uint32_t step;   /* atomic: not 0: the kind of step, which the next signal ends */
	uint32_t after;  /* atomic: what the thread does then, RESUME or DETACH; 0: it stops */
	uint32_t news; /* atomic: RS_NEWS_*, to be told; `event` and `value` were written before */
	uint32_t event;
	int64_t value;
};

struct rs_utrace_host { /* all zero at first; ours */
	struct rs_serve_handler handler;
	const struct rs_utrace_os *os;
	struct rs_utrace_host_engine *engines;
	uint32_t count, next_news;
	uint32_t lives; /* handles given so far */
};

#ifdef __cplusplus
extern "C" {
#endif

void rs_utrace_serve(struct rs_utrace_host *host, struct rs_serve *serve,
		     const struct rs_utrace_os *os, struct rs_utrace_host_engine *engines,
		     uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
