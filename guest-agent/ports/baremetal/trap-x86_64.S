/* SPDX-License-Identifier: MIT */
/*
 * After boot these stubs are all that runs in ring 0. Each makes a call at the guest's own ring
 * (CPL 3) on the interrupted stack, as a kernel calls a signal handler. It writes the tail of a
 * struct rs_frame below the redzone and returns to rs_upcall. rs_upcall saves the registers, calls
 * rs_dispatch() and goes back to where the frame says, without ring 0.
 *
 * The stubs run with IF=0 on a ring-0 stack that ends where this vCPU's struct rs_cpu begins. A
 * fault in a stub means that the interrupted stack is unusable. The guest then gets a double fault
 * on a stack kept for that.
 */
#include "cpu-x86_64.h"

#define REDZONE 128
#define TAIL 40 /* vector, error, cr2, rflags, rip */

	.code64
	.section .text.rs_stub, "ax"
	.globl rs_stub_start, rs_stub_end, rs_stub_syscall, rs_stub_table
rs_stub_start:

	/* Stack: vector, error, rip, cs, rflags, rsp, ss | struct rs_cpu */
rs_stub_exception:
	pushq %rax
	pushq %rbx
	movq 32(%rsp), %rax
	subq $rs_stub_start, %rax
	cmpq $(rs_stub_end - rs_stub_start), %rax
	jb rs_stub_fatal
rs_stub_deliver: /* rax, rbx pushed */
	movq 56(%rsp), %rax
rs_stub_deliver_at:
	subq $(REDZONE + TAIL), %rax
	movq 32(%rsp), %rbx
	movq %rbx, 32(%rax)
	movq 48(%rsp), %rbx
	movq %rbx, 24(%rax)
	movq %cr2, %rbx
	movq %rbx, 16(%rax)
	movq 24(%rsp), %rbx
	movq %rbx, 8(%rax)
	movq 16(%rsp), %rbx
	movq %rbx, (%rax)
	movq %rax, 56(%rsp)
	movq $rs_upcall, 32(%rsp)
	movl $0x202, 48(%rsp)
	popq %rbx
	popq %rax
	addq $16, %rsp
	iretq

rs_stub_fatal: /* rax, rbx pushed */
	movq $RS_VEC_DF, 16(%rsp)
	movl rs_ring, %eax
	testl %eax, %eax
	jz 1f
	movq $RS_SEL_CODE3, 40(%rsp)
	movq $RS_SEL_DATA3, 64(%rsp)
1:	movq 72 + RS_CPU_FATAL_STACK(%rsp), %rax
	jmp rs_stub_deliver_at

	/* An interrupt. It is acknowledged here, then delivered now or noted for later. */
rs_stub_irq:
	pushq %rax
	pushq %rbx
	movl rs_lapic_eoi, %ebx
	movl $0, (%rbx)
	testb $1, 72 + RS_CPU_CONTEXT(%rsp)
	jnz 1f
	orb $1, 72 + RS_CPU_CONTEXT(%rsp)
	jmp rs_stub_deliver
1:	movl 16(%rsp), %ebx
	subl $RS_VEC_IRQ_FIRST, %ebx
	btsl %ebx, 72 + RS_CPU_PENDING(%rsp)
	popq %rbx
	popq %rax
	addq $16, %rsp
rs_stub_iret:
	iretq

	/* An NMI in a stub is noted. Elsewhere it is delivered, even with interrupts off. It has a
	 * stack of its own, so the struct is found through GS. */
rs_stub_nmi:
	pushq $0
	pushq $RS_VEC_NMI
	pushq %rax
	pushq %rbx
	movq 32(%rsp), %rax
	subq $rs_stub_start, %rax
	cmpq $(rs_stub_end - rs_stub_start), %rax
	jae rs_stub_deliver
	orl $0x80000000, %gs:RS_CPU_PENDING
	cmpq $(rs_halt_window - rs_stub_start), %rax
	jb 1f
	cmpq $(rs_halt_over - rs_stub_start), %rax
	jae 1f
	movq $rs_halt_over, 32(%rsp)
1:	popq %rbx
	popq %rax
	addq $16, %rsp
	iretq

rs_stub_df:
	movq $RS_VEC_DF, (%rsp) /* in place of its error code, which is 0 */
	pushq (%rsp)
	movq $0, 8(%rsp)
	pushq %rax
	pushq %rbx
	jmp rs_stub_fatal

rs_stub_spurious:
	iretq

	/* rcx = rip, r11 = rflags, IF=0, on the caller's stack. Some hypervisors run this part
	 * without the rights of ring 0, so iretq is all that it uses of them. */
