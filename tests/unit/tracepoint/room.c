/* SPDX-License-Identifier: MIT */
#include "room.h"

#include "region/regions.h"
#include <ringside/atomic.h>
#include <string.h>

struct rs_hcall_request room_request;
struct rs_hcall_response room_response;
uint32_t room_asked;

static RsTraceRegion *region;

static bool is_asked(uint32_t number)
{
	return number != RS_HCALL_HELLO && number != RS_HCALL_REGISTER &&
	       number != RS_HCALL_UNREGISTER;
}

static void op_ring(uint32_t slot)
{
	const struct rs_hcall_request *request =
		rs_trace_region_element(region, RS_SEC_REQUEST, slot);
	struct rs_hcall_response *response = rs_trace_region_element(region, RS_SEC_RESPONSE, slot);

	*response = (struct rs_hcall_response){0};
	if (is_asked(request->number)) {
		room_request = *request;
		room_asked++;
		*response = room_response;
	}
	response->sequence = request->sequence;
}

void room_begin(void)
{
	static const struct rs_trace_ops ops = {.hypercall_ring = op_ring};
	struct rs_region_config layout = {
		.vcpus = 1, .ring_bytes = 64 * 1024, .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_agent_config config = {.ops = &ops, .cpu_count = 1};

	room_asked = 0;
	room_response = (struct rs_hcall_response){0};
	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_hello(), ==, 0);
}

void room_end(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

uint32_t *room_word(uint32_t id)
{
	return rs_trace_region_element(region, RS_SEC_EVENT_CTL, id);
}

struct room_provider *room_load(const char *name, const char *const *events)
{
	struct room_provider *p = g_aligned_alloc0(1, sizeof(*p), 64);
	uint32_t n = 0;

	for (; events[n]; n++) {
		char **parts = g_strsplit(events[n], ":", 2);

		g_assert_cmpuint(n, <, ROOM_EVENTS);
		p->info[n] = (struct rs_event_info){
			.system = parts[0], .name = parts[1], .print = "nothing", .print_args = ""};
		p->events[n].info = &p->info[n];
		g_free(parts); /* but not what is in it */
	}
	p->provider = (struct rs_agent_provider){
		.name = name, .events = p->events, .events_end = p->events + n};
	g_assert_cmpint(rs_agent_register(&p->provider), ==, 0);
	return p;
}

void room_unload(struct room_provider *p)
{
	rs_agent_unregister(&p->provider);
	for (uint32_t i = 0; i < ROOM_EVENTS; i++) {
		g_free((char *)p->info[i].system);
		g_free((char *)p->info[i].name);
	}
	g_aligned_free(p);
}
