/* SPDX-License-Identifier: MIT */
/*
 * The viewer reads what the agent writes. The agent describes and emits events with every kind of
 * field, on an OS that implements all ops. A follower reads them as a live source and decodes them,
 * and they are printed as format files, text and JSON. The output must equal roundtrip.expected.
 *
 *	test-roundtrip EXPECTED      compare (the test)
 *	test-roundtrip -             print what there is
 */
#define RS_CREATE_TRACE_POINTS
#include "roundtrip-events.h"

#include "region/regions.h"
#include "../unit/agent/text.h"

#include <glib.h>
#include <ringside/agent.h>
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-json.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>
#include <stdio.h>
#include <string.h>

#define CPUS 3

static RS_PROVIDER(provider, "golden");

/* The state that the OS reports through its ops. */
static uint64_t now = 1000000000;
static uint32_t cpu, pid, tgid, context;
static char comm[RS_COMM_LEN];

static uint64_t os_time(void)
{
	return now += 1000;
}
static uint32_t os_cpu(void)
{
	return cpu;
}
static uint32_t os_pid(void)
{
	return pid;
}
static uint32_t os_tgid(void)
{
	return tgid;
}
static uint32_t os_context(void)
{
	return context;
}
static const char *os_comm(void)
{
	return comm;
}

static const struct rs_trace_ops ops = {
	.time_now = os_time,
	.cpu_id = os_cpu,
	.current_pid = os_pid,
	.current_tgid = os_tgid,
	.context_flags = os_context,
	.current_comm = os_comm,
	.text_open = os_text_open,
	.text_close = os_text_close,
};

static void run_task(uint32_t on, uint32_t id, uint32_t group, const char *name, uint32_t flags)
{
	cpu = on;
	pid = id;
	tgid = group;
	context = flags;
	memset(comm, 0, sizeof(comm));
	memcpy(comm, name, MIN(strlen(name), sizeof(comm)));
}

static void start(RsTraceRegion *region)
{
	struct rs_control *control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	uint32_t *words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	struct rs_agent_config config = {.region = region->map,
					 .region_size = region->size,
					 .ops = &ops,
					 .agent = "golden 1",
					 .name = "golden",
					 .cpu_count = CPUS,
					 .flags = RS_GUEST_SELF_PATCH};

	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
	for (const struct rs_event *event = __start_rs_events; event < __stop_rs_events; event++)
		words[event->id] = RS_EVENT_ENABLED;
	control->flags = RS_CONTROL_SELF_PATCH;
	control->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

/* More than a page holds: each of the long ones has the same share of what the short ones leave. */
static void emit_long(void)
{
	static int64_t wide[600];
	static char text[40000];
	const uint16_t list[] = {7, 8};

	for (int i = 0; i < 600; i++)
		wide[i] = 1000 + i;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + i / 10 % 26);
	trace_golden_dynamic(list, 2, wide, 600, text, "short");
}

static void emit(void)
{
	static const int64_t numbers[] = {0, -1, 255, -32768, 1ll << 40, 77, 78};
	static const uint16_t list[] = {1, 65535, 300};

	run_task(0, 1, 1, "init", 0);
	trace_golden_ints(0, 0);
	trace_golden_ints(UINT64_MAX, -1);
	run_task(1, 4321, 4300, "32 letters and that is all of it",
		 RS_CTX_IRQS_OFF | 2u << RS_CTX_PREEMPT_SHIFT);
	trace_golden_ints(0x8080808080808080, INT64_MIN);
	run_task(0, 1, 1, "init", RS_CTX_HARDIRQ | RS_CTX_IRQS_OFF);
	trace_golden_hex(0xfedcba9876543210, (const void *)0xffffffff81000000ull);
	trace_golden_hex(0, NULL);
	run_task(2, 0, 0, "idle/2", RS_CTX_NEED_RESCHED);
	trace_golden_arrays(numbers, "letters and more than sixteen");
	/* More than 2^32 ticks later, another task, with a hostile name */
	now += 10000000000;
	run_task(2, 8, 8, "e\x1b[2Jvil\xff", RS_CTX_SOFTIRQ);
	trace_golden_arrays(numbers + 1, "\x1b]0;x\a\n");
	trace_golden_symbols(0);
	trace_golden_symbols(UINT64_MAX);
	run_task(1, 4321, 4300, "renamed", RS_CTX_NMI);
	trace_golden_symbols(0x80000102);
	trace_golden_dynamic(list, 3, numbers, 6, "because", "");
	emit_long();
	trace_golden_dynamic(NULL, 3, numbers, 0, NULL, "line\n\ttwo \\ \"quoted\" \xe2\x82\xac");
	run_task(0, 1, 1, "init", 0);
	trace_golden_bare();
}

/* The guest boots again; its ids and tasks begin again too. */
static void boot_again(RsTraceRegion *region)
{
	rs_agent_fini();
	now += 1000000;
	start(region);
	run_task(0, 1, 0, "second", 0);
	trace_golden_bare();
}

struct output {
	GString *text, *json;
	RsTraceSink *follower;
	RsTraceFeed *feed;
};

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct output *out = data;

	rs_trace_text_line(out->text, record, task, 0);
	rs_trace_json_line(out->json, record, task);
}

