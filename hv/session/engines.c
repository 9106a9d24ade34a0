/* SPDX-License-Identifier: MIT */
#include "session/engines.h"

#include "session/private.h"

#include <errno.h>
#include <string.h>

struct engine {
	struct rs_engine_info info;
	const void *owner; /* NULL: nobody has it, and it is to be detached */
	uint64_t handle;   /* the guest's; 0: not attached yet */
	bool held;         /* by the guest, as far as we know: to be detached, whatever its state */
	guint calls;       /* that wait for the guest */
	bool detaching;    /* DETACH is on its way */
	bool told;         /* its owner has taken it off the list */
};

struct call {
	struct engine *engine;
	uint32_t number;     /* RS_CMD_* */
	uint64_t how;        /* ENGINE_CONTROL: RS_UTRACE_STOP ... */
	rs_engine_done done; /* NULL: nobody waits for it any more */
	void *data;
};

struct rs_engines {
	GPtrArray *list;  /* of struct engine: of all sources, in the order of their numbers */
	GPtrArray *calls; /* of struct call */
	uint32_t made;
};

struct rs_engines *rs_engines_new(void)
{
	struct rs_engines *engines = g_new0(struct rs_engines, 1);

	engines->list = g_ptr_array_new_with_free_func(g_free);
	engines->calls = g_ptr_array_new_with_free_func(g_free);
	return engines;
}

void rs_engines_free(struct rs_engines *engines)
{
	if (!engines)
		return;
	g_ptr_array_unref(engines->calls);
	g_ptr_array_unref(engines->list);
	g_free(engines);
}

static struct rs_engines *engines_of(const struct engine *engine)
{
	return engine->info.source->session->engines;
}

/* Frees it if nobody has to do with it any more. */
static void purge(struct engine *engine)
{
	if (engine->info.state == RS_ENGINE_GONE && !engine->calls && !engine->held &&
	    (engine->told || !engine->owner))
		g_ptr_array_remove(engines_of(engine)->list, engine);
}

/* For its owner. */
static void be_gone(struct engine *engine)
{
	if (engine->info.state == RS_ENGINE_GONE)
		return;
	engine->info.state = RS_ENGINE_GONE;
	if (engine->owner && engine->handle)
		rs_session_say_changed(engine->info.source->session);
}

/* The guest has let go of it. */
static void set_gone(struct engine *engine)
{
	engine->held = false;
	be_gone(engine);
}

static bool is_unwanted(const struct engine *engine)
{
	return !engine->owner || engine->info.state == RS_ENGINE_GONE;
}

static void detach(struct engine *engine);

/* ---- calls ---- */

static void attached(struct engine *engine, const struct rs_command_result *result)
{
	engine->handle = result->values[0];
	engine->held = true;
	if (result->size == sizeof(engine->info.thread))
		memcpy(&engine->info.thread, result->data, result->size);
	engine->info.thread.comm[sizeof(engine->info.thread.comm) - 1] = 0;
}

/*
 * The guest has done the action `how`. It tells of a stop that this has ended before it says so,
 * and of the next one afterwards.
 */
static void controlled(struct engine *engine, uint64_t how)
{
	if (how == RS_UTRACE_DETACH)
		set_gone(engine);
	else if (how != RS_UTRACE_STOP && how != RS_UTRACE_INTERRUPT &&
		 engine->info.state == RS_ENGINE_STOPPED)
		engine->info.state = RS_ENGINE_RUNNING;
}

static void note_success(struct engine *engine, const struct call *call,
			 const struct rs_command_result *result)
{
	if (call->number == RS_CMD_ENGINE_ATTACH)
		attached(engine, result);
	else if (call->number == RS_CMD_ENGINE_CONTROL)
		controlled(engine, call->how);
}

static void note_failure(struct engine *engine, const struct call *call, int code)
{
	if (call->how == RS_UTRACE_DETACH && call->number == RS_CMD_ENGINE_CONTROL)
		engine->detaching = false;
	if (call->number == RS_CMD_ENGINE_ATTACH || code == EBADF || code == ESHUTDOWN)
		set_gone(engine);
}

/* The guest has answered, or never will. */
static void finish(struct engine *engine, struct call *call, int ret,
		   const struct rs_command_result *result, const struct rs_error *err)
{
	struct rs_engines *engines = engines_of(engine);
	const rs_engine_done done = call->done;
	void *user = call->data;

	engine->calls--;
	g_ptr_array_remove_fast(engines->calls, call);
	/* It may send the next call, but it frees no engine. */
	if (done) {
		engine->calls++;
		done(user, ret, &engine->info, result, err);
		engine->calls--;
	}
	if (is_unwanted(engine))
		detach(engine);
	purge(engine);
}

