/* SPDX-License-Identifier: MIT */
/*
 * Judges a run that has ended, by its trace and by what it left beside it. Trust: all of it may be
 * the guest's. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_JUDGE_H
#define RS_HV_CLI_TEST_JUDGE_H

#include "cli/test_report.h"

struct rs_test_judge {
	/* The caller's. */
	GPtrArray *expectations; /* rs-trace-expectation.h */
	bool may_lose;
	char **enabled; /* globs of events; others of the guest are as if they were not there */
	const char *trace, *result, *serial; /* paths; there may be no `serial` */
	bool may_go_on;                      /* it need not end by itself */
	bool may_be_killed;                  /* by a fault of the spec */
	bool has_faults;                     /* so host:fault is enabled, too */
	uint64_t timeout_ns;
	/* Results. */
	char *why;         /* to be freed; NULL: it passed, or the run's messages say why */
	char *story;       /* likewise; NULL: there is nothing to show */
	unsigned int line; /* of the spec; 0: nowhere */
	GPtrArray *found;  /* whose texts those of the checks are; to be unreffed; NULL: none */
};

/* The first `max` bytes of a file and a NUL; to be freed. NULL: it cannot be read. */
char *rs_test_read(const char *path, size_t max, size_t *size);

/* Appends a struct rs_test_check for each expectation to `checks`. */
enum rs_test_verdict rs_test_judge(struct rs_test_judge *judge, GArray *checks);

#endif
