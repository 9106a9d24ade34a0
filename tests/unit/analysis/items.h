/* SPDX-License-Identifier: MIT */
/* Records of sched:switch and demo:all (build.h), made one by one for tests of figures. */
#ifndef RS_TESTS_ANALYSIS_ITEMS_H
#define RS_TESTS_ANALYSIS_ITEMS_H

#include "analysis/rs-trace-sample.h"
#include "build.h"

typedef struct {
	RsTraceSchema *schema;
	GByteArray *all;
	guint32 pair[2]; /* payload of sched:switch: prev, next */
	RsTraceRecord record;
	RsTraceTask task;
	RsTraceSample item; /* of the two above */
} TestItems;

void test_items_init(TestItems *items);
void test_items_clear(TestItems *items);
/* Sets the item: an event of that task at that time. */
const RsTraceSample *test_items_switch(TestItems *items, guint64 ns, guint pid, guint prev,
				       guint next);
const RsTraceSample *test_items_all(TestItems *items, guint64 ns, guint pid);
const RsTraceSample *test_items_loss(TestItems *items, guint64 ns, guint64 lost);

#endif
