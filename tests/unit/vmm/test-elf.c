/* SPDX-License-Identifier: MIT */
#include "vmm/elf.h"

#include <elf.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#define RAM (1u << 20)

struct kernel {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	Elf64_Nhdr other;
	char other_name[8];
	Elf64_Nhdr nh;
	char name[4];
	uint64_t entry __attribute__((packed, aligned(4)));
	uint8_t text[64];
};

static uint8_t ram[RAM];

static struct kernel good(void)
{
	struct kernel k = {
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_EXEC,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_phoff = offsetof(struct kernel, ph),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 3},
		.ph = {{.p_type = PT_LOAD,
			.p_offset = offsetof(struct kernel, text),
			.p_paddr = 0x10000,
			.p_filesz = 64,
			.p_memsz = 8192},
		       {.p_type = PT_LOAD, .p_paddr = 0x20000, .p_filesz = 64, .p_memsz = 64},
		       {.p_type = PT_NOTE,
			.p_offset = offsetof(struct kernel, other),
			.p_filesz = offsetof(struct kernel, text) - offsetof(struct kernel, other),
			.p_align = 4}},
		.other = {5, 0, 18}, /* the right type under another name does not count */
		.other_name = "XenX",
		.nh = {4, 8, 18},
		.name = "Xen",
		.entry = 0x10004};

	memset(k.text, 0x5a, sizeof(k.text));
	return k;
}

static void test_loads(void)
{
	struct kernel k = good();
	struct rs_elf_image image;

	memset(ram, 0xee, RAM);
	g_assert_cmpint(rs_elf_load("k", &k, sizeof(k), ram, RAM, &image, NULL), ==, 0);
	g_assert_cmphex(image.entry.v, ==, 0x10004);
	g_assert_cmphex(image.low.v, ==, 0x10000);
	g_assert_cmphex(image.high.v, ==, 0x20040);
	g_assert_cmphex(ram[0xffff], ==, 0xee);
	g_assert_cmphex(ram[0x10000], ==, 0x5a);
	g_assert_cmphex(ram[0x1003f], ==, 0x5a);
	g_assert_cmphex(ram[0x10040], ==, 0); /* .bss */
	g_assert_cmphex(ram[0x11fff], ==, 0);
	g_assert_cmphex(ram[0x12000], ==, 0xee);
	g_assert_cmpmem(ram + 0x20000, 64, &k, 64);
}

static void refuse(const struct kernel *k, size_t size, int ret, const char *message)
{
	struct rs_elf_image image = {.high = {7}};
	struct rs_error err = {0};

	memset(ram, 0, RAM);
	g_assert_cmpint(rs_elf_load("k", k, size, ram, RAM, &image, &err), ==, ret);
	g_assert_cmpstr(err.message, ==, message);
	g_assert_cmpuint(image.high.v, ==, 7);
	for (size_t i = 0; i < RAM; i++)
		g_assert_cmpuint(ram[i], ==, 0);
}

#define REFUSE(change, ret, message)                                                               \
	do {                                                                                       \
		struct kernel k = good();                                                          \
		change;                                                                            \
		refuse(&k, sizeof(k), ret, "kernel 'k': " message);                                \
	} while (0)

static void test_is_program(void)
{
	struct kernel k = good();

	g_assert_false(rs_elf_is_program(&k, sizeof(k)));
	k.ph[2].p_type = PT_INTERP;
	g_assert_true(rs_elf_is_program(&k, sizeof(k)));
	g_assert_true(rs_elf_is_program(&k, offsetof(struct kernel, other)));
	/* The header that says so is not all there. */
	g_assert_false(rs_elf_is_program(&k, offsetof(struct kernel, other) - 1));
	g_assert_false(rs_elf_is_program(&k, sizeof(k.eh) - 1));
	k.eh.e_phoff = UINT64_MAX - 8;
	g_assert_false(rs_elf_is_program(&k, sizeof(k)));
	k = good();
	k.eh.e_type = ET_DYN;
	g_assert_false(rs_elf_is_program(&k, sizeof(k)));
	k.ph[1].p_paddr = 0;
	g_assert_true(rs_elf_is_program(&k, sizeof(k)));
	k.eh.e_type = ET_EXEC;
	g_assert_false(rs_elf_is_program(&k, sizeof(k)));
}

