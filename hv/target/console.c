/* SPDX-License-Identifier: MIT */
#include "target/console.h"

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <ringside/atomic.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE 512u
#define FLUSH_MS 200  /* an unfinished line is shown after this */
#define GATHER_US 500 /* of an unfinished line */
#define PATIENCE_US (300 * G_TIME_SPAN_MILLISECOND)

/* The thread may hang in a write to a file for ever. So whoever comes last frees it. */
struct rs_console {
	struct rs_output output;
	int fd;           /* what the output borrows */
	int ours, guests; /* the ends of the socket */
	bool terminal;
	gint64 until; /* atomic: when the thread gives up; 0: never */
	gatomicrefcount references;
	/* These belong to the thread. */
	bool gave_up;
	size_t used;
	char line[LINE];

	GMutex lock; /* protects the following */
	GCond ended;
	bool has_ended;   /* the thread has written all, or given up */
	uint64_t waiting; /* bytes that the thread has taken and not written */
	uint64_t lost;
	GSource *end; /* calls `done` */
	/* These belong to the target's thread. */
	bool told;
	void (*done)(void *data);
	void *data;
};

static void unref(struct rs_console *console)
{
	if (!g_atomic_ref_count_dec(&console->references))
		return;
	rs_output_deinit(&console->output);
	close(console->fd);
	close(console->ours);
	close(console->guests);
	g_mutex_clear(&console->lock);
	g_cond_clear(&console->ended);
	g_free(console);
}

/* ---- on its thread ---- */

static void flush(struct rs_console *console)
{
	size_t size = console->used, shown = size, done;
	g_autofree char *text = NULL;
	int ret;

	console->used = 0;
	if (console->terminal) {
		/* A terminal adds its own carriage return to a newline. */
		if (shown >= 2 && memcmp(console->line + shown - 2, "\r\n", 2) == 0)
			console->line[--shown - 1] = '\n';
		text = rs_trace_escape(console->line, (gssize)shown, "\n\t");
		ret = rs_output_write(&console->output, text, strlen(text), &console->until, NULL);
		done = ret ? 0 : size;
	} else {
		ret = rs_output_write(&console->output, console->line, size, &console->until,
				      &done);
	}
	console->gave_up = ret == -ETIMEDOUT;
	g_mutex_lock(&console->lock);
	console->waiting -= done;
	if (ret && !console->gave_up) { /* a full disk or a closed pipe must not end the guest */
		console->waiting -= size - done;
		console->lost += size - done;
	}
	g_mutex_unlock(&console->lock);
}

static void add(struct rs_console *console, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size && !console->gave_up; i++) {
		console->line[console->used++] = bytes[i];
		if (bytes[i] == '\n' || console->used == LINE)
			flush(console);
	}
}

/* Waits for more, and shows an unfinished line meanwhile. Returns how much; 0: no more comes. */
static ssize_t take(struct rs_console *console, char *bytes, size_t size)
{
	struct pollfd more = {.fd = console->ours, .events = POLLIN};
	ssize_t n;

	do {
		/* A guest speaks byte by byte. To wake up for each would take its CPU from it. */
		if (console->used)
			g_usleep(GATHER_US);
		if (poll(&more, 1, console->used ? FLUSH_MS : -1) == 0)
			flush(console);
		g_mutex_lock(&console->lock); /* so that each byte is always in one of both */
		n = recv(console->ours, bytes, size, MSG_DONTWAIT);
		if (n > 0)
			console->waiting += (uint64_t)n;
		g_mutex_unlock(&console->lock);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR) && !console->gave_up);
	return n;
}

static gpointer write_all(gpointer data)
{
	struct rs_console *console = data;
	char bytes[4096];
	sigset_t all;
	ssize_t n;

	/* Other threads handle signals, and a pipe that is closed must not end us. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!console->gave_up && (n = take(console, bytes, sizeof(bytes))) > 0)
		add(console, bytes, (size_t)n);
	if (!console->gave_up)
		flush(console);
	g_mutex_lock(&console->lock);
	console->has_ended = true;
	g_cond_signal(&console->ended);
	if (console->end)
		g_source_set_ready_time(console->end, 0);
	g_mutex_unlock(&console->lock);
	unref(console);
	return NULL;
}

/* ---- on other threads ---- */

int rs_console_create(int fd, struct rs_console **out, struct rs_error *err)
{
	struct rs_console *console;
	int ends[2], copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		int code = errno;

		if (copy >= 0)
			close(copy);
		return rs_error_set(err, code, "serial output: %s", g_strerror(code));
	}
	console = g_new0(struct rs_console, 1);
	rs_output_init(&console->output, copy);
	console->fd = copy;
	console->ours = ends[0];
	console->guests = ends[1];
	console->terminal = isatty(copy);
	g_mutex_init(&console->lock);
	g_cond_init(&console->ended);
	g_atomic_ref_count_init(&console->references);
	g_atomic_ref_count_inc(&console->references);
	g_thread_unref(g_thread_new("console", write_all, console));
	*out = console;
	return 0;
}

int rs_console_guest_end(const struct rs_console *console)
{
	return console->guests;
}

void rs_console_put(struct rs_console *console, const void *bytes, size_t size, const bool *give_up)
{
	const char *at = bytes;

	if (!console)
		return;
	while (size && !rs_load(give_up)) {
		ssize_t n = send(console->guests, at, size, MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			size -= (size_t)n;
		} else if (n < 0 && errno != EINTR) {
			break;
		}
	}
	g_mutex_lock(&console->lock);
	console->lost += size;
	g_mutex_unlock(&console->lock);
}

static gboolean on_end(gpointer data)
{
	struct rs_console *console = data;

	g_source_set_ready_time(console->end, -1);
	if (!console->told) {
		console->told = true;
		console->done(console->data);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean dispatch_end(GSource *source, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static GSourceFuncs end_funcs = {.dispatch = dispatch_end};

void rs_console_finish(struct rs_console *console, GMainContext *context, void (*done)(void *data),
		       void *data)
{
	if (!console) {
		done(data);
		return;
	}
	console->done = done;
	console->data = data;
	shutdown(console->ours, SHUT_RD);
	g_mutex_lock(&console->lock);
	console->end = g_source_new(&end_funcs, sizeof(GSource));
	g_source_set_callback(console->end, on_end, console, NULL);
	g_source_set_ready_time(console->end,
				console->has_ended ? 0 : g_get_monotonic_time() + PATIENCE_US);
	g_source_attach(console->end, context);
	g_mutex_unlock(&console->lock);
}

void rs_console_stats(struct rs_console *console, struct rs_target_stats *out)
{
	int queued = 0;

	if (!console)
		return;
	g_mutex_lock(&console->lock);
	ioctl(console->ours, FIONREAD, &queued);
	out->console_waiting = console->waiting + (uint64_t)queued;
	out->console_lost = console->lost;
	g_mutex_unlock(&console->lock);
}

void rs_console_free(struct rs_console *console)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_US;

	if (!console)
		return;
	shutdown(console->ours, SHUT_RD);
	g_mutex_lock(&console->lock);
	while (!console->told && !console->has_ended &&
	       g_cond_wait_until(&console->ended, &console->lock, until))
		;
	if (console->end) {
		g_source_destroy(console->end);
		g_clear_pointer(&console->end, g_source_unref);
	}
	g_mutex_unlock(&console->lock);
	rs_store(&console->until, 1); /* long ago */
	unref(console);
}
