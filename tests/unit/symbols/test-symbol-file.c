/* SPDX-License-Identifier: MIT */
/* Symbols of ELF files, good ones and damaged ones, and of lists as a kernel shows them. */
#define _GNU_SOURCE
#include "rs-trace-symbol-file.h"

#include "image.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- files ---- */

static RsTraceSymbolFile *read_bytes(gconstpointer bytes, gsize size, GError **error)
{
	int fd = memfd_create("symbols", MFD_CLOEXEC);
	RsTraceSymbolFile *file;

	g_assert_cmpint(write(fd, bytes, size), ==, (gssize)size);
	file = rs_trace_symbol_file_read(fd, "/some/where", error);
	close(fd);
	return file;
}

static RsTraceSymbolFile *read_text(const char *text, const char *why)
{
	g_autoptr(GError) error = NULL;
	RsTraceSymbolFile *file = read_bytes(text, strlen(text), &error);

	g_assert_true(!file == (why != NULL));
	if (why)
		g_assert_nonnull(strstr(error->message, why));
	return file;
}

/* What comes of the file, once its image is at `start`, if it can move. NULL: it does not fit. */
static RsTraceSymbols *place(RsTraceSymbolFile *file, guint64 start, struct rs_file_symbols *head)
{
	const struct rs_provider entry = {.image_start = start};
	RsTraceSymbols *symbols = rs_trace_symbols_new();
	g_autoptr(GBytes) data = NULL;
	RsTraceSymbolPlace at;
	gconstpointer bytes;
	gsize size;

	if (!rs_trace_symbol_file_fits(file, &entry, &at)) {
		rs_trace_symbols_free(symbols);
		return NULL;
	}
	data = rs_trace_symbol_file_place(file, &at, head);
	bytes = g_bytes_get_data(data, &size);
	g_assert_true(
		rs_trace_symbols_take(symbols, head, bytes, size, RS_TRACE_SYMBOLS_MAX, NULL));
	return symbols;
}

static void check(const RsTraceSymbols *symbols, guint64 address, const char *want)
{
	const char *name = NULL;
	guint64 offset = 0;

	rs_trace_symbols_find(symbols, (RsTraceMoment){0}, address, &name, &offset);
	g_assert_cmpstr(name, ==, want);
}

static void check_frame(const RsTraceSymbols *symbols, guint64 address, const char *want)
{
	const char *name = NULL;
	guint64 offset = 0;

	rs_trace_symbols_find_frame(symbols, (RsTraceMoment){0}, address, &name, &offset);
	g_assert_cmpstr(name, ==, want);
}

/* ---- ELF ---- */

static void test_elf(void)
{
	struct image image;
	struct rs_file_symbols head;
	g_autoptr(RsTraceSymbolFile) file = NULL;
	g_autoptr(RsTraceSymbols) symbols = NULL;

	make(&image);
	file = read_bytes(&image, sizeof(image), NULL);
	g_assert_cmpuint(rs_trace_symbol_file_count(file), ==, 2);
	symbols = place(file, 0, &head);
	g_assert_cmphex(head.from, ==, BASE);
	g_assert_cmphex(head.to, ==, BASE + 0x2000);
	g_assert_cmpstr(head.name, ==, "where");
	g_assert_cmpmem(head.build_id, head.build_id_size, image.note.id, 20);
	check(symbols, BASE + 0x100, "main"); /* what others see, before what is local */
	check(symbols, BASE + 0x120, NULL);
	check(symbols, BASE + 0x1807, "data");
	check_frame(symbols, BASE + 0x1807, NULL);
	check_frame(symbols, BASE + 0x120, "main");
	check(symbols, BASE + 0x210, NULL);
	check(symbols, BASE + 0x300, NULL);
	/* Without a full table, what a dynamic linker needs. */
	image.sections[2].sh_type = SHT_NOBITS;
	rs_trace_symbol_file_unref(file);
	file = read_bytes(&image, sizeof(image), NULL);
	g_assert_cmpuint(rs_trace_symbol_file_count(file), ==, 1);
}

