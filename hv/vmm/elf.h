/* SPDX-License-Identifier: MIT */
/*
 * Loads an ELF64 x86-64 executable with a PVH entry (note XEN_ELFNOTE_PHYS32_ENTRY) into guest RAM.
 *
 * Called by the VMM before the guest runs, on any thread. The file is hostile: every number in it is
 * bounded before it is used, and nothing is written to RAM unless the whole file was found good.
 */
#ifndef RS_HV_VMM_ELF_H
#define RS_HV_VMM_ELF_H

#include "base/error.h"
#include <ringside/types.h>

#define RS_ELF_MAX_HEADERS 128u      /* program headers that are looked at */
#define RS_ELF_MAX_FILE (1ull << 30) /* bytes of a kernel file */
/* Guest-physical addresses below this are the VMM's, for boot data: no segment may lie there. */
#define RS_ELF_LOWEST 0x8000u

struct rs_elf_image {
	rs_gpa_t entry; /* PVH entry, below 4 GiB, inside a segment */
	rs_gpa_t low;   /* the loaded segments lie in [low, high) */
	rs_gpa_t high;
};

/*
 * Copies the segments of `file` to `ram`, which is guest-physical [0, ram_size). `name` is for messages
 * ("kernel 'name': ..."). -ENOEXEC: damaged, or not a kernel that can be booted so;
 * -ERANGE: does not fit the RAM.
 */
int rs_elf_load(const char *name, const void *file, size_t file_size, void *ram, uint64_t ram_size,
		struct rs_elf_image *out, struct rs_error *err);

/* The same for the file at `path`; its errors also are those of open(2), fstat(2) and mmap(2). */
int rs_elf_load_path(const char *path, void *ram, uint64_t ram_size, struct rs_elf_image *out,
		     struct rs_error *err);

#endif
