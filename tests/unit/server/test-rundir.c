/* SPDX-License-Identifier: MIT */
#include "server/rundir.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <rs-trace-session-error.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;

/* The time of day; 0: as it is. */
static gint64 fake_s;

gint64 __real_g_get_real_time(void);
gint64 __wrap_g_get_real_time(void);

gint64 __wrap_g_get_real_time(void)
{
	return fake_s ? fake_s * G_USEC_PER_SEC : __real_g_get_real_time();
}

static void assert_missing(const char *name)
{
	GError *error = NULL;

	g_assert_null(rs_trace_rundir_find(name, &error));
	g_assert_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION);
	g_clear_error(&error);
}

static RsTraceRundirEntry *make(const char *name, const char *qmp)
{
	RsTraceRundirEntry *entry = rs_trace_rundir_entry_new(name);

	rs_trace_rundir_entry_add(entry, &(RsTraceRundirSource){.name = (char *)"k",
								.kind = (char *)"kvm",
								.kernel = (char *)"/k = [x]\n",
								.qmp = (char *)qmp});
	return entry;
}

static void test_claim(void)
{
	g_autoptr(RsTraceRundirEntry) entry = make("a", NULL);
	struct rs_rundir_claim *claim, *second = NULL;
	const RsTraceRundirSource *source;
	RsTraceRundirEntry *found;
	g_autoptr(GPtrArray) list = NULL;
	struct rs_error err = {0};
	struct stat st;

	g_assert_cmpint(rs_rundir_claim(entry, &claim, &err), ==, 0);
	g_assert_cmpint(rs_rundir_claim(entry, &second, &err), ==, -EEXIST);
	g_assert_null(second);
	found = rs_trace_rundir_find("a", NULL);
	g_assert_nonnull(found);
	g_assert_true(found->live);
	g_assert_cmpint(found->pid, ==, getpid());
	g_assert_cmpuint(found->sources->len, ==, 1);
	source = rs_trace_rundir_entry_source(found, 1);
	g_assert_cmpstr(source->kernel, ==, "/k = [x]\n");
	g_assert_cmpstr(source->kind, ==, "kvm");
	g_assert_null(source->qmp);
	rs_trace_rundir_entry_free(found);
	rs_trace_rundir_entry_add(entry, &(RsTraceRundirSource){.name = (char *)"second",
								.qmp = (char *)"/q",
								.program = TRUE});
	g_assert_cmpint(rs_rundir_update(claim, entry, &err), ==, 0);
	list = rs_trace_rundir_list(NULL);
	g_assert_nonnull(list);
	g_assert_cmpuint(list->len, ==, 1);
	found = list->pdata[0];
	g_assert_cmpuint(found->sources->len, ==, 2);
	g_assert_cmpstr(rs_trace_rundir_entry_source(found, 1)->kernel, ==, "/k = [x]\n");
	g_assert_cmpstr(rs_trace_rundir_entry_source(found, 2)->name, ==, "second");
	g_assert_cmpstr(rs_trace_rundir_entry_source(found, 2)->kernel, ==, "");
	g_assert_cmpstr(rs_trace_rundir_entry_source(found, 2)->qmp, ==, "/q");
	g_assert_true(rs_trace_rundir_entry_source(found, 2)->program);
	g_assert_false(rs_trace_rundir_entry_source(found, 1)->program);
	g_assert_null(rs_trace_rundir_entry_source(found, 0));
	g_assert_null(rs_trace_rundir_entry_source(found, 3));
	g_assert_false(rs_trace_rundir_entry_lost(found)); /* it lives */
	g_assert_null(found->said);
	rs_rundir_say(claim, RS_TRACE_RUNDIR_ENDING);
	found = rs_trace_rundir_find("a", NULL);
	g_assert_cmpstr(found->said, ==, RS_TRACE_RUNDIR_ENDING);
	g_assert_true(found->live);
	g_assert_cmpuint(found->sources->len, ==, 2);
	rs_trace_rundir_entry_free(found);
	/* Who takes it up has said nothing yet. */
	g_assert_cmpint(rs_rundir_update(claim, entry, &err), ==, 0);
	found = rs_trace_rundir_find("a", NULL);
	g_assert_null(found->said);
	rs_trace_rundir_entry_free(found);
	{
		g_autofree char *path = g_build_filename(dir, "ringside", NULL);

		g_assert_cmpint(stat(path, &st), ==, 0);
		g_assert_cmphex(st.st_mode & 0777, ==, 0700);
	}
	rs_rundir_release(claim, false);
	assert_missing("a");
}

