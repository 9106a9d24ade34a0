/* SPDX-License-Identifier: MIT */
#include "cli/event_watch.h"

#include "filter/rs-trace-selection.h"
#include <rs-trace-follower.h>
#include <rs-trace-pump.h>

struct rs_event_wanted {
	RsTraceSelection *selection;
	void (*seen)(void *data, const RsTraceRecord *record, const RsTraceTask *task);
	void *data;
};

struct joined {
	char *name;
	uint32_t number;
	void *source;
};

struct rs_event_watch {
	struct rs_event_watch_config config;
	RsTracePump *pump;
	GPtrArray *joined; /* of struct joined: all that ever came */
	GMutex lock;       /* of the list below, and what it holds */
	GPtrArray *wanted; /* of struct rs_event_wanted */
	uint64_t lost;
};

/* On the pump's thread. */
static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct rs_event_watch *watch = data;

	g_mutex_lock(&watch->lock);
	if (record->kind == RS_TRACE_RECORD_LOSS)
		watch->lost += record->lost;
	if (record->kind != RS_TRACE_RECORD_EVENT) {
		g_mutex_unlock(&watch->lock);
		return;
	}
	for (guint i = 0; i < watch->wanted->len; i++) {
		const struct rs_event_wanted *wanted = watch->wanted->pdata[i];

		if (rs_trace_selection_matches(wanted->selection, record, task))
			wanted->seen(wanted->data, record, task);
	}
	g_mutex_unlock(&watch->lock);
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	const struct joined *joined = source;

	out->number = joined->number;
	g_strlcpy(out->name, joined->name, sizeof(out->name));
}

static void on_ended(gpointer source, gpointer data)
{
	const struct rs_event_watch *watch = data;
	const struct joined *joined = source;

	if (watch->config.ended)
		watch->config.ended(joined->source, watch->config.data);
}

static void free_joined(gpointer data)
{
	g_free(((struct joined *)data)->name);
	g_free(data);
}

static void free_wanted(gpointer data)
{
	rs_trace_selection_free(((struct rs_event_wanted *)data)->selection);
	g_free(data);
}

struct rs_event_watch *rs_event_watch_new(const struct rs_event_watch_config *config)
{
	struct rs_event_watch *watch = g_new0(struct rs_event_watch, 1);
	RsTraceFollowerConfig follower = {.record = on_record, .describe = describe, .data = watch};
	RsTracePumpConfig pump = {.ended = on_ended, .data = watch};

	watch->config = *config;
	watch->joined = g_ptr_array_new_with_free_func(free_joined);
	watch->wanted = g_ptr_array_new_with_free_func(free_wanted);
	g_mutex_init(&watch->lock);
	pump.sink = rs_trace_follower_new(&follower);
	watch->pump = rs_trace_pump_new(&pump);
	return watch;
}

void rs_event_watch_free(struct rs_event_watch *watch)
{
	if (!watch)
		return;
	rs_trace_pump_stop(watch->pump);
	rs_trace_pump_free(watch->pump);
	g_ptr_array_unref(watch->wanted);
	g_ptr_array_unref(watch->joined);
	g_mutex_clear(&watch->lock);
	g_free(watch);
}

struct rs_event_wanted *
rs_event_watch_want(struct rs_event_watch *watch, const char *glob, const char *expression,
		    void (*seen)(void *data, const RsTraceRecord *record, const RsTraceTask *task),
		    void *data, GError **error)
{
	const RsTraceSelectionConfig config = {.events = glob, .expression = expression};
	RsTraceSelection *selection = rs_trace_selection_new(&config, error);
	struct rs_event_wanted *wanted;

	if (!selection)
		return NULL;
	wanted = g_new0(struct rs_event_wanted, 1);
	*wanted = (struct rs_event_wanted){.selection = selection, .seen = seen, .data = data};
	g_mutex_lock(&watch->lock);
	g_ptr_array_add(watch->wanted, wanted);
	g_mutex_unlock(&watch->lock);
	return wanted;
}

void rs_event_watch_drop(struct rs_event_watch *watch, struct rs_event_wanted *wanted)
{
	g_mutex_lock(&watch->lock);
	g_ptr_array_remove(watch->wanted, wanted);
	g_mutex_unlock(&watch->lock);
}

int rs_event_watch_join(struct rs_event_watch *watch, const char *name, uint32_t number,
			RsTraceSource *pages, void *source)
{
	struct joined *joined = g_new0(struct joined, 1);

	*joined = (struct joined){.name = g_strdup(name), .number = number, .source = source};
	g_ptr_array_add(watch->joined, joined);
	return (int)rs_trace_pump_add(watch->pump, pages, joined);
}

void rs_event_watch_end(struct rs_event_watch *watch, int number)
{
	rs_trace_pump_end(watch->pump, (guint)number);
}

void rs_event_watch_start(struct rs_event_watch *watch)
{
	rs_trace_pump_start(watch->pump);
}

void rs_event_watch_hurry(struct rs_event_watch *watch)
{
	rs_trace_pump_set_urgent(watch->pump, FALSE);
}

void rs_event_watch_wake(struct rs_event_watch *watch)
{
	rs_trace_pump_wake(watch->pump);
}

uint64_t rs_event_watch_lost(struct rs_event_watch *watch)
{
	uint64_t lost;

	g_mutex_lock(&watch->lock);
	lost = watch->lost;
	g_mutex_unlock(&watch->lock);
	return lost;
}

void rs_event_watch_finish(struct rs_event_watch *watch, bool rest)
{
	if (rest)
		rs_trace_pump_finish(watch->pump);
	else
		rs_trace_pump_stop(watch->pump);
}

gboolean rs_event_watch_check(const struct rs_event_watch *watch, GError **error)
{
	for (guint i = 0; i < watch->wanted->len; i++) {
		const struct rs_event_wanted *wanted = watch->wanted->pdata[i];

		if (!rs_trace_selection_finish(wanted->selection, error))
			return FALSE;
	}
	return TRUE;
}