static void test_fits(void)
{
	struct rs_provider entry = {.build_id_size = 20, .first_boot = 2, .last_boot = 4};
	g_autoptr(RsTraceSymbolFile) fixed = NULL, moving = NULL;
	struct image image;
	RsTraceSymbolPlace place;

	make(&image);
	fixed = read_bytes(&image, sizeof(image), NULL);
	image.head.e_type = ET_DYN;
	moving = read_bytes(&image, sizeof(image), NULL);
	memset(entry.build_id, 0xab, 20);
	entry.image_start = 0x555500000000;
	g_assert_true(rs_trace_symbol_file_fits(fixed, &entry, &place));
	g_assert_cmphex(place.bias, ==, 0);
	g_assert_cmpuint(place.since.boot, ==, 0); /* always: it cannot be elsewhere */
	g_assert_true(rs_trace_symbol_file_fits(moving, &entry, &place));
	g_assert_cmphex(place.bias, ==, 0x555500000000 - BASE);
	g_assert_cmphex(place.from, ==, 0x555500000000);
	g_assert_cmphex(place.to, ==, 0x555500002000);
	g_assert_cmpuint(place.since.boot, ==, 4);
	entry.build_id[3] ^= 1;
	g_assert_false(rs_trace_symbol_file_fits(fixed, &entry, &place));
	g_assert_false(rs_trace_symbol_file_fits(moving, &entry, &place));
	entry.build_id_size = 19;
	entry.build_id[3] ^= 1;
	g_assert_false(rs_trace_symbol_file_fits(fixed, &entry, &place));
	entry.build_id_size = 0; /* nobody knows */
	g_assert_true(rs_trace_symbol_file_fits(fixed, &entry, &place));
	entry.image_start = G_MAXUINT64 - 100;
	g_assert_false(rs_trace_symbol_file_fits(moving, &entry, &place));
	entry.image_start = 0;
	g_assert_false(rs_trace_symbol_file_fits(moving, &entry, &place));
}

/* Names that somebody has chosen stay, whatever a file says later. */
static void test_add(void)
{
	struct rs_provider entry = {.state = RS_PROVIDER_LIVE};
	g_autoptr(RsTraceSymbolFile) first = NULL, second = NULL;
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new(), other = NULL;
	struct rs_file_symbols head;
	g_autoptr(GBytes) data = NULL;
	RsTraceSymbolPlace at;
	struct image image;

	make(&image);
	first = read_bytes(&image, sizeof(image), NULL);
	memcpy(image.names + 1, "MAIN", 4);
	second = read_bytes(&image, sizeof(image), NULL);
	rs_trace_symbol_file_add(first, &entry, symbols);
	check(symbols, BASE + 0x101, "main");
	rs_trace_symbol_file_add(second, &entry, symbols);
	check(symbols, BASE + 0x101, "main");
	g_assert_true(rs_trace_symbol_file_fits(second, &entry, &at));
	data = rs_trace_symbol_file_place(second, &at, &head);
	g_assert_true(rs_trace_symbols_take(symbols, &head, g_bytes_get_data(data, NULL),
					    g_bytes_get_size(data), 1 << 20, NULL));
	check(symbols, BASE + 0x101, "main");
	other = place(second, 0, &head);
	check(other, BASE + 0x101, "MAIN");
}

/* Likewise where a file can lie anywhere: then in each boot where its provider says. */
static void test_add_boots(void)
{
	struct rs_provider entry = {
		.state = RS_PROVIDER_LIVE, .image_start = 0x1000, .last_boot = 1};
	g_autoptr(RsTraceSymbolFile) file = NULL;
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	const char *name = NULL;
	struct image image;
	guint64 offset;

	make(&image);
	image.head.e_type = ET_DYN;
	file = read_bytes(&image, sizeof(image), NULL);
	rs_trace_symbol_file_add(file, &entry, symbols);
	entry.image_start = 0x80001000;
	entry.last_boot = 2;
	rs_trace_symbol_file_add(file, &entry, symbols);
	g_assert_true(
		rs_trace_symbols_find(symbols, (RsTraceMoment){1, 0, 5}, 0x1101, &name, &offset));
	g_assert_cmpstr(name, ==, "main");
	g_assert_true(rs_trace_symbols_find(symbols, (RsTraceMoment){2, 0, 5}, 0x80001102, &name,
					    &offset));
	g_assert_cmpstr(name, ==, "main");
	g_assert_cmpuint(offset, ==, 2);
	g_assert_false(
		rs_trace_symbols_find(symbols, (RsTraceMoment){2, 0, 5}, 0x1101, &name, &offset));
	g_assert_false(rs_trace_symbols_find(symbols, (RsTraceMoment){1, 0, 5}, 0x80001102, &name,
					     &offset));
	g_assert_cmpuint(rs_trace_symbols_size(symbols), ==, 0); /* they share one table */
}

/* Every byte of it changed, and cut everywhere: an error or symbols, and nothing else. */
static void test_damaged(void)
{
	struct image image;
	guint good = 0;

	make(&image);
	for (gsize size = 0; size < sizeof(image); size++) {
		g_autoptr(RsTraceSymbolFile) file = read_bytes(&image, size, NULL);

		good += file != NULL;
	}
	g_assert_cmpuint(good, <=, sizeof(image.note) + 4); /* only the note was cut off */
	for (gsize at = 4; at < sizeof(image); at++) {
		static const guint8 values[] = {0, 1, 0x7f, 0xff};

		for (guint k = 0; k < sizeof(values); k++) {
			struct image copy = image;
			struct rs_file_symbols head;
			g_autoptr(RsTraceSymbolFile) file = NULL;

			((guint8 *)&copy)[at] = values[k];
			file = read_bytes(&copy, sizeof(copy), NULL);
			if (file)
				rs_trace_symbols_free(place(file, 0x1000, &head));
		}
	}
}

