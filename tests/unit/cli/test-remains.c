/* SPDX-License-Identifier: MIT */
/* What dead sessions have left, and what their files are kept for. */
#include "cli/remains.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;

static char *path_of(const char *name)
{
	return g_build_filename(dir, "ringside", name, NULL);
}

static void claim(const char *name, const RsTraceRundirSource *source, struct rs_rundir_claim **out)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_entry_new(name);

	if (source)
		rs_trace_rundir_entry_add(entry, source);
	g_assert_cmpint(rs_rundir_claim(entry, out, NULL), ==, 0);
}

/* A process has begun such a session, and has died. */
static RsTraceRundirEntry *leave(const char *name, const RsTraceRundirSource *source)
{
	struct rs_rundir_claim *claimed;
	pid_t pid = fork();

	if (!pid) {
		claim(name, source, &claimed);
		_exit(0);
	}
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	return rs_trace_rundir_find(name, NULL);
}

static void touch(const char *name)
{
	g_autofree char *path = path_of(name);

	g_assert_true(g_file_set_contents(path, "x", 1, NULL));
}

static bool is_there(const char *name)
{
	g_autofree char *path = path_of(name);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_strlcpy(at.sun_path, path, sizeof(at.sun_path));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(fd, 100), ==, 0);
	return fd;
}

/* Of our own VMM nothing is left, nor of a program that has ended. */
static void test_nothing(void)
{
	g_autoptr(RsTraceRundirEntry) kvm = leave("k", &(RsTraceRundirSource){.name = (char *)"k"});
	g_autoptr(RsTraceRundirEntry) program =
		leave("p", &(RsTraceRundirSource){
				   .name = (char *)"p", .program = TRUE, .via = (char *)"pid:1:1"});
	g_autoptr(RsTraceRundirEntry) untold = leave("u", NULL);

	g_assert_cmphex(rs_remains_of(kvm), ==, 0);
	g_assert_cmphex(rs_remains_of(program), ==, 0);
	g_assert_cmphex(rs_remains_of(untold), ==, 0);
	touch("k@1.journal");
	rs_remains_sweep();
	g_assert_false(is_there("k.session") || is_there("p.session") || is_there("u.session"));
	g_assert_false(is_there("k@1.journal"));
}

/* A QEMU that listens is a guest, also one that was not told of. */
static void test_guest(void)
{
	g_autofree char *qmp = path_of("g@1.qmp");
	g_autoptr(RsTraceRundirEntry) guest =
		leave("g", &(RsTraceRundirSource){.name = (char *)"g", .qmp = qmp});
	g_autoptr(RsTraceRundirEntry) untold = NULL, said = NULL;
	struct rs_rundir_claim *claimed;
	int fd;

	g_assert_cmphex(rs_remains_of(guest), ==, 0);
	fd = listen_at(qmp);
	g_assert_cmphex(rs_remains_of(guest), ==, RS_REMAINS_GUEST);
	rs_remains_sweep();
	g_assert_true(is_there("g.session"));
	/* Nobody gets its name, wished for or not. */
	g_assert_cmpint(rs_remains_claim("g", "x", &claimed, NULL), ==, -EEXIST);
	g_assert_cmpint(rs_remains_claim(NULL, "/x/g", &claimed, NULL), ==, 0);
	g_assert_cmpstr(rs_rundir_claim_name(claimed), ==, "g-2");
	g_assert_cmphex(rs_remains_release(claimed, true), ==, 0);
	g_assert_false(is_there("g-2.session"));
	/* Who takes it up and lets go of it leaves it detached. */
	g_assert_cmpint(rs_rundir_claim(guest, &claimed, NULL), ==, 0);
	g_assert_cmphex(rs_remains_release(claimed, true), ==, RS_REMAINS_GUEST);
	said = rs_trace_rundir_find("g", NULL);
	g_assert_cmpstr(said->said, ==, RS_TRACE_RUNDIR_DETACHED);
	untold = leave("g", NULL);
	g_assert_cmphex(rs_remains_of(untold), ==, 0);
	touch("g@1.qemu");
	g_assert_cmphex(rs_remains_of(untold), ==, RS_REMAINS_GUEST);
	close(fd);
	g_assert_cmphex(rs_remains_of(untold), ==, 0);
	rs_remains_sweep();
	g_assert_false(is_there("g.session") || is_there("g@1.qemu"));
}

