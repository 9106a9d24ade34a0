/* SPDX-License-Identifier: MIT */
/*
 * What a session leaves when it ends or dies: QEMU guests that run on, text that is patched, and
 * its name. There is one answer to what that is, and to whether the session's file is kept for it.
 * Thread: main.
 */
#ifndef RS_HV_CLI_REMAINS_H
#define RS_HV_CLI_REMAINS_H

#include "server/rundir.h"
#include <errno.h>

enum rs_remains {                              /* bits */
		  RS_REMAINS_GUEST = 1 << 0,   /* a QEMU guest that the session started runs on */
		  RS_REMAINS_OTHER = 1 << 1,   /* a guest that it only reached is to be put right */
		  RS_REMAINS_TEXT = 1 << 2,    /* so is text of a program that runs on */
		  RS_REMAINS_PROGRAM = 1 << 3, /* a program runs on, and can be traced on */
		  RS_REMAINS_MEMORY = 1 << 4,  /* a memory that was traced alone is still there */
};

/* Only the session's file leads to these. To others lead a process's id, or a path. */
#define RS_REMAINS_KEPT (RS_REMAINS_GUEST | RS_REMAINS_OTHER | RS_REMAINS_TEXT)
/* These can be traced on, under the name of the session. */
#define RS_REMAINS_LIVES (RS_REMAINS_GUEST | RS_REMAINS_OTHER | RS_REMAINS_PROGRAM)

/* Bits, of a session that is not live or is our own; 0: nothing. */
unsigned int rs_remains_of(const RsTraceRundirEntry *entry);
/*
 * The session that traces what `via` leads to (machine/reach.h), or did when it died; to be freed.
 * NULL: there is none.
 */
RsTraceRundirEntry *rs_remains_find(const char *via);

/*
 * Takes a name for a session: the one that the user has given, or else (NULL) a free one that is
 * made from the path of a kernel or program. Sweeps before. -EINVAL: it is none. -EEXIST: a session
 * of that name runs, or has left a guest behind. A session that is to be taken up is claimed by
 * rs_rundir_claim().
 */
int rs_remains_claim(const char *name, const char *what, struct rs_rundir_claim **out,
		     struct rs_error *err);
/*
 * Gives the name back, when the session is over or was not begun. Its file is kept for what only it
 * leads to (RS_REMAINS_KEPT). `let_go`: the session has run, and let go of what runs on. Returns
 * what remains.
 */
unsigned int rs_remains_release(struct rs_rundir_claim *claim, bool let_go);

/*
 * Puts the text of programs right whose session died, and removes what is left of sessions of which
 * nothing remains. What fails is tried again the next time.
 */
void rs_remains_sweep(void);
/*
 * Restores the text of programs that earlier sessions of that name have left patched. Errors:
 * -EAGAIN (some of it could not be put right), -EEXIST (a QEMU guest still runs), or as
 * rs_machine_rescue_process() gives them.
 */
int rs_remains_rescue(const char *name, struct rs_error *err);
/*
 * Ends the QEMU guests of a session that died, and restores the text of its programs. Goes on after
 * a failure. Returns the first: -ETIMEDOUT, -EAGAIN (some text could not be put right), or as
 * rs_qemu_attach() and rs_machine_rescue_process() give them.
 */
int rs_remains_end(const RsTraceRundirEntry *old, struct rs_error *err);

/* Whether an error says that the guest has ended. */
static inline bool rs_remains_has_ended(int ret)
{
	return ret == -ESRCH || ret == -ENOENT;
}

#endif
