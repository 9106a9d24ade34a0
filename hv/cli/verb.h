/* SPDX-License-Identifier: MIT */
/*
 * The verbs of `ringside`, one file each, and the little that they share. Everything runs on the
 * main thread. A verb returns its exit code; only main exits.
 */
#ifndef RS_HV_CLI_VERB_H
#define RS_HV_CLI_VERB_H

#include "base/error.h"
#include <rs-trace-client.h>
#include <glib.h>
#include <json-glib/json-glib.h>

enum rs_cli_exit {
	RS_CLI_OK = 0,
	RS_CLI_FAILED = 1, /* as a whole, or in part */
	RS_CLI_USAGE = 2,
	RS_CLI_NOT_FOUND = 3,  /* no such session, event or thread */
	RS_CLI_GUEST = 4,      /* the guest ended abnormally */
	RS_CLI_GUEST_CODE = 5, /* the guest ended with a code other than 0 */
	RS_CLI_EXCEEDED = 6,   /* more has changed than was allowed */
};

struct rs_verb {
	const char *name;
	const char *args;    /* for the usage line */
	const char *summary; /* one line */
	const char *details; /* shown by --help; NULL: none */
	int (*run)(const struct rs_verb *verb, int argc, char **argv);
};

extern const struct rs_verb rs_verb_run, rs_verb_attach, rs_verb_prepare, rs_verb_ps, rs_verb_list,
	rs_verb_enable, rs_verb_disable, rs_verb_filter, rs_verb_format, rs_verb_trace,
	rs_verb_ktrace, rs_verb_kdump, rs_verb_record, rs_verb_snapshot, rs_verb_report,
	rs_verb_diff, rs_verb_export, rs_verb_engine, rs_verb_stat, rs_verb_ring, rs_verb_pause,
	rs_verb_resume, rs_verb_trigger, rs_verb_apply, rs_verb_inject, rs_verb_stop, rs_verb_test,
	rs_verb_top, rs_verb_hist, rs_verb_view, rs_verb_bench;

/*
 * Parses a verb's options, which may stand anywhere. argv[0] is the verb's name. *argv becomes
 * another vector, which is good until the next call. `entries` may be NULL. Returns false when the
 * verb is done: --help was shown or the options are wrong. *code is the exit code then.
 */
bool rs_cli_parse(const struct rs_verb *verb, const GOptionEntry *entries, int *argc, char ***argv,
		  int *code);
/* Checks --count and --duration. Returns 0, or RS_CLI_USAGE after a message. */
int rs_cli_check_limits(const struct rs_verb *verb, gint64 count, double duration);

/* "ringside: message" on standard error. Returns `code`. Control bytes but newlines are escaped. */
int rs_cli_fail(int code, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same for a failed call of hv, with the exit code that its errno asks for. */
int rs_cli_fail_error(const struct rs_error *err);
/* The same for a failed call of a session, or of viewer/observe; frees `error`. */
int rs_cli_fail_gerror(GError *error);
/* "usage: ringside VERB ARGS" after a message; returns RS_CLI_USAGE. */
int rs_cli_usage(const struct rs_verb *verb, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * Connects to the session that the arguments mean: `wish` (-s NAME) if given, else the first
 * argument, else the only session that runs. The first argument is taken for a name when there are
 * more than `needed` arguments and it names a session, or when `needed` is 0; it is taken off argv.
 * On failure a message has been printed and *code set.
 */
RsDBusSession1 *rs_cli_connect(const struct rs_verb *verb, const char *wish, int needed, int *argc,
			       char **argv, int *code);
/*
 * For a verb with `needed` arguments beside a session's name, before it connects: one more is that
 * name, and is refused if no session has it. RS_CLI_OK, or an exit code after a message.
 */
int rs_cli_check_name(const struct rs_verb *verb, const char *wish, int needed, int argc,
		      char **argv);
/*
 * As rs_cli_connect(), for globs, of which one at least is needed. The first of several is refused
 * if it is the name of neither a session nor an event: otherwise the rest would be done with the
 * wrong session.
 * `ahead`: of events that are not there yet.
 */
RsDBusSession1 *rs_cli_connect_for(const struct rs_verb *verb, const char *wish, bool ahead,
				   int *argc, char **argv, int *code);

/* The number of the source of this name. On failure a message has been printed: an exit code. */
int rs_cli_find_source(RsDBusSession1 *session, const char *name, guint32 *number);

/* Options of a call in the name of an owner (NULL: of the host): a floating reference. */
GVariant *rs_cli_owner_options(const char *owner);
/* The same, of a wish that may be one for events that come. */
GVariant *rs_cli_wish_options(const char *owner, bool ahead);
/* Says that the wish is kept for events that come. */
void rs_cli_print_pending(const char *glob, bool ahead);
/* As rs_cli_fail_gerror(); if no event matches, the message says how to wish for what comes. */
int rs_cli_fail_wish(GError *error);
/*
 * Appends "; 2 WHAT a, b" when an answer's last dictionary says that others keep events as they
 * are. `what_thawed`: of one or many, in a frozen session.
 */
void rs_cli_print_kept(GVariant *more, const char *what_one, const char *what_many,
		       const char *what_thawed);
/*
 * What a message ends with when List has found no event for a glob: "; did you mean 'a:b'?", or
 * nothing. It belongs to that answer's last dictionary.
 */
const char *rs_cli_suggestion(GVariant *more);
/* Tells what is hardly meant in an expression that is good. */
void rs_cli_tell_doubt(const char *expression);
/* Prints each problem of an answer as rs_cli_fail() does. True: there is one: done in part. */
bool rs_cli_tell_problems(char **problems);
/* Whether the session is, as it says now. */
bool rs_cli_is_frozen(RsDBusSession1 *session);
/* Whether a dictionary of an answer says so. */
bool rs_cli_says_frozen(GVariant *more);
/* Tells that it is, and what thaws it. */
void rs_cli_tell_frozen(const char *session);
/* Whether the session's guests stand still. */
bool rs_cli_is_paused(RsDBusSession1 *session);
/* Tells that they do, and what lets them go on. */
void rs_cli_tell_paused(const char *session);
/* Tells of the session what of both is so. */
void rs_cli_tell_still(RsDBusSession1 *session);
/*
 * Tells that nothing will be seen, since no event is on, and what can be switched on. `systems`: of
 * the events that there are, in any order and any number of times. `runs`: this process is the
 * session, whose -e could have done so.
 */
void rs_cli_hint_off(const char *session, const GPtrArray *systems, bool runs);

/* What ends a word for `n` things: nothing for one, else `ending`. */
const char *rs_cli_plural(uint64_t n, const char *ending);

/* Prints a finished builder's root on standard output: a line, or one for each item of an array. */
void rs_cli_print_json(JsonBuilder *builder);
/* Adds a member. "" becomes null. */
void rs_cli_add_text(JsonBuilder *builder, const char *name, const char *text);
/* Adds a member. A value above 2^63 - 1 becomes 2^63 - 1. */
void rs_cli_add_number(JsonBuilder *builder, const char *name, uint64_t value);
/* Adds a value of a GVariant dictionary entry (u, t, i, b, s) as it is. */
void rs_cli_add_variant(JsonBuilder *builder, const char *name, GVariant *value);

#endif
