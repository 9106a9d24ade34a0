/* SPDX-License-Identifier: MIT */
#include "told.h"

#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	GString *out = data;

	if (!record->event)
		return;
	g_string_append_printf(out, "%u %s ", record->ring, record->event->name);
	rs_trace_text_message(out, record);
	g_string_append_c(out, '\n');
}

char *told_by(const struct rs_source *host)
{
	GString *out = g_string_new(NULL);
	const RsTraceFollowerConfig config = {.record = on_record, .data = out};
	RsTraceSink *follower = rs_trace_follower_new(&config);
	RsTraceFeed *feed = rs_trace_feed_new(
		rs_trace_live_new(rs_source_region(host), RS_TRACE_FROM_START, 0, NULL), follower,
		0, NULL);

	follower->ops->begin_round(follower);
	rs_trace_feed_read(feed, 0);
	rs_trace_feed_finish(feed);
	follower->ops->end(follower);
	g_assert_cmpuint(rs_trace_follower_bad(follower), ==, 0);
	rs_trace_feed_free(feed);
	follower->ops->free(follower);
	return g_string_free(out, FALSE);
}
