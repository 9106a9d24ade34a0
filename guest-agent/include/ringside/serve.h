/* SPDX-License-Identifier: MIT */
/*
 * Serving the host: a task of the OS carries out commands (ringside/command.h). Dialects bring
 * handlers for theirs; the OS adds those that it wants, and has one task go on with it:
 *
 *	static struct rs_serve serve;
 *	static struct rs_ktrace_server ktrace;
 *
 *	rs_ktrace_serve(&ktrace, &serve, &my_processes);
 *	for (;;)
 *		if (rs_serve_step(&serve) < 1)
 *			sleep_ms(10);
 *
 * Without such a task the host is told that this guest takes no such commands.
 *
 * An OS may have commands of its own, with numbers of RS_CMD_OS_FIRST .. RS_CMD_OS_LAST. It adds a
 * handler for them, whose `run` says by args and data what is to be done, and by result, values and
 * data what came of it. Whoever is connected to the session sends them (GuestCommand, D-Bus). The
 * session bounds sizes and knows nothing of their meaning. What they say about the guest's
 * memory is between that peer and the OS.
 *
 * Threads: one struct rs_serve for each image, and one task that uses it. Handlers are added before
 * the first step. They run in that task, outside of any lock of the agent, and may sleep.
 */
#ifndef RINGSIDE_SERVE_H
#define RINGSIDE_SERVE_H

#include <ringside/agent.h>
#include <ringside/command.h>

struct rs_command {
	uint32_t number; /* RS_CMD_* */
	uint64_t args[RS_CMD_ARGS];
	uint32_t size; /* of `data`, bytes */
	const uint8_t *data;
};

struct rs_command_reply { /* values and size are 0 at first */
	uint64_t values[RS_CMD_ARGS];
	uint32_t size; /* of `data`, at most RS_CMD_DATA */
	uint8_t *data;
};

/* What is told without being asked: the arguments of RS_HCALL_NEWS, and its data. */
struct rs_serve_news {
	uint64_t args[6];
	uint32_t size; /* of `data` */
	uint8_t data[RS_NEWS_DATA];
};

/* Memory of whoever brings it; `next` is the agent's. */
struct rs_serve_handler {
	struct rs_serve_handler *next;
	uint32_t first, last; /* numbers of the commands that it takes */
	/* The command's result: 0 or more, or negative, of ringside/error.h. */
	int32_t (*run)(struct rs_serve_handler *handler, const struct rs_command *command,
		       struct rs_command_reply *reply);
	/*
	 * The session that has sent the commands so far is gone, or was not heard for
	 * RS_CMD_SILENCE_MS, or the agent began anew: what was done for it is to be undone. Called
	 * once after any number of commands, of this handler or of others. NULL: there is nothing
	 * to undo.
	 */
	void (*gone)(struct rs_serve_handler *handler);
	/*
	 * Whether there is something to tell: fills `news`, which is zero but for its data. Asked
	 * at each step, and told once. NULL: there never is.
	 */
	bool (*news)(struct rs_serve_handler *handler, struct rs_serve_news *news);
};

struct rs_serve { /* all zero at first; the agent's, but for `wake` */
	/*
	 * The OS may set it before the first step: there is something to tell, so the task that
	 * serves is to go on if it sleeps. Called on any thread, where it may be woken as by the
	 * end of a sleep. NULL: the task finds out by itself.
	 */
	void (*wake)(struct rs_serve *serve);
	struct rs_serve_handler *handlers;
	bool asking;    /* `ticket` waits for its answer */
	bool served;    /* a command was carried out since the handlers were last told */
	uint32_t epoch; /* the agent's life in which that was */
	struct rs_hcall_ticket ticket;
	bool telling; /* news are on their way: */
	struct rs_hcall_ticket told;
	uint64_t looked, silence; /* event clock: the last look; how long nothing was heard */
	uint32_t session;
	uint64_t args[6];
	struct rs_serve_news news;
	bool has_news; /* `news` waits for a slot */
	uint32_t size;
	uint8_t in[RS_CMD_DATA], out[RS_CMD_DATA];
};

/* For handlers, once they have something to tell. Any thread. */
static inline void rs_serve_wake(struct rs_serve *serve)
{
	if (serve->wake)
		serve->wake(serve);
}

#ifdef __cplusplus
extern "C" {
#endif

/* `handler` stays where it is for as long as `serve` is used. */
void rs_serve_add(struct rs_serve *serve, struct rs_serve_handler *handler);

/*
 * Goes on, without waiting: carries out a command if there is one. 1: it did something, so call it
 * again soon. 0: there is nothing to do now; call it again within 100 ms or so, since it also
 * notices here that the host is gone. Negative: nobody can be asked now (-RS_EHOSTUNREACH: no
 * agent or no host; -RS_EACCES: the session has ended, or another task serves). Calling again
 * later is right then, too: there may be another session.
 */
int32_t rs_serve_step(struct rs_serve *serve);

/*
 * Steps until that is no use: returns what the last step returned. For a task with nothing else to
 * do. Where steps find nothing, it waits as hypercalls do (rs_trace_ops.wait_nudge). News wait for
 * the end of such a wait, so an OS whose wait may be long has a loop of its own.
 */
int32_t rs_serve_run(struct rs_serve *serve);

#ifdef __cplusplus
}
#endif

#endif