static void check_started(const char *name, gint64 when)
{
	g_autoptr(RsTraceRundirEntry) found = rs_trace_rundir_find(name, NULL);

	g_assert_nonnull(found);
	g_assert_cmpint(found->started, ==, when);
	g_assert_cmpint(found->pid, ==, getpid());
}

/* When it was started does not change with what it says later. */
static void test_started(void)
{
	g_autoptr(RsTraceRundirEntry) entry = make("s", "/q");
	struct rs_rundir_claim *claim;

	fake_s = 1000;
	g_assert_cmpint(rs_rundir_claim(entry, &claim, NULL), ==, 0);
	check_started("s", 1000);
	fake_s = 2000;
	g_assert_cmpint(rs_rundir_update(claim, entry, NULL), ==, 0);
	check_started("s", 1000);
	rs_rundir_say(claim, RS_TRACE_RUNDIR_DETACHED);
	check_started("s", 1000);
	rs_rundir_release(claim, true);
	check_started("s", 1000);
	/* Who takes it up has started then. */
	g_assert_cmpint(rs_rundir_claim(entry, &claim, NULL), ==, 0);
	check_started("s", 2000);
	rs_rundir_release(claim, false);
	fake_s = 0;
}

static bool is_lost(const RsTraceRundirEntry *entry)
{
	return rs_trace_rundir_entry_lost(entry);
}

/* A process that dies leaves its file, unlocked. */
static void test_dead(void)
{
	g_autoptr(RsTraceRundirEntry) entry = make("d", "/q");
	struct rs_rundir_claim *claim;
	RsTraceRundirEntry *found;
	struct rs_error err = {0};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		_exit(rs_rundir_claim(entry, &claim, &err) ? 1 : 0);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	found = rs_trace_rundir_find("d", NULL);
	g_assert_nonnull(found);
	g_assert_false(found->live);
	g_assert_cmpint(found->pid, ==, pid);
	g_assert_true(rs_trace_rundir_entry_lost(found));
	rs_trace_rundir_entry_free(found);
	/* Its guest may live: nobody gets the name by chance, but it may be claimed. */
	g_assert_cmpint(rs_rundir_claim_free("d", is_lost, &claim, &err), ==, 0);
	g_assert_cmpstr(rs_rundir_claim_name(claim), ==, "d-2");
	rs_rundir_release(claim, false);
	g_assert_cmpint(rs_rundir_claim(entry, &claim, &err), ==, 0);
	rs_rundir_release(claim, false);
}

/* A name that a dead session has left is free. Nothing of that session goes over to the new one. */
static void test_dead_free(void)
{
	g_autoptr(RsTraceRundirEntry) entry = make("f", NULL);
	struct rs_rundir_claim *claim;
	RsTraceRundirEntry *found;
	struct rs_error err = {0};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		_exit(rs_rundir_claim(entry, &claim, &err) ? 1 : 0);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpint(rs_rundir_claim_free("f", is_lost, &claim, &err), ==, 0);
	g_assert_cmpstr(rs_rundir_claim_name(claim), ==, "f");
	found = rs_trace_rundir_find("f", NULL);
	g_assert_true(found->live);
	g_assert_cmpuint(found->sources->len, ==, 0);
	rs_trace_rundir_entry_free(found);
	rs_rundir_release(claim, false);
}

static gpointer claim_one(gpointer data)
{
	struct rs_rundir_claim *claim = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_rundir_claim_free(data, is_lost, &claim, &err), ==, 0);
	return claim;
}

/* Sessions that choose their names at the same time choose different ones. */
static void test_crowd(void)
{
	GThread *threads[16];
	struct rs_rundir_claim *claims[16];
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < 16; i++)
		threads[i] = g_thread_new("claim", claim_one, (gpointer) "crowd");
	for (guint i = 0; i < 16; i++) {
		claims[i] = g_thread_join(threads[i]);
		g_assert_true(g_hash_table_add(names, (gpointer)rs_rundir_claim_name(claims[i])));
	}
	for (guint i = 0; i < 16; i++)
		rs_rundir_release(claims[i], false);
}

