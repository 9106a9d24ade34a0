/* SPDX-License-Identifier: MIT */
/* The meaning of a user's arguments. Any thread. */
#ifndef RS_HV_CLI_ARGS_H
#define RS_HV_CLI_ARGS_H

#include "base/error.h"
#include <glib.h>
#include <stdint.h>

/* "512", "64K", "16M", "1G" in bytes. -EINVAL. */
int rs_cli_parse_size(const char *text, uint64_t *out, struct rs_error *err);

/* The path of the bundled demo guest; to be freed. -EIO: it is not in its place. */
int rs_cli_find_demo(char **out, struct rs_error *err);

/*
 * The arguments as GOption reads them: a value that is joined to its letter, as in -n5, stands by
 * itself. Options end at "--". The vector is NULL-terminated and to be freed by g_free(); its texts
 * live for ever.
 */
char **rs_cli_split_values(const GOptionEntry *entries, int argc, char **argv);

#endif
