/* SPDX-License-Identifier: MIT */
/* Snapshots of the cmdline section, and entries one by one, as a file has them. */
#include "seed.h"
#include "rs-trace-cmdline.h"
#include "../unit/decode/build.h"

static void rs_fuzz_seeds(void)
{
	struct rs_cmdline_entry names[70];
	guint8 section[2 * sizeof(struct rs_cmdline_bucket)] = {0};

	struct rs_cmdline_entry reborn =
		test_task(7, 20, "0123456789abcdef0123456789abcdef01234567");

	reborn.boot = 2;
	reborn.tgid = 5;
	test_cmdline_put(section, 2, test_task(7, 100, "first"));
	test_cmdline_put(section, 2, test_task(7, 200, "second"));
	test_cmdline_put(section, 2, test_task(8, 50, "\x1b[2J"));
	test_cmdline_put(section, 2, reborn);
	rs_fuzz_seed("four", section, sizeof(section));
	/* More names than are remembered of a task, and one before all of them. */
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		names[i] = test_task(7, i + 1 < G_N_ELEMENTS(names) ? 100 + i : 1, "name");
	rs_fuzz_seed("many", names, sizeof(names));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceCmdline *names = rs_trace_cmdline_new();
	struct rs_cmdline_entry entry;

	rs_trace_cmdline_merge(names, data, NULL, size / 2, sizeof(struct rs_cmdline_entry));
	rs_trace_cmdline_merge(names, data + size / 2, data, size / 2,
			       sizeof(struct rs_cmdline_entry));
	for (; size >= sizeof(entry); data += sizeof(entry), size -= sizeof(entry)) {
		memcpy(&entry, data, sizeof(entry));
		rs_trace_cmdline_add(names, &entry);
	}
	for (guint i = 0; i < 48; i++) {
		RsTraceTask task;
		gsize length;

		rs_trace_cmdline_lookup(names, i % 16, (RsTraceMoment){i / 16, 0, 150}, &task);
		length = strlen(task.comm);
		if (!length || length > RS_COMM_LEN)
			abort();
	}
	rs_trace_cmdline_free(names);
	return 0;
}
