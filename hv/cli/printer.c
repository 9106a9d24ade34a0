/* SPDX-License-Identifier: MIT */
#include "cli/printer.h"

#include <errno.h>
#include <poll.h>
#include <rs-trace-json.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-text.h>
#include <unistd.h>

/* Text is written once it has grown to this: a few bytes in a ring can ask for 64 KiB of it. */
#define OUT_MAX (1u << 20)

struct rs_printer {
	struct rs_printer_config config;
	RsTraceTextStyle style;
	RsTracePump *pump;
	/* The pump's thread's, until that has been joined. */
	GString *out;
	struct rs_printer_stats stats;
};

/* ---- on the pump's thread ---- */

static int write_all(const struct rs_printer *p)
{
	const char *at = p->out->str;
	size_t left = p->out->len;

	while (left) {
		ssize_t n = write(p->config.fd, at, left);

		if (n > 0) {
			at += n;
			left -= (size_t)n;
		} else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			struct pollfd fd = {.fd = p->config.fd, .events = POLLOUT};

			poll(&fd, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			return n < 0 ? errno : EIO;
		}
	}
	return 0;
}

static bool is_over(const struct rs_printer *p)
{
	return p->stats.closed || p->stats.error ||
	       (p->config.count && p->stats.events >= p->config.count);
}

static void flush(struct rs_printer *p)
{
	int code = p->stats.closed || p->stats.error ? 0 : write_all(p);

	g_string_truncate(p->out, 0);
	if (code == EPIPE)
		p->stats.closed = true;
	else if (code)
		p->stats.error = code;
}

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct rs_printer *p = data;

	if (is_over(p))
		return;
	if (record->kind == RS_TRACE_RECORD_LOSS)
		p->stats.lost += record->lost;
	else if (record->kind == RS_TRACE_RECORD_EVENT)
		p->stats.events++;
	if (p->config.json)
		rs_trace_json_line(p->out, record, task);
	else
		rs_trace_text_line(p->out, record, task, p->style);
	if (p->out->len >= OUT_MAX)
		flush(p);
}

static gboolean on_round(gpointer data)
{
	struct rs_printer *p = data;

	flush(p);
	return !is_over(p);
}

/* ---- on the owner's thread ---- */

static void print_header(struct rs_printer *p)
{
	const RsTraceRegion *region = p->config.region;
	uint64_t entries = 0, written = 0;

	for (uint32_t i = 0; i < region->header.ring_count; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(region, i, &info);
		entries += info.entries;
		written += info.records;
	}
	rs_trace_text_header(p->out, entries, written, region->header.ring_count);
}

int rs_printer_create(const struct rs_printer_config *config, struct rs_printer **out,
		      struct rs_error *err)
{
	struct rs_printer *p;
	RsTracePumpConfig pump = {.done = config->done, .data = config->data};
	RsTraceSource *source;
	GError *error = NULL;

	source = rs_trace_live_new(config->region, config->from, config->owner, &error);
	if (!source)
		return rs_error_take(err, EINVAL, error);
	p = g_new0(struct rs_printer, 1);
	p->config = *config;
	p->style = config->short_names ? RS_TRACE_TEXT_SHORT : 0;
	p->out = g_string_new(NULL);
	if (config->fd >= 0) {
		if (config->header && !config->json)
			print_header(p);
		pump.record = on_record;
		pump.round = on_round;
	}
	pump.record_data = p;
	p->pump = rs_trace_pump_new(&pump);
	rs_trace_pump_add(p->pump, source);
	*out = p;
	return 0;
}

void rs_printer_wake(struct rs_printer *p)
{
	rs_trace_pump_wake(p->pump);
}

void rs_printer_finish(struct rs_printer *p, struct rs_printer_stats *stats)
{
	if (!p)
		return;
	p->stats.bad_records = rs_trace_pump_finish(p->pump);
	if (stats)
		*stats = p->stats;
}

void rs_printer_destroy(struct rs_printer *p)
{
	if (!p)
		return;
	rs_trace_pump_free(p->pump);
	g_string_free(p->out, TRUE);
	g_free(p);
}
