/* SPDX-License-Identifier: MIT */
/*
 * What a session has kept for events that come: the rows of ListKept, for `ringside list`. Rows are
 * hostile. Thread: main.
 */
#ifndef RS_HV_CLI_LIST_KEPT_H
#define RS_HV_CLI_LIST_KEPT_H

#include "cli/verb.h"

/* All of it, aa{sv}; NULL: `error` says why not. */
GVariant *rs_cli_ask_kept(RsDBusSession1 *session, GError **error);
/* Only what this owner wants, if it is not NULL. */
void rs_cli_print_kept_table(GVariant *kept, const char *owner);
void rs_cli_print_kept_json(GVariant *kept, const char *owner);
/*
 * Lines for the table of events: wishes to enable that have met none. `glob`: only of this glob;
 * "": of all. Returns how many there are; with `print` false, only that.
 */
guint rs_cli_print_unmet(GVariant *kept, const char *owner, const char *glob, bool print);

#endif
