/* SPDX-License-Identifier: MIT */
/* What the files of hv/vmm share; nobody else includes it. */
#ifndef RS_HV_VMM_INTERNAL_H
#define RS_HV_VMM_INTERNAL_H

#include "vmm/vmm.h"
#include <glib.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <ringside/atomic.h>
#include <ringside/hypercall.h>
#include <ringside/region.h>
#include <signal.h>

#define RS_VMM_KICK_SIGNAL (SIGRTMIN + 5)

/* kvm.c: /dev/kvm and a VM. Tests give another `device`. */
int rs_kvm_open(const char *device, struct rs_error *err); /* a descriptor, or -errno */
int rs_kvm_create_vm(int kvm, struct rs_error *err);
uint64_t rs_kvm_exits(int stats_fd); /* 0: not known */

/* The UART's registers except the transmitter: they keep what a driver writes. Relaxed atomics. */
struct rs_uart {
	uint8_t lcr, mcr, ier, scratch, divisor[2];
};

/* More of them have APIC ids that only an x2APIC can name; 255 means all. */
#define RS_VMM_XAPIC_VCPUS 255u
/* `limit`: KVM_CAP_MAX_VCPUS, not known if it is not above 0. -EINVAL. */
int rs_kvm_check_vcpus(int limit, uint32_t wanted, struct rs_error *err);
/* Interrupts reach ids of 32 bits, and 255 is one of them. Before the first vCPU is made. */
int rs_kvm_set_wide_apic_ids(int vm, struct rs_error *err);

struct rs_vmm;

struct rs_vcpu {
	struct rs_vmm *vmm;
	uint32_t index;
	int fd;
	int stats_fd; /* -1: none */
	struct kvm_run *run;
	pthread_t thread;
	bool started;
	bool in_guest;     /* under vmm->lock */
	bool held;         /* likewise: it stays outside when the others go on */
	bool call_pending; /* likewise: it waits for the session to take a request */
	uint32_t call_slot;
	uint64_t exits;   /* written by the vCPU's thread, relaxed */
	uint64_t left_ns; /* its thread's own: when it left the guest, as was last told; 0: not */
};

/* A piece of the regions' memory, of which [0, guest_offset) is read-only to the guest. */
struct rs_vmm_part {
	uint64_t at, guest_offset, size;
};

struct rs_vmm {
	struct rs_target target; /* first */
	char *name;
	GMainContext *context;
	GSource *wake_source, *doorbell_source;
	int wake_fd, doorbell_fd;

	int vm_fd;
	size_t run_size;
	uint8_t *ram;
	uint64_t ram_size;
	uint8_t *regions; /* their memory; NULL: none */
	uint64_t regions_size;
	struct rs_vmm_part *parts;
	uint32_t n_parts;
	struct rs_console *console; /* NULL: none */
	struct rs_uart uart;
	uint64_t clock_hz;
	bool tsc_shared; /* the guests' TSC is ours */
	enum rs_vmm_way way;
	bool barrier;      /* CPUs that run our threads can be made to serialize */
	uint32_t switches; /* rs_control.switching */

	pthread_mutex_t lock; /* protects the following */
	pthread_cond_t out;   /* a vCPU left the guest */
	pthread_cond_t go;    /* a pause ended, a call was answered, or the guest ends */
	bool paused;
	bool ending; /* also read without the lock */
	bool ended_told;
	bool threads_joined;
	struct rs_target_end end;

	uint64_t doorbells;   /* relaxed atomic */
	uint32_t next_call;   /* the vCPU whose turn it is to be served; the session's thread */
	struct rs_vcpu *vcpu; /* target.vcpus of them */
};

/* boot.c */
int rs_vmm_load(struct rs_vmm *vmm, const struct rs_vmm_config *config, rs_gpa_t *entry,
		struct rs_error *err);
int rs_vmm_set_boot_state(int vcpu_fd, rs_gpa_t entry, struct rs_error *err);

/* vcpu.c */
int rs_vcpu_create(struct rs_vmm *vmm, uint32_t index, int kvm_fd, rs_gpa_t entry,
		   struct rs_error *err);
int rs_vcpu_start(struct rs_vcpu *vcpu, struct rs_error *err);
void rs_vcpu_kick(struct rs_vcpu *vcpu); /* under vmm->lock */
void rs_vcpu_destroy(struct rs_vcpu *vcpu);

/* hcall.c: on the vCPU's thread; `slot` is what the guest wrote. */
void rs_vmm_hypercall(struct rs_vcpu *vcpu, uint32_t slot);
/*
 * On the session's thread, after rs_vmm_wake(): serves one vCPU that waits, in turn. If others wait
 * it wakes the thread again, so the main loop can serve somebody else in between.
 */
void rs_vmm_serve_call(struct rs_vmm *vmm);

/* core_x86_64.c: the op */
int rs_vmm_dump(struct rs_target *target, const char *path, struct rs_error *err);

/*
 * live_x86_64.c: the operations that change text while the guest runs. `init` is called once, best
 * before there are threads.
 */
void rs_vmm_live_init(struct rs_vmm *vmm, enum rs_vmm_way way);
bool rs_vmm_writes_live(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			int failed);
int rs_vmm_write_live(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		      bool *bad, struct rs_error *err);

/* regions.c: the memory of the trace regions; -1: none. */
int rs_vmm_map_regions(struct rs_vmm *vmm, int fd, struct rs_error *err);
/* Hands it to the guest, in memory slots from `slot` on. */
int rs_vmm_add_regions(struct rs_vmm *vmm, uint32_t slot, struct rs_error *err);

/* vmm.c: where a piece of text lies. NULL: it is no RAM. */
uint8_t *rs_vmm_text_at(struct rs_vmm *vmm, const struct rs_text_piece *piece);
/* Plain stores, of the whole patch. False: some of it is not RAM, and nothing was written. */
bool rs_vmm_write_patch(struct rs_vmm *vmm, const struct rs_text_patch *patch);
int rs_vmm_add_slot(struct rs_vmm *vmm, uint32_t slot, uint64_t gpa, uint64_t size, void *at,
		    uint32_t flags, struct rs_error *err);

/* vmm.c: any thread. The first end counts. */
void rs_vmm_end(struct rs_vmm *vmm, enum rs_end_reason reason, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void rs_vmm_wake(struct rs_vmm *vmm);

#endif
