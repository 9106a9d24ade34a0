/* SPDX-License-Identifier: MIT */
/* A core of arbitrary bytes, as a QEMU that its guest has taken over may write it. */
#define _GNU_SOURCE /* memfd_create */
#include "target/core.h"
#include "seed.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void rs_fuzz_seeds(void)
{
	const struct {
		Elf64_Ehdr head;
		Elf64_Phdr one;
	} seed = {.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1},
		  .one = {.p_type = PT_LOAD, .p_paddr = 4096}};

	rs_fuzz_seed("one", &seed, sizeof(seed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct rs_error err;
	struct stat st;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	rs_core_tidy(fd, &err);
	/* It changes what is there, and adds nothing. */
	if (fstat(fd, &st) || st.st_size != (off_t)size)
		abort();
	close(fd);
	return 0;
}
