/* SPDX-License-Identifier: MIT */
/*
 * kdump's lines of what a guest writes with ktrace.h, with each option. The output must equal
 * kdump.expected.
 *
 *	test-kdump EXPECTED      compare (the test)
 *	test-kdump -             print what there is
 */
#include "room.h"

#include <rs-trace-kdump.h>
#include <stdio.h>
#include <string.h>

static RsTraceKdump kdump;
static GString *out;
static RsTraceTextStyle style;

static void show(const RsTraceRecord *record, const RsTraceTask *task)
{
	static const RsTraceOrigin origin = {.name = "web.2", .escaped = "web.2"};
	RsTraceRecord shown = *record;

	shown.origin = &origin;
	rs_trace_kdump_record(&kdump, out, &shown, task, style);
}

/* ---- what the guest does ---- */

static const char bytes[] = "line one\nwith \"quotes\"\tand \\\n\x1b[2J\xff\xe2\x82\xac";
static char many[3000];

static void calls(struct rs_ktrace_thread *t)
{
	static const uint64_t args[80] = {3, 0x7f7ffffe3b10, ~0ull};

	rs_ktrsyscall(t, 0, 24, args);
	rs_ktrsysret(t, 0, 0, 5);
	rs_ktrsyscall(t, 2, 16, args + 1);
	rs_ktrsysret(t, 2, RS_ENOENT, -1);
	rs_ktrsysret(t, 9, 0, 0x7f0000001000);
	rs_ktrsysret(t, 3, 0, -10);
	rs_ktrsysret(t, 3, 0, 9);
	rs_ktrsysret(t, 3, 9999, 0);
	rs_ktrsysret(t, 0, RS_KTR_RESTART, 0);
	rs_ktrsysret(t, 0, RS_ERESTARTSYS, 0);
	rs_ktrsysret(t, 15, RS_KTR_JUSTRETURN, 0);
	rs_ktrsyscall(t, 450, 0, NULL);
	rs_ktrsyscall(t, 424, 7, args);
	rs_ktrsyscall(t, 423, 520, args + 3);
	rs_ktrsyscall(t, 100000, 0, NULL);
	rs_ktrsyscall(t, -1, 0, NULL);
}

static void inputs(struct rs_ktrace_thread *t)
{
	const struct rs_ktr_iovec text = {bytes, sizeof(bytes) - 1}, all = {many, sizeof(many)};

	rs_ktrgenio(t, 1, RS_KTR_WRITE, &text, sizeof(bytes) - 1, 0);
	rs_ktrgenio(t, 0, RS_KTR_READ, &text, 9, 0);
	rs_ktrgenio(t, 0, RS_KTR_READ, NULL, 0, 0);
	rs_ktrgenio(t, 99, RS_KTR_READ, &text, 5, RS_EBADF);
	rs_ktrgenio(t, 4, RS_KTR_READ, &all, 2060, 0);
}

static void rest(struct rs_ktrace_thread *t)
{
	const struct rs_ktr_siginfo info = {
		.code = 1, .pid = 12, .uid = 1000, .status = 3, .addr = 0x1234, .value = 5};

	rs_ktrnamei(t, "/etc/motd");
	rs_ktrnamei(t, bytes);
	rs_ktrnamei(t, many);
	rs_ktrpsig(t, 2, RS_KTR_SIG_DFL, 0, 0, NULL);
	rs_ktrpsig(t, 13, RS_KTR_SIG_IGN, 0x10, 0, NULL);
	rs_ktrpsig(t, 15, RS_KTR_SIG_ERR, 0, 0, NULL);
	rs_ktrpsig(t, 11, 0x401000, 0x2, -6, &info);
	rs_ktrpsig(t, 99, RS_KTR_SIG_DFL, 0, 0, NULL);
	rs_ktrcsw(t, true, false);
	rs_ktrcsw(t, false, true);
	rs_ktremul(t, "linux");
	rs_ktrstruct(t, "stat", "\1\2\3\0abcdefghijklmnop", 20);
	rs_ktrstruct(t, "big", many, sizeof(many));
	rs_ktruser(t, "mark", "first\nsecond\x1b", 13);
	rs_ktruser(t, "other", "\1", 1);
	rs_ktrexecargs(t, "ls\0-l\0/\x1b", 8);
	rs_ktrexecenv(t, "HOME=/\0TERM=vt100", 18);
	rs_ktrexecargs(t, many, sizeof(many));
}

