/* SPDX-License-Identifier: MIT */
/* What users write and GOption does not read. Any thread. */
#ifndef RS_HV_CLI_OPTIONS_H
#define RS_HV_CLI_OPTIONS_H

#include <glib.h>

/*
 * The arguments as GOption reads them: a value that is joined to its letter, as in -n5, stands by
 * itself. "--stack" may stand without a value: it gets the usual one. Options end at "--". The
 * vector is NULL-terminated and to be freed by g_free(); its texts live for ever.
 */
#define RS_CLI_STACK_USUAL "--stack=16"
char **rs_cli_split_values(const GOptionEntry *entries, int argc, char **argv);

#endif
