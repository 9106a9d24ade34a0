/* SPDX-License-Identifier: MIT */
/*
 * What a verb reads: trace files, and which of their records are wanted. One thread at a time.
 * Trust: as rs-trace-reader.h.
 */
#ifndef RS_HV_CLI_INPUT_H
#define RS_HV_CLI_INPUT_H

#include "cli/verb.h"
#include "filter/rs-trace-expected.h"
#include "filter/rs-trace-selection.h"

#include <rs-trace-reader.h>
#include <rs-trace-symbol-file.h>
#include <stdbool.h>
#include <stdint.h>

/* The file that `record` and `snapshot` write if none is named, and `report` and `export` read. */
#define RS_CLI_TRACE "ringside.trace"
/*
 * The files that are named, or RS_CLI_TRACE if it is there. They are of `argv`. NULL after a
 * message: *code.
 */
const char *const *rs_cli_input_paths(const struct rs_verb *verb, int argc, char **argv, int *code);

struct rs_cli_input {
	/* These are the caller's. */
	const char *const *paths;    /* NULL-terminated, one or more; "-" is standard input */
	RsTraceSelection *selection; /* taken over; NULL: all records are wanted */
	uint64_t last; /* only the last so many events of those that are wanted; 0: all */
	bool progress; /* shown on a terminal, while nothing else is printed */
	GCancellable *cancellable;  /* of opening and reading; NULL: none */
	RsTraceSymbolFile *symbols; /* names that come before those of the files; NULL: none */
	bool no_symbols;            /* addresses stay numbers */
	char ***missing; /* where to put globs that no event matches, to be freed; NULL: told */
	/* These are set by rs_cli_input_open(). */
	RsTraceReader *reader;
	char *name; /* of the files, for messages; to be printed as it is */
	/*
	 * What was read of the trace so far, between the times that are wanted: from its first
	 * record of any kind to its last, whether they are wanted or not.
	 */
	uint64_t first_ns, last_ns;
	bool has_span; /* it has a record */
	/* These are of input.c. */
	RsTraceExpected *expected; /* NULL: none */
	bool whole;                /* the files were read to their ends */
	bool is_pipe;              /* one of the files is, at least */
	uint64_t skip;             /* wanted events before the last ones */
	uint64_t records;
	int64_t shown; /* g_get_monotonic_time() of the last progress */
	bool is_shown;
	bool ended; /* all records were read */
	GError *error;
};

/*
 * Events that a user has named, as filter/rs-trace-expected.h has them. If the files were read to
 * their ends, and have told of none that matches one of them, rs_cli_input_close() says so and
 * returns RS_CLI_NOT_FOUND. Before it is opened; NULL is accepted.
 */
void rs_cli_input_expect(struct rs_cli_input *input, const char *globs);
/* The same of "GLOB..GLOB". */
void rs_cli_input_expect_pair(struct rs_cli_input *input, const char *pair);
/* The same of "EVENT.FIELD". */
void rs_cli_input_expect_field(struct rs_cli_input *input, const char *field);

/* Says that no event matches these: RS_CLI_NOT_FOUND if there are any. Accepts NULL. */
int rs_cli_tell_missing(char **globs);

/* 0, or an exit code after a message. Then all that was taken over is freed. */
int rs_cli_input_open(struct rs_cli_input *input);
/*
 * The next record that is wanted, and its task, which has no name if it is no event. Both are valid
 * until the next call. NULL: there is none, or rs_trace_lines_is_paused().
 */
const RsTraceRecord *rs_cli_input_next(struct rs_cli_input *input, const RsTraceTask **task);
/*
 * Says what is to be said of the files, and frees everything. Returns an exit code: what can be
 * read of a file that is damaged (RS_CLI_FAILED) or cut (RS_CLI_OK) has been handed out.
 */
int rs_cli_input_close(struct rs_cli_input *input);
/* Frees everything, and says nothing. */
void rs_cli_input_drop(struct rs_cli_input *input);

#endif
