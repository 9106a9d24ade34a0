/* SPDX-License-Identifier: MIT */
#include "vmm/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XEN_ELFNOTE_PHYS32_ENTRY 18u

struct loader {
	const char *name;
	const uint8_t *file;
	uint64_t file_size;
	uint64_t ram_size;
	uint32_t count; /* program headers */
	Elf64_Phdr phdr[RS_ELF_MAX_HEADERS];
	bool has_entry;
	uint64_t entry;
};

#define FAIL(ld, err, code, format, ...)                                                           \
	rs_error_set(err, code, "kernel '%s': " format, (ld)->name, ##__VA_ARGS__)

/* [at, at + size) lies in [0, limit), without overflow. */
static bool fits(uint64_t at, uint64_t size, uint64_t limit)
{
	return at <= limit && size <= limit - at;
}

static int check_header(struct loader *ld, Elf64_Ehdr *eh, struct rs_error *err)
{
	if (ld->file_size < sizeof(*eh))
		return FAIL(ld, err, ENOEXEC, "not an ELF file (only %" PRIu64 " bytes)",
			    ld->file_size);
	memcpy(eh, ld->file, sizeof(*eh));
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return FAIL(ld, err, ENOEXEC, "not an ELF file");
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh->e_machine != EM_X86_64)
		return FAIL(ld, err, ENOEXEC, "not a 64-bit x86-64 ELF file (machine %u)",
			    eh->e_machine);
	if (eh->e_ident[EI_VERSION] != EV_CURRENT || eh->e_version != EV_CURRENT)
		return FAIL(ld, err, ENOEXEC, "ELF version %u is unknown", eh->e_version);
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return FAIL(ld, err, ENOEXEC, "not an executable (ELF type %u)", eh->e_type);
	if (eh->e_phnum == 0)
		return FAIL(ld, err, ENOEXEC, "no program headers");
	if (eh->e_phnum > RS_ELF_MAX_HEADERS)
		return FAIL(ld, err, ENOEXEC, "%u program headers; at most %u are taken",
			    eh->e_phnum, RS_ELF_MAX_HEADERS);
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return FAIL(ld, err, ENOEXEC, "program headers of %u bytes instead of %zu",
			    eh->e_phentsize, sizeof(Elf64_Phdr));
	if (!fits(eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr), ld->file_size))
		return FAIL(ld, err, ENOEXEC, "truncated: program headers lie outside the file");
	return 0;
}

