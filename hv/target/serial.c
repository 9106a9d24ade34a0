/* SPDX-License-Identifier: MIT */
#include "target/serial.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <ringside/atomic.h>
#include <rs-trace-escape.h>
#include <string.h>
#include <unistd.h>

#define LINE 512u

struct rs_serial {
	pthread_mutex_t lock;
	int fd;
	bool terminal;
	size_t used;
	char line[LINE];
};

static void write_all(int fd, const char *bytes, size_t size, const bool *give_up)
{
	while (size && !rs_load(give_up)) {
		ssize_t n = write(fd, bytes, size);

		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			g_usleep(1000);
		} else if (n < 0 && errno != EINTR) {
			return; /* a full disk or a closed pipe must not end the guest */
		}
	}
}

static void flush_locked(struct rs_serial *serial, const bool *give_up)
{
	size_t size = serial->used;

	if (!size)
		return;
	serial->used = 0;
	if (serial->terminal) {
		g_autofree char *text = NULL;

		/* A terminal adds its own carriage return to a newline. */
		if (size >= 2 && memcmp(serial->line + size - 2, "\r\n", 2) == 0)
			serial->line[--size - 1] = '\n';
		text = rs_trace_escape(serial->line, (gssize)size, "\n\t");
		write_all(serial->fd, text, strlen(text), give_up);
	} else {
		write_all(serial->fd, serial->line, size, give_up);
	}
}

void rs_serial_put(struct rs_serial *serial, const void *bytes, size_t size, const bool *give_up)
{
	const char *from = bytes;

	if (serial->fd < 0)
		return;
	pthread_mutex_lock(&serial->lock);
	for (size_t i = 0; i < size; i++) {
		serial->line[serial->used++] = from[i];
		if (from[i] == '\n' || serial->used == LINE)
			flush_locked(serial, give_up);
	}
	pthread_mutex_unlock(&serial->lock);
}

void rs_serial_flush(struct rs_serial *serial, bool wait, const bool *give_up)
{
	if (wait)
		pthread_mutex_lock(&serial->lock);
	else if (pthread_mutex_trylock(&serial->lock))
		return;
	flush_locked(serial, give_up);
	pthread_mutex_unlock(&serial->lock);
}

int rs_serial_create(const char *path, int fd, struct rs_serial **out, struct rs_error *err)
{
	struct rs_serial *serial;

	if (path)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	else if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	else
		fd = -2;
	if (fd == -1)
		return rs_error_set(err, errno, "serial output%s%s: %s", path ? " " : "",
				    path ? path : "", strerror(errno));
	serial = g_new0(struct rs_serial, 1);
	serial->fd = fd;
	serial->terminal = fd >= 0 && isatty(fd);
	pthread_mutex_init(&serial->lock, NULL);
	*out = serial;
	return 0;
}

void rs_serial_destroy(struct rs_serial *serial)
{
	if (!serial)
		return;
	if (serial->fd >= 0)
		close(serial->fd);
	pthread_mutex_destroy(&serial->lock);
	g_free(serial);
}
