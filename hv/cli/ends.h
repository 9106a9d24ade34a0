/* SPDX-License-Identifier: MIT */
/* What `run` and `attach` say about the end of a source, and the exit code for it. Thread: main. */
#ifndef RS_HV_CLI_ENDS_H
#define RS_HV_CLI_ENDS_H

#include "target/target.h"
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

/*
 * Writes to a file how the only source, or the first of several, ended: one JSON object, which
 * docs/json.md describes. NULL: it has not ended. `over`: its time was over. `core`: its memory was
 * kept. Returns 0, or an exit code after a message.
 */
int rs_ends_write(const char *path, const struct rs_target_end *end, bool over, int signalled,
		  bool core);

#endif
