/* SPDX-License-Identifier: MIT */
/*
 * The history of task names, built from snapshots of RS_SEC_CMDLINE. A pid's name at an event is
 * its newest entry of that boot that is not younger than the event. A name that is known only from
 * a later time is never shown, since the pid may have had another owner: "<...>" replaces it. Pid 0
 * is "<idle>" until it has a name.
 *
 * Snapshots are hostile. The history is bounded: 1,024 names for a pid, 65,536 pids, and some
 * 131,072 names of all pids together, which is at most some 20 MB. It drops the pids that no
 * snapshot has held for longest. One thread at a time.
 */
#ifndef RS_TRACE_CMDLINE_H
#define RS_TRACE_CMDLINE_H

#include <glib.h>
#include <ringside/cmdline.h>

#include "rs-trace-moment.h"

G_BEGIN_DECLS

typedef struct _RsTraceCmdline RsTraceCmdline;

RsTraceCmdline *rs_trace_cmdline_new(void);
void rs_trace_cmdline_free(RsTraceCmdline *cmdline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceCmdline, rs_trace_cmdline_free)

/*
 * Takes the entries of a snapshot. A live section changes while it is copied. So the caller copies
 * it twice, with rs_rmb() in between, and an entry counts only if both copies hold the same: a
 * write in between would have changed its sequence. `again` NULL: the snapshot does not change (a
 * file). `stride`: bytes from one entry to the next, at least RS_CMDLINE_ENTRY_MIN_SIZE.
 */
void rs_trace_cmdline_merge(RsTraceCmdline *cmdline, const guint8 *snapshot, const guint8 *again,
			    gsize size, gsize stride);

/* Bytes of memory, about. */
gsize rs_trace_cmdline_size(const RsTraceCmdline *cmdline);
/* Drops the pids that no snapshot has held since the last call, or for long. */
void rs_trace_cmdline_age(RsTraceCmdline *cmdline);

/* One entry, as from a snapshot. */
void rs_trace_cmdline_add(RsTraceCmdline *cmdline, const struct rs_cmdline_entry *entry);

/* What is known of a task; valid until the next merge. */
typedef struct {
	const char *comm; /* guest bytes with NUL, to be escaped; never empty */
	guint32 tgid;     /* 0: not known */
} RsTraceTask;

/*
 * The task `pid` at that moment. An empty name counts as none. So does a name after which others of
 * that pid are missing. `cmdline` NULL: no task has a name.
 */
void rs_trace_cmdline_lookup(RsTraceCmdline *cmdline, guint32 pid, RsTraceMoment when,
			     RsTraceTask *out);

G_END_DECLS

#endif
