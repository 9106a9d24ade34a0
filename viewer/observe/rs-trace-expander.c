/* SPDX-License-Identifier: MIT */
#include "rs-trace-expander.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <ringside/region.h>
#include <ringside/ring.h>
#include <rs-trace-expand-wire.h>
#include <rs-trace-paths.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROGRAM "ringside-import"
#define PATIENCE_US (2 * G_USEC_PER_SEC) /* for one answer */
#define STARTS_MAX 4u

struct _RsTraceExpander {
	gboolean running;
	GSubprocess *process; /* NULL: it does not run */
	int fd;               /* our end of a socket; -1 */
	guint starts;
	GHashTable *providers; /* slot → GByteArray, as they were told */
	GByteArray *answer;
};

static void free_bytes(gpointer data)
{
	g_byte_array_unref(data);
}

RsTraceExpander *rs_trace_expander_new(void)
{
	RsTraceExpander *expander = g_new0(RsTraceExpander, 1);

	expander->providers = g_hash_table_new_full(NULL, NULL, NULL, free_bytes);
	expander->answer = g_byte_array_new();
	expander->fd = -1;
	return expander;
}

/* ---- the process ---- */

#ifdef RS_FUZZING
/* There is none. The answer is what was asked, which is as hostile as an answer can be. */
static void end_process(RsTraceExpander *expander)
{
	expander->running = FALSE;
}

static gboolean launch(RsTraceExpander *expander)
{
	return TRUE;
}

static gboolean ask(RsTraceExpander *expander, const RsTraceExpandRequest *request,
		    gconstpointer bytes, guint32 *records)
{
	g_byte_array_set_size(expander->answer, 0);
	g_byte_array_append(expander->answer, bytes, request->size);
	*records = request->size / RS_RING_PAGE_HEADER;
	return request->size % 7 != 6;
}
#else
static void end_process(RsTraceExpander *expander)
{
	expander->running = FALSE;
	if (expander->fd >= 0)
		close(expander->fd);
	expander->fd = -1;
	if (!expander->process)
		return;
	g_subprocess_force_exit(expander->process);
	g_subprocess_wait(expander->process, NULL, NULL);
	g_clear_object(&expander->process);
}

/* Its standard input and output are one socket. */
static GSubprocess *spawn(int *fd)
{
	const char *folder = g_getenv("RINGSIDE_LIBEXEC");
	g_autofree char *program =
		g_build_filename(folder ? folder : RS_LIBEXEC_DIR, PROGRAM, NULL);
	/* What it could not give away, it says to whoever debugs it. */
	const GSubprocessFlags flags = g_getenv("G_MESSAGES_DEBUG")
					       ? G_SUBPROCESS_FLAGS_NONE
					       : G_SUBPROCESS_FLAGS_STDERR_SILENCE;
	g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(flags);
	int ends[2], other;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return NULL;
	other = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	g_subprocess_launcher_take_stdin_fd(launcher, ends[1]);
	if (other >= 0)
		g_subprocess_launcher_take_stdout_fd(launcher, other);
	*fd = ends[0];
	return other < 0 ? NULL
			 : g_subprocess_launcher_spawn(launcher, NULL, program, "--pages", NULL);
}

static gboolean launch(RsTraceExpander *expander)
{
	expander->process = spawn(&expander->fd);
	if (!expander->process)
		end_process(expander);
	return expander->process != NULL;
}

static gboolean wait_for(int fd, guint events, gint64 until)
{
	GPollFD poll = {.fd = fd, .events = (gushort)events};
	gint64 left = until - g_get_monotonic_time();

	return left > 0 && g_poll(&poll, 1, (gint)(left / 1000) + 1) > 0;
}

static gboolean read_all(int fd, gpointer bytes, gsize size, gint64 until)
{
	guint8 *to = bytes;

	while (size) {
		gssize n = recv(fd, to, size, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (!wait_for(fd, G_IO_IN, until))
				return FALSE;
			continue;
		}
		if (n <= 0)
			return FALSE;
		to += n;
		size -= (gsize)n;
	}
	return TRUE;
}

static gboolean write_all(int fd, gconstpointer bytes, gsize size, gint64 until)
{
	const guint8 *from = bytes;

	while (size) {
		/* A process that has died must not end this one. */
		gssize n = send(fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (!wait_for(fd, G_IO_OUT, until))
				return FALSE;
			continue;
		}
		if (n <= 0)
			return FALSE;
		from += n;
		size -= (gsize)n;
	}
	return TRUE;
}

