/* SPDX-License-Identifier: MIT */
/*
 * Where sessions are found: $XDG_RUNTIME_DIR/ringside (else /run/user/UID/ringside, else
 * /tmp/ringside-UID), mode 0700 and ours, with for each session
 *
 *     NAME.session   key file: what runs, and how to reach it again; locked while the session lives
 *     NAME.sock      its D-Bus socket
 *     NAME.journal   what the patcher has changed in the guest
 *
 * A NAME.session that nobody has locked belonged to a process that died. Caller: session server, CLI;
 * any thread. The directory is the user's own, but files are read as if they were not: a bad one is
 * an error, never a crash.
 */
#ifndef RS_HV_SESSION_RUNDIR_H
#define RS_HV_SESSION_RUNDIR_H

#include "base/error.h"
#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct rs_rundir_entry {
	char *name;
	bool live; /* its process has it locked */
	pid_t pid;
	char *kind, *kernel;      /* never NULL */
	char *qmp, *gdb, *region; /* how to reach a QEMU guest again; NULL: not given */
	gint64 started;           /* unix seconds */
};

struct rs_rundir_claim;

/* The directory, made if need be; to be freed. -EPERM: it is there but not ours alone. */
int rs_rundir_path(char **out, struct rs_error *err);

/* DIR/NAME.suffix, to be freed. */
int rs_rundir_file(const char *name, const char *suffix, char **out, struct rs_error *err);

/*
 * Takes a name: creates, locks and fills NAME.session. Only name, kind, kernel, qmp, gdb and region of
 * `entry` are used. -EEXIST: a session of that name runs. A dead one's files are taken over; its
 * journal is left in place.
 */
int rs_rundir_claim(const struct rs_rundir_entry *entry, struct rs_rundir_claim **out,
		    struct rs_error *err);
/* Writes other contents (what is known later: sockets). */
int rs_rundir_update(struct rs_rundir_claim *claim, const struct rs_rundir_entry *entry,
		     struct rs_error *err);
/* Removes NAME.session and NAME.sock, unless `keep`. NULL is accepted. */
void rs_rundir_release(struct rs_rundir_claim *claim, bool keep);

/* All sessions, dead ones too, by name. GPtrArray of struct rs_rundir_entry, to be unreffed. */
int rs_rundir_list(GPtrArray **out, struct rs_error *err);
/* -ENOENT: no such session. */
int rs_rundir_find(const char *name, struct rs_rundir_entry **out, struct rs_error *err);
void rs_rundir_entry_free(struct rs_rundir_entry *entry);

/* A name that is free: `wish`, else wish-2, wish-3 …; to be freed. */
int rs_rundir_free_name(const char *wish, char **out, struct rs_error *err);

#endif