bool rs_elf_is_program(const void *head, size_t size)
{
	Elf64_Ehdr eh;

	if (size < sizeof(eh))
		return false;
	memcpy(&eh, head, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (uint32_t i = 0; i < eh.e_phnum; i++) {
		uint64_t at = i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (!fits(eh.e_phoff, at + sizeof(ph), size))
			return false;
		memcpy(&ph, (const uint8_t *)head + eh.e_phoff + at, sizeof(ph));
		if (ph.p_type == PT_INTERP)
			return true;
		/* Linked to address 0, where no kernel can be loaded. */
		if (eh.e_type == ET_DYN && ph.p_type == PT_LOAD && ph.p_paddr < RS_ELF_LOWEST)
			return true;
	}
	return false;
}

static int check_overlap(struct loader *ld, uint32_t i, struct rs_error *err)
{
	const Elf64_Phdr *a = &ld->phdr[i];

	for (uint32_t j = 0; j < i; j++) {
		const Elf64_Phdr *b = &ld->phdr[j];

		if (b->p_type != PT_LOAD || b->p_memsz == 0)
			continue;
		if (a->p_paddr < b->p_paddr + b->p_memsz && b->p_paddr < a->p_paddr + a->p_memsz)
			return FAIL(ld, err, ENOEXEC, "segments %u and %u overlap at 0x%" PRIx64, j,
				    i, a->p_paddr > b->p_paddr ? a->p_paddr : b->p_paddr);
	}
	return 0;
}

static int check_segment(struct loader *ld, uint32_t i, struct rs_error *err)
{
	const Elf64_Phdr *ph = &ld->phdr[i];

	if (ph->p_filesz > ph->p_memsz)
		return FAIL(ld, err, ENOEXEC,
			    "segment %u has more bytes in the file than in memory", i);
	if (!fits(ph->p_offset, ph->p_filesz, ld->file_size))
		return FAIL(ld, err, ENOEXEC, "truncated: segment %u lies outside the file", i);
	if (ph->p_memsz == 0)
		return 0;
	if (!fits(ph->p_paddr, ph->p_memsz, ld->ram_size))
		return FAIL(ld, err, ERANGE,
			    "segment %u (0x%" PRIx64 ", 0x%" PRIx64
			    " bytes) lies outside the guest's %" PRIu64 " MiB",
			    i, ph->p_paddr, ph->p_memsz, ld->ram_size >> 20);
	if (ph->p_paddr < RS_ELF_LOWEST)
		return FAIL(ld, err, ERANGE,
			    "segment %u lies at 0x%" PRIx64 ", below 0x%x, where boot data goes", i,
			    ph->p_paddr, RS_ELF_LOWEST);
	return check_overlap(ld, i, err);
}

static uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Looks for the PVH entry in the notes of header i. The first one counts. */
static int check_notes(struct loader *ld, uint32_t i, struct rs_error *err)
{
	const Elf64_Phdr *ph = &ld->phdr[i];
	uint64_t align = ph->p_align == 8 ? 8 : 4;
	uint64_t at = ph->p_offset, left = ph->p_filesz;

	if (!fits(at, left, ld->file_size))
		return FAIL(ld, err, ENOEXEC, "truncated: notes (header %u) lie outside the file",
			    i);
	while (left >= sizeof(Elf64_Nhdr) && !ld->has_entry) {
		Elf64_Nhdr nh;
		uint64_t desc, next;

		memcpy(&nh, ld->file + at, sizeof(nh));
		desc = align_up(sizeof(nh) + (uint64_t)nh.n_namesz, align);
		next = align_up(desc + nh.n_descsz, align);
		if (desc > left || nh.n_descsz > left - desc)
			return FAIL(ld, err, ENOEXEC,
				    "a note (header %u) is longer than its segment", i);
		if (nh.n_type == XEN_ELFNOTE_PHYS32_ENTRY && nh.n_namesz == 4 &&
		    !memcmp(ld->file + at + sizeof(nh), "Xen", 4)) {
			if (nh.n_descsz != 4 && nh.n_descsz != 8)
				return FAIL(ld, err, ENOEXEC, "the PVH entry note has %u bytes",
					    nh.n_descsz);
			memcpy(&ld->entry, ld->file + at + desc, nh.n_descsz);
			ld->has_entry = true;
		}
		if (next > left)
			break; /* the last note may lack its padding */
		at += next;
		left -= next;
	}
	return 0;
}

static int check_entry(struct loader *ld, struct rs_elf_image *image, struct rs_error *err)
{
	bool inside = false;

	image->entry.v = ld->entry;
	image->low.v = UINT64_MAX;
	image->high.v = 0;
	for (uint32_t i = 0; i < ld->count; i++) {
		const Elf64_Phdr *ph = &ld->phdr[i];

		if (ph->p_type != PT_LOAD || ph->p_memsz == 0)
			continue;
		if (ph->p_paddr < image->low.v)
			image->low.v = ph->p_paddr;
		if (ph->p_paddr + ph->p_memsz > image->high.v)
			image->high.v = ph->p_paddr + ph->p_memsz;
		inside |= ld->entry >= ph->p_paddr && ld->entry - ph->p_paddr < ph->p_memsz;
	}
	if (image->high.v == 0)
		return FAIL(ld, err, ENOEXEC, "nothing to load");
	if (!ld->has_entry)
		return FAIL(ld, err, ENOEXEC,
			    "no PVH entry (note Xen PHYS32_ENTRY): it cannot be booted directly");
	if (!inside || ld->entry > UINT32_MAX)
		return FAIL(ld, err, ENOEXEC, "the PVH entry 0x%" PRIx64 " lies in no segment",
			    ld->entry);
	return 0;
}

int rs_elf_load(const char *name, const void *file, size_t file_size, void *ram, uint64_t ram_size,
		struct rs_elf_image *out, struct rs_error *err)
{
	struct loader ld = {
		.name = name, .file = file, .file_size = file_size, .ram_size = ram_size};
	struct rs_elf_image image;
	Elf64_Ehdr eh;
	int ret = check_header(&ld, &eh, err);

	if (ret)
		return ret;
	ld.count = eh.e_phnum;
	memcpy(ld.phdr, ld.file + eh.e_phoff, ld.count * sizeof(Elf64_Phdr));
	for (uint32_t i = 0; i < ld.count && !ret; i++) {
		if (ld.phdr[i].p_type == PT_LOAD)
			ret = check_segment(&ld, i, err);
		else if (ld.phdr[i].p_type == PT_NOTE)
			ret = check_notes(&ld, i, err);
	}
	if (!ret)
		ret = check_entry(&ld, &image, err);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < ld.count; i++) {
		const Elf64_Phdr *ph = &ld.phdr[i];

		if (ph->p_type != PT_LOAD || ph->p_memsz == 0)
			continue;
		memcpy((uint8_t *)ram + ph->p_paddr, ld.file + ph->p_offset, ph->p_filesz);
		memset((uint8_t *)ram + ph->p_paddr + ph->p_filesz, 0, ph->p_memsz - ph->p_filesz);
	}
	*out = image;
	return 0;
}

int rs_elf_load_path(const char *path, void *ram, uint64_t ram_size, struct rs_elf_image *out,
		     struct rs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = 0;
	struct stat st;
	void *file;

	if (fd < 0)
		return rs_error_set(err, errno, "kernel '%s': %s", path, strerror(errno));
	if (fstat(fd, &st))
		ret = rs_error_set(err, errno, "kernel '%s': %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		ret = rs_error_set(err, ENOEXEC, "kernel '%s': not a regular file", path);
	else if ((uint64_t)st.st_size > RS_ELF_MAX_FILE)
		ret = rs_error_set(err, EFBIG, "kernel '%s': larger than %llu MiB", path,
				   RS_ELF_MAX_FILE >> 20);
	else if (st.st_size == 0)
		ret = rs_error_set(err, ENOEXEC, "kernel '%s': empty", path);
	if (ret) {
		close(fd);
		return ret;
	}
	/* Read the file, do not map it: a mapped file that shrinks would cause a SIGBUS. */
	file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (file == MAP_FAILED) {
		close(fd);
		return rs_error_set(err, ENOMEM, "kernel '%s': no memory to read it", path);
	}
	for (size_t have = 0; !ret && have < (size_t)st.st_size;) {
		ssize_t n = read(fd, (uint8_t *)file + have, (size_t)st.st_size - have);

		if (n > 0)
			have += (size_t)n;
		else if (n == 0)
			ret = rs_error_set(err, EIO, "kernel '%s': became shorter while read",
					   path);
		else if (errno != EINTR)
			ret = rs_error_set(err, errno, "kernel '%s': %s", path, strerror(errno));
	}
	close(fd);
	if (!ret)
		ret = rs_elf_load(path, file, (size_t)st.st_size, ram, ram_size, out, err);
	munmap(file, (size_t)st.st_size);
	return ret;
}
