/* SPDX-License-Identifier: MIT */
/*
 * Requests of the guest, by port or MMIO. The request is copied once out of the region; only the copy is
 * judged. The session answers on its own thread, while this vCPU waits outside the guest.
 */
#include "vmm/internal.h"

#include <errno.h>
#include <string.h>

static bool section_ok(const struct rs_vmm *vmm, const struct rs_section *s)
{
	return s->offset % RS_PAGE_SIZE == 0 && s->offset <= vmm->region_size &&
	       s->size <= vmm->region_size - s->offset && s->stride == RS_PAGE_SIZE && s->count &&
	       (uint64_t)s->count * s->stride <= s->size;
}

/* The region was laid out by the session, but a mistake there must not let us write outside it. */
int rs_vmm_find_slots(struct rs_vmm *vmm, struct rs_error *err)
{
	struct rs_region_header head;

	if (!vmm->region)
		return 0;
	memcpy(&head, vmm->region, sizeof(head));
	if (head.magic != RS_REGION_MAGIC || head.abi_major != RS_ABI_MAJOR)
		return rs_error_set(err, EPROTO, "the region was not laid out before the start");
	if (head.guest_offset != vmm->guest_offset ||
	    !section_ok(vmm, &head.section[RS_SEC_REQUEST]) ||
	    !section_ok(vmm, &head.section[RS_SEC_RESPONSE]))
		return rs_error_set(err, EPROTO, "the region's header contradicts its size");
	vmm->request_offset = head.section[RS_SEC_REQUEST].offset;
	vmm->response_offset = head.section[RS_SEC_RESPONSE].offset;
	vmm->slots = MIN(head.section[RS_SEC_REQUEST].count, head.section[RS_SEC_RESPONSE].count);
	return 0;
}

/* 0, or why the request is bad. */
static int32_t judge(const struct rs_hcall_request *request)
{
	if (request->data_size > RS_HCALL_DATA)
		return RS_ERR_TOO_LARGE;
	if (request->number < RS_HCALL_HELLO || request->number > RS_HCALL_EXIT)
		return RS_ERR_BAD_NUMBER;
	if (request->number == RS_HCALL_EXIT && request->args[0] > 255)
		return RS_ERR_BAD_ARGUMENT;
	return 0;
}

static void refuse(struct rs_hcall_response *response, int32_t why)
{
	response->result = why;
	g_strlcpy((char *)response->data,
		  why == RS_ERR_TOO_LARGE    ? "too much data"
		  : why == RS_ERR_BAD_NUMBER ? "no such request"
					     : "exit code above 255",
		  RS_HCALL_DATA);
	response->data_size = (uint32_t)strlen((char *)response->data) + 1;
}

static void publish(struct rs_vmm *vmm, uint32_t slot, uint32_t sequence,
		    struct rs_hcall_response *from)
{
	struct rs_hcall_response *to =
		(void *)(vmm->region + vmm->response_offset + (uint64_t)slot * RS_PAGE_SIZE);
	size_t skip = sizeof(from->sequence);

	if (from->data_size > RS_HCALL_DATA)
		from->data_size = RS_HCALL_DATA;
	memset(from->reserved, 0, sizeof(from->reserved));
	memcpy((uint8_t *)to + skip, (uint8_t *)from + skip, sizeof(*to) - skip);
	/* Pairs with the agent's acquire load of `sequence` once its store has come back. */
	rs_store_release(&to->sequence, sequence);
}

/* Hands the request over and waits outside the guest. False: the end came first. */
static bool ask_session(struct rs_vcpu *vcpu, uint32_t slot)
{
	struct rs_vmm *vmm = vcpu->vmm;
	bool answered;

	pthread_mutex_lock(&vmm->lock);
	vcpu->call_slot = slot;
	vcpu->call_pending = true;
	rs_vmm_wake(vmm);
	while (vcpu->call_pending && !vmm->ending)
		pthread_cond_wait(&vmm->go, &vmm->lock);
	answered = !vcpu->call_pending;
	pthread_mutex_unlock(&vmm->lock);
	return answered;
}

void rs_vmm_hypercall(struct rs_vcpu *vcpu, uint32_t slot)
{
	struct rs_vmm *vmm = vcpu->vmm;
	struct rs_hcall_request *request = &vcpu->request;
	int32_t why;

	rs_shared_add64(&vmm->hypercalls, 1);
	if (slot >= vmm->slots) {
		rs_shared_add64(&vmm->bad_hypercalls, 1);
		return;
	}
	memcpy(request, vmm->region + vmm->request_offset + (uint64_t)slot * RS_PAGE_SIZE,
	       sizeof(*request));
	memset(&vcpu->response, 0, sizeof(vcpu->response));
	why = judge(request);
	if (why) {
		refuse(&vcpu->response, why);
	} else if (request->number == RS_HCALL_PANIC) {
		rs_vmm_end(vmm, RS_END_PANIC, 0, "%.*s", (int)request->data_size,
			   (const char *)request->data);
		return;
	} else if (request->number == RS_HCALL_EXIT) {
		rs_vmm_end(vmm, RS_END_EXIT, (int)request->args[0], "%s", "");
		return;
	} else if (!ask_session(vcpu, slot)) {
		return;
	}
	why = vcpu->response.result;
	if (why == RS_ERR_BAD_NUMBER || why == RS_ERR_BAD_ARGUMENT || why == RS_ERR_TOO_LARGE)
		rs_shared_add64(&vmm->bad_hypercalls, 1);
	publish(vmm, slot, request->sequence, &vcpu->response);
}
