/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* fallocate */
#include "target/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#define BLOCK 65536u    /* bytes that are looked at for a hole */
#define HEADERS_MAX 512 /* program headers of a core of somebody else's */

static const char owner[8] = "CORE";

struct note {
	Elf64_Nhdr head;
	char name[sizeof(owner)];
	char status[sizeof(struct elf_prstatus)]; /* right behind, aligned to 4 */
};

int rs_core_create(const char *path, int *fd, struct rs_error *err)
{
	unlink(path);
	/* What stands in a guest's memory is not for everybody. */
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *fd < 0 ? rs_error_set(err, errno, "%s: %s", path, g_strerror(errno)) : 0;
}

static int write_at(int fd, const void *bytes, uint64_t size, uint64_t at, struct rs_error *err)
{
	const char *from = bytes;

	while (size) {
		ssize_t n = pwrite(fd, from, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rs_error_set(err, n ? errno : ENOSPC, "the core: %s",
					    g_strerror(n ? errno : ENOSPC));
		from += n;
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return 0;
}

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* The file has its size already: what is not written is zero. */
static int write_memory(int fd, const struct rs_core_memory *memory, uint64_t at,
			struct rs_error *err)
{
	int ret = 0;

	for (uint64_t done = 0; done < memory->size && !ret; done += BLOCK) {
		uint64_t size = MIN(BLOCK, memory->size - done);

		if (!is_zero(memory->bytes + done, size))
			ret = write_at(fd, memory->bytes + done, size, at + done, err);
	}
	return ret;
}

static int write_notes(int fd, const struct rs_core *core, uint64_t at, struct rs_error *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < core->n_vcpus && !ret; i++) {
		struct elf_prstatus status = {.pr_pid = (pid_t)i + 1};
		struct note note = {
			.head = {sizeof("CORE"), sizeof(status), NT_PRSTATUS},
		};

		memcpy(note.name, owner, sizeof(note.name));
		memcpy(&status.pr_reg, &core->vcpus[i], sizeof(core->vcpus[i]));
		memcpy(note.status, &status, sizeof(status));
		ret = write_at(fd, &note, sizeof(note), at + i * sizeof(note), err);
	}
	return ret;
}

int rs_core_write(int fd, const struct rs_core *core, struct rs_error *err)
{
	const uint64_t n = core->n_memory + 1;
	const uint64_t notes = sizeof(Elf64_Ehdr) + n * sizeof(Elf64_Phdr);
	uint64_t at = (notes + core->n_vcpus * sizeof(struct note) + 4095) & ~4095ull;
	g_autofree Elf64_Phdr *heads = g_new0(Elf64_Phdr, n);
	const Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)n,
	};
	int ret;

	heads[0] = (Elf64_Phdr){.p_type = PT_NOTE,
				.p_offset = notes,
				.p_filesz = core->n_vcpus * sizeof(struct note),
				.p_align = 4};
	for (size_t i = 0; i < core->n_memory; i++) {
		const struct rs_core_memory *memory = &core->memory[i];

		heads[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
					    .p_flags = PF_R | PF_W | PF_X,
					    .p_offset = at,
					    .p_vaddr = memory->at,
					    .p_paddr = memory->at,
					    .p_filesz = memory->size,
					    .p_memsz = memory->size};
		at += memory->size;
	}
	if (ftruncate(fd, (off_t)at))
		return rs_error_set(err, errno, "the core: %s", g_strerror(errno));
	ret = write_at(fd, &head, sizeof(head), 0, err);
	if (!ret)
		ret = write_at(fd, heads, n * sizeof(*heads), sizeof(head), err);
	if (!ret)
		ret = write_notes(fd, core, notes, err);
	for (size_t i = 0; i < core->n_memory && !ret; i++)
		ret = write_memory(fd, &core->memory[i], heads[i + 1].p_offset, err);
	return ret;
}

/* ---- a core of QEMU's ---- */

/* gdb goes by virtual addresses, and crash by physical ones. */
static int place(int fd, struct rs_error *err)
{
	Elf64_Ehdr head;
	int ret = 0;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > HEADERS_MAX)
		return rs_error_set(err, EBADMSG, "QEMU has written no core of 64 bits");
	for (unsigned int i = 0; i < head.e_phnum && !ret; i++) {
		const uint64_t at = head.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr one;

		if (pread(fd, &one, sizeof(one), (off_t)at) != sizeof(one))
			return rs_error_set(err, EBADMSG, "QEMU's core is cut off");
		if (one.p_type != PT_LOAD || one.p_vaddr)
			continue;
		one.p_vaddr = one.p_paddr;
		ret = write_at(fd, &one, sizeof(one), at, err);
	}
	return ret;
}

/* Some file systems have no holes, and the file is right without. */
static void make_holes(int fd)
{
	g_autofree uint8_t *block = g_malloc(BLOCK);
	off_t at = 0;
	ssize_t n;

	/* Those that it has already are passed over. */
	for (; (at = lseek(fd, at, SEEK_DATA)) >= 0 && (n = pread(fd, block, BLOCK, at)) > 0;
	     at += n) {
		if (!is_zero(block, (uint64_t)n))
			continue;
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n))
			return;
	}
}

int rs_core_tidy(int fd, struct rs_error *err)
{
	int ret = place(fd, err);

	if (!ret)
		make_holes(fd);
	return ret;
}
