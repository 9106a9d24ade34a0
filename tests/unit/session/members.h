/* SPDX-License-Identifier: MIT */
/*
 * For tests of processes that join by taking a region: a session with real memory, whose machine is
 * a sham, and the agents of the processes, which the test plays.
 */
#ifndef RS_TEST_SESSION_MEMBERS_H
#define RS_TEST_SESSION_MEMBERS_H

#include "session/session.h"
#include "sham.h"
#include <ringside/agent.h>

#define USERS 4u
#define FIRST RS_FIRST_EVENT_ID

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_regions *regions; /* owned by the session */
	struct sham *sham;
	struct rs_source *machine;
	uint8_t *memory; /* all of the memory, as agents map it */
	uint64_t size;
	bool told_of_hello; /* of the newest source */
	uint32_t added, gone, ends, messages, left_out, hellos;
	char *said;    /* the last message */
	char *journal; /* its path; NULL: none */
	struct rs_source *newest;
	struct rs_target_end end;
};

/* What a test is given as its data. */
enum {
	SAME_HOST = 1,
	MACHINE_LAST = 2, /* the regions for processes lie before that of the machine */
	WITH_TEXT = 4,    /* the host patches the machine's text */
	WITH_JOURNAL = 8, /* and keeps a journal of it */
};

/* One more machine of f->session, which f listens to as well. To be freed after the session. */
void add_machine(struct fixture *f, int flags);
void free_machine(struct fixture *f);

void set_up(struct fixture *f, gconstpointer data);
void tear_down(struct fixture *f, gconstpointer data);

gboolean too_late(gpointer data);

/* Runs the session until the condition holds. */
#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		guint patience_ = g_timeout_add(10000, too_late, NULL);                            \
                                                                                                   \
		while (!(condition))                                                               \
			g_main_context_iteration(NULL, TRUE);                                      \
		g_source_remove(patience_);                                                        \
	} while (0)

/* Runs the session for some rounds of its timer. */
void run_rounds(int rounds);

/* ---- agents ---- */

struct agent {
	struct fixture *f;
	struct rs_place place;
	uint32_t pid;
	struct sham sham; /* the agent's side of the region */
	int fd;           /* holds the lock; -1: none */
};

int take(struct fixture *f, struct agent *agent, uint32_t pid);
void lock(struct agent *agent);
/* It reports, with the events pool:take and pool:done. */
void hello(struct agent *agent);
void forget(struct agent *agent);
void leave(struct agent *agent);
/* An agent that has claimed a region, has reported and is a source. */
struct rs_source *come(struct fixture *f, struct agent *agent, uint32_t pid);
/* Likewise, of this host: it holds the lock before its claim can be seen. */
struct rs_source *come_locked(struct fixture *f, struct agent *agent, uint32_t pid);

uint32_t generation(struct fixture *f, uint32_t index);
bool is_on(struct agent *agent, uint32_t nth);

#endif
