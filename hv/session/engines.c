/* SPDX-License-Identifier: MIT */
/* Engines: whose they are, and what their owners ask. What guests tell is in engine_news.c. */
#include "session/engines_private.h"

#include <errno.h>
#include <string.h>

struct call {
	struct rs_engine *engine;
	uint32_t number;     /* RS_CMD_* */
	uint64_t how;        /* ENGINE_CONTROL: RS_UTRACE_* */
	rs_engine_done done; /* NULL: nobody waits for it any more */
	void *data;
	bool ours;  /* DETACH of an engine that nobody has any more */
	GList link; /* of rs_engines.calls */
};

struct rs_engines *rs_engines_new(void)
{
	struct rs_engines *engines = g_new0(struct rs_engines, 1);

	engines->numbers = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	engines->owners = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return engines;
}

void rs_engines_free(struct rs_engines *engines)
{
	if (!engines)
		return;
	g_hash_table_unref(engines->owners);
	g_hash_table_unref(engines->numbers);
	g_free(engines);
}

static struct rs_engines *engines_of(const struct rs_engine *engine)
{
	return engine->info.source->session->engines;
}

/* ---- whose they are ---- */

static void set_owner(struct rs_engine *engine, const void *owner)
{
	GHashTable *owners = engines_of(engine)->owners;
	GQueue *queue = g_hash_table_lookup(owners, owner);

	if (!queue) {
		queue = g_new0(GQueue, 1); /* its links are the engines' */
		g_hash_table_insert(owners, (gpointer)owner, queue);
	}
	engine->owner = owner;
	engine->in_owner = (GList){.data = engine};
	g_queue_push_tail_link(queue, &engine->in_owner);
}

static void drop_owner(struct rs_engine *engine)
{
	GHashTable *owners = engines_of(engine)->owners;
	GQueue *queue = engine->owner ? g_hash_table_lookup(owners, engine->owner) : NULL;

	if (!queue)
		return;
	g_queue_unlink(queue, &engine->in_owner);
	if (g_queue_is_empty(queue))
		g_hash_table_remove(owners, engine->owner);
	engine->owner = NULL;
}

/* Those that are gone for their owner alone take no room. The oldest of too many is forgotten. */
static bool has_room(struct rs_source *source)
{
	guint n = 0, told = 0;
	struct rs_engine *oldest = NULL;

	for (GList *l = source->engines.tail; l; l = l->prev) {
		struct rs_engine *engine = l->data;

		if (engine->info.state != RS_ENGINE_GONE || engine->held || engine->calls) {
			n++;
		} else {
			told++;
			oldest = engine;
		}
	}
	if (told >= RS_ENGINES_MAX) {
		oldest->told = true;
		rs_engine_purge(oldest);
	}
	return n < RS_ENGINES_MAX;
}

static struct rs_engine *add(struct rs_source *source)
{
	struct rs_engines *engines = source->session->engines;
	struct rs_engine *engine = g_new0(struct rs_engine, 1);

	engine->info = (struct rs_engine_info){.number = ++engines->made, .source = source};
	engine->in_source = (GList){.data = engine};
	g_hash_table_insert(engines->numbers, GUINT_TO_POINTER(engine->info.number), engine);
	g_queue_push_tail_link(&source->engines, &engine->in_source);
	return engine;
}

struct rs_engine *rs_engine_new(struct rs_source *source, const void *owner)
{
	struct rs_engine *engine = has_room(source) ? add(source) : NULL;

	if (engine)
		set_owner(engine, owner);
	return engine;
}

/* They have room of their own, so that no guest can take that of peers, nor all memory. */
void rs_engine_detach_unknown(struct rs_source *source, uint64_t handle)
{
	struct rs_engine *engine;

	if (!handle || rs_engine_by_handle(source, handle) ||
	    g_queue_get_length(&source->engines) >= 4 * RS_ENGINES_MAX)
		return;
	engine = add(source);
	engine->info.state = RS_ENGINE_GONE;
	rs_engine_hold(engine, handle);
	rs_engine_detach(engine);
}

static void let_go(struct rs_engine *engine)
{
	if (engine->held)
		g_hash_table_remove(engine->info.source->handles, &engine->handle);
	engine->held = false;
}

static void engine_free(struct rs_engine *engine)
{
	let_go(engine);
	drop_owner(engine);
	g_queue_unlink(&engine->info.source->engines, &engine->in_source);
	g_hash_table_remove(engines_of(engine)->numbers, GUINT_TO_POINTER(engine->info.number));
}

void rs_engine_purge(struct rs_engine *engine)
{
	if (engine->info.state == RS_ENGINE_GONE && !engine->calls && !engine->held &&
	    (engine->told || !engine->owner))
		engine_free(engine);
}

