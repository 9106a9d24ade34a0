/* SPDX-License-Identifier: MIT */
/*
 * Where a new provider's entry, ids and descriptors go, and when those of a dead one are free: at
 * each limit. docs/adr/0006-lives.md has the rules.
 */
#include "core.h"
#include "region/regions.h"

#include <glib.h>
#include <string.h>

#define DIED 1000u /* when the first provider did */
#define CHAIN 3u
#define PAGES 4u

static RsTraceRegion *region;
static struct rs_control *control;
static uint64_t clock_now;

static uint64_t test_time(void)
{
	return clock_now;
}

static const struct rs_trace_ops ops = {.time_now = test_time};
static const struct rs_event_info what = {
	.system = "test", .name = "event", .print = "", .print_args = ""};

/* A provider of at most so many events, which are all alike. */
struct made {
	char name[RS_NAME_MAX];
	struct rs_event events[8];
	struct rs_agent_provider provider;
};

static struct made *make(struct made *m, const char *name, uint32_t events)
{
	memset(m, 0, sizeof(*m));
	g_strlcpy(m->name, name, sizeof(m->name));
	for (uint32_t i = 0; i < events; i++)
		m->events[i].info = &what;
	m->provider = (struct rs_agent_provider){
		.name = m->name, .events = m->events, .events_end = m->events + events};
	return m;
}

static struct rs_provider *entry_of(uint32_t slot)
{
	return rs_trace_region_element(region, RS_SEC_PROVIDERS, slot);
}

static struct rs_ring_state *state_of(uint32_t ring)
{
	return rs_trace_region_element(region, RS_SEC_RING_STATE, ring);
}

static struct rs_ring_page *page_of(uint32_t ring, uint64_t page)
{
	return rs_trace_region_element(region, RS_SEC_RINGS,
				       (uint32_t)(ring * PAGES + page % PAGES));
}

static void boot(void)
{
	struct rs_agent_config config = {
		.region = region->map, .region_size = region->size, .ops = &ops, .cpu_count = 2};

	g_assert_cmpint(rs_agent_init(&config), ==, 0);
}

/* Room for so many events in so many slots, and for the descriptors of `described`. */
static void begin(uint32_t mode, uint32_t slots, uint32_t events, uint32_t described)
{
	struct rs_region_config config = {
		.vcpus = 2, .ring_bytes = PAGES * 4096, .ring_page_size = 4096, .ring_mode = mode};
	struct rs_region_header *header;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	header = (struct rs_region_header *)region->map;
	g_assert_cmpuint(header->ring_pages, ==, PAGES);
	header->event_capacity = RS_FIRST_EVENT_ID + events;
	header->section[RS_SEC_PROVIDERS].count = slots;
	header->section[RS_SEC_EVENTS].size = described * (uint64_t)rs_describe_size(&what);
	header->section[RS_SEC_EVENTS].count = 0;
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	control->clock_chain = CHAIN;
	clock_now = DIED;
	boot();
}

