/* SPDX-License-Identifier: MIT */
/* ELF of 64 bits, little-endian. Nothing of it is believed: all offsets and sizes are bounded. */
#include "rs-trace-symbol-file-private.h"

#include <elf.h>
#include <string.h>

#define SEGMENTS_MAX 128u
#define SECTIONS_MAX 65536u
#define NOTES_MAX (1u << 20) /* bytes */

/* ---- where it lies ---- */

static void take_notes(RsTraceSymbolFile *file, const guint8 *notes, gsize size)
{
	Elf64_Nhdr note;

	for (gsize at = 0; size - at >= sizeof(note);) {
		gsize name, desc;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name = RS_ALIGN_UP((gsize)note.n_namesz, 4);
		desc = RS_ALIGN_UP((gsize)note.n_descsz, 4);
		if (name > size - at || desc > size - at - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + at, "GNU", sizeof("GNU")) && note.n_descsz &&
		    note.n_descsz <= sizeof(file->build_id)) {
			memcpy(file->build_id, notes + at + name, note.n_descsz);
			file->build_id_size = note.n_descsz;
		}
		at += name + desc;
	}
}

static void take_segment(RsTraceSymbolFile *file, int fd, const Elf64_Phdr *segment)
{
	g_autofree guint8 *notes = NULL;

	if (segment->p_type == PT_NOTE && segment->p_filesz <= NOTES_MAX && !file->build_id_size) {
		notes = rs_trace_symbols_read(fd, segment->p_offset, segment->p_filesz);
		if (notes)
			take_notes(file, notes, (gsize)segment->p_filesz);
	}
	if (segment->p_type != PT_LOAD || segment->p_vaddr > G_MAXUINT64 - segment->p_memsz)
		return;
	file->from = MIN(file->from, segment->p_vaddr);
	file->to = MAX(file->to, segment->p_vaddr + segment->p_memsz);
}

static gboolean take_segments(RsTraceSymbolFile *file, int fd, const Elf64_Ehdr *head,
			      GError **error)
{
	g_autofree guint8 *table = NULL;
	Elf64_Phdr segment;

	if (head->e_phentsize != sizeof(segment) || head->e_phnum > SEGMENTS_MAX)
		return rs_trace_symbols_refuse(error, "its program headers are damaged");
	table = rs_trace_symbols_read(fd, head->e_phoff, head->e_phnum * sizeof(segment));
	if (!table)
		return rs_trace_symbols_refuse(error, "its program headers are missing");
	file->from = G_MAXUINT64;
	for (guint i = 0; i < head->e_phnum; i++) {
		memcpy(&segment, table + i * sizeof(segment), sizeof(segment));
		take_segment(file, fd, &segment);
	}
	if (file->from >= file->to)
		return rs_trace_symbols_refuse(error, "it has nothing to load");
	return TRUE;
}

/* ---- its symbols ---- */

typedef struct {
	const guint8 *heads; /* Elf64_Shdr */
	guint n;
} Sections;

/* Whether a label lies in code. Then one without a size ends with its section at the latest. */
static gboolean is_code(const Sections *sections, Elf64_Sym *label)
{
	Elf64_Shdr section;

	if (label->st_shndx >= sections->n)
		return FALSE;
	memcpy(&section, sections->heads + label->st_shndx * sizeof(section), sizeof(section));
	if (!(section.sh_flags & SHF_EXECINSTR))
		return FALSE;
	if (!label->st_size && label->st_value - section.sh_addr < section.sh_size)
		label->st_size = section.sh_size - (label->st_value - section.sh_addr);
	return TRUE;
}

/* What is no function, object or label of the image has none. 0: leave it out. */
static guint rank_of(const Sections *sections, Elf64_Sym *symbol)
{
	guint type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
	guint rank = type == STT_FUNC || type == STT_GNU_IFUNC ? 1 : type == STT_OBJECT ? 2 : 3;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
	    (rank == 3 && type != STT_NOTYPE))
		return 0;
	rank = rank * 4 + (bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2);
	if (type == STT_OBJECT || (type == STT_NOTYPE && !is_code(sections, symbol)))
		rank |= SYMBOL_DATA;
	return rank;
}

static void take_symbols(RsTraceSymbolFile *file, const Sections *sections, const guint8 *table,
			 gsize size)
{
	gsize names_size;
	const char *names = g_bytes_get_data(file->names, &names_size);
	Elf64_Sym from;

	for (gsize at = 0; size - at >= sizeof(from); at += sizeof(from)) {
		Symbol symbol;

		memcpy(&from, table + at, sizeof(from));
		symbol = (Symbol){.at = from.st_value, .name = from.st_name};
		symbol.rank = rank_of(sections, &from);
		symbol.size = from.st_size;
		/* The names end with a NUL. Those with a '$' or ".L" are an assembler's. */
		if (!symbol.rank || symbol.name >= names_size || !names[symbol.name] ||
		    names[symbol.name] == '$' || g_str_has_prefix(names + symbol.name, ".L"))
			continue;
		g_array_append_val(file->symbols, symbol);
	}
}

static gboolean find_table(const guint8 *sections, guint count, guint type, Elf64_Shdr *found)
{
	for (guint i = 0; i < count; i++) {
		memcpy(found, sections + i * sizeof(*found), sizeof(*found));
		if (found->sh_type == type)
			return TRUE;
	}
	return FALSE;
}

static gboolean take_sections(RsTraceSymbolFile *file, int fd, const Elf64_Ehdr *head,
			      GError **error)
{
	g_autofree guint8 *sections = NULL, *symbols = NULL;
	Elf64_Shdr table, names;
	guint8 *text;

	if (!head->e_shnum || head->e_shentsize != sizeof(table))
		return rs_trace_symbols_refuse(error, "it has no symbols");
	sections = rs_trace_symbols_read(fd, head->e_shoff, head->e_shnum * sizeof(table));
	if (!sections)
		return rs_trace_symbols_refuse(error, "its section headers are missing");
	if (!find_table(sections, head->e_shnum, SHT_SYMTAB, &table) &&
	    !find_table(sections, head->e_shnum, SHT_DYNSYM, &table))
		return rs_trace_symbols_refuse(error, "it has no symbols");
	if (table.sh_link >= head->e_shnum)
		return rs_trace_symbols_refuse(error, "its symbols have no names");
	memcpy(&names, sections + table.sh_link * sizeof(names), sizeof(names));
	symbols = rs_trace_symbols_read(fd, table.sh_offset, table.sh_size);
	text = rs_trace_symbols_read(fd, names.sh_offset, names.sh_size);
	if (!symbols || !text) {
		g_free(text);
		return rs_trace_symbols_refuse(error, "its symbols are missing");
	}
	file->names = g_bytes_new_take(text, (gsize)names.sh_size + 1);
	take_symbols(file, &(Sections){sections, head->e_shnum}, symbols, (gsize)table.sh_size);
	return TRUE;
}

gboolean rs_trace_symbols_take_elf(RsTraceSymbolFile *file, int fd, GError **error)
{
	g_autofree guint8 *bytes = rs_trace_symbols_read(fd, 0, sizeof(Elf64_Ehdr));
	Elf64_Ehdr head;

	if (!bytes)
		return rs_trace_symbols_refuse(error, "it is too short");
	memcpy(&head, bytes, sizeof(head));
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return rs_trace_symbols_refuse(error, "it is no ELF file of 64 bits");
	file->moves = head.e_type == ET_DYN;
	return take_segments(file, fd, &head, error) && take_sections(file, fd, &head, error);
}
