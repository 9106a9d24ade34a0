/* SPDX-License-Identifier: MIT */
/*
 * Loads an ELF64 x86-64 executable with a PVH entry (note XEN_ELFNOTE_PHYS32_ENTRY) into guest RAM.
 *
 * The VMM calls it before the guest runs, on any thread. The file is hostile: every number in it is
 * bounded before its use, and nothing is written to RAM before the whole file was checked.
 */
#ifndef RS_HV_VMM_ELF_H
#define RS_HV_VMM_ELF_H

#include "base/error.h"
#include <ringside/types.h>
#include <stdbool.h>

#define RS_ELF_MAX_HEADERS 128u      /* program headers at most */
#define RS_ELF_MAX_FILE (1ull << 30) /* bytes of a kernel file */
/* Guest-physical addresses below this are the VMM's, for boot data: no segment may lie there. */
#define RS_ELF_LOWEST 0x8000u

struct rs_elf_image {
	rs_gpa_t entry; /* PVH entry, below 4 GiB, inside a segment */
	rs_gpa_t low;   /* the loaded segments lie in [low, high) */
	rs_gpa_t high;
};

/*
 * Copies the segments of `file` to `ram`, which is guest-physical [0, ram_size). `name` is for
 * messages ("kernel 'name': ..."). -ENOEXEC: damaged, or not a kernel that PVH can boot; -ERANGE:
 * it does not fit the RAM.
 */
int rs_elf_load(const char *name, const void *file, size_t file_size, void *ram, uint64_t ram_size,
		struct rs_elf_image *out, struct rs_error *err);

/* The same for the file at `path`. Also has the errors of open(2), fstat(2) and mmap(2). */
int rs_elf_load_path(const char *path, void *ram, uint64_t ram_size, struct rs_elf_image *out,
		     struct rs_error *err);

/*
 * Whether a file that begins with these bytes is a program of this host: it names a loader, or may
 * lie anywhere. False if it is neither, or not ELF64.
 */
bool rs_elf_is_program(const void *head, size_t size);

#endif
