/* SPDX-License-Identifier: MIT */
#include "cli/trigger.h"

#include "cli/event_watch.h"
#include "filter/filter.h"
#include <rs-trace-error.h>
#include <rs-trace-live.h>

struct rs_trigger {
	struct rs_event_watch *watch;
	void (*seen)(void *data);
	void *data;
	gint told; /* atomic: `seen` is about to be called */
};

static gboolean tell(gpointer data)
{
	struct rs_trigger *trigger = data;

	g_atomic_int_set(&trigger->told, 0);
	trigger->seen(trigger->data);
	return G_SOURCE_REMOVE;
}

/* On the watch's thread. */
static void on_seen(void *data, const RsTraceRecord *record, const RsTraceTask *task)
{
	struct rs_trigger *trigger = data;

	if (g_atomic_int_compare_and_exchange(&trigger->told, 0, 1))
		g_idle_add_full(G_PRIORITY_HIGH, tell, trigger, NULL);
}

static void on_ended(void *reads, void *data)
{
	*(bool *)reads = false;
}

static gboolean want(struct rs_trigger *trigger, const char *text, GError **error)
{
	g_autofree char *glob = NULL, *expression = NULL;

	rs_filter_split_event(text, &glob, &expression);
	if (glob || expression)
		return rs_event_watch_want(trigger->watch, glob, expression, on_seen, trigger,
					   error) != NULL;
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "a glob or an expression is due");
	return FALSE;
}

struct rs_trigger *rs_trigger_new(const char *const *texts, void (*seen)(void *data), void *data,
				  GError **error)
{
	const struct rs_event_watch_config config = {.ended = on_ended};
	struct rs_trigger *trigger = g_new0(struct rs_trigger, 1);

	trigger->seen = seen;
	trigger->data = data;
	trigger->watch = rs_event_watch_new(&config);
	for (; *texts; texts++) {
		if (!want(trigger, *texts, error)) {
			rs_trigger_free(trigger);
			return NULL;
		}
	}
	return trigger;
}

gboolean rs_trigger_finish(struct rs_trigger *trigger, GError **error)
{
	rs_event_watch_finish(trigger->watch, false);
	return rs_event_watch_check(trigger->watch, error);
}

void rs_trigger_free(struct rs_trigger *trigger)
{
	if (!trigger)
		return;
	rs_event_watch_free(trigger->watch);
	while (g_idle_remove_by_data(trigger))
		;
	g_free(trigger);
}

int rs_trigger_add(struct rs_trigger *trigger, const char *name, uint32_t number,
		   const RsTraceRegion *region, RsTraceLiveFlags flags, bool *reads)
{
	RsTraceSource *pages = rs_trace_live_new(region, RS_TRACE_FROM_NOW, flags, NULL);

	*reads = pages != NULL;
	return pages ? rs_event_watch_join(trigger->watch, name, number, pages, reads) : -1;
}

void rs_trigger_end(struct rs_trigger *trigger, int number)
{
	if (number >= 0)
		rs_event_watch_end(trigger->watch, number);
}

void rs_trigger_start(struct rs_trigger *trigger)
{
	rs_event_watch_start(trigger->watch);
}
