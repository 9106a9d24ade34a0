/* SPDX-License-Identifier: MIT */
/* A journal of arbitrary bytes, played back over a small memory. */
#define _GNU_SOURCE
#include "../unit/target/fake_target.h"
#include "patch/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	struct rs_journal_report report;
	struct rs_journal *journal = NULL;
	uint8_t ram[4096] = {0};
	struct fake_target fake;
	FILE *file;

	if (!path[0])
		snprintf(path, sizeof(path), "/dev/shm/rs-fuzz-journal-%d", (int)getpid());
	file = fopen(path, "w");
	if (!file)
		return 0;
	fwrite(data, 1, size, file);
	fclose(file);
	fake_target_init(&fake, ram, sizeof(ram));
	if (!rs_journal_open(path, &journal, NULL)) {
		rs_journal_recover(journal, &fake.base, &report, NULL);
		rs_journal_close(journal);
	}
	if (fake.writes || fake.bad_writes) /* this memory holds none of our bytes */
		abort();
	unlink(path);
	return 0;
}
