/* SPDX-License-Identifier: MIT */
#include "rs-trace-exporter.h"
#include "rs-trace-error.h"
#include "rs-trace-formats-private.h"
#include "rs-trace-stack.h"

#include <string.h>

#define LOOK_EVERY 256u /* records between two looks at the cancellable; a power of 2 */

const RsTraceExportFormat *const *rs_trace_export_formats(void)
{
	static const RsTraceExportFormat *const formats[] = {
		&rs_trace_export_dat,      &rs_trace_export_ctf,
		&rs_trace_export_perfetto, &rs_trace_export_chrome,
		&rs_trace_export_csv,      &rs_trace_export_text,
		&rs_trace_export_json,     NULL};

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

void rs_trace_export_frame(GString *out, const RsTraceRecord *record, guint frame,
			   RsTraceSymbolsAppend escape)
{
	guint64 address = rs_trace_stack_frame(record, frame);

	if (!rs_trace_symbols_append_frame(record->symbols, record->when, address, escape, out))
		g_string_append_printf(out, "0x%" G_GINT64_MODIFIER "x", address);
}

typedef struct {
	RsTraceReader *reader;
	RsTraceExportNext next; /* NULL: the reader's */
	gpointer data;
	GCancellable *cancellable;
} Records;

/* The next record, as a format gets it. */
static gboolean take(const Records *from, RsTraceExportItem *item, GError **error)
{
	const RsTraceRecord *record;
	const RsTraceTask *task;

	if (from->next) {
		record = from->next(&task, from->data, error);
	} else {
		record = rs_trace_reader_next(from->reader, from->cancellable, error);
		task = rs_trace_reader_task(from->reader);
	}
	if (!record)
		return FALSE;
	*item = (RsTraceExportItem){
		.record = record,
		.task = task,
		.source = record->origin->info,
		.source_index = record->origin->index,
		.n_sources = rs_trace_reader_n_sources(from->reader),
	};
	return TRUE;
}

static gboolean write_all(const Records *from, const RsTraceExportFormat *format, gpointer self,
			  const RsTraceExportConfig *config, RsTraceExportResult *result,
			  GError **error)
{
	RsTraceExportItem item;

	for (guint n = 0; take(from, &item, &result->damage); n++) {
		if (!(n & (LOOK_EVERY - 1)) &&
		    g_cancellable_set_error_if_cancelled(config->cancellable, error))
			return FALSE;
		if (!format->record(self, &item, error))
			return FALSE;
		result->events += item.record->kind == RS_TRACE_RECORD_EVENT;
		result->lost += item.record->kind == RS_TRACE_RECORD_LOSS ? item.record->lost : 0;
	}
	/* A reader that is cancelled says so as an error of reading. */
	if (g_cancellable_set_error_if_cancelled(config->cancellable, error))
		return FALSE;
	/* What is wanted is wrong, not the trace. */
	if (g_error_matches(result->damage, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION)) {
		g_propagate_error(error, g_steal_pointer(&result->damage));
		return FALSE;
	}
	return format->close(self, error);
}

gboolean rs_trace_export(RsTraceReader *reader, RsTraceExportNext next, gpointer data,
			 const RsTraceExportFormat *format, const RsTraceExportConfig *config,
			 RsTraceExportResult *result, GError **error)
{
	const Records from = {reader, next, data, config->cancellable};
	gpointer self = format->open(config, error);
	gboolean done;

	*result = (RsTraceExportResult){0};
	if (!self)
		return FALSE;
	done = write_all(&from, format, self, config, result, error);
	if (format->too_deep)
		result->too_deep = format->too_deep(self);
	format->free(self);
	return done && rs_trace_output_commit(config->output, config->cancellable, error);
}
