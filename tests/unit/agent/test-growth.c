/* SPDX-License-Identifier: MIT */
/*
 * The agent on a region that a later host laid out: every struct is longer than the agent knows it,
 * and the header and its section table lie apart. The host reads what the agent wrote, and finds
 * that no byte was written which only the host knows. There may also be more of everything.
 */
#define _GNU_SOURCE
#include "region/regions.h"
#include "session/slots.h"

#include <glib.h>
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <rs-trace-cmdline.h>
#include <rs-trace-page.h>
#include <rs-trace-ring.h>
#include <string.h>

#define LATER 0xa5 /* in bytes that the agent does not know */
#define TABLE 4096u

struct fixture {
	RsTraceRegion *region;
	struct rs_region_header now; /* as it was laid out */
};

static uint32_t cpu;
static uint64_t ticks = 1000;

static uint32_t op_cpu(void)
{
	return cpu;
}
static uint64_t op_time(void)
{
	return ticks += 10;
}
static const struct rs_trace_ops ops = {.cpu_id = op_cpu, .time_now = op_time};

/* Which structs are longer, by how much, and with how many elements they still fit. */
static const struct {
	uint8_t number;
	uint32_t more, count;
} grown[] = {
	{RS_SEC_CONTROL, 64, 1},      {RS_SEC_RING_CTL, 8, 2},    {RS_SEC_RESPONSE, 24, 8},
	{RS_SEC_CLOCK, 8, 100},       {RS_SEC_GUEST_INFO, 40, 1}, {RS_SEC_PROVIDERS, 56, 64},
	{RS_SEC_CMDLINE, 8 * 24, 64}, {RS_SEC_REQUEST, 16, 8},    {RS_SEC_RING_STATE, 72, 2},
};

/* Elements of the entries of a bucket lie in a row, so what is later lies behind each. */
static void fill(uint8_t *at, uint32_t known, uint32_t more)
{
	memset(at + known, LATER, more);
}

static void for_later(const struct fixture *f, void (*each)(uint8_t *, uint32_t, uint32_t))
{
	for (uint32_t i = 0; i < G_N_ELEMENTS(grown); i++) {
		const struct rs_section *s = &f->region->header.section[grown[i].number];
		uint32_t parts = grown[i].number == RS_SEC_CMDLINE ? RS_CMDLINE_WAYS : 1;

		for (uint32_t k = 0; k < grown[i].count * parts; k++)
			each(f->region->map + s->offset + (uint64_t)k * (s->stride / parts),
			     (s->stride - grown[i].more) / parts, grown[i].more / parts);
	}
}

