/* SPDX-License-Identifier: MIT */
/*
 * The request slots of a region, on the host's side. All requests are taken out of the region here,
 * and all answers are published here, whether a port or a mailbox brought the request, and whether
 * the answer is early or late.
 *
 * The host owes an answer to each request that it took. A ticket names the request: the slot, the
 * sequence and the boot of the guest. Each slot has at most one such request, so a guest can make
 * the host hold only as many as it has slots. An answer is published only while the guest still
 * waits for the ticket's request. A ticket expires if the guest boots again or puts another request
 * into the slot. Its answer is then dropped and counted.
 *
 * Caller: the session, on its thread. Trust: the guest may write requests at any time, and in QEMU
 * also responses. The host keeps its own record of requests and tickets. The guest's writes can
 * make a ticket expire, but cannot make one valid.
 */
#ifndef RS_HV_SESSION_SLOTS_H
#define RS_HV_SESSION_SLOTS_H

#include "target/target.h"
#include <ringside/hypercall.h>
#include <rs-trace-region.h>

struct rs_slots;

/* Names a request to which the host owes an answer. May be copied freely. */
struct rs_ticket {
	uint32_t slot;
	uint32_t sequence;
	uint32_t boot;
};

/* The region outlives it. All requests are new, except those that the region shows as answered. */
struct rs_slots *rs_slots_create(const RsTraceRegion *region);
void rs_slots_destroy(struct rs_slots *slots);

uint32_t rs_slots_count(const struct rs_slots *slots);

/* Whether `slot` (any number) holds a request that was not taken yet. */
bool rs_slots_fresh(const struct rs_slots *slots, uint32_t slot);

/*
 * Copies the request in `slot` once. It is owed an answer from now on; what the slot's former
 * request was owed has expired. -ENOENT: there is no such slot; -EAGAIN: nothing new lies in it;
 * -EMSGSIZE: its data_size is too large, and it has been answered so. On failure *request is
 * undefined.
 */
int rs_slots_take(struct rs_slots *slots, uint32_t slot, struct rs_hcall_request *request,
		  struct rs_ticket *ticket);

/* Tells the guest that the answer will come, however late. -ESTALE: the ticket has expired. */
int rs_slots_accept(struct rs_slots *slots, const struct rs_ticket *ticket);

/* Publishes the answer. -ESTALE: the ticket has expired, or was answered already. */
int rs_slots_answer(struct rs_slots *slots, const struct rs_ticket *ticket,
		    const struct rs_hcall_response *response);

/* Answers all taken requests with -RS_EACCES. Returns their number. */
uint32_t rs_slots_refuse_all(struct rs_slots *slots, const char *why);

/* Answers that were dropped because their ticket had expired. */
uint64_t rs_slots_dropped(const struct rs_slots *slots);

/* Sets result and text of an answer. Cuts a text that is too long. */
void rs_response_set(struct rs_hcall_response *response, int32_t result, const char *text);

/* EXIT or PANIC: true, and *end says how the guest ends. An exit code above 255 is no EXIT. */
bool rs_request_ends(const struct rs_hcall_request *request, struct rs_target_end *end);

#endif
