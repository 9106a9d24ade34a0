/* SPDX-License-Identifier: MIT */
/*
 * The filter programs of a session: those that it keeps for its owners' wishes, those in force, and
 * those that it works out for requests. All of them together take a bounded number of bytes. A
 * program that several hold is counted once, until the last one lets go of it.
 *
 * Guests have half of the room, all of them together, so that none takes what the host and its
 * peers need. Caller: the session, on its thread. Only hv/session.
 */
#ifndef RS_HV_SESSION_PROGRAM_H
#define RS_HV_SESSION_PROGRAM_H

#include "base/error.h"
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RS_PROGRAMS_MAX (64u << 20) /* bytes of all programs of a session */

struct rs_program_room {
	uint64_t length;       /* that there is */
	uint64_t used, guests; /* by all programs, and by those of guests */
};

struct rs_program {
	GByteArray *bytes; /* see rs_filter_compile() */
	struct rs_program_room *room;
	bool guest; /* a guest asked for it */
};

/*
 * Whether there is room for so many bytes more: 0, or -ENOSPC and a message. A program may be made
 * without asking, if something else bounds it.
 */
int rs_program_check(const struct rs_program_room *room, size_t bytes, bool guest,
		     struct rs_error *err);
/* Takes a reference to `bytes`, which do not change any more. `room` outlives the program. */
struct rs_program *rs_program_new(struct rs_program_room *room, GByteArray *bytes, bool guest);
struct rs_program *rs_program_ref(struct rs_program *program);
void rs_program_unref(struct rs_program *program);

#endif
