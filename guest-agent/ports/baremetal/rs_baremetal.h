/* SPDX-License-Identifier: MIT */
/*
 * For authors of a bare-metal guest: what the port gives, and the hooks that it calls.
 *
 * A guest is one ELF file that boots under `ringside run` and under `qemu-system-x86_64 -kernel`.
 * The port brings each vCPU up, finds the trace region, starts the agent, registers the program's
 * events and calls rs_main(). All of the guest's code, hooks included, runs at the ring that
 * `rs_ring` names. The default is CPL 3, which runs at hardware speed everywhere. Code is
 * integer-only. There is one address space, with the first 4 GiB identity-mapped. Memory is what
 * the program has in .bss.
 *
 * Everything here may be called on any vCPU unless it says otherwise. The port and the guest are
 * one program and trust each other.
 */
#ifndef RS_BAREMETAL_H
#define RS_BAREMETAL_H

#include "cpu-x86_64.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers of interrupted code, as a hook may read and change them. */
struct rs_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector; /* 0..31 exception, 32..47 interrupt, 256 system call */
	uint64_t error;
	uint64_t fault_address; /* CR2: only for vector 14 */
	uint64_t rflags;
	uint64_t rip;
};

/* The interrupted stack pointer. It cannot be changed: the frame lies right below it. */
static inline uint64_t rs_frame_sp(const struct rs_frame *frame)
{
	return (uint64_t)(uintptr_t)(frame + 1) + 128;
}

/* In frame->rflags: once the hook has returned, one instruction runs, then rs_on_fault() gets a
 * frame with RS_VECTOR_DEBUG and this flag. A hook that clears it ends the stepping. Code that a
 * hook or an interrupt runs in between does not count. */
#define RS_FRAME_STEP 0x100u
#define RS_VECTOR_DEBUG 1u
#define RS_VECTOR_PAGE_FAULT 14u
#define RS_FAULT_PRESENT (1u << 0) /* frame->error of a page fault: a protection violation */
#define RS_FAULT_WRITE (1u << 1)

/* ---- What a guest must or may define ---- */

/* The guest. Called once on each vCPU, with cpu = 0 and up. A return on vCPU 0 is rs_exit(0).
 * Another vCPU then idles for good. */
void rs_main(uint32_t cpu);

/* Called on vCPU 0 before the agent starts and before other vCPUs run. */
void rs_early(void);

/* Name of the guest in the trace. Default "guest". */
extern const char rs_guest_name[];

/* Ring that the guest runs in: 3 (default) or 0. */
extern const uint32_t rs_ring;

/* Whether the port is to start the agent before rs_main(). Default: true unless the command line
 * has `noagent`. A guest that returns false may call rs_agent_init() itself with what rs_region()
 * says. */
bool rs_want_agent(void);

/* The region. False: this machine has none. Valid once rs_main() runs. */
bool rs_region(void **region, uint64_t *size);
/* For rs_agent_config.page_table_root and paging. */
uint64_t rs_page_table_root(void);
uint32_t rs_paging(void);

/* Hooks. By default a fault is fatal, a system call returns -1, and the rest does nothing. They run
 * on the interrupted stack. rs_on_fault returns true if the instruction is to be tried again.
 * Interrupt hooks run with interrupts off and RS_CTX_HARDIRQ set. rs_on_irq_exit follows, still
 * with interrupts off. It may switch tasks if rs_preempt_depth() is 0. */
bool rs_on_fault(struct rs_frame *frame);
uint64_t rs_on_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c, struct rs_frame *frame);
void rs_on_tick(struct rs_frame *frame);
void rs_on_ipi(struct rs_frame *frame);
void rs_on_nudge(struct rs_frame *frame); /* the host's: the agent has looked */
void rs_on_nmi(struct rs_frame *frame);   /* likewise, or from elsewhere */
void rs_on_irq_exit(void);

/* ---- Console ---- */

