/* SPDX-License-Identifier: MIT */
/*
 * Recovery of a small memory from a journal of arbitrary bytes, or (first byte odd) of arbitrary
 * records with good checksums. The memory checks that a record is written only over exactly its own
 * bytes.
 */
#define _GNU_SOURCE
#include "../unit/target/fake_target.h"
#include "patch/journal.h"
#include "seed.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAM 8192u
#define RECORDS_MAX 64u

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

static void write_raw(const uint8_t *data, size_t size)
{
	FILE *file = fopen(path(), "w");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		abort();
	if (chmod(path(), 0600))
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_journal_report report;
	struct rs_journal *journal = NULL;
	struct fake_target fake;
	uint8_t ram[RAM];

	if (!size)
		return 0;
	fill(ram);
	if (data[0] & 1)
		write_records(data + 1, size - 1);
	else
		write_raw(data + 1, size - 1);
	fake_target_init(&fake, ram, sizeof(ram));
	if (data[0] & 2)
		fake_target_virtual(&fake, 0);
	if (!rs_journal_open(path(), &journal, NULL)) {
		rs_journal_recover(journal, &fake.base, &report, NULL);
		rs_journal_close(journal);
	}
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
	uint8_t bytes[1 + 7 * sizeof(site)] = {1};
	uint8_t file[1 + sizeof(struct rs_journal_header) + sizeof(site)] = {0};
	size_t size = add(bytes, 1, site);
	FILE *in;

	for (size_t i = 0; i < sizeof(sizes); i++)
		size = add(bytes, size, record(RS_JOURNAL_TEXT, 256 + 32 * i, sizes[i]));
	size = add(bytes, size, record(RS_JOURNAL_TEXT, RS_PAGE_SIZE - 6, 13));
	rs_fuzz_seed("records", bytes, size);
	bytes[0] = 3;
	rs_fuzz_seed("virtual", bytes, size);

	write_records((const uint8_t *)&site, sizeof(site));
	in = fopen(path(), "r");
	if (!in || fread(file + 1, 1, sizeof(file) - 1, in) != sizeof(file) - 1 || fclose(in))
		abort();
	unlink(path());
	rs_fuzz_seed("file", file, sizeof(file));
}
