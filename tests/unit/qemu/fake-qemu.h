/* SPDX-License-Identifier: MIT */
/* What a test and its fake-qemu.c share: it lies at the start of the guest's memory. */
#ifndef RS_TEST_FAKE_QEMU_H
#define RS_TEST_FAKE_QEMU_H

#include <stdint.h>

#define FAKE_QEMU_MEMORY (1u << 20)

enum {
	FAKE_QEMU_SERVES,
	FAKE_QEMU_WORKS,  /* and answers nobody */
	FAKE_QEMU_SLEEPS, /* likewise; SIGUSR1 wakes it, and it looks what to do */
	FAKE_QEMU_RESETS, /* its guest has reset, so it is about to end, and hangs */
};

struct fake_qemu {
	volatile uint32_t order; /* the test's: FAKE_QEMU_* */
	volatile uint32_t does;  /* what it does now */
	volatile uint32_t running;
	volatile uint32_t pauses; /* clients of its gdb stub */
};

#endif
