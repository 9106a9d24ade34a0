/* SPDX-License-Identifier: MIT */
#include "session/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP "session"
#define MAX_FILE 65536

struct rs_rundir_claim {
	char *name, *path;
	int fd; /* holds the lock */
};

static char *base_dir(void)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	g_autofree char *run = g_strdup_printf("/run/user/%u", (unsigned int)getuid());

	if (xdg && g_path_is_absolute(xdg))
		return g_build_filename(xdg, "ringside", NULL);
	if (g_access(run, W_OK) == 0)
		return g_build_filename(run, "ringside", NULL);
	return g_strdup_printf("/tmp/ringside-%u", (unsigned int)getuid());
}

int rs_rundir_path(char **out, struct rs_error *err)
{
	g_autofree char *path = base_dir();
	struct stat st;

	if (g_mkdir_with_parents(path, 0700))
		return rs_error_set(err, errno, "cannot make %s: %s", path, g_strerror(errno));
	/* In /tmp anyone could have made it before us. */
	if (lstat(path, &st))
		return rs_error_set(err, errno, "%s: %s", path, g_strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 022))
		return rs_error_set(err, EPERM, "%s must be a directory that only you can write to",
				    path);
	*out = g_steal_pointer(&path);
	return 0;
}

int rs_rundir_file(const char *name, const char *suffix, char **out, struct rs_error *err)
{
	g_autofree char *dir = NULL;
	int ret = rs_rundir_path(&dir, err);

	if (ret)
		return ret;
	*out = g_strdup_printf("%s/%s.%s", dir, name, suffix);
	return 0;
}

static int write_entry(int fd, const struct rs_rundir_entry *entry, struct rs_error *err)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *text = NULL;
	gsize size;

	g_key_file_set_int64(file, GROUP, "pid", getpid());
	g_key_file_set_int64(file, GROUP, "started", g_get_real_time() / G_USEC_PER_SEC);
	g_key_file_set_string(file, GROUP, "kind", entry->kind ? entry->kind : "");
	g_key_file_set_string(file, GROUP, "kernel", entry->kernel ? entry->kernel : "");
	if (entry->qmp)
		g_key_file_set_string(file, GROUP, "qmp", entry->qmp);
	if (entry->gdb)
		g_key_file_set_string(file, GROUP, "gdb", entry->gdb);
	if (entry->region)
		g_key_file_set_string(file, GROUP, "region", entry->region);
	text = g_key_file_to_data(file, &size, NULL);
	if (ftruncate(fd, 0) || pwrite(fd, text, size, 0) != (ssize_t)size)
		return rs_error_set(err, errno ? errno : EIO, "cannot write the session's file");
	return 0;
}

/* Whoever looks whether the lock is held (read_entry) holds it for a moment. */
static int lock_patiently(int fd)
{
	for (int i = 0; i < 5; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		g_usleep(10000);
	}
	return -1;
}

int rs_rundir_claim(const struct rs_rundir_entry *entry, struct rs_rundir_claim **out,
		    struct rs_error *err)
{
	g_autofree char *path = NULL;
	struct rs_rundir_claim *claim;
	struct stat ours, there;
	int fd, ret;

	ret = rs_rundir_file(entry->name, "session", &path, err);
	if (ret)
		return ret;
	do {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return rs_error_set(err, errno, "%s: %s", path, g_strerror(errno));
		if (lock_patiently(fd)) {
			close(fd);
			return rs_error_set(err, EEXIST, "a session named '%s' runs already",
					    entry->name);
		}
		/* Its last owner may have removed it between the open and the lock. */
		if (fstat(fd, &ours) || stat(path, &there) || ours.st_ino != there.st_ino) {
			close(fd);
			fd = -1;
		}
	} while (fd < 0);
	ret = write_entry(fd, entry, err);
	if (ret) {
		close(fd);
		return ret;
	}
	claim = g_new0(struct rs_rundir_claim, 1);
	claim->name = g_strdup(entry->name);
	claim->path = g_steal_pointer(&path);
	claim->fd = fd;
	*out = claim;
	return 0;
}

int rs_rundir_update(struct rs_rundir_claim *claim, const struct rs_rundir_entry *entry,
		     struct rs_error *err)
{
	return write_entry(claim->fd, entry, err);
}

void rs_rundir_release(struct rs_rundir_claim *claim, bool keep)
{
	g_autofree char *sock = NULL;

	if (!claim)
		return;
	if (!keep) {
		if (rs_rundir_file(claim->name, "sock", &sock, NULL) == 0)
			unlink(sock);
		unlink(claim->path);
	}
	close(claim->fd);
	g_free(claim->name);
	g_free(claim->path);
	g_free(claim);
}

