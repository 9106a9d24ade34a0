/* SPDX-License-Identifier: MIT */
/*
 * Providers go and come back, others take their place, and the guest boots again. An observer that
 * follows and one that comes late decode each record by the provider that wrote it.
 * docs/adr/0006-lives.md has the rules.
 */
#include "region/regions.h"

#include <glib.h>
#include <ringside/agent.h>
#include <rs-trace-decoder.h>
#include <rs-trace-ring.h>
#include <rs-trace-table.h>
#include <rs-trace-text.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 10000u

static RsTraceRegion *region;
static struct rs_guest_info *info;
static uint32_t *words;
static uint32_t cpu;
static uint64_t counter;

static uint32_t test_cpu(void)
{
	return cpu;
}

static uint64_t test_time(void)
{
	return ++counter;
}

/* ---- a provider made at run time: one event with one number and its own text ---- */

struct made {
	char name[32], print[64];
	struct rs_field_info field;
	struct rs_event_info what;
	struct rs_event event;
	struct rs_agent_provider provider;
};

static void make(struct made *m, const char *provider, uint32_t n)
{
	memset(m, 0, sizeof(*m));
	g_snprintf(m->name, sizeof(m->name), "%s-%u", provider, n);
	g_snprintf(m->print, sizeof(m->print), "I am %u: %%u", n);
	m->field = (struct rs_field_info){
		.name = "value", .type = "u32", .size = 4, .kind = RS_KIND_UINT};
	m->what = (struct rs_event_info){
		.system = m->name,
		.name = "ping",
		.print = m->print,
		.print_args = "value",
		.fields = &m->field,
		.field_count = 1,
		.entry_size = 4,
	};
	m->event.info = &m->what;
	m->provider = (struct rs_agent_provider){
		.name = m->name, .events = &m->event, .events_end = &m->event + 1};
}

static void emit(struct made *m, uint32_t value)
{
	uint64_t entry = value;

	words[m->event.id] = RS_EVENT_ENABLED;
	rs_emit_8(&m->event, &entry, 4);
	words[m->event.id] = 0;
}

/* ---- an observer ---- */

struct observer {
	RsTraceSchema *schema;
	RsTraceTable *table;
	RsTraceDecoder *decoder;
	RsTraceRing *rings[2];
	GString *lines;
	uint64_t records, unknown, lost, boots;
	uint32_t changes;
};

static gboolean take(guint slot, const struct rs_provider *entry, const guint8 *descs, gsize size,
		     gpointer data)
{
	struct observer *o = data;
	guint bad = 0;

	rs_trace_schema_take(o->schema, slot, entry, descs, size, &bad, NULL);
	g_assert_cmpuint(bad, ==, 0);
	return TRUE;
}

static void follow(struct observer *o)
{
	o->changes = rs_load_acquire(&info->provider_changes);
	rs_trace_table_look(o->table, rs_load_acquire(&info->provider_slots), o->schema, take, o);
	g_assert_false(rs_trace_table_pending(o->table));
}

static void on_record(const RsTraceRecord *record, gpointer data)
{
	struct observer *o = data;

	if (record->kind == RS_TRACE_RECORD_BOOT) {
		o->boots++;
		g_string_append_printf(o->lines, "boot %u\n", record->when.boot);
		return;
	}
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		o->lost += record->lost;
		return;
	}
	o->records++;
	if (!record->event) {
		o->unknown++;
		return;
	}
	g_string_append_printf(o->lines, "%s ", record->event->system);
	rs_trace_text_message(o->lines, record);
	g_string_append_c(o->lines, '\n');
}

static struct observer *observe(RsTraceFrom from)
{
	struct observer *o = g_new0(struct observer, 1);

	o->schema = rs_trace_schema_new();
	o->table = rs_trace_table_new(region);
	o->decoder = rs_trace_decoder_new(2, o->schema, NULL, on_record, o);
	o->lines = g_string_new(NULL);
	for (guint i = 0; i < 2; i++) {
		RsTraceRingConfig config = {.ring = i, .from = from};

		o->rings[i] = rs_trace_ring_new(region, &config, NULL);
		g_assert_nonnull(o->rings[i]);
	}
	follow(o);
	return o;
}

