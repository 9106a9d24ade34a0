/* SPDX-License-Identifier: MIT */
/*
 * Names in what the agent describes: the longest ones reach a trace line, and what the host would
 * leave out is refused with an error of its own.
 */
#include "region/regions.h"

#include <glib.h>
#include <ringside/agent.h>
#include <rs-trace-schema.h>
#include <rs-trace-text.h>
#include <string.h>

static RsTraceRegion *region;

/* An event with a number and an enum, all of whose names can be changed. */
struct made {
	struct rs_symbol_info symbol;
	struct rs_field_info field;
	struct rs_event_info what;
	struct rs_event event;
	struct rs_agent_provider provider;
};

static void make(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->symbol = (struct rs_symbol_info){.value = 1, .name = "one"};
	m->field = (struct rs_field_info){.name = "field",
					  .type = "u32",
					  .size = 4,
					  .kind = RS_KIND_ENUM,
					  .symbols = &m->symbol,
					  .symbol_count = 1};
	m->what = (struct rs_event_info){.system = "system",
					 .name = "event",
					 .print = "%s",
					 .print_args = "field",
					 .fields = &m->field,
					 .field_count = 1,
					 .entry_size = 4};
	m->event.info = &m->what;
	m->provider = (struct rs_agent_provider){
		.name = "provider", .events = &m->event, .events_end = &m->event + 1};
}

static void set_up(void)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config agent = {.cpu_count = 1};

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	agent.region = region->map;
	agent.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

/* The name at `at`, which is part of `m`: what registering it gives. */
static void check(struct made *m, const char **at, const char *name, int expected)
{
	g_autofree char *shown = g_strescape(name ? name : "(none)", NULL);
	const char *good = *at;
	int err;

	g_test_message("%s", shown);
	*at = name;
	err = rs_agent_register(&m->provider);
	g_assert_cmpint(err, ==, expected);
	if (!err)
		g_assert_cmpint(rs_agent_unregister(&m->provider), ==, 0);
	*at = good;
}

static void test_refused(void)
{
	g_autofree char *long_name = g_strnfill(RS_NAME_MAX, 'n');
	g_autofree char *long_symbol = g_strnfill(RS_SYMBOL_LEN, 's');
	struct made m;

	set_up();
	make(&m);
	check(&m, &m.provider.name, "provider", 0);
	check(&m, &m.provider.name, NULL, RS_AGENT_BAD_NAME);
	check(&m, &m.provider.name, "", RS_AGENT_BAD_NAME);
	check(&m, &m.provider.name, "a b", RS_AGENT_BAD_NAME);
	check(&m, &m.provider.name, long_name, RS_AGENT_BAD_NAME);
	check(&m, &m.what.system, "a:b", RS_AGENT_BAD_NAME);
	check(&m, &m.what.system, "-x", RS_AGENT_BAD_NAME);
	check(&m, &m.what.system, "9p", 0);
	check(&m, &m.what.system, long_name, RS_AGENT_BAD_NAME);
	check(&m, &m.what.name, "a/b", RS_AGENT_BAD_NAME);
	check(&m, &m.what.name, long_name, RS_AGENT_BAD_NAME);
	check(&m, &m.field.name, "a-b", RS_AGENT_BAD_NAME);
	check(&m, &m.field.name, "9p", RS_AGENT_BAD_NAME);
	check(&m, &m.field.type, "int;", RS_AGENT_BAD_NAME);
	check(&m, &m.field.type, "", RS_AGENT_BAD_NAME);
	check(&m, &m.field.type, long_symbol, RS_AGENT_BAD_NAME);
	check(&m, &m.symbol.name, "a\nb", RS_AGENT_BAD_NAME);
	check(&m, &m.symbol.name, "\xff", RS_AGENT_BAD_NAME);
	check(&m, &m.symbol.name, long_symbol, RS_AGENT_BAD_NAME);
	check(&m, &m.symbol.name, "na\xc3\xafve", 0);
	/* Other limits have the other error. */
	m.what.level = 6;
	check(&m, &m.what.name, "event", RS_AGENT_BAD_EVENT);
	g_assert_cmpstr(rs_agent_strerror(RS_AGENT_BAD_NAME), !=,
			rs_agent_strerror(RS_AGENT_BAD_EVENT));
	tear_down();
}

