/* SPDX-License-Identifier: MIT */
/* A trigger for a session of another process. */
#ifndef RS_HV_CLI_TRIGGER_ADD_H
#define RS_HV_CLI_TRIGGER_ADD_H

#include <rs-trace-client.h>
#include <stdbool.h>

/*
 * Asks the session for it, and returns its number; 0: `error` is set. `actions`: NULL-terminated;
 * the path of a snapshot is one of this process. `count` 0: not given. `ahead`: it is no error that
 * no event matches.
 */
guint32 rs_cli_add_trigger(RsDBusSession1 *session, const char *event, char **actions,
			   guint32 count, bool ahead, GError **error);

#endif
