/* SPDX-License-Identifier: MIT */
#include "qemu/guestmem.h"

#include "qemu/facts.h"
#include "qemu/private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <ringside/types.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (2ull << 20) /* guest memory of which two pages are asked for */
#define LOW_END CHUNK      /* below it QEMU maps memory by the page */
#define CHUNKS_MAX 4096u   /* that are remembered */
#define NOT_RAM UINT64_MAX
#define IN_PARTS (UINT64_MAX - 1) /* a chunk, of which some pages are RAM */

struct rs_guestmem {
	struct rs_monitor *monitor;
	uint64_t *questions;
	int fd;             /* /proc/PID/mem; -1: none */
	GHashTable *places; /* guest address of a chunk or page → its place in the process */
};

struct rs_guestmem *rs_guestmem_create(struct rs_monitor *monitor, pid_t pid, uint64_t *questions)
{
	struct rs_guestmem *mem = g_new0(struct rs_guestmem, 1);
	g_autofree char *path = g_strdup_printf("/proc/%d/mem", (int)pid);

	mem->monitor = monitor;
	mem->questions = questions;
	mem->fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	mem->places = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return mem;
}

void rs_guestmem_destroy(struct rs_guestmem *mem)
{
	if (!mem)
		return;
	if (mem->fd >= 0)
		close(mem->fd);
	g_hash_table_unref(mem->places);
	g_free(mem);
}

void rs_guestmem_forget(struct rs_guestmem *mem)
{
	if (mem)
		g_hash_table_remove_all(mem->places);
}

bool rs_guestmem_is_direct(const struct rs_guestmem *mem)
{
	return mem->fd >= 0;
}

static int not_ram(uint64_t at, struct rs_error *err)
{
	return rs_error_set(err, EFAULT, "no memory at guest-physical 0x%" PRIx64, at);
}

/* ---- out of the process ---- */

/* Where QEMU has the byte at a guest-physical address; NOT_RAM. */
static int ask_place(struct rs_guestmem *mem, uint64_t at, uint64_t *out, struct rs_error *err)
{
	g_autofree char *line = g_strdup_printf("gpa2hva 0x%" PRIx64, at);
	g_autofree char *said = NULL;
	const char *number;
	int rc = rs_qemu_human(mem->monitor, line, RS_QEMU_PATIENCE_MS, &said, err);

	++*mem->questions;
	if (rc < 0)
		return rc;
	number = strstr(said, ") is 0x");
	*out = number ? g_ascii_strtoull(number + strlen(") is 0x"), NULL, 16) : 0;
	if (*out == 0)
		*out = NOT_RAM;
	return 0;
}

static void remember(struct rs_guestmem *mem, uint64_t start, uint64_t place)
{
	if (g_hash_table_size(mem->places) >= CHUNKS_MAX)
		g_hash_table_remove_all(mem->places);
	g_hash_table_insert(mem->places, g_memdup2(&start, sizeof(start)),
			    g_memdup2(&place, sizeof(place)));
}

static bool recall(const struct rs_guestmem *mem, uint64_t start, uint64_t *place)
{
	const uint64_t *known = g_hash_table_lookup(mem->places, &start);

	if (known)
		*place = *known;
	return known;
}

/* The place of a page that lies in no whole chunk. */
static int page_place(struct rs_guestmem *mem, uint64_t page, uint64_t *out, struct rs_error *err)
{
	int rc = 0;

	/* A chunk's number is even, a page's is odd. */
	if (recall(mem, page | 1, out))
		return 0;
	rc = ask_place(mem, page, out, err);
	if (rc == 0)
		remember(mem, page | 1, *out);
	return rc;
}

static uint64_t place_of_chunk(uint64_t first, uint64_t end)
{
	if (first == NOT_RAM && end == NOT_RAM)
		return NOT_RAM;
	return first == NOT_RAM || end == NOT_RAM || end - first != CHUNK - RS_PAGE_SIZE ? IN_PARTS
											 : first;
}

/* Whether it is known, so that find_place() asks nobody. */
static bool is_known(const struct rs_guestmem *mem, uint64_t page)
{
	const uint64_t chunk = page - page % CHUNK;
	uint64_t place = IN_PARTS;

	if (page >= LOW_END && !recall(mem, chunk, &place))
		return false;
	return place != IN_PARTS || recall(mem, page | 1, &place);
}

/*
 * The place of the page at `page`. Whole chunks of RAM lie in one piece, and where neither end of
 * one is RAM, none of it is taken for RAM.
 */
