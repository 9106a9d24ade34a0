/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_TMPFILE, renameat2() */
#include "rs-trace-output.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_TRIED 100

struct _RsTraceOutput {
	char *path; /* where it belongs; NULL: to a stream */
	char *temp; /* where it is as yet; NULL: nowhere, or it has got its place */
	RsTraceOutputFlags flags;
	GOutputStream *stream; /* of a file */
	guint64 appended;      /* bytes, to files of a directory, or of a file in its place */
	gboolean nowhere;
};

static void set_error(GError **error, int code, const char *path)
{
	g_set_error(error, G_IO_ERROR, (gint)g_io_error_from_errno(code), "%s: %s", path,
		    g_strerror(code));
}

/* ---- what is there ---- */

/* Whether a folder holds nothing else than an export, `depth` folders deep. */
static gboolean is_export(const char *path, guint depth)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	gboolean is = dir != NULL;
	const char *name;

	while (is && (name = g_dir_read_name(dir))) {
		g_autofree char *entry = g_build_filename(path, name, NULL);
		struct stat info;

		if (lstat(entry, &info))
			is = FALSE;
		else if (S_ISDIR(info.st_mode))
			is = depth && is_export(entry, depth - 1);
		else
			is = S_ISREG(info.st_mode) &&
			     (g_str_equal(name, "metadata") || g_str_has_prefix(name, "stream-"));
	}
	return is;
}

/* Removes a folder of ours with its files and folders. */
static void remove_all(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *entry = g_build_filename(path, name, NULL);

		if (unlink(entry) && (errno == EISDIR || errno == EPERM))
			remove_all(entry);
	}
	rmdir(path);
}

/* *special: it is neither a file nor a directory. */
static gboolean may_write(const char *path, RsTraceOutputFlags flags, gboolean *special,
			  GError **error)
{
	gboolean wants_directory = (flags & RS_TRACE_OUTPUT_DIRECTORY) != 0;
	GIOErrorEnum code = G_IO_ERROR_EXISTS;
	const char *wrong = NULL;
	struct stat info;

	*special = FALSE;
	if (!*path) {
		set_error(error, ENOENT, "''");
		return FALSE;
	}
	if (stat(path, &info)) {
		struct stat link;

		if (errno == ENOENT && !lstat(path, &link))
			set_error(error, ENOENT, path);
		else if (errno == ENOENT)
			return TRUE;
		else
			set_error(error, errno, path);
		return FALSE;
	}
	*special = !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
	if (*special && !wants_directory)
		return TRUE;
	if (wants_directory != S_ISDIR(info.st_mode)) {
		code = wants_directory ? G_IO_ERROR_NOT_DIRECTORY : G_IO_ERROR_IS_DIRECTORY;
		wrong = wants_directory ? "is no directory" : "is a directory";
	} else if (!(flags & RS_TRACE_OUTPUT_FORCE))
		wrong = "is there already";
	else if (wants_directory && !is_export(path, 1))
		wrong = "holds other files than an export, and is not replaced";
	if (wrong)
		g_set_error(error, G_IO_ERROR, (gint)code, "%s %s", path, wrong);
	return !wrong;
}

/* ---- begin ---- */

static int make(RsTraceOutput *output)
{
	if (output->flags & RS_TRACE_OUTPUT_DIRECTORY)
		return mkdir(output->temp, 0777);
	return open(output->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static gboolean make_temp(RsTraceOutput *output, GError **error)
{
	int fd = -1;

	for (guint i = 0; i < NAMES_TRIED; i++) {
		g_free(output->temp);
		output->temp = g_strdup_printf("%s.%08x.part", output->path, g_random_int());
		fd = make(output);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0) {
		set_error(error, errno, output->path);
		g_clear_pointer(&output->temp, g_free);
		return FALSE;
	}
	if (!(output->flags & RS_TRACE_OUTPUT_DIRECTORY))
		output->stream = g_unix_output_stream_new(fd, TRUE);
	return TRUE;
}

RsTraceOutput *rs_trace_output_new(const char *path, RsTraceOutputFlags flags, GError **error)
{
	g_autoptr(RsTraceOutput) output = g_new0(RsTraceOutput, 1);
	gboolean special;
	int fd;

	if (!may_write(path, flags, &special, error))
		return NULL;
	output->flags = flags;
	if (special) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0) {
			set_error(error, errno, path);
			return NULL;
		}
		/* A pipe that is full holds up the stream, which can be cancelled, not write(). */
		fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK);
		output->stream = g_unix_output_stream_new(fd, TRUE);
		return g_steal_pointer(&output);
	}
	/* What a link names is replaced, not the link. */
	output->path = realpath(path, NULL);
	if (!output->path)
		output->path = g_strdup(path);
	for (gsize n = strlen(output->path); n > 1 && output->path[n - 1] == '/'; n--)
		output->path[n - 1] = 0;
	return make_temp(output, error) ? g_steal_pointer(&output) : NULL;
}

