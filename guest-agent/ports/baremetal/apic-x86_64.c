/* SPDX-License-Identifier: MIT */
/* The local APIC: timer, IPIs, INIT/SIPI. CPL 3 may access its registers, as all memory. */
#include "internal.h"

#define REG_ID 0x20
#define REG_EOI 0xb0
#define REG_SVR 0xf0
#define REG_ICR_LOW 0x300
#define REG_ICR_HIGH 0x310
#define REG_LVT_TIMER 0x320
#define REG_LVT_LINT0 0x350
#define REG_LVT_LINT1 0x360
#define REG_TIMER_INIT 0x380
#define REG_TIMER_NOW 0x390
#define REG_TIMER_DIVIDE 0x3e0

#define APIC_HZ 1000000000ull /* the bus clock of KVM's and QEMU's APIC */
#define DIVIDE_BY_1 0xb
#define LVT_MASKED (1u << 16)
#define LVT_NMI 0x400
#define TIMER_PERIODIC (1u << 17)
#define ICR_BUSY (1u << 12)

extern uint32_t rs_lapic_eoi;
static bool present;

static volatile uint32_t *reg(uint32_t offset)
{
	return (volatile uint32_t *)(uintptr_t)(RS_LAPIC + offset);
}

static void read_apic_base(uint64_t out, uint64_t unused)
{
	uint32_t low, high;
	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(0x1bu));
	*(uint64_t *)(uintptr_t)out = (uint64_t)high << 32 | low;
}

/* It is there, enabled, in xAPIC mode, and where we map it. */
static bool detect(void)
{
	uint32_t r[4];
	uint64_t base = 0;
	rs_cpuid(1, r);
	if (!(r[3] & 1u << 9))
		return false;
	rs_ring0_call(read_apic_base, (uint64_t)(uintptr_t)&base, 0);
	return (base & 1u << 11) && !(base & 1u << 10) && (base & ~0xfffull) == RS_LAPIC;
}

void rs_apic_init(void)
{
	if (rs_this_cpu()->index == 0) {
		present = detect();
		if (present)
			rs_lapic_eoi = RS_LAPIC + REG_EOI;
	}
	if (!present)
		return;
	*reg(REG_LVT_TIMER) = LVT_MASKED;
	*reg(REG_LVT_LINT0) = LVT_MASKED; /* the legacy PIC stays out */
	*reg(REG_SVR) = 0x1ff;
	*reg(REG_LVT_LINT1) = LVT_NMI; /* how QEMU nudges; only once the APIC is on */
	rs_this_cpu()->apic_id = *reg(REG_ID) >> 24;
}

bool rs_apic_present(void)
{
	return present;
}

uint32_t rs_apic_id(void)
{
	return rs_this_cpu()->apic_id;
}

void rs_apic_ipi(uint32_t apic_id, uint32_t low)
{
	bool on = rs_irq_save(); /* nothing may come between the two stores */
	for (uint32_t i = 0; i < 100000 && (*reg(REG_ICR_LOW) & ICR_BUSY); i++)
		rs_pause();
	*reg(REG_ICR_HIGH) = apic_id << 24;
	*reg(REG_ICR_LOW) = low;
	rs_irq_restore(on);
}

bool rs_ipi(uint32_t cpu)
{
	if (!present || cpu >= rs_cpu_count() || !rs_cpu_at(cpu)->online)
		return false;
	rs_apic_ipi(rs_cpu_at(cpu)->apic_id, 0x4000 | RS_VEC_IPI);
	return true;
}

uint64_t rs_apic_measure_tsc(void)
{
	if (!present)
		return 0;
	*reg(REG_TIMER_DIVIDE) = DIVIDE_BY_1;
	*reg(REG_TIMER_INIT) = 0xffffffffu;
	uint32_t first = *reg(REG_TIMER_NOW);
	uint64_t tsc = rs_tsc(), spent = 0;
	uint32_t elapsed = 0;
	/* 10 ms; give up if the count stands still */
	for (uint32_t i = 0; i < 10000000 && elapsed < APIC_HZ / 100; i++) {
		elapsed = first - *reg(REG_TIMER_NOW);
		spent = rs_tsc() - tsc;
		if (!elapsed && spent > 1ull << 28)
			break;
	}
	*reg(REG_TIMER_INIT) = 0;
	return elapsed < APIC_HZ / 100 ? 0 : spent * APIC_HZ / elapsed;
}

bool rs_tick_start(uint32_t hz)
{
	if (!present || !hz)
		return false;
	*reg(REG_TIMER_DIVIDE) = DIVIDE_BY_1;
	*reg(REG_LVT_TIMER) = RS_VEC_TIMER | TIMER_PERIODIC;
	*reg(REG_TIMER_INIT) = (uint32_t)(APIC_HZ / hz);
	rs_this_cpu()->tick_hz = hz;
	return true;
}

void rs_tick_stop(void)
{
	if (!present)
		return;
	*reg(REG_LVT_TIMER) = LVT_MASKED;
	*reg(REG_TIMER_INIT) = 0;
	rs_this_cpu()->tick_hz = 0;
}
