/* SPDX-License-Identifier: MIT */
/* For a guest that patches its own text: the operations that write it. For agent.c only. */
#ifndef RS_LINUX_SELF_PATCH_H
#define RS_LINUX_SELF_PATCH_H

#include <ringside/types.h>

/* Those of rs_trace_ops. Under the agent's lock, in a context that may sleep. */
void rs_text_open(void *from, void *to);
void rs_text_write(void *at, const void *bytes, uint32_t size);
void rs_text_flush(void);
void rs_text_close(void *from, void *to);

#endif
