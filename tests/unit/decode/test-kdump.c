/* SPDX-License-Identifier: MIT */
/*
 * kdump's lines of records that no honest guest writes, and the letters of -t. What honest ones
 * look like is in tests/golden/kdump.expected.
 */
#include "build.h"
#include "rs-trace-kdump.h"

#include <string.h>

static const RsTraceTask task = {.comm = "cat"};

static char *show_with(const RsTraceKdumpOptions *options, const RsTraceRecord *record)
{
	GString *out = g_string_new(NULL);
	RsTraceKdump kdump;

	rs_trace_kdump_init(&kdump, options);
	rs_trace_kdump_record(&kdump, out, record, &task, RS_TRACE_TEXT_NONE);
	return g_string_free(out, FALSE);
}

static void check(const RsTraceRecord *record, const char *wanted)
{
	const RsTraceKdumpOptions options = {.max_data = 8};
	g_autofree char *shown = show_with(&options, record);

	g_assert_cmpstr(shown, ==, wanted);
}

/* ---- events ---- */

static void desc_namei(GByteArray *descs)
{
	TestDesc *desc = test_desc_new(64, "ktrace", "namei");

	test_desc_int(desc, "length", RS_KIND_UINT, 8);
	test_desc_array(desc, "path", RS_KIND_DYN_STRING, 1, 0, 0);
	test_desc_end(desc, "path=%s", "path", descs);
}

/* Its path is a number. */
static void desc_emul(GByteArray *descs)
{
	TestDesc *desc = test_desc_new(65, "ktrace", "emul");

	test_desc_int(desc, "length", RS_KIND_UINT, 8);
	test_desc_int(desc, "name", RS_KIND_UINT, 4);
	test_desc_end(desc, "name=%u", "name", descs);
}

/* It has no arguments, and a code that is text. */
static void desc_syscall(GByteArray *descs)
{
	TestDesc *desc = test_desc_new(66, "ktrace", "syscall");

	test_desc_array(desc, "code", RS_KIND_STRING, 1, 4, 0);
	test_desc_end(desc, "code=%s", "code", descs);
}

static void desc_other(GByteArray *descs, guint id, const char *system, const char *name)
{
	TestDesc *desc = test_desc_new(id, system, name);

	test_desc_int(desc, "length", RS_KIND_UINT, 8);
	test_desc_end(desc, "length=%u", "length", descs);
}

static RsTraceSchema *make_schema(void)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	RsTraceSchema *schema = rs_trace_schema_new();

	desc_namei(descs);
	desc_emul(descs);
	desc_syscall(descs);
	desc_other(descs, 67, "ktrace", "pledge");
	desc_other(descs, 68, "sched", "namei");
	test_take(schema, 0, descs);
	return schema;
}

static RsTraceRecord record_of(RsTraceSchema *schema, guint id, gconstpointer payload, guint size)
{
	return (RsTraceRecord){.event = rs_trace_schema_by_id(schema, id),
			       .id = (guint16)id,
			       .payload = payload,
			       .size = size,
			       .pid = 7};
}

static void test_other_fields(void)
{
	g_autoptr(RsTraceSchema) schema = make_schema();
	const guint8 payload[12] = {3, 0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0};
	RsTraceRecord emul = record_of(schema, 65, payload, 12);
	RsTraceRecord call = record_of(schema, 66,
				       "a\x1b"
				       "b",
				       4);

	check(&emul, "     7 cat      EMUL  name=42\n");
	check(&call, "     7 cat      CALL  code=a\\x1bb\n");
}

static void test_other_events(void)
{
	g_autoptr(RsTraceSchema) schema = make_schema();
	const guint8 payload[8] = {3};
	RsTraceRecord pledge = record_of(schema, 67, payload, 8);
	RsTraceRecord other = record_of(schema, 68, payload, 8);
	RsTraceRecord unknown = {.id = 99, .payload = payload, .size = 8};

	check(&pledge, "");
	check(&other, "");
	check(&unknown, "");
}

