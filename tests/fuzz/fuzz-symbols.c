/* SPDX-License-Identifier: MIT */
/*
 * A hostile file of symbols: ELF, or a list. Input: the file. What comes of it must be what a
 * reader of trace files accepts. An input that begins with 'Z' is what a trace file has of them: 24
 * bytes of its head, then the data, which are compressed here.
 */
#define _GNU_SOURCE
#include "seed.h"
#include "../unit/symbols/image.h"
#include "rs-trace-escape.h"
#include "rs-trace-symbol-file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

static void look_around(const RsTraceSymbols *symbols, const struct rs_file_symbols *head)
{
	const guint64 places[] = {0,        head->from, head->from + 1, head->to - 1,
				  head->to, G_MAXUINT64};
	g_autoptr(GString) out = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
		rs_trace_symbols_append(symbols, places[i], rs_trace_append_json_escaped, out);
		rs_trace_symbols_append_frame(symbols, places[i], rs_trace_append_json_escaped,
					      out);
	}
}

static void rs_fuzz_seeds(void)
{
	static const char list[] = "ffffffff81000000 T _stext\nffffffff81000100 t f [m]\n";
	struct {
		uint64_t from, to;
		uint32_t count, unpacked;
		struct rs_file_symbol symbols[2];
		char names[4];
	} block = {0x1000, 0x2000, 2, 0, {{0x1000, 16, 0}, {0x1800, 0, 2}}, "a\0b"};
	char with_letter[sizeof(block) + 1] = "Z";
	struct image image;

	make(&image);
	rs_fuzz_seed("fixed", &image, sizeof(image));
	image.head.e_type = ET_DYN;
	rs_fuzz_seed("moves", &image, sizeof(image));
	image.sections[2].sh_type = SHT_NULL;
	rs_fuzz_seed("dynamic", &image, sizeof(image));
	rs_fuzz_seed("list", list, sizeof(list) - 1);
	memcpy(with_letter + 1, &block, sizeof(block));
	rs_fuzz_seed("block", with_letter, sizeof(with_letter));
}

static void run_block(const guint8 *data, size_t size)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	struct rs_file_symbols head = {0};
	g_autofree guint8 *packed = NULL;
	size_t room, from = MIN(size, 24);

	memcpy(&head, data, from);
	data += from;
	size -= from;
	room = ZSTD_compressBound(size);
	packed = g_malloc(room);
	room = ZSTD_compress(packed, room, data, size, 1);
	head.unpacked = (uint32_t)size;
	if (rs_trace_symbols_take(symbols, &head, packed, room, 1 << 20, NULL))
		look_around(symbols, &head);
}

static void run_file(const guint8 *data, size_t size)
{
	static int fd = -1;
	g_autoptr(RsTraceSymbolFile) file = NULL;
	g_autoptr(RsTraceSymbols) symbols = NULL;
	struct rs_provider entry = {.state = RS_PROVIDER_LIVE, .image_start = 0x1000};
	struct rs_file_symbols head;
	g_autoptr(GBytes) packed = NULL;
	guint64 bias;

	if (fd < 0)
		fd = memfd_create("symbols", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	file = rs_trace_symbol_file_read(fd, "fuzz", NULL);
	if (!file || !rs_trace_symbol_file_fits(file, &entry, &bias))
		return;
	symbols = rs_trace_symbols_new();
	packed = rs_trace_symbol_file_place(file, bias, &head);
	if (!rs_trace_symbols_take(symbols, &head, g_bytes_get_data(packed, NULL),
				   g_bytes_get_size(packed), RS_FILE_SYMBOLS_MAX, NULL))
		__builtin_trap();
	look_around(symbols, &head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	if (size && data[0] == 'Z')
		run_block(data + 1, size - 1);
	else
		run_file(data, size);
	return 0;
}
