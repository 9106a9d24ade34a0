/* SPDX-License-Identifier: MIT */
/*
 * reader TRACE [SYSTEM:NAME]: prints what `ringside record` wrote, or only one kind of event.
 *
 *	cc -o reader reader.c $(pkg-config --cflags --libs libringside-decode)
 */
#include <rs-trace-reader.h>
#include <rs-trace-text.h>

/* Lines name their source if there are several, as those of `ringside report` do. */
static void print_line(RsTraceReader *reader, const RsTraceRecord *record, GString *line)
{
	gboolean several = rs_trace_reader_n_sources(reader) > 1;

	g_string_truncate(line, 0);
	rs_trace_text_line(line, record, rs_trace_reader_task(reader),
			   several ? RS_TRACE_TEXT_SOURCE : RS_TRACE_TEXT_NONE);
	g_print("%s", line->str);
}

/* An event of which nothing is known has a number, and no name. */
static gboolean is_wanted(const RsTraceRecord *record, const char *wanted)
{
	g_autofree char *name = NULL;

	if (!wanted)
		return TRUE;
	if (!record->event)
		return FALSE;
	name = g_strdup_printf("%s:%s", record->event->system, record->event->name);
	return g_str_equal(name, wanted);
}

int main(int argc, char **argv)
{
	g_autoptr(GString) line = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceReader) reader = NULL;
	g_auto(GStrv) remarks = NULL;
	const RsTraceRecord *record;

	if (argc < 2) {
		g_printerr("usage: reader TRACE [SYSTEM:NAME]\n");
		return 2;
	}
	reader = rs_trace_reader_open(argv[1], NULL, &error);
	while (reader && (record = rs_trace_reader_next(reader, NULL, &error))) {
		if (is_wanted(record, argv[2]))
			print_line(reader, record, line);
	}
	if (error) {
		g_printerr("reader: %s: %s\n", argv[1], error->message);
		return 1;
	}
	remarks = rs_trace_reader_remarks(reader);
	for (char **remark = remarks; *remark; remark++)
		g_printerr("reader: %s\n", *remark);
	return 0;
}
