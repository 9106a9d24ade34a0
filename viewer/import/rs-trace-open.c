/* SPDX-License-Identifier: MIT */
#include "rs-trace-open.h"
#include "rs-trace-dat-stream.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static const guint8 dat_magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

static gboolean is_dat(gconstpointer bytes, gsize size)
{
	return size >= sizeof(dat_magic) && !memcmp(bytes, dat_magic, sizeof(dat_magic));
}

/* A copy of what comes through a pipe, in a file without a name. Returns a descriptor or -1. */
static int copy(GInputStream *stream, GError **error)
{
	g_autofree char *name = NULL;
	int fd = g_file_open_tmp("ringside-XXXXXX", &name, error), kept;
	g_autoptr(GOutputStream) out = NULL;

	if (fd < 0)
		return -1;
	g_unlink(name);
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	out = g_unix_output_stream_new(fd, TRUE);
	/* A descriptor that it lacks is an error of reading, later. */
	if (g_output_stream_splice(out, stream,
				   G_OUTPUT_STREAM_SPLICE_CLOSE_SOURCE |
					   G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET,
				   NULL, error) < 0) {
		if (kept >= 0)
			close(kept);
		return -1;
	}
	lseek(kept, 0, SEEK_SET);
	return kept;
}

/* `stream` as a file, in which one can go to and fro. */
static GInputStream *make_seekable(GInputStream *stream, GError **error)
{
	int fd = copy(stream, error);
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autoptr(GFile) file = g_file_new_for_path(path);
	GFileInputStream *out = NULL;

	if (fd < 0)
		return NULL;
	out = g_file_read(file, NULL, error);
	close(fd);
	return out ? G_INPUT_STREAM(out) : NULL;
}

/* Takes over `fd`. */
static GInputStream *open_dat(int fd, gboolean to_seek, GError **error)
{
	g_autoptr(GInputStream) stream = rs_trace_dat_stream_new(fd, error);

	if (!stream || !to_seek)
		return g_steal_pointer(&stream);
	return make_seekable(stream, error);
}

static GInputStream *open_pipe(int fd, gboolean to_seek, GError **error)
{
	g_autoptr(GInputStream) base = g_unix_input_stream_new(fd, fd != STDIN_FILENO);
	g_autoptr(GInputStream) stream = g_buffered_input_stream_new(base);
	GBufferedInputStream *buffered = G_BUFFERED_INPUT_STREAM(stream);
	gconstpointer bytes;
	gsize size = 0;
	gssize more = 1;

	while (size < sizeof(dat_magic) && more > 0) {
		more = g_buffered_input_stream_fill(buffered, (gssize)(sizeof(dat_magic) - size),
						    NULL, error);
		if (more < 0)
			return NULL;
		bytes = g_buffered_input_stream_peek_buffer(buffered, &size);
	}
	if (!is_dat(bytes, size))
		return g_steal_pointer(&stream);
	fd = copy(stream, error);
	return fd < 0 ? NULL : open_dat(fd, to_seek, error);
}

static GInputStream *fail(GError **error, int saved_errno)
{
	g_set_error_literal(error, G_IO_ERROR, g_io_error_from_errno(saved_errno),
			    g_strerror(saved_errno));
	return NULL;
}

GInputStream *rs_trace_open(const char *path, gboolean to_seek, GError **error)
{
	g_autoptr(GFile) file = g_file_new_for_commandline_arg(path);
	gboolean is_stdin = g_str_equal(path, "-");
	guint8 head[sizeof(dat_magic)];
	int fd = STDIN_FILENO;
	ssize_t n;

	if (!is_stdin && !g_file_peek_path(file)) /* elsewhere */
		return G_INPUT_STREAM(g_file_read(file, NULL, error));
	if (!is_stdin && (fd = g_open(g_file_peek_path(file), O_RDONLY | O_CLOEXEC)) < 0)
		return fail(error, errno);
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0 && errno == ESPIPE)
		return open_pipe(fd, to_seek, error);
	if (n >= 0 && is_dat(head, (gsize)n)) {
		int kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);

		if (!is_stdin)
			close(fd);
		return kept < 0 ? fail(error, errno) : open_dat(kept, to_seek, error);
	}
	if (is_stdin)
		return g_unix_input_stream_new(fd, FALSE);
	close(fd);
	return G_INPUT_STREAM(g_file_read(file, NULL, error));
}
