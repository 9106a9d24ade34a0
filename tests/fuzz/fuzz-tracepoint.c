/* SPDX-License-Identifier: MIT */
/*
 * Text and format files that a guest makes of its own records. The event is random, and good as an
 * image's own are; the payload is hostile. The host's decoder, which has fuzzers of its own, must
 * make the same of both. Input: choices of a byte each, then the payload.
 */
#include "input.h"
#include "seed.h"

#include "../../guest-agent/tracepoint/format.h"
#include "../../guest-agent/tracepoint/text.h"
#include "../unit/tracepoint/schema.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input choices = {data, MIN(size, CHOICES)}, in = {data, size};
	g_autofree guint8 *payload = NULL;
	struct schema schema;

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
}
