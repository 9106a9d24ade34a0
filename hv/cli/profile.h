/* SPDX-License-Identifier: MIT */
/*
 * A profile: settings of a session in a file (docs/profiles.md), for `run`, `attach` and `apply`.
 * All of it is checked, as far as it can be without a session, before any of it is used. Trust: the
 * file is hostile; its size is bounded (RS_TRACE_SPEC_MAX). One thread at a time.
 */
#ifndef RS_HV_CLI_PROFILE_H
#define RS_HV_CLI_PROFILE_H

#include "expect/rs-trace-spec.h"
#include "session/trigger_text.h"
#include <stdbool.h>

#define RS_PROFILE_OPTION(path)                                                                    \
	{                                                                                          \
		"profile", 0, 0, G_OPTION_ARG_FILENAME, &(path),                                   \
			"Enable, filter and trigger what this file says", "FILE"                   \
	}
#define RS_PROFILE_ANY_MODE (-1)

/* One thing that is asked for, and where the file says so. */
struct rs_profile_item {
	char *group;
	const char *key;  /* of its events */
	guint nth;        /* part of that key's list, from 0 on */
	char *glob;       /* not of a trigger */
	char *expression; /* of a filter */
	struct rs_trigger_text *trigger;
};

struct rs_profile {
	RsTraceSpec *spec; /* for rs_trace_spec_blame() */
	/* Of struct rs_profile_item, in the order of the file. */
	GPtrArray *enables, *disables, *filters, *triggers;
	int mode; /* of the rings: RS_MODE_*, or RS_PROFILE_ANY_MODE */
};

/* What of an item is wrong. */
enum rs_profile_part {
	RS_PROFILE_GLOB,
	RS_PROFILE_IF,
	RS_PROFILE_DO,
	RS_PROFILE_ALL,
};

/* `path`: of messages. NULL: RS_TRACE_SPEC_ERROR: the message has file and line. */
struct rs_profile *rs_profile_new(const char *path, const char *text, gsize size, GError **error);
/* NULL: likewise, or as g_file_read(). */
struct rs_profile *rs_profile_load(const char *path, GError **error);
/* NULL is accepted. */
void rs_profile_free(struct rs_profile *profile);
typedef struct rs_profile RsProfile;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsProfile, rs_profile_free)

/* The message with the place of that part. `nth`: of its actions, from 0 on, if they are wrong. */
void rs_profile_blame(const struct rs_profile *profile, const struct rs_profile_item *item,
		      enum rs_profile_part part, guint nth, const char *message, GError **error);

/* As rs_profile_load(), for a verb. NULL: *code, after a message. */
struct rs_profile *rs_profile_take(const char *path, int *code);

/* What options have, which a profile comes before. */
struct rs_profile_options {
	char ***enable, ***disable, ***filters; /* the lists may be NULL */
	char ***places;      /* "FILE:LINE" of each filter that is put before; NULL before */
	GPtrArray *triggers; /* those of a profile are appended: rs_trigger_texts_new() */
	int *mode;           /* RS_MODE_*, or RS_PROFILE_ANY_MODE */
};

/* Adds what is in the file; `path` NULL: nothing. Returns an exit code, after a message. */
int rs_profile_add(const char *path, const struct rs_profile_options *options);

#endif