/* A guest of somebody else's leads to its session only while it is to be put right. */
static void test_other(void)
{
	g_autoptr(RsTraceRundirEntry) other =
		leave("o", &(RsTraceRundirSource){.name = (char *)"o", .via = (char *)"qmp:/nix"});
	struct rs_rundir_claim *claimed;

	g_assert_cmphex(rs_remains_of(other), ==, 0);
	touch("o@1.journal");
	g_assert_cmphex(rs_remains_of(other), ==, RS_REMAINS_OTHER);
	/* It is lost, whoever says that he has let go of it. */
	g_assert_cmpint(rs_rundir_claim(other, &claimed, NULL), ==, 0);
	g_assert_cmphex(rs_remains_release(claimed, true), ==, RS_REMAINS_OTHER);
	rs_trace_rundir_entry_free(g_steal_pointer(&other));
	other = rs_trace_rundir_find("o", NULL);
	g_assert_nonnull(other);
	g_assert_null(other->said);
	{
		g_autofree char *journal = path_of("o@1.journal");

		g_unlink(journal);
	}
	rs_remains_sweep();
	g_assert_false(is_there("o.session"));
}

/* To a memory its path leads, too: its name is kept after a death, and not after an end. */
static void test_memory(void)
{
	g_autofree char *memory = path_of("memory"), *via = g_strconcat("shm:", memory, NULL);
	g_autoptr(RsTraceRundirEntry) entry =
		leave("m", &(RsTraceRundirSource){.name = (char *)"m", .via = via});
	struct rs_rundir_claim *claimed;

	g_assert_cmphex(rs_remains_of(entry), ==, 0);
	touch("memory");
	g_assert_cmphex(rs_remains_of(entry), ==, RS_REMAINS_MEMORY);
	rs_remains_sweep();
	g_assert_true(is_there("m.session"));
	g_assert_cmpint(rs_rundir_claim(entry, &claimed, NULL), ==, 0);
	g_assert_cmphex(rs_remains_release(claimed, true), ==, RS_REMAINS_MEMORY);
	g_assert_false(is_there("m.session"));
}

/* A journal that nobody can read may be of text that is patched. */
static void test_text(void)
{
	g_autoptr(RsTraceRundirEntry) program = NULL;

	program = leave("t", &(RsTraceRundirSource){.name = (char *)"t", .program = TRUE});
	touch("t@1.journal");
	g_assert_cmphex(rs_remains_of(program), ==, RS_REMAINS_TEXT);
	rs_remains_sweep();
	g_assert_true(is_there("t.session") && is_there("t@1.journal"));
}

int main(int argc, char **argv)
{
	int ret;

	g_test_init(&argc, &argv, NULL);
	dir = g_dir_make_tmp("rs-remains-XXXXXX", NULL);
	g_setenv("XDG_RUNTIME_DIR", dir, TRUE);
	g_test_add_func("/cli/remains/nothing", test_nothing);
	g_test_add_func("/cli/remains/guest", test_guest);
	g_test_add_func("/cli/remains/other", test_other);
	g_test_add_func("/cli/remains/memory", test_memory);
	g_test_add_func("/cli/remains/text", test_text);
	ret = g_test_run();
	{
		g_autofree char *command = g_strdup_printf("rm -r '%s'", dir);

		g_assert_cmpint(system(command), ==, 0);
	}
	g_free(dir);
	return ret;
}
