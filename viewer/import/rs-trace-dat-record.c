/* SPDX-License-Identifier: MIT */
/* What the common fields of Linux' record say. */
#include "rs-trace-dat-event-private.h"

#include <ringside/record.h>
#include <string.h>

/* Linux' common_flags. */
#define LINUX_IRQS_OFF 0x01u
#define LINUX_NEED_RESCHED 0x04u
#define LINUX_HARDIRQ 0x08u
#define LINUX_SOFTIRQ 0x10u
#define LINUX_NMI 0x40u

guint16 rs_trace_dat_event_context(const RsTraceDatEvent *event, const struct tep_record *record)
{
	const guint8 *data = record->data;
	guint flags = 0, preempt = 0, context = 0;

	if (event->flags_at >= 0 && event->flags_at < record->size)
		flags = data[event->flags_at];
	if (event->preempt_at >= 0 && event->preempt_at < record->size)
		preempt = data[event->preempt_at];
	context |= flags & LINUX_IRQS_OFF ? RS_CTX_IRQS_OFF : 0;
	context |= flags & LINUX_NEED_RESCHED ? RS_CTX_NEED_RESCHED : 0;
	context |= flags & LINUX_HARDIRQ ? RS_CTX_HARDIRQ : 0;
	context |= flags & LINUX_SOFTIRQ ? RS_CTX_SOFTIRQ : 0;
	context |= flags & LINUX_NMI ? RS_CTX_NMI : 0;
	context |= (preempt & RS_CTX_PREEMPT_MAX) << RS_CTX_PREEMPT_SHIFT;
	context |= MIN(preempt >> 4, RS_CTX_MIGRATE_MAX) << RS_CTX_MIGRATE_SHIFT;
	return (guint16)context;
}

guint32 rs_trace_dat_event_pid(const RsTraceDatEvent *event, const struct tep_record *record)
{
	guint32 pid = 0;

	if (event->pid_at >= 0 && event->pid_at + 4 <= record->size)
		memcpy(&pid, (const guint8 *)record->data + event->pid_at, sizeof(pid));
	return pid;
}
