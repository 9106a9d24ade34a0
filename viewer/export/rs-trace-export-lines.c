/* SPDX-License-Identifier: MIT */
/* A line for each record, as `ringside report` prints it: text, or JSON. */
#include "rs-trace-formats-private.h"
#include "rs-trace-json.h"
#include "rs-trace-text.h"

#include <glib/gi18n.h>

typedef struct {
	const RsTraceExportConfig *config;
	GString *out;
} Lines;

static gpointer lines_open(const RsTraceExportConfig *config, GError **error)
{
	Lines *lines = g_new0(Lines, 1);

	lines->config = config;
	lines->out = g_string_sized_new(RS_TRACE_EXPORT_BUFFER + 4096);
	return lines;
}

static gboolean lines_write(Lines *lines, GError **error)
{
	return lines->out->len < RS_TRACE_EXPORT_BUFFER ||
	       rs_trace_export_flush(lines->config, lines->out, error);
}

static gboolean text_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Lines *lines = self;

	rs_trace_text_line(lines->out, item->record, item->task,
			   item->n_sources > 1 ? RS_TRACE_TEXT_SOURCE : RS_TRACE_TEXT_NONE);
	return lines_write(lines, error);
}

static gboolean json_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Lines *lines = self;

	rs_trace_json_line(lines->out, item->record, item->task);
	return lines_write(lines, error);
}

static gboolean lines_close(gpointer self, GError **error)
{
	Lines *lines = self;

	return rs_trace_export_flush(lines->config, lines->out, error);
}

static void lines_free(gpointer self)
{
	g_string_free(((Lines *)self)->out, TRUE);
	g_free(self);
}

const RsTraceExportFormat rs_trace_export_text = {
	.name = "text",
	.is_text = TRUE,
	.summary = N_("A line of text for each record, as ringside report prints it"),
	.suffix = ".txt",
	.open = lines_open,
	.record = text_record,
	.close = lines_close,
	.free = lines_free,
};

const RsTraceExportFormat rs_trace_export_json = {
	.name = "json",
	.is_text = TRUE,
	.summary = N_("A JSON object for each record, as ringside report --json prints it: jq"),
	.suffix = ".jsonl",
	.open = lines_open,
	.record = json_record,
	.close = lines_close,
	.free = lines_free,
};