static void look(struct observer *o)
{
	RsTraceChunk chunk;

	for (guint i = 0; i < 2; i++) {
		while (rs_trace_ring_next(o->rings[i], 0, &chunk) == RS_TRACE_RING_DATA) {
			if (rs_load(&info->provider_changes) != o->changes)
				follow(o);
			g_assert_true(rs_trace_decoder_push(o->decoder, i, chunk.page, chunk.from,
							    chunk.to, chunk.lost));
		}
	}
}

static void observer_free(struct observer *o)
{
	for (guint i = 0; i < 2; i++)
		rs_trace_ring_free(o->rings[i]);
	rs_trace_decoder_free(o->decoder);
	rs_trace_schema_free(o->schema);
	rs_trace_table_free(o->table);
	g_string_free(o->lines, TRUE);
	g_free(o);
}

/* ---- a machine ---- */

static void boot(void)
{
	static const struct rs_trace_ops ops = {.cpu_id = test_cpu, .time_now = test_time};
	struct rs_agent_config config = {
		.region = region->map, .region_size = region->size, .ops = &ops, .cpu_count = 2};

	g_assert_cmpint(rs_agent_init(&config), ==, 0);
}

static void set_up(uint64_t ring_bytes)
{
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = ring_bytes};

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	cpu = 0;
	boot();
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
	counter = 0;
}

static const struct rs_provider *entry_of(uint32_t slot)
{
	return rs_trace_region_element(region, RS_SEC_PROVIDERS, slot);
}

/* ---- the tests ---- */

/* A module that is loaded 10,000 times, while the rings overwrite nothing. */
static void test_same_again(void)
{
	struct observer *o, *late;
	struct made m;
	uint32_t id = 0;

	set_up(4 << 20);
	make(&m, "mod", 7);
	o = observe(RS_TRACE_FROM_START);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		g_autofree char *expected = g_strdup_printf("mod-7 I am 7: %u\n", i);

		g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
		if (!id)
			id = m.event.id;
		g_assert_cmpuint(m.event.id, ==, id);
		cpu = i & 1;
		emit(&m, i);
		g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
		g_string_truncate(o->lines, 0);
		look(o);
		g_assert_cmpstr(o->lines->str, ==, expected);
	}
	g_assert_cmpuint(info->provider_slots, ==, 1);
	g_assert_cmpuint(entry_of(0)->generation, ==, ROUNDS);
	g_assert_cmpuint(entry_of(0)->state, ==, RS_PROVIDER_DEAD);
	late = observe(RS_TRACE_FROM_OLDEST);
	look(late);
	g_assert_cmpuint(late->records, ==, ROUNDS);
	g_assert_cmpuint(late->unknown, ==, 0);
	observer_free(late);
	observer_free(o);
	tear_down();
}

/* 10,000 different providers use the same few slots, ids and bytes: the rings overwrite pages. */
static void test_others(void)
{
	struct observer *o, *late;
	uint32_t highest = 0;

	set_up(4 * 4096);
	o = observe(RS_TRACE_FROM_START);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct made m;

		make(&m, "mod", i);
		g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
		highest = MAX(highest, m.event.id);
		for (uint32_t n = 0; n < 40; n++) {
			cpu = n & 1;
			emit(&m, n);
		}
		g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
		g_string_truncate(o->lines, 0);
		look(o);
		for (char *line = strtok(o->lines->str, "\n"); line; line = strtok(NULL, "\n")) {
			g_autofree char *start = g_strdup_printf("mod-%u I am %u: ", i, i);

			g_assert_true(g_str_has_prefix(line, start));
		}
		if (i % 500 == 0)
			rs_trace_schema_trim(o->schema, 100, G_MAXSIZE);
	}
	g_assert_cmpuint(o->records, ==, ROUNDS * 40);
	g_assert_cmpuint(o->lost + o->unknown, ==, 0);
	g_assert_cmpuint(info->provider_slots, <=, region->header.section[RS_SEC_PROVIDERS].count);
	g_assert_cmpuint(highest, <, RS_FIRST_EVENT_ID + 272);

	/* All records in the rings still have their descriptors. */
	late = observe(RS_TRACE_FROM_OLDEST);
	look(late);
	g_assert_cmpuint(late->records, >, 100);
	g_assert_cmpuint(late->unknown, ==, 0);
	for (char *line = strtok(late->lines->str, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned int system, text;

		g_assert_cmpint(sscanf(line, "mod-%u I am %u: ", &system, &text), ==, 2);
		g_assert_cmpuint(system, ==, text);
	}
	observer_free(late);
	observer_free(o);
	tear_down();
}

