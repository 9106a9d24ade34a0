/* SPDX-License-Identifier: MIT */
#include "cli/trigger.h"

#include "filter/filter.h"
#include <rs-trace-error.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <string.h>

struct rs_trigger {
	GPtrArray *selections; /* RsTraceSelection: one of them is enough */
	RsTracePump *pump;
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

/* On the pump's thread. */
static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct rs_trigger *trigger = data;
	bool wanted = false;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	for (guint i = 0; i < trigger->selections->len && !wanted; i++)
		wanted = rs_trace_selection_matches(trigger->selections->pdata[i], record, task);
	if (wanted && g_atomic_int_compare_and_exchange(&trigger->told, 0, 1))
		g_idle_add_full(G_PRIORITY_HIGH, tell, trigger, NULL);
}

static void on_ended(gpointer reads, gpointer data)
{
	*(bool *)reads = false;
}

/* A filter, or the glob of events. What no glob has makes it a filter with a mistake. */
static RsTraceSelection *select_one(const char *text, GError **error)
{
	g_autofree char *glob = NULL, *expression = NULL;
	const char *const filters[] = {text, NULL};
	RsTraceSelectionConfig config = {.only_filtered = TRUE};

	if (!*text) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
			    "--on event=: a glob or an expression is due");
		return NULL;
	}
	/* A name alone is an event here, and no field. */
	if ((!rs_filter_split(text, &glob, &expression) || !glob) && !strpbrk(text, " \t\"()<>=&|"))
		config = (RsTraceSelectionConfig){.events = text};
	else
		config.filters = filters;
	return rs_trace_selection_new(&config, error);
}

struct rs_trigger *rs_trigger_new(const char *const *texts, void (*seen)(void *data), void *data,
				  GError **error)
{
	struct rs_trigger *trigger = g_new0(struct rs_trigger, 1);
	RsTraceFollowerConfig follower = {.record = on_record, .data = trigger};
	RsTracePumpConfig pump = {.ended = on_ended, .data = trigger};

	trigger->seen = seen;
	trigger->data = data;
	trigger->selections =
		g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_selection_free);
	for (; *texts; texts++) {
		RsTraceSelection *selection = select_one(*texts, error);

		if (!selection) {
			g_ptr_array_unref(trigger->selections);
			g_free(trigger);
			return NULL;
		}
		g_ptr_array_add(trigger->selections, selection);
	}
	pump.sink = rs_trace_follower_new(&follower);
	trigger->pump = rs_trace_pump_new(&pump);
	return trigger;
}

gboolean rs_trigger_finish(struct rs_trigger *trigger, GError **error)
{
	rs_trace_pump_stop(trigger->pump);
	for (guint i = 0; i < trigger->selections->len; i++)
		if (!rs_trace_selection_finish(trigger->selections->pdata[i], error))
			return FALSE;
	return TRUE;
}

void rs_trigger_free(struct rs_trigger *trigger)
{
	if (!trigger)
		return;
	rs_trace_pump_stop(trigger->pump);
	rs_trace_pump_free(trigger->pump);
	while (g_idle_remove_by_data(trigger))
		;
	g_ptr_array_unref(trigger->selections);
	g_free(trigger);
}

int rs_trigger_add(struct rs_trigger *trigger, const RsTraceRegion *region, RsTraceLiveFlags flags,
		   bool *reads)
{
	RsTraceSource *pages = rs_trace_live_new(region, RS_TRACE_FROM_NOW, flags, NULL);

	*reads = pages != NULL;
	return pages ? (int)rs_trace_pump_add(trigger->pump, pages, reads) : -1;
}

void rs_trigger_end(struct rs_trigger *trigger, int number)
{
	if (number >= 0)
		rs_trace_pump_end(trigger->pump, (guint)number);
}

void rs_trigger_start(struct rs_trigger *trigger)
{
	rs_trace_pump_start(trigger->pump);
}
