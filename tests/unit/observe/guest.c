/* SPDX-License-Identifier: MIT */
#include "guest.h"

#include <string.h>

uint64_t ticks;

uint64_t tick(void)
{
	return ticks += 1000;
}

gpointer element(Guest *g, guint section, guint index)
{
	return rs_trace_region_element(g->region, section, index);
}

struct rs_guest_info *info_of(Guest *g)
{
	return element(g, RS_SEC_GUEST_INFO, 0);
}

void begin_epoch(Guest *g, guint index, guint64 shift)
{
	struct rs_control *control = element(g, RS_SEC_CONTROL, 0);
	struct rs_clock_epoch *epoch = element(g, RS_SEC_CLOCK, index);

	*epoch = (struct rs_clock_epoch){.index = index,
					 .chain = index,
					 .tsc_base = ticks,
					 .ns_base = ticks + shift,
					 .mult = 1};
	rs_store_release(&control->epoch_count, index + 1);
	rs_store(&control->clock_chain, index);
}

void begin_boot(Guest *g, guint boot, const char *event)
{
	guint8 *descs = rs_trace_region_section(g->region, RS_SEC_EVENTS, NULL);
	struct rs_provider *to = element(g, RS_SEC_PROVIDERS, boot - 1), entry;
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	TestDesc *desc = test_desc_new(TEST_SWITCH, "sink", event);
	struct rs_guest_info *info = info_of(g);

	test_desc_int(desc, "n", RS_KIND_UINT, 8);
	test_desc_end(desc, NULL, NULL, bytes);
	test_provider(&entry, boot - 1, bytes);
	entry.first_boot = entry.last_boot = boot;
	entry.since_chain = boot - 1;
	entry.desc_offset = (boot - 1) * PAGE;
	memcpy(descs + entry.desc_offset, bytes->data, bytes->len);
	*to = entry;
	info->boots[boot] = (struct rs_boot){.boot = boot, .chain = boot - 1, .ts = tick()};
	info->boot = boot;
	info->provider_slots = boot;
	rs_shared_add32(&info->provider_changes, 1);
	g->rings.boot = boot;
	for (guint i = 0; i < RINGS; i++) {
		struct rs_ring ring = rs_ring_at(&g->rings, i);

		rs_ring_resume(&ring);
	}
}

void set_name(Guest *g, guint boot, const char *comm)
{
	guint buckets = g->region->header.section[RS_SEC_CMDLINE].count;
	struct rs_cmdline_entry task = test_task(PID, ticks, comm);

	task.boot = boot;
	task.chain = boot - 1;
	test_cmdline_put(rs_trace_region_section(g->region, RS_SEC_CMDLINE, NULL), buckets, task);
	rs_shared_add32(&info_of(g)->cmdline_changes, 1);
}

void open_guest(Guest *g, const char *name)
{
	struct rs_region_config config = {.vcpus = RINGS, .ring_bytes = PAGES * PAGE};
	struct rs_control *control;
	struct rs_guest_info *info;

	*g = (Guest){.name = name};
	g_assert_cmpint(rs_region_create(&config, &g->region, NULL), ==, 0);
	control = element(g, RS_SEC_CONTROL, 0);
	g->rings = (struct rs_rings){
		.states = element(g, RS_SEC_RING_STATE, 0),
		.state_stride = sizeof(struct rs_ring_state),
		.ctls = element(g, RS_SEC_RING_CTL, 0),
		.ctl_stride = sizeof(struct rs_ring_ctl),
		.pages = rs_trace_region_section(g->region, RS_SEC_RINGS, NULL),
		.chain = &control->clock_chain,
		.lost_nested = &g->lost_nested,
		.mode = &((struct rs_region_header *)(void *)g->region->map)->ring_mode,
	};
	rs_rings_init(&g->rings, &g->region->header);
	info = info_of(g);
	*info = (struct rs_guest_info){.abi_major = RS_ABI_MAJOR,
				       .arch = RS_ARCH_X86_64,
				       .session_id = g->region->header.session_id,
				       .cpu_count = RINGS};
	begin_epoch(g, 0, 0);
	begin_boot(g, 1, "first");
	set_name(g, 1, name);
	rs_store_release(&info->magic, RS_GUEST_MAGIC);
}

void emit(Guest *g, guint index, guint n)
{
	struct rs_ring ring = rs_ring_at(&g->rings, index);
	uint64_t payload[PAYLOAD / 8 + 1] = {0};
	struct rs_ring_record record = {.id = TEST_SWITCH,
					.size = PAYLOAD,
					.entry_size = PAYLOAD,
					.entry = payload,
					.context = rs_context_mark(PID, 0)};

	while (n--) {
		payload[0] = g->emitted++;
		g_assert_cmpint(rs_ring_emit(&ring, RS_NESTED, &record, tick, tick), >=, 0);
	}
}

uint8_t *next_place(Guest *g, guint index)
{
	struct rs_ring ring = rs_ring_at(&g->rings, index);
	uint64_t word = rs_load(&ring.state->word);
	guint at = rs_word_offset(word) * RS_RING_UNIT;
	guint64 page = rs_word_page(word);

	/* A full page: the record will be the first of the next one. */
	if (at == PAGE) {
		page++;
		at = RS_RING_PAGE_HEADER;
	}
	return (uint8_t *)rs_ring_page(&ring, rs_ring_shape(ring.state), page) + at;
}
