/* SPDX-License-Identifier: MIT */
#include "cli/test_story.h"

#include <rs-trace-escape.h>
#include <rs-trace-reader.h>
#include <rs-trace-text.h>
#include <stdbool.h>

#define BEFORE 4u /* records before that which is shown */
#define AFTER 3u
#define WINDOWS_MAX 16u     /* that are shown */
#define WINDOW_BYTES 16384u /* of one, about */

/* A text, and what is shown behind it. */
struct part {
	GString *text;
	bool shows;
	guint64 number;
	GString *records; /* of the trace around it */
};

struct rs_test_story {
	GPtrArray *parts; /* of struct part */
	unsigned int windows;
};

static void part_free(gpointer data)
{
	struct part *part = data;

	g_string_free(part->text, TRUE);
	g_string_free(part->records, TRUE);
	g_free(part);
}

struct rs_test_story *rs_test_story_new(void)
{
	struct rs_test_story *story = g_new0(struct rs_test_story, 1);

	story->parts = g_ptr_array_new_with_free_func(part_free);
	return story;
}

void rs_test_story_free(struct rs_test_story *story)
{
	if (!story)
		return;
	g_ptr_array_unref(story->parts);
	g_free(story);
}

GString *rs_test_story_text(struct rs_test_story *story)
{
	GPtrArray *parts = story->parts;
	struct part *part = parts->len ? parts->pdata[parts->len - 1] : NULL;

	if (!part || part->shows) {
		part = g_new0(struct part, 1);
		part->text = g_string_new(NULL);
		part->records = g_string_new(NULL);
		g_ptr_array_add(parts, part);
	}
	return part->text;
}

void rs_test_story_show(struct rs_test_story *story, guint64 number)
{
	GString *text = rs_test_story_text(story);
	struct part *part = story->parts->pdata[story->parts->len - 1];

	if (story->windows == WINDOWS_MAX) {
		g_string_append(text, "  (its records are in the trace)\n");
		return;
	}
	story->windows++;
	part->shows = true;
	part->number = number;
}

static bool is_in(const struct part *part, guint64 number)
{
	return part->shows && number + BEFORE >= part->number && number <= part->number + AFTER;
}

/* Into all windows that have it. `line` is room. */
static void show(struct rs_test_story *story, RsTraceReader *reader, const RsTraceRecord *record,
		 guint64 number, GString *line)
{
	g_string_truncate(line, 0);
	for (guint i = 0; i < story->parts->len; i++) {
		struct part *part = story->parts->pdata[i];

		if (!is_in(part, number) || part->records->len > WINDOW_BYTES)
			continue;
		if (!line->len)
			rs_trace_text_line(line, record, rs_trace_reader_task(reader),
					   RS_TRACE_TEXT_NONE);
		g_string_append_printf(part->records, "%s %s", number == part->number ? "→" : " ",
				       line->str);
	}
}

static void read_records(struct rs_test_story *story, const char *trace, GCancellable *cancellable,
			 GError **error)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(trace, NULL, error);
	g_autoptr(GString) line = g_string_new(NULL);
	const RsTraceRecord *record;
	guint64 last = 0;

	for (guint i = 0; i < story->parts->len; i++) {
		const struct part *part = story->parts->pdata[i];

		if (part->shows)
			last = MAX(last, part->number + AFTER);
	}
	for (guint64 at = 0;
	     reader && at <= last && (record = rs_trace_reader_next(reader, cancellable, error));
	     at++)
		show(story, reader, record, at, line);
}

char *rs_test_story_tell(struct rs_test_story *story, const char *trace, GCancellable *cancellable)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	if (story->windows)
		read_records(story, trace, cancellable, &error);
	for (guint i = 0; i < story->parts->len; i++) {
		const struct part *part = story->parts->pdata[i];

		g_string_append(out, part->text->str);
		g_string_append(out, part->records->str);
	}
	if (error) {
		g_autofree char *why = rs_trace_escape(error->message, -1, NULL);

		g_string_append_printf(out, "not all records could be read: %s\n", why);
	}
	return g_string_free(g_steal_pointer(&out), FALSE);
}
