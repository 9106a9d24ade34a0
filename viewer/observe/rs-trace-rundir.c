/* SPDX-License-Identifier: MIT */
#include "rs-trace-rundir.h"
#include "rs-trace-session-error.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE 65536

static const char *runtime_dir(void)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");

	return xdg && g_path_is_absolute(xdg) ? xdg : NULL;
}

static char *base_dir(void)
{
	g_autofree char *run = g_strdup_printf("/run/user/%u", (unsigned int)getuid());

	if (runtime_dir())
		return g_build_filename(runtime_dir(), "ringside", NULL);
	if (g_access(run, W_OK) == 0)
		return g_build_filename(run, "ringside", NULL);
	return g_strdup_printf("/tmp/ringside-%u", (unsigned int)getuid());
}

char *rs_trace_rundir_path(GError **error)
{
	g_autofree char *path = base_dir();
	struct stat st;

	/* In /tmp another user may have made the directory before us. */
	if ((g_mkdir(path, 0700) && errno != EEXIST) || lstat(path, &st)) {
		int code = errno;

		/* What is above is for the system to make, with its owner and mode. */
		if (code == ENOENT && runtime_dir())
			g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND,
				    "XDG_RUNTIME_DIR is %s, which does not exist", runtime_dir());
		else
			g_set_error(error, G_IO_ERROR, g_io_error_from_errno(code), "%s: %s", path,
				    g_strerror(code));
		return NULL;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 022)) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED,
			    "%s must be a directory that only you can write to%s", path,
			    getuid() == 0 && st.st_uid ? "; root uses another user's sessions as "
							 "that user, with sudo -u"
						       : "");
		return NULL;
	}
	return g_steal_pointer(&path);
}

char *rs_trace_rundir_file(const char *name, const char *suffix, GError **error)
{
	g_autofree char *dir = rs_trace_rundir_path(error);

	return dir ? g_strdup_printf("%s/%s.%s", dir, name, suffix) : NULL;
}

char *rs_trace_rundir_source_name(const char *name, guint n)
{
	/* No session has a '@' in its name. */
	return g_strdup_printf("%s@%u", name, n);
}

/* ---- entries ---- */

static void free_source(gpointer data)
{
	RsTraceRundirSource *source = data;

	g_free(source->name);
	g_free(source->kind);
	g_free(source->kernel);
	g_free(source->qmp);
	g_free(source->gdb);
	g_free(source->region);
	g_free(source->via);
	g_free(source);
}

RsTraceRundirEntry *rs_trace_rundir_entry_new(const char *name)
{
	RsTraceRundirEntry *entry = g_new0(RsTraceRundirEntry, 1);

	entry->name = g_strdup(name);
	entry->sources = g_ptr_array_new_with_free_func(free_source);
	return entry;
}

static char *text_of(const char *text)
{
	return g_strdup(text ? text : "");
}

void rs_trace_rundir_entry_add(RsTraceRundirEntry *entry, const RsTraceRundirSource *source)
{
	RsTraceRundirSource *copy = g_new0(RsTraceRundirSource, 1);

	copy->name = text_of(source->name);
	copy->kind = text_of(source->kind);
	copy->kernel = text_of(source->kernel);
	copy->qmp = g_strdup(source->qmp);
	copy->gdb = g_strdup(source->gdb);
	copy->region = g_strdup(source->region);
	copy->via = g_strdup(source->via);
	copy->program = source->program;
	g_ptr_array_add(entry->sources, copy);
}

const RsTraceRundirSource *rs_trace_rundir_entry_source(const RsTraceRundirEntry *entry, guint n)
{
	return n >= 1 && n <= entry->sources->len ? entry->sources->pdata[n - 1] : NULL;
}

gboolean rs_trace_rundir_entry_lost(const RsTraceRundirEntry *entry)
{
	for (guint i = 0; !entry->live && i < entry->sources->len; i++) {
		const RsTraceRundirSource *source = entry->sources->pdata[i];

		if (source->qmp || source->via)
			return TRUE;
	}
	return FALSE;
}

