/* SPDX-License-Identifier: MIT */
/*
 * The memory of a guest of x86-64 as an ELF core, which gdb and crash open: a PT_LOAD for each
 * piece of memory, whose virtual addresses are the physical ones, and an NT_PRSTATUS for each vCPU.
 * The file has holes where the memory is zero. Any thread. May take as long as the disk does.
 */
#ifndef RS_HV_TARGET_CORE_H
#define RS_HV_TARGET_CORE_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

struct rs_core_memory {
	uint64_t at; /* guest-physical */
	const uint8_t *bytes;
	uint64_t size;
};

struct rs_core {
	const struct rs_core_memory *memory;
	size_t n_memory;
	const struct user_regs_struct *vcpus; /* in their order */
	uint32_t n_vcpus;                     /* 0: their registers are not known */
};

/*
 * Makes the file, for its owner alone, and opens it to be read and written. What there was is
 * removed.
 */
int rs_core_create(const char *path, int *fd, struct rs_error *err);

/* Into an empty file. Errors: those of the system. */
int rs_core_write(int fd, const struct rs_core *core, struct rs_error *err);

/*
 * Of a core that QEMU has written, which may hold anything: gives pieces without virtual addresses
 * their physical ones, and the file holes. `fd` can be read and written. -EBADMSG: it is none.
 * Others: those of the system.
 */
int rs_core_tidy(int fd, struct rs_error *err);

#endif
