/* SPDX-License-Identifier: MIT */
/* Requests to the host, which are rare: see ringside/hypercall.h. */
#include "core.h"

#include "arch.h"
#include "rs_port.h"

#define RS_PATIENCE_MS 5000u
#define RS_PATIENCE_HZ 2000000000ull /* of a clock whose rate is unknown */

/* One bit a slot: a request is under way in it. */
#define RS_HCALL_SLOTS_MAX 1024u
static uint64_t slots_busy[RS_HCALL_SLOTS_MAX / 64];
static uint32_t unanswered; /* the last request that was waited for */

static uint32_t slot_count(void)
{
	uint32_t count = rs_core.header.section[RS_SEC_REQUEST].count;

	return count < RS_HCALL_SLOTS_MAX ? count : RS_HCALL_SLOTS_MAX;
}

/*
 * A free slot, this vCPU's if possible; -1: none. `force`: a dying guest takes this vCPU's anyway.
 */
static int take_slot(bool force)
{
	uint32_t count = slot_count(), first = rs_core_cpu() % count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = (first + i) % count;
		uint64_t bit = 1ull << (slot % 64);

		if (!(__atomic_fetch_or(&slots_busy[slot / 64], bit, __ATOMIC_ACQUIRE) & bit))
			return (int)slot;
	}
	return force ? (int)first : -1;
}

static void give_slot(int slot)
{
	__atomic_fetch_and(&slots_busy[slot / 64], ~(1ull << (slot % 64)), __ATOMIC_RELEASE);
}

/* False: there is no way to reach the host. */
static bool ring_host(uint32_t slot)
{
	if (rs_core.ops.hypercall_ring) {
		rs_core.ops.hypercall_ring(slot);
		return true;
	}
	switch (rs_core.header.hcall_channel) {
	case RS_CHANNEL_MAILBOX:
		return true;
	case RS_CHANNEL_PORT:
		rs_arch_port_write((uint16_t)rs_core.header.hcall_addr, slot);
		return true;
	case RS_CHANNEL_MMIO:
		if (!rs_core.config.hcall_mmio)
			return false;
		*rs_core.config.hcall_mmio = slot;
		return true;
	}
	return false;
}

static const struct rs_hcall_response *response_of(int slot)
{
	return rs_core_element(RS_SEC_RESPONSE, (uint32_t)slot);
}

/* Acquire: pairs with the host's release of the sequence. */
static bool answered(int slot, uint32_t sequence)
{
	return rs_load_acquire(&response_of(slot)->sequence) == sequence;
}

/* Acquire: pairs with the host's release of `accepted`. An ended session does not answer. */
static bool coming(int slot, uint32_t sequence)
{
	return rs_load_acquire(&response_of(slot)->accepted) == sequence &&
	       !(rs_load(&rs_core.control->flags) & RS_CONTROL_STOP) &&
	       !rs_load(&rs_core.host_gone);
}

/* `nudge` was read before the wait's last look, so that what came after it ends this rest. */
static void rest(bool late, uint32_t nudge)
{
	rs_agent_look();
	if (late && rs_core.ops.wait_nudge)
		rs_core.ops.wait_nudge(&rs_core.control->nudge, nudge,
				       rs_load(&rs_core.control->flags) & RS_CONTROL_NUDGES);
	else
		rs_core_relax();
}

/* In the clock's units. */
static uint64_t patience(void)
{
	uint64_t hz = rs_core.config.tsc_hz ? rs_core.config.tsc_hz : RS_PATIENCE_HZ;
	uint32_t ms = rs_core.config.patience_ms;

	if (ms == RS_NO_PATIENCE || (ms && rs_load(&unanswered)))
		return 0;
	return hz * (ms ? ms : RS_PATIENCE_MS) / 1000; /* no overflow: 2^32 ms at 4 GHz */
}

/*
 * Most requests are answered when the store to the port comes back. A host that says that it will
 * answer later is waited for without end, another one for some seconds.
 */
static bool wait_answer(int slot, uint32_t sequence)
{
	uint64_t start = rs_core_time(), most = patience();

	for (;;) {
		/* Acquire: pairs with the host's release, which follows the answer. */
		uint32_t nudge = rs_load_acquire(&rs_core.control->nudge);
		bool late;

		if (answered(slot, sequence))
			return true;
		late = coming(slot, sequence);
		if (rs_load(&rs_core.host_gone))
			return false;
		if (!late && rs_core_time() - start > most)
			return false;
		rest(late, nudge);
	}
}

