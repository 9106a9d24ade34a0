/* SPDX-License-Identifier: MIT */
/* x86-64: see arch.h. Included by core/ and by ports. */
#ifndef RS_AGENT_ARCH_X86_64_H
#define RS_AGENT_ARCH_X86_64_H

#include <ringside/atomic.h>
#include <ringside/descriptor.h>
#include <ringside/region.h>
#include <ringside/types.h>

#define RS_ARCH RS_ARCH_X86_64
#define RS_ARCH_PAGING RS_PAGING_X86_64_4 /* unless the port says otherwise */

/* Where a function keeps a frame pointer: the caller's frame, then the return address. */
#define RS_ARCH_FRAME_BYTES 16u

static inline uintptr_t rs_arch_frame_caller(uintptr_t frame)
{
	return *(const volatile uintptr_t *)frame;
}

static inline uintptr_t rs_arch_frame_back(uintptr_t frame)
{
	return ((const volatile uintptr_t *)frame)[1];
}

/* The CPU must allow port I/O at our privilege level. */
static inline void rs_arch_port_write(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

#define RS_ARCH_BREAKPOINT 0xccu /* the instruction of one byte */
/* What a site begins with while nobody has put a breakpoint there. */
#define RS_ARCH_SITE_NOP 0x0fu
#define RS_ARCH_SITE_JUMP 0xe9u

static inline void rs_arch_site_nop(uint8_t out[RS_SITE_BYTES])
{
	out[0] = RS_ARCH_SITE_NOP;
	out[1] = 0x1f;
	out[2] = 0x44;
	out[3] = 0x00;
	out[4] = 0x00;
}

/* JMP rel32 from `code` to `target`. Both lie in one image, so the distance fits. */
static inline void rs_arch_site_jump(uint8_t out[RS_SITE_BYTES], uintptr_t code, uintptr_t target)
{
	uint32_t distance = (uint32_t)(target - (code + RS_SITE_BYTES));

	out[0] = RS_ARCH_SITE_JUMP;
	for (uint32_t i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)(distance >> (8 * i));
}

/*
 * Makes the site's bytes `next` in writable memory that CPUs may be running meanwhile: they see the
 * site as it was or as it is to be. For that the five bytes are stored at once, with the rest of
 * the aligned word that they lie in (site_x86_64.h). If anybody has changed a byte of that rest
 * since it was read, the exchange fails and is tried again. So no change is lost.
 */
static inline void rs_arch_site_store(uintptr_t code, const uint8_t next[RS_SITE_BYTES])
{
	uint64_t *word = (uint64_t *)(code & ~(uintptr_t)7);
	uint64_t now = rs_load(word), then;

	do {
		then = now;
		__builtin_memcpy((uint8_t *)&then + (code & 7), next, RS_SITE_BYTES);
	} while (!rs_shared_cas64(word, &now, then));
}

#endif
