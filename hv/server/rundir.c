/* SPDX-License-Identifier: MIT */
#include "server/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct rs_rundir_claim {
	char *name, *path;
	int fd; /* holds the lock */
	pid_t pid;
	gint64 started; /* unix seconds: when it was claimed */
};

int rs_rundir_file(const char *name, const char *suffix, char **out, struct rs_error *err)
{
	GError *error = NULL;
	char *path = rs_trace_rundir_file(name, suffix, &error);

	if (!path)
		return rs_error_take(err, EIO, error);
	*out = path;
	return 0;
}

int rs_rundir_journals(const char *name, GPtrArray **out, struct rs_error *err)
{
	g_autofree char *path = NULL, *prefix = g_strdup_printf("%s@", name);
	GError *error = NULL;
	const char *file;
	GDir *dir;

	path = rs_trace_rundir_path(&error);
	dir = path ? g_dir_open(path, 0, &error) : NULL;
	if (!dir)
		return rs_error_take(err, EIO, error);
	*out = g_ptr_array_new_with_free_func(g_free);
	while ((file = g_dir_read_name(dir))) {
		if (g_str_has_prefix(file, prefix) && g_str_has_suffix(file, ".journal"))
			g_ptr_array_add(*out, g_build_filename(path, file, NULL));
	}
	g_dir_close(dir);
	return 0;
}

static void set_text(GKeyFile *file, const char *group, const char *key, const char *text)
{
	if (text)
		g_key_file_set_string(file, group, key, text);
}

static int write_entry(int fd, const struct rs_rundir_claim *claim, const RsTraceRundirEntry *entry,
		       const char *said, struct rs_error *err)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *text = NULL;
	gsize size;

	g_key_file_set_int64(file, RS_TRACE_RUNDIR_GROUP, "pid", claim->pid);
	g_key_file_set_int64(file, RS_TRACE_RUNDIR_GROUP, "started", claim->started);
	set_text(file, RS_TRACE_RUNDIR_GROUP, "said", said);
	for (guint i = 0; i < entry->sources->len; i++) {
		const RsTraceRundirSource *source = entry->sources->pdata[i];
		g_autofree char *group = g_strdup_printf(RS_TRACE_RUNDIR_SOURCE_GROUP, i + 1);

		set_text(file, group, "name", source->name);
		set_text(file, group, "kind", source->kind);
		set_text(file, group, "kernel", source->kernel);
		set_text(file, group, "qmp", source->qmp);
		set_text(file, group, "gdb", source->gdb);
		set_text(file, group, "region", source->region);
		set_text(file, group, "via", source->via);
		if (source->program)
			g_key_file_set_boolean(file, group, "program", TRUE);
	}
	text = g_key_file_to_data(file, &size, NULL);
	if (write(fd, text, size) != (ssize_t)size)
		return rs_error_set(err, errno ? errno : EIO,
				    "cannot write the session's file %s: %s", claim->path,
				    g_strerror(errno ? errno : EIO));
	return 0;
}

/*
 * Puts a new file in the place of the claim's, locked from the start. Returns its descriptor. What
 * was there stays whole if that fails, or if we are killed meanwhile.
 */
static int replace(const struct rs_rundir_claim *claim, const RsTraceRundirEntry *entry,
		   const char *said, struct rs_error *err)
{
	const char *path = claim->path;
	g_autofree char *made = g_strdup_printf("%s.XXXXXX", path);
	int fd = g_mkstemp_full(made, O_RDWR | O_CLOEXEC, 0600), ret;

	if (fd < 0)
		return rs_error_set(err, errno, "%s: %s", made, g_strerror(errno));
	ret = write_entry(fd, claim, entry, said, err);
	if (!ret && (flock(fd, LOCK_EX | LOCK_NB) || rename(made, path)))
		ret = rs_error_set(err, errno, "%s: %s", path, g_strerror(errno));
	if (!ret)
		return fd;
	unlink(made);
	close(fd);
	return ret;
}

