/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "server/gate_private.h"

#include "base/socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_MAX 4u /* that come before those that are there have their turn */
/* Clients that GDBus is still to authenticate; then nobody else is let in, but new ones may be. */
#define COMING_MAX 8
#define RETRY_MS 100 /* when there is no descriptor for a client */

struct rs_gate {
	char *path, *guid;
	unsigned call_ms, login_ms, max;
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
	GPtrArray *fresh;    /* clients that have not said who they are, in the order they came */
	GPtrArray *admitted; /* those that have */
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

bool rs_gate_admit(struct rs_gate *gate, struct rs_gate_client *client, int fd)
{
	bool fits;
	guint at;

	if (!g_ptr_array_find(gate->fresh, client, &at))
		return false;
	g_mutex_lock(&gate->lock);
	fits = gate->admitted->len < gate->max && !g_atomic_int_get(&gate->closed);
	if (fits)
		g_array_append_val(gate->arrived, fd);
	g_mutex_unlock(&gate->lock);
	if (!fits)
		return false;
	g_ptr_array_add(gate->admitted, g_ptr_array_steal_index(gate->fresh, at));
	g_atomic_int_inc(&gate->coming);
	g_source_set_ready_time(gate->arrivals, 0);
	return true;
}

/* The door then looks whether others may come. */
void rs_gate_leave(struct rs_gate *gate, struct rs_gate_client *client)
{
	if (!g_ptr_array_remove(gate->fresh, client)) /* frees it */
		g_ptr_array_remove_fast(gate->admitted, client);
	g_source_set_ready_time(gate->door, 0);
}

/* Of the same user, or root. */
static bool may_come(int fd, struct ucred *who)
{
	socklen_t size = sizeof(*who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &size))
		return false;
	return who->uid == getuid() || who->uid == 0;
}

#define ANY_PID (-1)

/* Of all new clients, or of a process: how many, and which one goes first. */
static guint choose(const struct rs_gate *gate, pid_t pid, guint *at)
{
	bool is_silent = false;
	guint n = 0;

	for (guint i = 0; i < gate->fresh->len; i++) {
		const struct rs_gate_client *client = gate->fresh->pdata[i];

		if (pid != ANY_PID && rs_gate_client_pid(client) != pid)
			continue;
		if (n++ == 0 || (!is_silent && rs_gate_client_is_silent(client))) {
			is_silent = rs_gate_client_is_silent(client);
			*at = i;
		}
	}
	return n;
}

/* Whoever connects and says nothing must not keep others out. */
static void make_room(struct rs_gate *gate, pid_t pid)
{
	guint at = 0;

	if (choose(gate, pid, &at) >= RS_GATE_NEW_OF_PID_MAX ||
	    choose(gate, ANY_PID, &at) >= RS_GATE_NEW_MAX)
		g_ptr_array_remove_index(gate->fresh, at);
}

static bool has_room(const struct rs_gate *gate)
{
	return !g_atomic_int_get(&gate->closed) && g_atomic_int_get(&gate->coming) < COMING_MAX;
}

/* Returns when to look again: -1: when the next one comes or there is room. */
static gint64 let_in(struct rs_gate *gate)
{
	for (guint i = 0; i < TURN_MAX && has_room(gate); i++) {
		int fd = accept4(gate->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred who;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			return -1;
		if (fd < 0)
			return g_get_monotonic_time() + RETRY_MS * 1000;
		if (!may_come(fd, &who)) {
			close(fd);
			continue;
		}
		make_room(gate, who.pid);
		g_ptr_array_add(gate->fresh,
				rs_gate_client_new(gate, gate->context, fd, &who, gate->login_ms));
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
	g_ptr_array_set_size(gate->fresh, 0);
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
	       (!gate->admitted->len || g_get_monotonic_time() >= gate->deadline);
}

static gpointer run(gpointer data)
{
	struct rs_gate *gate = data;

	while (!is_over(gate))
		g_main_context_iteration(gate->context, TRUE);
	shut(gate);
	g_ptr_array_unref(gate->fresh);
	g_ptr_array_unref(gate->admitted);
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

static GSource *source_new(struct rs_gate *gate, GSourceFuncs *funcs)
{
	GSource *source = g_source_new(funcs, sizeof(struct door));

	((struct door *)source)->gate = gate;
	return source;
}

int rs_gate_create(const struct rs_gate_config *config, struct rs_gate **out, struct rs_error *err)
{
	static GSourceFuncs door = {.dispatch = on_door}, arrivals = {.dispatch = on_arrivals};
	int listener = rs_socket_listen(config->path, SOMAXCONN, false, err);
	struct rs_gate *gate;

	if (listener < 0) {
		rs_error_prefix(err, "cannot serve the session");
		return -EIO;
	}
	gate = g_new0(struct rs_gate, 1);
	gate->path = g_strdup(config->path);
	gate->guid = g_strdup(config->guid);
	gate->call_ms = config->call_ms;
	gate->login_ms = config->login_ms;
	gate->max = config->max;
	gate->data = config->data;
	gate->came = config->came;
	gate->context = g_main_context_new();
	g_mutex_init(&gate->lock);
	gate->arrived = g_array_new(FALSE, FALSE, sizeof(int));
	gate->fresh = g_ptr_array_new_with_free_func((GDestroyNotify)rs_gate_client_free);
	gate->admitted = g_ptr_array_new_with_free_func((GDestroyNotify)rs_gate_client_free);
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
