/* SPDX-License-Identifier: MIT */
#include "cli/recording_file.h"

#include "cli/output_stream.h"
#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <ringside/atomic.h>
#include <ringside/trace_file.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HURRY_US 400000
#define DIGITS 4
#define READER_US 10000000 /* how long a pipe may be without a reader at first */
#define READER_LOOK_US 20000

struct rs_recording_file {
	struct rs_recording_file_config config;
	char *path;
	int fd;
	guint64 first; /* number of the first file */
	guint64 next;  /* of the next one; atomic */
	GQueue ours;   /* guint64 *, numbers of those to be kept, the oldest first */
	struct rs_output_deadline deadline; /* of who reads a pipe */
};

/* Whether one may write over what is there: nothing, an older trace, or what is no file. */
static bool is_ours(int fd)
{
	uint64_t magic = 0;
	struct stat info;
	ssize_t n;

	if (fstat(fd, &info) || !S_ISREG(info.st_mode))
		return true;
	n = pread(fd, &magic, sizeof(magic), 0);
	return n == 0 || (n == sizeof(magic) && magic == RS_FILE_MAGIC);
}

/* As its reader, one would not notice that there is no other. */
static int open_pipe(const char *path)
{
	const gint64 until = g_get_monotonic_time() + READER_US;
	int fd;

	do {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 || errno != ENXIO)
			return fd;
		g_usleep(READER_LOOK_US);
	} while (g_get_monotonic_time() < until);
	errno = ENXIO;
	return -1;
}

static int open_path(const char *path)
{
	struct stat info;
	int fd;

	if (!stat(path, &info) && S_ISFIFO(info.st_mode))
		return open_pipe(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	return fd < 0 ? open(path, O_WRONLY | O_CLOEXEC) : fd; /* a device, perhaps */
}

/* Where a file system has no locks, nobody is refused. */
static bool is_being_written(int fd)
{
	struct stat info;

	return !fstat(fd, &info) && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) &&
	       errno == EWOULDBLOCK;
}

static int open_one(struct rs_recording_file *file, struct rs_error *err)
{
	const char *path = file->config.path;

	if (g_str_equal(path, "-")) {
		file->fd = STDOUT_FILENO;
		return isatty(file->fd)
			       ? rs_error_set(err, EINVAL, "a recording is not for a terminal")
			       : 0;
	}
	file->fd = open_path(path);
	if (file->fd < 0)
		return rs_error_set(err, EIO, "%s: %s", path,
				    errno == ENXIO ? "nobody reads it" : g_strerror(errno));
	if (is_being_written(file->fd))
		return rs_error_set(err, EBUSY, "%s is being written by another recorder", path);
	if (!file->config.force && !is_ours(file->fd))
		return rs_error_set(err, EEXIST,
				    "%s is no trace: --force writes over it, another -o does not",
				    path);
	return 0;
}

static char *numbered(const struct rs_recording_file *file, guint64 number)
{
	return g_strdup_printf("%s.%0*" G_GUINT64_FORMAT, file->config.path, DIGITS, number);
}

/* The number after those that are there. */
static int find_first(struct rs_recording_file *file, struct rs_error *err)
{
	g_autofree char *folder = g_path_get_dirname(file->config.path);
	g_autofree char *base = g_path_get_basename(file->config.path);
	GError *error = NULL;
	g_autoptr(GDir) dir = NULL;
	const char *name;

	if (g_str_equal(file->config.path, "-"))
		return rs_error_set(err, EINVAL, "numbered files need a name: -o FILE");
	dir = g_dir_open(folder, 0, &error);
	if (!dir)
		return rs_error_take(err, EIO, error);
	file->first = 1;
	while ((name = g_dir_read_name(dir))) {
		const char *digits = name + strlen(base) + 1;
		guint64 number;

		if (g_str_has_prefix(name, base) && name[strlen(base)] == '.' &&
		    strlen(digits) >= DIGITS &&
		    g_ascii_string_to_unsigned(digits, 10, 1, G_MAXINT64, &number, NULL))
			file->first = MAX(file->first, number + 1);
	}
	file->next = file->first;
	return 0;
}

