/* SPDX-License-Identifier: MIT */
/* A source of pages in memory, to follow by hand or with a pump. */
#ifndef RS_TEST_PAGES_H
#define RS_TEST_PAGES_H

#include "build.h"

#include <rs-trace-follower.h>

typedef struct {
	RsTraceSource source;
	GPtrArray *pages;  /* GByteArray, taken over; ring in each page's header */
	GByteArray *descs; /* told with the boot */
	GByteArray *later; /* told when an unknown event is met */
	guint64 boot;
	gboolean endless; /* IDLE and not END behind the last page */
	guint *freed;     /* counts */
	guint told;       /* times that descriptors were asked for */
} TestPages;

/* Two rings of nothing, and sched:switch (id 16). */
TestPages *test_pages_new(guint *freed);
/* A page with one sched:switch. */
void test_pages_add(TestPages *pages, guint ring, guint64 ts, guint pid, guint id);

#endif
