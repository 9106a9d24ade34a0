/* SPDX-License-Identifier: MIT */
/* `ringside list --sites`: where the tracepoints of events are. What a session says is hostile. */
#ifndef RS_HV_CLI_LIST_SITES_H
#define RS_HV_CLI_LIST_SITES_H

#include "cli/verb.h"

#include <rs-trace-sites.h>

/* Asks for the sites of events that match, all if `glob` is empty, and prints them. Exit code. */
int rs_cli_list_sites(RsDBusSession1 *session, const char *glob, bool json);

#endif
