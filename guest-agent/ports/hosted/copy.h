/* SPDX-License-Identifier: MIT */
/*
 * A process may hold several copies of this library: a program's, and one in each plugin that links
 * it. Each copy calls only its own functions (they are built as protected symbols). But the words
 * that the code of events reads (rs_event_ctl) are those of the first image that exports them. A
 * copy whose words are another one's must not attach: it would switch the other's events.
 *
 * For rs_hosted.c. Threads: any, several copies at once. Trust: all of it is this process.
 */
#ifndef RS_HOSTED_COPY_H
#define RS_HOSTED_COPY_H

#include <stdbool.h>

/*
 * Writes a line to the log of the session of this copy, or keeps it until there is one. It is data,
 * since a linker may be told to bind functions only (-Bsymbolic-functions), and public: a copy that
 * must not attach reaches by it the one whose words it has.
 */
extern void (*const rs_hosted_tell)(const char *line);

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Whether the code of events that is linked with this copy reads the words of this copy. */
bool rs_hosted_is_whole(void);
/* Says that the image which `inside` lies in is not traced, here and in the session's log. */
void rs_hosted_refuse(const void *inside);
/* rs_hosted_tell() has a session now; or has none any more, as after a fork. */
void rs_hosted_may_tell(bool can);

#pragma GCC visibility pop

#endif
