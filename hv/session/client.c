/* SPDX-License-Identifier: MIT */
#include "session/client.h"

#include "session/dbus-error.h"
#include "session/rundir.h"
#include <errno.h>
#include <gio/gunixfdlist.h>
#include <unistd.h>

#define OBJECT_PATH "/org/ringside/Session"

int rs_client_error(GError *error, struct rs_error *err)
{
	static const int codes[] = {
		[RS_SESSION_ERROR_FAILED] = EIO,         [RS_SESSION_ERROR_NO_SUCH_EVENT] = ENOENT,
		[RS_SESSION_ERROR_BAD_FILTER] = EBADMSG, [RS_SESSION_ERROR_BAD_ARGUMENT] = EINVAL,
		[RS_SESSION_ERROR_BUSY] = EBUSY,         [RS_SESSION_ERROR_NOT_READY] = EAGAIN,
		[RS_SESSION_ERROR_ENDED] = ESHUTDOWN,
	};
	int code = EIO, ret;

	if (error->domain == RS_SESSION_ERROR && error->code >= 0 &&
	    error->code < (int)G_N_ELEMENTS(codes))
		code = codes[error->code];
	else if (error->domain == G_IO_ERROR &&
		 (error->code == G_IO_ERROR_CLOSED || error->code == G_IO_ERROR_BROKEN_PIPE ||
		  error->code == G_IO_ERROR_CONNECTION_CLOSED))
		code = ECONNRESET;
	g_dbus_error_strip_remote_error(error);
	if (code == ECONNRESET)
		ret = rs_error_set(err, code, "the session went away");
	else
		ret = rs_error_set(err, code, "%s", error->message);
	g_error_free(error);
	return ret;
}

int rs_client_connect_path(const char *path, RsDBusSession1 **out, struct rs_error *err)
{
	g_autofree char *escaped = g_dbus_address_escape_value(path);
	g_autofree char *address = g_strdup_printf("unix:path=%s", escaped);
	g_autoptr(GDBusConnection) connection = NULL;
	GError *error = NULL;
	RsDBusSession1 *proxy;

	rs_session_error_quark();
	connection = g_dbus_connection_new_for_address_sync(
		address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, &error);
	if (!connection) {
		g_error_free(error);
		return rs_error_set(err, ENOENT, "nobody answers at %s", path);
	}
	proxy = rs_dbus_session1_proxy_new_sync(connection, G_DBUS_PROXY_FLAGS_NONE, NULL,
						OBJECT_PATH, NULL, &error);
	if (!proxy)
		return rs_client_error(error, err);
	*out = proxy;
	return 0;
}

int rs_client_connect(const char *name, RsDBusSession1 **out, struct rs_error *err)
{
	struct rs_rundir_entry *entry = NULL;
	g_autofree char *path = NULL;
	bool live;
	int ret;

	ret = rs_rundir_find(name, &entry, err);
	if (ret)
		return ret;
	live = entry->live;
	rs_rundir_entry_free(entry);
	if (!live)
		return rs_error_set(err, ENOENT, "session '%s' has died", name);
	ret = rs_rundir_file(name, "sock", &path, err);
	if (ret)
		return ret;
	ret = rs_client_connect_path(path, out, err);
	return ret ? rs_error_set(err, ENOENT, "session '%s' does not answer", name) : 0;
}

int rs_client_open_region(RsDBusSession1 *session, struct rs_region **out, struct rs_error *err)
{
	g_autoptr(GVariant) handle = NULL;
	g_autoptr(GUnixFDList) fds = NULL;
	GError *error = NULL;
	int fd, ret;

	if (!rs_dbus_session1_call_open_region_sync(session, NULL, &handle, &fds, NULL, &error))
		return rs_client_error(error, err);
	fd = fds ? g_unix_fd_list_get(fds, g_variant_get_handle(handle), &error) : -1;
	if (fd < 0) {
		g_clear_error(&error);
		return rs_error_set(err, EPROTO, "the session handed over no region");
	}
	ret = rs_region_open(fd, false, out, err);
	if (ret)
		close(fd);
	return ret;
}
