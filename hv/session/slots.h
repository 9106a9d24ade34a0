/* SPDX-License-Identifier: MIT */
/*
 * The request slots of a region, as the host uses them: every request is taken out of the region
 * here, and every answer is published here, however the guest rang and however late it is answered.
 *
 * A request that was taken is owed an answer. Its ticket names it: the slot, the sequence and the
 * boot of the guest. There is one such request for each slot at most, so a guest can make the host
 * hold no more than it has slots. An answer is published only while the ticket's request is the one
 * that the guest still waits for. A ticket whose guest has started anew, or has put another request
 * into the slot, has expired: its answer is dropped and counted.
 *
 * Caller: the session, on its thread. Trust: the guest may write requests at any time, and in QEMU
 * responses, too. What was taken and what is owed is kept here; a word of the guest can void a
 * ticket, and cannot make one valid.
 */
#ifndef RS_HV_SESSION_SLOTS_H
#define RS_HV_SESSION_SLOTS_H

#include "target/target.h"
#include <ringside/hypercall.h>
#include <rs-trace-region.h>

struct rs_slots;

/* Names a request that is owed an answer. To be copied freely. */
struct rs_ticket {
	uint32_t slot;
	uint32_t sequence;
	uint32_t boot;
};

/* The region outlives it. What the region shows as answered is not taken again; all else is new. */
struct rs_slots *rs_slots_create(const RsTraceRegion *region);
void rs_slots_destroy(struct rs_slots *slots);

uint32_t rs_slots_count(const struct rs_slots *slots);

/* Whether a request lies in `slot` (any number) that was not taken yet. */
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

/* Answers all that is owed with RS_ERR_REFUSED. Returns how many there were. */
uint32_t rs_slots_refuse_all(struct rs_slots *slots, const char *why);

/* Answers that were dropped because their ticket had expired. */
uint64_t rs_slots_dropped(const struct rs_slots *slots);

/* Sets result and text of an answer; the text is cut where it has to be. */
void rs_response_set(struct rs_hcall_response *response, int32_t result, const char *text);

/* EXIT or PANIC: true, and *end says how the guest ends. An exit code above 255 is no EXIT. */
bool rs_request_ends(const struct rs_hcall_request *request, struct rs_target_end *end);

#endif
