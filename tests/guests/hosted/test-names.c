/* SPDX-License-Identifier: MIT */
/*
 * When a program's thread has its name read: at its first event, and when it says that it was
 * renamed. The test is the host, and runs itself as the traced process.
 */
#include "region/regions.h"

#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <ringside/cmdline.h>
#include <rs_hosted.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OTHER 1000001u /* more than any pid of Linux's */

RS_TRACE_EVENT(names, look, TP_PROTO(uint32_t n), TP_ARGS(n), TP_STRUCT__entry(__field(u32, n)),
	       TP_fast_assign(__entry->n = n;), TP_printk("n=%u", n))

/* As if the event were on: nobody is there to switch it on. */
static void emit(void)
{
	uint64_t entry = 0;

	rs_emit_8(&rs_event_names_look, &entry, sizeof(uint32_t));
}

static int be_traced(void)
{
	prctl(PR_SET_NAME, "one");
	if (rs_hosted_init("names") || !rs_hosted_active() || !rs_event_names_look.id)
		return 1;
	/* Its first event is for another; then it has its own name. */
	rs_hosted_speak_for(OTHER, OTHER, "other");
	emit();
	rs_hosted_speak_for(0, 0, NULL);
	emit();
	/* Nobody notices this one. */
	prctl(PR_SET_NAME, "unseen");
	emit();
	prctl(PR_SET_NAME, "two");
	rs_hosted_thread_renamed();
	emit();
	/* It goes on speaking for the other. */
	rs_hosted_speak_for(OTHER, OTHER, "other");
	prctl(PR_SET_NAME, "three");
	rs_hosted_thread_renamed();
	emit();
	rs_hosted_speak_for(0, 0, NULL);
	emit();
	printf("%d\n", (int)getpid());
	return 0;
}

static uint32_t run_traced(const char *path)
{
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL), *said = NULL;
	g_auto(GStrv) envp = g_environ_setenv(g_get_environ(), "RINGSIDE_REGION", path, TRUE);
	const char *const argv[] = {exe, "--traced", NULL};
	gint status;

	g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)argv, envp, G_SPAWN_DEFAULT, NULL,
				   NULL, &said, NULL, &status, NULL));
	g_assert_cmpint(status, ==, 0);
	return (uint32_t)g_ascii_strtoull(said, NULL, 10);
}

/* All names that a pid has had, in their order. */
static char *names_of(const RsTraceRegion *region, uint32_t pid)
{
	size_t size;
	const struct rs_cmdline_bucket *buckets =
		rs_trace_region_section(region, RS_SEC_CMDLINE, &size);
	const struct rs_cmdline_entry *way =
		buckets[rs_cmdline_hash(pid, region->header.section[RS_SEC_CMDLINE].count)].way;
	g_autoptr(GString) all = g_string_new(NULL);

	for (uint32_t number = 1; number <= RS_CMDLINE_WAYS; number++) {
		for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
			if (way[i].sequence && way[i].pid == pid && way[i].number == number)
				g_string_append_printf(all, "%.*s ", (int)RS_COMM_LEN, way[i].comm);
		}
	}
	return g_strdup(all->str);
}

static void test_names(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-names-XXXXXX", NULL), *own = NULL, *other = NULL;
	g_autofree char *path = g_build_filename(dir, "memory", NULL);
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = 64 * 1024};
	const struct rs_regions_run runs[] = {{&config, RS_SOURCE_USER, 1}};
	struct rs_regions *regions;
	RsTraceRegion *region;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(rs_regions_create(runs, G_N_ELEMENTS(runs), false, fd, &regions, NULL), ==,
			0);
	g_assert_cmpint(rs_regions_map(regions, 0, &region, NULL), ==, 0);
	own = names_of(region, run_traced(path));
	other = names_of(region, OTHER);
	g_assert_cmpstr(own, ==, "one two three ");
	g_assert_cmpstr(other, ==, "other ");
	rs_trace_region_free(region);
	rs_regions_free(regions);
	g_unlink(path);
	g_rmdir(dir);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--traced") == 0)
		return be_traced();
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hosted/names", test_names);
	return g_test_run();
}
