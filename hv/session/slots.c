/* SPDX-License-Identifier: MIT */
#include "session/slots.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <string.h>

struct slot {
	uint32_t sequence; /* of the request that was taken last */
	uint32_t boot;     /* of the guest, then */
	bool owed;
};

struct rs_slots {
	const RsTraceRegion *region;
	const struct rs_guest_info *info; /* shared */
	struct slot *slot;
	uint32_t count;
	uint64_t dropped;
};

static struct rs_hcall_request *request_in(const struct rs_slots *slots, uint32_t slot)
{
	return rs_trace_region_element(slots->region, RS_SEC_REQUEST, slot);
}

static struct rs_hcall_response *response_in(const struct rs_slots *slots, uint32_t slot)
{
	return rs_trace_region_element(slots->region, RS_SEC_RESPONSE, slot);
}

struct rs_slots *rs_slots_create(const RsTraceRegion *region)
{
	const struct rs_section *sections = region->header.section;
	struct rs_slots *slots = g_new0(struct rs_slots, 1);

	slots->region = region;
	slots->info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	slots->count = MIN(sections[RS_SEC_REQUEST].count, sections[RS_SEC_RESPONSE].count);
	slots->slot = g_new0(struct slot, slots->count);
	for (uint32_t i = 0; i < slots->count; i++)
		slots->slot[i].sequence = rs_load(&response_in(slots, i)->sequence);
	return slots;
}

void rs_slots_destroy(struct rs_slots *slots)
{
	if (!slots)
		return;
	g_free(slots->slot);
	g_free(slots);
}

uint32_t rs_slots_count(const struct rs_slots *slots)
{
	return slots->count;
}

uint64_t rs_slots_dropped(const struct rs_slots *slots)
{
	return slots->dropped;
}

bool rs_slots_fresh(const struct rs_slots *slots, uint32_t slot)
{
	/* Pairs with the agent's release store: the request is complete. */
	return slot < slots->count &&
	       rs_load_acquire(&request_in(slots, slot)->sequence) != slots->slot[slot].sequence;
}

int rs_slots_take(struct rs_slots *slots, uint32_t slot, struct rs_hcall_request *request,
		  struct rs_ticket *ticket)
{
	struct rs_hcall_request *shared;
	struct slot *own;

	if (slot >= slots->count)
		return -ENOENT;
	shared = request_in(slots, slot);
	own = &slots->slot[slot];
	/* Pairs with the agent's release store: the request is complete. */
	ticket->sequence = rs_load_acquire(&shared->sequence);
	if (ticket->sequence == own->sequence)
		return -EAGAIN;
	ticket->slot = slot;
	ticket->boot = rs_load(&slots->info->boot);
	*own = (struct slot){.sequence = ticket->sequence, .boot = ticket->boot, .owed = true};
	rs_trace_region_take(slots->region, RS_SEC_REQUEST, slot, request, sizeof(*request));
	if (request->data_size > RS_HCALL_DATA) {
		struct rs_hcall_response response = {0};

		rs_response_set(&response, -RS_E2BIG, "too much data");
		rs_slots_answer(slots, ticket, &response);
		return -EMSGSIZE;
	}
	return 0;
}

/* Checks that the request is ours to answer, and that the guest still waits for it. */
static int redeem(struct rs_slots *slots, const struct rs_ticket *ticket)
{
	struct slot *own = ticket->slot < slots->count ? &slots->slot[ticket->slot] : NULL;

	if (!own || !own->owed || own->sequence != ticket->sequence || own->boot != ticket->boot)
		return -ESTALE;
	if (rs_load(&slots->info->boot) == ticket->boot &&
	    rs_load(&request_in(slots, ticket->slot)->sequence) == ticket->sequence)
		return 0;
	own->owed = false;
	return -ESTALE;
}

int rs_slots_accept(struct rs_slots *slots, const struct rs_ticket *ticket)
{
	if (redeem(slots, ticket))
		return -ESTALE;
	/* Pairs with the agent's acquire load while it waits. */
	rs_store_release(&response_in(slots, ticket->slot)->accepted, ticket->sequence);
	return 0;
}

/* Leaves `accepted`: the guest does not choose the sequence that is there. */
static void publish(struct rs_hcall_response *shared, uint32_t sequence,
		    const struct rs_hcall_response *response)
{
	shared->result = response->result;
	memcpy(shared->values, response->values, sizeof(shared->values));
	shared->data_size = MIN(response->data_size, RS_HCALL_DATA);
	memcpy(shared->data, response->data, sizeof(shared->data));
	/* Pairs with the agent's acquire load while it waits. */
	rs_store_release(&shared->sequence, sequence);
}

int rs_slots_answer(struct rs_slots *slots, const struct rs_ticket *ticket,
		    const struct rs_hcall_response *response)
{
	if (redeem(slots, ticket)) {
		slots->dropped++;
		return -ESTALE;
	}
	slots->slot[ticket->slot].owed = false;
	publish(response_in(slots, ticket->slot), ticket->sequence, response);
	return 0;
}

uint32_t rs_slots_refuse_all(struct rs_slots *slots, const char *why)
{
	struct rs_hcall_response response = {0};
	uint32_t refused = 0;

	rs_response_set(&response, -RS_EACCES, why);
	for (uint32_t i = 0; i < slots->count; i++) {
		const struct slot *own = &slots->slot[i];
		struct rs_ticket ticket = {i, own->sequence, own->boot};

		if (own->owed && !rs_slots_answer(slots, &ticket, &response))
			refused++;
	}
	return refused;
}

void rs_response_set(struct rs_hcall_response *response, int32_t result, const char *text)
{
	size_t size = MIN(strlen(text), RS_HCALL_DATA - 1);

	response->result = result;
	memcpy(response->data, text, size);
	response->data[size] = 0;
	response->data_size = (uint32_t)size;
}

bool rs_request_ends(const struct rs_hcall_request *request, struct rs_target_end *end)
{
	*end = (struct rs_target_end){.reason = RS_END_EXIT};
	if (request->number == RS_HCALL_EXIT && request->args[0] <= 255) {
		end->code = (int)request->args[0];
		return true;
	}
	if (request->number != RS_HCALL_PANIC)
		return false;
	end->reason = RS_END_PANIC;
	memcpy(end->text, request->data, MIN(request->data_size, sizeof(end->text) - 1));
	return true;
}
