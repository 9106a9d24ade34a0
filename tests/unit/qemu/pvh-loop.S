/* SPDX-License-Identifier: MIT */
/*
 * The smallest PVH kernel that the QEMU tests need: counts at `counter` in a loop that holds one 5-byte NOP, which a test
 * turns into a JMP to code that counts at `other` instead. A byte stored at `command` from outside asks
 * for an end: 1 isa-debug-exit with 42, 2 a triple fault, 3 a reset, 4 power off. 32-bit, no paging.
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

	.data
	.balign 8
	.globl counter, other, command
counter: .long 0
other:	.long 0
command: .long 0
null_idt: .word 0
	.long 0
	.bss
	.skip 4096
stack_top:
