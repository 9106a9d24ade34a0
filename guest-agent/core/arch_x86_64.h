/* SPDX-License-Identifier: MIT */
/* x86-64: see arch.h. Included by core/ only. */
#ifndef RS_AGENT_ARCH_X86_64_H
#define RS_AGENT_ARCH_X86_64_H

#include <ringside/descriptor.h>
#include <ringside/region.h>
#include <ringside/types.h>

#define RS_ARCH RS_ARCH_X86_64

/* The CPU must allow port I/O at our privilege level. */
static inline void rs_arch_port_write(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void rs_arch_site_nop(uint8_t out[RS_SITE_BYTES])
{
	out[0] = 0x0f;
	out[1] = 0x1f;
	out[2] = 0x44;
	out[3] = 0x00;
	out[4] = 0x00;
}

/* JMP rel32 from `code` to `target`. Both lie in one image, so the distance fits. */
static inline void rs_arch_site_jump(uint8_t out[RS_SITE_BYTES], uintptr_t code, uintptr_t target)
{
	uint32_t distance = (uint32_t)(target - (code + RS_SITE_BYTES));

	out[0] = 0xe9;
	for (uint32_t i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)(distance >> (8 * i));
}

#endif