/* An event is on its way into the ring while its provider is taken out. */
static void test_in_between(void)
{
	struct observer *o;
	struct made m;
	uint32_t id;

	set_up(16 * 4096);
	make(&m, "mod", 1);
	o = observe(RS_TRACE_FROM_START);
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	emit(&m, 1);
	id = m.event.id;
	m.event.id = 0;
	emit(&m, 1);
	m.event.id = id;
	emit(&m, 1);
	look(o);
	g_assert_cmpuint(o->records, ==, 2);
	g_assert_cmpuint(o->lost, ==, 0);
	observer_free(o);
	tear_down();
}

/* As long as a page can name an id, no other provider gets it, so there is no room. */
static void test_no_room(void)
{
	uint32_t slots, n = 0;
	struct made m;

	set_up(4 * 4096);
	slots = region->header.section[RS_SEC_PROVIDERS].count;
	for (;; n++) {
		make(&m, "mod", n);
		if (rs_agent_register(&m.provider))
			break;
		emit(&m, n);
		g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	}
	g_assert_cmpint(rs_agent_register(&m.provider), ==, -RS_ENOSPC);
	g_assert_cmpuint(n, ==, slots);
	/* A provider that was there before still gets its place. */
	make(&m, "mod", 3);
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	g_assert_cmpuint(entry_of(3)->generation, ==, 2);
	/* Once the ring has overwritten the pages, any other does too. */
	for (uint32_t i = 0; i < 4096; i++)
		emit(&m, i);
	g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	make(&m, "mod", n);
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	tear_down();
}

/* Another event had the id before: the time of a record says which event it is. */
static void test_id_used_again(void)
{
	struct made a, b;
	struct observer *o;
	uint32_t id;

	set_up(4 * 4096);
	o = observe(RS_TRACE_FROM_START);
	make(&a, "first", 1);
	g_assert_cmpint(rs_agent_register(&a.provider), ==, 0);
	id = a.event.id;
	emit(&a, 1);
	look(o);
	for (uint32_t i = 0; i < 8192; i++)
		emit(&a, i);
	g_assert_cmpint(rs_agent_unregister(&a.provider), ==, 0);
	make(&b, "other", 2);
	g_assert_cmpint(rs_agent_register(&b.provider), ==, 0);
	g_assert_cmpuint(b.event.id, !=, id); /* pages with the old id are still there */
	for (uint32_t i = 0; i < 8192; i++)
		emit(&b, i);
	g_assert_cmpint(rs_agent_unregister(&b.provider), ==, 0);
	for (uint32_t n = 3; n < 3 + region->header.section[RS_SEC_PROVIDERS].count; n++) {
		make(&a, "more", n);
		g_assert_cmpint(rs_agent_register(&a.provider), ==, 0);
		if (a.event.id == id)
			break;
		g_assert_cmpint(rs_agent_unregister(&a.provider), ==, 0);
	}
	g_assert_cmpuint(a.event.id, ==, id);
	emit(&a, 77);
	g_string_truncate(o->lines, 0);
	follow(o);
	look(o);
	g_assert_true(g_str_has_suffix(o->lines->str, ": 77\n"));
	g_assert_null(strstr(o->lines->str, "first-1 I am 1: 77"));
	g_assert_nonnull(strstr(o->lines->str, "other-2 I am 2: 8191"));
	observer_free(o);
	tear_down();
}

/*
 * The counter goes back within a boot, as when a snapshot is restored. Each provider is found
 * again, and the one that is gone is forgotten once its pages are.
 */