/* printf with %s %c %d %i %u %x %p %%, l/ll/z, width, the flags 0 and -, and precision for %s.
 * Lines of several vCPUs do not mix. */
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
/* As rs_exit(), but does not tell the agent. */
void rs_machine_exit(uint32_t code) __attribute__((noreturn));

/* ---- Command line ---- */

const char *rs_boot_cmdline(void);
/* Looks for the word `key` or `key=value`. Copies the value ("" for a bare word). False: absent. */
bool rs_option(const char *key, char *value, size_t size);
/* The number (decimal or 0x…) of `key=`, or `otherwise` if it is absent or not a number. */
uint64_t rs_option_u64(const char *key, uint64_t otherwise);

/* ---- vCPUs and interrupts ---- */

uint32_t rs_cpu_count(void); /* that came up; 64 at most are started */
uint32_t rs_cpu_id(void);
/* A pointer of the guest's own on this vCPU, slot 0..7. Use the address with interrupts off only.
 * The load is one instruction, so it is right even in a task that is moved between vCPUs. */
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

/* The running task of this vCPU: its pid goes into each record; its thread group (0: none) and its
 * name, up to RS_COMM_LEN bytes, go into the trace's memory of names. Interrupts off.
 * A new task whose pid another had, and a task that is renamed, need rs_agent_cmdline() too. */
void rs_set_task(uint32_t pid, uint32_t tgid, const char *comm);
uint32_t rs_pid(void);

/* Interrupts off/on for this vCPU. In software: an interrupt is delivered later, none is lost. */
bool rs_irq_save(void); /* off; returns whether they were on */
void rs_irq_restore(bool were_on);
/* While the depth is above 0, do not switch tasks. It is above 0 in a hook that has interrupted the
 * agent in the middle of a record, where the agent must not be preempted. */
void rs_preempt_disable(void);
void rs_preempt_enable(void);
uint32_t rs_preempt_depth(void);
void rs_need_resched(bool need); /* RS_CTX_NEED_RESCHED of this vCPU */
bool rs_resched_needed(void);

/* rs_on_tick() `hz` times a second on this vCPU. False: this machine has no timer interrupt. */
bool rs_tick_start(uint32_t hz);
void rs_tick_stop(void);
/* rs_on_ipi() on another vCPU. False: this machine cannot. */
bool rs_ipi(uint32_t cpu);
/* Sleeps until an interrupt if one can come, else pauses briefly. Interrupts on. */
void rs_idle(void);

/* A system call: from ring 3 to ring 0, and from there to rs_on_syscall() at ring 3. */
static inline uint64_t rs_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t result = number;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

/* Calls f(a, b) at CPL 0, interrupts off. f must not fault, and is compiled integer-only. */
void rs_ring0_call(void (*f)(uint64_t a, uint64_t b), uint64_t a, uint64_t b);

/* ---- Time ---- */

static inline uint64_t rs_tsc(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

uint64_t rs_tsc_hz(void); /* a guess if nobody says; never 0 */
static inline void rs_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* ---- Address space ---- */

/* Maps `size` bytes at `phys` to the same addresses (2 MiB pages). False: no page-table pages are
 * left, or the range does not fit. Not to be called on two vCPUs at once. */
bool rs_map_identity(uint64_t phys, uint64_t size);
/* Maps or unmaps one 4 KiB page at `virt`, which is from 4 GiB to below 512 GiB. The caller
 * serialises. Other vCPUs may see an old mapping until they call rs_flush_tlb(). */
bool rs_map_page(uint64_t virt, uint64_t phys, bool writable);
void rs_unmap_page(uint64_t virt);
void rs_flush_tlb(void);

/* ---- Tasks: two stacks change places ---- */

/* Saves this stack's pointer to *save and continues on the stack `next`. */
void rs_switch(uint64_t *save, uint64_t next);
/* Prepares a stack. rs_switch() to the returned value calls f(arg), which must not return. */
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

void *memcpy(void *__restrict to, const void *__restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

#ifdef __cplusplus
}
#endif

#endif
