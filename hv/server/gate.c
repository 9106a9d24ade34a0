/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "server/gate_private.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
/* Clients that have not said who they are. One needs some ms for it. */
#define NEW_MAX 32u
#define NEW_MS 2000
#define CROWD_MS 300 /* for one that comes while half of them are taken */
/* Clients that GDBus is still to authenticate; then nobody else is let in, but new ones may be. */
#define COMING_MAX 8
#define RETRY_MS 100 /* when there is no descriptor for a client */

struct rs_gate {
	char *path, *guid;
	unsigned call_ms, max;
	void *data;
	void (*came)(void *data, int fd);
	GMainContext *context;
	GThread *thread;
	GSource *door;     /* of the thread: for clients, and for what is asked of it */
	GSource *arrivals; /* of the creator's */
	GMutex lock;
	GArray *arrived;   /* of int; protected by the lock */
	gint coming;       /* atomic: admitted, but not taken */
	gint closed, over; /* atomic: asked of the thread */
	gint64 deadline;   /* then it ends; written before `over` */
	/* Of the thread. */
	int listener; /* -1: closed */
	void *tag;
	GPtrArray *clients;
	unsigned admitted; /* of them */
};

struct door {
	GSource source;
	struct rs_gate *gate;
};

/* ---- of the thread ---- */

const char *rs_gate_guid(const struct rs_gate *gate)
{
	return gate->guid;
}

gint64 rs_gate_call_us(const struct rs_gate *gate)
{
	return (gint64)gate->call_ms * 1000;
}

bool rs_gate_admit(struct rs_gate *gate, int fd)
{
	bool fits;

	g_mutex_lock(&gate->lock);
	fits = gate->admitted < gate->max && !g_atomic_int_get(&gate->closed);
	if (fits)
		g_array_append_val(gate->arrived, fd);
	g_mutex_unlock(&gate->lock);
	if (!fits)
		return false;
	gate->admitted++;
	g_atomic_int_inc(&gate->coming);
	g_source_set_ready_time(gate->arrivals, 0);
	return true;
}

/* The door then looks whether others may come. */
void rs_gate_leave(struct rs_gate *gate, struct rs_gate_client *client)
{
	if (!rs_gate_client_is_new(client))
		gate->admitted--;
	g_ptr_array_remove_fast(gate->clients, client); /* frees it */
	g_source_set_ready_time(gate->door, 0);
}

static unsigned count_new(const struct rs_gate *gate)
{
	return gate->clients->len - gate->admitted;
}

/* Of the same user, or root. */
static bool may_come(int fd, uid_t *uid)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return false;
	*uid = who.uid;
	return who.uid == getuid() || who.uid == 0;
}

static bool has_room(const struct rs_gate *gate)
{
	return !g_atomic_int_get(&gate->closed) && count_new(gate) < NEW_MAX &&
	       g_atomic_int_get(&gate->coming) < COMING_MAX;
}

