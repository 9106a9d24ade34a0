/* SPDX-License-Identifier: MIT */
/*
 * The story of a test that did not pass: texts, and the records of its trace around those that they
 * are about. The trace is read once for all of them. Its texts are ready for a terminal. Trust: the
 * trace is hostile, so what is kept of it is bounded. One thread at a time.
 */
#ifndef RS_HV_CLI_TEST_STORY_H
#define RS_HV_CLI_TEST_STORY_H

#include <gio/gio.h>

typedef struct rs_test_story rs_test_story;

struct rs_test_story *rs_test_story_new(void);
/* Accepts NULL. */
void rs_test_story_free(struct rs_test_story *story);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(rs_test_story, rs_test_story_free)

/* The text that comes next: to be appended to. Valid until the next call of this or of show(). */
GString *rs_test_story_text(struct rs_test_story *story);
/* Then come the record of that number, from 0 on, and some before and after it. */
void rs_test_story_show(struct rs_test_story *story, guint64 number);
/* All of it, to be freed. Where the trace cannot be read, it says so. Once, at the end. */
char *rs_test_story_tell(struct rs_test_story *story, const char *trace, GCancellable *cancellable);

#endif