static void end(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

/* ---- how long a dead one is remembered ---- */

static struct made first, second;

/* One id: the second provider gets it once the first one is forgotten. */
static void begin_dead(uint32_t mode)
{
	begin(mode, 4, 1, 4);
	g_assert_cmpint(rs_agent_register(&make(&first, "first", 1)->provider), ==, 0);
	clock_now = DIED;
	g_assert_cmpint(rs_agent_unregister(&first.provider), ==, 0);
	g_assert_cmpuint(entry_of(0)->until, ==, DIED);
	g_assert_cmpuint(entry_of(0)->until_chain, ==, CHAIN);
	g_assert_cmpuint(entry_of(0)->last_boot, ==, 1);
}

static bool forgotten(void)
{
	int err = rs_agent_register(&make(&second, "second", 1)->provider);
	bool free_now = err == 0;

	g_assert_cmpint(err, ==, free_now ? 0 : -RS_ENOSPC);
	g_assert_cmpuint(second.events[0].id, ==, free_now ? RS_FIRST_EVENT_ID : 0);
	g_assert_cmpuint(second.provider.id, ==, free_now ? 1 : 0);
	g_assert_cmpuint(entry_of(0)->state, ==, free_now ? RS_PROVIDER_LIVE : RS_PROVIDER_DEAD);
	g_assert_cmpstr(entry_of(0)->name, ==, free_now ? "second" : "first");
	end();
	return free_now;
}

/* The ring has `pages`, all of the time at which the provider died. */
static void fill(uint32_t ring, uint64_t pages)
{
	state_of(ring)->pages = pages;
	for (uint64_t page = pages > PAGES ? pages - PAGES : 0; page < pages; page++)
		*page_of(ring, page) = (struct rs_ring_page){
			.seq = page, .boot = 1, .chain = CHAIN, .ts = DIED, .ring = ring};
}

static void test_times(void)
{
	static const struct {
		uint32_t boot, chain;
		uint64_t ts;
		bool knows_end, forgets;
	} cases[] = {
		{1, CHAIN, DIED, true, false},
		{1, CHAIN, DIED + 1, true, true},
		{1, CHAIN, DIED - 1, true, false},
		{1, CHAIN + 1, 0, true, true},
		{1, CHAIN - 1, UINT64_MAX, true, false},
		{2, 0, 0, true, true},
		{0, CHAIN + 1, UINT64_MAX, true, false},
		/* It died with its boot, and nobody knows when. */
		{1, CHAIN, UINT64_MAX, false, false},
		{1, CHAIN + 1, UINT64_MAX, false, false},
		{2, 0, 0, false, true},
		{0, CHAIN + 1, UINT64_MAX, false, false},
	};

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_ring_page *page;

		g_test_message("%u", i);
		begin_dead(RS_MODE_OVERWRITE);
		fill(0, 1);
		page = page_of(0, 0);
		page->boot = cases[i].boot;
		page->chain = cases[i].chain;
		page->ts = cases[i].ts;
		if (!cases[i].knows_end)
			entry_of(0)->until = 0;
		g_assert_true(forgotten() == cases[i].forgets);
	}
}

/* The oldest page that is there decides, in every ring. */
static void test_rings(void)
{
	begin_dead(RS_MODE_OVERWRITE);
	g_assert_true(forgotten());
	for (uint64_t pages = 1; pages <= 2 * PAGES + 1; pages++) {
		uint64_t oldest = pages > PAGES ? pages - PAGES : 0;

		for (uint32_t ring = 0; ring < 2; ring++) {
			begin_dead(RS_MODE_OVERWRITE);
			fill(ring, pages);
			g_assert_false(forgotten());
			begin_dead(RS_MODE_OVERWRITE);
			fill(ring, pages);
			page_of(ring, oldest)->ts++;
			g_assert_true(forgotten());
			begin_dead(RS_MODE_OVERWRITE);
			fill(0, pages);
			fill(1, pages);
			page_of(ring, oldest)->ts++;
			g_assert_false(forgotten());
		}
		/* It was passed over, so the next one decides. */
		begin_dead(RS_MODE_OVERWRITE);
		fill(0, pages);
		page_of(0, oldest)->seq = oldest + PAGES;
		page_of(0, oldest)->ts = 0;
		if (pages > 1)
			page_of(0, oldest + 1)->ts++;
		g_assert_true(forgotten());
		begin_dead(RS_MODE_OVERWRITE);
		fill(0, pages);
		page_of(0, oldest)->seq = oldest + PAGES;
		page_of(0, oldest)->ts++;
		g_assert_true(forgotten() == (pages == 1));
	}
}

