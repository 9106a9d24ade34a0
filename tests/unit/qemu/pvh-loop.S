/* SPDX-License-Identifier: MIT */
/*
 * The smallest PVH kernel that the QEMU tests need: counts at `counter` in a loop that holds one
 * 5-byte NOP, which a test turns into a JMP to code that counts at `other` instead. A byte stored
 * at `command` from outside asks for an end: 1 isa-debug-exit with 42, 2 a triple fault, 3 a reset,
 * 4 power off. 5: NMIs are counted at `nmis` from now on, and `command` is 0 again. 32-bit, no
 * paging.
 */
	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 4, 18
	.asciz "Xen"
	.long start

	.code32
	.text
	.globl start
start:
	movl $stack_top, %esp
1:
	.balign 8
	.globl site
site:
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	incl counter
2:	pause
	movl command, %eax
	testl %eax, %eax
	jz 1b
	cmpl $1, %eax
	je 3f
	cmpl $2, %eax
	je 4f
	cmpl $3, %eax
	je 5f
	cmpl $5, %eax
	je take_nmis
	movw $0x604, %dx /* not there on every machine: q35 */
	movw $0x2000, %ax
	outw %ax, %dx
	jmp 1b
3:	movl $42, %eax
	outl %eax, $0xf4
4:	lidt null_idt
	int $3
5:	movb $0xfe, %al
	outb %al, $0x64
	jmp 5b

	.balign 8
	.globl patched
patched:
	incl other
	jmp 2b

take_nmis:
	lgdt gdt_pointer
	ljmp $8, $6f
6:	movl $on_nmi, %eax
	movw %ax, nmi_gate
	shrl $16, %eax
	movw %ax, nmi_gate + 6
	lidt idt_pointer
	movl $0x1ff, 0xfee000f0 /* the local APIC: on */
	movl $0x400, 0xfee00360 /* its LINT1: an NMI */
	movl $0, command
	jmp 1b
on_nmi:
	lock incl nmis
	iret

	.data
	.balign 8
	.globl counter, other, command
counter: .long 0
other:	.long 0
command: .long 0
nmis:	.long 0
null_idt: .word 0
	.long 0
	.balign 8
gdt:	.quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
gdt_pointer: .word 23
	.long gdt
	.balign 8
idt:	.quad 0, 0
nmi_gate: .word 0, 8, 0x8e00, 0
idt_pointer: .word 23
	.long idt
	.bss
	.skip 4096
stack_top:
