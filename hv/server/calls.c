/* SPDX-License-Identifier: MIT */
#include "server/calls.h"

/* Those in which a call waits are in one of two queues. */
struct rs_calls {
	GPtrArray *lines; /* of struct line */
	GQueue cheap;   /* of struct line: those whose oldest call is not dear; the first is next */
	GQueue dear;    /* likewise, the others */
	guint before;   /* so many of `cheap` come before the first of `dear` */
	bool made_dear; /* the last call was dear: all of `cheap` come before the next one */
	GSource *source; /* while a call waits; NULL: none does */
};

/* An object of a peer. */
struct object {
	struct line *line;
	const struct rs_calls_object *what;
	void *data;
	guint id; /* GDBus's */
};

struct call {
	GDBusMethodInvocation *invocation;
	const struct object *object;
};

/* The calls of a peer, oldest first. */
struct line {
	struct rs_calls *calls;
	GDBusConnection *connection;
	GPtrArray *objects; /* of struct object */
	GQueue waiting;     /* of struct call */
};

static void call_free(gpointer data)
{
	struct call *call = data;

	g_object_unref(call->invocation);
	g_free(call);
}

static void object_free(gpointer data)
{
	struct object *object = data;

	g_dbus_connection_unregister_object(object->line->connection, object->id);
	g_free(object);
}

static void line_free(gpointer data)
{
	struct line *line = data;

	g_queue_remove(&line->calls->cheap, line);
	g_queue_remove(&line->calls->dear, line);
	g_ptr_array_unref(line->objects);
	g_queue_clear_full(&line->waiting, call_free);
	g_object_unref(line->connection);
	g_free(line);
}

static struct line *find_line(const struct rs_calls *calls, const GDBusConnection *connection)
{
	for (guint i = 0; i < calls->lines->len; i++) {
		struct line *line = calls->lines->pdata[i];

		if (line->connection == connection)
			return line;
	}
	return NULL;
}

static struct line *add_line(struct rs_calls *calls, GDBusConnection *connection)
{
	struct line *line = g_new0(struct line, 1);

	line->calls = calls;
	line->connection = g_object_ref(connection);
	line->objects = g_ptr_array_new_with_free_func(object_free);
	g_queue_init(&line->waiting);
	g_ptr_array_add(calls->lines, line);
	return line;
}

/* ---- turns ---- */

static bool is_dear(const struct call *call)
{
	const char *const *dear = call->object->what->dear;

	return dear &&
	       g_strv_contains(dear, g_dbus_method_invocation_get_method_name(call->invocation));
}

static void queue_up(struct line *line)
{
	struct rs_calls *calls = line->calls;

	g_queue_push_tail(is_dear(line->waiting.head->data) ? &calls->dear : &calls->cheap, line);
}

static struct line *next_line(struct rs_calls *calls)
{
	struct line *line = NULL;

	if (calls->made_dear)
		calls->before = g_queue_get_length(&calls->cheap);
	calls->made_dear = false;
	if (calls->before || g_queue_is_empty(&calls->dear))
		line = g_queue_pop_head(&calls->cheap);
	if (line) {
		calls->before -= calls->before > 0;
		return line;
	}
	line = g_queue_pop_head(&calls->dear);
	calls->made_dear = line;
	return line;
}

bool rs_calls_step(struct rs_calls *calls)
{
	struct line *line = next_line(calls);
	g_autofree struct call *call = NULL;

	if (!line)
		return false;
	call = g_queue_pop_head(&line->waiting);
	if (!g_queue_is_empty(&line->waiting))
		queue_up(line);
	call->object->what->serve(call->object->data, call->invocation);
	return true;
}

static void begin_rounds(struct rs_calls *calls);

/* The source is made anew, so that calls that have come meanwhile are in the queues before it. */
static gboolean on_round(gpointer data)
{
	struct rs_calls *calls = data;

	g_clear_pointer(&calls->source, g_source_unref);
	rs_calls_step(calls);
	if (!g_queue_is_empty(&calls->cheap) || !g_queue_is_empty(&calls->dear))
		begin_rounds(calls);
	return G_SOURCE_REMOVE;
}

static void begin_rounds(struct rs_calls *calls)
{
	if (calls->source)
		return;
	calls->source = g_idle_source_new();
	g_source_set_priority(calls->source, G_PRIORITY_DEFAULT);
	g_source_set_callback(calls->source, on_round, calls, NULL);
	g_source_attach(calls->source, g_main_context_get_thread_default());
}

/* From GDBus, for each call of a round. */
static void on_call(GDBusConnection *connection, const char *sender, const char *path,
		    const char *interface, const char *method, GVariant *arguments,
		    GDBusMethodInvocation *invocation, gpointer data)
{
	const struct object *object = data;
	struct line *line = object->line;
	struct call *call = g_new(struct call, 1);

	*call = (struct call){invocation, object};
	g_queue_push_tail(&line->waiting, call);
	if (g_queue_get_length(&line->waiting) == 1)
		queue_up(line);
	begin_rounds(line->calls);
}

/* ---- life ---- */

struct rs_calls *rs_calls_new(void)
{
	struct rs_calls *calls = g_new0(struct rs_calls, 1);

	calls->lines = g_ptr_array_new_with_free_func(line_free);
	g_queue_init(&calls->cheap);
	g_queue_init(&calls->dear);
	return calls;
}

void rs_calls_free(struct rs_calls *calls)
{
	if (!calls)
		return;
	g_ptr_array_unref(calls->lines);
	if (calls->source) {
		g_source_destroy(calls->source);
		g_source_unref(calls->source);
	}
	g_free(calls);
}

bool rs_calls_export(struct rs_calls *calls, GDBusConnection *connection, const char *path,
		     const struct rs_calls_object *what, void *data, GError **error)
{
	/* Without functions for properties, what asks for them is a call as any other. */
	static const GDBusInterfaceVTable vtable = {.method_call = on_call};
	struct line *line = find_line(calls, connection);
	struct object *object = g_new(struct object, 1);

	if (!line)
		line = add_line(calls, connection);
	*object = (struct object){.line = line, .what = what, .data = data};
	object->id = g_dbus_connection_register_object(connection, path, what->info, &vtable,
						       object, NULL, error);
	if (!object->id) {
		g_free(object);
		return false;
	}
	g_ptr_array_add(line->objects, object);
	return true;
}

void rs_calls_drop(struct rs_calls *calls, GDBusConnection *connection)
{
	struct line *line = find_line(calls, connection);

	if (line)
		g_ptr_array_remove(calls->lines, line);
}
