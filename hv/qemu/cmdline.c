/* SPDX-License-Identifier: MIT */
#include "qemu/cmdline.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* The arguments; the last one may lack its NUL. */
static GPtrArray *split(const char *text, size_t size)
{
	GPtrArray *args = g_ptr_array_new_with_free_func(g_free);

	for (size_t at = 0; at < size;) {
		size_t length = strnlen(text + at, size - at);

		g_ptr_array_add(args, g_strndup(text + at, length));
		at += length + 1;
	}
	return args;
}

/* Whether args[i] is that option: QEMU takes one dash or two. */
static gboolean is_option(const GPtrArray *args, guint i, const char *name)
{
	const char *arg = args->pdata[i];

	if (*arg != '-' || i + 1 >= args->len)
		return FALSE;
	arg += arg[1] == '-' ? 2 : 1;
	return strcmp(arg, name) == 0;
}

/* The part of a QEMU option up to a comma that is not doubled; *next is what follows, or NULL. */
static char *take_part(const char *text, const char **next)
{
	GString *part = g_string_new(NULL);

	for (; *text; text++) {
		if (*text == ',' && text[1] != ',')
			break;
		text += *text == ',';
		g_string_append_c(part, *text);
	}
	*next = *text ? text + 1 : NULL;
	return g_string_free(part, FALSE);
}

/* The value of `key` in an option like "socket,id=x,path=/y", to be freed; NULL: not there. */
static char *value_of(const char *option, const char *key)
{
	while (option) {
		g_autofree char *part = take_part(option, &option);
		size_t length = strlen(key);

		if (strncmp(part, key, length) == 0 && part[length] == '=')
			return g_strdup(part + length + 1);
	}
	return NULL;
}

/* Of "-mon", the character device; "-mon chardev=x" and "-mon x" are the same. */
static char *monitor_device(const char *option)
{
	g_autofree char *mode = value_of(option, "mode"), *first = NULL;
	char *device = value_of(option, "chardev");
	const char *rest;

	if (!device) {
		first = take_part(option, &rest);
		device = strchr(first, '=') ? NULL : g_strdup(first);
	}
	if (g_strcmp0(mode, "control") == 0)
		return device;
	g_free(device);
	return NULL;
}

static char *path_of_device(const GPtrArray *args, const char *device, gboolean *passed)
{
	for (guint i = 0; i < args->len; i++) {
		g_autofree char *id = NULL, *path = NULL;

		if (!is_option(args, i, "chardev"))
			continue;
		id = value_of(args->pdata[i + 1], "id");
		if (g_strcmp0(id, device))
			continue;
		path = value_of(args->pdata[i + 1], "path");
		*passed |= !path;
		return g_steal_pointer(&path);
	}
	return NULL;
}

char *rs_qemu_cmdline_qmp(const char *text, size_t size, gboolean *passed)
{
	static const char local[] = "unix:";
	g_autoptr(GPtrArray) args = split(text, size);
	const char *rest;

	*passed = FALSE;
	for (guint i = 0; i < args->len; i++) {
		g_autofree char *device = NULL;
		char *path = NULL;

		if (is_option(args, i, "qmp") || is_option(args, i, "qmp-pretty")) {
			const char *option = args->pdata[i + 1];

			if (g_str_has_prefix(option, local))
				return take_part(option + strlen(local), &rest);
			if (g_str_has_prefix(option, "chardev:"))
				path = path_of_device(args, option + strlen("chardev:"), passed);
		} else if (is_option(args, i, "mon")) {
			device = monitor_device(args->pdata[i + 1]);
			if (device)
				path = path_of_device(args, device, passed);
		}
		if (path)
			return path;
	}
	return NULL;
}

int rs_qemu_find_qmp(pid_t pid, char **out, struct rs_error *err)
{
	g_autofree char *file = g_strdup_printf("/proc/%d/cmdline", (int)pid);
	g_autofree char *link = g_strdup_printf("/proc/%d/cwd", (int)pid);
	g_autofree char *text = NULL, *path = NULL, *folder = NULL;
	gboolean passed;
	gsize size;

	if (!g_file_get_contents(file, &text, &size, NULL))
		return rs_error_set(err, ESRCH, "there is no process %d", (int)pid);
	path = rs_qemu_cmdline_qmp(text, size, &passed);
	if (!path && passed)
		return rs_error_set(err, ENOTSUP,
				    "process %d has a QMP socket without a path, as libvirt makes "
				    "it: attach its domain by name",
				    (int)pid);
	if (!path)
		return rs_error_set(err, ENOTSUP,
				    "process %d has no QMP socket: start QEMU with -qmp "
				    "unix:PATH,server=on,wait=off",
				    (int)pid);
	folder = g_path_is_absolute(path) ? NULL : g_file_read_link(link, NULL);
	*out = folder ? g_build_filename(folder, path, NULL) : g_strdup(path);
	return 0;
}
