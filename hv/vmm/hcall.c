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

void rs_vmm_serve_calls(struct rs_vmm *vmm)
{
	const struct rs_target_events *events = &vmm->target.events;

	for (uint32_t i = 0; i < vmm->target.vcpus; i++) {
		struct rs_vcpu *vcpu = &vmm->vcpu[i];
		struct rs_target_end end;
		bool pending;

		pthread_mutex_lock(&vmm->lock);
		pending = vcpu->call_pending && !vmm->ending;
		pthread_mutex_unlock(&vmm->lock);
		if (!pending)
			continue;
		/*
		 * End first, so that a vCPU that asked for the end does not enter the guest again.
		 */
		if (events->hypercall && events->hypercall(events->data, vcpu->call_slot, &end))
			rs_vmm_end(vmm, end.reason, end.code, "%s", end.text);
		let_go(vcpu);
	}
}
