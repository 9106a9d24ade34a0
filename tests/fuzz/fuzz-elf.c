/* SPDX-License-Identifier: MIT */
/* The ELF loader on arbitrary bytes. It writes to RAM only if it accepts the file. */
#include "seed.h"
#include "vmm/elf.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#define RAM (256u << 10)

struct small_kernel {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	Elf64_Nhdr nh;
	char name[4];
	uint64_t entry;
	uint8_t text[32];
};

static void rs_fuzz_seeds(void)
{
	struct small_kernel k = {
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_EXEC,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = offsetof(struct small_kernel, ph),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 3},
		.ph = {{.p_type = PT_LOAD,
			.p_offset = offsetof(struct small_kernel, text),
			.p_paddr = 0x10000,
			.p_filesz = 32,
			.p_memsz = 8192},
		       {.p_type = PT_LOAD, .p_paddr = 0x20000, .p_filesz = 64, .p_memsz = 64},
		       {.p_type = PT_NOTE,
			.p_offset = offsetof(struct small_kernel, nh),
			.p_filesz = sizeof(Elf64_Nhdr) + 12,
			.p_align = 4}},
		.nh = {4, 8, 18},
		.name = "Xen",
		.entry = 0x10000};

	rs_fuzz_seed("good", &k, sizeof(k));
	rs_fuzz_seed("truncated", &k, sizeof(k) - 20);
	k.ph[1].p_paddr = 0x11000;
	rs_fuzz_seed("overlap", &k, sizeof(k));
	k.ph[1].p_paddr = UINT64_MAX - 16;
	rs_fuzz_seed("wraps", &k, sizeof(k));
	k.eh.e_phnum = 0xffff;
	rs_fuzz_seed("many", &k, sizeof(k));
	k.ph[2].p_type = PT_INTERP;
	k.eh.e_phnum = 3;
	rs_fuzz_seed("program", &k, sizeof(k));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t ram[RAM], clean[RAM];
	struct rs_elf_image image = {0};
	struct rs_error err = {0};

	rs_elf_is_program(data, size);
	if (rs_elf_load("fuzz", data, size, ram, RAM, &image, &err)) {
		assert(err.code > 0 && !strncmp(err.message, "kernel 'fuzz': ", 15));
		assert(image.high.v == 0);
		assert(!memcmp(ram, clean, RAM));
		return 0;
	}
	assert(image.low.v >= RS_ELF_LOWEST && image.low.v < image.high.v && image.high.v <= RAM);
	assert(image.entry.v >= image.low.v && image.entry.v < image.high.v);
	memset(ram, 0, RAM);
	return 0;
}
