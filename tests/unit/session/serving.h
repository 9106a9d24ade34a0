/* SPDX-License-Identifier: MIT */
/*
 * A session with a guest whose task takes commands, for tests that set the time. The test is that
 * task. Linked with --wrap=g_get_monotonic_time.
 */
#ifndef RS_TEST_SESSION_SERVING_H
#define RS_TEST_SESSION_SERVING_H

#include "sham.h"
#include <ringside/hypercall.h>

#define MS G_GINT64_CONSTANT(1000)

/* The time, long ago, so that the session's timer is always due. */
extern gint64 serving_now;

struct serving {
	struct sham *sham;
	struct rs_session *session;
	struct rs_source *source;
};

/* A session that runs, and a guest that has not reported. */
void serving_begin(struct serving *s);
void serving_hello(struct serving *s);
void serving_end(struct serving *s);
/* One more guest, which is to be freed by sham_free() after serving_end(). */
void serving_add(struct serving *s, struct sham **sham, struct rs_source **source);

/* A round of the session's timer. */
void serving_look(void);
struct rs_hcall_request *serving_request(struct serving *s, uint32_t slot);
/* Whether the session has answered the last request of this slot. */
bool serving_answered(struct serving *s, uint32_t slot);
/* Puts a request there, with the data that it holds. The session has not seen it. */
void serving_put(struct serving *s, uint32_t slot, uint32_t number, const uint64_t args[6]);

#endif
