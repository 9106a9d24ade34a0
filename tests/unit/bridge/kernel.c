/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "kernel.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <ringside/ftrace_page.h>
#include <string.h>
#include <unistd.h>

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char hop[] =
	"name: hop\nID: 314\nformat:\n" COMMON
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t to;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:const void * frame;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"comm=%s to=%d %s\", REC->comm, REC->to, REC->to > 9 ? \"far\" : \"near\"\n";
static const char open_format[] =
	"name: open\nID: 500\nformat:\n" COMMON
	"\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 flags;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"name=%s flags=%s\", __get_str(name), "
	"__print_flags(REC->flags, \"|\", { 0x1, \"W\" }, { 0x2, \"C\" })\n";

char *test_kernel_file(const Kernel *kernel, const char *name)
{
	g_autofree char *path = g_build_filename(kernel->path, name, NULL);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

static void put(const Kernel *kernel, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(kernel->path, name, NULL);
	g_autofree char *folder = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

void test_kernel_open(Kernel *kernel, guint cpus)
{
	kernel->path = g_dir_make_tmp("ringside-bridge-XXXXXX", NULL);
	g_assert_nonnull(kernel->path);
	put(kernel, "events/test/hop/format", hop);
	put(kernel, "events/test/hop/enable", "0");
	put(kernel, "events/test/open/format", open_format);
	put(kernel, "events/test/open/enable", "0");
	/* It cannot be switched. */
	put(kernel, "events/ftrace/print/format", hop);
	put(kernel, "saved_cmdlines", "70001 ended\n70002 gone too\n");
	for (guint i = 0; i < cpus; i++) {
		g_autofree char *pages = g_strdup_printf("per_cpu/cpu%u/trace_pipe_raw", i);

		put(kernel, pages, "");
		test_kernel_lost(kernel, i, 0);
	}
	kernel->fs = (struct bridge_tracefs){.top = -1};
	kernel->fs.dir = open(kernel->path, O_RDONLY | O_DIRECTORY);
	kernel->fs.top = open(kernel->path, O_RDONLY | O_DIRECTORY);
	g_assert_cmpint(kernel->fs.dir, >=, 0);
}

static void remove_all(const char *path)
{
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		remove_all(child);
	}
	if (dir)
		g_dir_close(dir);
	g_remove(path);
}

void test_kernel_close(Kernel *kernel)
{
	close(kernel->fs.dir);
	close(kernel->fs.top);
	remove_all(kernel->path);
	g_free(kernel->path);
}

/* A reader has read to the end of the file: what is appended comes next. */
void test_kernel_page(Kernel *kernel, guint cpu, const GByteArray *page)
{
	g_autofree char *path =
		g_strdup_printf("%s/per_cpu/cpu%u/trace_pipe_raw", kernel->path, cpu);
	int fd = open(path, O_WRONLY | O_APPEND);

	g_assert_cmpint(write(fd, page->data, page->len), ==, page->len);
	close(fd);
}

/* Written in place: it is open. */
void test_kernel_lost(Kernel *kernel, guint cpu, guint overrun)
{
	g_autofree char *path = g_strdup_printf("%s/per_cpu/cpu%u/stats", kernel->path, cpu);
	g_autofree char *text = g_strdup_printf(
		"entries: 1\noverrun: %u\ncommit overrun: 0\nbytes: 9\ndropped events: 0\n",
		overrun);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	g_assert_cmpint(write(fd, text, strlen(text)), ==, (gssize)strlen(text));
	close(fd);
}

/* ---- pages ---- */

GByteArray *test_page_begin(guint64 ts)
{
	GByteArray *page = g_byte_array_new();
	const guint64 length = 0;

	g_byte_array_append(page, (const guint8 *)&ts, sizeof(ts));
	g_byte_array_append(page, (const guint8 *)&length, sizeof(length));
	return page;
}

static void put_record(GByteArray *page, guint delta, gconstpointer data, guint size)
{
	guint32 word = delta << 5 | size / 4, length;

	g_assert_cmpint(size % 4, ==, 0);
	g_assert_cmpint(size / 4, <, RS_FTRACE_PADDING);
	g_byte_array_append(page, (const guint8 *)&word, sizeof(word));
	g_byte_array_append(page, data, size);
	length = page->len - RS_FTRACE_HEADER;
	memcpy(page->data + 8, &length, sizeof(length));
}

struct common {
	guint16 id;
	guint8 flags, preempt;
	gint32 pid;
};

void test_page_hop(GByteArray *page, guint delta, guint pid, const char *comm, gint32 value)
{
	struct {
		struct common common;
		char comm[16];
		gint32 to;
		guint32 pad;
		guint64 frame;
	} record = {{SWITCH_ID, 1, 2, (gint32)pid}, "", value, 0, 0xffffffff81000000u};

	g_strlcpy(record.comm, comm, sizeof(record.comm));
	put_record(page, delta, &record, sizeof(record));
}

void test_page_open(GByteArray *page, guint delta, guint pid, const char *name)
{
	struct {
		struct common common;
		guint32 name, flags;
		char text[32];
	} record = {{OPEN_ID, 0, 0, (gint32)pid}, 0, 3, ""};
	guint length = (guint)strlen(name) + 1;

	g_strlcpy(record.text, name, sizeof(record.text));
	record.name = length << 16 | 16;
	put_record(page, delta, &record, (16 + length + 3) & ~3u);
}

void test_page_missed(GByteArray *page, gboolean stored, guint64 missed)
{
	guint32 length;

	memcpy(&length, page->data + 8, sizeof(length));
	length |= RS_FTRACE_MISSED | (stored ? RS_FTRACE_STORED : 0);
	memcpy(page->data + 8, &length, sizeof(length));
	if (stored)
		g_byte_array_append(page, (const guint8 *)&missed, sizeof(missed));
}
