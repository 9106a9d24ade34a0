/* SPDX-License-Identifier: MIT */
#include "server/peers.h"

#include "server/gate.h"

#include <unistd.h>

#define FLUSH_MS 300 /* for GDBus to write what is queued */
#define DRAIN_MS 200 /* for peers to read it and to go, after that */

struct rs_peers {
	struct rs_peers_config config;
	char *guid;
	struct rs_gate *gate;
	GPtrArray *fresh; /* of struct fresh */
	GPtrArray *all;   /* of struct peer */
};

/* A connection that GDBus is authenticating, in a thread of GLib's pool. */
struct fresh {
	struct rs_peers *peers; /* NULL: they have gone */
	GCancellable *cancel;
};

struct peer {
	struct rs_peers *peers;
	GDBusConnection *connection;
	/*
	 * A g_atomic_rc_box, atomic: signals sent, but not written yet. GDBus's thread may still
	 * count when the peer has gone.
	 */
	gint *signals;
	guint filter;
	/* The newest signal that did not go out, since too many wait. */
	char *name;
	const char *interface, *object;
	GVariant *arguments;
	guint retry; /* a GLib source */
};

/* ---- one peer ---- */

static void peer_free(gpointer data)
{
	struct peer *peer = data;

	g_dbus_connection_remove_filter(peer->connection, peer->filter);
	g_atomic_rc_box_release(peer->signals);
	g_clear_handle_id(&peer->retry, g_source_remove);
	g_clear_pointer(&peer->arguments, g_variant_unref);
	g_free(peer->name);
	g_object_unref(peer->connection);
	g_free(peer);
}

/* On GDBus's thread, for each message that was read or is about to be written. */
static GDBusMessage *on_message(GDBusConnection *connection, GDBusMessage *message,
				gboolean incoming, gpointer signals)
{
	/* GDBus sends some of its own, of another interface. */
	if (!incoming && g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_SIGNAL &&
	    g_strcmp0(g_dbus_message_get_interface(message), "org.freedesktop.DBus.Properties") !=
		    0)
		g_atomic_int_add((gint *)signals, -1);
	return message;
}

static void emit(struct peer *peer, const char *object, const char *interface, const char *name,
		 GVariant *arguments)
{
	g_atomic_int_inc(peer->signals);
	if (!g_dbus_connection_emit_signal(peer->connection, NULL, object, interface, name,
					   arguments, NULL))
		g_atomic_int_add(peer->signals, -1);
}

static void forget_kept(struct peer *peer)
{
	g_clear_handle_id(&peer->retry, g_source_remove);
	g_clear_pointer(&peer->arguments, g_variant_unref);
	g_clear_pointer(&peer->name, g_free);
}

static gboolean on_retry(gpointer data)
{
	struct peer *peer = data;

	if (g_atomic_int_get(peer->signals) >= RS_PEER_SIGNALS_MAX)
		return G_SOURCE_CONTINUE;
	emit(peer, peer->object, peer->interface, peer->name, peer->arguments);
	peer->retry = 0;
	forget_kept(peer);
	return G_SOURCE_REMOVE;
}

static void tell_later(struct peer *peer, const char *object, const char *interface,
		       const char *name, GVariant *arguments)
{
	g_clear_pointer(&peer->arguments, g_variant_unref);
	g_free(peer->name);
	peer->name = g_strdup(name);
	peer->object = g_intern_string(object);
	peer->interface = g_intern_string(interface);
	peer->arguments = g_variant_ref(arguments);
	if (!peer->retry)
		peer->retry = g_timeout_add(50, on_retry, peer);
}

static void tell(struct peer *peer, const char *path, const char *interface, const char *name,
		 GVariant *arguments, bool replaces)
{
	if (replaces && g_atomic_int_get(peer->signals) >= RS_PEER_SIGNALS_MAX) {
		tell_later(peer, path, interface, name, arguments);
		return;
	}
	/* One that was kept is older. */
	if (replaces)
		forget_kept(peer);
	emit(peer, path, interface, name, arguments);
}