/* What the consumer has copied is not asked, but for the page that is being filled. */
static void test_consumed(void)
{
	static const struct {
		uint64_t pages, consumed;
		uint64_t decides;
	} cases[] = {{3, 0, 0}, {3, 1, 1}, {3, 2, 2}, {3, 3, 2},          {3, 4, 2},
		     {9, 4, 5}, {9, 5, 5}, {9, 6, 6}, {3, UINT64_MAX, 2}, {1, 1, 0}};

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		for (uint32_t mode = RS_MODE_OVERWRITE; mode <= RS_MODE_DROP; mode++) {
			uint64_t oldest = cases[i].pages > PAGES ? cases[i].pages - PAGES : 0;
			uint64_t decides = mode == RS_MODE_DROP ? cases[i].decides : oldest;

			for (uint32_t late = 0; late < 2; late++) {
				struct rs_ring_ctl *ctl;

				g_test_message("%u: mode %u, late %u", i, mode, late);
				begin_dead(mode);
				ctl = rs_trace_region_section(region, RS_SEC_RING_CTL, NULL);
				ctl->consumed = cases[i].consumed;
				fill(0, cases[i].pages);
				for (uint64_t page = oldest; page < cases[i].pages; page++)
					page_of(0, page)->ts =
						(page == decides) == late ? DIED + 1 : DIED;
				g_assert_true(forgotten() == late);
			}
		}
	}
	/* An empty ring has no page that is being filled. */
	begin_dead(RS_MODE_DROP);
	((struct rs_ring_ctl *)rs_trace_region_section(region, RS_SEC_RING_CTL, NULL))->consumed =
		5;
	g_assert_true(forgotten());
}

/* ---- finding room ---- */

/* Where the provider came to, in units of an event: its descriptors are as many. */
static void assert_place(const struct made *m, uint32_t slot, uint32_t first_event,
			 uint32_t first_described)
{
	const struct rs_provider *entry = entry_of(slot);

	g_assert_cmpuint(m->provider.id, ==, slot + 1);
	g_assert_cmpuint(entry->first_id, ==, RS_FIRST_EVENT_ID + first_event);
	g_assert_cmpuint(entry->event_count, ==, m->provider.events_end - m->provider.events);
	g_assert_cmpuint(entry->desc_offset, ==,
			 first_described * (uint32_t)rs_describe_size(&what));
	g_assert_cmpuint(entry->desc_size, ==,
			 entry->event_count * (uint32_t)rs_describe_size(&what));
	for (uint32_t i = 0; i < entry->event_count; i++)
		g_assert_cmpuint(m->events[i].id, ==, entry->first_id + i);
}

/* The first hole that is large enough. */
static void test_holes(void)
{
	struct made a, b, c, d, e;

	begin(RS_MODE_OVERWRITE, 4, 7, 7);
	fill(0, 1); /* nobody is forgotten */
	g_assert_cmpint(rs_agent_register(&make(&a, "a", 2)->provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&make(&b, "b", 3)->provider), ==, 0);
	assert_place(&a, 0, 0, 0);
	assert_place(&b, 1, 2, 2);
	g_assert_cmpint(rs_agent_register(&make(&c, "c", 3)->provider), ==, -RS_ENOSPC);
	g_assert_cmpint(rs_agent_register(&make(&c, "c", 2)->provider), ==, 0);
	assert_place(&c, 2, 5, 5);
	g_assert_cmpint(rs_agent_register(&make(&d, "d", 1)->provider), ==, -RS_ENOSPC);
	g_assert_cmpuint(rs_core.info->provider_slots, ==, 3);
	/* One without events needs only a slot. */
	g_assert_cmpint(rs_agent_register(&make(&d, "d", 0)->provider), ==, 0);
	g_assert_cmpuint(d.provider.id, ==, 4);
	g_assert_cmpint(rs_agent_register(&make(&e, "e", 0)->provider), ==, -RS_ENOSPC);
	g_assert_cmpuint(rs_core.info->provider_slots, ==, 4);

	/* A dead one keeps its place until it is forgotten. */
	g_assert_cmpint(rs_agent_unregister(&b.provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&make(&e, "e", 1)->provider), ==, -RS_ENOSPC);
	page_of(0, 0)->ts = DIED + 1;
	g_assert_cmpint(rs_agent_register(&make(&e, "e", 4)->provider), ==, -RS_ENOSPC);
	g_assert_cmpuint(entry_of(1)->state, ==, RS_PROVIDER_FREE);
	g_assert_cmpint(rs_agent_register(&make(&e, "e", 3)->provider), ==, 0);
	assert_place(&e, 1, 2, 2);
	g_assert_cmpuint(entry_of(1)->generation, ==, 1);
	g_assert_cmpstr(entry_of(1)->name, ==, "e");
	end();
}