/* Returns when to look again: -1: when the next one comes or there is room. */
static gint64 let_in(struct rs_gate *gate)
{
	while (has_room(gate)) {
		unsigned ms = count_new(gate) < NEW_MAX / 2 ? NEW_MS : CROWD_MS;
		int fd = accept4(gate->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		uid_t uid;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			return -1;
		if (fd < 0)
			return g_get_monotonic_time() + RETRY_MS * 1000;
		if (may_come(fd, &uid))
			g_ptr_array_add(gate->clients,
					rs_gate_client_new(gate, gate->context, fd, uid, ms));
		else
			close(fd);
	}
	return -1;
}

static void shut(struct rs_gate *gate)
{
	if (gate->listener < 0)
		return;
	g_source_remove_unix_fd(gate->door, gate->tag);
	close(gate->listener);
	gate->listener = -1;
	for (guint i = gate->clients->len; i-- > 0;) {
		if (rs_gate_client_is_new(gate->clients->pdata[i]))
			g_ptr_array_remove_index_fast(gate->clients, i);
	}
}

static gboolean on_door(GSource *source, GSourceFunc unused, gpointer data)
{
	struct rs_gate *gate = ((struct door *)source)->gate;
	gint64 again;

	/* First, so that what is asked meanwhile is not missed. */
	g_source_set_ready_time(source, -1);
	if (g_atomic_int_get(&gate->closed)) {
		shut(gate);
		if (g_atomic_int_get(&gate->over))
			g_source_set_ready_time(source, gate->deadline);
		return G_SOURCE_CONTINUE;
	}
	again = let_in(gate);
	if (again >= 0)
		g_source_set_ready_time(source, again);
	g_source_modify_unix_fd(source, gate->tag, has_room(gate) && again < 0 ? G_IO_IN : 0);
	return G_SOURCE_CONTINUE;
}

static bool is_over(const struct rs_gate *gate)
{
	return g_atomic_int_get(&gate->over) &&
	       (!gate->clients->len || g_get_monotonic_time() >= gate->deadline);
}

static gpointer run(gpointer data)
{
	struct rs_gate *gate = data;

	while (!is_over(gate))
		g_main_context_iteration(gate->context, TRUE);
	shut(gate);
	g_ptr_array_unref(gate->clients);
	return NULL;
}

/* ---- of the creator's ---- */

static gboolean on_arrivals(GSource *source, GSourceFunc unused, gpointer data)
{
	struct rs_gate *gate = ((struct door *)source)->gate;
	g_autoptr(GArray) fds = NULL;

	g_source_set_ready_time(source, -1);
	g_mutex_lock(&gate->lock);
	fds = g_steal_pointer(&gate->arrived);
	gate->arrived = g_array_new(FALSE, FALSE, sizeof(int));
	g_mutex_unlock(&gate->lock);
	for (guint i = 0; i < fds->len; i++)
		gate->came(gate->data, g_array_index(fds, int, i));
	return G_SOURCE_CONTINUE;
}

void rs_gate_taken(struct rs_gate *gate)
{
	g_atomic_int_add(&gate->coming, -1);
	g_source_set_ready_time(gate->door, 0);
}

/* A descriptor, or -EIO. */
static int listen_at(const char *path, struct rs_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) >= sizeof(address.sun_path))
		return rs_error_set(err, EIO, "cannot serve the session: the path is too long: %s",
				    path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    !listen(fd, BACKLOG))
		return fd;
	rs_error_set(err, EIO, "cannot serve the session at %s: %s", path, g_strerror(errno));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

static GSource *source_new(struct rs_gate *gate, GSourceFuncs *funcs)
{
	GSource *source = g_source_new(funcs, sizeof(struct door));

	((struct door *)source)->gate = gate;
	return source;
}

int rs_gate_create(const struct rs_gate_config *config, struct rs_gate **out, struct rs_error *err)
{
	static GSourceFuncs door = {.dispatch = on_door}, arrivals = {.dispatch = on_arrivals};
	int listener = listen_at(config->path, err);
	struct rs_gate *gate;

	if (listener < 0)
		return listener;
	gate = g_new0(struct rs_gate, 1);
	gate->path = g_strdup(config->path);
	gate->guid = g_strdup(config->guid);
	gate->call_ms = config->call_ms;
	gate->max = config->max;
	gate->data = config->data;
	gate->came = config->came;
	gate->context = g_main_context_new();
	g_mutex_init(&gate->lock);
	gate->arrived = g_array_new(FALSE, FALSE, sizeof(int));
	gate->clients = g_ptr_array_new_with_free_func((GDestroyNotify)rs_gate_client_free);
	gate->listener = listener;
	gate->door = source_new(gate, &door);
	gate->tag = g_source_add_unix_fd(gate->door, listener, G_IO_IN);
	gate->arrivals = source_new(gate, &arrivals);
	g_source_attach(gate->door, gate->context);
	g_source_attach(gate->arrivals, NULL);
	gate->thread = g_thread_new("gate", run, gate);
	*out = gate;
	return 0;
}

void rs_gate_close(struct rs_gate *gate)
{
	unlink(gate->path);
	g_source_destroy(gate->arrivals);
	g_mutex_lock(&gate->lock);
	g_atomic_int_set(&gate->closed, 1);
	for (guint i = 0; i < gate->arrived->len; i++)
		close(g_array_index(gate->arrived, int, i));
	g_array_set_size(gate->arrived, 0);
	g_mutex_unlock(&gate->lock);
	g_source_set_ready_time(gate->door, 0);
}

void rs_gate_free(struct rs_gate *gate, unsigned ms)
{
	if (!gate)
		return;
	if (!g_atomic_int_get(&gate->closed))
		rs_gate_close(gate);
	gate->deadline = g_get_monotonic_time() + (gint64)ms * 1000;
	g_atomic_int_set(&gate->over, 1);
	g_source_set_ready_time(gate->door, 0);
	g_thread_join(gate->thread);
	g_source_destroy(gate->door);
	g_source_unref(gate->arrivals);
	g_source_unref(gate->door);
	g_main_context_unref(gate->context);
	g_array_unref(gate->arrived);
	g_mutex_clear(&gate->lock);
	g_free(gate->guid);
	g_free(gate->path);
	g_free(gate);
}
