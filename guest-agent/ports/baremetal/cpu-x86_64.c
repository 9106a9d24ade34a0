/* SPDX-License-Identifier: MIT */
#include "internal.h"
#include <ringside/record.h>
#include <ringside/region.h>

#define TSS_STRIDE 128
#define NMI_STACK 256
#define CALL_STACK 512 /* of rs_ring0_call() */

RS_ASSERT_OFFSET(struct rs_cpu, index, RS_CPU_INDEX);
RS_ASSERT_OFFSET(struct rs_cpu, pid, RS_CPU_PID);
RS_ASSERT_OFFSET(struct rs_cpu, mark, RS_CPU_MARK);
RS_ASSERT_OFFSET(struct rs_cpu, context, RS_CPU_CONTEXT);
RS_ASSERT_OFFSET(struct rs_cpu, pending, RS_CPU_PENDING);
RS_ASSERT_OFFSET(struct rs_cpu, fatal_stack, RS_CPU_FATAL_STACK);
RS_ASSERT_OFFSET(struct rs_cpu, guest, RS_CPU_GUEST);
RS_ASSERT_OFFSET(struct rs_cpu, emit_state, RS_CPU_EMIT_STATE);
RS_ASSERT_OFFSET(struct rs_cpu, emit_region, RS_CPU_EMIT_REGION);
RS_ASSERT_OFFSET(struct rs_cpu, emit_epoch, RS_CPU_EMIT_EPOCH);
RS_STATIC_ASSERT(sizeof(struct rs_cpu) + RS_CPU_BLOCK + CALL_STACK + NMI_STACK <= RS_CPU_STRIDE,
		 "block");

/* Each block: ring-0 stack, struct rs_cpu, stack of rs_ring0_call(), stack of the NMI. */
uint8_t rs_cpu_blocks[RS_CPUS][RS_CPU_STRIDE] __attribute__((aligned(RS_CPU_STRIDE)));
uint8_t rs_cpu_stacks[RS_CPUS][RS_CPU_STACK_SIZE] __attribute__((aligned(4096)));
static uint8_t fatal_stacks[RS_CPUS][RS_FATAL_STACK_SIZE] __attribute__((aligned(16)));

/* All TSSs share the I/O bitmap that follows them. Its bits are 0: every port is open. */
static struct {
	uint8_t tss[RS_CPUS][TSS_STRIDE];
	uint8_t io_bitmap[8192];
	uint8_t end;
} tss __attribute__((aligned(4096)));

struct gate {
	uint16_t offset0;
	uint16_t selector;
	uint8_t ist;
	uint8_t type;
	uint16_t offset1;
	uint32_t offset2;
	uint32_t reserved;
};
struct gate rs_idt[256] __attribute__((aligned(4096)));

uint64_t rs_ring_cs, rs_ring_ss;
static uint32_t eoi_sink;
uint32_t rs_lapic_eoi;

extern uint64_t rs_gdt[];
extern const uint64_t rs_stub_table[48];
extern const uint64_t rs_stub_spurious_entry;
void rs_halt(void);
void rs_ring0_trap(void (*f)(uint64_t a, uint64_t b), uint64_t a, uint64_t b);

struct rs_cpu *rs_cpu_at(uint32_t index)
{
	return (struct rs_cpu *)(void *)(rs_cpu_blocks[index] + RS_CPU_BLOCK);
}

static void set_gate(uint32_t vector, uint64_t address, uint8_t ist)
{
	struct gate *gate = &rs_idt[vector];
	gate->offset0 = (uint16_t)address;
	gate->selector = RS_SEL_CODE0;
	gate->ist = ist;
	gate->type = 0xee; /* present, DPL 3 so that int n works from CPL 3, interrupt gate */
	gate->offset1 = (uint16_t)(address >> 16);
	gate->offset2 = (uint32_t)(address >> 32);
}

static void fill_idt(void)
{
	for (uint32_t v = 0; v < 48; v++)
		set_gate(v, rs_stub_table[v], v == RS_VEC_NMI ? 2 : v == RS_VEC_INT3 ? 3 : 1);
	set_gate(RS_VEC_SPURIOUS, rs_stub_spurious_entry, 1);
	rs_ring_cs = rs_ring ? RS_SEL_CODE3 : RS_SEL_CODE0;
	rs_ring_ss = rs_ring ? RS_SEL_DATA3 : RS_SEL_DATA0;
	rs_lapic_eoi = (uint32_t)(uintptr_t)&eoi_sink;
}

