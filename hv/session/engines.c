/* SPDX-License-Identifier: MIT */
#include "session/engines.h"

#include "session/private.h"

#include <errno.h>
#include <string.h>

struct news {
	uint64_t kind, handle, event;
	int64_t value;
};

struct engine {
	struct rs_engine_info info;
	const void *owner; /* NULL: nobody has it, and it is to be detached */
	uint64_t handle;   /* the guest's; 0: not attached yet */
	guint calls;       /* that wait for the guest */
	bool detaching;    /* DETACH is on its way */
	bool told;         /* its owner has taken it off the list */
	struct news early; /* while it is being attached: the last one of a handle unknown yet */
};

struct call {
	struct engine *engine;
	uint32_t number;     /* RS_CMD_* */
	uint64_t how;        /* ENGINE_CONTROL: RS_ENGINE_* */
	uint64_t stop;       /* the engine's last one when it was sent */
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
	if (engine->info.state == RS_ENGINE_GONE && !engine->calls &&
	    (engine->told || !engine->owner))
		g_ptr_array_remove(engines_of(engine)->list, engine);
}

static void set_gone(struct engine *engine)
{
	if (engine->info.state == RS_ENGINE_GONE)
		return;
	engine->info.state = RS_ENGINE_GONE;
	if (engine->owner && engine->handle)
		rs_session_say_changed(engine->info.source->session);
}

static void detach(struct engine *engine);

/* ---- calls ---- */

static void take_news(struct engine *engine, const struct news *news)
{
	if (news->kind == RS_NEWS_GONE)
		set_gone(engine);
	if (news->kind != RS_NEWS_STOPPED || news->event >= RS_ENGINE_EVENTS)
		return;
	engine->info.state = RS_ENGINE_STOPPED;
	engine->info.stop++;
	engine->info.event = (uint32_t)news->event;
	engine->info.value = news->value;
	rs_session_say_changed(engine->info.source->session);
}

static void attached(struct engine *engine, const struct rs_command_result *result)
{
	engine->handle = result->values[0];
	if (result->size == sizeof(engine->info.thread))
		memcpy(&engine->info.thread, result->data, result->size);
	engine->info.thread.comm[sizeof(engine->info.thread.comm) - 1] = 0;
	/* Its thread may stop at once, and word of it may be read before the answer. */
	if (engine->handle && engine->early.handle == engine->handle)
		take_news(engine, &engine->early);
}

/* What the engine's state is, now that this was done. */
static void note_success(struct engine *engine, const struct call *call,
			 const struct rs_command_result *result)
{
	if (call->number == RS_CMD_ENGINE_ATTACH)
		attached(engine, result);
	if (call->number != RS_CMD_ENGINE_CONTROL || engine->info.state == RS_ENGINE_GONE)
		return;
	if (call->how == RS_ENGINE_DETACH)
		set_gone(engine);
	/* Word of the next stop, as after a step, may be read before the answer. */
	else if (call->how != RS_ENGINE_STOP && call->how != RS_ENGINE_INTERRUPT &&
		 engine->info.stop == call->stop)
		engine->info.state = RS_ENGINE_RUNNING;
}

static void note_failure(struct engine *engine, const struct call *call, int code)
{
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
	if (!engine->owner)
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
	call->stop = engine->info.stop;
	engine->calls++;
	g_ptr_array_add(engines_of(engine)->calls, call);
	return 0;
}

/* Detaches an engine that nobody has any more. If that cannot be now, it is tried again later. */
static void detach(struct engine *engine)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
						  .args = {engine->handle, RS_ENGINE_DETACH}};
	struct call *call;

	if (engine->detaching || !engine->handle || engine->info.state == RS_ENGINE_GONE)
		return;
	call = g_new0(struct call, 1);
	*call = (struct call){.engine = engine, .number = command.number, .how = RS_ENGINE_DETACH};
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

void rs_source_take_news(struct rs_source *source, const struct rs_hcall_request *request)
{
	const GPtrArray *list = source->session->engines->list;
	const struct news news = {.kind = request->args[0],
				  .handle = request->args[1],
				  .event = request->args[2],
				  .value = (int64_t)request->args[3]};
	struct engine *engine = NULL;

	for (guint i = 0; i < list->len && !engine; i++) {
		struct engine *each = list->pdata[i];

		if (each->info.source != source || each->info.state == RS_ENGINE_GONE)
			continue;
		if (news.handle && each->handle == news.handle)
			engine = each;
		else if (!each->handle)
			each->early = news;
	}
	if (!engine)
		return;
	take_news(engine, &news);
	purge(engine);
}

void rs_source_tend_engines(struct rs_source *source)
{
	const GPtrArray *list = source->session->engines->list;

	for (guint i = 0; i < list->len; i++) {
		struct engine *engine = list->pdata[i];

		if (engine->info.source == source && !engine->owner)
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
		detach(engine);
		set_gone(engine);
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
