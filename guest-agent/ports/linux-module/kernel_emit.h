/* SPDX-License-Identifier: MIT */
/*
 * What a probe of a kernel tracepoint calls (kernel_stages.h). In any context, with preemption off.
 */
#ifndef RS_KERNEL_EMIT_H
#define RS_KERNEL_EMIT_H

#include <linux/types.h>
#include <ringside/event.h>

/*
 * Bytes of one record with dynamic fields, before it is cut: more than a path has (PATH_MAX) and
 * ftrace takes. Those of all LEVELS are one piece of per-CPU memory, of 32 KiB at most.
 */
#define RS_KERNEL_RECORD_MAX 8000u

/*
 * Memory of this CPU for a record with dynamic fields, until it is put back. NULL: too many
 * producers are nested, or `size` bytes are too many. The event is then counted as lost.
 */
void *rs_kernel_scratch_get(u32 size);
void rs_kernel_scratch_put(void);
int rs_kernel_scratch_init(void); /* 0 or -ENOMEM */
void rs_kernel_scratch_exit(void);

/* The string, cut to `size` - 1 bytes, and a NUL. `from` may be NULL. */
void rs_kernel_copy_text(char *to, u32 size, const char *from);

#endif
