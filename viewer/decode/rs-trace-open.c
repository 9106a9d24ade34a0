/* SPDX-License-Identifier: MIT */
#include "rs-trace-open-private.h"
#include "rs-trace-dat-stream-private.h"
#include "rs-trace-file-private.h"
#include "rs-trace-keep-private.h"
#include "rs-trace-kept.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const guint8 dat_magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

static gboolean is_dat(gconstpointer bytes, gsize size)
{
	return size >= sizeof(dat_magic) && !memcmp(bytes, dat_magic, sizeof(dat_magic));
}

static gpointer fail(int saved_errno, GError **error)
{
	g_set_error_literal(error, G_IO_ERROR, g_io_error_from_errno(saved_errno),
			    g_strerror(saved_errno));
	return NULL;
}

/* ---- pipes ---- */

/* A copy of what comes through a pipe, in a file without a name. Returns a descriptor or -1. */
static int copy(GInputStream *stream, GCancellable *cancellable, GError **error)
{
	int kept = rs_trace_kept_new(error), fd;
	g_autoptr(GOutputStream) out = NULL;

	if (kept < 0)
		return -1;
	/* A descriptor that it lacks is an error of writing. */
	fd = fcntl(kept, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	out = g_unix_output_stream_new(fd, TRUE);
	if (g_output_stream_splice(out, stream,
				   G_OUTPUT_STREAM_SPLICE_CLOSE_SOURCE |
					   G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET,
				   cancellable, error) < 0) {
		close(kept);
		return -1;
	}
	lseek(kept, 0, SEEK_SET);
	return kept;
}

/* Reads up to the magic. *dat: a copy of the trace.dat that comes through it; -1: it is none. */
static GInputStream *look_into(GInputStream *base, int *dat, GCancellable *cancellable,
			       GError **error)
{
	g_autoptr(GInputStream) stream = g_buffered_input_stream_new(base);
	GBufferedInputStream *buffered = G_BUFFERED_INPUT_STREAM(stream);
	gconstpointer bytes;
	gsize size = 0;
	gssize more = 1;

	*dat = -1;
	while (size < sizeof(dat_magic) && more > 0) {
		more = g_buffered_input_stream_fill(buffered, (gssize)(sizeof(dat_magic) - size),
						    cancellable, error);
		if (more < 0)
			return NULL;
		bytes = g_buffered_input_stream_peek_buffer(buffered, &size);
	}
	if (is_dat(bytes, size) && (*dat = copy(stream, cancellable, error)) < 0)
		return NULL;
	return g_steal_pointer(&stream);
}

/* A FIFO whose writer has not come yet looks like one that has ended. */
static gboolean wait_for_writer(int fd, GCancellable *cancellable, GError **error)
{
	GPollFD fds[2] = {{.fd = fd, .events = G_IO_IN}};
	guint n_fds = g_cancellable_make_pollfd(cancellable, &fds[1]) ? 2 : 1;
	int n, saved_errno;

	do
		n = g_poll(fds, n_fds, -1);
	while (n < 0 && errno == EINTR);
	saved_errno = errno;
	if (n_fds == 2)
		g_cancellable_release_fd(cancellable);
	if (n < 0)
		return !!fail(saved_errno, error);
	return !g_cancellable_set_error_if_cancelled(cancellable, error);
}

/* Takes `stream` over. `kept`: a descriptor of what is read; NULL: nothing is kept. */
static RsTraceFile *take_stream(GInputStream *stream, int *kept, GCancellable *cancellable,
				GError **error)
{
	g_autoptr(GInputStream) taken = stream, keep = NULL;
	RsTraceFile *file;

	if (!taken || !kept)
		return taken ? rs_trace_file_new(taken, cancellable, error) : NULL;
	*kept = rs_trace_kept_new(error);
	if (*kept < 0)
		return NULL;
	keep = rs_trace_keep_new(taken, *kept);
	file = rs_trace_file_new(keep, cancellable, error);
	if (!file)
		close(*kept);
	return file;
}

static RsTraceFile *take_dat_unkept(int fd, GCancellable *cancellable, GError **error)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	RsTraceFile *file =
		take_stream(rs_trace_dat_stream_new(fd, error), NULL, cancellable, error);

	if (file)
		rs_trace_file_set_origin(file, again);
	else if (again >= 0)
		close(again);
	return file;
}

static RsTraceFile *take_dat(int fd, int *kept, GCancellable *cancellable, GError **error)
{
	if (kept)
		return take_stream(rs_trace_dat_stream_new(fd, error), kept, cancellable, error);
	return take_dat_unkept(fd, cancellable, error);
}

