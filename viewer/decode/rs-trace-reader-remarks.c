/* SPDX-License-Identifier: MIT */
/* How well the files of a reader could be read. */
#include "rs-trace-escape.h"
#include "rs-trace-reader-private.h"

gboolean rs_trace_reader_is_cut(const RsTraceReader *reader)
{
	gboolean is = FALSE;

	for (guint i = 0; i < reader->inputs->len; i++)
		is |= rs_trace_reader_nth(reader, i)->cut;
	return is;
}

gboolean rs_trace_reader_is_unordered(const RsTraceReader *reader)
{
	gboolean is = FALSE;

	for (guint i = 0; i < reader->inputs->len; i++)
		is |= rs_trace_reader_nth(reader, i)->unordered;
	return is;
}

const RsTraceFileDamage *rs_trace_reader_damage(RsTraceReader *reader)
{
	RsTraceFileDamage *sum = &reader->damage;

	*sum = (RsTraceFileDamage){0};
	for (guint i = 0; i < reader->inputs->len; i++) {
		const RsTraceFileDamage *of =
			rs_trace_file_damage(rs_trace_reader_nth(reader, i)->file);

		if (!sum->gaps) {
			*sum = *of;
			continue;
		}
		sum->gaps += of->gaps;
		sum->bytes += of->bytes;
	}
	return sum;
}

static void add_stats(const RsTraceInput *input, RsTraceDecoderStats *sum)
{
	sum->records += input->gone.records;
	sum->lost += input->gone.lost;
	sum->bad_pages += input->gone.bad_pages;
	sum->unknown += input->gone.unknown;
	for (guint i = 0; i < input->sources->len; i++)
		rs_trace_file_source_add_stats(input->sources->pdata[i], sum);
}

const RsTraceDecoderStats *rs_trace_reader_stats(RsTraceReader *reader)
{
	reader->stats = (RsTraceDecoderStats){0};
	for (guint i = 0; i < reader->inputs->len; i++)
		add_stats(rs_trace_reader_nth(reader, i), &reader->stats);
	return &reader->stats;
}

G_GNUC_PRINTF(3, 4)
static void remark(GStrvBuilder *to, const RsTraceInput *input, const char *format, ...)
{
	const char *name = rs_trace_file_name(input->file);
	g_autofree char *text = NULL, *escaped = NULL, *line = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	escaped = name ? rs_trace_escape(name, -1, NULL) : NULL;
	line = g_strdup_printf("%s%s%s", escaped ? escaped : "", escaped ? ": " : "", text);
	g_strv_builder_add(to, line);
}

static void add_remarks(GStrvBuilder *to, const RsTraceInput *input)
{
	RsTraceDecoderStats stats = {0};
	const RsTraceFileDamage *damage = rs_trace_file_damage(input->file);

	add_stats(input, &stats);
	if (damage->gaps)
		remark(to, input,
		       "the file is damaged: %" G_GUINT64_FORMAT " bytes in %" G_GUINT64_FORMAT
		       " place%s were passed over, the first at byte %" G_GUINT64_FORMAT ": %s",
		       damage->bytes, damage->gaps, damage->gaps == 1 ? "" : "s", damage->first,
		       damage->why);
	if (input->cut)
		remark(to, input, "the file was not ended: it shows what was recorded by then");
	if (input->unordered)
		remark(to, input,
		       "a window is too large to hold: the order of events may be wrong");
	if (stats.bad_pages)
		remark(to, input,
		       "%" G_GUINT64_FORMAT " page%s damaged: what a ring lost with it is counted "
		       "at the ring's next page",
		       stats.bad_pages, stats.bad_pages == 1 ? " is" : "s are");
	if (stats.unknown)
		remark(to, input, "%" G_GUINT64_FORMAT " record%s of unknown events", stats.unknown,
		       stats.unknown == 1 ? "" : "s");
}

GStrv rs_trace_reader_remarks(const RsTraceReader *reader)
{
	g_autoptr(GStrvBuilder) lines = g_strv_builder_new();

	for (guint i = 0; i < reader->inputs->len; i++)
		add_remarks(lines, rs_trace_reader_nth(reader, i));
	return g_strv_builder_end(lines);
}