/* Tries several times: a reader that tests the lock (read_entry) holds it for a moment. */
static int lock_patiently(int fd)
{
	for (int i = 0; i < 5; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		g_usleep(10000);
	}
	return -1;
}

/* The file of that name, locked. `ours`: what it is. Errors: as rs_rundir_claim(). */
static int open_locked(const char *path, const char *name, struct stat *ours, struct rs_error *err)
{
	struct stat there;
	int fd;

	do {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (fd < 0)
			return rs_error_set(err, errno, "%s: %s", path, g_strerror(errno));
		if (fstat(fd, ours) || !S_ISREG(ours->st_mode)) {
			close(fd);
			return rs_error_set(err, ENOTSUP, "%s is not a regular file", path);
		}
		if (lock_patiently(fd)) {
			close(fd);
			return rs_error_set(err, EEXIST, "a session named '%s' runs already", name);
		}
		/* Its last owner may have removed it between the open and the lock. */
		if (fstat(fd, ours) || stat(path, &there) || ours->st_ino != there.st_ino) {
			close(fd);
			fd = -1;
		}
	} while (fd < 0);
	return fd;
}

int rs_rundir_claim(const RsTraceRundirEntry *entry, struct rs_rundir_claim **out,
		    struct rs_error *err)
{
	g_autofree char *path = NULL;
	struct rs_rundir_claim claim;
	struct stat ours;
	int fd, ret;

	ret = rs_rundir_file(entry->name, "session", &path, err);
	if (ret)
		return ret;
	fd = open_locked(path, entry->name, &ours, err);
	if (fd < 0)
		return fd;
	claim = (struct rs_rundir_claim){
		.name = entry->name,
		.path = path,
		.pid = getpid(),
		.started = g_get_real_time() / G_USEC_PER_SEC,
	};
	claim.fd = replace(&claim, entry, NULL, err);
	/* A file that we have just made says nothing. */
	if (claim.fd < 0 && !ours.st_size)
		unlink(path);
	close(fd);
	if (claim.fd < 0)
		return claim.fd;
	claim.name = g_strdup(entry->name);
	path = NULL; /* the claim's */
	*out = g_memdup2(&claim, sizeof(claim));
	return 0;
}

static int rewrite(struct rs_rundir_claim *claim, const RsTraceRundirEntry *entry, const char *said,
		   struct rs_error *err)
{
	int fd = replace(claim, entry, said, err);

	if (fd < 0)
		return fd;
	close(claim->fd);
	claim->fd = fd;
	return 0;
}

int rs_rundir_update(struct rs_rundir_claim *claim, const RsTraceRundirEntry *entry,
		     struct rs_error *err)
{
	return rewrite(claim, entry, NULL, err);
}

void rs_rundir_say(struct rs_rundir_claim *claim, const char *said)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(claim->name, NULL);

	if (entry)
		rewrite(claim, entry, said, NULL);
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

int rs_rundir_claim_free(const char *wish, bool (*taken)(const RsTraceRundirEntry *dead),
			 struct rs_rundir_claim **out, struct rs_error *err)
{
	for (unsigned int n = 1; n < 10000; n++) {
		g_autofree char *name = n == 1 ? g_strdup(wish) : g_strdup_printf("%s-%u", wish, n);
		g_autoptr(RsTraceRundirEntry) old = rs_trace_rundir_find(name, NULL);
		g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_entry_new(name);
		struct rs_error why;
		int ret;

		/* The name of a lost session is kept for `attach`. */
		if (old && (old->live || taken(old)))
			continue;
		ret = rs_rundir_claim(entry, out, &why);
		/* Another session may have taken it since we looked. */
		if (ret != -EEXIST) {
			if (ret && err)
				*err = why;
			return ret;
		}
	}
	return rs_error_set(err, EEXIST, "no free name like '%s'", wish);
}

const char *rs_rundir_claim_name(const struct rs_rundir_claim *claim)
{
	return claim->name;
}
