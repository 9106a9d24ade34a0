/* SPDX-License-Identifier: MIT */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAY_MS 200

void rs_output_init(struct rs_output *output, int fd)
{
	char path[32];
	struct stat st;
	int ours = -1;

	*output = (struct rs_output){.fd = fd};
	if (fd < 0 || fstat(fd, &st))
		return;
	output->is_socket = S_ISSOCK(st.st_mode);
	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		ours = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ours >= 0) {
		output->fd = ours;
		output->is_ours = true;
	}
}

void rs_output_deinit(struct rs_output *output)
{
	if (output->is_ours)
		close(output->fd);
	*output = (struct rs_output){.fd = -1};
}

ssize_t rs_output_write(const struct rs_output *output, const char *text, size_t size)
{
	ssize_t n;

	do {
		n = output->is_socket ? send(output->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL)
				      : write(output->fd, text, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return n ? n : -EIO;
}

void rs_output_wait(const struct rs_output *output, int ms)
{
	struct pollfd fd = {.fd = output->fd, .events = POLLOUT};

	poll(&fd, 1, ms);
}

/* Returns how much of it was written in time. */
static size_t write_in_time(const struct rs_output *output, const char *text, size_t size, int ms)
{
	gint64 deadline = g_get_monotonic_time() + ms * 1000;
	size_t done = 0;

	while (done < size) {
		ssize_t n = rs_output_write(output, text + done, size - done);
		gint64 left = deadline - g_get_monotonic_time();

		if (n > 0)
			done += (size_t)n;
		else if (n != -EAGAIN || left <= 0)
			break;
		else
			rs_output_wait(output, (int)(left / 1000) + 1);
	}
	return done;
}

void rs_output_say(const char *text)
{
	static struct rs_output output = {.fd = -1};
	static unsigned int dropped;
	static bool cut; /* the last message has no end */
	g_autoptr(GString) out = g_string_new(NULL);
	size_t done;

	if (output.fd < 0)
		rs_output_init(&output, STDERR_FILENO);
	if (cut)
		g_string_append_c(out, '\n');
	if (dropped)
		g_string_append_printf(out, "ringside: nobody read %u messages before this one\n",
				       dropped);
	g_string_append(out, text);
	done = write_in_time(&output, out->str, out->len, dropped ? 0 : SAY_MS);
	if (done == out->len) {
		dropped = 0;
		cut = false;
		return;
	}
	dropped++;
	if (done)
		cut = out->str[done - 1] != '\n';
}