static void test_counter_goes_back(void)
{
	struct rs_control *control;
	struct observer *o, *late;
	struct made a, b, c;
	uint32_t id, slot;

	set_up(4 * 4096);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	counter = 1000000;
	o = observe(RS_TRACE_FROM_START);
	make(&a, "first", 1);
	g_assert_cmpint(rs_agent_register(&a.provider), ==, 0);
	id = a.event.id;
	emit(&a, 1);
	make(&b, "second", 2);
	g_assert_cmpint(rs_agent_register(&b.provider), ==, 0);
	emit(&b, 2);
	slot = a.provider.id - 1;
	g_assert_cmpint(rs_agent_unregister(&a.provider), ==, 0);
	counter = 1000;
	rs_store(&control->clock_chain, 1);
	emit(&b, 3);
	make(&c, "third", 3);
	g_assert_cmpint(rs_agent_register(&c.provider), ==, 0);
	emit(&c, 4);
	g_assert_cmpint(rs_agent_unregister(&c.provider), ==, 0);
	emit(&b, 5);
	look(o);
	late = observe(RS_TRACE_FROM_OLDEST);
	look(late);
	g_assert_cmpstr(o->lines->str, ==,
			"first-1 I am 1: 1\nsecond-2 I am 2: 2\nsecond-2 I am 2: 3\n"
			"third-3 I am 3: 4\nsecond-2 I am 2: 5\n");
	g_assert_cmpstr(late->lines->str, ==, o->lines->str);
	observer_free(late);
	observer_free(o);
	/* The other ring has one page of the old chain, begun before the first provider died. */
	for (uint32_t i = 0; i < 4096; i++)
		emit(&b, i);
	for (uint32_t n = 4; entry_of(slot)->first_id == id && entry_of(slot)->generation == 1 &&
			     entry_of(slot)->name[0] == 'f';
	     n++) {
		g_assert_cmpuint(n, <, 1000);
		make(&c, "more", n);
		g_assert_cmpint(rs_agent_register(&c.provider), ==, 0);
		g_assert_cmpint(rs_agent_unregister(&c.provider), ==, 0);
	}
	tear_down();
}

/* Another boot with other events: the pages of the earlier boot keep their meaning. */
static void test_boots(void)
{
	struct made one, two;
	struct observer *o, *late;

	set_up(64 * 1024);
	o = observe(RS_TRACE_FROM_START);
	make(&one, "kernel", 1);
	g_assert_cmpint(rs_agent_register(&one.provider), ==, 0);
	emit(&one, 10);
	look(o);
	rs_agent_fini();
	boot();
	g_assert_cmpuint(info->boot, ==, 2);
	make(&two, "kernel", 2);
	g_assert_cmpint(rs_agent_register(&two.provider), ==, 0);
	emit(&two, 20);
	cpu = 1;
	emit(&two, 21);
	look(o);
	g_assert_cmpstr(o->lines->str, ==,
			"kernel-1 I am 1: 10\nboot 2\nkernel-2 I am 2: 20\nkernel-2 I am 2: 21\n");
	late = observe(RS_TRACE_FROM_OLDEST);
	look(late);
	g_assert_cmpstr(late->lines->str, ==, o->lines->str);
	observer_free(late);
	observer_free(o);
	tear_down();
}

/* The same kernel booted a thousand times takes no more room than once. */
static void test_many_boots(void)
{
	struct made m;
	uint32_t id = 0;

	set_up(64 * 1024);
	make(&m, "kernel", 1);
	for (uint32_t n = 1; n <= 1000; n++) {
		g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
		id = id ? id : m.event.id;
		g_assert_cmpuint(m.event.id, ==, id);
		g_assert_cmpuint(entry_of(0)->last_boot, ==, n);
		g_assert_cmpuint(info->boots[n % RS_BOOTS].boot, ==, n);
		rs_agent_fini();
		boot();
	}
	g_assert_cmpuint(entry_of(0)->first_boot, ==, 1);
	g_assert_cmpuint(info->provider_slots, ==, 1);
	tear_down();
}

/* The agent does not trust the table of an earlier boot, which may have died while it wrote. */
static void test_broken_table(void)
{
	struct rs_provider *entries;
	struct made m[4];

	set_up(64 * 1024);
	entries = rs_trace_region_section(region, RS_SEC_PROVIDERS, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		make(&m[i], "p", i);
		g_assert_cmpint(rs_agent_register(&m[i].provider), ==, 0);
	}
	rs_agent_fini();
	entries[0].sequence |= 1;
	entries[1].desc_offset = UINT64_MAX - 7;
	entries[2].first_id = 65535;
	entries[3].state = 77;
	info->provider_slots = UINT32_MAX;
	boot();
	g_assert_cmpuint(info->provider_slots, ==, region->header.section[RS_SEC_PROVIDERS].count);
	for (uint32_t i = 0; i < 4; i++) {
		g_assert_cmpuint(entries[i].state, ==, RS_PROVIDER_FREE);
		g_assert_cmpuint(entries[i].sequence % 2, ==, 0);
	}
	g_assert_cmpint(rs_agent_register(&m[0].provider), ==, 0);
	g_assert_cmpuint(m[0].event.id, ==, RS_FIRST_EVENT_ID);
	tear_down();
}