static void test_other_elf(void)
{
	struct image image;

	make(&image);
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	g_assert_null(read_bytes(&image, sizeof(image), NULL));
	make(&image);
	image.head.e_ident[EI_DATA] = ELFDATA2MSB;
	g_assert_null(read_bytes(&image, sizeof(image), NULL));
	make(&image);
	image.sections[2].sh_size = 0;
	g_assert_null(read_bytes(&image, sizeof(image), NULL));
	make(&image);
	image.names[sizeof(image.names) - 1] = 'x'; /* a table that does not end */
	image.symbols[1].st_name = sizeof(image.names) - 1;
	rs_trace_symbol_file_unref(read_bytes(&image, sizeof(image), NULL));
}

/* What has no type is code where its section is, and ends with that. */
static void test_labels(void)
{
	g_autoptr(RsTraceSymbolFile) file = NULL;
	g_autoptr(RsTraceSymbols) symbols = NULL;
	struct rs_file_symbols head;
	struct image image;

	make(&image);
	image.sections[3].sh_flags = SHF_EXECINSTR;
	image.sections[3].sh_addr = BASE + 0x600;
	image.sections[3].sh_size = sizeof(image.names);
	image.symbols[4] = symbol(25, STB_LOCAL, STT_NOTYPE, 3, BASE + 0x610, 0);
	image.symbols[5] = symbol(31, STB_LOCAL, STT_NOTYPE, 1, BASE + 0x700, 0x10);
	file = read_bytes(&image, sizeof(image), NULL);
	symbols = place(file, 0, &head);
	check_frame(symbols, BASE + 0x620, "other");
	check_frame(symbols, BASE + 0x600 + sizeof(image.names), "other");
	check_frame(symbols, BASE + 0x601 + sizeof(image.names), NULL);
	check(symbols, BASE + 0x708, "late");
	check_frame(symbols, BASE + 0x708, NULL);
}

/* This program, as it runs. */
static int find_start(struct dl_phdr_info *info, size_t size, void *data)
{
	guint64 low = G_MAXUINT64;

	for (guint i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			low = MIN(low, info->dlpi_phdr[i].p_vaddr);
	*(guint64 *)data = info->dlpi_addr + low;
	return 1; /* the first one is the program */
}

static void test_self(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSymbolFile) file = rs_trace_symbol_file_open("/proc/self/exe", &error);
	g_autoptr(RsTraceSymbols) symbols = NULL;
	struct rs_file_symbols head;
	guint64 start;

	g_assert_no_error(error);
	dl_iterate_phdr(find_start, &start);
	symbols = place(file, start, &head);
	g_assert_nonnull(symbols);
	check(symbols, (guintptr)test_self, "test_self");
	check(symbols, (guintptr)place + 1, "place");
}

/* ---- text ---- */

static void test_text(void)
{
	const char *list = "ffffffff81000000 T _stext\n"
			   "ffffffff81000100 t helper\n"
			   "0000000000000000 A fixed_percpu\n"
			   "                 U elsewhere\n"
			   "ffffffff81000200 D also_here\n"
			   "ffffffff81000200 T do_it\n"
			   "ffffffffc0000000 T of_module\t[module]";
	g_autoptr(RsTraceSymbolFile) file = read_text(list, NULL);
	g_autoptr(RsTraceSymbols) symbols = NULL;
	struct rs_provider entry = {.build_id_size = 20, .image_start = 0x1000};
	struct rs_file_symbols head;
	RsTraceSymbolPlace at;

	g_assert_true(rs_trace_symbol_file_fits(file, &entry, &at));
	g_assert_cmpuint(at.bias, ==, 0);
	symbols = place(file, 0, &head);
	check(symbols, 0xffffffff810000ff, "_stext");
	check(symbols, 0xffffffff81000100, "helper");
	check(symbols, 0xffffffff81000201, "do_it");
	check(symbols, 0xffffffff81000fff, "do_it");
	check(symbols, 0xffffffff81001000, NULL); /* its end is not known */
	check(symbols, 0xffffffffc0000001, "of_module [module]");
	check(symbols, 0x10, NULL);
}

