/* SPDX-License-Identifier: MIT */
/*
 * Providers that come and go in a few slots, with their descriptors, as a guest may write them.
 * Input: for each change a header and the bytes of the descriptors.
 */
#include "seed.h"
#include "rs-trace-schema.h"
#include "../unit/decode/build.h"

#include <string.h>

#define SLOTS 4u

typedef struct {
	guint8 slot, state, first_boot, last_boot, since_chain, until_chain;
	guint8 since, until, place,
		keep; /* keep: so many providers survive a trim; 128: none is done */
	guint16 first_id, n_events, length;
} Change;
_Static_assert(sizeof(Change) == 16, "no padding");

static void add(GByteArray *out, Change change, GByteArray *descs)
{
	struct rs_provider entry;

	if (descs) {
		test_provider(&entry, change.slot, descs);
		change.first_id = (guint16)entry.first_id;
		change.n_events = (guint16)entry.event_count;
		change.length = (guint16)descs->len;
	}
	g_byte_array_append(out, (const guint8 *)&change, sizeof(change));
	if (descs)
		g_byte_array_append(out, descs->data, descs->len);
}

/* An event with an integer, text and an enum. */
static TestDesc *new_event(guint id, const char *name)
{
	TestDesc *desc = test_desc_new(id, "s", name);

	test_desc_int(desc, "a", RS_KIND_UINT, 4);
	test_desc_int(desc, "h", RS_KIND_HEX, 8);
	test_desc_int(desc, "i", RS_KIND_SINT, 2);
	test_desc_array(desc, "t", RS_KIND_STRING, 1, 8, 0);
	test_desc_int(desc, "e", RS_KIND_ENUM, 1);
	test_desc_symbol(desc, 1, "one");
	return desc;
}

static void put_events(const char *name, GByteArray *descs)
{
	GByteArray *bytes = g_byte_array_new();
	Change change = {.state = RS_PROVIDER_LIVE, .first_boot = 1, .last_boot = 1};

	add(bytes, change, descs);
	rs_fuzz_seed(name, bytes->data, bytes->len);
	g_byte_array_unref(bytes);
	g_byte_array_unref(descs);
}

/* Formats that are refused, and such as need a default; more arguments than there may be. */
static void put_formats(void)
{
	static const char *const formats[] = {
		NULL,   "%*d",  "%999d",   "%.*d", "%.999d",     "%5.3d",
		"%q",   "%",    "%d %d",   "%s",   "a\tb\n\"%%", "\t%hhd %lld %5s",
		"%c%p", "%#-x", "%+05.2i",
	};
	GByteArray *descs = g_byte_array_new();
	GString *print = g_string_new(NULL), *args = g_string_new(NULL);
	char name[8];

	for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
		g_snprintf(name, sizeof(name), "f%u", i);
		test_desc_end(new_event(TEST_SWITCH + i, name), formats[i],
			      formats[i] ? "a,t" : NULL, descs);
	}
	put_events("formats", descs);
	for (guint i = 0; i < 130; i++) {
		g_string_append(print, "%d");
		g_string_append(args, i ? ",a" : "a");
	}
	descs = g_byte_array_new();
	test_desc_end(new_event(TEST_SWITCH, "many"), print->str, args->str, descs);
	put_events("arguments", descs);
	g_string_free(print, TRUE);
	g_string_free(args, TRUE);
}

/* An id and a name that are there already; symbols whose names make a very long format. */
static void put_twice(void)
{
	GByteArray *descs = g_byte_array_new();
	g_autofree char *text = g_strnfill(RS_SYMBOL_LEN - 1, 's');
	TestDesc *desc;

	test_desc_end(new_event(TEST_SWITCH, "one"), NULL, NULL, descs);
	test_desc_end(new_event(TEST_SWITCH, "two"), NULL, NULL, descs);
	test_desc_end(new_event(TEST_SWITCH + 1, "one"), NULL, NULL, descs);
	put_events("twice", descs);
	descs = g_byte_array_new();
	desc = test_desc_new(TEST_SWITCH, "s", "long");
	test_desc_int(desc, "e", RS_KIND_ENUM, 1);
	for (guint i = 0; i < 255; i++)
		test_desc_symbol(desc, i, text);
	for (guint i = 0; i < 4; i++)
		test_desc_int(desc, "f", RS_KIND_ENUM, 1);
	test_desc_end(desc, "%s %s %s %s %s %s %s %s", "e,e,e,e,e,e,e,e", descs);
	put_events("long", descs);
}

