/* SPDX-License-Identifier: MIT */
#include "cli/printer.h"

#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <ringside/atomic.h>
#include <rs-trace-follower.h>
#include <rs-trace-json.h>
#include <rs-trace-pump.h>
#include <rs-trace-ring-info.h>
#include <string.h>

/*
 * Text is written at the latest when there is this much. A few bytes in a ring can become 64 KiB of
 * text.
 */
#define OUT_MAX (1u << 20)
/* And so much of it is written after a stop, of what had been read by then. */
#define LATE_MAX (16u << 20)
#define HURRY_US 400000 /* for what is left to be written in a hurry */

struct printed {
	char *name;
	guint32 number; /* in the session */
	void *source;   /* the owner's, for `ended` */
};

struct rs_printer {
	struct rs_printer_config config;
	RsTraceSink *follower; /* of the pump; NULL: nothing is printed */
	RsTracePump *pump;
	GPtrArray *printed; /* of struct printed, all that were added and have not ended */
	gint name_sources;  /* atomic: lines of text name their source */
	gint stopping;      /* atomic */
	gint64 until;       /* atomic: when what is not written is given up; 0: never */
	struct rs_output output;
	/* These belong to the pump's thread until it has been joined. */
	GString *out;
	gsize late; /* text since the stop */
	struct rs_printer_stats stats;
};

/* ---- on the pump's thread ---- */

static bool is_over(const struct rs_printer *p)
{
	return p->stats.closed || p->stats.error || p->stats.unread || p->late > LATE_MAX ||
	       (p->config.count && p->stats.events >= p->config.count);
}

static void flush(struct rs_printer *p)
{
	int ret = 0;

	if (!p->stats.closed && !p->stats.error && !p->stats.unread)
		ret = rs_output_write(&p->output, p->out->str, p->out->len, &p->until, NULL);
	g_string_truncate(p->out, 0);
	if (ret == -ETIMEDOUT)
		p->stats.unread = true;
	else if (ret == -EPIPE)
		p->stats.closed = true;
	else if (ret)
		p->stats.error = -ret;
}

static void append_wall(GString *out, uint64_t ns)
{
	g_string_truncate(out, out->len - strlen("}\n"));
	g_string_append_printf(out, ",\"wall_ns\":%" PRIu64 "}\n", ns);
}

static void append_json(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			const struct rs_line_time *time)
{
	rs_trace_json_line(out, record, task);
	if (time && time->kind == RS_LINE_TIME_WALL)
		append_wall(out, record->ns + time->wall_ns);
}

static void append_text(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			RsTraceTextStyle style, struct rs_line_time *time)
{
	char text[RS_LINE_TIME_MAX];

	rs_trace_text_line_at(out, record, task, style,
			      time && record->kind != RS_TRACE_RECORD_LOSS
				      ? rs_line_time_text(time, record->ns, text)
				      : NULL);
}

void rs_printer_line(const struct rs_printer_config *config, struct rs_line_time *time, bool named,
		     GString *out, const RsTraceRecord *record, const RsTraceTask *task)
{
	const RsTraceTextStyle style =
		(config->style.bare ? RS_TRACE_TEXT_SHORT : RS_TRACE_TEXT_NONE) |
		(config->style.ns ? RS_TRACE_TEXT_NS : RS_TRACE_TEXT_NONE) |
		(config->style.color ? RS_TRACE_TEXT_COLOR : RS_TRACE_TEXT_NONE) |
		(config->raw ? RS_TRACE_TEXT_RAW : RS_TRACE_TEXT_NONE) |
		(named ? RS_TRACE_TEXT_SOURCE : RS_TRACE_TEXT_NONE);

	if (!rs_cli_choice_wants(config->view, record, task))
		return;
	if (config->wants && !config->wants(record, task, config->show_data))
		return;
	if (config->show)
		config->show(out, record, task, style, config->show_data);
	else if (config->json)
		append_json(out, record, task, time);
	else
		append_text(out, record, task, style, time);
}

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct rs_printer *p = data;
	gsize before = p->out->len;

	if (is_over(p))
		return;
	rs_printer_line(&p->config, p->config.time, g_atomic_int_get(&p->name_sources), p->out,
			record, task);
	if (record->kind == RS_TRACE_RECORD_LOSS)
		p->stats.lost += record->lost;
	else if (record->kind == RS_TRACE_RECORD_EVENT && p->out->len > before)
		p->stats.events++;
	if (g_atomic_int_get(&p->stopping))
		p->late += p->out->len - before;
	if (p->out->len >= OUT_MAX)
		flush(p);
}

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	const struct printed *printed = source;

	out->number = printed->number;
	g_strlcpy(out->name, printed->name, sizeof(out->name));
}

