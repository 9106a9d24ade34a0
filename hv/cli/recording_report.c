/* SPDX-License-Identifier: MIT */
#include "cli/recording_report.h"

#include "base/say.h"
#include "cli/verb.h"
#include <string.h>
#include <unistd.h>

struct rs_recording_meter {
	const struct rs_recording *recording;
	gint64 begun, last; /* monotonic us */
	guint64 events;     /* at the last look */
	guint timer;
	bool terminal, shown;
};

/* 1234567 as "1,234,567". */
static void append_number(GString *out, guint64 number)
{
	g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, number);
	gsize left = strlen(digits);

	for (const char *at = digits; *at; at++, left--) {
		if (at != digits && left % 3 == 0)
			g_string_append_c(out, ',');
		g_string_append_c(out, *at);
	}
}

char *rs_recording_text(const RsTraceRecorderStats *stats)
{
	g_autofree char *size = g_format_size_full(stats->bytes, G_FORMAT_SIZE_IEC_UNITS);
	GString *out = g_string_new(NULL);

	append_number(out, stats->events);
	g_string_append(out, " events, ");
	append_number(out, stats->lost);
	g_string_append_printf(out, " events lost, %s", size);
	return g_string_free(out, FALSE);
}

char *rs_recording_json(const RsTraceRecorderStats *stats, const char *path, const char *why,
			double seconds)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	g_autofree char *name = g_utf8_make_valid(path, -1);
	g_autoptr(JsonNode) root = NULL;

	json_builder_begin_object(b);
	rs_cli_add_text(b, "file", name);
	if (why)
		rs_cli_add_text(b, "trigger", why);
	rs_cli_add_number(b, "events", stats->events);
	rs_cli_add_number(b, "lost", stats->lost);
	rs_cli_add_number(b, "bytes", stats->bytes);
	rs_cli_add_number(b, "pages", stats->pages);
	rs_cli_add_number(b, "files", stats->files);
	rs_cli_add_number(b, "ms", (uint64_t)(seconds * 1000));
	json_builder_set_member_name(b, "full");
	json_builder_add_boolean_value(b, stats->full);
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	return json_to_string(root, FALSE);
}

static gboolean on_second(gpointer data)
{
	struct rs_recording_meter *meter = data;
	const gint64 now = g_get_monotonic_time(), second = (now - meter->begun) / 1000000;
	g_autoptr(GString) out = g_string_new(meter->terminal ? "\r" : NULL);
	g_autofree char *text = NULL;
	RsTraceRecorderStats stats;

	rs_recording_progress(meter->recording, &stats);
	text = rs_recording_text(&stats);
	g_string_append_printf(out, "%" G_GINT64_FORMAT ":%02" G_GINT64_FORMAT "  %s, ",
			       second / 60, second % 60, text);
	append_number(out, (stats.events - MIN(stats.events, meter->events)) * 1000000 /
				   (guint64)MAX(now - meter->last, 1));
	g_string_append(out, meter->terminal ? " events/s\033[K" : " events/s\n");
	meter->events = stats.events;
	meter->last = now;
	meter->shown = true;
	rs_say(out->str);
	return G_SOURCE_CONTINUE;
}

struct rs_recording_meter *rs_recording_meter_new(const struct rs_recording *recording)
{
	struct rs_recording_meter *meter = g_new0(struct rs_recording_meter, 1);

	meter->recording = recording;
	meter->begun = meter->last = g_get_monotonic_time();
	meter->terminal = isatty(STDERR_FILENO);
	meter->timer = g_timeout_add(1000, on_second, meter);
	return meter;
}

void rs_recording_meter_free(struct rs_recording_meter *meter)
{
	if (!meter)
		return;
	if (meter->terminal && meter->shown)
		rs_say("\r\033[K");
	g_source_remove(meter->timer);
	g_free(meter);
}