static void rs_fuzz_seeds(void)
{
	GByteArray *bytes = g_byte_array_new(), *two = g_byte_array_new(),
		   *one = g_byte_array_new();

	test_desc_switch(two);
	test_desc_all(two);
	test_desc_later(one);
	add(bytes, (Change){.state = RS_PROVIDER_LIVE, .first_boot = 1, .last_boot = 1}, two);
	add(bytes, (Change){.slot = 1, .state = RS_PROVIDER_LIVE, .first_boot = 1, .last_boot = 1},
	    one);
	add(bytes,
	    (Change){.state = RS_PROVIDER_DEAD,
		     .first_boot = 1,
		     .last_boot = 2,
		     .until = 40,
		     .keep = 128},
	    two);
	add(bytes, (Change){.keep = 1}, NULL);
	add(bytes,
	    (Change){.slot = 3,
		     .state = RS_PROVIDER_LIVE,
		     .first_boot = 2,
		     .last_boot = 2,
		     .since = 50,
		     .since_chain = 1},
	    two);
	rs_fuzz_seed("lives", bytes->data, bytes->len);
	put_formats();
	put_twice();
	g_byte_array_unref(bytes);
	g_byte_array_unref(two);
	g_byte_array_unref(one);
}

static void check_event(RsTraceSchema *schema, const RsTraceEvent *event)
{
	const RsTraceProvider *provider = rs_trace_schema_provider(schema, event->slot);
	const RsTraceEvent *named = rs_trace_schema_by_name(schema, event->system, event->name);

	if (event->provider != provider || event->id < provider->first_id ||
	    event->id - provider->first_id >= provider->n_events || !named ||
	    strcmp(named->name, event->name) ||
	    rs_trace_schema_by_id(schema, event->id)->id != event->id ||
	    event->n_steps != event->n_print_args + 1)
		abort();
	for (guint f = 0; f < event->n_fields; f++)
		if (event->fields[f].offset + event->fields[f].size > event->entry_size)
			abort();
	g_free(rs_trace_event_format(event));
}

static void check(RsTraceSchema *schema)
{
	for (guint i = 0; i < rs_trace_schema_n_events(schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(schema, i);

		if (i && event->id < rs_trace_schema_nth(schema, i - 1)->id)
			abort();
		check_event(schema, event);
	}
	for (guint slot = 0; slot < SLOTS; slot++) {
		const RsTraceEvent *event;

		for (guint i = 0; (event = rs_trace_schema_nth_of(schema, slot, i)); i++)
			if (event->slot != slot)
				abort();
	}
	/* A provider that is found was live at the time asked for. */
	for (guint i = 0; i < 64; i++) {
		const RsTraceMoment when = {.boot = i % 4, .chain = i / 2 % 3, .ts = i * 4};
		guint id = RS_FIRST_EVENT_ID + i / 8 % 4;
		const RsTraceEvent *event = rs_trace_schema_lookup(schema, id, when);

		if (event && (event->id != id || when.boot > event->provider->until.boot ||
			      rs_trace_moment_compare(&when, &event->provider->since) < 0))
			abort();
	}
}

static void change_one(RsTraceSchema *schema, const Change *change, const guint8 *descs)
{
	const struct rs_provider entry = {
		.sequence = 2,
		.state = change->state,
		.first_boot = change->first_boot,
		.last_boot = change->last_boot,
		.event_count = change->n_events,
		.first_id = change->first_id,
		.desc_offset = change->place,
		.desc_size = change->length,
		.since = change->since,
		.since_chain = change->since_chain,
		.until_chain = change->until_chain,
		.until = change->until,
		.generation = change->place,
	};
	GError *error = NULL;
	guint bad;

	rs_trace_schema_take(schema, change->slot % SLOTS, &entry, descs, change->length, &bad,
			     &error);
	if (!bad != !error || !rs_trace_schema_knows(schema, change->slot % SLOTS, &entry))
		abort();
	g_clear_error(&error);
	if (change->keep < 128)
		rs_trace_schema_trim(schema, change->keep, G_MAXSIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceSchema *schema = rs_trace_schema_new();
	Change change;

	while (size >= sizeof(change)) {
		guint8 *descs;

		memcpy(&change, data, sizeof(change));
		data += sizeof(change);
		size -= sizeof(change);
		change.length = (guint16)MIN(change.length, size);
		change.state %= RS_PROVIDER_DEAD + 1;
		descs = g_memdup2(data, change.length); /* its own, so that ASan sees its end */
		change_one(schema, &change, descs);
		g_free(descs);
		check(schema);
		data += change.length;
		size -= change.length;
	}
	rs_trace_schema_free(schema);
	return 0;
}
