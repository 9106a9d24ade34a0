/* SPDX-License-Identifier: MIT */
#include "cli/event_bell.h"

#include "cli/event_watch.h"
#include "filter/filter.h"
#include <rs-trace-error.h>
#include <rs-trace-live.h>

struct rs_event_bell {
	struct rs_event_watch *watch;
	void (*seen)(void *data);
	void *data;
	gint told; /* atomic: `seen` is about to be called */
};

static gboolean tell(gpointer data)
{
	struct rs_event_bell *bell = data;

	g_atomic_int_set(&bell->told, 0);
	bell->seen(bell->data);
	return G_SOURCE_REMOVE;
}

/* On the watch's thread. */
static void on_seen(void *data, const RsTraceRecord *record, const RsTraceTask *task)
{
	struct rs_event_bell *bell = data;

	if (g_atomic_int_compare_and_exchange(&bell->told, 0, 1))
		g_idle_add_full(G_PRIORITY_HIGH, tell, bell, NULL);
}

static void on_ended(void *reads, void *data)
{
	*(bool *)reads = false;
}

static gboolean want(struct rs_event_bell *bell, const char *text, GError **error)
{
	g_autofree char *glob = NULL, *expression = NULL;

	rs_filter_split_event(text, &glob, &expression);
	if (glob || expression)
		return rs_event_watch_want(bell->watch, glob, expression, on_seen, bell, error) !=
		       NULL;
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION,
		    "a glob or an expression is due");
	return FALSE;
}

struct rs_event_bell *rs_event_bell_new(const char *const *texts, void (*seen)(void *data),
					void *data, GError **error)
{
	const struct rs_event_watch_config config = {.ended = on_ended};
	struct rs_event_bell *bell = g_new0(struct rs_event_bell, 1);

	bell->seen = seen;
	bell->data = data;
	bell->watch = rs_event_watch_new(&config);
	for (; *texts; texts++) {
		if (!want(bell, *texts, error)) {
			rs_event_bell_free(bell);
			return NULL;
		}
	}
	return bell;
}

gboolean rs_event_bell_finish(struct rs_event_bell *bell, GError **error)
{
	rs_event_watch_finish(bell->watch, false);
	return rs_event_watch_check(bell->watch, error);
}

void rs_event_bell_free(struct rs_event_bell *bell)
{
	if (!bell)
		return;
	rs_event_watch_free(bell->watch);
	while (g_idle_remove_by_data(bell))
		;
	g_free(bell);
}

int rs_event_bell_add(struct rs_event_bell *bell, const char *name, uint32_t number,
		      const RsTraceRegion *region, RsTraceLiveFlags flags, bool *reads)
{
	RsTraceSource *pages = rs_trace_live_new(region, RS_TRACE_FROM_NOW, flags, NULL);

	*reads = pages != NULL;
	return pages ? rs_event_watch_join(bell->watch, name, number, pages, reads) : -1;
}

void rs_event_bell_end(struct rs_event_bell *bell, int number)
{
	if (number >= 0)
		rs_event_watch_end(bell->watch, number);
}

void rs_event_bell_start(struct rs_event_bell *bell)
{
	rs_event_watch_start(bell->watch);
}
