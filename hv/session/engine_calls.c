/* SPDX-License-Identifier: MIT */
/* Engines: what owners, and we ourselves, ask guests about them. */
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
	g_queue_unlink(&call->engine->info.source->session->engines->calls, &call->link);
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
	g_queue_push_tail_link(&engine->info.source->session->engines->calls, &call->link);
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
		rs_engine_free(engine);
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
			rs_engine_leave(call->engine);
	}
}

void rs_source_drop_engine_calls(struct rs_source *source)
{
	struct rs_engines *engines = source->session->engines;

	for (GList *l = engines->calls.head, *next; l; l = next) {
		struct call *call = l->data;

		next = l->next;
		if (call->engine->info.source == source)
			call_free(call);
	}
}
