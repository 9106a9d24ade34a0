/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create */
#include "target/core.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1u << 20)

static int make_file(void)
{
	int fd = memfd_create("core", MFD_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	return fd;
}

static void read_at(int fd, void *out, size_t size, uint64_t at)
{
	g_assert_cmpint(pread(fd, out, size, (off_t)at), ==, (ssize_t)size);
}

static void test_a_core_has_all_pieces(void)
{
	g_autofree uint8_t *bytes = g_malloc0(2 * PIECE), *seen = g_malloc(PIECE);
	const struct rs_core_memory memory[] = {{0, bytes, PIECE},
						{1ull << 32, bytes + PIECE, PIECE}};
	const struct user_regs_struct vcpus[2] = {{.rip = 7}, {.rip = 8}};
	const struct rs_core core = {memory, 2, vcpus, 2};
	int fd = make_file();
	Elf64_Phdr heads[3];
	Elf64_Ehdr head;
	struct stat st;

	bytes[5] = 1;
	bytes[2 * PIECE - 1] = 2;
	g_assert_cmpint(rs_core_write(fd, &core, NULL), ==, 0);
	read_at(fd, &head, sizeof(head), 0);
	g_assert_cmpint(head.e_type, ==, ET_CORE);
	g_assert_cmpint(head.e_phnum, ==, 3);
	read_at(fd, heads, sizeof(heads), head.e_phoff);
	for (int i = 0; i < 2; i++) {
		g_assert_cmpuint(heads[i + 1].p_paddr, ==, memory[i].at);
		g_assert_cmpuint(heads[i + 1].p_vaddr, ==, memory[i].at);
		read_at(fd, seen, PIECE, heads[i + 1].p_offset);
		g_assert_cmpmem(seen, PIECE, memory[i].bytes, PIECE);
	}
	g_assert_cmpint(fstat(fd, &st), ==, 0);
	g_assert_cmpint(st.st_blocks * 512, <, PIECE);
	close(fd);
}

static void test_a_core_has_registers(void)
{
	const struct user_regs_struct vcpus[2] = {{.rip = 7}, {.rip = 8, .rsp = 9}};
	const struct rs_core core = {.vcpus = vcpus, .n_vcpus = 2};
	const struct user_regs_struct *regs;
	struct elf_prstatus status;
	int fd = make_file();
	Elf64_Phdr notes;
	Elf64_Nhdr note;

	g_assert_cmpint(rs_core_write(fd, &core, NULL), ==, 0);
	read_at(fd, &notes, sizeof(notes), sizeof(Elf64_Ehdr));
	g_assert_cmpint(notes.p_type, ==, PT_NOTE);
	for (uint64_t i = 0, at = notes.p_offset; i < 2; i++, at += notes.p_filesz / 2) {
		read_at(fd, &note, sizeof(note), at);
		g_assert_cmpint(note.n_type, ==, NT_PRSTATUS);
		g_assert_cmpuint(note.n_descsz, ==, sizeof(status));
		read_at(fd, &status, sizeof(status), at + sizeof(note) + 8);
		regs = (const void *)&status.pr_reg;
		g_assert_cmpuint(regs->rip, ==, 7 + i);
		g_assert_cmpint(status.pr_pid, ==, (int)i + 1);
	}
	close(fd);
}

static void test_qemus_core_gets_addresses_and_holes(void)
{
	g_autofree uint8_t *bytes = g_malloc0(PIECE);
	Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
			   .e_phoff = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2};
	Elf64_Phdr heads[2] = {{.p_type = PT_LOAD, .p_paddr = 1ull << 32},
			       {.p_type = PT_LOAD, .p_paddr = 4096, .p_vaddr = 99}};
	int fd = make_file();
	struct stat st;

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), heads, sizeof(heads));
	g_assert_cmpint(pwrite(fd, bytes, PIECE, 0), ==, PIECE);
	g_assert_cmpint(rs_core_tidy(fd, NULL), ==, 0);
	read_at(fd, heads, sizeof(heads), sizeof(head));
	g_assert_cmpuint(heads[0].p_vaddr, ==, 1ull << 32);
	g_assert_cmpuint(heads[1].p_vaddr, ==, 99);
	g_assert_cmpint(fstat(fd, &st), ==, 0);
	g_assert_cmpint(st.st_size, ==, PIECE);
	g_assert_cmpint(st.st_blocks * 512, <, PIECE / 4);
	close(fd);
}

static void test_what_is_no_core(void)
{
	Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
			   .e_phoff = 1ull << 63,
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1};
	int fd = make_file();

	g_assert_cmpint(rs_core_tidy(fd, NULL), ==, -EBADMSG);
	g_assert_cmpint(pwrite(fd, &head, sizeof(head), 0), ==, sizeof(head));
	g_assert_cmpint(rs_core_tidy(fd, NULL), ==, -EBADMSG);
	head.e_phnum = 0xffff;
	g_assert_cmpint(pwrite(fd, &head, sizeof(head), 0), ==, sizeof(head));
	g_assert_cmpint(rs_core_tidy(fd, NULL), ==, -EBADMSG);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/core/pieces", test_a_core_has_all_pieces);
	g_test_add_func("/core/registers", test_a_core_has_registers);
	g_test_add_func("/core/qemu", test_qemus_core_gets_addresses_and_holes);
	g_test_add_func("/core/none", test_what_is_no_core);
	return g_test_run();
}
