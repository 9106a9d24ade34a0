/* SPDX-License-Identifier: MIT */
/*
 * For a process that patches its own text: the operations that make text writable, and the thread
 * that follows rs_control.generation. For rs_hosted.c only.
 */
#ifndef RS_HOSTED_SELF_PATCH_H
#define RS_HOSTED_SELF_PATCH_H

#include <ringside/agent.h>

/* Sets text_open, text_close and write_kernel_text. */
void rs_self_patch_ops(struct rs_trace_ops *ops);

/* Applies what the host asks for now, then follows it on a thread that blocks all signals. */
void rs_self_patch_start(void);
/* Ends the thread and waits for it, if there is one. */
void rs_self_patch_stop(void);

#endif
