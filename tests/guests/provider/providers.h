/* SPDX-License-Identifier: MIT */
/* The providers of the example, for each of its files. */
#include <ringside/provider.h>

RS_PROVIDER_DECLARE(net)
RS_PROVIDER_DECLARE(disk)
RS_PROVIDER_DECLARE(steered)

/* Keywords of all of them. */
#define KEYWORD_REQUESTS 0x1u
#define KEYWORD_DATA 0x2u
#define KEYWORD_FAULTS 0x4u

/* disk.c: reads a block for a request. Returns what the statements gave. */
int read_block(uint64_t block, const struct rs_activity_id *request);
