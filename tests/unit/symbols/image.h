/* SPDX-License-Identifier: MIT */
/* An ELF file with symbols, for tests and fuzz targets. */
#ifndef RS_TESTS_SYMBOLS_IMAGE_H
#define RS_TESTS_SYMBOLS_IMAGE_H

#include <elf.h>
#include <glib.h>
#include <stddef.h>
#include <string.h>

/* An ELF file as small as it can be. */
struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[9], dynamic[1];
	char names[64];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[20];
	} note;
};

#define BASE 0x400000u

static inline Elf64_Sym symbol(guint name, guint bind, guint type, guint section, guint64 at,
			       guint64 size)
{
	return (Elf64_Sym){.st_name = name,
			   .st_info = ELF64_ST_INFO(bind, type),
			   .st_shndx = (Elf64_Half)section,
			   .st_value = at,
			   .st_size = size};
}

static inline void make(struct image *i)
{
	/* 1 main, 6 helper, 13 data, 18 $x, 21 .Lx, 25 other, 31 late */
	static const char names[] = "\0main\0helper\0data\0$x\0.Lx\0other\0late";

	memset(i, 0, sizeof(*i));
	i->head = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			       .e_type = ET_EXEC,
			       .e_phoff = offsetof(struct image, segments),
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phnum = 3,
			       .e_shoff = offsetof(struct image, sections),
			       .e_shentsize = sizeof(Elf64_Shdr),
			       .e_shnum = 4};
	i->segments[0] =
		(Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = BASE + 0x1000, .p_memsz = 0x1000};
	i->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = BASE, .p_memsz = 0x1000};
	i->segments[2] = (Elf64_Phdr){.p_type = PT_NOTE,
				      .p_offset = offsetof(struct image, note),
				      .p_filesz = sizeof(i->note)};
	i->sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
				      .sh_link = 3,
				      .sh_offset = offsetof(struct image, dynamic),
				      .sh_size = sizeof(i->dynamic)};
	i->sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				      .sh_link = 3,
				      .sh_offset = offsetof(struct image, symbols),
				      .sh_size = sizeof(i->symbols)};
	i->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct image, names),
				      .sh_size = sizeof(i->names)};
	memcpy(i->names, names, sizeof(names));
	i->symbols[1] = symbol(13, STB_GLOBAL, STT_OBJECT, 2, BASE + 0x1800, 8);
	i->symbols[2] = symbol(6, STB_LOCAL, STT_FUNC, 1, BASE + 0x100, 0x20);
	i->symbols[3] = symbol(1, STB_GLOBAL, STT_FUNC, 1, BASE + 0x100, 0x20); /* the same place */
	i->symbols[4] = symbol(18, STB_LOCAL, STT_NOTYPE, 1, BASE + 0x200, 0);
	i->symbols[5] = symbol(21, STB_LOCAL, STT_NOTYPE, 1, BASE + 0x210, 0);
	i->symbols[6] = symbol(25, STB_GLOBAL, STT_FUNC, SHN_UNDEF, BASE + 0x300, 0);
	i->symbols[7] = symbol(31, STB_GLOBAL, STT_FUNC, 1, BASE + 0x2000, 0); /* behind its end */
	i->symbols[8] = symbol(25, STB_LOCAL, STT_SECTION, 1, BASE + 0x400, 0);
	i->dynamic[0] = symbol(25, STB_GLOBAL, STT_FUNC, 1, BASE + 0x500, 0);
	i->note.head = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};
	memcpy(i->note.name, "GNU", 4);
	memset(i->note.id, 0xab, sizeof(i->note.id));
}

#endif
