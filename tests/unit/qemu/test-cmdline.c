/* SPDX-License-Identifier: MIT */
#include "qemu/cmdline.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

/* `line` has a space where an argument ends. */
static void check(const char *line, const char *path, gboolean passed)
{
	g_autofree char *text = g_strdup(line), *found = NULL;
	gsize size = strlen(text);
	gboolean got;

	g_strdelimit(text, " ", '\0');
	found = rs_qemu_cmdline_qmp(text, size, &got);
	g_assert_cmpstr(found, ==, path);
	if (!path)
		g_assert_cmpint(got, ==, passed);
}

static void test_forms(void)
{
	check("qemu -qmp unix:/run/a,server=on,wait=off", "/run/a", FALSE);
	check("qemu -m 1G --qmp unix:b", "b", FALSE);
	check("qemu -qmp-pretty unix:/run/a,,b,server", "/run/a,b", FALSE);
	check("qemu -chardev socket,id=m,path=/c,server=on -mon chardev=m,mode=control", "/c",
	      FALSE);
	check("qemu -mon m,mode=control -chardev socket,path=/c,id=m", "/c", FALSE);
	check("qemu -mon mode=control,chardev=m -chardev socket,id=x,path=/x -chardev "
	      "socket,id=m,path=/c",
	      "/c", FALSE);
	check("qemu -chardev socket,id=q,path=/q -qmp chardev:q", "/q", FALSE);
	/* libvirt's */
	check("qemu -chardev socket,id=m,fd=22,server=on -mon chardev=m,mode=control", NULL, TRUE);
	/* For people, or not for us. */
	check("qemu -chardev socket,id=m,path=/c -mon chardev=m", NULL, FALSE);
	check("qemu -monitor unix:/m,server -qmp tcp:localhost:44", NULL, FALSE);
	check("qemu -qmp", NULL, FALSE);
	check("qemu -name -qmp", NULL, FALSE);
	check("-qmp", NULL, FALSE);
	check("", NULL, FALSE);
	check("qemu -chardev socket,path=/c,id -mon m,mode=control", NULL, FALSE);
	check("qemu -qmp unix: -qmp unix:/x", "", FALSE);
}

static void test_processes(void)
{
	struct rs_error err = {0};
	char *path = NULL;

	g_assert_cmpint(rs_qemu_find_qmp(getpid(), &path, &err), ==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "no QMP socket"));
	g_assert_cmpint(rs_qemu_find_qmp(-5, &path, &err), ==, -ESRCH);
	g_assert_null(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/qemu/cmdline/forms", test_forms);
	g_test_add_func("/qemu/cmdline/processes", test_processes);
	return g_test_run();
}