static RsTraceFile *take_pipe(int fd, int *kept, GCancellable *cancellable, GError **error)
{
	g_autoptr(GInputStream) base = g_unix_input_stream_new(fd, TRUE), stream = NULL;
	int dat;

	if (!wait_for_writer(fd, cancellable, error))
		return NULL;
	stream = look_into(base, &dat, cancellable, error);
	if (!stream)
		return NULL;
	return dat < 0 ? take_stream(g_steal_pointer(&stream), kept, cancellable, error)
		       : take_dat(dat, kept, cancellable, error);
}

/* ---- files ---- */

/*
 * To open a FIFO does not wait, so that the wait can be cancelled. What has been opened is then as
 * anything else.
 */
static int open_local(const char *path)
{
	int fd = g_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), flags;

	if (fd < 0)
		return -1;
	flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

static RsTraceFile *take_file(int fd, int *kept, GCancellable *cancellable, GError **error)
{
	int again = kept ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
	RsTraceFile *file;

	if (kept && again < 0) {
		int saved_errno = errno;

		close(fd);
		return fail(saved_errno, error);
	}
	file = rs_trace_file_new_fd(fd, cancellable, error);
	if (kept && file)
		*kept = again;
	else if (kept)
		close(again);
	return file;
}

static RsTraceFile *take_fd(int fd, int *kept, GCancellable *cancellable, GError **error)
{
	guint8 head[sizeof(dat_magic)];
	struct stat stat = {0};
	ssize_t n = -1;

	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && lseek(fd, 0, SEEK_CUR) == 0)
		n = pread(fd, head, sizeof(head), 0);
	else if (!S_ISDIR(stat.st_mode))
		return take_pipe(fd, kept, cancellable, error);
	else
		errno = EISDIR;
	if (n < 0) {
		int saved_errno = errno;

		close(fd);
		return fail(saved_errno, error);
	}
	if (is_dat(head, (gsize)n))
		return take_dat(fd, kept, cancellable, error);
	return take_file(fd, kept, cancellable, error);
}

static RsTraceFile *open_path(const char *path, int *kept, GCancellable *cancellable,
			      GError **error)
{
	g_autoptr(GFile) file = g_file_new_for_commandline_arg(path);
	const char *local = g_file_peek_path(file);
	int fd;

	if (g_str_equal(path, "-"))
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	else if (local)
		fd = open_local(local);
	else
		return take_stream(G_INPUT_STREAM(g_file_read(file, cancellable, error)), kept,
				   cancellable, error);
	return fd < 0 ? fail(errno, error) : take_fd(fd, kept, cancellable, error);
}

RsTraceFile *rs_trace_file_open(const char *path, GCancellable *cancellable, GError **error)
{
	return open_path(path, NULL, cancellable, error);
}

/* ---- what is kept ---- */

RsTraceFile *rs_trace_file_open_kept(const char *path, int *kept, GCancellable *cancellable,
				     GError **error)
{
	RsTraceFile *file = open_path(path, kept, cancellable, error);

	if (file)
		rs_trace_file_set_name(file, path);
	return file;
}

/* A descriptor with a place of its own. */
static int open_again(int fd)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);

	return g_open(path, O_RDONLY | O_CLOEXEC);
}

RsTraceFile *rs_trace_file_open_again(int kept, GCancellable *cancellable, GError **error)
{
	int fd = open_again(kept);

	return fd < 0 ? fail(errno, error) : rs_trace_file_new_fd(fd, cancellable, error);
}

/* A temporary directory may be memory, and what is kept may be large. */
static int open_temporary(char **name, GError **error)
{
	const char *folder = g_get_user_cache_dir();
	int fd;

	*name = g_build_filename(folder, "ringside-XXXXXX", NULL);
	g_mkdir_with_parents(folder, 0700);
	fd = g_mkstemp_full(*name, O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	g_clear_pointer(name, g_free);
	return g_file_open_tmp("ringside-XXXXXX", name, error);
}

int rs_trace_kept_new(GError **error)
{
	g_autofree char *name = NULL;
	int fd = open_temporary(&name, error), kept;

	if (fd < 0)
		return -1;
	g_unlink(name);
	kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (kept < 0)
		fail(errno, error);
	close(fd);
	return kept;
}

/* ---- places in a trace.dat ---- */

gboolean rs_trace_file_make_seekable(RsTraceFile *file, GError **error)
{
	int origin = rs_trace_file_origin(file), fd;
	g_autoptr(GInputStream) stream = NULL;

	if (rs_trace_file_is_seekable(file))
		return TRUE;
	if (origin < 0) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
				    "a pipe cannot be sought");
		return FALSE;
	}
	/* Opened once more, since who reads it now moves its place. */
	fd = open_again(origin);
	if (fd < 0)
		return !!fail(errno, error);
	stream = rs_trace_dat_stream_new(fd, error);
	fd = stream ? copy(stream, rs_trace_file_cancellable(file), error) : -1;
	return fd >= 0 && rs_trace_file_replace(file, fd, error);
}