/*
 * Another one than the slot's last, and none that the host may still have a word on: an earlier
 * boot may have left an answer, or the promise of one.
 */
static uint32_t next_sequence(int slot, uint32_t last)
{
	const struct rs_hcall_response *response = response_of(slot);

	do
		last++;
	while (last == rs_load(&response->sequence) || last == rs_load(&response->accepted));
	return last;
}

/* Copies `room` bytes of data at most; returns how many. */
static uint32_t take_data(const struct rs_hcall_response *response, uint64_t values[6], void *data,
			  uint32_t room)
{
	uint32_t size = rs_load(&response->data_size);

	for (uint32_t i = 0; i < 6; i++)
		values[i] = rs_load(&response->values[i]);
	if (size > RS_HCALL_DATA)
		size = RS_HCALL_DATA;
	if (size > room)
		size = room;
	for (uint32_t i = 0; i < size; i++)
		((uint8_t *)data)[i] = rs_load(&response->data[i]);
	return size;
}

static void take_reply(const struct rs_hcall_response *response, struct rs_hcall_reply *reply)
{
	reply->text_size = take_data(response, reply->values, reply->text, sizeof(reply->text) - 1);
	reply->text[reply->text_size] = 0;
}

static bool no_host(void)
{
	return !rs_agent_active() || rs_core.header.hcall_channel == RS_CHANNEL_NONE ||
	       rs_load(&rs_core.host_gone);
}

/* Writes and rings. The slot, or -RS_E*. */
static int send(uint32_t number, const uint64_t *args, const void *data, uint32_t size,
		uint32_t *sequence)
{
	bool dying = number == RS_HCALL_PANIC || number == RS_HCALL_EXIT;
	struct rs_hcall_request *request;
	int slot;

	if (no_host())
		return -RS_EHOSTUNREACH;
	if (size > RS_HCALL_DATA)
		return -RS_E2BIG;
	slot = take_slot(dying);
	if (slot < 0)
		return -RS_EHOSTUNREACH;
	request = rs_core_element(RS_SEC_REQUEST, (uint32_t)slot);
	*sequence = next_sequence(slot, rs_load(&request->sequence));
	rs_store(&request->number, number);
	for (uint32_t i = 0; i < 6; i++)
		rs_store(&request->args[i], args ? args[i] : 0);
	rs_store(&request->pid, rs_core_pid());
	rs_store(&request->data_size, size);
	for (uint32_t i = 0; i < size; i++)
		rs_store(&request->data[i], ((const uint8_t *)data)[i]);
	/* Release: pairs with the host's acquire of the sequence. */
	rs_store_release(&request->sequence, *sequence);
	if (!ring_host((uint32_t)slot)) {
		give_slot(slot);
		return -RS_EHOSTUNREACH;
	}
	return slot;
}

/* The answer is there. */
static int32_t finish(int slot, struct rs_hcall_reply *reply)
{
	int32_t result = rs_load(&response_of(slot)->result);

	if (reply)
		take_reply(response_of(slot), reply);
	give_slot(slot);
	return result;
}

int32_t rs_hypercall(uint32_t number, const uint64_t *args, const void *data, uint32_t size,
		     struct rs_hcall_reply *reply)
{
	uint32_t sequence;
	int slot = send(number, args, data, size, &sequence);

	if (reply)
		__builtin_memset(reply, 0, sizeof(*reply));
	if (slot < 0)
		return slot;
	if (!wait_answer(slot, sequence)) {
		rs_store(&unanswered, 1);
		give_slot(slot);
		return -RS_EHOSTUNREACH;
	}
	rs_store(&unanswered, 0);
	return finish(slot, reply);
}

int32_t rs_hypercall_begin(struct rs_hcall_ticket *ticket, uint32_t number, const uint64_t *args,
			   const void *data, uint32_t size)
{
	uint32_t sequence;
	int slot = send(number, args, data, size, &sequence);

	if (slot < 0)
		return slot;
	ticket->slot = slot;
	ticket->sequence = sequence;
	return 0;
}

bool rs_hypercall_poll(const struct rs_hcall_ticket *ticket, int32_t *result,
		       struct rs_hcall_reply *reply)
{
	if (!answered(ticket->slot, ticket->sequence))
		return false;
	*result = finish(ticket->slot, reply);
	return true;
}