/* A payload that ends anywhere, and locators that lead anywhere. */
static void test_kdump_of_payloads_cut_anywhere(void)
{
	g_autoptr(RsTraceSchema) schema = make_schema();
	guint8 whole[16] = {4};
	RsTraceRecord record;
	guint32 locator = rs_locator(12, 4);

	memcpy(whole + 8, &locator, 4);
	memcpy(whole + 12, "path", 4);
	for (guint size = 0; size < sizeof(whole); size++) {
		g_autofree guint8 *payload = g_memdup2(whole, size);

		record = record_of(schema, 64, payload, size);
		record.cut = TRUE;
		check(&record, "     7 cat      NAMI  path=(cut) (cut)\n");
	}
	record = record_of(schema, 64, whole, sizeof(whole));
	check(&record, "     7 cat      NAMI  \"path\"\n");
	whole[0] = 5; /* longer than what is there */
	check(&record, "     7 cat      NAMI  \"path\"... (5 bytes)\n");
	memset(whole, 0xff, 8);
	check(&record, "     7 cat      NAMI  \"path\"... (18446744073709551615 bytes)\n");
	locator = rs_locator(13, 4);
	memcpy(whole + 8, &locator, 4);
	check(&record, "     7 cat      NAMI  path=(cut)\n");
}

/* Losses and boots show, but not between the data that -u asks for. */
static void test_kdump_shows_losses(void)
{
	const RsTraceRecord loss = {.kind = RS_TRACE_RECORD_LOSS, .ring = 1, .lost = 3};
	const RsTraceKdumpOptions label = {.label = "mark"};
	g_autofree char *shown = show_with(&label, &loss);

	check(&loss, "CPU:1 [LOST 3 EVENTS]\n");
	g_assert_cmpstr(shown, ==, "");
}

static void test_process(void)
{
	g_autoptr(RsTraceSchema) schema = make_schema();
	const guint8 payload[12] = {3};
	RsTraceRecord record = record_of(schema, 65, payload, 12);
	RsTraceKdumpOptions options = {.pid = 7};
	g_autofree char *mine = show_with(&options, &record), *thread = NULL;

	/* The process counts, not the thread. */
	record.tgid = 6;
	thread = show_with(&options, &record);
	g_assert_cmpstr(mine, ==, "     7 cat      EMUL  name=0\n");
	g_assert_cmpstr(thread, ==, "");
	check(&record, "     6 cat      EMUL  name=0\n");
}

static void test_letters_of_kdump_choose_points(void)
{
	static const char letters[] = "ceinstuwxX";
	guint32 all = 0, points = 77, every, usual;
	const char *bad[] = {"", "z", "cz", "C", "c ", "-", "cc\n"};

	for (const char *at = letters; *at; at++) {
		const char text[] = {*at, 0};

		g_assert_null(rs_trace_kdump_points(text, &points));
		g_assert_cmphex(points & all & 0x7fffffff, ==,
				0); /* none means what another does */
		g_assert_cmphex(points & 0x7fffffff, !=, 0);
		all |= points;
	}
	g_assert_null(rs_trace_kdump_points(letters, &every));
	g_assert_cmphex(every, ==, all);
	g_assert_null(rs_trace_kdump_points("+", &usual));
	g_assert_null(rs_trace_kdump_points("X", &points));
	g_assert_cmphex(usual & points & 0x7fffffff, ==, 0);
	g_assert_cmphex(usual | points, ==, all);
	g_assert_null(rs_trace_kdump_points("p", &points));
	g_assert_cmphex(points, !=, 0);
	points = 77;
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		const char *at = rs_trace_kdump_points(bad[i], &points);

		g_assert_true(at == bad[i] + (*bad[i] ? strlen(bad[i]) - 1 : 0));
		g_assert_cmpuint(points, ==, 77);
	}
}

static void test_linux_calls(void)
{
	static const struct {
		gint64 code;
		const char *name;
	} cases[] = {
		{-1, NULL},          {0, "read"},         {1, "write"},
		{59, "execve"},      {231, "exit_group"}, {334, "rseq"},
		{335, NULL},         {423, NULL},         {424, "pidfd_send_signal"},
		{439, "faccessat2"}, {999, NULL},         {G_MAXINT64, NULL},
		{G_MININT64, NULL},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpstr(rs_trace_kdump_linux_call(cases[i].code, NULL), ==, cases[i].name);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kdump/other-fields", test_other_fields);
	g_test_add_func("/kdump/other-events", test_other_events);
	g_test_add_func("/kdump/cut-payloads", test_kdump_of_payloads_cut_anywhere);
	g_test_add_func("/kdump/losses", test_kdump_shows_losses);
	g_test_add_func("/kdump/process", test_process);
	g_test_add_func("/kdump/letters", test_letters_of_kdump_choose_points);
	g_test_add_func("/kdump/linux-calls", test_linux_calls);
	return g_test_run();
}
