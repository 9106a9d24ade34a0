/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a saved view, which anybody may have written, over a trace with some vCPUs and
 * tasks. What was loaded and saved again has the same effect. Input: the file.
 */
#include "input.h"
#include "seed.h"
#include "app/rs-viewer-lanes.h"

#include <stdlib.h>

#define GROUP "timeline"
#define RINGS 3u
#define TASKS 5u

static const char *const texts[] = {
	"[timeline]\n"
	"lanes=events:sched:*;counter:sched:wakeup.pid;pair:a..b;\n"
	"pinned=cpu:0:1;task:0:1:2;\n"
	"hidden=task:0:1:3;events:sched:*;\n"
	"folded=tasks:0;source:0;\n"
	"heights=40:cpu:0:0;1:task:0:1:1;99999:pair:a..b;\n"
	"order=task:0:1:4;cpu:0:2;cpu:0:0;pair:a..b;\n",
	"[timeline]\nlanes=events:;events:a\\n;events:a\\n\nheights=:;-1:cpu:0:0;x:y\n",
};

static void rs_fuzz_seeds(void)
{
	rs_fuzz_seed("all", texts[0], strlen(texts[0]));
	rs_fuzz_seed("odd", texts[1], strlen(texts[1]));
}

static RsTraceTimeline *make_timeline(void)
{
	RsTraceTimeline *timeline = rs_trace_timeline_new();
	static const struct rs_file_source info = {.ring_count = RINGS, .kind = "kvm"};
	static const RsTraceOrigin origin = {.info = &info, .name = "guest", .number = 1};

	for (guint i = 0; i < 30; i++) {
		const RsTraceTask task = {i % 2 ? "a" : "\x1b<", 0};
		const RsTraceRecord record = {.kind = RS_TRACE_RECORD_EVENT,
					      .ns = i,
					      .sorted_ns = i,
					      .ring = i % RINGS,
					      .pid = 1 + i % TASKS,
					      .origin = &origin};

		rs_trace_timeline_take(timeline, &record, &task);
	}
	rs_trace_timeline_flush(timeline);
	return timeline;
}

static RsViewerLanes *make_lanes(const RsTraceTimeline *timeline, GKeyFile *file, gboolean later)
{
	RsViewerLanes *lanes = rs_viewer_lanes_new(NULL);

	if (later)
		rs_viewer_lanes_load(lanes, file, GROUP);
	rs_trace_timeline_lock(timeline);
	rs_viewer_lanes_sync(lanes, timeline);
	rs_trace_timeline_unlock(timeline);
	if (!later)
		rs_viewer_lanes_load(lanes, file, GROUP);
	return lanes;
}

/* Places follow each other from the top. Appends what is seen. */
RS_FUZZ_NOT_SEEN static void look(RsViewerLanes *lanes, gboolean pinned, GString *seen)
{
	guint n, y = 0;
	const RsViewerPlace *places = rs_viewer_lanes_places(lanes, pinned, &n);

	for (guint i = 0; i < n; i++) {
		const RsViewerLane *lane = places[i].lane;

		if (places[i].y != y || lane->hidden || lane->height > RS_VIEWER_LANE_HIGH ||
		    !g_utf8_validate(lane->label, -1, NULL) ||
		    rs_viewer_lanes_at(lanes, pinned, y) != i)
			abort();
		y += lane->height;
		g_string_append_printf(seen, "%s %u\n", lane->label, lane->height);
	}
	if (rs_viewer_lanes_height(lanes, pinned) != y)
		abort();
}

static char *seen_of(RsViewerLanes *lanes)
{
	GString *seen = g_string_new(NULL);

	look(lanes, TRUE, seen);
	look(lanes, FALSE, seen);
	return g_string_free(seen, FALSE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static RsTraceTimeline *timeline;
	g_autoptr(GKeyFile) file = g_key_file_new(), saved = g_key_file_new();
	g_autoptr(RsViewerLanes) lanes = NULL, again = NULL, later = NULL;
	g_autofree char *seen = NULL, *seen_again = NULL, *seen_later = NULL;

	if (!timeline)
		timeline = make_timeline();
	if (!size ||
	    !g_key_file_load_from_data(file, (const char *)data, size, G_KEY_FILE_NONE, NULL))
		return 0;
	lanes = make_lanes(timeline, file, FALSE);
	if (rs_viewer_lanes_chosen(lanes)->len > RS_VIEWER_LANES_CHOSEN)
		abort();
	seen = seen_of(lanes);
	rs_viewer_lanes_save(lanes, saved, GROUP);
	again = make_lanes(timeline, saved, FALSE);
	seen_again = seen_of(again);
	/* A view that is opened before the trace was read. */
	later = make_lanes(timeline, file, TRUE);
	seen_later = seen_of(later);
	if (!g_str_equal(seen, seen_again) || !g_str_equal(seen, seen_later))
		abort();
	return 0;
}