void rs_peers_tell(struct rs_peers *peers, const char *path, const char *interface,
		   const char *name, GVariant *arguments, bool replaces)
{
	g_autoptr(GVariant) kept = g_variant_ref_sink(arguments);

	for (guint i = 0; i < peers->all->len; i++)
		tell(peers->all->pdata[i], path, interface, name, kept, replaces);
}

void rs_peers_tell_one(struct rs_peers *peers, const void *connection, const char *path,
		       const char *interface, const char *name, GVariant *arguments)
{
	g_autoptr(GVariant) kept = g_variant_ref_sink(arguments);

	for (guint i = 0; i < peers->all->len; i++) {
		struct peer *peer = peers->all->pdata[i];

		if (peer->connection == connection)
			tell(peer, path, interface, name, kept, true);
	}
}

static void on_closed(GDBusConnection *connection, gboolean by_peer, GError *error, gpointer data)
{
	struct peer *peer = data;
	struct rs_peers *peers = peer->peers;

	g_signal_handlers_disconnect_by_data(connection, peer);
	peers->config.left(peers->config.data, connection);
	g_ptr_array_remove_fast(peers->all, peer);
}

/* ---- coming ---- */

static void add_peer(struct rs_peers *peers, GDBusConnection *connection)
{
	struct peer *peer;

	if (!peers->config.joined(peers->config.data, connection)) {
		g_dbus_connection_close(connection, NULL, NULL, NULL);
		return;
	}
	peer = g_new0(struct peer, 1);
	peer->peers = peers;
	peer->connection = g_object_ref(connection);
	peer->signals = g_atomic_rc_box_new0(gint);
	peer->filter = g_dbus_connection_add_filter(connection, on_message,
						    g_atomic_rc_box_acquire(peer->signals),
						    g_atomic_rc_box_release);
	g_ptr_array_add(peers->all, peer);
	g_signal_connect(connection, "closed", G_CALLBACK(on_closed), peer);
	g_dbus_connection_start_message_processing(connection);
	/* It may have closed before we listened for that. */
	if (g_dbus_connection_is_closed(connection))
		on_closed(connection, TRUE, NULL, peer);
}

static void fresh_free(gpointer data)
{
	struct fresh *fresh = data;

	g_object_unref(fresh->cancel);
	g_free(fresh);
}

static void on_authenticated(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GDBusConnection) connection = g_dbus_connection_new_finish(result, NULL);
	struct fresh *fresh = data;
	struct rs_peers *peers = fresh->peers;

	if (!peers) {
		fresh_free(fresh);
		return;
	}
	g_ptr_array_remove_fast(peers->fresh, fresh); /* frees it */
	rs_gate_taken(peers->gate);
	if (connection)
		add_peer(peers, connection);
}

static void on_came(void *data, int fd)
{
	struct rs_peers *peers = data;
	g_autoptr(GSocket) socket = g_socket_new_from_fd(fd, NULL);
	g_autoptr(GSocketConnection) connection = NULL;
	struct fresh *fresh;

	if (!socket) {
		close(fd);
		rs_gate_taken(peers->gate);
		return;
	}
	connection = g_socket_connection_factory_create_connection(socket);
	fresh = g_new0(struct fresh, 1);
	fresh->peers = peers;
	fresh->cancel = g_cancellable_new();
	g_ptr_array_add(peers->fresh, fresh);
	g_dbus_connection_new(G_IO_STREAM(connection), peers->guid,
			      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER |
				      G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING,
			      NULL, fresh->cancel, on_authenticated, fresh);
}

/* ---- life ---- */

int rs_peers_create(const char *path, const struct rs_peers_config *config, struct rs_peers **out,
		    struct rs_error *err)
{
	struct rs_peers *peers = g_new0(struct rs_peers, 1);
	struct rs_gate_config gate = {.path = path,
				      .call_ms = RS_GATE_CALL_MS,
				      .login_ms = RS_GATE_LOGIN_MS,
				      .max = RS_PEERS_MAX,
				      .data = peers,
				      .came = on_came};
	int ret;

