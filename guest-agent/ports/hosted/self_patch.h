/* SPDX-License-Identifier: MIT */
/*
 * For a process that patches its own text: the operations that make text writable, and the loop
 * that follows rs_control.generation. For rs_hosted.c and door.c.
 */
#ifndef RS_HOSTED_SELF_PATCH_H
#define RS_HOSTED_SELF_PATCH_H

#include <ringside/agent.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Sets text_open, text_close and write_kernel_text. */
void rs_self_patch_ops(struct rs_trace_ops *ops);

/*
 * Follows what the host asks for, on the calling thread. It asks host_lives() now and then. True:
 * there is no host any more, or it wants the memory back; all text is put back, and the agent has
 * left its region. False: *stop was set.
 */
bool rs_self_patch_follow(bool (*host_lives)(void), const uint32_t *stop);

#pragma GCC visibility pop

#endif
