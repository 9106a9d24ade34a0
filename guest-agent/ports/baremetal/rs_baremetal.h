/* SPDX-License-Identifier: MIT */
/*
 * For authors of a bare-metal guest: what the port gives, and the hooks that it calls.
 *
 * A guest is one ELF file that boots under `ringside run` and under `qemu-system-x86_64 -kernel`. The
 * port brings each vCPU up, finds the trace region, starts the agent, registers the program's events and
 * calls rs_main(). All of the guest's code, hooks included, runs at the ring that `rs_ring` names (CPL 3 by default: that runs
 * at hardware speed everywhere), integer-only, with one identity-mapped address space. Memory
 * is what the program has in .bss; the first 4 GiB are mapped.
 *
 * Everything here may be called on any vCPU unless said otherwise. Nothing is trusted or distrusted:
 * it is one program.
 */
#ifndef RS_BAREMETAL_H
#define RS_BAREMETAL_H

#include "cpu-x86_64.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers of interrupted code, as a hook may read and change them. */
struct rs_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector; /* 0..31 exception, 32..47 interrupt, 256 system call */
	uint64_t error;
	uint64_t fault_address; /* CR2: only for vector 14 */
	uint64_t rflags;
	uint64_t rip;
};

/* The interrupted stack pointer. Read-only: a frame lies right below it. */
static inline uint64_t rs_frame_sp(const struct rs_frame *frame)
{
	return (uint64_t)(uintptr_t)(frame + 1) + 128;
}

#define RS_VECTOR_PAGE_FAULT 14u
#define RS_FAULT_PRESENT (1u << 0) /* frame->error of a page fault: a protection violation */
#define RS_FAULT_WRITE (1u << 1)

/* ---- What a guest must or may define ---- */

/* The guest: called once on each vCPU, cpu = 0.. . Returning on vCPU 0 is rs_exit(0); on another
 * it idles for good. */
void rs_main(uint32_t cpu);

/* Called on vCPU 0 before the agent starts and before other vCPUs run. */
void rs_early(void);

/* Name of the guest in the trace. Default "guest". */
extern const char rs_guest_name[];

/* Ring that the guest runs in: 3 (default) or 0. */
extern const uint32_t rs_ring;

/* Whether the port is to start the agent before rs_main(): default true unless the command line
 * has `noagent`. A guest that returns false may call rs_agent_init() itself with what rs_region() says. */
bool rs_want_agent(void);

/* The region, once rs_main() runs: false if this machine has none. */
bool rs_region(void **region, uint64_t *size);
/* What the agent calls the page-table root. */
uint64_t rs_page_table_root(void);

/* Hooks. The defaults: a fault is fatal, a system call returns -1, the rest does nothing. They
 * run on the interrupted stack. rs_on_fault returns true when the fault is dealt with and the
 * instruction should be tried again. Interrupt hooks run with interrupts off and RS_CTX_HARDIRQ set;
 * rs_on_irq_exit follows, still with interrupts off; it may switch tasks when rs_preempt_depth() is 0. */
bool rs_on_fault(struct rs_frame *frame);
uint64_t rs_on_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c, struct rs_frame *frame);
void rs_on_tick(struct rs_frame *frame);
void rs_on_ipi(struct rs_frame *frame);
void rs_on_nmi(struct rs_frame *frame);
void rs_on_irq_exit(void);

/* ---- Console ---- */

/* printf with %s %c %d %i %u %x %p %%, l/ll/z, width, 0 and - flags, precision for %s. Whole lines of
 * several vCPUs do not mix. */