bool rs_engine_hold(struct rs_engine *engine, uint64_t handle)
{
	if (!handle || rs_engine_by_handle(engine->info.source, handle))
		return false;
	engine->handle = handle;
	engine->held = true;
	g_hash_table_insert(engine->info.source->handles, &engine->handle, engine);
	return true;
}

void rs_engine_say(const struct rs_engine *engine)
{
	if (engine->owner)
		rs_session_say_engine(engine->info.source->session, engine->owner);
}

void rs_engine_be_gone(struct rs_engine *engine)
{
	if (engine->info.state == RS_ENGINE_GONE)
		return;
	engine->info.state = RS_ENGINE_GONE;
	if (engine->handle)
		rs_engine_say(engine);
}

void rs_engine_set_gone(struct rs_engine *engine)
{
	let_go(engine);
	rs_engine_be_gone(engine);
}

bool rs_engine_is_unwanted(const struct rs_engine *engine)
{
	return !engine->owner || engine->info.state == RS_ENGINE_GONE;
}

struct rs_engine *rs_engine_by_handle(const struct rs_source *source, uint64_t handle)
{
	return g_hash_table_lookup(source->handles, &handle);
}

void rs_engine_take_thread(struct rs_engine *engine, const uint8_t *data, uint32_t size)
{
	struct rs_cmd_thread *thread = &engine->info.thread;

	if (size >= sizeof(*thread))
		memcpy(thread, data, sizeof(*thread));
	thread->comm[sizeof(thread->comm) - 1] = 0;
}

/* ---- calls ---- */

/*
 * It tells of a stop that this has ended before it says so, and of the next one afterwards.
 */
void rs_engine_controlled(struct rs_engine *engine, uint64_t how)
{
	if (how == RS_UTRACE_DETACH)
		rs_engine_set_gone(engine);
	else if (how != RS_UTRACE_STOP && how != RS_UTRACE_INTERRUPT &&
		 engine->info.state == RS_ENGINE_STOPPED)
		engine->info.state = RS_ENGINE_RUNNING;
}

static void note_success(struct rs_engine *engine, const struct call *call,
			 const struct rs_command_result *result)
{
	if (call->number == RS_CMD_ENGINE_ATTACH)
		rs_engine_take_thread(engine, result->data, result->size);
	else if (call->number == RS_CMD_ENGINE_CONTROL)
		rs_engine_controlled(engine, call->how);
}

static void note_failure(struct rs_engine *engine, const struct call *call, int code)
{
	if (call->number == RS_CMD_ENGINE_ATTACH || code == EBADF || code == ESHUTDOWN)
		rs_engine_set_gone(engine);
}

static void call_free(struct call *call)
{
	if (call->ours)
		call->engine->info.source->detaching = false;
	g_queue_unlink(&engines_of(call->engine)->calls, &call->link);
	call->engine->calls--;
	g_free(call);
}

/* The guest has answered, or never will. */
static void finish(struct rs_engine *engine, struct call *call, int ret,
		   const struct rs_command_result *result, const struct rs_error *err)
{
	struct rs_source *source = engine->info.source;
	const rs_engine_done done = call->done;
	const bool next = call->ours && !ret;
	void *user = call->data;

	call_free(call);
	/* It may send the next call, but it frees no engine. */
	if (done) {
		engine->calls++;
		done(user, ret, &engine->info, result, err);
		engine->calls--;
	}
	if (rs_engine_is_unwanted(engine) && !ret)
		rs_engine_detach(engine);
	rs_engine_purge(engine);
	if (next)
		rs_source_tend_engines(source);
}

static void on_done(void *data, int ret, const struct rs_command_result *result,
		    const struct rs_error *error)
{
	struct call *call = data;
	struct rs_engine *engine = call->engine;
	struct rs_error err = {0};

	if (ret)
		err = *error;
	else if (result->result < 0)
		ret = rs_command_explain(result->result, &err);
	else if (call->number == RS_CMD_ENGINE_ATTACH && !rs_engine_hold(engine, result->values[0]))
		ret = rs_error_set(&err, EPROTO, "the guest gave the engine no handle of its own");
	if (ret)
		note_failure(engine, call, err.code);
	else
		note_success(engine, call, result);
	finish(engine, call, ret, result, &err);
}

/* Takes `call` over, on success only. */
static int send(struct rs_engine *engine, struct call *call,
		const struct rs_source_command *command, struct rs_error *err)
{
	int ret = rs_source_send_command(engine->info.source, command, on_done, call, err);

	if (ret)
		return ret;
	engine->calls++;
	call->link = (GList){.data = call};
	g_queue_push_tail_link(&engines_of(engine)->calls, &call->link);
	return 0;
}

