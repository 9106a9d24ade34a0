/* SPDX-License-Identifier: MIT */
/*
 * Judges a run that has ended, by its trace and by what it left beside it. That may take long, so a
 * thread does it. Trust: all of it may be the guest's. Thread of the functions: main.
 */
#ifndef RS_HV_CLI_TEST_JUDGE_H
#define RS_HV_CLI_TEST_JUDGE_H

#include "cli/test_report.h"

struct rs_test_judge_config {
	GPtrArray *expectations; /* rs-trace-expectation.h */
	bool may_lose;
	char **enabled; /* globs of events; others of the guest are as if they were not there */
	const char *trace, *result, *serial; /* paths; there may be no `serial` */
	bool may_go_on;                      /* it need not end by itself */
	bool may_be_killed;                  /* by a fault of the spec */
	bool has_faults;                     /* so host:fault is enabled, too */
	uint64_t timeout_ns;
	/* It is judged. Never called from rs_test_judge(), nor after rs_test_judgement_free(). */
	void (*done)(void *data);
	void *data;
};

/* What came of it: the thread's until `done`. */
struct rs_test_judgement {
	enum rs_test_verdict verdict;
	char *why;         /* NULL: it passed, or the run's messages say why */
	char *story;       /* NULL: there is nothing to show */
	unsigned int line; /* of the spec; 0: nowhere */
	GArray *checks;    /* of struct rs_test_check, whose texts are those of … */
	GPtrArray *found;  /* … these; NULL: none. The expectations must last as long. */
};

/* Copies what it needs of `config`, and references the expectations. */
struct rs_test_judgement *rs_test_judge(const struct rs_test_judge_config *config);
/* Ends it if it is still at work, without waiting for that. Accepts NULL. */
void rs_test_judgement_free(struct rs_test_judgement *judgement);

/* The first `max` bytes of a file and a NUL; to be freed. NULL: it cannot be read. */
char *rs_test_read(const char *path, size_t max, size_t *size);
/* The last ones. */
char *rs_test_read_end(const char *path, size_t max, size_t *size);

#endif
