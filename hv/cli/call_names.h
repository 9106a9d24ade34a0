/* SPDX-License-Identifier: MIT */
/* Names of a guest's system calls: Linux's on x86-64, or those of a file. Thread: main. */
#ifndef RS_HV_CLI_CALL_NAMES_H
#define RS_HV_CLI_CALL_NAMES_H

#include "cli/verb.h"

#include <rs-trace-kdump.h>

#define RS_CALL_NAMES_SIZE (1u << 20) /* bytes of a file of names, at most */

struct rs_call_names {
	RsTraceCallName name;
	GHashTable *own; /* for name(); NULL: Linux's */
};

/*
 * Reads lines "NUMBER NAME", where # begins a comment; `path` NULL: Linux's names. Returns 0, or an
 * exit code after a message.
 */
int rs_call_names_init(struct rs_call_names *names, const struct rs_verb *verb, const char *path);
void rs_call_names_deinit(struct rs_call_names *names);

/* NULL: the call has no name. */
const char *rs_call_name(const struct rs_call_names *names, gint64 number);
/* Its number, or -1: no call of 0 to 4095 has this name. */
gint64 rs_call_number(const struct rs_call_names *names, const char *name);

#endif