bool rs_hypercall_poll_data(const struct rs_hcall_ticket *ticket, int32_t *result,
			    uint64_t values[6], void *data, uint32_t *size)
{
	if (!answered(ticket->slot, ticket->sequence))
		return false;
	*size = take_data(response_of(ticket->slot), values, data, *size);
	*result = finish(ticket->slot, NULL);
	return true;
}

int32_t rs_hypercall_hopeless(void)
{
	if (no_host())
		return -RS_EHOSTUNREACH;
	return rs_load(&rs_core.control->flags) & RS_CONTROL_STOP ? -RS_EACCES : 0;
}

bool rs_hypercall_lost(const struct rs_hcall_ticket *ticket)
{
	if (rs_agent_active() &&
	    (answered(ticket->slot, ticket->sequence) || !rs_hypercall_hopeless()))
		return false;
	give_slot(ticket->slot);
	return true;
}

bool rs_hypercall_taken(const struct rs_hcall_ticket *ticket)
{
	const struct rs_hcall_response *response = response_of(ticket->slot);

	return rs_load_acquire(&response->accepted) == ticket->sequence ||
	       answered(ticket->slot, ticket->sequence);
}

void rs_hypercall_drop(const struct rs_hcall_ticket *ticket)
{
	give_slot(ticket->slot);
}

void rs_hypercall_rest(uint32_t nudge)
{
	rest(true, nudge);
}

static uint32_t text_size(const char *text)
{
	uint32_t n = 0;

	while (text && n < RS_HCALL_DATA && text[n])
		n++;
	return n;
}

int32_t rs_agent_enable(const char *glob, struct rs_hcall_reply *reply)
{
	return rs_hypercall(RS_HCALL_ENABLE, NULL, glob, text_size(glob), reply);
}

int32_t rs_agent_disable(const char *glob, struct rs_hcall_reply *reply)
{
	return rs_hypercall(RS_HCALL_DISABLE, NULL, glob, text_size(glob), reply);
}

int32_t rs_agent_set_filter(const char *glob_and_expression, struct rs_hcall_reply *reply)
{
	return rs_hypercall(RS_HCALL_SET_FILTER, NULL, glob_and_expression,
			    text_size(glob_and_expression), reply);
}

int32_t rs_agent_query(uint32_t event_id, struct rs_hcall_reply *reply)
{
	uint64_t args[6] = {event_id};

	return rs_hypercall(RS_HCALL_QUERY, args, NULL, 0, reply);
}

int32_t rs_agent_log(const char *line)
{
	return rs_hypercall(RS_HCALL_LOG, NULL, line, text_size(line), NULL);
}

int32_t rs_agent_wait_control(uint32_t *generation)
{
	uint64_t args[6] = {*generation};
	struct rs_hcall_reply reply;
	int32_t result = rs_hypercall(RS_HCALL_WAIT, args, NULL, 0, &reply);

	if (result >= 0)
		*generation = (uint32_t)reply.values[0];
	return result;
}

static bool mark_panic(void)
{
	if (!rs_agent_active())
		return false;
	rs_store_release(&rs_core.info->state, RS_GUEST_PANICKED);
	return true;
}

static bool mark_exit(uint32_t code)
{
	if (!rs_agent_active())
		return false;
	rs_store(&rs_core.info->exit_code, code & 0xff);
	rs_store_release(&rs_core.info->state, RS_GUEST_EXITED);
	return true;
}

void rs_agent_panic(const char *why)
{
	if (mark_panic())
		rs_hypercall(RS_HCALL_PANIC, NULL, why, text_size(why), NULL);
}

void rs_agent_exit(uint32_t code)
{
	uint64_t args[6] = {code & 0xff};

	if (mark_exit(code))
		rs_hypercall(RS_HCALL_EXIT, args, NULL, 0, NULL);
}

void rs_agent_note_panic(const char *why)
{
	struct rs_hcall_ticket ticket;

	if (mark_panic())
		rs_hypercall_begin(&ticket, RS_HCALL_PANIC, NULL, why, text_size(why));
}

void rs_agent_note_exit(uint32_t code)
{
	uint64_t args[6] = {code & 0xff};
	struct rs_hcall_ticket ticket;

	if (mark_exit(code))
		rs_hypercall_begin(&ticket, RS_HCALL_EXIT, args, NULL, 0);
}
