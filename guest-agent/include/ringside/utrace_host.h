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
	uint32_t taken;        /* atomic; all after it is new each time that it is taken */
	struct rs_utrace_engine engine;
	struct rs_utrace_host *host;
	uint64_t handle;   /* atomic; 0: free */
	uint64_t parent;   /* the handle of the engine that it follows */
	uint32_t session;  /* the host's, when it was attached */
	bool held;         /* of the task that serves: the host may use the handle */
	uint32_t born;     /* atomic: a callback has attached it, and nobody has told the host */
	uint32_t events;   /* atomic: at which the host wants its thread to stop */
	uint32_t flags;    /* atomic: RS_ENGINE_* */
	uint32_t refused;  /* atomic: threads that it could not follow */
	uint32_t told;     /* of these */
	uint32_t stop;     /* atomic: it is to stop at the next safe point */
	uint32_t stays;    /* atomic: it has stopped or is about to; until the host lets it go */
	uint32_t step;     /* atomic: not 0: the kind of step, which its signal ends */
	uint32_t after;    /* atomic: what the thread does then, RESUME or DETACH; 0: it stops */
	uint32_t reported; /* of the thread: the event whose callback follows */
	uint32_t news;     /* atomic: RS_NEWS_*, to be told; what follows was written before */
	uint32_t event;
	int64_t value;
	uint32_t path_size; /* EXEC */
	char path[RS_NEWS_DATA];
};

struct rs_utrace_host { /* all zero at first; ours */
	struct rs_serve_handler handler;
	struct rs_serve *serve;
	const struct rs_utrace_os *os;
	struct rs_utrace_host_engine *engines;
	uint32_t count, next_news;
	uint32_t lives;    /* atomic: handles given so far */
	uint64_t left;     /* all up to this handle are gone, which is to be told; 0: nothing is */
	uint32_t sessions; /* atomic: that have gone so far */
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
