/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rs-trace-client.h"
#include "rs-trace-rundir.h"

#include <gio/gunixfdlist.h>
#include <poll.h>
#include <unistd.h>

#define OBJECT_PATH "/org/ringside/Session"
/* A session serves one caller at a time, and is not at hand while it patches for another one. */
#define CONNECT_MS 5000
/* A batch of patches may take long. */
#define CALL_MS 30000

/* ---- a limit in time for calls that have none ---- */

/* A thread cancels them: the caller's main context must not run meanwhile. */
typedef struct {
	GCancellable *cancellable;
	GThread *thread;
	GMutex lock;
	GCond over;
	gint64 until;
	gboolean done; /* under the lock */
} Limit;

static gpointer watch(gpointer data)
{
	Limit *limit = data;

	g_mutex_lock(&limit->lock);
	while (!limit->done && g_cond_wait_until(&limit->over, &limit->lock, limit->until))
		;
	if (!limit->done)
		g_cancellable_cancel(limit->cancellable);
	g_mutex_unlock(&limit->lock);
	return NULL;
}

static void begin_limit(Limit *limit, guint ms)
{
	limit->cancellable = g_cancellable_new();
	g_mutex_init(&limit->lock);
	g_cond_init(&limit->over);
	limit->done = FALSE;
	limit->until = g_get_monotonic_time() + (gint64)ms * 1000;
	limit->thread = g_thread_new("ringside-limit", watch, limit);
}

/* TRUE: it was exceeded. */
static gboolean end_limit(Limit *limit)
{
	gboolean exceeded;

	g_mutex_lock(&limit->lock);
	limit->done = TRUE;
	g_cond_signal(&limit->over);
	g_mutex_unlock(&limit->lock);
	g_thread_join(limit->thread);
	exceeded = g_cancellable_is_cancelled(limit->cancellable);
	g_object_unref(limit->cancellable);
	g_mutex_clear(&limit->lock);
	g_cond_clear(&limit->over);
	return exceeded;
}

/* ---- a session ---- */

void rs_trace_client_fix_error(GError **error)
{
	if (g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_CLOSED) ||
	    g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE) ||
	    g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED)) {
		g_clear_error(error);
		g_set_error_literal(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_GONE,
				    "the session went away");
	} else if (g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT) ||
		   g_error_matches(*error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY)) {
		g_clear_error(error);
		g_set_error_literal(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_SILENT,
				    "the session does not answer (is it stopped?)");
	} else {
		g_dbus_error_strip_remote_error(*error);
	}
}

static RsDBusSession1 *no_session(GError **error, const char *format, const char *what)
	G_GNUC_PRINTF(2, 0);

static RsDBusSession1 *no_session(GError **error, const char *format, const char *what)
{
	g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_SESSION, format,
		    what);
	return NULL;
}

static RsDBusSession1 *make_proxy(const char *path, GCancellable *cancellable, GError **error)
{
	g_autofree char *escaped = g_dbus_address_escape_value(path);
	g_autofree char *address = g_strdup_printf("unix:path=%s", escaped);
	g_autoptr(GDBusConnection) connection = NULL;
	RsDBusSession1 *proxy;
	GError *local = NULL;

	connection = g_dbus_connection_new_for_address_sync(
		address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, cancellable, NULL);
	if (!connection)
		return no_session(error, "nobody answers at %s", path);
	proxy = rs_dbus_session1_proxy_new_sync(connection, G_DBUS_PROXY_FLAGS_NONE, NULL,
						OBJECT_PATH, cancellable, &local);
	if (!proxy) {
		rs_trace_client_fix_error(&local);
		g_propagate_error(error, local);
	}
	return proxy;
}

/* `limit_ms` 0: the usual ones. */
static RsDBusSession1 *connect_within(const char *path, guint limit_ms, GError **error)
{
	RsDBusSession1 *proxy;
	GError *local = NULL;
	Limit limit;

	rs_trace_session_error_quark();
	begin_limit(&limit, limit_ms ? limit_ms : CONNECT_MS);
	proxy = make_proxy(path, limit.cancellable, &local);
	/* A proxy that came too late may lack its properties. */
	if (end_limit(&limit)) {
		g_clear_error(&local);
		g_clear_object(&proxy);
		g_set_error(&local, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_SILENT,
			    "what listens at %s does not answer (is it stopped?)", path);
	}
	if (proxy)
		g_dbus_proxy_set_default_timeout(G_DBUS_PROXY(proxy),
						 (int)(limit_ms ? limit_ms : CALL_MS));
	else
		g_propagate_error(error, local);
	return proxy;
}

RsDBusSession1 *rs_trace_client_connect_path(const char *path, GError **error)
{
	return connect_within(path, 0, error);
}

RsDBusSession1 *rs_trace_client_connect_within(const char *name, guint limit_ms, GError **error)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, error);
	g_autoptr(GError) local = NULL;
	g_autofree char *path = NULL;
	RsDBusSession1 *session;

	if (!entry)
		return NULL;
	if (!entry->live)
		return no_session(error, "session '%s' has died", name);
	path = rs_trace_rundir_file(name, "sock", error);
	if (!path)
		return NULL;
	session = connect_within(path, limit_ms, &local);
	if (session)
		return session;
	if (!g_error_matches(local, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_SILENT))
		return no_session(error, "session '%s' does not answer", name);
	g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_SILENT,
		    "session '%s' does not answer (is it stopped?)", name);
	return NULL;
}

