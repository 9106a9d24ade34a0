/* SPDX-License-Identifier: MIT */
#include "serving.h"

#include <ringside/atomic.h>
#include <ringside/control.h>
#include <string.h>

gint64 serving_now;

gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return serving_now;
}

void serving_add(struct serving *s, struct sham **sham, struct rs_source **source)
{
	const struct rs_source_config config = {.kernel = "k"};

	*sham = sham_new(2, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_add_source(s->session, &config, (*sham)->region,
					      &(*sham)->target, source, NULL),
			==, 0);
}

void serving_begin(struct serving *s)
{
	serving_now = 1000000 * MS;
	g_assert_cmpint(rs_session_create("t", &s->session, NULL), ==, 0);
	serving_add(s, &s->sham, &s->source);
	s->sham->announced = 40;
	g_assert_cmpint(rs_session_start(s->session, NULL), ==, 0);
}

void serving_hello(struct serving *s)
{
	sham_hello(s->sham, RS_GUEST_SELF_PATCH | RS_GUEST_NUDGE_VECTOR);
	rs_session_refresh(s->session);
}

void serving_end(struct serving *s)
{
	rs_session_destroy(s->session);
	sham_free(s->sham);
}

void serving_look(void)
{
	g_assert_true(g_main_context_iteration(NULL, TRUE));
}

struct rs_hcall_request *serving_request(struct serving *s, uint32_t slot)
{
	return rs_trace_region_element(s->sham->region, RS_SEC_REQUEST, slot);
}

bool serving_answered(struct serving *s, uint32_t slot)
{
	return sham_response(s->sham, slot)->sequence == serving_request(s, slot)->sequence;
}

void serving_put(struct serving *s, uint32_t slot, uint32_t number, const uint64_t args[6])
{
	struct rs_hcall_request *request = serving_request(s, slot);

	request->number = number;
	memcpy(request->args, args, sizeof(request->args));
	rs_store_release(&request->sequence, request->sequence + 1);
}