void rs_rundir_entry_free(struct rs_rundir_entry *entry)
{
	if (!entry)
		return;
	g_free(entry->name);
	g_free(entry->kind);
	g_free(entry->kernel);
	g_free(entry->qmp);
	g_free(entry->gdb);
	g_free(entry->region);
	g_free(entry);
}

static char *get_string(GKeyFile *file, const char *key)
{
	return g_key_file_get_string(file, GROUP, key, NULL);
}

static int read_entry(const char *dir, const char *name, struct rs_rundir_entry **out,
		      struct rs_error *err)
{
	g_autofree char *path = g_strdup_printf("%s/%s.session", dir, name);
	g_autofree char *text = g_malloc0(MAX_FILE);
	g_autoptr(GKeyFile) file = g_key_file_new();
	struct rs_rundir_entry *entry;
	ssize_t size;
	bool live;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return rs_error_set(err, ENOENT, "no session named '%s'", name);
	live = flock(fd, LOCK_SH | LOCK_NB) != 0;
	size = read(fd, text, MAX_FILE - 1);
	close(fd);
	if (size <= 0 || !g_key_file_load_from_data(file, text, (gsize)size, 0, NULL))
		return rs_error_set(err, ENOENT, "session '%s' has no readable state", name);

	entry = g_new0(struct rs_rundir_entry, 1);
	entry->name = g_strdup(name);
	entry->live = live;
	entry->pid = (pid_t)g_key_file_get_int64(file, GROUP, "pid", NULL);
	entry->started = g_key_file_get_int64(file, GROUP, "started", NULL);
	entry->kind = get_string(file, "kind");
	entry->kernel = get_string(file, "kernel");
	entry->qmp = get_string(file, "qmp");
	entry->gdb = get_string(file, "gdb");
	entry->region = get_string(file, "region");
	if (!entry->kind)
		entry->kind = g_strdup("");
	if (!entry->kernel)
		entry->kernel = g_strdup("");
	*out = entry;
	return 0;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	const struct rs_rundir_entry *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

int rs_rundir_list(GPtrArray **out, struct rs_error *err)
{
	GPtrArray *list;
	g_autofree char *path = NULL;
	const char *file;
	GDir *dir;
	int ret = rs_rundir_path(&path, err);

	if (ret)
		return ret;
	dir = g_dir_open(path, 0, NULL);
	if (!dir)
		return rs_error_set(err, EIO, "cannot read %s", path);
	list = g_ptr_array_new_with_free_func((GDestroyNotify)rs_rundir_entry_free);
	while ((file = g_dir_read_name(dir))) {
		struct rs_rundir_entry *entry;

		if (g_str_has_suffix(file, ".session")) {
			g_autofree char *name = g_strndup(file, strlen(file) - 8);

			if (read_entry(path, name, &entry, NULL) == 0)
				g_ptr_array_add(list, entry);
		}
	}
	g_dir_close(dir);
	g_ptr_array_sort(list, by_name);
	*out = list;
	return 0;
}

int rs_rundir_find(const char *name, struct rs_rundir_entry **out, struct rs_error *err)
{
	g_autofree char *dir = NULL;
	int ret = rs_rundir_path(&dir, err);

	if (ret)
		return ret;
	if (strchr(name, '/'))
		return rs_error_set(err, ENOENT, "no session named '%s'", name);
	return read_entry(dir, name, out, err);
}

int rs_rundir_free_name(const char *wish, char **out, struct rs_error *err)
{
	g_autofree char *dir = NULL;
	int ret = rs_rundir_path(&dir, err);

	if (ret)
		return ret;
	for (unsigned int n = 1; n < 10000; n++) {
		g_autofree char *name = n == 1 ? g_strdup(wish) : g_strdup_printf("%s-%u", wish, n);
		struct rs_rundir_entry *entry = NULL;
		bool taken;

		if (read_entry(dir, name, &entry, NULL)) {
			*out = g_steal_pointer(&name);
			return 0;
		}
		/* A dead QEMU session is kept for `attach`. */
		taken = entry->live || entry->qmp;
		rs_rundir_entry_free(entry);
		if (!taken) {
			*out = g_steal_pointer(&name);
			return 0;
		}
	}
	return rs_error_set(err, EEXIST, "no free name like '%s'", wish);
}
