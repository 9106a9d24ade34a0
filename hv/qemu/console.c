/* SPDX-License-Identifier: MIT */
#include "qemu/console.h"

#include "target/serial.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <ringside/atomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_MS 200 /* an unfinished line is shown after this */
#define PATIENCE_US (500 * G_TIME_SPAN_MILLISECOND)

/* The thread may be stuck in a write for ever. So whoever comes last frees it. */
struct rs_qemu_console {
	struct rs_serial *serial;
	int fd; /* our end of the socket */
	bool give_up;
	gatomicrefcount references;
	GMutex lock;
	GCond ended;
	bool has_ended; /* under the lock: the thread has written all */
};

static void unref(struct rs_qemu_console *console)
{
	if (!g_atomic_ref_count_dec(&console->references))
		return;
	rs_serial_destroy(console->serial);
	close(console->fd);
	g_mutex_clear(&console->lock);
	g_cond_clear(&console->ended);
	g_free(console);
}

/* Waits for more, and shows an unfinished line meanwhile. */
static ssize_t read_more(struct rs_qemu_console *console, char *bytes, size_t size)
{
	struct pollfd more = {.fd = console->fd, .events = POLLIN};
	ssize_t n;

	if (poll(&more, 1, FLUSH_MS) == 0)
		rs_serial_flush(console->serial, true, &console->give_up);
	do
		n = read(console->fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static gpointer relay(gpointer data)
{
	struct rs_qemu_console *console = data;
	char bytes[4096];
	ssize_t n;

	while (!rs_load(&console->give_up) && (n = read_more(console, bytes, sizeof(bytes))) > 0)
		rs_serial_put(console->serial, bytes, (size_t)n, &console->give_up);
	rs_serial_flush(console->serial, true, &console->give_up);
	g_mutex_lock(&console->lock);
	console->has_ended = true;
	g_cond_signal(&console->ended);
	g_mutex_unlock(&console->lock);
	unref(console);
	return NULL;
}

bool rs_qemu_console_is_due(int fd)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	struct stat st;
	int again;

	if (fd < 0 || fstat(fd, &st) || S_ISSOCK(st.st_mode)) /* which QEMU takes as it is */
		return false;
	if (isatty(fd))
		return true;
	again = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (again < 0)
		return true;
	close(again);
	return false;
}

int rs_qemu_console_create(int fd, int *guest, struct rs_qemu_console **out, struct rs_error *err)
{
	struct rs_qemu_console *console;
	struct rs_serial *serial;
	int ends[2], ret;

	ret = rs_serial_create(NULL, fd, &serial, err);
	if (ret)
		return ret;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		rs_serial_destroy(serial);
		return rs_error_set(err, errno, "cannot lead the console: %s", g_strerror(errno));
	}
	console = g_new0(struct rs_qemu_console, 1);
	console->serial = serial;
	console->fd = ends[0];
	g_mutex_init(&console->lock);
	g_cond_init(&console->ended);
	g_atomic_ref_count_init(&console->references);
	g_atomic_ref_count_inc(&console->references);
	g_thread_unref(g_thread_new("console", relay, console));
	*guest = ends[1];
	*out = console;
	return 0;
}

void rs_qemu_console_finish(struct rs_qemu_console *console)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_US;

	/* Who was waited for in vain is not waited for again. */
	if (!console || rs_load(&console->give_up))
		return;
	/* QEMU may live on without us. */
	shutdown(console->fd, SHUT_RD);
	g_mutex_lock(&console->lock);
	while (!console->has_ended && g_cond_wait_until(&console->ended, &console->lock, until))
		;
	g_mutex_unlock(&console->lock);
	rs_store(&console->give_up, true);
}

void rs_qemu_console_free(struct rs_qemu_console *console)
{
	if (!console)
		return;
	rs_qemu_console_finish(console);
	unref(console);
}
