/* SPDX-License-Identifier: MIT */
/* Event descriptors as a guest may write them. */
#include "seed.h"
#include "rs-trace-schema.h"
#include "../unit/decode/build.h"

static void rs_fuzz_seeds(void)
{
	GByteArray *bytes = g_byte_array_new();

	test_desc_switch(bytes);
	test_desc_all(bytes);
	rs_fuzz_seed("two", bytes->data, bytes->len);
	g_byte_array_unref(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceSchema *schema = rs_trace_schema_new();
	GError *error = NULL;
	guint bad;

	if (rs_trace_schema_add(schema, data, size, &bad, &error) > size || !bad != !error)
		abort();
	for (guint i = 0; i < rs_trace_schema_n_events(schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(schema, i);

		if (rs_trace_schema_by_id(schema, event->id) != event ||
		    rs_trace_schema_by_name(schema, event->system, event->name) != event ||
		    event->n_steps != event->n_print_args + 1)
			abort();
		for (guint f = 0; f < event->n_fields; f++)
			if (event->fields[f].offset + event->fields[f].size > event->entry_size)
				abort();
		rs_trace_event_matches(event, "s*:[a-z]?*h");
		g_free(rs_trace_event_format(event));
	}
	g_clear_error(&error);
	rs_trace_schema_free(schema);
	return 0;
}