RsTraceOutput *rs_trace_output_new_for_stream(GOutputStream *stream)
{
	RsTraceOutput *output = g_new0(RsTraceOutput, 1);

	output->stream = g_object_ref(stream);
	return output;
}

RsTraceOutput *rs_trace_output_new_nowhere(void)
{
	RsTraceOutput *output = g_new0(RsTraceOutput, 1);

	output->nowhere = TRUE;
	return output;
}

void rs_trace_output_free(RsTraceOutput *output)
{
	if (!output)
		return;
	g_clear_object(&output->stream);
	if (output->temp && output->flags & RS_TRACE_OUTPUT_DIRECTORY)
		remove_all(output->temp);
	else if (output->temp)
		unlink(output->temp);
	g_free(output->temp);
	g_free(output->path);
	g_free(output);
}

gboolean rs_trace_output_is_file(const char *path, const struct stat *info)
{
	struct stat there;

	return !stat(path, &there) && there.st_dev == info->st_dev && there.st_ino == info->st_ino;
}

guint64 rs_trace_output_size(const RsTraceOutput *output)
{
	struct stat info;

	if (output->stream && output->temp && !stat(output->temp, &info))
		return (guint64)info.st_size;
	return output->appended;
}

GOutputStream *rs_trace_output_stream(const RsTraceOutput *output)
{
	return output->stream;
}

/* ---- a directory's files ---- */

gboolean rs_trace_output_make_folder(RsTraceOutput *output, const char *name, GError **error)
{
	g_autofree char *path = NULL;

	if (output->nowhere)
		return TRUE;
	path = g_build_filename(output->temp, name, NULL);
	if (!mkdir(path, 0777))
		return TRUE;
	set_error(error, errno, name);
	return FALSE;
}

static int append(const char *path, const char *bytes, gsize size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), code = 0;
	ssize_t n;

	if (fd < 0)
		return errno;
	while (size && !code) {
		n = write(fd, bytes, size);
		if (n < 0 && errno != EINTR)
			code = errno;
		bytes += MAX(n, 0);
		size -= (gsize)MAX(n, 0);
	}
	if (close(fd) && !code)
		code = errno;
	return code;
}

gboolean rs_trace_output_append(RsTraceOutput *output, const char *folder, const char *name,
				gconstpointer bytes, gsize size, GError **error)
{
	g_autofree char *path = NULL;
	int code;

	if (output->nowhere)
		return TRUE;
	path = g_build_filename(output->temp, folder, name, NULL);
	code = append(path, bytes, size);
	if (code)
		set_error(error, code, name);
	else
		output->appended += size;
	return !code;
}

int rs_trace_output_scratch(const RsTraceOutput *output, GError **error)
{
	g_autofree char *folder =
		output->path ? g_path_get_dirname(output->path) : g_strdup(g_get_tmp_dir());
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	g_autofree char *path = NULL;

	if (fd >= 0)
		return fd;
	/* Not every file system has files without a name. */
	path = g_build_filename(folder, "ringside.XXXXXX", NULL);
	fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		set_error(error, errno, folder);
	else
		unlink(path);
	return fd;
}

/* ---- end ---- */

/* Puts it into its place, if nothing is there, or in place of what is there. */
static int put_in_place(RsTraceOutput *output)
{
	gboolean force = (output->flags & RS_TRACE_OUTPUT_FORCE) != 0;
	gboolean directory = (output->flags & RS_TRACE_OUTPUT_DIRECTORY) != 0;

	if (!force) {
		if (!renameat2(AT_FDCWD, output->temp, AT_FDCWD, output->path, RENAME_NOREPLACE))
			return 0;
		/* Not every file system has that. */
		if (errno != EINVAL && errno != ENOSYS)
			return -1;
		if (!access(output->path, F_OK)) {
			errno = EEXIST;
			return -1;
		}
	}
	if (!rename(output->temp, output->path))
		return 0;
	if (!force || !directory || (errno != ENOTEMPTY && errno != EEXIST))
		return -1;
	if (!is_export(output->path, 1)) {
		errno = EEXIST;
		return -1;
	}
	if (renameat2(AT_FDCWD, output->temp, AT_FDCWD, output->path, RENAME_EXCHANGE))
		return -1;
	remove_all(output->temp); /* what was there before */
	return 0;
}

gboolean rs_trace_output_commit(RsTraceOutput *output, GCancellable *cancellable, GError **error)
{
	if (output->stream && !g_output_stream_close(output->stream, cancellable, error))
		return FALSE;
	if (!output->temp)
		return TRUE;
	if (output->stream)
		output->appended = rs_trace_output_size(output);
	if (put_in_place(output)) {
		set_error(error, errno, output->path);
		return FALSE;
	}
	g_clear_pointer(&output->temp, g_free);
	return TRUE;
}
