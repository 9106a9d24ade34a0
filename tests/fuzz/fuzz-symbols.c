/* SPDX-License-Identifier: MIT */
/*
 * A hostile file of symbols: ELF, or a list. Input: the file. What comes of it must be what a
 * reader of trace files accepts. An input that begins with 'Z' is what a trace file has of them,
 * images that lie over each other: of each, 24 bytes of its head, of which the last 4 say how many
 * bytes follow; its boot; then the data, which are compressed here.
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

#define ROOM 1024u /* so few that images go */

static void look_around(const RsTraceSymbols *symbols, const struct rs_file_symbols *head)
{
	const guint64 places[] = {0,        head->from, head->from + 1, head->to - 1,
				  head->to, G_MAXUINT64};
	const RsTraceMoment when = {head->boot, head->chain, head->ts};
	g_autoptr(GString) out = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
		rs_trace_symbols_append(symbols, when, places[i], rs_trace_append_json_escaped,
					out);
		rs_trace_symbols_append_frame(symbols, when, places[i],
					      rs_trace_append_json_escaped, out);
	}
}

static void rs_fuzz_seeds(void)
{
	static const char list[] = "ffffffff81000000 T _stext\nffffffff81000100 t f [m]\n";
	struct {
		uint64_t from, to;
		uint32_t count, size;
		uint8_t boot;
		struct rs_file_symbol symbols[2];
		char names[4];
	} __attribute__((packed))
	block = {0x1000, 0x2000, 2, 36, 1, {{0x1000, 16, 0}, {0x1800, 0, 2}}, "a\0b"};
	char with_letter[2 * sizeof(block) + 1] = "Z";
	struct image image;

	make(&image);
	rs_fuzz_seed("fixed", &image, sizeof(image));
	image.head.e_type = ET_DYN;
	rs_fuzz_seed("moves", &image, sizeof(image));
	image.sections[2].sh_type = SHT_NULL;
	rs_fuzz_seed("dynamic", &image, sizeof(image));
	rs_fuzz_seed("list", list, sizeof(list) - 1);
	memcpy(with_letter + 1, &block, sizeof(block));
	block.to = 0x1900;
	memcpy(with_letter + 1 + sizeof(block), &block, sizeof(block));
	rs_fuzz_seed("block", with_letter, sizeof(with_letter));
}

/* Returns the bytes that it has taken. */
static size_t run_block(RsTraceSymbols *symbols, const guint8 *data, size_t size)
{
	struct rs_file_symbols head = {0};
	g_autofree guint8 *packed = NULL;
	size_t room, from = MIN(size, 25);

	memcpy(&head, data, MIN(size, 24));
	head.boot = from > 24 ? data[24] : 0;
	size = MIN(size - from, head.unpacked);
	room = ZSTD_compressBound(size);
	packed = g_malloc(room);
	room = ZSTD_compress(packed, room, data + from, size, 1);
	head.unpacked = (uint32_t)size;
	if (rs_trace_symbols_take(symbols, &head, packed, room, ROOM, NULL))
		look_around(symbols, &head);
	if (rs_trace_symbols_size(symbols) > ROOM)
		__builtin_trap();
	return from + size;
}

static void run_blocks(const guint8 *data, size_t size)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();

	for (size_t at = 0; at < size;)
		at += run_block(symbols, data + at, size - at);
}

static void run_file(const guint8 *data, size_t size)
{
	static int fd = -1;
	g_autoptr(RsTraceSymbolFile) file = NULL;
	g_autoptr(RsTraceSymbols) symbols = NULL;
	struct rs_provider entry = {
		.state = RS_PROVIDER_LIVE, .image_start = 0x1000, .last_boot = 1};
	struct rs_file_symbols head;
	g_autoptr(GBytes) packed = NULL;
	RsTraceSymbolPlace place;

	if (fd < 0)
		fd = memfd_create("symbols", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	file = rs_trace_symbol_file_read(fd, "fuzz", NULL);
	if (!file || !rs_trace_symbol_file_fits(file, &entry, &place))
		return;
	symbols = rs_trace_symbols_new();
	packed = rs_trace_symbol_file_place(file, &place, &head);
	if (!rs_trace_symbols_take(symbols, &head, g_bytes_get_data(packed, NULL),
				   g_bytes_get_size(packed), RS_FILE_SYMBOLS_MAX, NULL))
		__builtin_trap();
	look_around(symbols, &head);
	rs_trace_symbol_file_add(file, &entry, symbols);
	entry.image_start++;
	rs_trace_symbol_file_add(file, &entry, symbols);
	look_around(symbols, &head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	if (size && data[0] == 'Z')
		run_blocks(data + 1, size - 1);
	else
		run_file(data, size);
	return 0;
}