static int find_place(struct rs_guestmem *mem, uint64_t page, uint64_t *out, struct rs_error *err)
{
	const uint64_t chunk = page - page % CHUNK, last = CHUNK - RS_PAGE_SIZE;
	uint64_t first, end;
	int rc;

	if (page < LOW_END)
		return page_place(mem, page, out, err);
	if (!recall(mem, chunk, &first)) {
		rc = ask_place(mem, chunk, &first, err);
		if (rc == 0)
			rc = ask_place(mem, chunk + last, &end, err);
		if (rc < 0)
			return rc;
		first = place_of_chunk(first, end);
		remember(mem, chunk, first);
	}
	if (first == IN_PARTS)
		return page_place(mem, page, out, err);
	*out = first == NOT_RAM ? NOT_RAM : first + (page - chunk);
	return 0;
}

static int read_direct(struct rs_guestmem *mem, uint64_t at, void *out, size_t size,
		       struct rs_error *err)
{
	uint64_t place;
	int rc = find_place(mem, at - at % RS_PAGE_SIZE, &place, err);

	if (rc < 0)
		return rc;
	if (place == NOT_RAM ||
	    pread(mem->fd, out, size, (off_t)(place + at % RS_PAGE_SIZE)) != (ssize_t)size)
		return not_ram(at, err);
	return 0;
}

/* ---- by the monitor ---- */

/* Reads words of 8 bytes out of lines like "0000000000001000: 0x0000000000000000 0x…". */
static bool parse_words(const char *text, uint64_t *words, size_t count)
{
	size_t n = 0;

	while (n < count && (text = strchr(text, ':'))) {
		const char *end = strchr(text, '\n');
		const char *word = text;

		while (n < count && (word = strstr(word, " 0x")) && (!end || word < end)) {
			words[n++] = g_ascii_strtoull(word + 3, NULL, 16);
			word += 3;
		}
		text = end ? end : text + strlen(text);
	}
	return n == count;
}

static int read_by_monitor(struct rs_guestmem *mem, uint64_t at, void *out, size_t size,
			   struct rs_error *err)
{
	const uint64_t from = at & ~7ull;
	const size_t count = (size_t)((at + size - from + 7) / 8);
	g_autofree char *line = g_strdup_printf("xp /%zuxg 0x%" PRIx64, count, from);
	g_autofree uint64_t *words = g_new0(uint64_t, count);
	g_autofree char *said = NULL;
	int rc = rs_qemu_human(mem->monitor, line, RS_QEMU_PATIENCE_MS, &said, err);

	++*mem->questions;
	if (rc < 0)
		return rc;
	if (!parse_words(said, words, count))
		return not_ram(at, err);
	memcpy(out, (const uint8_t *)words + (at - from), size);
	return 0;
}

/* ---- by the stub ---- */

static int read_by_stub(struct rs_gdb *gdb, uint64_t at, uint8_t *out, size_t size,
			struct rs_error *err)
{
	struct rs_gdb_read reads[RS_PAGE_SIZE / RS_GDB_READ_MAX];
	bool bad[G_N_ELEMENTS(reads)] = {false};
	size_t n = 0;
	int rc;

	for (size_t done = 0; done < size; done += reads[n++].size)
		reads[n] = (struct rs_gdb_read){at + done, out + done,
						(uint32_t)MIN(size - done, RS_GDB_READ_MAX)};
	rc = rs_gdb_read(gdb, reads, n, bad, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (bad[i])
			rc = not_ram(at, err);
	return rc;
}

/* A part that lies in one page. */
static int read_part(struct rs_guestmem *mem, struct rs_gdb *gdb, uint64_t at, void *out,
		     size_t size, struct rs_error *err)
{
	if (mem->fd >= 0 && (!gdb || is_known(mem, at - at % RS_PAGE_SIZE)))
		return read_direct(mem, at, out, size, err);
	/* While the stub is connected, the monitor works too, but takes longer. */
	return gdb ? read_by_stub(gdb, at, out, size, err)
		   : read_by_monitor(mem, at, out, size, err);
}

int rs_guestmem_read(struct rs_guestmem *mem, struct rs_gdb *gdb, uint64_t at, void *out,
		     size_t size, struct rs_error *err)
{
	uint8_t *to = out;
	int rc = 0;

	if (size > UINT64_MAX - at)
		return not_ram(at, err);
	while (size > 0 && rc == 0) {
		size_t part = MIN(size, RS_PAGE_SIZE - at % RS_PAGE_SIZE);

		rc = read_part(mem, gdb, at, to, part, err);
		at += part;
		to += part;
		size -= part;
	}
	return rc;
}
