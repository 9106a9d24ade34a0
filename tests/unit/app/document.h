/* SPDX-License-Identifier: MIT */
/* A document that a test fills itself, and whose rows are read when the test says so. */
#ifndef RS_TEST_DOCUMENT_H
#define RS_TEST_DOCUMENT_H

#include "document/rs-trace-document.h"

typedef struct {
	guint64 from, until; /* times of the first and the last row that was asked for */
	guint n;
	gboolean details, cancelled;
} TestRequest;

RsTraceDocument *test_document_new(void);
/* The timeline that is shown is another one. */
void test_document_show(RsTraceDocument *document, RsTraceTimeline *timeline);
void test_document_set_state(RsTraceDocument *document, RsTraceDocumentState state);
/* Rows of these times cannot be read from now on. */
void test_document_break(RsTraceDocument *document, guint64 from, guint64 until);
/* What is waiting, the oldest first. */
guint test_document_waiting(RsTraceDocument *document);
TestRequest test_document_request(RsTraceDocument *document, guint i);
/* Answers all that waits: a row's text is "text <ns>". */
void test_document_answer(RsTraceDocument *document);
/* Of all rows so far. */
guint test_document_asked(RsTraceDocument *document);

/* 1 to 4 records for each of `n` times, on two vCPUs and three tasks; a loss at each 50th. */
void test_document_fill(RsTraceDocument *document, guint n);
/* One record of a vCPU, `after` ns behind the last time so far: others may be before it by then. */
void test_document_take(RsTraceDocument *document, guint ring, guint64 after);

#endif
