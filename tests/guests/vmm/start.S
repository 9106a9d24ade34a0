/* SPDX-License-Identifier: MIT */
/*
 * From the PVH entry (32-bit protected mode, ebx = start info) to 64-bit C; other CPUs from SIPI.
 */
	.section .note.pvh, "a", @note
	.align 4
	.long 4, 8, 18 /* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.quad pvh_entry

	.text
	.code32
	.globl pvh_entry
pvh_entry:
	cld
	movl %ebx, start_info
	movl $boot_stack_end, %esp
	call enter_long
	ljmp $0x18, $1f
	.code64
1:	movl start_info, %edi
	xorl %ebp, %ebp
	call main
2:	hlt
	jmp 2b

	.code32
enter_long: /* paging and long mode; the caller jumps far next */
	lgdtl gdt_pointer
	movl $0x620, %eax /* PAE, OSFXSR, OSXMMEXCPT */
	movl %eax, %cr4
	movl $pml4, %eax
	movl %eax, %cr3
	movl $0xc0000080, %ecx
	movl $0x901, %eax /* NXE, LME, SCE */
	xorl %edx, %edx
	wrmsr
	movl $0x80050033, %eax
	movl %eax, %cr0
	movl $0x10, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	ret

ap_protected:
	movl $0x10, %eax
	movl %eax, %ds
	movl %eax, %ss
	movl $1, %eax
	lock xaddl %eax, cpus_started
	movl %eax, %esi /* CPU index, from 1 */
	shll $12, %eax
	leal ap_stacks(%eax), %esp
	call enter_long
	ljmp $0x18, $1f
	.code64
1:	movl %esi, %edi
	call ap_main
2:	hlt
	jmp 2b

/* Copied to 0x9000. */
	.code16
	.globl ap_trampoline, ap_trampoline_end
ap_trampoline:
	cli
	xorw %ax, %ax
	movw %ax, %ds
	lgdtl gdt_pointer_low - ap_trampoline + 0x9000
	movl $0x11, %eax
	movl %eax, %cr0
	ljmpl $0x08, $ap_protected
gdt_pointer_low:
	.word gdt_end - gdt - 1
	.long gdt
ap_trampoline_end:

	.code64
	.globl to_ring3 /* (function, stack, tss selector): never comes back */
to_ring3:
	ltr %dx
	pushq $0x23
	pushq %rsi
	pushq $0x2
	pushq $0x2b
	pushq %rdi
	movl $0x23, %eax
	movl %eax, %ds
	movl %eax, %es
	iretq

	.globl patchable /* noinline: eax = 1, or what the host writes here */
	.align 8
patchable:
	movl $1, %eax
	ret

	.data
	.align 8
	.globl gdt
gdt:	.quad 0
	.quad 0x00cf9b000000ffff /* 08 code, 32-bit */
	.quad 0x00cf93000000ffff /* 10 data */
	.quad 0x00af9b000000ffff /* 18 code, 64-bit */
	.quad 0x00cff3000000ffff /* 23 data, CPL 3 */
	.quad 0x00affb000000ffff /* 2b code, CPL 3 */
	.globl gdt_tss
gdt_tss:.fill 8, 8, 0            /* 30.. one TSS a CPU */
gdt_end:
gdt_pointer:
	.word gdt_end - gdt - 1
	.long gdt
	.globl cpus_started
	.align 4
cpus_started: .long 1
start_info: .long 0

/* GPA = VA for 0..1 GiB, 3..5 GiB, by 2 MiB pages, open to CPL 3. */
	.balign 4096
pml4:	.quad pdpt + 7
	.fill 511, 8, 0
pdpt:	.quad pd0 + 7
	.quad 0, 0
	.quad pd3 + 7
	.quad pd4 + 7
	.fill 507, 8, 0
pd0:	.set i, 0
	.rept 512
	.quad i * 0x200000 + 0x87
	.set i, i + 1
	.endr
pd3:	.set i, 0
	.rept 512
	.quad 0xc0000000 + i * 0x200000 + 0x97
	.set i, i + 1
	.endr
pd4:	.set i, 0
	.rept 512
	.quad 0x100000000 + i * 0x200000 + 0x87
	.set i, i + 1
	.endr

	.bss
	.balign 4096
boot_stack: .skip 4096
boot_stack_end:
ap_stacks: .skip 4096 * 8 /* the one of CPU n ends at ap_stacks + n * 4096 */
	.section .note.GNU-stack, "", @progbits