static void put64(uint8_t *at, uint64_t value)
{
	*(uint32_t *)(void *)at = (uint32_t)value; /* in a TSS, 64-bit fields lie at 4 mod 8 */
	*(uint32_t *)(void *)(at + 4) = (uint32_t)(value >> 32);
}

void rs_cpu_tables(uint64_t index)
{
	struct rs_cpu *cpu = rs_cpu_at((uint32_t)index);
	uint8_t *t = tss.tss[index];
	uint64_t base = (uint64_t)(uintptr_t)t;
	uint64_t limit = (uint64_t)(uintptr_t)&tss.end - base;
	uint64_t *descriptor = rs_gdt + RS_SEL_TSS / 8 + 2 * index;

	put64(t + 4, (uint64_t)(uintptr_t)cpu);                                       /* RSP0 */
	put64(t + 0x24, (uint64_t)(uintptr_t)cpu);                                    /* IST1 */
	put64(t + 0x2c, (uint64_t)(uintptr_t)(rs_cpu_blocks[index] + RS_CPU_STRIDE)); /* IST2 */
	put64(t + 0x34, (uint64_t)(uintptr_t)(rs_cpu_blocks[index] + RS_CPU_STRIDE - NMI_STACK));
	*(uint16_t *)(void *)(t + 0x66) = (uint16_t)((uint64_t)(uintptr_t)tss.io_bitmap - base);
	tss.end = 0xff;
	descriptor[0] = (limit & 0xffff) | (base & 0xffffff) << 16 | 0x89ull << 40 |
			(limit >> 16 & 0xf) << 48 | (base >> 24 & 0xff) << 56;
	descriptor[1] = base >> 32;

	cpu->self = cpu;
	cpu->index = (uint32_t)index;
	cpu->mark = RS_REC_CONTEXT;
	cpu->fatal_stack = (uint64_t)(uintptr_t)(fatal_stacks[index] + RS_FATAL_STACK_SIZE);
	if (index == 0)
		fill_idt();
}

/* rs_ring0_call() for a guest that runs in ring 0 itself. */
static void call_here(void (*f)(uint64_t a, uint64_t b), uint64_t a, uint64_t b)
{
	uint64_t flags;
	__asm__ volatile("pushfq; popq %0; cli" : "=r"(flags)::"memory");
	if (f)
		f(a, b);
	else
		rs_halt();
	__asm__ volatile("pushq %0; popfq" ::"r"(flags) : "memory", "cc");
}

void rs_ring0_call(void (*f)(uint64_t a, uint64_t b), uint64_t a, uint64_t b)
{
	if (rs_ring == 0)
		call_here(f, a, b);
	else
		rs_ring0_trap(f, a, b);
}

static void read_cr3(uint64_t out, uint64_t unused)
{
	uint64_t value;
	__asm__ volatile("mov %%cr3, %0" : "=r"(value));
	*(uint64_t *)(uintptr_t)out = value;
}

uint64_t rs_page_table_root(void)
{
	uint64_t value;
	rs_ring0_call(read_cr3, (uint64_t)(uintptr_t)&value, 0);
	return value & ~0xfffull;
}

static void read_cr4(uint64_t out, uint64_t unused)
{
	uint64_t value;
	__asm__ volatile("mov %%cr4, %0" : "=r"(value));
	*(uint64_t *)(uintptr_t)out = value;
}

#define CR4_LA57 (1ull << 12)

uint32_t rs_paging(void)
{
	uint64_t value;
	rs_ring0_call(read_cr4, (uint64_t)(uintptr_t)&value, 0);
	return value & CR4_LA57 ? RS_PAGING_X86_64_5 : RS_PAGING_X86_64_4;
}

static void cpuid(uint64_t leaf, uint64_t out)
{
	uint32_t *r = (uint32_t *)(uintptr_t)out;
	__asm__ volatile("cpuid"
			 : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
			 : "a"((uint32_t)leaf), "c"(0));
}

void rs_cpuid(uint32_t leaf, uint32_t out[4])
{
	rs_ring0_call(cpuid, leaf, (uint64_t)(uintptr_t)out);
}

static void reload_cr3(uint64_t a, uint64_t b)
{
	uint64_t value;
	__asm__ volatile("mov %%cr3, %0; mov %0, %%cr3" : "=r"(value)::"memory");
}

void rs_flush_tlb(void)
{
	rs_ring0_call(reload_cr3, 0, 0);
}

static void empty_idt(uint64_t a, uint64_t b)
{
	static const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none = {0, 0};
	__asm__ volatile("lidt %0" ::"m"(none));
}

void rs_triple_fault(void)
{
	rs_ring0_call(empty_idt, 0, 0);
	for (;;)
		__asm__ volatile("ud2");
}
