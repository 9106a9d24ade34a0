/* SPDX-License-Identifier: MIT */
/*
 * A sink that writes down all calls, and a source that tells them again: a recorder and a file, in
 * memory. Neither looks into pages.
 */
#ifndef RS_TEST_RECORDING_H
#define RS_TEST_RECORDING_H

#include <rs-trace-sink.h>

typedef struct {
	RsTraceSink sink;
	GPtrArray *recorded;     /* TestRecorded *, in the order in which the sources joined */
	GPtrArray *feeds;        /* that have not left */
	void (*round)(gpointer); /* called at the end of each round */
	gpointer data;
	gboolean ended;
} TestRecorder;

/* What one source handed out. */
typedef struct {
	gpointer data; /* of its feed */
	guint n_rings;
	guint pages, unfilled; /* chunks, and those of pages that were not full */
	GPtrArray *entries;    /* in the order of the calls */
	gboolean left;
} TestRecorded;

TestRecorder *test_recorder_new(void (*round)(gpointer), gpointer data);

/* Tells it again, and ends. `recorded` must outlive the source. */
RsTraceSource *test_replay_new(const TestRecorded *recorded);

#endif