static void on_done(void *data, int ret, const struct rs_command_result *result,
		    const struct rs_error *error)
{
	struct call *call = data;
	struct engine *engine = call->engine;
	struct rs_error err = {0};

	if (ret)
		err = *error;
	else if (result->result < 0)
		ret = rs_command_explain(result->result, &err);
	else if (call->number == RS_CMD_ENGINE_ATTACH && !result->values[0])
		ret = rs_error_set(&err, EPROTO, "the guest gave the engine no handle");
	if (ret)
		note_failure(engine, call, err.code);
	else
		note_success(engine, call, result);
	finish(engine, call, ret, result, &err);
}

/* Takes `call` over, on success only. */
static int send(struct engine *engine, struct call *call, const struct rs_source_command *command,
		struct rs_error *err)
{
	int ret = rs_source_send_command(engine->info.source, command, on_done, call, err);

	if (ret)
		return ret;
	engine->calls++;
	g_ptr_array_add(engines_of(engine)->calls, call);
	return 0;
}

/* Detaches an engine that nobody has any more. If that cannot be now, it is tried again later. */
static void detach(struct engine *engine)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
						  .args = {engine->handle, RS_UTRACE_DETACH}};
	struct call *call;

	if (engine->detaching || !engine->held)
		return;
	call = g_new0(struct call, 1);
	*call = (struct call){.engine = engine, .number = command.number, .how = RS_UTRACE_DETACH};
	engine->detaching = !send(engine, call, &command, NULL);
	if (!engine->detaching)
		g_free(call);
}

/* ---- asked by others ---- */

static guint count_of(const struct rs_source *source)
{
	const GPtrArray *list = source->session->engines->list;
	guint n = 0;

	for (guint i = 0; i < list->len; i++)
		n += ((const struct engine *)list->pdata[i])->info.source == source;
	return n;
}

int rs_engine_attach(struct rs_source *source, const void *owner, uint32_t thread, uint32_t events,
		     rs_engine_done done, void *data, struct rs_error *err)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_ATTACH,
						  .args = {thread, events}};
	struct rs_engines *engines = source->session->engines;
	struct engine *engine;
	struct call *call;
	int ret;

	if (count_of(source) >= RS_ENGINES_MAX)
		return rs_error_set(err, ENOSPC, "there are %d engines already", RS_ENGINES_MAX);
	engine = g_new0(struct engine, 1);
	engine->info = (struct rs_engine_info){
		.number = ++engines->made, .source = source, .thread = {.id = thread}};
	engine->owner = owner;
	g_ptr_array_add(engines->list, engine);
	call = g_new0(struct call, 1);
	*call = (struct call){
		.engine = engine, .number = command.number, .done = done, .data = data};
	ret = send(engine, call, &command, err);
	if (ret) {
		g_free(call);
		g_ptr_array_remove(engines->list, engine);
	}
	return ret;
}

static struct engine *find(const struct rs_session *session, const void *owner, uint32_t number)
{
	const GPtrArray *list = session->engines->list;

	for (guint i = 0; i < list->len; i++) {
		struct engine *engine = list->pdata[i];

		if (engine->info.number == number && engine->owner == owner && engine->handle)
			return engine;
	}
	return NULL;
}

int rs_engine_send(struct rs_session *session, const void *owner, uint32_t number,
		   const struct rs_source_command *what, rs_engine_done done, void *data,
		   struct rs_error *err)
{
	struct engine *engine = find(session, owner, number);
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
	const GPtrArray *calls = session->engines->calls;

	for (guint i = 0; i < calls->len; i++) {
		struct call *call = calls->pdata[i];

		if (call->data != data)
			continue;
		call->done = NULL;
		/* Nobody will ever know its number. */
		if (call->number == RS_CMD_ENGINE_ATTACH)
			call->engine->owner = NULL;
	}
}

void rs_engine_iter_init(struct rs_engine_iter *iter, const struct rs_session *session,
			 const void *owner)
{
	*iter = (struct rs_engine_iter){.list = session->engines->list, .owner = owner};
}

