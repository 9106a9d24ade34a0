/* SPDX-License-Identifier: MIT */
/*
 * The part of `ringside run`'s command line that describes one source: a kernel or a program, and
 * how to run it. Thread: main.
 */
#ifndef RS_HV_CLI_SOURCE_ARGS_H
#define RS_HV_CLI_SOURCE_ARGS_H

#include "cli/launch.h"
#include "cli/verb.h"

struct rs_source_args;

/*
 * Parses argv[1 … argc - 1], which describe one source. `more` are options of the session that may
 * stand there too (NULL: none). argv[0] is the verb's name. Reorders argv as GOption does. NULL:
 * the verb is done. Then *code is the exit code, and a message or the help has been printed.
 */
struct rs_source_args *rs_source_args_parse(const struct rs_verb *verb, const GOptionEntry *more,
					    int argc, char **argv, int *code);
void rs_source_args_free(struct rs_source_args *args);

/*
 * Fills in `out`, whose texts belong to `args`. `args` must outlive it. `recorded`: the session's
 * process records. -EINVAL: wrong usage.
 */
int rs_source_args_fill(const struct rs_source_args *args, bool recorded,
			struct rs_launch_source *out, struct rs_error *err);
/*
 * Looks for the kernel, and puts its path into `out`. Returns an exit code. If it is not 0, a
 * message has been printed.
 */
int rs_source_args_find(struct rs_source_args *args, struct rs_launch_source *out);

#endif
