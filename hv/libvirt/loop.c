/* SPDX-License-Identifier: MIT */
#include "libvirt/loop.h"

#include <glib-unix.h>
#include <stdbool.h>

/* A file or a timer. Whoever removes it does not wait for a call of it that is at work. */
struct watch {
	gatomicrefcount refs; /* of the table, and of each source */
	int id;
	int fd; /* -1: a timer */
	rs_loop_handle_fn handle;
	rs_loop_timeout_fn timeout;
	void *opaque;
	rs_loop_free_fn release;
	GSource *source; /* NULL: it waits for nothing now */
	bool removed;
};

static GMutex lock; /* all of these, and each watch's `source` and `removed` */
static GHashTable *watches;
static GMainContext *context;
static int last_id;

static void *run(void *unused)
{
	GMainLoop *loop = g_main_loop_new(context, FALSE);

	g_main_loop_run(loop);
	return NULL;
}

void rs_loop_start(void)
{
	static gsize started;

	if (!g_once_init_enter(&started))
		return;
	watches = g_hash_table_new(g_direct_hash, g_direct_equal);
	context = g_main_context_new();
	g_thread_unref(g_thread_new("libvirt-events", run, NULL));
	g_once_init_leave(&started, 1);
}

/* The last reference may go while libvirt holds its own lock, so the loop releases it. */
static gboolean release(void *data)
{
	struct watch *watch = data;

	if (watch->release)
		watch->release(watch->opaque);
	g_free(watch);
	return G_SOURCE_REMOVE;
}

static void unref(void *data)
{
	struct watch *watch = data;
	GSource *idle;

	if (!g_atomic_ref_count_dec(&watch->refs))
		return;
	idle = g_idle_source_new();
	g_source_set_callback(idle, release, watch, NULL);
	g_source_attach(idle, context);
	g_source_unref(idle);
}

static bool is_gone(struct watch *watch)
{
	bool gone;

	g_mutex_lock(&lock);
	gone = watch->removed;
	g_mutex_unlock(&lock);
	return gone;
}

static gboolean on_fd(int fd, GIOCondition condition, void *data)
{
	struct watch *watch = data;
	int events = (condition & G_IO_IN ? RS_LOOP_READABLE : 0) |
		     (condition & G_IO_OUT ? RS_LOOP_WRITABLE : 0) |
		     (condition & (G_IO_ERR | G_IO_NVAL) ? RS_LOOP_ERROR : 0) |
		     (condition & G_IO_HUP ? RS_LOOP_HANGUP : 0);

	if (!is_gone(watch))
		watch->handle(watch->id, fd, events, watch->opaque);
	return G_SOURCE_CONTINUE;
}

static gboolean on_time(void *data)
{
	struct watch *watch = data;

	if (!is_gone(watch))
		watch->timeout(watch->id, watch->opaque);
	return G_SOURCE_CONTINUE;
}

/* With the lock held. `wish`: events of a file, or ms of a timer. */
static void arm(struct watch *watch, int wish)
{
	if (watch->source) {
		g_source_destroy(watch->source);
		g_source_unref(watch->source);
		watch->source = NULL;
	}
	if (watch->fd >= 0 ? wish == 0 : wish < 0)
		return;
	g_atomic_ref_count_inc(&watch->refs);
	if (watch->fd >= 0) {
		watch->source = g_unix_fd_source_new(
			watch->fd, (GIOCondition)((wish & RS_LOOP_READABLE ? G_IO_IN : 0) |
						  (wish & RS_LOOP_WRITABLE ? G_IO_OUT : 0) |
						  G_IO_ERR | G_IO_HUP));
		g_source_set_callback(watch->source, G_SOURCE_FUNC(on_fd), watch, unref);
	} else {
		watch->source = g_timeout_source_new((guint)wish);
		g_source_set_callback(watch->source, on_time, watch, unref);
	}
	g_source_attach(watch->source, context);
}

static int add(const struct watch *model, int wish)
{
	struct watch *watch = g_new(struct watch, 1);
	int id;

	*watch = *model;
	g_atomic_ref_count_init(&watch->refs);
	g_mutex_lock(&lock);
	id = watch->id = ++last_id;
	g_hash_table_insert(watches, GINT_TO_POINTER(id), watch);
	arm(watch, wish);
	g_mutex_unlock(&lock);
	return id;
}

static void update(int id, int wish)
{
	struct watch *watch;

	g_mutex_lock(&lock);
	watch = g_hash_table_lookup(watches, GINT_TO_POINTER(id));
	if (watch)
		arm(watch, wish);
	g_mutex_unlock(&lock);
}

static int take_away(int id)
{
	struct watch *watch;

	g_mutex_lock(&lock);
	watch = g_hash_table_lookup(watches, GINT_TO_POINTER(id));
	if (watch) {
		g_hash_table_remove(watches, GINT_TO_POINTER(id));
		watch->removed = true;
		arm(watch, watch->fd >= 0 ? 0 : -1);
		unref(watch);
	}
	g_mutex_unlock(&lock);
	return watch ? 0 : -1;
}

int rs_loop_add_handle(int fd, int events, rs_loop_handle_fn call, void *opaque,
		       rs_loop_free_fn free_opaque)
{
	struct watch model = {.fd = fd, .handle = call, .opaque = opaque, .release = free_opaque};

	return fd < 0 ? -1 : add(&model, events);
}

void rs_loop_update_handle(int watch, int events)
{
	update(watch, events);
}

int rs_loop_remove_handle(int watch)
{
	return take_away(watch);
}

int rs_loop_add_timeout(int ms, rs_loop_timeout_fn call, void *opaque, rs_loop_free_fn free_opaque)
{
	struct watch model = {.fd = -1, .timeout = call, .opaque = opaque, .release = free_opaque};

	return add(&model, ms);
}

void rs_loop_update_timeout(int timer, int ms)
{
	update(timer, ms);
}

int rs_loop_remove_timeout(int timer)
{
	return take_away(timer);
}