/* The ids have a hole where the descriptors have none, and the other way round. */
static void test_uneven(void)
{
	struct made a, b;

	begin(RS_MODE_OVERWRITE, 4, 4, 2);
	g_assert_cmpint(rs_agent_register(&make(&a, "a", 3)->provider), ==, -RS_ENOSPC);
	g_assert_cmpint(rs_agent_register(&make(&a, "a", 2)->provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&make(&b, "b", 1)->provider), ==, -RS_ENOSPC);
	end();
	begin(RS_MODE_OVERWRITE, 4, 2, 4);
	g_assert_cmpint(rs_agent_register(&make(&a, "a", 3)->provider), ==, -RS_ENOSPC);
	g_assert_cmpint(rs_agent_register(&make(&a, "a", 2)->provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&make(&b, "b", 1)->provider), ==, -RS_ENOSPC);
	end();
}

/* An entry stands in the middle: what comes before it and behind it is used. */
static void test_middle(void)
{
	static const struct {
		uint32_t events, first_event;
	} cases[] = {{1, 0}, {2, 0}, {3, 4}, {4, 4}};
	const uint32_t size = (uint32_t)rs_describe_size(&what);

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct made m;

		begin(RS_MODE_OVERWRITE, 4, 8, 8);
		*entry_of(1) = (struct rs_provider){.sequence = 2,
						    .state = RS_PROVIDER_LIVE,
						    .first_id = RS_FIRST_EVENT_ID + 2,
						    .event_count = 2,
						    .desc_offset = 2 * size,
						    .desc_size = 2 * size};
		rs_core.info->provider_slots = 2;
		g_assert_cmpint(rs_agent_register(&make(&m, "m", cases[i].events)->provider), ==,
				0);
		assert_place(&m, 0, cases[i].first_event, cases[i].first_event);
		g_assert_cmpuint(rs_core.info->provider_slots, ==, 2);
		end();
	}
}

/* ---- coming back ---- */

/* Only one of the same name and the same events gets the place that it had. */
static void test_former(void)
{
	char name[RS_NAME_MAX], other[RS_NAME_MAX];
	struct made a, b[4];

	memset(name, 'x', sizeof(name) - 1); /* no name is longer */
	name[sizeof(name) - 1] = 0;
	memcpy(other, name, sizeof(name));
	other[strlen(other) - 1] = 'y';
	begin(RS_MODE_OVERWRITE, 8, 16, 16);
	fill(0, 1);
	g_assert_cmpint(rs_agent_register(&make(&a, name, 2)->provider), ==, 0);
	g_assert_cmpint(rs_agent_unregister(&a.provider), ==, 0);
	g_assert_cmpint(rs_agent_register(&make(&b[0], other, 2)->provider), ==, 0);
	assert_place(&b[0], 1, 2, 2);
	other[strlen(other) - 1] = 0;
	g_assert_cmpint(rs_agent_register(&make(&b[1], other, 2)->provider), ==, 0);
	assert_place(&b[1], 2, 4, 4);
	g_assert_cmpint(rs_agent_register(&make(&b[2], name, 1)->provider), ==, 0);
	assert_place(&b[2], 3, 6, 6);
	clock_now = DIED + 5;
	g_assert_cmpint(rs_agent_register(&a.provider), ==, 0);
	assert_place(&a, 0, 0, 0);
	g_assert_cmpuint(entry_of(0)->generation, ==, 2);
	g_assert_cmpuint(entry_of(0)->since, ==, DIED);
	g_assert_cmpuint(entry_of(0)->until, ==, 0);
	g_assert_cmpuint(entry_of(0)->until_chain, ==, 0);
	/* It lives, so its twin gets another place. */
	g_assert_cmpint(rs_agent_register(&make(&b[3], name, 2)->provider), ==, 0);
	assert_place(&b[3], 4, 7, 7);
	end();
}

/* ---- what an entry says ---- */

