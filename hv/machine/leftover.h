/* SPDX-License-Identifier: MIT */
/*
 * A file that somebody else makes for us, and that is to be gone even if we are killed before we
 * can remove it. A small process beside us removes it then. Thread: any.
 */
#ifndef RS_HV_MACHINE_LEFTOVER_H
#define RS_HV_MACHINE_LEFTOVER_H

#include "base/error.h"

/*
 * To be called before the file is there. *watch is to be given to rs_leftover_settled(). If we end
 * first, the file is removed as soon as it is there, for 15 seconds. Errors: those of the system.
 */
int rs_leftover_watch(const char *path, int *watch, struct rs_error *err);

/* Removes the file, if it is there, and ends the watch. */
void rs_leftover_settled(const char *path, int watch);

#endif
