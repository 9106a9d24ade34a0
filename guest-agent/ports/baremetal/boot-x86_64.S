/* SPDX-License-Identifier: MIT */
/*
 * From the PVH entry (32-bit, paging off, ebx = hvm_start_info) to rs_start(index) at CPL 3.
 *
 * Every vCPU takes this path. The first one comes from the loader, further ones come through the
 * real-mode trampoline. A VMM without INIT/SIPI may instead start all vCPUs at the PVH entry: the
 * first to arrive boots, the others wait there for their turn.
 *
 * Some accelerators emulate ring 0 one instruction at a time, so as little as possible is
 * done there: page tables and GDT are laid out by the assembler.
 */
#include "cpu-x86_64.h"

	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 4, 18 /* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.long rs_pvh_entry

	.section .text.rs_boot, "ax"
	.code32
	.globl rs_pvh_entry
rs_pvh_entry:
	cli
	cld
	movl $1, %eax
	lock xaddl %eax, rs_boot_count
	testl %eax, %eax
	jnz 2f
	movl %ebx, rs_start_info
	movb $0xff, %al /* firmware leaves the legacy PIC on, with the vectors of exceptions */
	outb %al, $0x21
	outb %al, $0xa1
	xorl %edi, %edi
	jmp rs_protected
2:	pause
	cmpl %eax, rs_boot_turn
	jne 2b
	movl rs_boot_index, %edi
	jmp rs_protected

rs_trampoline_32:
	movw $RS_SEL_DATA0, %ax
	movw %ax, %ds
	movw %ax, %es
	movw %ax, %ss
	movl rs_boot_index, %edi

rs_protected: /* edi = index of this vCPU */
	movl $rs_pml4, %eax
	movl %eax, %cr3
	movl $0x620, %eax /* PAE, OSFXSR, OSXMMEXCPT */
	movl %eax, %cr4
	movl $0xc0000080, %ecx
	rdmsr
	orl $0x101, %eax /* SCE, LME */
	wrmsr
	movl $0x80050033, %eax /* PG AM WP NE ET MP PE */
	movl %eax, %cr0
	lgdtl rs_gdtr
	ljmpl $RS_SEL_CODE0, $rs_long

	.code64
rs_long:
	movl $RS_SEL_DATA0, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	xorl %eax, %eax
	movl %eax, %fs
	movl %eax, %gs
	lgdt rs_gdtr64
	imull $RS_CPU_STRIDE, %edi, %eax
	leaq rs_cpu_blocks + RS_CPU_BLOCK(%rax), %rsp
	movq %rdi, %rbx
	movq %rsp, %rbp
	/* GS base, STAR, LSTAR, SFMASK. Both GS bases: some hypervisors swap them between rings. */
	movl %ebp, %eax
	xorl %edx, %edx
	movl $0xc0000101, %ecx
	wrmsr
	movl $0xc0000102, %ecx
	wrmsr
	xorl %eax, %eax
	movl $(RS_SEL_DATA0 << 16 | RS_SEL_CODE0), %edx
	movl $0xc0000081, %ecx
	wrmsr
	movl $rs_stub_syscall, %eax
	xorl %edx, %edx
	movl $0xc0000082, %ecx
	wrmsr
	movl $0x47700, %eax /* AC NT IOPL.. DF IF TF */
	movl $0xc0000084, %ecx
	wrmsr
	movl %ebx, %edi
	call rs_cpu_tables /* TSS, its descriptor, and the first time the IDT */
	lidt rs_idtr
	movl %ebx, %eax
	shll $4, %eax
	addl $RS_SEL_TSS, %eax
	ltr %ax

	imulq $RS_CPU_STACK_SIZE, %rbx, %rax
	leaq rs_cpu_stacks + RS_CPU_STACK_SIZE - 16(%rax), %rax
	movl rs_ring, %ecx
	movl $RS_SEL_DATA3, %edx
	movl $RS_SEL_CODE3, %esi
	testl %ecx, %ecx
	jnz 3f
	movl $RS_SEL_DATA0, %edx
	movl $RS_SEL_CODE0, %esi
3:	pushq %rdx
	pushq %rax
	pushq $0x202 /* IF. IOPL is 0, so the TSS bitmap opens the ports */
	pushq %rsi
	pushq $rs_enter
	iretq

rs_enter: /* CPL 3 */
	movl %ebx, %edi
	xorl %ebp, %ebp
	call rs_start
	ud2

	/* Runs as a copy at RS_TRAMPOLINE, and only there. */
	.code16
	.balign 16
	.globl rs_trampoline, rs_trampoline_end
rs_trampoline:
	cli
	xorw %ax, %ax
	movw %ax, %ds
	lgdtl RS_TRAMPOLINE + rs_trampoline_gdtr - rs_trampoline
	movl %cr0, %eax
	orl $1, %eax
	movl %eax, %cr0
	ljmpl $RS_SEL_CODE32, $rs_trampoline_32
	.balign 8
rs_trampoline_gdtr:
	.word rs_gdt_end - rs_gdt - 1
	.long rs_gdt
rs_trampoline_end:

	.code64
	.section .data.rs_boot, "aw"
	.balign 16
	.globl rs_gdt
rs_gdt:
	.quad 0
	.quad 0x00cf9a000000ffff /* 0x08 code32 */
	.quad 0x00af9a000000ffff /* 0x10 code, CPL 0 */
	.quad 0x00cf92000000ffff /* 0x18 data, CPL 0 */
	.quad 0x00cff2000000ffff /* 0x20 data, CPL 3 */
	.quad 0x00affa000000ffff /* 0x28 code, CPL 3 */
	.quad 0, 0
	.fill RS_CPUS * 2, 8, 0  /* 0x40 TSS of each vCPU */
rs_gdt_end:
	.balign 8
	.word 0, 0, 0
rs_gdtr:
	.word rs_gdt_end - rs_gdt - 1
	.long rs_gdt
	.word 0, 0, 0
rs_gdtr64:
	.word rs_gdt_end - rs_gdt - 1
	.quad rs_gdt
	.word 0, 0, 0
rs_idtr:
	.word 16 * 256 - 1
	.quad rs_idt
	.balign 4
	.globl rs_start_info, rs_boot_count, rs_boot_turn, rs_boot_index
rs_start_info:
	.long 0
rs_boot_count:
	.long 0
rs_boot_turn:
	.long 0
rs_boot_index:
	.long 0

	/* The first 4 GiB, identity, writable and user: 2 MiB pages, PML4 slot 0. */
	.balign 4096
	.globl rs_pml4
rs_pml4:
	.quad rs_pdpt + 7
	.fill 511, 8, 0
rs_pdpt:
	.quad rs_pd + 7
	.quad rs_pd + 4096 + 7
	.quad rs_pd + 8192 + 7
	.quad rs_pd + 12288 + 7
	.fill 508, 8, 0
rs_pd:
	.set rs_at, 0
	.rept 2048
	.quad rs_at + 0x87
	.set rs_at, rs_at + 0x200000
	.endr

	.section .note.GNU-stack, "", @progbits