static void play(struct room *room)
{
	memset(many, 'm', sizeof(many) - 1);
	room_trace(room, RS_KTRFAC_POINTS);
	calls(&room->thread);
	inputs(&room->thread);
	room_task.pid = 9;
	strcpy(room_task.comm, "a\x1b]0;long name");
	rest(&room->thread);
	room_task.pid = room_task.tgid = 70000;
	rs_ktrnamei(&room->thread, "by another process");
}

/* ---- with which options it is shown ---- */

static const char *own_name(gint64 code, gpointer data)
{
	return code == 2 ? data : NULL;
}

static void with(struct room *room, const char *title, RsTraceKdumpOptions options)
{
	g_string_append_printf(out, "== %s\n", title);
	if (!options.call_name)
		options.call_name = rs_trace_kdump_linux_call;
	if (!options.max_data)
		options.max_data = 64;
	rs_trace_kdump_init(&kdump, &options);
	room->known = 0;
	room_read(room);
}

static guint32 points(const char *letters)
{
	guint32 points;

	g_assert_null(rs_trace_kdump_points(letters, &points));
	return points;
}

static void show_all(struct room *room)
{
	with(room, "no options, -m 64", (RsTraceKdumpOptions){0});
	with(room, "-d -t cs", (RsTraceKdumpOptions){.decimal = TRUE, .points = points("cs")});
	with(room, "-n -t cs", (RsTraceKdumpOptions){.plain = TRUE, .points = points("cs")});
	with(room, "-dn -t c",
	     (RsTraceKdumpOptions){.plain = TRUE, .decimal = TRUE, .points = points("c")});
	with(room, "-HT -t sw",
	     (RsTraceKdumpOptions){.threads = TRUE, .absolute = TRUE, .points = points("sw")});
	with(room, "-R -t sw", (RsTraceKdumpOptions){.relative = TRUE, .points = points("sw")});
	with(room, "-TR -t sw",
	     (RsTraceKdumpOptions){.relative = TRUE, .absolute = TRUE, .points = points("sw")});
	with(room, "-x -t iu", (RsTraceKdumpOptions){.hex = TRUE, .points = points("iu")});
	with(room, "-X -m 20 -t itu",
	     (RsTraceKdumpOptions){.hex_ascii = TRUE, .max_data = 20, .points = points("itu")});
	with(room, "-t ew", (RsTraceKdumpOptions){.points = points("ew")});
	with(room, "-t p", (RsTraceKdumpOptions){.points = points("p")});
	with(room, "-t X", (RsTraceKdumpOptions){.points = points("X")});
	with(room, "-t x", (RsTraceKdumpOptions){.points = points("x")});
	with(room, "-p 70000", (RsTraceKdumpOptions){.pid = 70000});
	with(room, "-u mark", (RsTraceKdumpOptions){.label = "mark"});
	with(room, "own names, -t c",
	     (RsTraceKdumpOptions){.points = points("c"),
				   .call_name = own_name,
				   .data = (gpointer) "op\x1b"
						      "en"});
	style = RS_TRACE_TEXT_SOURCE;
	with(room, "of a source, -t w", (RsTraceKdumpOptions){.points = points("w")});
}

static void print(void)
{
	struct room room = {0};

	out = g_string_new(NULL);
	room_set_up(&room, NULL);
	play(&room);
	room.also = show;
	show_all(&room);
	room_tear_down(&room, NULL);
}

static const char *expected_path;

static void test_kdump(void)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *contents = NULL;
	g_auto(GStrv) expected = NULL, lines = NULL;

	print();
	lines = g_strsplit(out->str, "\n", -1);
	g_file_get_contents(expected_path, &contents, NULL, &error);
	g_assert_no_error(error);
	expected = g_strsplit(contents, "\n", -1);
	for (guint i = 0; lines[i] && expected[i]; i++)
		g_assert_cmpstr(lines[i], ==, expected[i]);
	g_assert_cmpuint(g_strv_length(lines), ==, g_strv_length(expected));
	g_string_free(out, TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc != 2)
		return 2;
	expected_path = argv[1];
	if (!strcmp(expected_path, "-")) {
		print();
		fputs(out->str, stdout);
		return 0;
	}
	g_test_add_func("/golden/kdump", test_kdump);
	return g_test_run();
}