RsDBusSession1 *rs_trace_client_connect(const char *name, GError **error)
{
	return rs_trace_client_connect_within(name, 0, error);
}

gboolean rs_trace_client_is_closing(RsDBusSession1 *session)
{
	GDBusConnection *connection = g_dbus_proxy_get_connection(G_DBUS_PROXY(session));
	GSocketConnection *stream = G_SOCKET_CONNECTION(g_dbus_connection_get_stream(connection));
	struct pollfd fd = {.fd = g_socket_get_fd(g_socket_connection_get_socket(stream)),
			    .events = POLLRDHUP};

	return g_dbus_connection_is_closed(connection) || poll(&fd, 1, 0) > 0;
}

GVariant *rs_trace_client_no_options(void)
{
	return g_variant_new("a{sv}", NULL);
}

GVariant *rs_trace_client_source(guint32 number)
{
	GVariantBuilder builder;

	g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
	if (number)
		g_variant_builder_add(&builder, "{sv}", "source", g_variant_new_uint32(number));
	return g_variant_builder_end(&builder);
}

static void free_source(gpointer data)
{
	RsTraceClientSource *source = data;

	g_free(source->name);
	g_free(source->kind);
	g_free(source->kernel);
	g_free(source->state);
	g_free(source->end);
	g_free(source->region);
	g_free(source);
}

static char *text_of(GVariant *row, const char *key)
{
	const char *text = "";

	g_variant_lookup(row, key, "&s", &text);
	return g_strdup(text);
}

GPtrArray *rs_trace_client_sources(RsDBusSession1 *session, GError **error)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(free_source);
	g_autoptr(GVariant) rows = NULL;
	GError *local = NULL;

	if (!rs_dbus_session1_call_sources_sync(session, rs_trace_client_no_options(), &rows, NULL,
						NULL, &local)) {
		rs_trace_client_fix_error(&local);
		g_propagate_error(error, local);
		g_ptr_array_unref(list);
		return NULL;
	}
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
		RsTraceClientSource *source = g_new0(RsTraceClientSource, 1);

		g_variant_lookup(row, "number", "u", &source->number);
		g_variant_lookup(row, "joined", "b", &source->joined);
		g_variant_lookup(row, "native", "b", &source->native);
		g_variant_lookup(row, "pid", "u", &source->pid);
		g_variant_lookup(row, "machine", "u", &source->machine);
		g_variant_lookup(row, "panics", "u", &source->panics);
		source->name = text_of(row, "name");
		source->kind = text_of(row, "kind");
		source->kernel = text_of(row, "kernel");
		source->state = text_of(row, "state");
		source->end = text_of(row, "end");
		source->region = text_of(row, "region");
		g_ptr_array_add(list, source);
	}
	return list;
}

/* A call of the interface that hands over a descriptor. */
typedef gboolean (*Opener)(RsDBusSession1 *, GVariant *options, GUnixFDList *, GVariant **handle,
			   GVariant **more, GUnixFDList **, GCancellable *, GError **);

/* Of a source. `what` is for messages. *more: what is said with it. -1: error. */
static int take_descriptor(RsDBusSession1 *session, Opener open, guint32 number, const char *what,
			   GVariant **more, GError **error)
{
	g_autoptr(GVariant) handle = NULL;
	g_autoptr(GUnixFDList) fds = NULL;
	GError *local = NULL;
	int fd;

	if (!open(session, rs_trace_client_source(number), NULL, &handle, more, &fds, NULL,
		  &local)) {
		rs_trace_client_fix_error(&local);
		g_propagate_error(error, local);
		return -1;
	}
	fd = fds ? g_unix_fd_list_get(fds, g_variant_get_handle(handle), NULL) : -1;
	if (fd < 0)
		g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_FAILED,
			    "the session handed over no %s", what);
	return fd;
}

RsTraceSymbolFile *rs_trace_client_open_symbols(RsDBusSession1 *session, guint32 number,
						GError **error)
{
	g_autoptr(GVariant) more = NULL;
	RsTraceSymbolFile *file;
	const char *name = "";
	const int fd = take_descriptor(session, rs_dbus_session1_call_open_program_sync, number,
				       "program", &more, error);

	if (fd < 0)
		return NULL;
	g_variant_lookup(more, "name", "&s", &name);
	file = rs_trace_symbol_file_read(fd, name, error);
	close(fd);
	return file;
}

RsTraceRegion *rs_trace_client_open_region(RsDBusSession1 *session, guint32 number, GError **error)
{
	g_autoptr(GVariant) more = NULL;
	RsTraceRegion *region;
	guint64 offset = 0, id = 0;
	const int fd = take_descriptor(session, rs_dbus_session1_call_open_region_sync, number,
				       "region", &more, error);

	if (fd < 0)
		return NULL;
	g_variant_lookup(more, "offset", "t", &offset);
	region = rs_trace_region_open(fd, offset, FALSE, error);
	if (!region) {
		close(fd);
		return NULL;
	}
	if (g_variant_lookup(more, "session_id", "t", &id) && region->header.session_id != id) {
		g_set_error_literal(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_GONE,
				    "the source is gone, and its region is another's");
		g_clear_pointer(&region, rs_trace_region_free);
	}
	return region;
}
