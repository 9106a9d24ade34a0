/* SPDX-License-Identifier: MIT */
#include "rs-trace-client.h"
#include "rs-trace-rundir.h"

#include <gio/gunixfdlist.h>
#include <unistd.h>

#define OBJECT_PATH "/org/ringside/Session"

void rs_trace_client_fix_error(GError **error)
{
	if (g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_CLOSED) ||
	    g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE) ||
	    g_error_matches(*error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED)) {
		g_clear_error(error);
		g_set_error_literal(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_GONE,
				    "the session went away");
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

RsDBusSession1 *rs_trace_client_connect_path(const char *path, GError **error)
{
	g_autofree char *escaped = g_dbus_address_escape_value(path);
	g_autofree char *address = g_strdup_printf("unix:path=%s", escaped);
	g_autoptr(GDBusConnection) connection = NULL;
	RsDBusSession1 *proxy;
	GError *local = NULL;

	rs_trace_session_error_quark();
	connection = g_dbus_connection_new_for_address_sync(
		address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, NULL);
	if (!connection)
		return no_session(error, "nobody answers at %s", path);
	proxy = rs_dbus_session1_proxy_new_sync(connection, G_DBUS_PROXY_FLAGS_NONE, NULL,
						OBJECT_PATH, NULL, &local);
	if (!proxy) {
		rs_trace_client_fix_error(&local);
		g_propagate_error(error, local);
	}
	return proxy;
}

RsDBusSession1 *rs_trace_client_connect(const char *name, GError **error)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, error);
	g_autofree char *path = NULL;
	RsDBusSession1 *session;

	if (!entry)
		return NULL;
	if (!entry->live)
		return no_session(error, "session '%s' has died", name);
	path = rs_trace_rundir_file(name, "sock", error);
	if (!path)
		return NULL;
	session = rs_trace_client_connect_path(path, NULL);
	return session ? session : no_session(error, "session '%s' does not answer", name);
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
		g_variant_lookup(row, "pid", "u", &source->pid);
		source->name = text_of(row, "name");
		source->kind = text_of(row, "kind");
		source->kernel = text_of(row, "kernel");
		source->state = text_of(row, "state");
		source->region = text_of(row, "region");
		g_ptr_array_add(list, source);
	}
	return list;
}

RsTraceRegion *rs_trace_client_open_region(RsDBusSession1 *session, guint32 number, GError **error)
{
	g_autoptr(GVariant) handle = NULL, more = NULL;
	g_autoptr(GUnixFDList) fds = NULL;
	RsTraceRegion *region;
	guint64 offset = 0, id = 0;
	GError *local = NULL;
	int fd;

	if (!rs_dbus_session1_call_open_region_sync(session, rs_trace_client_source(number), NULL,
						    &handle, &more, &fds, NULL, &local)) {
		rs_trace_client_fix_error(&local);
		g_propagate_error(error, local);
		return NULL;
	}
	fd = fds ? g_unix_fd_list_get(fds, g_variant_get_handle(handle), NULL) : -1;
	if (fd < 0) {
		g_set_error_literal(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_FAILED,
				    "the session handed over no region");
		return NULL;
	}
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
