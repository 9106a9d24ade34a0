/* SPDX-License-Identifier: MIT */
/* A session that records nothing for a while, whatever was asked of it. */
#include "session/private.h"

#include <ringside/record.h>

/*
 * Plans that were made before are made anew, since they would put into force what was right then.
 * The word alone decides for the guest, and takes no pause: the text may follow.
 */
static void turn(struct rs_source *source)
{
	const bool silence = source->session->frozen && source->started && source_alive(source);

	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		source->events[id].version++;
		if (silence && source->events[id].on)
			rs_publisher_set_enabled(source->publisher, id, false, NULL);
	}
}

int rs_session_set_frozen(struct rs_session *session, bool frozen, struct rs_error *err)
{
	const struct rs_session_ask review = {.from = session, .kind = RS_ASK_REVIEW};

	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	if (session->frozen == frozen)
		return 0;
	session->frozen = frozen;
	for (guint i = 0; i < session->sources->len; i++)
		turn(nth_source(session, i));
	return rs_session_ask(session, &review, NULL, err);
}

bool rs_session_is_frozen(const struct rs_session *session)
{
	return session->frozen;
}
