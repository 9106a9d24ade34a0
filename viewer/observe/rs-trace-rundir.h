/* SPDX-License-Identifier: MIT */
/*
 * Where sessions are found: $XDG_RUNTIME_DIR/ringside. If that variable is not set to an absolute
 * path: /run/user/UID/ringside if we can write to /run/user/UID, else /tmp/ringside-UID. The
 * directory has mode 0700 and is ours. It holds for each session
 *
 *     NAME.session     key file: what runs, how to reach it again; locked while the session lives
 *     NAME.sock        its D-Bus socket
 *     NAME.log         what the last one of that name wrote that ran without a terminal
 *     NAME@N.journal   what the patcher has changed in the Nth source that the session started
 *     NAME@N.*         other files of that source
 *
 * A NAME.session that nobody has locked belonged to a process that died. The functions here only
 * read. A session takes its name with hv/server/rundir.h.
 *
 * Any thread. Trust: the directory is the user's own, but its files are read as if they were not. A
 * bad file is an error, never a crash.
 */
#ifndef RS_TRACE_RUNDIR_H
#define RS_TRACE_RUNDIR_H

#include <glib.h>
#include <sys/types.h>

G_BEGIN_DECLS

/* The key file's groups: one for the session, and one for each source, numbered from 1. */
#define RS_TRACE_RUNDIR_GROUP "session"
#define RS_TRACE_RUNDIR_SOURCE_GROUP "source %u"

typedef struct {
	char *name, *kind, *kernel; /* never NULL */
	char *qmp, *gdb, *region;   /* how to reach a QEMU guest again; NULL: not given */
	char *via;        /* how to reach again what the session did not start; NULL: it did */
	gboolean program; /* a process of this host */
} RsTraceRundirSource;

#define RS_TRACE_RUNDIR_ENDING "ending"     /* it serves nobody any more */
#define RS_TRACE_RUNDIR_DETACHED "detached" /* it has let go of its guests, and they may live */

typedef struct {
	char *name;
	gboolean live; /* its process has it locked */
	pid_t pid;
	gint64 started;     /* unix seconds */
	GPtrArray *sources; /* of RsTraceRundirSource, those that it started; never NULL */
	/* RS_TRACE_RUNDIR_*, what its process said last of its end; NULL: nothing. */
	char *said;
} RsTraceRundirEntry;

RsTraceRundirEntry *rs_trace_rundir_entry_new(const char *name);
/* Adds a copy of `source`. Its first three texts may be NULL, and become "". */
void rs_trace_rundir_entry_add(RsTraceRundirEntry *entry, const RsTraceRundirSource *source);
/* The Nth source, from 1 on; NULL: there is none. */
const RsTraceRundirSource *rs_trace_rundir_entry_source(const RsTraceRundirEntry *entry, guint n);
/*
 * Whether the session died and what it traced may live, as far as its file says: a QEMU guest, or
 * what it did not start. Nobody has looked.
 */
gboolean rs_trace_rundir_entry_lost(const RsTraceRundirEntry *entry);

void rs_trace_rundir_entry_free(RsTraceRundirEntry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceRundirEntry, rs_trace_rundir_entry_free)

/*
 * The path of the directory, to be freed. It is made if need be, but not what it lies in.
 * G_IO_ERROR: it cannot be made, or (NOT_FOUND) XDG_RUNTIME_DIR does not exist, or
 * (PERMISSION_DENIED) it is there but not ours alone.
 */
char *rs_trace_rundir_path(GError **error);

/* DIR/NAME.suffix, to be freed. */
char *rs_trace_rundir_file(const char *name, const char *suffix, GError **error);
/* NAME@N: the name of the files of a session's Nth source; to be freed. */
char *rs_trace_rundir_source_name(const char *name, guint n);

/* All sessions, also dead ones, in order of name: RsTraceRundirEntry, to be unreffed. */
GPtrArray *rs_trace_rundir_list(GError **error);
/* RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION: no such session. */
RsTraceRundirEntry *rs_trace_rundir_find(const char *name, GError **error);

G_END_DECLS

#endif