static void check_later(uint8_t *at, uint32_t known, uint32_t more)
{
	for (uint32_t i = 0; i < more; i++)
		g_assert_cmphex(at[known + i], ==, LATER);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_region_config config = {
		.vcpus = 2, .ring_bytes = 1 << 20, .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_region_header *h;
	struct rs_error err = {0};
	uint64_t at = 0;

	g_assert_cmpint(rs_region_create(&config, &f->region, &err), ==, 0);
	h = &f->region->header;
	/* Smaller rings leave room for larger elements. */
	h->ring_pages = 16;
	h->section[RS_SEC_RINGS].count = 2 * 16;
	f->now = *h;
	h->abi_minor++;
	h->header_size += 48;
	h->section_offset = TABLE;
	h->section_stride += 16;
	h->section_count += 6;
	for (uint32_t i = 0; i < G_N_ELEMENTS(grown); i++) {
		h->section[grown[i].number].stride += grown[i].more;
		h->section[grown[i].number].count = grown[i].count;
	}
	for (uint32_t i = 0; i < RS_SEC_COUNT; i++) {
		struct rs_section *s = &h->section[i];

		if (i == RS_SEC_FIRST_GUEST)
			h->guest_offset = at;
		if (!s->size)
			continue;
		s->offset = at;
		s->size = RS_ALIGN_UP((uint64_t)s->count * s->stride, (uint64_t)RS_REGION_ALIGN);
		at += s->size;
	}
	g_assert_cmpuint(at, <=, h->region_size);
	memset(f->region->map, LATER, TABLE + h->section_count * h->section_stride);
	memcpy(f->region->map, h, RS_REGION_HEADER_MIN_SIZE);
	for (uint32_t i = 0; i < RS_SEC_COUNT; i++)
		memcpy(f->region->map + TABLE + i * h->section_stride, &h->section[i],
		       sizeof(h->section[i]));
	for_later(f, fill);
	cpu = 0;
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	for_later(f, check_later);
	rs_agent_fini();
	for_later(f, check_later);
	rs_trace_region_free(f->region);
}

static void attach(const struct fixture *f)
{
	const struct rs_agent_config config = {.region = f->region->map,
					       .region_size = f->region->size,
					       .ops = &ops,
					       .agent = "growth",
					       .name = "a guest",
					       .cpu_count = 2};

	g_assert_cmpint(rs_agent_init(&config), ==, 0);
}

static void test_info(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info info;

	attach(f);
	rs_agent_fini();
	attach(f);
	g_assert_true(rs_trace_region_guest_info(f->region, &info, NULL));
	g_assert_cmpuint(info.boot, ==, 2);
	g_assert_cmpstr(info.name, ==, "a guest");
	g_assert_cmpuint(info.boots[1].boot, ==, 1);
}

static struct rs_event_info what[2] = {
	{.system = "one", .name = "a", .print = "", .print_args = "", .entry_size = 8},
	{.system = "two", .name = "b", .print = "", .print_args = "", .entry_size = 8},
};
static struct rs_event event[2] = {{.info = &what[0]}, {.info = &what[1]}};
static struct rs_agent_provider provider[2] = {
	{.name = "one", .events = &event[0], .events_end = &event[1]},
	{.name = "two", .events = &event[1], .events_end = &event[2]},
};

static uint64_t read_payload(const struct fixture *f, uint32_t ring, uint32_t id)
{
	RsTraceRingConfig config = {.ring = ring};
	RsTraceRing *reader = rs_trace_ring_new(f->region, &config, NULL);
	RsTracePageWalk walk;
	RsTracePageItem item;
	RsTraceChunk chunk;
	uint64_t value = 0;

	g_assert_cmpint(rs_trace_ring_next(reader, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(rs_trace_page_count(chunk.page, chunk.from, chunk.to, NULL), ==, 1);
	rs_trace_page_begin(&walk, chunk.page);
	do
		item = rs_trace_page_next(&walk, chunk.page, chunk.to);
	while (item == RS_TRACE_PAGE_MARK);
	g_assert_cmpint(item, ==, RS_TRACE_PAGE_RECORD);
	g_assert_cmpuint(walk.id, ==, id);
	memcpy(&value, chunk.page + walk.payload, sizeof(value));
	rs_trace_ring_free(reader);
	return value;
}

static void test_events(struct fixture *f, gconstpointer data)
{
	uint32_t *words = rs_trace_region_section(f->region, RS_SEC_EVENT_CTL, NULL);

	attach(f);
	for (uint32_t i = 0; i < 2; i++)
		g_assert_cmpint(rs_agent_register(&provider[i]), ==, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct rs_provider entry;
		uint64_t value = 0x1234 + i;

		g_assert_true(rs_trace_region_provider(f->region, i, &entry));
		g_assert_cmpstr(entry.name, ==, provider[i].name);
		g_assert_cmpuint(entry.state, ==, RS_PROVIDER_LIVE);
		cpu = i;
		words[event[i].id] = RS_EVENT_ENABLED;
		rs_emit_8(&event[i], &value, 8);
		g_assert_cmphex(read_payload(f, i, event[i].id), ==, value);
	}
	g_assert_cmpint(rs_agent_unregister(&provider[0]), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider[0]), ==, 0);
}

static void test_names(struct fixture *f, gconstpointer data)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	size_t size;
	const uint8_t *section = rs_trace_region_section(f->region, RS_SEC_CMDLINE, &size);
	uint32_t stride = f->region->header.section[RS_SEC_CMDLINE].stride;

	attach(f);
	for (uint32_t pid = 1; pid <= 300; pid++) {
		g_autofree char *name = g_strdup_printf("task-%u", pid);

		rs_agent_cmdline(pid, pid + 1, name);
	}
	rs_trace_cmdline_merge(names, section, NULL, size, stride / RS_CMDLINE_WAYS);
	for (uint32_t pid = 200; pid <= 300; pid++) {
		g_autofree char *name = g_strdup_printf("task-%u", pid);
		RsTraceTask task;

		rs_trace_cmdline_lookup(names, pid, (RsTraceMoment){1, UINT32_MAX, UINT64_MAX},
					&task);
		g_assert_cmpstr(task.comm, ==, name);
		g_assert_cmpuint(task.tgid, ==, pid + 1);
	}
}

static void test_requests(struct fixture *f, gconstpointer data)
{
	struct rs_slots *slots = rs_slots_create(f->region);
	struct rs_hcall_response response = {.values = {0, 77}};

	attach(f);
	g_assert_cmpuint(rs_slots_count(slots), ==, 8);
	/* In the last slot, so all lie where the header says. */
	for (cpu = 0; cpu < 8; cpu++) {
		uint64_t args[6] = {cpu, 5};
		struct rs_hcall_ticket ticket;
		struct rs_ticket theirs;
		struct rs_hcall_request request;
		struct rs_hcall_reply reply;
		int32_t result;

		g_assert_cmpint(rs_hypercall_begin(&ticket, 100, args, "text", 4), ==, 0);
		g_assert_cmpint(rs_slots_take(slots, cpu, &request, &theirs), ==, 0);
		g_assert_cmpuint(request.args[0], ==, cpu);
		g_assert_cmpmem(request.data, 4, "text", 4);
		g_assert_cmpint(rs_slots_answer(slots, &theirs, &response), ==, 0);
		g_assert_true(rs_hypercall_poll(&ticket, &result, &reply));
		g_assert_cmpuint(reply.values[1], ==, 77);
	}
	cpu = 0;
	rs_slots_destroy(slots);
}

/* More rings and ids than this version lays out. The host part grows with them. */
static uint64_t lay_out_many(struct rs_region_header *h)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 4 * RS_RING_PAGE_MIN};
	uint64_t at = 0;

	g_assert_cmpint(rs_region_lay_out(&config, h, NULL), ==, 0);
	h->ring_count = 3 * RS_MAX_CPUS;
	h->event_capacity = 2 * RS_MAX_EVENTS;
	h->section[RS_SEC_EVENT_CTL].count = h->event_capacity;
	h->section[RS_SEC_RING_CTL].count = h->ring_count;
	h->section[RS_SEC_RING_STATE].count = h->ring_count;
	h->section[RS_SEC_RINGS].count = h->ring_count * h->ring_pages;
	for (uint32_t i = 0; i < RS_SEC_COUNT; i++) {
		struct rs_section *s = &h->section[i];

		if (i == RS_SEC_FIRST_GUEST)
			h->guest_offset = at = RS_ALIGN_UP(at, (uint64_t)RS_REGION_ALIGN);
		if (!s->size)
			continue;
		s->offset = at;
		s->size = RS_ALIGN_UP((uint64_t)s->count * s->stride, (uint64_t)RS_SECTION_ALIGN);
		at += s->size;
	}
	h->region_size = at;
	return at;
}

static void test_counts(void)
{
	struct rs_agent_config config = {.ops = &ops, .agent = "growth", .cpu_count = 1};
	struct rs_region_header h;
	uint64_t size = lay_out_many(&h), value = 0x123456789abcdef0;
	g_autofree uint8_t *map = g_malloc0(size);
	const uint8_t *page;

	config.region = map;
	config.region_size = size;
	rs_region_write(map, &h, 0);
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider[0]), ==, 0);
	((uint32_t *)(map + h.section[RS_SEC_EVENT_CTL].offset))[event[0].id] = RS_EVENT_ENABLED;
	cpu = h.ring_count - 1;
	rs_emit_8(&event[0], &value, 8);
	page = map + h.section[RS_SEC_RINGS].offset +
	       (uint64_t)cpu * h.ring_pages * h.ring_page_size;
	g_assert_nonnull(memmem(page, h.ring_page_size, &value, sizeof(value)));
	cpu = 0;
	rs_agent_fini();
}

#define ADD(path, test)                                                                            \
	g_test_add("/agent/growth/" path, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("info", test_info);
	ADD("events", test_events);
	ADD("names", test_names);
	ADD("requests", test_requests);
	g_test_add_func("/agent/growth/counts", test_counts);
	return g_test_run();
}