static void test_header(void)
{
	struct kernel k0 = good();

	refuse(&k0, 10, -ENOEXEC, "kernel 'k': not an ELF file (only 10 bytes)");
	REFUSE(k.eh.e_ident[1] = 'e', -ENOEXEC, "not an ELF file");
	REFUSE(k.eh.e_machine = EM_AARCH64, -ENOEXEC, "not a 64-bit x86-64 ELF file (machine 183)");
	REFUSE(k.eh.e_ident[EI_CLASS] = ELFCLASS32, -ENOEXEC,
	       "not a 64-bit x86-64 ELF file (machine 62)");
	REFUSE(k.eh.e_version = 9, -ENOEXEC, "ELF version 9 is unknown");
	REFUSE(k.eh.e_type = ET_REL, -ENOEXEC, "not an executable (ELF type 1)");
	REFUSE(k.eh.e_phnum = 0, -ENOEXEC, "no program headers");
	REFUSE(k.eh.e_phnum = 0xffff, -ENOEXEC, "65535 program headers; at most 128 are taken");
	REFUSE(k.eh.e_phentsize = 32, -ENOEXEC, "program headers of 32 bytes instead of 56");
	REFUSE(k.eh.e_phoff = UINT64_MAX - 8, -ENOEXEC,
	       "truncated: program headers lie outside the file");
	REFUSE(k.eh.e_phnum = 100, -ENOEXEC, "truncated: program headers lie outside the file");
}

static void test_segments(void)
{
	REFUSE(k.ph[0].p_filesz = 9000, -ENOEXEC,
	       "segment 0 has more bytes in the file than in memory");
	REFUSE(k.ph[0].p_offset = sizeof(k) - 63, -ENOEXEC,
	       "truncated: segment 0 lies outside the file");
	REFUSE(k.ph[0].p_offset = UINT64_MAX, -ENOEXEC,
	       "truncated: segment 0 lies outside the file");
	REFUSE(k.ph[1].p_paddr = RAM - 63, -ERANGE,
	       "segment 1 (0xfffc1, 0x40 bytes) lies outside the guest's 1 MiB");
	REFUSE(k.ph[1].p_paddr = UINT64_MAX - 31, -ERANGE,
	       "segment 1 (0xffffffffffffffe0, 0x40 bytes) lies outside the guest's 1 MiB");
	REFUSE(k.ph[1].p_memsz = UINT64_MAX, -ERANGE,
	       "segment 1 (0x20000, 0xffffffffffffffff bytes) lies outside the guest's 1 MiB");
	REFUSE(k.ph[1].p_paddr = 0x1000, -ERANGE,
	       "segment 1 lies at 0x1000, below 0x8000, where boot data goes");
	REFUSE(k.ph[1].p_paddr = 0x11fff, -ENOEXEC, "segments 0 and 1 overlap at 0x11fff");
	REFUSE((k.ph[0].p_type = k.ph[1].p_type = PT_NULL), -ENOEXEC, "nothing to load");
}

static void test_notes(void)
{
	REFUSE(k.nh.n_type = 17, -ENOEXEC,
	       "no PVH entry (note Xen PHYS32_ENTRY): it cannot be booted directly");
	REFUSE(k.ph[2].p_type = PT_NULL, -ENOEXEC,
	       "no PVH entry (note Xen PHYS32_ENTRY): it cannot be booted directly");
	REFUSE(k.nh.n_descsz = 5, -ENOEXEC, "the PVH entry note has 5 bytes");
	REFUSE(k.nh.n_descsz = 0xfffffffc, -ENOEXEC,
	       "a note (header 2) is longer than its segment");
	REFUSE(k.other.n_namesz = 0xffffffff, -ENOEXEC,
	       "a note (header 2) is longer than its segment");
	REFUSE(k.ph[2].p_offset = sizeof(k), -ENOEXEC,
	       "truncated: notes (header 2) lie outside the file");
	REFUSE(k.entry = 0x30000, -ENOEXEC, "the PVH entry 0x30000 lies in no segment");
	REFUSE(k.entry = 0x100010004, -ENOEXEC, "the PVH entry 0x100010004 lies in no segment");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vmm/elf/loads", test_loads);
	g_test_add_func("/vmm/elf/is-program", test_is_program);
	g_test_add_func("/vmm/elf/header", test_header);
	g_test_add_func("/vmm/elf/segments", test_segments);
	g_test_add_func("/vmm/elf/notes", test_notes);
	return g_test_run();
}
