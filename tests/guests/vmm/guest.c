/* SPDX-License-Identifier: MIT */
/*
 * The guest of the VMM's own tests. It has no agent. The word test=NAME of its command line chooses
 * one of several small tests. It ends with an EXIT request, code 0 for success, unless the test is
 * about another end.
 */
#include <ringside/hypercall.h>
#include <ringside/directory.h>
#include <ringside/region.h>

struct start_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modlist, cmdline, rsdp, memmap;
	uint32_t memmap_entries, reserved;
};

#define MEMORY 0x100000000ull
#define LAPIC 0xfee00000ull
#define COUNTERS 0x80000ull /* uint64_t[8], and the sum of patchable() after them */

extern uint64_t gdt_tss[8];
extern uint32_t cpus_started;
extern char ap_trampoline[], ap_trampoline_end[];
void to_ring3(void (*function)(void), void *stack, uint32_t tss) __attribute__((noreturn));
uint32_t patchable(void);
void main(const struct start_info *info);
void ap_main(uint32_t cpu);

static const char *cmdline;

static void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static uint8_t inb(uint16_t port)
{
	uint8_t v;
	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static void outl(uint16_t port, uint32_t v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static void mmio32(uint64_t at, uint32_t v)
{
	__asm__ volatile("movl %0, (%1)" : : "r"(v), "r"(at) : "memory");
}

static uint64_t rdtsc(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static void put(const char *s)
{
	for (; *s; s++) {
		while (!(inb(0x3f8 + 5) & 0x20))
			;
		outb(0x3f8, (uint8_t)*s);
	}
}

static bool is_test(const char *name)
{
	const char *at = cmdline, *word = "test=";

	for (; *at; at++) {
		const char *a = at, *b = word;

		while (*b && *a == *b)
			a++, b++;
		if (*b)
			continue;
		b = name;
		while (*b && *a == *b)
			a++, b++;
		if (!*b && (*a == ' ' || !*a))
			return true;
	}
	return false;
}

/* The memory of the regions; ours is the first. */
static struct rs_directory *directory(void)
{
	return (void *)MEMORY;
}

static struct rs_directory_entry *entry(void)
{
	return (void *)(MEMORY + directory()->entries_offset);
}

static uint64_t region(void)
{
	return MEMORY + entry()->offset;
}

static struct rs_region_header *header(void)
{
	return (void *)region();
}

static struct rs_hcall_request *request_of(uint32_t slot)
{
	return (void *)(region() + header()->section[RS_SEC_REQUEST].offset + slot * 4096ull);
}

static struct rs_hcall_response *response_of(uint32_t slot)
{
	return (void *)(region() + header()->section[RS_SEC_RESPONSE].offset + slot * 4096ull);
}

/* Fills slot's request; `text` may be NULL. */
static void fill(uint32_t slot, uint32_t number, uint64_t arg, const char *text)
{
	struct rs_hcall_request *r = request_of(slot);
	uint32_t n = 0;

	for (; text && text[n]; n++)
		r->data[n] = (uint8_t)text[n];
	r->number = number;
	r->args[0] = arg;
	r->data_size = n;
	r->sequence++;
}

static int32_t call(uint32_t slot, uint32_t number, uint64_t arg, const char *text, bool by_mmio)
{
	fill(slot, number, arg, text);
	if (by_mmio)
		mmio32(RS_HCALL_MMIO, slot);
	else
		outl(RS_HCALL_PORT, slot);
	if (response_of(slot)->sequence != request_of(slot)->sequence)
		return -1000;
	return response_of(slot)->result;
}

static void exit_with(uint32_t code)
{
	call(0, RS_HCALL_EXIT, code, 0, false);
	for (;;)
		__asm__ volatile("hlt");
}

/* ---- interrupts: each CPU counts its own ---- */

#define VECTOR 40
struct interrupt_frame;

static struct {
	uint16_t low, selector, flags, middle;
	uint32_t high, reserved;
} idt[256];
static volatile uint32_t vectors[8], nmis[8];

/* Handlers must not call functions: clang would need other compiler flags for these. */
#define APIC(offset) (*(volatile uint32_t *)(LAPIC + (offset)))

__attribute__((interrupt)) static void on_vector(struct interrupt_frame *frame)
{
	vectors[APIC(0x20) >> 24]++;
	APIC(0xb0) = 0;
}

__attribute__((interrupt)) static void on_nmi(struct interrupt_frame *frame)
{
	nmis[APIC(0x20) >> 24]++;
}

static void set_gate(uint32_t vector, void (*handler)(struct interrupt_frame *))
{
	uint64_t at = (uint64_t)handler;

	idt[vector].low = (uint16_t)at;
	idt[vector].selector = 0x18;
	idt[vector].flags = 0x8e00;
	idt[vector].middle = (uint16_t)(at >> 16);
}

static void take_interrupts(void)
{
	const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) pointer = {sizeof(idt) - 1, (uint64_t)idt};

	set_gate(2, on_nmi);
	set_gate(VECTOR, on_vector);
	__asm__ volatile("lidt %0" : : "m"(pointer) : "memory");
	mmio32(LAPIC + 0xf0, 0x1ff);
}

/* Halts until the interrupt comes, then spins until the NMI comes: an NMI could come just before a
 * HLT, and would be missed. */
static void await_nudges(uint32_t cpu)
{
	while (!vectors[cpu])
		__asm__ volatile("sti; hlt; cli" : : : "memory");
	call(cpu, RS_HCALL_LOG, VECTOR, "vector", false);
	while (!nmis[cpu])
		inb(0x80);
	call(cpu, RS_HCALL_LOG, 0, "nmi", false);
}

/* The host takes the request. It answers with 77 when it likes, and then nudges us. */
static uint32_t await_answer(uint32_t slot)
{
	volatile struct rs_hcall_response *response = response_of(slot);
	uint32_t sequence;

	fill(slot, RS_HCALL_WAIT, 0, 0);
	sequence = request_of(slot)->sequence;
	outl(RS_HCALL_PORT, slot);
	if (response->accepted != sequence || response->sequence == sequence)
		return 2;
	/* Interrupts are on only in the HLT, so none comes between the look and the HLT. */
	while (response->sequence != sequence)
		__asm__ volatile("sti; hlt; cli" : : : "memory");
	return response->result == 77 ? 1 : 3;
}

static void start_other_cpu(void)
{
	volatile char *to = (void *)0x9000;

	for (char *from = ap_trampoline; from < ap_trampoline_end; from++)
		*to++ = *from;
	mmio32(LAPIC + 0xf0, 0x1ff);
	mmio32(LAPIC + 0x300, 0xc4500); /* INIT, all but self */
	for (int i = 0; i < 2000; i++)
		inb(0x80);
	mmio32(LAPIC + 0x300, 0xc4609); /* SIPI to 0x9000 */
}

/* At CPL 3: counts until the machine ends. */
static void count_forever(uint32_t cpu)
{
	volatile uint64_t *counters = (void *)COUNTERS;

	for (;;) {
		counters[cpu]++;
		counters[8 + cpu] += patchable();
	}
}

static void user0(void)
{
	mmio32(RS_HCALL_MMIO, 0); /* the request that was filled at CPL 0: "spinning" */
	count_forever(0);
}

static void user1(void)
{
	count_forever(1);
}

static void user_tsc(void)
{
	request_of(0)->args[1] = rdtsc();
	request_of(0)->sequence++;
	mmio32(RS_HCALL_MMIO, 0);
	fill(0, RS_HCALL_EXIT, 0, 0);
	mmio32(RS_HCALL_MMIO, 0);
}

static void go_ring3(uint32_t cpu, void (*function)(void))
{
	static uint32_t tss[4][26];
	static uint8_t stacks[4][4096];
	uint64_t base = (uint64_t)tss[cpu];

	tss[cpu][1] = (uint32_t)(uint64_t)(stacks[cpu] + 2048);
	tss[cpu][25] = 104 << 16;
	gdt_tss[cpu * 2] = 103 | (base & 0xffffff) << 16 | 0x89ull << 40 | (base >> 24) << 56;
	gdt_tss[cpu * 2 + 1] = 0;
	to_ring3(function, stacks[cpu] + 4096 - 8, 0x30 + cpu * 16);
}

void ap_main(uint32_t cpu)
{
	if (is_test("spin"))
		go_ring3(cpu, user1);
	if (is_test("late")) {
		take_interrupts();
		*(volatile uint64_t *)(COUNTERS + cpu * 8) = await_answer(cpu);
		return;
	}
	if (is_test("nudge")) {
		take_interrupts();
		call(cpu, RS_HCALL_LOG, 1, "up", false);
		await_nudges(cpu);
	}
	call(cpu, RS_HCALL_LOG, cpu, "second cpu", cpu & 1);
	*(volatile uint64_t *)(COUNTERS + cpu * 8) = 1;
}

static void wait_for_others(uint32_t cpus)
{
	for (uint32_t i = 1; i < cpus; i++)
		while (!*(volatile uint64_t *)(COUNTERS + i * 8))
			inb(0x80);
}

static uint32_t bad_requests(void)
{
	struct rs_hcall_request *r = request_of(0);

	if (call(0, 999, 0, 0, false) != -RS_ENOSYS)
		return 1;
	if (call(0, 0, 0, 0, true) != -RS_ENOSYS)
		return 2;
	if (call(0, RS_HCALL_EXIT, 256, 0, false) != -RS_EINVAL)
		return 3;
	fill(0, RS_HCALL_LOG, 0, 0);
	r->data_size = RS_HCALL_DATA + 1;
	outl(RS_HCALL_PORT, 0);
	if (response_of(0)->sequence != r->sequence || response_of(0)->result != -RS_E2BIG)
		return 4;
	outl(RS_HCALL_PORT, 64);    /* no such slot */
	mmio32(RS_HCALL_MMIO, ~0u); /* nor here */
	outb(RS_HCALL_PORT, 0);     /* not 32 bits */
	return call(0, RS_HCALL_LOG, 0, "still fine", false) ? 5 : 0;
}

static uint32_t read_only(void)
{
	volatile struct rs_region_header *h = header();
	volatile uint64_t *guest = (void *)(region() + h->guest_offset);
	volatile uint64_t *claim = (void *)(MEMORY + directory()->claims_offset);
	volatile uint32_t *generation = &entry()->generation;
	uint64_t magic = h->magic;

	h->magic = 1;
	if (h->magic != magic)
		return 1;
	*guest = 0x1234;
	if (*guest != 0x1234)
		return 2;
	*generation = 77;
	if (*generation != 1)
		return 3;
	*claim = 0x5678;
	return *claim == 0x5678 ? 0 : 4;
}

static void print_initrd(const struct start_info *info)
{
	const uint64_t *module = (const void *)info->modlist;
	char text[33] = {0};

	if (info->nr_modules != 1)
		exit_with(1);
	for (uint64_t i = 0; i < module[1] && i < 32; i++)
		text[i] = ((const char *)module[0])[i];
	put(text);
	exit_with(0);
}

static const struct {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed)) no_idt;

static void ends(void)
{
	if (is_test("panic"))
		call(0, RS_HCALL_PANIC, 0, "out of cheese \033[31m", true);
	if (is_test("reset-keyboard"))
		outb(0x64, 0xfe);
	if (is_test("reset-register"))
		outb(0xcf9, 0x06);
	if (is_test("triple")) {
		__asm__ volatile("lidt %0; ud2" : : "m"(no_idt));
	}
	if (is_test("hlt"))
		for (;;)
			__asm__ volatile("cli; hlt");
}

static void put_number(uint64_t n)
{
	char text[24], *at = text + sizeof(text) - 1;

	*at = 0;
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	put(at);
}

/* For tests/bench/exits.py: the cycles of the fastest of many batches of exits to the VMM. */
static void print_exits(void)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < 400; batch++) {
		uint64_t begun = rdtsc(), took;

		for (int i = 0; i < 100; i++)
			outb(0x80, 0);
		took = rdtsc() - begun;
		if (took < best)
			best = took;
	}
	put("cycles of 100 exits: ");
	put_number(best);
	put("\n");
}