static void test_entry(void)
{
	static const uint8_t build_id[40] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
					     12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
					     23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33};
	static const uint32_t sizes[] = {0, 1, 31, 32, 33};
	static const uint8_t zeros[sizeof(entry_of(0)->build_id)];
	const struct rs_provider *entry;
	struct made m;

	for (uint32_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		uint32_t kept = MIN(sizes[i], sizeof(entry->build_id));

		begin(RS_MODE_OVERWRITE, 2, 4, 4);
		memset((uint8_t *)entry_of(0) + 4, 0xee,
		       sizeof(*entry) - 4); /* of an earlier boot */
		make(&m, "m", 2);
		m.provider.build_id = build_id;
		m.provider.build_id_size = sizes[i];
		m.provider.page_table_root = 0x5000;
		m.provider.image = build_id;
		m.provider.image_end = build_id + 5;
		g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
		entry = entry_of(0);
		g_assert_cmpuint(entry->sequence, ==, 2);
		g_assert_cmpuint(rs_core.info->provider_changes, ==, 1);
		g_assert_cmpuint(entry->state, ==, RS_PROVIDER_LIVE);
		g_assert_cmpuint(entry->generation, ==, 1);
		g_assert_cmpuint(entry->first_boot, ==, 1);
		g_assert_cmpuint(entry->last_boot, ==, 1);
		g_assert_cmpuint(entry->since, ==, DIED);
		g_assert_cmpuint(entry->since_chain, ==, CHAIN);
		g_assert_cmpuint(entry->until, ==, 0);
		g_assert_cmpuint(entry->until_chain, ==, 0);
		g_assert_cmpuint(entry->page_table_root, ==, 0x5000);
		g_assert_cmpuint(entry->image_start, ==, (uintptr_t)build_id);
		g_assert_cmpuint(entry->image_end, ==, (uintptr_t)build_id + 5);
		g_assert_cmpuint(entry->site_count, ==, 0);
		g_assert_cmpuint(entry->site_stride, ==, sizeof(struct rs_site));
		g_assert_cmpuint(entry->build_id_size, ==, kept);
		g_assert_cmpmem(entry->build_id, kept, build_id, kept);
		g_assert_cmpmem(entry->build_id + kept, sizeof(entry->build_id) - kept, zeros,
				sizeof(entry->build_id) - kept);

		/* Comes back from an image that does not say. */
		g_assert_cmpint(rs_agent_unregister(&m.provider), ==, 0);
		g_assert_cmpuint(entry->sequence, ==, 4);
		g_assert_cmpuint(rs_core.info->provider_changes, ==, 2);
		g_assert_null(m.events[0].provider);
		m.provider.build_id = NULL;
		g_assert_cmpint(rs_agent_register(&m.provider), ==, 0);
		g_assert_true(m.events[1].provider == &m.provider);
		g_assert_cmpuint(entry->generation, ==, 2);
		g_assert_cmpuint(entry->build_id_size, ==, 0);
		g_assert_cmpmem(entry->build_id, sizeof(zeros), zeros, sizeof(zeros));
		end();
	}
}

/* A slot that was never used stays so, whatever stands there. */
static void test_unused(void)
{
	begin(RS_MODE_OVERWRITE, 2, 4, 4);
	memset((uint8_t *)entry_of(0) + 4, 0xee, sizeof(*entry_of(0)) - 4);
	rs_core.info->provider_slots = 1;
	rs_agent_fini();
	boot();
	g_assert_cmpuint(entry_of(0)->sequence, ==, 0);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/places/times", test_times);
	g_test_add_func("/agent/places/rings", test_rings);
	g_test_add_func("/agent/places/consumed", test_consumed);
	g_test_add_func("/agent/places/holes", test_holes);
	g_test_add_func("/agent/places/uneven", test_uneven);
	g_test_add_func("/agent/places/middle", test_middle);
	g_test_add_func("/agent/places/former", test_former);
	g_test_add_func("/agent/places/entry", test_entry);
	g_test_add_func("/agent/places/unused", test_unused);
	return g_test_run();
}