const struct rs_engine_info *rs_engine_iter_next(struct rs_engine_iter *iter)
{
	while (iter->next < iter->list->len) {
		const struct engine *engine = iter->list->pdata[iter->next++];

		if (engine->owner == iter->owner && engine->handle && !engine->told)
			return &engine->info;
	}
	return NULL;
}

void rs_engine_forget_gone(struct rs_session *session, const void *owner)
{
	const GPtrArray *list = session->engines->list;

	for (guint i = list->len; i-- > 0;) {
		struct engine *engine = list->pdata[i];

		if (engine->owner != owner || engine->info.state != RS_ENGINE_GONE)
			continue;
		engine->told = true;
		purge(engine);
	}
}

void rs_engine_drop_owner(struct rs_session *session, const void *owner)
{
	const GPtrArray *list = session->engines->list;

	for (guint i = list->len; i-- > 0;) {
		struct engine *engine = list->pdata[i];

		if (engine->owner != owner)
			continue;
		engine->owner = NULL;
		detach(engine);
		purge(engine);
	}
}

/* ---- what the guest tells, and its ends ---- */

static struct engine *by_handle(const struct rs_source *source, uint64_t handle)
{
	const GPtrArray *list = source->session->engines->list;

	for (guint i = 0; i < list->len; i++) {
		struct engine *engine = list->pdata[i];

		if (engine->info.source == source && engine->held && engine->handle == handle)
			return engine;
	}
	return NULL;
}

/* The guest holds an engine that nobody has. If that fails, its next news try it again. */
static void detach_unknown(struct rs_source *source, uint64_t handle)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
						  .args = {handle, RS_UTRACE_DETACH}};

	rs_source_send_command(source, &command, NULL, NULL, NULL);
}

void rs_source_take_late_result(struct rs_source *source, const struct rs_source_command *command,
				int64_t result, uint64_t value)
{
	struct engine *engine;

	if (result < 0)
		return;
	if (command->number == RS_CMD_ENGINE_ATTACH)
		detach_unknown(source, value);
	if (command->number != RS_CMD_ENGINE_CONTROL)
		return;
	engine = by_handle(source, command->args[0]);
	if (!engine)
		return;
	controlled(engine, command->args[1]);
	rs_session_say_changed(source->session);
	purge(engine);
}

void rs_source_take_news(struct rs_source *source, const struct rs_hcall_request *request)
{
	const uint64_t kind = request->args[0], handle = request->args[1];
	struct engine *engine = by_handle(source, handle);

	if (!engine && kind == RS_NEWS_STOPPED)
		detach_unknown(source, handle);
	if (!engine)
		return;
	if (kind == RS_NEWS_GONE) {
		set_gone(engine);
		purge(engine);
		return;
	}
	if (kind != RS_NEWS_STOPPED || request->args[2] >= RS_UTRACE_EVENTS ||
	    engine->info.state == RS_ENGINE_GONE)
		return;
	engine->info.state = RS_ENGINE_STOPPED;
	engine->info.stop++;
	engine->info.event = (uint32_t)request->args[2];
	engine->info.value = (int64_t)request->args[3];
	rs_session_say_changed(source->session);
}

void rs_source_tend_engines(struct rs_source *source)
{
	const GPtrArray *list = source->session->engines->list;

	for (guint i = 0; i < list->len; i++) {
		struct engine *engine = list->pdata[i];

		if (engine->info.source == source && is_unwanted(engine))
			detach(engine);
	}
}

void rs_source_give_engines_up(struct rs_source *source)
{
	const GPtrArray *list = source->session->engines->list;

	for (guint i = list->len; i-- > 0;) {
		struct engine *engine = list->pdata[i];

		if (engine->info.source != source)
			continue;
		be_gone(engine);
		detach(engine);
		purge(engine);
	}
}

void rs_source_drop_engines(struct rs_source *source)
{
	struct rs_engines *engines = source->session->engines;

	for (guint i = engines->calls->len; i-- > 0;)
		if (((struct call *)engines->calls->pdata[i])->engine->info.source == source)
			g_ptr_array_remove_index_fast(engines->calls, i);
	for (guint i = engines->list->len; i-- > 0;)
		if (((struct engine *)engines->list->pdata[i])->info.source == source)
			g_ptr_array_remove_index(engines->list, i);
}

void rs_source_end_engines(struct rs_source *source)
{
	const GPtrArray *list = source->session->engines->list;

	for (guint i = list->len; i-- > 0;) {
		struct engine *engine = list->pdata[i];

		if (engine->info.source != source)
			continue;
		set_gone(engine);
		purge(engine);
	}
}
