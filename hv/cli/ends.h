/* SPDX-License-Identifier: MIT */
/* What `run` and `attach` say about the end of a source, and the exit code for it. Thread: main. */
#ifndef RS_HV_CLI_ENDS_H
#define RS_HV_CLI_ENDS_H

#include "session/session.h"
#include <stdbool.h>

struct rs_ends_view {
	const char *name; /* how messages call the source */
	bool quiet;       /* say nothing about an end that was asked for */
	bool propagate;   /* the exit code is the guest's */
	bool stopping;    /* we have asked for the end */
	int signalled;    /* the signal that asked us for the end; 0: none */
};

/*
 * Whether the source died by a signal that a terminal, or whoever stops a whole process group, also
 * sends us. It may reach us a moment later.
 */
bool rs_ends_by_shared_signal(const struct rs_target_end *end);

/* Why a signal ends a session: "interrupted". NULL: we do not end by it. */
const char *rs_ends_why(int signal);

/* Tells the user how a source ended. Returns the exit code for it. */
int rs_ends_tell(const struct rs_target_end *end, const struct rs_ends_view *view);

/* How messages call a source: by its name, if the session has started several. */
const char *rs_ends_name(struct rs_session *session, const struct rs_source *source);
/* The first source that did not join. NULL: there is none. */
struct rs_source *rs_ends_first(struct rs_session *session);

/* What `--result` says besides how the source ended. */
struct rs_ends_result {
	bool over;         /* the time that it was given was over */
	int signalled;     /* the signal that asked for the end; 0: none */
	bool agent;        /* an agent has reported */
	bool matched;      /* each glob that was asked for has matched an event */
	bool core;         /* its memory was kept */
	uint64_t until_ns; /* until when it ran for sure, on the clock of records; 0: not known */
	/* Events that are in no ring, and so in no trace. */
	uint64_t lost_no_ring, lost_nested;
	uint64_t console_unread; /* bytes of consoles that could not be written */
};

/*
 * Writes to a file how the only source, or the first of several, ended: one JSON object, which
 * docs/json.md describes. NULL: it has not ended. Returns 0, or an exit code after a message.
 */
int rs_ends_write(const char *path, const struct rs_target_end *end,
		  const struct rs_ends_result *result);
/*
 * The same for rs_ends_first(). What the session knows is filled into `result`. `ran_us`: until
 * then it ran, by g_get_monotonic_time(), only if it was stopped; 0: that is not known.
 */
int rs_ends_write_first(const char *path, struct rs_session *session, gint64 ran_us,
			struct rs_ends_result *result);

#endif