/* Asks, and has the answer in expander->answer. FALSE: the process is of no more use. */
static gboolean ask(RsTraceExpander *expander, const RsTraceExpandRequest *request,
		    gconstpointer bytes, guint32 *records)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_US;
	RsTraceExpandAnswer head;

	if (!write_all(expander->fd, request, sizeof(*request), until) ||
	    !write_all(expander->fd, bytes, request->size, until) ||
	    !read_all(expander->fd, &head, sizeof(head), until) || head.size > RS_TRACE_EXPAND_MAX)
		return FALSE;
	g_byte_array_set_size(expander->answer, head.size);
	*records = head.records;
	return read_all(expander->fd, expander->answer->data, head.size, until);
}

#endif

void rs_trace_expander_free(RsTraceExpander *expander)
{
	if (!expander)
		return;
	end_process(expander);
	g_hash_table_unref(expander->providers);
	g_byte_array_unref(expander->answer);
	g_free(expander);
}

static gboolean tell(RsTraceExpander *expander, guint slot, const GByteArray *told)
{
	const RsTraceExpandRequest request = {
		.kind = RS_TRACE_EXPAND_PROVIDER, .size = told->len, .arg = slot};
	guint32 records;

	return ask(expander, &request, told->data, &records);
}

static gboolean start(RsTraceExpander *expander)
{
	GHashTableIter iter;
	gpointer slot, told;

	if (expander->running)
		return TRUE;
	if (expander->starts >= STARTS_MAX)
		return FALSE;
	expander->starts++;
	if (!launch(expander))
		return FALSE;
	expander->running = TRUE;
	g_hash_table_iter_init(&iter, expander->providers);
	while (g_hash_table_iter_next(&iter, &slot, &told)) {
		if (!tell(expander, GPOINTER_TO_UINT(slot), told)) {
			end_process(expander);
			return FALSE;
		}
	}
	return TRUE;
}

/* ---- requests ---- */

GByteArray *rs_trace_expander_provider(RsTraceExpander *expander, guint slot,
				       const struct rs_provider *entry, const guint8 *descs,
				       gsize size)
{
	GByteArray *told, *out;

	if (size > RS_TRACE_EXPAND_MAX - sizeof(*entry) || !start(expander))
		return NULL;
	told = g_byte_array_new();
	g_byte_array_append(told, (const guint8 *)entry, sizeof(*entry));
	g_byte_array_append(told, descs, (guint)size);
	g_hash_table_insert(expander->providers, GUINT_TO_POINTER(slot), told);
	if (!tell(expander, slot, told)) {
		/* It died of this one, so another one need not hear of it. */
		g_hash_table_remove(expander->providers, GUINT_TO_POINTER(slot));
		end_process(expander);
		return NULL;
	}
	out = g_byte_array_new();
	g_byte_array_append(out, expander->answer->data, expander->answer->len);
	return out;
}

gboolean rs_trace_expander_each(const guint8 *bytes, gsize size, RsTraceExpandedFunc page,
				gpointer data)
{
	while (size >= sizeof(guint32)) {
		guint32 length;

		memcpy(&length, bytes, sizeof(length));
		bytes += sizeof(length);
		size -= sizeof(length);
		if (length > size || length % 8 || length < RS_RING_PAGE_HEADER ||
		    length > RS_RING_PAGE_MAX)
			return FALSE;
		page(bytes, length, data);
		bytes += length;
		size -= length;
	}
	return !size;
}

guint rs_trace_expander_page(RsTraceExpander *expander, const RsTraceExpanderPage *in,
			     RsTraceExpandedFunc page, gpointer data)
{
	const RsTraceExpandRequest request = {.kind = RS_TRACE_EXPAND_PAGE,
					      .size = (guint32)in->size,
					      .arg = in->cpu,
					      .chain = in->chain,
					      .page_size = in->page_size};
	guint32 records = 0;

	if (!start(expander))
		return 0;
	if (!ask(expander, &request, in->bytes, &records)) {
		end_process(expander);
		return 0;
	}
	rs_trace_expander_each(expander->answer->data, expander->answer->len, page, data);
	return records;
}
