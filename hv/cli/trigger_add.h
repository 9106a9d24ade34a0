/* SPDX-License-Identifier: MIT */
/* A trigger for a session of another process. */
#ifndef RS_HV_CLI_TRIGGER_ADD_H
#define RS_HV_CLI_TRIGGER_ADD_H

#include "session/trigger_text.h"

#include <rs-trace-client.h>

/*
 * Asks the session for it, and returns its number; 0: `error` is set. The path of a snapshot is one
 * of this process. `ahead`: it is no error that no event matches. What failed in part is told, and
 * then *part is set.
 */
guint32 rs_cli_add_trigger(RsDBusSession1 *session, const struct rs_trigger_text *text, bool ahead,
			   bool *part, GError **error);

#endif
