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

/* Filter, call stack and record, where the event is on. `fixed`: bytes of `entry`. */
void rs_kernel_emit_any(struct rs_event *event, u32 control, const u64 *entry, u32 fixed,
			const struct rs_dyn *dyn, u32 dyn_count);

/* `fixed` and whether there are dynamic fields are known to the compiler. */
static __always_inline void rs_kernel_emit(struct rs_event *event, u32 control, const u64 *entry,
					   u32 fixed, const struct rs_dyn *dyn, u32 dyn_count)
{
	if (dyn || unlikely(control != RS_EVENT_ENABLED))
		rs_kernel_emit_any(event, control, entry, fixed, dyn, dyn_count);
	else if (fixed - 1 < 8)
		rs_emit_8(event, entry, fixed);
	else if (fixed - 1 < 16)
		rs_emit_16(event, entry, fixed);
	else
		rs_emit_plain(event, entry, fixed);
}

#endif
