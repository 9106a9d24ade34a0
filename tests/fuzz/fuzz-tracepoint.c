/* SPDX-License-Identifier: MIT */
/*
 * Text and format files that a guest makes of its own records. The event is random, and good as an
 * image's own are; the payload is hostile. The host's decoder, which has fuzzers of its own, must
 * make the same of both. Input: choices of a byte each, then the payload; or, if its size says so,
 * a page of a ring.
 */
#include "input.h"
#include "seed.h"

#include "../../guest-agent/tracepoint/format.h"
#include "../../guest-agent/tracepoint/text.h"
#include "../../guest-agent/tracepoint/walk.h"
#include "../unit/tracepoint/schema.h"

#include <rs-trace-page.h>
#include <rs-trace-text.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES 200u /* bytes at most */

static guint draw(gpointer data, guint below)
{
	struct rs_fuzz_input *in = data;
	guint value = rs_fuzz_u8(in);

	if (below > 256)
		value |= (guint)rs_fuzz_u8(in) << 8;
	return value % below;
}

RS_FUZZ_NOT_SEEN static gboolean has_unassigned(const char *text)
{
	if (!g_utf8_validate(text, -1, NULL))
		abort();
	for (; *text; text = g_utf8_next_char(text))
		if (g_unichar_type(g_utf8_get_char(text)) == G_UNICODE_UNASSIGNED)
			return TRUE;
	return FALSE;
}

/* Sizes that are too small must give the same, and write nothing behind them. */
static void check_format(struct schema *schema)
{
	static char text[RS_FORMAT_MAX + 100];
	const RsTraceEvent *event = schema_event(schema);
	g_autofree char *few = g_malloc(50), *expected = NULL;
	int length = rs_format(&schema->info, 64, text, sizeof(text));

	if (rs_format(&schema->info, 64, few, 50) != length || (length < 0) != !event)
		abort();
	if (!event)
		return;
	expected = rs_trace_event_format(event);
	if (strcmp(expected, text))
		abort();
}

static void check_text(struct schema *schema, const uint8_t *payload, guint size)
{
	static char text[RS_MESSAGE_MAX + 100];
	g_autofree char *few = g_malloc(20);
	struct rs_out out = {.out = text, .size = sizeof(text)}, less = {.out = few, .size = 20};
	const RsTraceRecord record = {
		.event = schema_event(schema), .payload = payload, .size = size};
	g_autoptr(GString) expected = g_string_new(NULL);

	rs_put_message(&out, &schema->info, payload, size, false);
	rs_put_message(&less, &schema->info, payload, size, false);
	if (rs_put_end(&out) != rs_put_end(&less) || strlen(text) != out.at)
		abort();
	rs_trace_text_message(expected, &record);
	if (strcmp(expected->str, text) && !has_unassigned(text))
		abort();
}

/* The bytes as a page of a ring: the host's walk finds the same records in it. */
static void check_page(const uint8_t *data, size_t size)
{
	struct rs_tracepoint_record record;
	g_autofree guint8 *page = NULL;
	RsTracePageItem item;
	RsTracePageWalk host;
	struct rs_walk guest;

	size = MIN(size & ~(size_t)7, RS_RING_PAGE_MAX);
	if (size < sizeof(struct rs_ring_page))
		return;
	page = g_memdup2(data, size);
	((struct rs_ring_page *)(void *)page)->committed = UINT32_MAX;
	rs_walk_begin(&guest, page, (uint32_t)size);
	rs_trace_page_begin(&host, page);
	do {
		item = rs_trace_page_next(&host, page, (guint)size);
		if (item == RS_TRACE_PAGE_MARK)
			continue;
		if (rs_walk_next(&guest, page, &record) != (item == RS_TRACE_PAGE_RECORD))
			abort();
		if (item != RS_TRACE_PAGE_RECORD)
			break;
		if (record.ts != host.ts || record.id != host.id || record.size != host.size ||
		    record.payload != page + host.payload || record.pid != host.pid ||
		    record.tgid != host.tgid || record.context != host.context ||
		    record.chain != host.chain || record.cut != host.cut)
			abort();
	} while (item >= RS_TRACE_PAGE_MARK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input choices = {data, MIN(size, CHOICES)}, in = {data, size};
	g_autofree guint8 *payload = NULL;
	struct schema schema;

	if (size % 8 == 3) {
		check_page(data, size);
		return 0;
	}
	schema_make(&schema, draw, &choices);
	if (size % 4 == 0) /* it takes the longest, and the payload is not in it */
		check_format(&schema);
	/* What no choice has used. */
	in.left -= MIN(size, CHOICES) - choices.left;
	in.data = choices.data;
	payload = g_memdup2(in.data, in.left);
	check_text(&schema, payload, (guint)MIN(in.left, RS_REC_MAX - 8));
	schema_clear(&schema);
	return 0;
}

/* One item of each kind, and what each of them needs. */
static void seed_page(void)
{
	struct {
		struct rs_ring_page head;
		struct rs_rec_context context;
		struct rs_rec_tgid tgid;
		struct rs_rec_time time;
		struct rs_rec_header record;
		struct rs_rec_continued continued;
		struct rs_rec_header piece;
		guint8 payload[8];
		guint8 odd[3]; /* so that it is taken as a page */
	} page = {
		.head = {.header_size = sizeof(page.head), .ts = 5, .boot = 1},
		.context = {RS_REC_CONTEXT, 3, 77},
		.tgid = {RS_REC_TGID, 8, 76},
		.time = {RS_REC_TIME, 16, 2, 1ull << 40},
		.record = {RS_FIRST_EVENT_ID, 8, 9},
		.continued = {RS_REC_CONTINUED, 24, 8, 16, 0, 1},
		.piece = {RS_FIRST_EVENT_ID, 13, 10},
	};

	rs_fuzz_seed("page", &page, offsetof(__typeof__(page), odd) + 3);
}

/* Random choices, which mostly give good events. */
static void rs_fuzz_seeds(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);

	for (guint i = 0; i < 40; i++) {
		guint8 bytes[300];
		char name[16];

		for (guint k = 0; k < sizeof(bytes); k++)
			bytes[k] = (guint8)g_rand_int(rand);
		g_snprintf(name, sizeof(name), "random-%u", i);
		rs_fuzz_seed(name, bytes, sizeof(bytes));
	}
	seed_page();
}