void rs_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int rs_snprintf(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int rs_vsnprintf(char *out, size_t size, const char *format, va_list args);
void rs_puts(const char *text);

/* ---- Ending; none of these returns ---- */

void rs_exit(uint32_t code) __attribute__((noreturn)); /* 0..255 */
void rs_panic(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void rs_reset(void) __attribute__((noreturn));        /* resets the machine */
void rs_triple_fault(void) __attribute__((noreturn)); /* shuts the vCPU down */
/* As rs_exit(), past the agent: the machine's own ways out. */
void rs_machine_exit(uint32_t code) __attribute__((noreturn));

/* ---- Command line ---- */

const char *rs_boot_cmdline(void);
/* The word `key` or `key=value`: copies the value ("" for a bare word); false if absent. */
bool rs_option(const char *key, char *value, size_t size);
/* Number (decimal or 0x…) of `key=`; `otherwise` if absent or not a number. */
uint64_t rs_option_u64(const char *key, uint64_t otherwise);

/* ---- vCPUs and interrupts ---- */

uint32_t rs_cpu_count(void); /* that came up */
uint32_t rs_cpu_id(void);
/* A pointer of the guest's own on this vCPU, slot 0..7. The address of it is good with interrupts off;
 * loading it is one instruction, right even for a task that is moved to another vCPU around it. */
void **rs_cpu_slot(uint32_t slot);
static inline void *rs_cpu_slot_load(uint64_t slot)
{
	void *value;
	__asm__ volatile("movq %%gs:%c1(,%2,8), %0"
			 : "=r"(value)
			 : "i"(RS_CPU_GUEST), "r"(slot)
			 : "memory");
	return value;
}

/* The running task of this vCPU: its pid goes into each record, its name (16 bytes, NUL-padded)
 * into the trace's memory of names. Interrupts off. */
void rs_set_task(uint32_t pid, const char comm[16]);
uint32_t rs_pid(void);

/* Interrupts off/on for this vCPU (in software; nothing is lost, it is delivered later). */
bool rs_irq_save(void); /* off; returns whether they were on */
void rs_irq_restore(bool were_on);
/* Depth of "do not switch tasks now". It is above 0 in a hook that has interrupted the agent in the
 * middle of a record: a scheduler that heeds it keeps the agent's rule about preemption. */
void rs_preempt_disable(void);
void rs_preempt_enable(void);
uint32_t rs_preempt_depth(void);
void rs_need_resched(bool need); /* RS_CTX_NEED_RESCHED of this vCPU */
bool rs_resched_needed(void);

/* Ticks `hz` times a second on this vCPU; false: no timer interrupt on this machine. */
bool rs_tick_start(uint32_t hz);
void rs_tick_stop(void);
/* rs_on_ipi() on another vCPU; false: no way to do so here. */
bool rs_ipi(uint32_t cpu);
/* Sleeps until an interrupt where one can come, else pauses briefly. Interrupts on. */
void rs_idle(void);

/* system call: ring 3 -> ring 0 -> rs_on_syscall() at ring 3 */
static inline uint64_t rs_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t result = number;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

/* Calls f(a, b) at CPL 0, interrupts off. f must not fault, and be compiled integer-only. */
void rs_ring0_call(void (*f)(uint64_t a, uint64_t b), uint64_t a, uint64_t b);

/* ---- Time ---- */

static inline uint64_t rs_tsc(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

uint64_t rs_tsc_hz(void); /* as well as the guest knows; never 0 */
static inline void rs_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* ---- Address space ---- */

/* Maps `size` bytes at `phys` where they lie (2 MiB pages). False: no page-table pages left, or the
 * range does not fit. Not to be called on two vCPUs at once. */
bool rs_map_identity(uint64_t phys, uint64_t size);
/* Maps or unmaps one 4 KiB page at `virt` (below 512 GiB, at or above 4 GiB) to `phys`. The caller serialises, and
 * other vCPUs may see an old mapping until they call rs_flush_tlb(). */
bool rs_map_page(uint64_t virt, uint64_t phys, bool writable);
void rs_unmap_page(uint64_t virt);
void rs_flush_tlb(void);

/* ---- Tasks: two stacks change places ---- */

/* Saves this stack's pointer to *save and goes on on `next`. */
void rs_switch(uint64_t *save, uint64_t next);
/* Prepares a stack so that rs_switch to the returned value calls f(arg); f must not return. */
uint64_t rs_stack_init(void *stack, size_t size, void (*f)(void *arg), void *arg);

/* ---- Ports ---- */

static inline void rs_out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port) : "memory");
}
static inline void rs_out16(uint16_t port, uint16_t value)
{
	__asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port) : "memory");
}
static inline void rs_out32(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port) : "memory");
}
static inline uint8_t rs_in8(uint16_t port)
{
	uint8_t value;
	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}
static inline uint32_t rs_in32(uint16_t port)
{
	uint32_t value;
	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

/* ---- The C library that a compiler expects ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

#endif
