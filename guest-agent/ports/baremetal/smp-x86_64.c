/* SPDX-License-Identifier: MIT */
/*
 * Starts the further vCPUs, one after the other, by INIT/SIPI into a trampoline below 1 MiB. A VMM
 * may have started them all at the PVH entry: there each waits for a word with its turn.
 */
#include "internal.h"

#define ICR_INIT 0x4500
#define ICR_STARTUP (0x4600 | RS_TRAMPOLINE >> 12)

extern const uint8_t rs_trampoline[], rs_trampoline_end[];
extern uint32_t rs_boot_count, rs_boot_turn, rs_boot_index;

uint32_t rs_cpus_online = 1;

static bool online_within(uint32_t index, uint64_t ticks)
{
	uint64_t start = rs_tsc();
	struct rs_cpu *cpu = rs_cpu_at(index);
	while (!__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE)) {
		if (rs_tsc() - start > ticks)
			return false;
		rs_pause();
	}
	return true;
}

static bool start_by_sipi(uint32_t apic_id, uint32_t index)
{
	uint64_t ms = rs_tsc_hz() / 1000;

	rs_apic_ipi(apic_id, ICR_INIT);
	uint64_t start = rs_tsc();
	while (rs_tsc() - start < ms)
		rs_pause();
	rs_apic_ipi(apic_id, ICR_STARTUP);
	if (online_within(index, 100 * ms))
		return true;
	rs_apic_ipi(apic_id, ICR_STARTUP);
	return online_within(index, 400 * ms);
}

void rs_smp_start(uint32_t wanted)
{
	uint32_t waiting = __atomic_load_n(&rs_boot_count, __ATOMIC_ACQUIRE);
	if (wanted > RS_CPUS)
		wanted = RS_CPUS;
	if (rs_apic_present()) {
		void *low = (void *)(uintptr_t)RS_TRAMPOLINE;
		__asm__("" : "+r"(low)); /* so the compiler does not reason about its size */
		memcpy(low, rs_trampoline, (size_t)(rs_trampoline_end - rs_trampoline));
	}
	uint32_t apic_id = 0;
	for (uint32_t index = 1; index < wanted; index++) {
		bool up;
		__atomic_store_n(&rs_boot_index, index, __ATOMIC_RELEASE);
		if (waiting > 1) {
			__atomic_store_n(&rs_boot_turn, index, __ATOMIC_RELEASE);
			up = online_within(index, rs_tsc_hz());
		} else if (rs_apic_present()) {
			if (apic_id == rs_apic_id())
				apic_id++;
			up = start_by_sipi(apic_id++, index);
		} else {
			up = false;
		}
		if (!up) {
			rs_printf("smp: vCPU %u did not start\n", index);
			return; /* a late one must not be taken for the next */
		}
		__atomic_store_n(&rs_cpus_online, index + 1, __ATOMIC_RELEASE);
	}
}

uint32_t rs_cpu_count(void)
{
	return __atomic_load_n(&rs_cpus_online, __ATOMIC_ACQUIRE);
}
