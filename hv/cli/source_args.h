/* SPDX-License-Identifier: MIT */
/*
 * What `ringside run` is told of one source: a kernel or a program, and how to run it. Main thread.
 */
#ifndef RS_HV_CLI_SOURCE_ARGS_H
#define RS_HV_CLI_SOURCE_ARGS_H

#include "cli/launch.h"
#include "cli/verb.h"

struct rs_source_args;

/*
 * Parses argv[1 … argc - 1], which describe one source and may hold options of `more` too (NULL:
 * none, that belong to the session). argv[0] is the verb's name. Sorts argv as GOption does. NULL:
 * the verb is done, *code is the exit code, and a message has been printed, or the help.
 */
struct rs_source_args *rs_source_args_parse(const struct rs_verb *verb, const GOptionEntry *more,
					    int argc, char **argv, int *code);
void rs_source_args_free(struct rs_source_args *args);

/* Its texts are those of `args`, which must outlive it. -EINVAL: wrong usage. */
int rs_source_args_fill(const struct rs_source_args *args, struct rs_launch_source *out,
			struct rs_error *err);
/*
 * Looks for the kernel, and puts its path into `out`. An exit code; if it is not 0 a message has
 * been printed.
 */
int rs_source_args_find(struct rs_source_args *args, struct rs_launch_source *out);

#endif