/* Long types that the agent makes longer are the host's to read as well. */
static void test_types(void)
{
	static const uint8_t kinds[] = {RS_KIND_DYN_ARRAY, RS_KIND_ARRAY};
	struct made m;

	set_up();
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		for (gsize length = 40; length < 70; length++) {
			g_autofree char *type = g_strnfill(length, 't');
			g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
			g_autofree guint8 *copy = NULL;
			struct rs_provider entry;
			gsize size;
			guint bad;
			int err;

			make(&m);
			m.what.print = m.what.print_args = "";
			m.field = (struct rs_field_info){.name = "field",
							 .type = type,
							 .size = 4,
							 .kind = kinds[i],
							 .elem_size = 1,
							 .elem_count = i ? 4 : 0};
			err = rs_agent_register(&m.provider);
			g_assert_true(err == 0 || err == RS_AGENT_BAD_NAME);
			g_assert_true(err == 0 || length > 50);
			if (err)
				continue;
			g_assert_true(rs_trace_region_provider(region, m.provider.id - 1, &entry));
			copy = rs_trace_region_descriptors(region, m.provider.id - 1, &entry,
							   &size);
			rs_trace_schema_take(schema, m.provider.id - 1, &entry, copy, size, &bad,
					     NULL);
			g_assert_cmpuint(bad, ==, 0);
			g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
		}
	}
	tear_down();
}

static void test_longest(void)
{
	g_autofree char *provider = g_strnfill(RS_NAME_MAX - 1, 'p');
	g_autofree char *system = g_strnfill(RS_NAME_MAX - 1, 's');
	g_autofree char *name = g_strnfill(RS_NAME_MAX - 1, 'e');
	g_autofree char *field = g_strnfill(RS_NAME_MAX - 1, 'f');
	g_autofree char *expected = g_strdup_printf("%s:%s: one\n", system, name);
	g_autofree char *glob = g_strdup_printf("%s:*e", system);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GString) line = g_string_new(NULL);
	g_autofree guint8 *copy = NULL;
	g_autofree char *format = NULL;
	RsTraceTask task = {.comm = "task"};
	const RsTraceEvent *event;
	struct rs_provider entry;
	guint32 value = 1;
	struct made m;
	gsize size;
	guint bad;

	set_up();
	make(&m);
	m.provider.name = provider;
	m.what.system = system;
	m.what.name = name;
	m.field.name = m.what.print_args = field;
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_true(rs_trace_region_provider(region, 0, &entry));
	g_assert_cmpstr(entry.name, ==, provider);
	copy = rs_trace_region_descriptors(region, 0, &entry, &size);
	rs_trace_schema_take(schema, 0, &entry, copy, size, &bad, NULL);
	g_assert_cmpuint(bad, ==, 0);
	event = rs_trace_schema_by_name(schema, system, name);
	g_assert_nonnull(event);
	g_assert_cmpstr(event->provider->name, ==, provider);
	g_assert_true(rs_trace_event_matches(event, glob));
	g_assert_nonnull(rs_trace_event_field(event, field));
	format = rs_trace_event_format(event);
	g_assert_nonnull(strstr(format, field));
	rs_trace_text_line(line,
			   &(RsTraceRecord){.kind = RS_TRACE_RECORD_EVENT,
					    .id = event->id,
					    .event = event,
					    .payload = (const guint8 *)&value,
					    .size = sizeof(value)},
			   &task, NULL, 0);
	g_assert_true(g_str_has_suffix(line->str, expected) ||
		      g_str_has_suffix(line->str, g_strchomp(expected)));
	/* It comes back by its whole name. */
	g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_cmpuint(m.provider.id, ==, 1);
	g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	provider[RS_NAME_MAX - 2] = 'q';
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_cmpuint(m.provider.id, ==, 2);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/describe/refused", test_refused);
	g_test_add_func("/agent/describe/types", test_types);
	g_test_add_func("/agent/describe/longest", test_longest);
	return g_test_run();
}