/* Only those of the session itself: "j" is not "j-2", nor is a file what merely ends so. */
static void test_journals(void)
{
	const char *const files[] = {"j@1.journal", "j@2.journal", "j-2@1.journal",
				     "j.journal",   "j@1.qmp",     "jj@1.journal"};
	g_autofree char *name = rs_trace_rundir_source_name("j", 2);
	g_autofree char *path = NULL;
	g_autoptr(GPtrArray) list = NULL;
	struct rs_error err = {0};
	bool found[2] = {false, false};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *file = g_build_filename(dir, "ringside", files[i], NULL);

		g_assert_true(g_file_set_contents(file, "x", 1, NULL));
	}
	g_assert_cmpint(rs_rundir_journals("j", &list, &err), ==, 0);
	g_assert_cmpint(rs_rundir_file(name, "journal", &path, &err), ==, 0);
	g_assert_cmpuint(list->len, ==, 2);
	for (guint i = 0; i < 2; i++) {
		found[0] |= g_str_has_suffix(list->pdata[i], "/j@1.journal");
		found[1] |= strcmp(list->pdata[i], path) == 0;
	}
	g_assert_true(found[0] && found[1]);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *file = g_build_filename(dir, "ringside", files[i], NULL);

		g_unlink(file);
	}
}

static void test_bad_files(void)
{
	g_autofree char *path = g_build_filename(dir, "ringside", "bad.session", NULL);
	g_autofree char *link = g_build_filename(dir, "ringside", "link.session", NULL);
	g_autoptr(GPtrArray) list = NULL;

	g_assert_true(g_file_set_contents(path, "\377\376 no key file", -1, NULL));
	g_assert_cmpint(symlink("/etc/passwd", link), ==, 0);
	assert_missing("bad");
	assert_missing("link");
	assert_missing("../x");
	list = rs_trace_rundir_list(NULL);
	g_assert_nonnull(list);
	g_assert_cmpuint(list->len, ==, 0);
	g_unlink(path);
	g_unlink(link);
}

static void test_not_ours(void)
{
	g_autofree char *path = g_build_filename(dir, "ringside", NULL);
	g_autofree char *out = NULL;
	GError *error = NULL;

	g_assert_cmpint(chmod(path, 0777), ==, 0);
	g_assert_null(rs_trace_rundir_path(&error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED);
	g_clear_error(&error);
	g_assert_cmpint(chmod(path, 0700), ==, 0);
	out = rs_trace_rundir_path(NULL);
	g_assert_nonnull(out);
}

/* Whoever logs us in makes the directory above, or nobody does. */
static void test_no_runtime_dir(void)
{
	g_autofree char *missing = g_build_filename(dir, "missing", NULL);
	GError *error = NULL;

	g_setenv("XDG_RUNTIME_DIR", missing, TRUE);
	g_assert_null(rs_trace_rundir_path(&error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
	g_assert_nonnull(strstr(error->message, missing));
	g_clear_error(&error);
	g_assert_null(rs_trace_rundir_list(&error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
	g_clear_error(&error);
	g_assert_false(g_file_test(missing, G_FILE_TEST_EXISTS));
	g_setenv("XDG_RUNTIME_DIR", dir, TRUE);
}

int main(int argc, char **argv)
{
	g_autofree char *ours = NULL;
	int ret;

	g_test_init(&argc, &argv, NULL);
	dir = g_dir_make_tmp("rundir-XXXXXX", NULL);
	g_setenv("XDG_RUNTIME_DIR", dir, TRUE);
	ours = g_build_filename(dir, "ringside", NULL);
	g_test_add_func("/server/rundir/claim", test_claim);
	g_test_add_func("/server/rundir/started", test_started);
	g_test_add_func("/server/rundir/dead", test_dead);
	g_test_add_func("/server/rundir/dead-free", test_dead_free);
	g_test_add_func("/server/rundir/crowd", test_crowd);
	g_test_add_func("/server/rundir/journals", test_journals);
	g_test_add_func("/server/rundir/bad-files", test_bad_files);
	g_test_add_func("/server/rundir/not-ours", test_not_ours);
	g_test_add_func("/server/rundir/no-runtime-dir", test_no_runtime_dir);
	ret = g_test_run();
	g_rmdir(ours);
	g_rmdir(dir);
	g_free(dir);
	return ret;
}
