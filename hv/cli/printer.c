/* SPDX-License-Identifier: MIT */
#include "cli/printer.h"

#include <errno.h>
#include <poll.h>
#include <ringside/atomic.h>
#include <rs-trace-cmdline.h>
#include <rs-trace-json.h>
#include <rs-trace-merger.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-text.h>
#include <string.h>
#include <unistd.h>

/* Text is written once it has grown to this: a few bytes in a ring can ask for 64 KiB of it. */
#define OUT_MAX (1u << 20)

struct rs_printer {
	const RsTraceRegion *region;
	bool json;
	RsTraceTextStyle style;
	uint64_t limit; /* records; 0: none */
	int fd;

	RsTraceSchema *schema;
	size_t descriptor_bytes; /* of the region, parsed so far */
	uint64_t boot;           /* generation that the schema belongs to */
	bool boot_known;
	RsTraceClock clock;
	RsTraceCmdline *names;
	uint8_t *snapshot; /* two copies of the section */
	RsTraceDecoder *decoder;
	RsTraceMerger *merger;
	guint64 last_ts[RS_MAX_CPUS], last_ns[RS_MAX_CPUS];

	GString *out;
	struct rs_live_stats stats;
	uint64_t bad_before; /* of decoders that are gone */
};

/* ---- what the region says beside the rings ---- */

static bool read_schema(struct rs_printer *p, const struct rs_guest_info *info)
{
	size_t bytes = info->event_bytes, more;
	g_autofree uint8_t *copy = NULL;

	if (bytes <= p->descriptor_bytes)
		return false;
	more = bytes - p->descriptor_bytes;
	copy = g_malloc(more);
	more = rs_trace_region_copy(p->region, RS_SEC_EVENTS, p->descriptor_bytes, copy, more);
	/* A rest that cannot be parsed stays so: it is not looked at again. */
	rs_trace_schema_add(p->schema, copy, more, NULL, NULL);
	p->descriptor_bytes += more;
	return true;
}

static void read_clock(struct rs_printer *p)
{
	struct rs_control control;

	if (rs_trace_region_copy(p->region, RS_SEC_CONTROL, 0, &control, sizeof(control)) ==
	    sizeof(control))
		rs_trace_clock_set_epochs(&p->clock, &control);
}

static void read_names(struct rs_printer *p)
{
	size_t size = 0;

	rs_trace_region_section(p->region, RS_SEC_CMDLINE, &size);
	if (!size)
		return;
	if (!p->snapshot)
		p->snapshot = g_malloc(2 * size);
	rs_trace_region_copy(p->region, RS_SEC_CMDLINE, 0, p->snapshot, size);
	/* The second look after the first: pairs with the agent's barriers around an entry. */
	rs_rmb();
	rs_trace_region_copy(p->region, RS_SEC_CMDLINE, 0, p->snapshot + size, size);
	rs_trace_cmdline_merge(p->names, p->snapshot, p->snapshot + size, size);
}

/* ---- records, in order ---- */

static void count_loss(struct rs_printer *p, const RsTraceRecord *record)
{
	if (record->lost)
		p->stats.lost += record->lost;
	else
		p->stats.events++;
}

static void on_merged(const RsTraceRecord *record, gpointer data)
{
	struct rs_printer *p = data;
	const char *comm = "";

	if (p->stats.closed || p->stats.error || (p->limit && p->stats.events >= p->limit))
		return;
	if (!record->lost)
		comm = rs_trace_cmdline_lookup(p->names, record->pid, record->ts);
	count_loss(p, record);
	if (p->json)
		rs_trace_json_line(p->out, record, comm);
	else
		rs_trace_text_line(p->out, record, comm, p->style);
	if (p->out->len >= OUT_MAX)
		rs_printer_flush(p);
}

static void on_decoded(const RsTraceRecord *record, gpointer data)
{
	struct rs_printer *p = data;

	if (!record->lost && record->ring < RS_MAX_CPUS) {
		p->last_ts[record->ring] = record->ts;
		p->last_ns[record->ring] = record->ns;
	}
	rs_trace_merger_push(p->merger, record->ring, record);
}

static gboolean on_unknown(guint id, gpointer data)
{
	struct rs_printer *p = data;
	struct rs_guest_info info;

	return rs_trace_region_guest_info(p->region, &info, NULL) && read_schema(p, &info);
}

static void new_decoder(struct rs_printer *p)
{
	p->decoder = rs_trace_decoder_new(p->region->header.ring_count, p->schema, &p->clock,
					  on_decoded, on_unknown, p);
}

