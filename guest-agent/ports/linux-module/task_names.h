/* SPDX-License-Identifier: MIT */
/*
 * The names of tasks, as the host knows them: those that fire events are noted with these, and the
 * others by fork, exec and rename, for as long as a session is there.
 *
 * Thread: one task of the module, which may sleep.
 */
#ifndef RS_TASK_NAMES_H
#define RS_TASK_NAMES_H

#include <linux/types.h>

void rs_task_names_find(void);
/* `wanted`: a session is there. When one has come, the tasks that are there are noted. */
void rs_task_names_follow(bool wanted);
/* Nothing is noted any more once this returns. */
void rs_task_names_stop(void);

#endif
