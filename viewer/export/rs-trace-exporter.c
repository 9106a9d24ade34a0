/* SPDX-License-Identifier: MIT */
#include "rs-trace-exporter.h"
#include "rs-trace-formats-private.h"

#include <string.h>

#define LOOK_EVERY 4096u /* records between two looks at the cancellable; a power of 2 */

const RsTraceExportFormat *const *rs_trace_export_formats(void)
{
	static const RsTraceExportFormat *const formats[] = {
		&rs_trace_export_dat,    &rs_trace_export_ctf, &rs_trace_export_perfetto,
		&rs_trace_export_chrome, &rs_trace_export_csv, NULL};

	return formats;
}

const RsTraceExportFormat *rs_trace_export_format(const char *name)
{
	for (const RsTraceExportFormat *const *f = rs_trace_export_formats(); *f; f++)
		if (g_str_equal((*f)->name, name))
			return *f;
	return NULL;
}

gboolean rs_trace_export_flush(const RsTraceExportConfig *config, GString *buffer, GError **error)
{
	gboolean done =
		g_output_stream_write_all(rs_trace_output_stream(config->output), buffer->str,
					  buffer->len, NULL, config->cancellable, error);

	g_string_truncate(buffer, 0);
	return done;
}

/* The next record, as a format gets it. */
static gboolean next(RsTraceReader *reader, RsTraceRecord *record, RsTraceTask *task,
		     RsTraceExportItem *item, GError **error)
{
	if (!rs_trace_reader_next(reader, record, error))
		return FALSE;
	rs_trace_reader_task(reader, task);
	*item = (RsTraceExportItem){
		.record = record,
		.task = task,
		.source = rs_trace_reader_source(reader),
		.source_index = rs_trace_reader_source_index(reader),
	};
	return TRUE;
}

static gboolean write_all(RsTraceReader *reader, const RsTraceExportFormat *format, gpointer self,
			  const RsTraceExportConfig *config, const RsTraceExportHooks *hooks,
			  RsTraceExportResult *result, GError **error)
{
	RsTraceRecord record;
	RsTraceTask task;
	RsTraceExportItem item;

	for (guint64 n = 0; next(reader, &record, &task, &item, &result->damage); n++) {
		if (!(n & (LOOK_EVERY - 1))) {
			if (g_cancellable_set_error_if_cancelled(config->cancellable, error))
				return FALSE;
			if (hooks && hooks->progress)
				hooks->progress(result->events, hooks->data);
		}
		if (hooks && hooks->filter && !hooks->filter(&item, hooks->data))
			continue;
		if (!format->record(self, &item, error))
			return FALSE;
		result->events += record.kind == RS_TRACE_RECORD_EVENT;
		result->lost += record.kind == RS_TRACE_RECORD_LOSS ? record.lost : 0;
	}
	/* A stream that is cancelled says so as an error of reading. */
	if (g_cancellable_set_error_if_cancelled(config->cancellable, error))
		return FALSE;
	result->cut = rs_trace_reader_is_cut(reader);
	return format->close(self, error);
}

gboolean rs_trace_export(RsTraceReader *reader, const RsTraceExportFormat *format,
			 const RsTraceExportConfig *config, const RsTraceExportHooks *hooks,
			 RsTraceExportResult *result, GError **error)
{
	gpointer self = format->open(config, error);
	gboolean done;

	*result = (RsTraceExportResult){0};
	if (!self)
		return FALSE;
	done = write_all(reader, format, self, config, hooks, result, error);
	format->free(self);
	return done && rs_trace_output_commit(config->output, config->cancellable, error);
}