void main(const struct start_info *info)
{
	cmdline = (const char *)info->cmdline;
	if (is_test("hello")) {
		put("hello: ");
		put(cmdline);
		put("\n");
		exit_with(call(0, RS_HCALL_HELLO, 0, 0, false) ? 99 : 7);
	}
	ends();
	if (is_test("escape")) {
		put("a\033[2Jb\xc2\x9b"
		    "c\xff \xc3\xa9\r\nlast");
		exit_with(0);
	}
	while (is_test("talk"))
		put("and so on, ");
	if (is_test("bad"))
		exit_with(bad_requests());
	if (is_test("read-only"))
		exit_with(read_only());
	if (is_test("initrd"))
		print_initrd(info);
	if (is_test("doorbell")) {
		outl(RS_DOORBELL_PORT, 0);
		mmio32(RS_DOORBELL_MMIO, 0);
		mmio32(RS_DOORBELL_MMIO, 7);
		exit_with(call(0, RS_HCALL_LOG, 0, "rung", false) ? 1 : 0);
	}
	if (is_test("exits")) {
		print_exits();
		exit_with(0);
	}
	if (is_test("smp")) {
		uint32_t cpus = header()->ring_count;

		start_other_cpu();
		wait_for_others(cpus);
		exit_with(cpus_started == cpus ? 0 : 1);
	}
	if (is_test("late")) {
		volatile uint64_t *other = (void *)(COUNTERS + 8);

		take_interrupts();
		start_other_cpu();
		while (!*other)
			if (call(0, RS_HCALL_LOG, 0, "meanwhile", false))
				exit_with(4);
		exit_with(*other == 1 ? 0 : (uint32_t)*other);
	}
	if (is_test("nudge")) {
		take_interrupts();
		start_other_cpu();
		await_nudges(0);
		wait_for_others(2);
		exit_with(vectors[0] == 1 && vectors[1] == 1 && nmis[0] == 1 && nmis[1] == 1 ? 0
											     : 1);
	}
	if (is_test("spin")) {
		if (header()->ring_count > 1)
			start_other_cpu();
		fill(0, RS_HCALL_LOG, (uint64_t)patchable, "spinning");
		go_ring3(0, user0);
	}
	if (is_test("tsc")) {
		fill(0, RS_HCALL_LOG, rdtsc(), "tsc");
		go_ring3(0, user_tsc);
	}
	put("no such test\n");
	exit_with(98);
}
