/* SPDX-License-Identifier: MIT */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <ringside/atomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 50 /* between two looks at the deadline */

void rs_output_init(struct rs_output *output, int fd)
{
	char path[32];
	struct stat st;
	int ours;

	*output = (struct rs_output){.fd = fd};
	if (fd < 0 || fstat(fd, &st))
		return;
	output->is_socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return;
	/* One that cannot be written to stays so. */
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return;
	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ours = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ours >= 0) {
		output->fd = ours;
		output->is_ours = true;
	} else {
		/* Somebody else's. A terminal says only that there is room, and not how much. */
		output->piece = S_ISFIFO(st.st_mode) ? PIPE_BUF : 1;
	}
}

void rs_output_deinit(struct rs_output *output)
{
	if (output->is_ours)
		close(output->fd);
	*output = (struct rs_output){.fd = -1};
}

static bool wait_for_room(const struct rs_output *output, int ms)
{
	struct pollfd fd = {.fd = output->fd, .events = POLLOUT};

	return poll(&fd, 1, ms) > 0;
}

/* What can be written at once, or -errno; -EAGAIN: nothing. */
static ssize_t write_some(const struct rs_output *output, const char *text, size_t size)
{
	ssize_t n;

	if (output->piece && !wait_for_room(output, 0))
		return -EAGAIN;
	if (output->piece)
		size = MIN(size, output->piece);
	do {
		n = output->is_socket ? send(output->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL)
				      : write(output->fd, text, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return n ? n : -EIO;
}

int rs_output_write(const struct rs_output *output, const char *text, size_t size,
		    const gint64 *until, size_t *done)
{
	size_t written = 0;
	int ret = 0;

	while (written < size && !ret) {
		ssize_t n = write_some(output, text + written, size - written);
		gint64 deadline = rs_load(until);
		gint64 left = deadline ? deadline - g_get_monotonic_time() : G_MAXINT64;

		if (n > 0)
			written += (size_t)n;
		else if (n != -EAGAIN)
			ret = (int)n;
		else if (left <= 0)
			ret = -ETIMEDOUT;
		else
			wait_for_room(output, (int)MIN(LOOK_MS, left / 1000 + 1));
	}
	if (done)
		*done = written;
	return ret;
}

int rs_output_write_file(const char *path, const char *text, size_t size)
{
	const gint64 never = 0;
	struct rs_output output;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int ret;

	if (fd < 0)
		return -errno;
	rs_output_init(&output, fd);
	ret = rs_output_write(&output, text, size, &never, NULL);
	rs_output_deinit(&output);
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}
