/* SPDX-License-Identifier: MIT */
/*
 * Requests of the guest, by port or MMIO. The session takes the request out of the region on its
 * own thread, while this vCPU waits outside the guest.
 */
#include "vmm/internal.h"

void rs_vmm_hypercall(struct rs_vcpu *vcpu, uint32_t slot)
{
	struct rs_vmm *vmm = vcpu->vmm;

	pthread_mutex_lock(&vmm->lock);
	vcpu->call_slot = slot;
	vcpu->call_pending = true;
	rs_vmm_wake(vmm);
	while (vcpu->call_pending && !vmm->ending)
		pthread_cond_wait(&vmm->go, &vmm->lock);
	pthread_mutex_unlock(&vmm->lock);
}

/* The session has taken the request. Its answer is complete, or will come later. */
static void let_go(struct rs_vcpu *vcpu)
{
	struct rs_vmm *vmm = vcpu->vmm;

	pthread_mutex_lock(&vmm->lock);
	vcpu->call_pending = false;
	pthread_cond_broadcast(&vmm->go);
	pthread_mutex_unlock(&vmm->lock);
}

/*
 * The next vCPU that waits behind the one that was served last, so that each has its turn. NULL:
 * none. *more: others wait, too.
 */
static struct rs_vcpu *next_call(struct rs_vmm *vmm, bool *more)
{
	const uint32_t n = vmm->target.vcpus, first = vmm->next_call;
	struct rs_vcpu *found = NULL;

	*more = false;
	pthread_mutex_lock(&vmm->lock);
	for (uint32_t i = 0; i < n && !vmm->ending && !*more; i++) {
		struct rs_vcpu *vcpu = &vmm->vcpu[(first + i) % n];

		if (!vcpu->call_pending)
			continue;
		*more = found != NULL;
		if (!found)
			found = vcpu;
	}
	pthread_mutex_unlock(&vmm->lock);
	if (found)
		vmm->next_call = found->index + 1;
	return found;
}

void rs_vmm_serve_call(struct rs_vmm *vmm)
{
	const struct rs_target_events *events = &vmm->target.events;
	struct rs_target_end end;
	bool more;
	struct rs_vcpu *vcpu = next_call(vmm, &more);

	if (!vcpu)
		return;
	/* The loop serves others, too, before it comes back here. */
	if (more)
		rs_vmm_wake(vmm);
	/* End first, so that a vCPU that asked for the end does not enter the guest again. */
	if (events->hypercall && events->hypercall(events->data, vcpu->call_slot, &end))
		rs_vmm_end(vmm, end.reason, end.code, "%s", end.text);
	let_go(vcpu);
}
