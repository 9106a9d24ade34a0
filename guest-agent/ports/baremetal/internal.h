/* SPDX-License-Identifier: MIT */
/* What the files of the bare-metal port share. */
#ifndef RS_BAREMETAL_INTERNAL_H
#define RS_BAREMETAL_INTERNAL_H

#include "cpu-x86_64.h"
#include "rs_baremetal.h"

struct rs_pci_bar {
	uint64_t address;
	uint64_t size;
};

/* start.c */
void rs_start(uint32_t index) __attribute__((noreturn)); /* first C code at the guest's ring */

/* trap.c */
void rs_dispatch(struct rs_frame *frame);
/* rs_trace_ops.wait_nudge */
void rs_wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged);
void rs_irq_replay(void); /* interrupts off: delivers until nothing is pending */

/* console.c */
void rs_console_init(void);
void rs_console_break_lock(void); /* for a panic */

/* cpu-x86_64.c */
void rs_cpu_tables(uint64_t index);            /* at CPL 0 */
void rs_cpuid(uint32_t leaf, uint32_t out[4]); /* as the VMM set it, so asked at CPL 0 */

/* apic-x86_64.c */
void rs_apic_init(void); /* on each vCPU */
bool rs_apic_present(void);
uint32_t rs_apic_id(void);
void rs_apic_ipi(uint32_t apic_id, uint32_t low);
uint64_t rs_apic_measure_tsc(void); /* TSC Hz against the APIC timer; 0: cannot */

/* smp-x86_64.c */
void rs_smp_start(uint32_t wanted);

/* pci-x86_64.c */
bool rs_pci_find_ivshmem(struct rs_pci_bar *out);

/* machine-x86_64.c */
bool rs_machine_is_qemu(void);
uint32_t rs_machine_cpus(void); /* 0: not known */

#endif
