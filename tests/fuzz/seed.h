/* SPDX-License-Identifier: MIT */
/*
 * Seeds that a fuzz target makes itself: include this in one fuzz-NAME.c and define
 * rs_fuzz_seeds(), which calls rs_fuzz_seed() for each. They are written before libFuzzer reads its
 * corpus, into $RS_FUZZ_SEEDS (set by run-fuzzer.py); without it nothing is written.
 */
#ifndef RS_TESTS_FUZZ_SEED_H
#define RS_TESTS_FUZZ_SEED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void rs_fuzz_seeds(void);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void rs_fuzz_seed(const char *name, const void *bytes, size_t size)
{
	const char *dir = getenv("RS_FUZZ_SEEDS");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (getenv("RS_FUZZ_SEEDS"))
		rs_fuzz_seeds();
	return 0;
}

#endif
