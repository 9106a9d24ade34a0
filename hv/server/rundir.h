/* SPDX-License-Identifier: MIT */
/*
 * A session's place in the runtime directory. rs-trace-rundir.h describes its files and reads them.
 * This half claims a name and releases it. Callers: the CLI and the machine factory; any thread.
 */
#ifndef RS_HV_SERVER_RUNDIR_H
#define RS_HV_SERVER_RUNDIR_H

#include "base/error.h"
#include <rs-trace-rundir.h>
#include <stdbool.h>

struct rs_rundir_claim;

/* The path DIR/NAME.suffix, to be freed. -EIO: the directory cannot be used. */
int rs_rundir_file(const char *name, const char *suffix, char **out, struct rs_error *err);
/* Paths of all journals that sessions of that name have left, to be unreffed. */
int rs_rundir_journals(const char *name, GPtrArray **out, struct rs_error *err);

/*
 * Takes a name: creates, locks and fills NAME.session, with this process and the time. Uses only
 * the name and the sources of `entry`. -EEXIST: a session of that name is running. Takes over the
 * file of a dead session, and leaves its journals in place.
 */
int rs_rundir_claim(const RsTraceRundirEntry *entry, struct rs_rundir_claim **out,
		    struct rs_error *err);
/* Writes the file anew, when more is known: a QEMU guest's sockets. */
int rs_rundir_update(struct rs_rundir_claim *claim, const RsTraceRundirEntry *entry,
		     struct rs_error *err);
/*
 * Notes in the file what the session says of its end, RS_TRACE_RUNDIR_*. If that cannot be written,
 * it stays as it was.
 */
void rs_rundir_say(struct rs_rundir_claim *claim, const char *said);
/* Removes NAME.session and NAME.sock, unless `keep`. NULL is accepted. */
void rs_rundir_release(struct rs_rundir_claim *claim, bool keep);

/*
 * Takes a free name: `wish`, else wish-2, wish-3 … The name of a dead session is free if it is not
 * `taken`, and nothing of that goes over to the new one. -EEXIST: no name is free.
 */
int rs_rundir_claim_free(const char *wish, bool (*taken)(const RsTraceRundirEntry *dead),
			 struct rs_rundir_claim **out, struct rs_error *err);

/* Belongs to the claim. */
const char *rs_rundir_claim_name(const struct rs_rundir_claim *claim);

#endif