/* What an entry may say at most, or at least, and one more or less. */
static void test_table_limits(void)
{
	const uint32_t end = MIN(region->header.event_capacity, RS_FIRST_HOST_EVENT_ID);
	const uint64_t room = region->header.section[RS_SEC_EVENTS].size;
	const struct {
		uint32_t state, first_id, count;
		uint64_t offset, size;
		uint32_t after;
	} cases[] = {
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, 0, 8, RS_PROVIDER_DEAD},
		{RS_PROVIDER_DEAD, RS_FIRST_EVENT_ID, 1, 0, 8, RS_PROVIDER_DEAD},
		{RS_PROVIDER_DEAD + 1, RS_FIRST_EVENT_ID, 1, 0, 8, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID - 1, 1, 0, 8, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, end - RS_FIRST_EVENT_ID, 0, 8,
		 RS_PROVIDER_DEAD},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, end - RS_FIRST_EVENT_ID + 1, 0, 8,
		 RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, end - 1, 1, 0, 8, RS_PROVIDER_DEAD},
		{RS_PROVIDER_LIVE, end - 1, 2, 0, 8, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, end, 0, 0, 8, RS_PROVIDER_DEAD},
		{RS_PROVIDER_LIVE, end + 1, 0, 0, 8, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, 0, room, RS_PROVIDER_DEAD},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, 0, room + 1, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, 8, room - 8, RS_PROVIDER_DEAD},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, 8, room - 7, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, room, 0, RS_PROVIDER_DEAD},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, room + 8, 0, RS_PROVIDER_FREE},
		{RS_PROVIDER_LIVE, RS_FIRST_EVENT_ID, 1, 4, 8, RS_PROVIDER_FREE},
	};
	struct rs_provider *entries = rs_trace_region_section(region, RS_SEC_PROVIDERS, NULL);

	g_assert_cmpuint(G_N_ELEMENTS(cases), <=, region->header.section[RS_SEC_PROVIDERS].count);
	rs_agent_fini();
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		entries[i] = (struct rs_provider){.sequence = 2,
						  .state = cases[i].state,
						  .first_id = (uint16_t)cases[i].first_id,
						  .event_count = cases[i].count,
						  .desc_offset = cases[i].offset,
						  .desc_size = cases[i].size};
	info->provider_slots = G_N_ELEMENTS(cases);
	boot();
	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%u", i);
		g_assert_cmpuint(entries[i].state, ==, cases[i].after);
	}
}

/* The ids end where the control words do, or where the host's own begin. */
static void test_limits(void)
{
	static const uint32_t capacities[] = {RS_FIRST_EVENT_ID + 100, 0};

	for (uint32_t i = 0; i < G_N_ELEMENTS(capacities); i++) {
		set_up(64 * 1024);
		if (capacities[i]) {
			rs_agent_fini();
			((struct rs_region_header *)region->map)->event_capacity = capacities[i];
			region->header.event_capacity = capacities[i];
			boot();
		}
		test_table_limits();
		tear_down();
	}
}

/* An agent that has lost its region to another one leaves without a write. */
static void test_another_agent_has_the_region(void)
{
	struct made m;
	uint32_t changes;

	set_up(4 << 20);
	make(&m, "mod", 7);
	g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
	changes = entry_of(0)->sequence;
	info->boot++;
	g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
	g_assert_cmpuint(entry_of(0)->state, ==, RS_PROVIDER_LIVE);
	g_assert_cmpuint(entry_of(0)->sequence, ==, changes);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/lives/same-again", test_same_again);
	g_test_add_func("/agent/lives/others", test_others);
	g_test_add_func("/agent/lives/in-between", test_in_between);
	g_test_add_func("/agent/lives/no-room", test_no_room);
	g_test_add_func("/agent/lives/id-used-again", test_id_used_again);
	g_test_add_func("/agent/lives/counter-goes-back", test_counter_goes_back);
	g_test_add_func("/agent/lives/boots", test_boots);
	g_test_add_func("/agent/lives/many-boots", test_many_boots);
	g_test_add_func("/agent/lives/broken-table", test_broken_table);
	g_test_add_func("/agent/lives/table-limits", test_limits);
	g_test_add_func("/agent/lives/another", test_another_agent_has_the_region);
	return g_test_run();
}