/* Another boot of the guest: its ids mean other events. What was read before goes out first. */
static void begin_boot(struct rs_printer *p, const struct rs_guest_info *info)
{
	RsTraceDecoderStats stats;

	if (p->boot_known) {
		rs_trace_merger_flush(p->merger);
		rs_trace_decoder_stats(p->decoder, &stats);
		p->bad_before += stats.bad_pages + stats.unknown;
		rs_trace_decoder_free(p->decoder);
		rs_trace_schema_free(p->schema);
		p->schema = rs_trace_schema_new();
		p->descriptor_bytes = 0;
		new_decoder(p);
	}
	p->boot = info->boot_generation;
	p->boot_known = true;
	if (!p->clock.hz)
		p->clock.hz = info->tsc_hz;
	read_schema(p, info);
}

void rs_printer_begin_round(struct rs_printer *p)
{
	struct rs_guest_info info;

	if (rs_trace_region_guest_info(p->region, &info, NULL) &&
	    (!p->boot_known || info.boot_generation != p->boot))
		begin_boot(p, &info);
	read_clock(p);
	rs_trace_merger_begin_round(p->merger);
}

void rs_printer_chunk(struct rs_printer *p, const RsTraceChunk *chunk)
{
	rs_trace_decoder_push(p->decoder, chunk->ring, chunk->page, chunk->from, chunk->to,
			      chunk->lost);
}

void rs_printer_end_round(struct rs_printer *p, uint64_t in_flight)
{
	/* Every time: what is released below was written a round ago at the latest, so its name has
	 * been noted by now. An older look would show a task under the name that it had before. */
	if (rs_trace_merger_held(p->merger))
		read_names(p);
	for (uint32_t i = 0; i < p->region->header.ring_count; i++)
		if (in_flight >> i & 1)
			rs_trace_merger_in_flight(p->merger, i);
	rs_trace_merger_end_round(p->merger, g_get_monotonic_time());
}

void rs_printer_pending_loss(struct rs_printer *p, uint32_t ring, uint64_t lost)
{
	RsTraceRecord record = {.lost = lost, .ring = (guint16)ring};

	if (!lost)
		return;
	record.ts = p->last_ts[ring];
	record.ns = p->last_ns[ring];
	rs_trace_merger_push(p->merger, ring, &record);
}

void rs_printer_finish(struct rs_printer *p)
{
	read_names(p);
	rs_trace_merger_flush(p->merger);
	rs_printer_flush(p);
}

/* ---- output ---- */

static int write_all(struct rs_printer *p)
{
	const char *at = p->out->str;
	size_t left = p->out->len;

	while (left) {
		ssize_t n = write(p->fd, at, left);

		if (n > 0) {
			at += n;
			left -= (size_t)n;
		} else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			struct pollfd fd = {.fd = p->fd, .events = POLLOUT};

			poll(&fd, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			return n < 0 ? -errno : -EIO;
		}
	}
	return 0;
}

int rs_printer_flush(struct rs_printer *p)
{
	int ret;

	if (p->stats.closed || p->stats.error) {
		g_string_truncate(p->out, 0);
		return -1;
	}
	ret = write_all(p);
	g_string_truncate(p->out, 0);
	if (ret == -EPIPE)
		p->stats.closed = true;
	else if (ret)
		p->stats.error = -ret;
	return ret || (p->limit && p->stats.events >= p->limit) ? -1 : 0;
}

void rs_printer_stats(const struct rs_printer *p, struct rs_live_stats *out)
{
	RsTraceDecoderStats stats;

	rs_trace_decoder_stats(p->decoder, &stats);
	*out = p->stats;
	out->bad_records = p->bad_before + stats.bad_pages + stats.unknown;
}

/* ---- life ---- */

static void print_header(struct rs_printer *p)
{
	uint64_t entries = 0, written = 0;

	for (uint32_t i = 0; i < p->region->header.ring_count; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(p->region, i, &info);
		entries += info.entries;
		written += info.records;
	}
	rs_trace_text_header(p->out, entries, written, p->region->header.ring_count);
}

int rs_printer_create(const struct rs_live_config *config, struct rs_printer **out,
		      struct rs_error *err)
{
	struct rs_printer *p = g_new0(struct rs_printer, 1);

	p->region = config->region;
	p->json = config->json;
	p->style = config->short_names ? RS_TRACE_TEXT_SHORT : 0;
	p->limit = config->count;
	p->fd = config->fd;
	p->schema = rs_trace_schema_new();
	p->names = rs_trace_cmdline_new();
	rs_trace_clock_init(&p->clock, 0);
	p->merger = rs_trace_merger_new(0, 0, on_merged, p);
	rs_trace_merger_add_lanes(p->merger, config->region->header.ring_count);
	p->out = g_string_new(NULL);
	new_decoder(p);
	if (config->header && !config->json)
		print_header(p);
	*out = p;
	return 0;
}

void rs_printer_destroy(struct rs_printer *p)
{
	if (!p)
		return;
	rs_trace_decoder_free(p->decoder);
	rs_trace_merger_free(p->merger);
	rs_trace_cmdline_free(p->names);
	rs_trace_schema_free(p->schema);
	g_string_free(p->out, TRUE);
	g_free(p->snapshot);
	g_free(p);
}