static void print_record(struct output *out, const RsTraceRecord *record)
{
	RsTraceTask task;

	rs_trace_follower_task(out->feed, record, &task);
	on_record(record, &task, out);
}

static RsTraceSchema *read_schema(RsTraceRegion *region)
{
	RsTraceSchema *schema = rs_trace_schema_new();
	g_autoptr(GError) error = NULL;
	g_autofree uint8_t *bytes = NULL;
	struct rs_guest_info info;
	struct rs_provider entry;
	guint bad = 0;

	g_assert_true(rs_trace_region_guest_info(region, &info, NULL));
	g_assert_cmpuint(info.provider_slots, ==, 1);
	g_assert_true(rs_trace_region_provider(region, 0, &entry));
	bytes = g_malloc(entry.desc_size);
	g_assert_cmpuint(rs_trace_region_copy(region, RS_SEC_EVENTS, entry.desc_offset, bytes,
					      entry.desc_size),
			 ==, entry.desc_size);
	rs_trace_schema_take(schema, 0, &entry, bytes, entry.desc_size, &bad, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(bad, ==, 0);
	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==,
			 __stop_rs_events - __start_rs_events);
	return schema;
}

/* By name and without ids, since compilers put events into the section in different orders. */
static void print_formats(RsTraceSchema *schema, GString *out)
{
	static const char *const names[] = {"ints", "hex", "arrays", "symbols", "dynamic", "bare"};

	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, G_N_ELEMENTS(names));
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		const RsTraceEvent *event = rs_trace_schema_by_name(schema, "golden", names[i]);
		g_autofree char *id = g_strdup_printf("ID: %u\n", event->id);
		g_autofree char *format = rs_trace_event_format(event);
		g_auto(GStrv) around = g_strsplit(format, id, 2);

		g_assert_cmpuint(g_strv_length(around), ==, 2);
		g_string_append_printf(out, "%s%slevel: %u keyword: %#" G_GINT64_MODIFIER "x\n\n",
				       around[0], around[1], event->level, event->keyword);
	}
}

/* Lines that the events above do not cause: a loss, an unknown event, a cut record. */
static void print_odd(RsTraceSchema *schema, struct output *out)
{
	static const guint8 bytes[] = {1, 255, 2, 0, 254, 255, 0xab};
	RsTraceRecord lost = {
		.kind = RS_TRACE_RECORD_LOSS, .ns = 12000000000, .ring = 1, .lost = 214};
	RsTraceRecord unknown = {
		.ns = 12000001000, .payload = bytes, .size = sizeof(bytes), .id = 99};
	RsTraceRecord cut = {.ns = 12000002000,
			     .event = rs_trace_schema_by_name(schema, "golden", "ints"),
			     .payload = bytes,
			     .size = 6,
			     .cut = TRUE};

	print_record(out, &lost);
	print_record(out, &unknown);
	print_record(out, &cut);
}

static void read_round(struct output *out)
{
	out->follower->ops->begin_round(out->follower);
	g_assert_cmpint(rs_trace_feed_read(out->feed, 0), ==, RS_TRACE_RING_DATA);
	rs_trace_feed_update_names(out->feed);
}

/* Prints everything about the region, as an observer that follows it all the time. */
static GString *print(RsTraceRegion *region)
{
	g_autoptr(RsTraceSchema) schema = read_schema(region);
	g_autoptr(GString) json = g_string_new(NULL);
	struct output out = {.text = g_string_new(NULL), .json = json};
	const RsTraceFollowerConfig config = {.record = on_record, .data = &out};

	out.follower = rs_trace_follower_new(&config);
	out.feed = rs_trace_feed_new(rs_trace_live_new(region, RS_TRACE_FROM_START, 0, NULL),
				     out.follower, 0, NULL);
	print_formats(schema, out.text);
	emit();
	read_round(&out);
	boot_again(region);
	read_round(&out);
	rs_trace_feed_finish(out.feed);
	out.follower->ops->end(out.follower);
	g_assert_cmpuint(rs_trace_follower_bad(out.follower), ==, 0);
	print_odd(schema, &out);
	rs_trace_feed_free(out.feed);
	out.follower->ops->free(out.follower);
	g_string_append_printf(out.text, "\n%s", json->str);
	return out.text;
}

static GString *round_trip(void)
{
	struct rs_region_config config = {.vcpus = CPUS, .ring_bytes = 64 * 1024};
	RsTraceRegion *region;
	GString *text;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	start(region);
	text = print(region);
	rs_agent_fini();
	rs_trace_region_free(region);
	return text;
}

static const char *expected_path;

static void test_round_trip(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *contents = NULL;
	g_autoptr(GString) text = round_trip();
	g_auto(GStrv) expected = NULL;
	g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);

	g_file_get_contents(expected_path, &contents, NULL, &error);
	g_assert_no_error(error);
	expected = g_strsplit(contents, "\n", -1);
	for (guint i = 0; lines[i] && expected[i]; i++)
		g_assert_cmpstr(lines[i], ==, expected[i]);
	g_assert_cmpuint(g_strv_length(lines), ==, g_strv_length(expected));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc != 2)
		return 2;
	expected_path = argv[1];
	if (!strcmp(expected_path, "-")) {
		g_autoptr(GString) text = round_trip();

		fputs(text->str, stdout);
		return 0;
	}
	g_test_add_func("/golden/round-trip", test_round_trip);
	return g_test_run();
}