static gboolean on_round(gpointer data)
{
	struct rs_printer *p = data;

	flush(p);
	return !is_over(p);
}

/* ---- on the owner's thread ---- */

int rs_printer_style_take(const struct rs_verb *verb, struct rs_printer_style *style, int fd)
{
	return rs_cli_color_take(verb, style->when, fd, &style->color);
}

void rs_printer_style_clear(struct rs_printer_style *style)
{
	g_clear_pointer(&style->when, g_free);
	g_clear_pointer(&style->time, g_free);
}

void rs_printer_count(struct rs_printer_head *head, const RsTraceRegion *region)
{
	head->cpus = MAX(head->cpus, region->header.ring_count);
	for (uint32_t i = 0; i < region->header.ring_count; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(region, i, &info);
		head->entries += info.entries;
		head->written += info.records;
	}
}

static void free_printed(gpointer data)
{
	struct printed *printed = data;

	g_free(printed->name);
	g_free(printed);
}

static void on_ended(gpointer source, gpointer data)
{
	struct rs_printer *p = data;
	void *of = ((struct printed *)source)->source;

	g_ptr_array_remove_fast(p->printed, source);
	if (p->config.ended)
		p->config.ended(p->config.data, of);
}

static void on_done(gpointer data)
{
	struct rs_printer *p = data;

	if (p->config.done)
		p->config.done(p->config.data);
}

static void append_header(GString *out, const struct rs_printer_config *config)
{
	g_autoptr(GString) header = g_string_new(NULL);

	rs_trace_text_header(header, config->head->entries, config->head->written,
			     config->head->cpus);
	g_string_truncate(header, header->len - 1);
	rs_cli_append_painted(out, config->style.color, RS_COLOR_FAINT, header->str);
	g_string_append_c(out, '\n');
}

struct rs_printer *rs_printer_create(const struct rs_printer_config *config)
{
	struct rs_printer *p = g_new0(struct rs_printer, 1);
	RsTraceFollowerConfig follower = {
		.record = on_record, .round = on_round, .describe = describe, .data = p};
	RsTracePumpConfig pump = {.ended = on_ended, .done = on_done, .data = p};

	p->config = *config;
	rs_output_init(&p->output, config->fd);
	p->name_sources = config->source_names;
	p->out = g_string_new(NULL);
	p->printed = g_ptr_array_new_with_free_func(free_printed);
	if (config->fd >= 0) {
		if (config->head && !config->json && !config->show)
			append_header(p->out, config);
		pump.sink = p->follower = rs_trace_follower_new(&follower);
	}
	p->pump = rs_trace_pump_new(&pump);
	return p;
}

void rs_printer_name_sources(struct rs_printer *p)
{
	g_atomic_int_set(&p->name_sources, 1);
}

void rs_printer_start(struct rs_printer *p)
{
	rs_trace_pump_start(p->pump);
}

unsigned rs_printer_add(struct rs_printer *p, const char *name, guint32 number,
			RsTraceSource *pages, void *source)
{
	struct printed *printed = g_new0(struct printed, 1);

	printed->name = g_strdup(name);
	printed->number = number;
	printed->source = source;
	g_ptr_array_add(p->printed, printed);
	return rs_trace_pump_add(p->pump, pages, printed);
}

void rs_printer_end(struct rs_printer *p, unsigned number)
{
	rs_trace_pump_end(p->pump, number);
}

void rs_printer_wake(struct rs_printer *p)
{
	rs_trace_pump_wake(p->pump);
}

void rs_printer_hurry(struct rs_printer *p)
{
	if (!rs_load(&p->until))
		rs_store(&p->until, g_get_monotonic_time() + HURRY_US);
}

void rs_printer_stop(struct rs_printer *p)
{
	g_atomic_int_set(&p->stopping, 1);
	rs_trace_pump_stop(p->pump);
}

void rs_printer_finish(struct rs_printer *p, struct rs_printer_stats *stats)
{
	if (!p)
		return;
	rs_trace_pump_finish(p->pump);
	p->stats.bad_records = p->follower ? rs_trace_follower_bad(p->follower) : 0;
	if (stats)
		*stats = p->stats;
}

void rs_printer_destroy(struct rs_printer *p)
{
	if (!p)
		return;
	rs_trace_pump_free(p->pump);
	rs_output_deinit(&p->output);
	g_ptr_array_unref(p->printed);
	g_string_free(p->out, TRUE);
	g_free(p);
}
