/* SPDX-License-Identifier: MIT */
/*
 * What a kernel adds to each event of <ringside/event.h>.
 *
 * A task may be preempted anywhere and go on on another CPU, but a ring belongs to one CPU. So an
 * event disables preemption while it is built and written. That also lets synchronize_rcu() wait
 * for all events that are on their way. The kernel's tracepoints have disabled preemption already
 * when they call a probe: a file of probes defines RS_PREEMPTION_IS_OFF.
 */
#ifndef RS_KERNEL_EVENT_GUARD_H
#define RS_KERNEL_EVENT_GUARD_H

#ifndef RS_PREEMPTION_IS_OFF
#include <linux/preempt.h>

static inline bool rs_event_guard_enter(void)
{
	preempt_disable_notrace();
	return true;
}

static inline void rs_event_guard_leave(const bool *entered)
{
	preempt_enable_notrace();
}

#define RS_EVENT_GUARD                                                                             \
	bool rs_guard __attribute__((cleanup(rs_event_guard_leave), unused)) =                     \
		rs_event_guard_enter();
#endif

/*
 * objtool follows the code of a function. It does not know that a site may become a jump, so the
 * site looks like an instruction that may fault, and go on at its label. Nothing ever uses this
 * entry of the table, since a NOP and a JMP do not fault. The kernel is not told to prepare either
 * place for indirect jumps, although a section of data names them.
 */
#define RS_SITE_EXTRA(label)                                                                       \
	".pushsection __ex_table, \"a\"\n\t"                                                       \
	".balign 4\n\t"                                                                            \
	".long 1b - .\n\t"                                                                         \
	".long " label " - .\n\t"                                                                  \
	".long 0\n\t"                                                                              \
	".popsection\n\t"                                                                          \
	".pushsection .discard.noendbr\n\t"                                                        \
	".long 1b\n\t"                                                                             \
	".long " label "\n\t"                                                                      \
	".popsection\n\t"

#endif
