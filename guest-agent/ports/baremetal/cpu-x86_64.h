/* SPDX-License-Identifier: MIT */
/*
 * What a vCPU of the bare-metal port keeps for itself. GS points to it in both rings. C and
 * assembly include this file, and cpu-x86_64.c checks the offsets below against the struct.
 *
 * Interrupts are masked in software, since code at CPL 3 cannot use cli. While RS_CTX_IRQS_OFF is
 * set in RS_CPU_CONTEXT, the ring-0 stub only notes the vector in `pending`. Who clears the bit
 * looks at `pending` afterwards.
 */
#ifndef RS_BAREMETAL_CPU_X86_64_H
#define RS_BAREMETAL_CPU_X86_64_H

/* Offsets in struct rs_cpu. */
#define RS_CPU_SELF 0
#define RS_CPU_INDEX 8
#define RS_CPU_PENDING 12
#define RS_CPU_MARK 16    /* the next 8 bytes are an rs_context_mark() */
#define RS_CPU_CONTEXT 18 /* byte 0: RS_CTX_* below 256; byte 1: preempt depth */
#define RS_CPU_PREEMPT 19
#define RS_CPU_PID 20
#define RS_CPU_FATAL_STACK 24 /* address of its top */
#define RS_CPU_GUEST 48
#define RS_CPU_EMIT_STATE 160 /* struct rs_emit_self of <ringside/emit.h>, without its mark */
#define RS_CPU_EMIT_REGION 168
#define RS_CPU_EMIT_EPOCH 176

#define RS_CPU_STRIDE 2048      /* bytes from one vCPU's block to the next */
#define RS_CPU_BLOCK 1024       /* ring-0 stack below the struct, in the same block */
#define RS_CPU_STACK_SIZE 32768 /* of rs_main */
#define RS_FATAL_STACK_SIZE 4096
#define RS_CPUS 64

/* Selectors. */
#define RS_SEL_CODE32 0x08
#define RS_SEL_CODE0 0x10
#define RS_SEL_DATA0 0x18
#define RS_SEL_DATA3 0x23
#define RS_SEL_CODE3 0x2b
#define RS_SEL_TSS 0x40 /* + 16 * index */

/* Vectors. */
#define RS_VEC_NMI 2
#define RS_VEC_INT3 3
#define RS_VEC_DF 8
#define RS_VEC_GP 13
#define RS_VEC_PF 14
#define RS_VEC_IRQ_FIRST 32
#define RS_VEC_TIMER 32
#define RS_VEC_IPI 33
#define RS_VEC_NUDGE 34
#define RS_VEC_IRQ_LAST 47
#define RS_VEC_SPURIOUS 255
#define RS_VEC_SYSCALL 256 /* not a vector of the CPU: the frame of a `syscall` */

/* Where a further vCPU wakes up in real mode (SIPI vector 0x08). */
#define RS_TRAMPOLINE 0x8000

#define RS_LAPIC 0xfee00000

#define RS_FLAGS_TRAP 0x100 /* in rflags: RS_FRAME_STEP */

#ifndef __ASSEMBLER__
#include <stdint.h>

struct rs_cpu {
	struct rs_cpu *self;
	uint32_t index;
	/* Bit i: vector RS_VEC_IRQ_FIRST + i came while masked. Bit 31: an NMI came in a stub. Bit
	 * 30: one was delivered while interrupts were masked. */
	uint32_t pending;
	uint16_t mark; /* RS_REC_CONTEXT */
	uint16_t context;
	uint32_t pid;
	uint64_t fatal_stack;
	uint32_t online;
	uint32_t ticks;
	uint32_t apic_id;
	uint32_t tick_hz; /* 0: no timer interrupt here */
	void *guest[8];   /* the guest author's: rs_cpu_slot() */
	uint32_t tgid;    /* thread group of the running task; 0: it has none */
	char comm[40];    /* its name, NUL-padded */
	uint32_t reserved;
	void *emit_state;
	void *emit_region;
	uint32_t emit_epoch;
};

#ifdef __cplusplus
extern "C" {
#endif

extern uint32_t rs_cpus_online;

struct rs_cpu *rs_cpu_at(uint32_t index);

#ifdef __cplusplus
}
#endif

#define RS_GS_READ(type, offset)                                                                   \
	__extension__({                                                                            \
		type rs_value_;                                                                    \
		__asm__ volatile("mov %%gs:%c1, %0" : "=r"(rs_value_) : "i"(offset) : "memory");   \
		rs_value_;                                                                         \
	})

static inline struct rs_cpu *rs_this_cpu(void)
{
	return RS_GS_READ(struct rs_cpu *, RS_CPU_SELF);
}
#endif
#endif
