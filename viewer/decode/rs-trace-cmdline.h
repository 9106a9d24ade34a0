/* SPDX-License-Identifier: MIT */
/*
 * Who a pid was when: the history of tasks, put together from snapshots of RS_SEC_CMDLINE. A pid's
 * name at an event is its newest entry of that boot that is not younger than the event. A name that is only known from later on is
 * never shown: the pid may have had another owner; "<...>" says so. Pid 0 is "<idle>" until named.
 *
 * Snapshots are hostile. What is kept is bounded: 64 names a pid, and some 65,536 pids, of which
 * those not seen in a snapshot for longest are forgotten. One thread at a time.
 */
#ifndef RS_TRACE_CMDLINE_H
#define RS_TRACE_CMDLINE_H

#include <glib.h>
#include <ringside/cmdline.h>

G_BEGIN_DECLS

typedef struct _RsTraceCmdline RsTraceCmdline;

RsTraceCmdline *rs_trace_cmdline_new(void);
void rs_trace_cmdline_free(RsTraceCmdline *cmdline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceCmdline, rs_trace_cmdline_free)

/*
 * Takes the entries of a snapshot. The section changes while it is copied, so a live one is copied
 * twice, one after the other (with rs_rmb() in between), and an entry counts that is the same in both: its
 * sequence would have moved otherwise. `again` NULL: the snapshot is at rest (a file). `stride`: bytes from
 * one entry to the next, at least those of struct rs_cmdline_entry.
 */
void rs_trace_cmdline_merge(RsTraceCmdline *cmdline, const guint8 *snapshot, const guint8 *again,
			    gsize size, gsize stride);

/* One entry, as from a snapshot. */
void rs_trace_cmdline_add(RsTraceCmdline *cmdline, const struct rs_cmdline_entry *entry);

/* What is known of a task. */
typedef struct {
	const char *
		comm; /* NUL-terminated guest bytes, to be escaped; never empty; until the next merge */
	guint32 tgid; /* 0: not known */
} RsTraceTask;

/* The task `pid` at event clock `ts` of boot `boot`. An empty name counts as none. */
void rs_trace_cmdline_lookup(RsTraceCmdline *cmdline, guint32 boot, guint32 pid, guint64 ts,
			     RsTraceTask *out);

G_END_DECLS

#endif
