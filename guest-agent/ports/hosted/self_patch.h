/* SPDX-License-Identifier: MIT */
/*
 * For a process that patches its own text: the operations that make text writable, and the thread
 * that follows rs_control.generation. For rs_hosted.c only.
 */
#ifndef RS_HOSTED_SELF_PATCH_H
#define RS_HOSTED_SELF_PATCH_H

#include <ringside/agent.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Sets text_open, text_close and write_kernel_text. */
void rs_self_patch_ops(struct rs_trace_ops *ops);

/*
 * Applies what the host asks for now, then follows it on a thread that blocks all signals. That
 * thread asks host_lives() now and then; when it is false, it puts all text back, calls host_gone()
 * and ends.
 */
void rs_self_patch_start(bool (*host_lives)(void), void (*host_gone)(void));
/* Ends the thread and waits for it, if there is one. */
void rs_self_patch_stop(void);

#pragma GCC visibility pop

#endif