void rs_trace_rundir_entry_free(RsTraceRundirEntry *entry)
{
	if (!entry)
		return;
	g_free(entry->name);
	g_free(entry->said);
	g_ptr_array_unref(entry->sources);
	g_free(entry);
}

/* ---- reading ---- */

/* FALSE: there is no Nth source. */
static gboolean read_source(GKeyFile *file, guint n, RsTraceRundirEntry *entry)
{
	g_autofree char *group = g_strdup_printf(RS_TRACE_RUNDIR_SOURCE_GROUP, n);
	const char *const keys[] = {"name", "kind", "kernel", "qmp", "gdb", "region", "via"};
	char *text[G_N_ELEMENTS(keys)];
	gboolean program = g_key_file_get_boolean(file, group, "program", NULL);
	gboolean there = g_key_file_has_group(file, group);

	for (gsize i = 0; there && i < G_N_ELEMENTS(keys); i++)
		text[i] = g_key_file_get_string(file, group, keys[i], NULL);
	if (!there)
		return FALSE;
	rs_trace_rundir_entry_add(entry, &(RsTraceRundirSource){.name = text[0],
								.kind = text[1],
								.kernel = text[2],
								.qmp = text[3],
								.gdb = text[4],
								.region = text[5],
								.via = text[6],
								.program = program});
	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
		g_free(text[i]);
	return TRUE;
}

static RsTraceRundirEntry *no_session(const char *name, const char *format, GError **error)
	G_GNUC_PRINTF(2, 0);

static RsTraceRundirEntry *no_session(const char *name, const char *format, GError **error)
{
	g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION, format,
		    name);
	return NULL;
}

static RsTraceRundirEntry *read_entry(const char *dir, const char *name, GError **error)
{
	g_autofree char *path = g_strdup_printf("%s/%s.session", dir, name);
	g_autofree char *text = g_malloc0(MAX_FILE);
	g_autoptr(GKeyFile) file = g_key_file_new();
	RsTraceRundirEntry *entry;
	gboolean live;
	struct stat st;
	ssize_t size;
	int fd;

	/* Not to wait for the other end of a FIFO. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return no_session(name, "no session named '%s'", error);
	live = flock(fd, LOCK_SH | LOCK_NB) != 0;
	size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, MAX_FILE - 1) : 0;
	close(fd);
	if (size <= 0 || !g_key_file_load_from_data(file, text, (gsize)size, 0, NULL))
		return no_session(name, "session '%s' has no readable state", error);

	entry = rs_trace_rundir_entry_new(name);
	entry->live = live;
	entry->pid = (pid_t)g_key_file_get_int64(file, RS_TRACE_RUNDIR_GROUP, "pid", NULL);
	entry->started = g_key_file_get_int64(file, RS_TRACE_RUNDIR_GROUP, "started", NULL);
	entry->said = g_key_file_get_string(file, RS_TRACE_RUNDIR_GROUP, "said", NULL);
	for (guint n = 1; read_source(file, n, entry);)
		n++;
	return entry;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	const RsTraceRundirEntry *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

GPtrArray *rs_trace_rundir_list(GError **error)
{
	g_autofree char *path = rs_trace_rundir_path(error);
	GPtrArray *list;
	const char *file;
	GDir *dir;

	dir = path ? g_dir_open(path, 0, error) : NULL;
	if (!dir)
		return NULL;
	list = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_rundir_entry_free);
	while ((file = g_dir_read_name(dir))) {
		g_autofree char *name = NULL;
		RsTraceRundirEntry *entry;

		if (!g_str_has_suffix(file, ".session"))
			continue;
		name = g_strndup(file, strlen(file) - strlen(".session"));
		entry = read_entry(path, name, NULL);
		if (entry)
			g_ptr_array_add(list, entry);
	}
	g_dir_close(dir);
	g_ptr_array_sort(list, by_name);
	return list;
}

RsTraceRundirEntry *rs_trace_rundir_find(const char *name, GError **error)
{
	g_autofree char *dir = rs_trace_rundir_path(error);

	if (!dir)
		return NULL;
	if (strchr(name, '/'))
		return no_session(name, "no session named '%s'", error);
	return read_entry(dir, name, error);
}
