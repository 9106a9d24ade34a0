/* SPDX-License-Identifier: MIT */
/* Snapshots of the cmdline section. */
#include "seed.h"
#include "rs-trace-cmdline.h"
#include "../unit/decode/build.h"

static void rs_fuzz_seeds(void)
{
	guint8 section[2 * sizeof(struct rs_cmdline_bucket)] = {0};

	test_cmdline_put(section, 2, 7, 100, "first");
	test_cmdline_put(section, 2, 7, 200, "second");
	test_cmdline_put(section, 2, 8, 50, "\x1b[2J");
	rs_fuzz_seed("three", section, sizeof(section));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceCmdline *names = rs_trace_cmdline_new();

	rs_trace_cmdline_merge(names, data, NULL, size / 2);
	rs_trace_cmdline_merge(names, data + size / 2, data, size / 2);
	for (guint pid = 0; pid < 16; pid++) {
		gsize length = strlen(rs_trace_cmdline_lookup(names, pid, 150));

		if (!length || length > RS_COMM_LEN)
			abort();
	}
	rs_trace_cmdline_free(names);
	return 0;
}