/* What is not in the list has no name, whatever lies before it. */
static void test_modules(void)
{
	const char *list = "ffffffffc0000000 t work\t[first]\n"
			   "ffffffffc0000100 T fire\t[first]\n"
			   "ffffffffc0002100 t tail\t[first]\n"
			   "ffffffffc0004000 d state\t[first]\n"
			   "ffffffffc0004100 b busy.1\t[first]\n"
			   "ffffffffc0009000 t fire\t[second]\n"
			   "ffffffffc0009080 W weak\t[second]\r\n"
			   "ffffffffc0009100 t odd\t[\n";
	g_autoptr(RsTraceSymbolFile) file = read_text(list, NULL);
	g_autoptr(RsTraceSymbols) symbols = place(file, 0, &(struct rs_file_symbols){0});

	check_frame(symbols, 0xffffffffc0000010, "work [first]");
	check_frame(symbols, 0xffffffffc0002100, "fire [first]"); /* longer than a page */
	check_frame(symbols, 0xffffffffc0003000, "tail [first]");
	check_frame(symbols, 0xffffffffc0003001, NULL);
	check(symbols, 0xffffffffc0004010, "state [first]");
	check_frame(symbols, 0xffffffffc0004010, NULL);
	check(symbols, 0xffffffffc0004fff, "busy.1 [first]");
	check(symbols, 0xffffffffc0005000, NULL);
	check_frame(symbols, 0xffffffffc0004200, NULL);
	check_frame(symbols, 0xffffffffc0009010, "fire [second]");
	check_frame(symbols, 0xffffffffc0009090, "weak [second]");
	check_frame(symbols, 0xffffffffc0009110, "odd");
	check_frame(symbols, 0xffffffffc0064000, NULL);
}

/* So an export to trace.dat lists the frames of its stacks. */
static void test_frames_give_the_start_of_their_functions(void)
{
	const char *list = "ffffffff81000012 T first+0x12\n"
			   "ffffffff81000034 T first+0x34\n"
			   "ffffffff81000099 T 0xffffffff81000099\n"
			   "ffffffff81000108 T second+0x8\n"
			   "ffffffffc0000108 T third+0x8\t[module]\n";
	g_autoptr(RsTraceSymbolFile) file = rs_trace_symbol_file_new_text(list, "list", NULL);
	g_autoptr(RsTraceSymbols) symbols = NULL;
	struct rs_file_symbols head;

	g_assert_nonnull(file);
	g_assert_cmpuint(rs_trace_symbol_file_count(file), ==, 3);
	symbols = place(file, 0, &head);
	check(symbols, 0xffffffffc0000100, "third [module]");
	check(symbols, 0xffffffff81000000, "first");
	check(symbols, 0xffffffff81000034, "first");
	check(symbols, 0xffffffff81000035, NULL); /* how much further it reaches is not known */
	check(symbols, 0xffffffff81000098, NULL);
	check(symbols, 0xffffffff81000100, "second");
}

static void test_other_text(void)
{
	GString *many = g_string_new(NULL);

	read_text("", "no ELF file");
	read_text("\n\n", "no ELF file");
	read_text("a diary\n", "no ELF file");
	read_text("0000000000000000 T hidden\n0000000000000000 t too\n", "kptr_restrict");
	for (guint i = 0; i < 100; i++)
		g_string_append(many, "nonsense\n");
	g_string_append(many, "ffffffff81000000 T f\n");
	read_text(many->str, "no ELF file");
	g_string_free(many, TRUE);
	/* What reaches to the end of all addresses. */
	rs_trace_symbol_file_unref(read_text("ffffffffffffff00 T last\n", NULL));
	rs_trace_symbol_file_unref(read_text("ffffffffffffffff T last\n1 t x\n", NULL));
}

static void test_no_file(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(rs_trace_symbol_file_open("/no/such/file", &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_clear_error(&error);
	g_assert_null(rs_trace_symbol_file_open("/", &error));
	g_assert_nonnull(error);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/symbol-file/elf", test_elf);
	g_test_add_func("/symbol-file/fits", test_fits);
	g_test_add_func("/symbol-file/add", test_add);
	g_test_add_func("/symbol-file/add/boots", test_add_boots);
	g_test_add_func("/symbol-file/damaged", test_damaged);
	g_test_add_func("/symbol-file/other-elf", test_other_elf);
	g_test_add_func("/symbol-file/self", test_self);
	g_test_add_func("/symbol-file/text", test_text);
	g_test_add_func("/symbol-file/labels", test_labels);
	g_test_add_func("/symbol-file/modules", test_modules);
	g_test_add_func("/symbol-file/frames", test_frames_give_the_start_of_their_functions);
	g_test_add_func("/symbol-file/other-text", test_other_text);
	g_test_add_func("/symbol-file/no-file", test_no_file);
	return g_test_run();
}
