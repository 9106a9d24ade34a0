/* SPDX-License-Identifier: MIT */
/* Which source a record is from: a process that joined has the pids of its machine. */
#include "build-file.h"

static void put_described(File *f, guint number, struct rs_file_source info)
{
	info.size = sizeof(info);
	info.ring_count = RINGS;
	g_assert_true(
		rs_trace_writer_put(f->writer, RS_FILE_SOURCE, number, &info, sizeof(info), NULL));
}

static void test_machine(void)
{
	/* By number: the machine; what joined it; what joined nobody; of a session elsewhere. */
	const struct rs_file_source sources[] = {
		{.number = 3, .session_id = 7},
		{.number = 4, .session_id = 7, .machine = 3},
		{.number = 5, .session_id = 7, .machine = 9},
		{.number = 6, .session_id = 8, .machine = 3},
	};
	static const guint machines[] = {1, 1, 3, 4};
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GBytes) bytes = NULL;
	const RsTraceRecord *record;
	guint n = 0;
	File f = {0};

	set_up(&f, NULL);
	put_source(&f, 9, "other");
	for (guint i = 0; i < G_N_ELEMENTS(sources); i++) {
		put_described(&f, i, sources[i]);
		PAGE(&f, i, 0, 0, 10 + i);
	}
	bytes = finish(&f);
	tear_down(&f, NULL);
	reader = rs_trace_reader_new(file_of(bytes));
	while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
		g_assert_cmpuint(record->origin->index, ==, n + 1);
		g_assert_cmpuint(record->origin->machine, ==, machines[n++]);
	}
	g_assert_cmpuint(n, ==, G_N_ELEMENTS(machines));
}

static void put_boots(File *f, gconstpointer boots, guint stride)
{
	const RsTraceWriterTable table = {0, boots, RS_BOOTS, stride, NULL, 0};

	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_BOOTS, 0, &table, NULL));
}

/* What its agent says comes with its boots, of which an older recorder says no more than that. */
static void test_agent(void)
{
	const struct rs_file_boot boots[RS_BOOTS] = {
		{.boot = 8, .arch = RS_ARCH_AARCH64, .pid = 5},
		{.boot = 9},
		{.boot = 2, .arch = RS_ARCH_X86_64, .pid = 6},
	};
	const struct rs_boot plain[RS_BOOTS] = {{.boot = 8}};
	const struct rs_file_source *info;

	for (guint with = 0; with < 2; with++) {
		g_autoptr(RsTraceReader) reader = NULL;
		g_autoptr(GBytes) bytes = NULL;
		File f = {0};

		set_up(&f, NULL);
		put_source(&f, 0, "a");
		put_boots(&f, with ? (gconstpointer)boots : plain,
			  with ? sizeof(*boots) : sizeof(*plain));
		PAGE(&f, 0, 0, 0, 10);
		bytes = finish(&f);
		tear_down(&f, NULL);
		reader = rs_trace_reader_new(file_of(bytes));
		info = rs_trace_reader_next(reader, NULL, NULL)->origin->info;
		g_assert_cmpuint(info->arch, ==, with ? RS_ARCH_AARCH64 : 0);
		g_assert_cmpuint(info->pid, ==, with ? 5 : 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/origin/machine", test_machine);
	g_test_add_func("/decode/origin/agent", test_agent);
	return g_test_run();
}
