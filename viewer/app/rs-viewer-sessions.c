/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-sessions.h"

#include <string.h>

/* The monitor tells of files, and not of a process that died and left its file. */
#define LOOK_EACH_S 2
/* A start writes several files. */
#define SETTLE_MS 100

struct _RsViewerSessions {
	GObject parent;
	GPtrArray *list;
	GFileMonitor *monitor;
	GCancellable *cancellable;
	guint timer, settle;
	gboolean busy, again;
};

G_DEFINE_FINAL_TYPE(RsViewerSessions, rs_viewer_sessions, G_TYPE_OBJECT)

static guint changed_signal;

static void watch(RsViewerSessions *sessions, const char *path);

/* What a thread has found. */
struct found {
	GPtrArray *list;
	char *path; /* of the directory; NULL: there is none yet */
};

static void free_found(gpointer data)
{
	struct found *found = data;

	g_ptr_array_unref(found->list);
	g_free(found->path);
	g_free(found);
}

static void look(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct found *found = g_new0(struct found, 1);
	g_autoptr(GPtrArray) all = NULL;

	found->path = rs_trace_rundir_path(NULL);
	found->list = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_rundir_entry_free);
	all = found->path ? rs_trace_rundir_list(NULL) : NULL;
	for (guint i = 0; all && i < all->len;) {
		const RsTraceRundirEntry *entry = all->pdata[i];

		if (entry->live || rs_trace_rundir_entry_lost(entry)) {
			g_ptr_array_set_free_func(all, NULL);
			g_ptr_array_add(found->list, g_ptr_array_steal_index(all, i));
			g_ptr_array_set_free_func(all, (GDestroyNotify)rs_trace_rundir_entry_free);
		} else {
			i++;
		}
	}
	g_task_return_pointer(task, found, free_found);
}

static gboolean same(const GPtrArray *a, const GPtrArray *b)
{
	if (a->len != b->len)
		return FALSE;
	for (guint i = 0; i < a->len; i++) {
		const RsTraceRundirEntry *x = a->pdata[i], *y = b->pdata[i];

		if (strcmp(x->name, y->name) != 0 || x->live != y->live || x->pid != y->pid ||
		    x->started != y->started || x->sources->len != y->sources->len)
			return FALSE;
	}
	return TRUE;
}

static void looked(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerSessions) sessions = data;
	struct found *found = g_task_propagate_pointer(G_TASK(result), NULL);

	sessions->busy = FALSE;
	if (!found)
		return;
	watch(sessions, found->path);
	if (!same(sessions->list, found->list)) {
		g_ptr_array_unref(sessions->list);
		sessions->list = g_ptr_array_ref(found->list);
		g_signal_emit(sessions, changed_signal, 0);
	}
	free_found(found);
	if (sessions->again)
		rs_viewer_sessions_refresh(sessions);
}

void rs_viewer_sessions_refresh(RsViewerSessions *sessions)
{
	g_autoptr(GTask) task = NULL;

	sessions->again = sessions->busy;
	if (sessions->busy)
		return;
	sessions->busy = TRUE;
	/* Its source would end in the thread if that is the last that has the task. */
	task = g_task_new(NULL, sessions->cancellable, looked, g_object_ref(sessions));
	g_task_run_in_thread(task, look);
}

const GPtrArray *rs_viewer_sessions_list(RsViewerSessions *sessions)
{
	return sessions->list;
}

static gboolean settled(gpointer data)
{
	RS_VIEWER_SESSIONS(data)->settle = 0;
	rs_viewer_sessions_refresh(data);
	return G_SOURCE_REMOVE;
}

static void file_changed(RsViewerSessions *sessions)
{
	if (!sessions->settle)
		sessions->settle = g_timeout_add(SETTLE_MS, settled, sessions);
}

static void watch(RsViewerSessions *sessions, const char *path)
{
	g_autoptr(GFile) file = NULL;

	if (sessions->monitor || !path)
		return;
	file = g_file_new_for_path(path);
	sessions->monitor =
		g_file_monitor_directory(file, G_FILE_MONITOR_NONE, sessions->cancellable, NULL);
	if (sessions->monitor)
		g_signal_connect_object(sessions->monitor, "changed", G_CALLBACK(file_changed),
					sessions, G_CONNECT_SWAPPED);
}

static gboolean tick(gpointer data)
{
	rs_viewer_sessions_refresh(data);
	return G_SOURCE_CONTINUE;
}

static void dispose(GObject *object)
{
	RsViewerSessions *sessions = RS_VIEWER_SESSIONS(object);

	g_cancellable_cancel(sessions->cancellable);
	g_clear_object(&sessions->cancellable);
	g_clear_object(&sessions->monitor);
	g_clear_handle_id(&sessions->timer, g_source_remove);
	g_clear_handle_id(&sessions->settle, g_source_remove);
	g_clear_pointer(&sessions->list, g_ptr_array_unref);
	G_OBJECT_CLASS(rs_viewer_sessions_parent_class)->dispose(object);
}

static void rs_viewer_sessions_class_init(RsViewerSessionsClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	changed_signal = g_signal_new("changed", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
				      NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void rs_viewer_sessions_init(RsViewerSessions *sessions)
{
	sessions->list = g_ptr_array_new();
	sessions->cancellable = g_cancellable_new();
	sessions->timer = g_timeout_add_seconds(LOOK_EACH_S, tick, sessions);
	rs_viewer_sessions_refresh(sessions);
}

RsViewerSessions *rs_viewer_sessions_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_SESSIONS, NULL);
}
