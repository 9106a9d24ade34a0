/* SPDX-License-Identifier: MIT */
/*
 * Recovery of a small memory from a journal of arbitrary bytes, or of arbitrary records with good
 * checksums. The memory checks that a record is written only over exactly its own bytes. It may
 * change, or fail, while the guest is stopped.
 */
#define _GNU_SOURCE
#include "../unit/target/fake_target.h"
#include "patch/journal.h"
#include "seed.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAM 8192u
#define RECORDS_MAX 64u

/* Bits of the first byte. */
#define RECORDS 1u
#define PROCESS 2u
#define SEALED 4u /* the header's checksum is good */
#define ANYBODYS 8u
#define CHANGES 16u
#define NO_READS 32u
#define NO_WRITES 64u
#define EXEMPT 128u

static const uint8_t jmp[5] = {0xe9, 0x10, 0x00, 0x00, 0x00};

static const char *path(void)
{
	static char text[64];

	if (!text[0])
		snprintf(text, sizeof(text), "/dev/shm/rs-fuzz-journal-%d", (int)getpid());
	return text;
}

static void fill(uint8_t ram[RAM])
{
	memset(ram, 0xcc, RAM);
	for (size_t at = 64; at < RAM; at += 128)
		memcpy(ram + at, jmp, sizeof(jmp));
}

/* See struct rs_journal_header. */
static uint64_t checksum(const uint8_t *bytes)
{
	uint64_t hash = 14695981039346656037u, word;

	for (size_t i = 0; i < offsetof(struct rs_journal_header, checksum); i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * 1099511628211u;
		hash ^= hash >> 32;
	}
	return hash;
}

static void write_raw(const uint8_t *data, size_t size, bool sealed)
{
	struct rs_journal_header header;
	FILE *file = fopen(path(), "w");
	size_t begun = 0;

	if (file && sealed && size >= sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		header.checksum = checksum(data);
		begun = fwrite(&header, 1, sizeof(header), file);
	}
	if (!file || fwrite(data + begun, 1, size - begun, file) != size - begun || fclose(file))
		abort();
}

static void write_records(const uint8_t *data, size_t size)
{
	struct rs_journal_record records[RECORDS_MAX];
	struct rs_journal *journal;
	size_t count = size / sizeof(records[0]);

	count = count < RECORDS_MAX ? count : RECORDS_MAX;
	memcpy(records, data, count * sizeof(records[0]));
	if (rs_journal_open(path(), &journal, NULL) ||
	    rs_journal_append(journal, records, count, NULL))
		abort();
	rs_journal_close(journal);
}

/* ---- what happens in a pause ---- */

static void on_pause(struct fake_target *fake)
{
	const uint8_t *flags = fake->data;

	if (*flags & CHANGES)
		fake->ram[64] ^= 1;
	if (*flags & NO_READS)
		fake->size = 0;
	if (*flags & NO_WRITES)
		fake->fail_write = *flags & EXEMPT ? -EIO : -EFAULT;
}

static bool is_exempt(const void *data, const struct rs_journal_record *record)
{
	return record->at % 64;
}

static void recover(uint8_t flags, struct fake_target *fake)
{
	const struct rs_journal_exempt exempt = {is_exempt, NULL};
	struct rs_journal_report report;
	struct rs_journal *journal;
	uint32_t count;

	if (rs_journal_open(path(), &journal, NULL))
		return;
	count = rs_journal_count(journal);
	if (!rs_journal_recover_but(journal, &fake->base, flags & EXEMPT ? &exempt : NULL, &report,
				    NULL) &&
	    (report.records > count ||
	     report.restored + report.untouched + report.left_alone != report.records))
		abort();
	rs_journal_close(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake_target fake;
	uint8_t ram[RAM];

	if (!size)
		return 0;
	fill(ram);
	if (data[0] & RECORDS)
		write_records(data + 1, size - 1);
	else
		write_raw(data + 1, size - 1, data[0] & SEALED);
	if (chmod(path(), data[0] & ANYBODYS ? 0666 : 0600) && errno != ENOENT)
		abort();
	fake_target_init(&fake, ram, sizeof(ram));
	if (data[0] & PROCESS)
		fake_target_virtual(&fake, 0);
	fake.on_pause = on_pause;
	fake.data = &(uint8_t){data[0]};
	recover(data[0], &fake);
	if (fake.bad_writes || fake.paused)
		abort();
	unlink(path());
	return 0;
}

static struct rs_journal_record record(enum rs_journal_kind kind, uint64_t at, uint8_t size)
{
	struct rs_text_patch patch = {
		.at = {at}, .at_phys = {at}, .next_phys = {RS_PAGE_SIZE}, .size = size};

	memset(patch.new_bytes, 0xcc, size);
	memset(patch.old_bytes, 0x55, size);
	if (kind == RS_JOURNAL_SITE) {
		memcpy(patch.new_bytes, jmp, sizeof(jmp));
		memcpy(patch.old_bytes, "\x0f\x1f\x44\x00\x00", 5);
	}
	return rs_journal_record_of(kind, 0x1000, &patch);
}

static size_t add(uint8_t *bytes, size_t size, struct rs_journal_record one)
{
	memcpy(bytes + size, &one, sizeof(one));
	return size + sizeof(one);
}

/* A site, patches of several sizes, one across two pages, and the file that a session leaves. */
static void rs_fuzz_seeds(void)
{
	static const uint8_t sizes[] = {1, 5, 8, 13, 16};
	struct rs_journal_record site = record(RS_JOURNAL_SITE, 64, 5);
	uint8_t bytes[1 + 7 * sizeof(site)] = {RECORDS};
	uint8_t file[1 + sizeof(struct rs_journal_header) + sizeof(site)] = {0};
	size_t size = add(bytes, 1, site);
	FILE *in;

	for (size_t i = 0; i < sizeof(sizes); i++)
		size = add(bytes, size, record(RS_JOURNAL_TEXT, 256 + 32 * i, sizes[i]));
	size = add(bytes, size, record(RS_JOURNAL_TEXT, RS_PAGE_SIZE - 6, 13));
	rs_fuzz_seed("records", bytes, size);
	bytes[0] = RECORDS | PROCESS;
	rs_fuzz_seed("virtual", bytes, size);
	for (uint8_t flag = CHANGES; flag; flag = (uint8_t)(flag << 1)) {
		char name[16];

		bytes[0] = RECORDS | flag;
		snprintf(name, sizeof(name), "flag%u", flag);
		rs_fuzz_seed(name, bytes, size);
	}
	bytes[0] = RECORDS | ANYBODYS;
	rs_fuzz_seed("anybodys", bytes, size);

	write_records((const uint8_t *)&site, sizeof(site));
	in = fopen(path(), "r");
	if (!in || fread(file + 1, 1, sizeof(file) - 1, in) != sizeof(file) - 1 || fclose(in))
		abort();
	unlink(path());
	rs_fuzz_seed("file", file, sizeof(file));
	file[0] = SEALED;
	rs_fuzz_seed("sealed", file, sizeof(file));
	file[1 + offsetof(struct rs_journal_header, version)]++;
	rs_fuzz_seed("version", file, sizeof(file));
}