	peers->config = *config;
	peers->guid = g_dbus_generate_guid();
	peers->all = g_ptr_array_new_with_free_func(peer_free);
	peers->fresh = g_ptr_array_new_with_free_func(fresh_free);
	gate.guid = peers->guid;
	ret = rs_gate_create(&gate, &peers->gate, err);
	if (ret) {
		rs_peers_destroy(peers);
		return ret;
	}
	*out = peers;
	return 0;
}

static void on_flushed(GObject *object, GAsyncResult *result, gpointer data)
{
	guint *left = data;

	g_dbus_connection_flush_finish(G_DBUS_CONNECTION(object), result, NULL);
	--*left;
	g_rc_box_release(left);
}

static void on_shut(GObject *object, GAsyncResult *result, gpointer data)
{
	guint *left = data;

	g_dbus_connection_close_finish(G_DBUS_CONNECTION(object), result, NULL);
	--*left;
	g_rc_box_release(left);
}

static gboolean on_time(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

/* Whatever GDBus's thread does, this ends. Then what is left over is never reported. */
static void await_all(GMainContext *context, const guint *left)
{
	g_autoptr(GSource) timer = g_timeout_source_new(FLUSH_MS);
	bool late = false;

	g_source_set_callback(timer, on_time, &late, NULL);
	g_source_attach(timer, context);
	while (*left && !late)
		g_main_context_iteration(context, TRUE);
	g_source_destroy(timer);
}

/* GDBus then finds the connection closed, whatever waits to be written. */
static void cut_off(GDBusConnection *connection)
{
	GIOStream *stream = g_dbus_connection_get_stream(connection);

	g_socket_shutdown(g_socket_connection_get_socket(G_SOCKET_CONNECTION(stream)), TRUE, TRUE,
			  NULL);
}

/*
 * All peers at once, so that one that does not read takes no time from the others. In a context of
 * its own: nothing else is to happen meanwhile.
 */
static void flush_and_close(struct rs_peers *peers)
{
	g_autoptr(GMainContext) context = g_main_context_new();
	guint *flushes = g_rc_box_new0(guint), *closes = g_rc_box_new0(guint);

	*flushes = *closes = peers->all->len;
	g_main_context_push_thread_default(context);
	for (guint i = 0; i < peers->all->len; i++)
		g_dbus_connection_flush(((struct peer *)peers->all->pdata[i])->connection, NULL,
					on_flushed, g_rc_box_acquire(flushes));
	await_all(context, flushes);
	for (guint i = 0; i < peers->all->len; i++) {
		struct peer *peer = peers->all->pdata[i];

		g_signal_handlers_disconnect_by_data(peer->connection, peer);
		cut_off(peer->connection); /* what could not be written fails now */
		g_dbus_connection_close(peer->connection, NULL, on_shut, g_rc_box_acquire(closes));
	}
	await_all(context, closes);
	g_main_context_pop_thread_default(context);
	g_rc_box_release(flushes);
	g_rc_box_release(closes);
}

void rs_peers_destroy(struct rs_peers *peers)
{
	if (!peers)
		return;
	if (peers->gate)
		rs_gate_close(peers->gate);
	g_ptr_array_set_free_func(peers->fresh, NULL);
	for (guint i = 0; i < peers->fresh->len; i++) {
		struct fresh *fresh = peers->fresh->pdata[i];

		fresh->peers = NULL; /* on_authenticated() frees it */
		g_cancellable_cancel(fresh->cancel);
	}
	g_ptr_array_unref(peers->fresh);
	flush_and_close(peers);
	rs_gate_free(peers->gate, DRAIN_MS);
	g_ptr_array_unref(peers->all);
	g_free(peers->guid);
	g_free(peers);
}