rs_stub_syscall:
	leaq -REDZONE(%rsp), %rsp
	pushq %rcx
	pushq %r11
	pushq $0
	pushq $0
	pushq $RS_VEC_SYSCALL
	movq %rsp, %rcx
	pushq rs_ring_ss
	pushq %rcx
	pushq $0x202
	pushq rs_ring_cs
	pushq $rs_upcall
	iretq

	/* The int3 of rs_ring0_trap: calls rdi(rsi, rdx) on a ring-0 stack of its own, IF=0.
	 * int3 is the only software interrupt that works under every hypervisor. rdi = 0: halts
	 * until an interrupt is pending. The caller has set RS_CTX_IRQS_OFF, so it is only
	 * noted. Other ones are told apart by their place, since a site may hold one. */
rs_stub_ring0:
	cmpq $rs_step_asked, (%rsp)
	je rs_stub_step
	cmpq $rs_ring0_asked, (%rsp)
	jne rs_vector_3
	testq %rdi, %rdi
	jz 1f
	pushq %rdi
	subq $16, %rsp /* five words of frame and these three: aligned */
	movq %rdi, %rax
	movq %rsi, %rdi
	movq %rdx, %rsi
	call *%rax
	addq $24, %rsp
	iretq
1:	call rs_halt
	iretq

	/* The end of rs_upcall for a frame with the trap flag: rsp points to its rflags and rip.
	 * Only iretq goes on with one instruction before the trap. */
rs_stub_step:
	pushq %rax
	pushq %rbx
	movq 40(%rsp), %rbx
	movq (%rbx), %rax
	movq %rax, 32(%rsp)
	movq 8(%rbx), %rax
	movq %rax, 16(%rsp)
	leaq 16 + REDZONE(%rbx), %rbx
	movq %rbx, 40(%rsp)
	popq %rbx
	popq %rax
	iretq

	/* IF=0. Halts until an interrupt is pending. One that comes before HLT waits for it, as
	 * STI lets none in before the next instruction. An NMI does not wait, so the stub of the
	 * NMI leads what it finds between the look and the HLT past it. */
	.globl rs_halt
rs_halt:
	cmpl $0, %gs:RS_CPU_PENDING
rs_halt_window:
	jne rs_halt_over
	sti
	hlt
rs_halt_over:
	cli
	ret

	.macro EXCEPTION vector, error
	.balign 16
rs_vector_\vector:
	.if !\error
	pushq $0
	.endif
	pushq $\vector
	jmp rs_stub_exception
	.endm

	.macro IRQ vector
	.balign 16
rs_vector_\vector:
	pushq $0
	pushq $\vector
	jmp rs_stub_irq
	.endm

	.irp v, 0, 1, 3, 4, 5, 6, 7, 9, 15, 16, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 31
	EXCEPTION \v, 0
	.endr
	.irp v, 10, 11, 12, 13, 14, 17, 21, 29, 30
	EXCEPTION \v, 1
	.endr
	.irp v, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47
	IRQ \v
	.endr
rs_stub_end:

	.section .text.rs_critical, "ax"
	.globl rs_upcall
rs_upcall:
	pushq %rax
	pushq %rbx
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %rbp
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	cld
	movq %rsp, %rdi
	movq %rsp, %rbx
	andq $-16, %rsp
	call rs_dispatch
	movq %rbx, %rsp
	testl $RS_FLAGS_TRAP, 144(%rsp)
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rbp
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rbx
	popq %rax
	leaq 24(%rsp), %rsp
	jnz 1f
	popfq
	ret $REDZONE
1:	int3
rs_step_asked:
	ud2

	.section .text.rs_ring0, "ax"
	/* void rs_ring0_trap(void (*f)(uint64_t a, uint64_t b), uint64_t a, uint64_t b) */
	.globl rs_ring0_trap
rs_ring0_trap:
	int3
rs_ring0_asked:
	ret

	.section .text.rs_switch, "ax"
	/* void rs_switch(uint64_t *save_sp, uint64_t next_sp) */
	.globl rs_switch
rs_switch:
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	ret

	/* First return address of a new stack: r12 = function, r13 = argument. */
	.globl rs_switch_first
rs_switch_first:
	xorl %ebp, %ebp
	movq %r13, %rdi
	call *%r12
	ud2

	.section .rodata.rs_stub, "a"
	.balign 8
	.macro ENTRY vector
	.quad rs_vector_\vector
	.endm
rs_stub_table: /* vectors 0..47 */
	ENTRY 0
	ENTRY 1
	.quad rs_stub_nmi
	.quad rs_stub_ring0
	.irp v, 4, 5, 6, 7
	ENTRY \v
	.endr
	.quad rs_stub_df
	.irp v, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
	ENTRY \v
	.endr
	.irp v, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47
	ENTRY \v
	.endr
	.globl rs_stub_spurious_entry
rs_stub_spurious_entry:
	.quad rs_stub_spurious

	.section .note.GNU-stack, "", @progbits
