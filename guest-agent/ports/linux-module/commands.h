/* SPDX-License-Identifier: MIT */
/*
 * A task of the module that does what takes longer than a look: it carries out the host's commands
 * about ktrace, follows its events, and notes names of tasks.
 */
#ifndef RS_LINUX_COMMANDS_H
#define RS_LINUX_COMMANDS_H

/* Looks for the tracepoints that are needed. */
void rs_commands_find(void);
/* While there is a region, whose events are registered. 0 or -errno. */
int rs_commands_begin(void);
/* None of this goes on once it returns. Processes that are traced still are, in the next region. */
void rs_commands_end(void);
/* No process is traced any more. */
void rs_commands_free(void);

#endif