/* One at a time, so that there is room for what peers ask. */
void rs_engine_detach(struct rs_engine *engine)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
						  .args = {engine->handle, RS_UTRACE_DETACH}};
	struct rs_source *source = engine->info.source;
	struct call *call;

	if (source->detaching || !engine->held)
		return;
	call = g_new0(struct call, 1);
	*call = (struct call){
		.engine = engine, .number = command.number, .how = RS_UTRACE_DETACH, .ours = true};
	source->detaching = !send(engine, call, &command, NULL);
	if (!source->detaching)
		g_free(call);
}

/* ---- asked by others ---- */

int rs_engine_attach(struct rs_source *source, const void *owner, uint32_t thread,
		     const struct rs_engine_wish *wish, rs_engine_done done, void *data,
		     struct rs_error *err)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_ATTACH,
						  .args = {thread, wish->events, wish->flags}};
	struct rs_engine *engine = rs_engine_new(source, owner);
	struct call *call;
	int ret;

	if (!engine)
		return rs_error_set(err, ENOSPC, "there are %d engines already", RS_ENGINES_MAX);
	engine->info.thread.id = thread;
	call = g_new0(struct call, 1);
	*call = (struct call){
		.engine = engine, .number = command.number, .done = done, .data = data};
	ret = send(engine, call, &command, err);
	if (ret) {
		g_free(call);
		engine_free(engine);
	}
	return ret;
}

static struct rs_engine *find(const struct rs_session *session, const void *owner, uint32_t number)
{
	struct rs_engine *engine =
		g_hash_table_lookup(session->engines->numbers, GUINT_TO_POINTER(number));

	return engine && engine->owner == owner && engine->handle ? engine : NULL;
}

int rs_engine_send(struct rs_session *session, const void *owner, uint32_t number,
		   const struct rs_source_command *what, rs_engine_done done, void *data,
		   struct rs_error *err)
{
	struct rs_engine *engine = find(session, owner, number);
	struct rs_source_command command = *what;
	struct call *call;
	int ret;

	if (!engine || engine->info.state == RS_ENGINE_GONE)
		return rs_error_set(err, EBADF, "there is no engine %u here, or not any more",
				    number);
	command.args[0] = engine->handle;
	call = g_new0(struct call, 1);
	*call = (struct call){.engine = engine,
			      .number = command.number,
			      .how = command.args[1],
			      .done = done,
			      .data = data};
	ret = send(engine, call, &command, err);
	if (ret)
		g_free(call);
	return ret;
}

void rs_engine_drop_calls(struct rs_session *session, const void *data)
{
	for (GList *l = session->engines->calls.head; l; l = l->next) {
		struct call *call = l->data;

		if (call->data != data)
			continue;
		call->done = NULL;
		/* Nobody will ever know its number. */
		if (call->number == RS_CMD_ENGINE_ATTACH)
			drop_owner(call->engine);
	}
}

static GList *first_of(const struct rs_session *session, const void *owner)
{
	GQueue *queue = g_hash_table_lookup(session->engines->owners, owner);

	return queue ? queue->head : NULL;
}

void rs_engine_iter_init(struct rs_engine_iter *iter, const struct rs_session *session,
			 const void *owner)
{
	iter->next = first_of(session, owner);
}

const struct rs_engine_info *rs_engine_iter_next(struct rs_engine_iter *iter)
{
	while (iter->next) {
		const struct rs_engine *engine = iter->next->data;

		iter->next = iter->next->next;
		if (engine->handle && !engine->told)
			return &engine->info;
	}
	return NULL;
}

void rs_engine_forget_gone(struct rs_session *session, const void *owner)
{
	for (GList *l = first_of(session, owner), *next; l; l = next) {
		struct rs_engine *engine = l->data;

		next = l->next;
		if (engine->info.state != RS_ENGINE_GONE)
			continue;
		engine->told = true;
		rs_engine_purge(engine);
	}
}

void rs_engine_drop_owner(struct rs_session *session, const void *owner)
{
	for (GList *l = first_of(session, owner), *next; l; l = next) {
		struct rs_engine *engine = l->data;

		next = l->next;
		drop_owner(engine);
		rs_engine_detach(engine);
		rs_engine_purge(engine);
	}
}

void rs_source_drop_engines(struct rs_source *source)
{
	struct rs_engines *engines = source->session->engines;

	for (GList *l = engines->calls.head, *next; l; l = next) {
		struct call *call = l->data;

		next = l->next;
		if (call->engine->info.source == source)
			call_free(call);
	}
	for (GList *l = source->engines.head, *next; l; l = next) {
		next = l->next;
		engine_free(l->data);
	}
	g_clear_pointer(&source->handles, g_hash_table_unref);
}