int rs_recording_file_open(const struct rs_recording_file_config *config,
			   struct rs_recording_file **out, struct rs_error *err)
{
	struct rs_recording_file *file = g_new0(struct rs_recording_file, 1);
	int ret;

	file->config = *config;
	file->config.path = file->path = g_strdup(config->path);
	file->fd = -1;
	ret = config->numbered ? find_first(file, err) : open_one(file, err);
	if (ret)
		rs_recording_file_free(file);
	else
		*out = file;
	return ret;
}

void rs_recording_file_free(struct rs_recording_file *file)
{
	if (!file)
		return;
	if (file->fd > STDERR_FILENO)
		close(file->fd);
	g_queue_clear_full(&file->ours, g_free);
	g_free(file->path);
	g_free(file);
}

/* Other recordings may use the same name, and their files are left alone. */
static int create_numbered(struct rs_recording_file *file)
{
	int fd;

	do {
		const guint64 number = file->next;
		g_autofree char *path = numbered(file, number);

		rs_store(&file->next, number + 1);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

static void drop_oldest(struct rs_recording_file *file)
{
	g_autofree guint64 *number = g_queue_pop_head(&file->ours);
	g_autofree char *path = numbered(file, *number);

	unlink(path);
}

static GOutputStream *next_numbered(struct rs_recording_file *file, GError **error)
{
	int fd = create_numbered(file);
	guint64 number;

	if (fd < 0) {
		g_set_error_literal(error, G_IO_ERROR, (gint)g_io_error_from_errno(errno),
				    g_strerror(errno));
		return NULL;
	}
	number = file->next - 1;
	g_queue_push_tail(&file->ours, g_memdup2(&number, sizeof(number)));
	if (file->config.keep && file->ours.length > file->config.keep)
		drop_oldest(file);
	return g_unix_output_stream_new(fd, TRUE);
}

GOutputStream *rs_recording_file_next(struct rs_recording_file *file, GError **error)
{
	struct stat info;

	if (file->config.numbered)
		return next_numbered(file, error);
	/* Not before: what was there stays if nothing can be recorded. */
	if (ftruncate(file->fd, 0) && errno != EINVAL) {
		g_set_error_literal(error, G_IO_ERROR, (gint)g_io_error_from_errno(errno),
				    g_strerror(errno));
		return NULL;
	}
	if (!fstat(file->fd, &info) && S_ISREG(info.st_mode))
		return g_unix_output_stream_new(file->fd, FALSE);
	return rs_output_stream_new(file->fd, &file->deadline);
}

char *rs_recording_file_path(struct rs_recording_file *file)
{
	const guint64 next = rs_load(&file->next);

	return file->config.numbered ? numbered(file, next > file->first ? next - 1 : next)
				     : g_strdup(file->path);
}

char *rs_recording_file_label(struct rs_recording_file *file, guint64 n)
{
	g_autofree char *last = rs_recording_file_path(file), *first = NULL;

	if (!file->config.numbered || n < 2)
		return g_steal_pointer(&last);
	first = numbered(file, rs_load(&file->next) - n);
	if (file->ours.length == n)
		return g_strdup_printf("%s to %s", first, last);
	return g_strdup_printf("%s to %s, of which %u are kept", first, last, file->ours.length);
}

void rs_recording_file_hurry(struct rs_recording_file *file)
{
	if (!rs_load(&file->deadline.until))
		rs_store(&file->deadline.until, g_get_monotonic_time() + HURRY_US);
}

void rs_recording_file_end(struct rs_recording_file *file)
{
	if (!rs_load(&file->deadline.still))
		rs_store(&file->deadline.still, g_get_monotonic_time() + RS_OUTPUT_STILL_US);
}
