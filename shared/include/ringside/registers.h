/* SPDX-License-Identifier: MIT */
/*
 * The order in which the registers of a thread stand in an array of 64-bit numbers, where guest and
 * host speak of them. One order for each architecture: rs_guest_info.arch says which one it is. A
 * set of them is a mask, bit n for register n.
 */
#ifndef RINGSIDE_REGISTERS_H
#define RINGSIDE_REGISTERS_H

#include <ringside/types.h>

#define RS_REGISTERS_MAX 48 /* of any architecture */

/* As the CPU numbers them, then what the thread runs and its flags. */
enum rs_registers_x86_64 {
	RS_X86_64_RAX = 0,
	RS_X86_64_RCX = 1,
	RS_X86_64_RDX = 2,
	RS_X86_64_RBX = 3,
	RS_X86_64_RSP = 4,
	RS_X86_64_RBP = 5,
	RS_X86_64_RSI = 6,
	RS_X86_64_RDI = 7,
	RS_X86_64_R8 = 8,
	RS_X86_64_R9 = 9,
	RS_X86_64_R10 = 10,
	RS_X86_64_R11 = 11,
	RS_X86_64_R12 = 12,
	RS_X86_64_R13 = 13,
	RS_X86_64_R14 = 14,
	RS_X86_64_R15 = 15,
	RS_X86_64_RIP = 16,
	RS_X86_64_RFLAGS = 17,
	RS_X86_64_REGISTERS = 18
};

#endif
