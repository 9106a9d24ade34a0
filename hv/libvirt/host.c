/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "libvirt/host.h"

#include "libvirt/domain_xml.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_MAX (1u << 20) /* bytes of a command line */
#define NAME_CHARS 64u         /* of the domain's name that stand in the memory's name */
#define UUID_CHARS 8u          /* likewise */

/* ---- the process ---- */

/* Whether "-uuid UUID" stands in the command line, whose arguments end with NULs. */
static bool has_uuid(const char *line, gsize size, const char *uuid)
{
	bool next = false;

	for (gsize at = 0; at < size; at += strlen(line + at) + 1) {
		if (next && g_ascii_strcasecmp(line + at, uuid) == 0)
			return true;
		next = g_str_equal(line + at, "-uuid");
	}
	return false;
}

static bool is_qemu(const char *pid, const char *uuid)
{
	g_autofree char *path = g_strdup_printf("/proc/%s/cmdline", pid);
	g_autofree char *line = g_malloc(COMMAND_MAX + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = 0, n;

	while (fd >= 0 && size < (ssize_t)COMMAND_MAX &&
	       (n = read(fd, line + size, COMMAND_MAX - (size_t)size)) > 0)
		size += n;
	if (fd >= 0)
		close(fd);
	line[size] = '\0';
	return has_uuid(line, (gsize)size, uuid);
}

GArray *rs_host_find_qemus(const char *uuid)
{
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
	GDir *dir = g_dir_open("/proc", 0, NULL);
	const char *name;
	guint64 number;

	while (dir && (name = g_dir_read_name(dir))) {
		if (g_ascii_string_to_unsigned(name, 10, 1, G_MAXINT, &number, NULL) &&
		    is_qemu(name, uuid)) {
			pid_t pid = (pid_t)number;

			g_array_append_val(pids, pid);
		}
	}
	if (dir)
		g_dir_close(dir);
	return pids;
}

/* ---- the memory ---- */

char *rs_host_shmem_stem(const char *domain, const char *uuid)
{
	g_autofree char *name = g_strndup(domain, NAME_CHARS);

	for (char *c = name; *c; c++)
		if (!g_ascii_isalnum(*c) && !strchr("_.-", *c))
			*c = '_';
	return g_strdup_printf(RS_SHMEM_PREFIX "%s-%.*s-", name, (int)UUID_CHARS, uuid);
}

char *rs_host_shmem_name(const char *domain, const char *uuid, guint64 mib)
{
	g_autofree char *stem = rs_host_shmem_stem(domain, uuid);

	return g_strdup_printf("%s%" G_GUINT64_FORMAT "M", stem, mib);
}

bool rs_host_is_shmem(const char *name, const char *stem)
{
	const char *size = g_str_has_prefix(name, stem) ? name + strlen(stem) : "";
	size_t digits = strspn(size, "0123456789");

	return digits && g_str_equal(size + digits, "M");
}

/* The end of a name that rs_host_shmem_name() makes: "-", the UUID's begin, "-", digits, "M". */
static const char *find_uuid(const char *name)
{
	size_t at = strlen(name), end = at ? at - 1 : 0;

	if (!end || name[end] != 'M')
		return NULL;
	for (at = end; at && g_ascii_isdigit(name[at - 1]);)
		at--;
	if (at == end || at < UUID_CHARS + 2 || name[at - 1] != '-' ||
	    name[at - UUID_CHARS - 2] != '-')
		return NULL;
	for (size_t i = at - UUID_CHARS - 1; i < at - 1; i++)
		if (!g_ascii_isxdigit(name[i]))
			return NULL;
	return name + at - UUID_CHARS - 1;
}

int rs_host_check_shmem(const char *name, const char *domain, const char *uuid,
			struct rs_error *err)
{
	const char *of = g_str_has_prefix(name, RS_SHMEM_PREFIX) ? find_uuid(name) : NULL;

	if (!of || g_ascii_strncasecmp(of, uuid, UUID_CHARS) == 0)
		return 0;
	return rs_error_set(err, EEXIST,
			    "domain '%s' has the memory of another domain, %s, as a copy of that "
			    "one has: 'ringside prepare --remove' takes it away, then 'ringside "
			    "prepare' gives it its own",
			    domain, name);
}

/*
 * A lease for reading is granted only if nobody has the file open for writing, as everybody has who
 * maps it shared. While we hold it, nobody can: the kernel lets him wait until we are done.
 */
static int take_lease(int fd, const char *path, struct rs_error *err)
{
	/* What tells us that somebody waits is to be ignored. */
	fcntl(fd, F_SETSIG, SIGURG);
	if (!fcntl(fd, F_SETLEASE, F_RDLCK))
		return 0;
	if (errno == EAGAIN)
		return rs_error_set(err, EBUSY, "%s is in use", path);
	return rs_error_set(err, errno == EPERM ? EACCES : errno, "%s: %s", path,
			    g_strerror(errno));
}

static int check_and_remove(int fd, const char *path, struct rs_error *err)
{
	struct stat st;
	int ret;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return rs_error_set(err, EINVAL, "%s is no plain file", path);
	ret = take_lease(fd, path, err);
	if (!ret && unlink(path))
		ret = rs_error_set(err, errno == EPERM ? EACCES : errno, "%s: %s", path,
				   g_strerror(errno));
	return ret;
}

int rs_host_remove_shmem(const char *name, struct rs_error *err)
{
	g_autofree char *path = g_strconcat("/dev/shm/", name, NULL);
	int fd, ret;

	if (strchr(name, '/') || !g_str_has_prefix(name, RS_SHMEM_PREFIX))
		return rs_error_set(err, EINVAL, "'%s' is no name of ours", name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return rs_error_set(err, errno, "%s: %s", path, g_strerror(errno));
	ret = check_and_remove(fd, path, err);
	close(fd);
	return ret;
}
