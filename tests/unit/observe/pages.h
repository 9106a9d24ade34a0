/* SPDX-License-Identifier: MIT */
/* A source of pages in memory, to follow by hand or with a pump. */
#ifndef RS_TEST_PAGES_H
#define RS_TEST_PAGES_H

#include "build.h"

#include <rs-trace-feed.h>

typedef struct {
	RsTraceSource source;
	GPtrArray *pages;  /* GByteArray, taken over; ring in each page's header */
	GByteArray *descs; /* of boot 1: sched:switch, told when the first page comes */
	GByteArray *later; /* of boot 2, from 105 on: told with the next page after a test set it */
	gboolean endless;  /* IDLE and not END behind the last page */
	guint churn;       /* not 0: with each page, another provider takes slot 0, with
			    * TEST_SWITCH and this many symbols */
	gboolean repeats;  /* the first page comes again and again */
	guint *freed;      /* counts */
	gint told;         /* providers told; atomic */
} TestPages;

/* Two rings of nothing. Pid 7 is "seven" in boot 1 and "again" in boot 2. */
TestPages *test_pages_new(guint *freed);
/* A page with one record of two numbers. */
void test_pages_add(TestPages *pages, guint ring, guint64 ts, guint pid, guint id);
/* One of another boot than 1. */
void test_pages_add_boot(TestPages *pages, guint boot, guint ring, guint64 ts, guint pid, guint id);

#endif
