/* SPDX-License-Identifier: MIT */
/* Engines: what the guest tells of them, and their ends. What it says is hostile: see engines.h. */
#include "session/engines_private.h"

#include <string.h>

void rs_source_take_late_result(struct rs_source *source, const struct rs_source_command *command,
				int64_t result, uint64_t value)
{
	struct rs_engine *engine;

	if (result < 0)
		return;
	if (command->number == RS_CMD_ENGINE_ATTACH)
		rs_engine_detach_unknown(source, value);
	if (command->number != RS_CMD_ENGINE_CONTROL)
		return;
	engine = rs_engine_by_handle(source, command->args[0]);
	if (!engine)
		return;
	rs_engine_controlled(engine, command->args[1]);
	rs_engine_say(engine);
	rs_engine_purge(engine);
}

/* The thread has stopped. */
static void take_stop(struct rs_engine *engine, const struct rs_hcall_request *request)
{
	struct rs_engine_info *info = &engine->info;
	const uint32_t size = MIN(request->data_size, RS_NEWS_DATA);

	if (request->args[2] >= RS_UTRACE_EVENTS || info->state == RS_ENGINE_GONE)
		return;
	info->state = RS_ENGINE_STOPPED;
	info->stop++;
	info->event = (uint32_t)request->args[2];
	info->value = (int64_t)request->args[3];
	info->stepped = request->args[0] == RS_NEWS_STEPPED;
	memcpy(info->path, request->data, size);
	info->path[size] = 0;
	rs_engine_say(engine);
}

static void refuse(struct rs_engine *engine, uint32_t by_guest)
{
	const uint32_t by_us = engine->refused;

	engine->info.refused = by_guest > UINT32_MAX - by_us ? UINT32_MAX : by_guest + by_us;
	rs_engine_say(engine);
}

static void refuse_here(struct rs_engine *engine)
{
	const uint32_t by_guest = engine->info.refused - engine->refused;

	engine->refused++;
	refuse(engine, by_guest);
}

/*
 * The guest has attached one more, which follows `maker` to a new thread. One that nobody can have
 * is detached.
 */
static void take_follower(struct rs_source *source, struct rs_engine *maker,
			  const struct rs_hcall_request *request)
{
	const uint64_t handle = request->args[1];
	struct rs_engine *engine;

	if (!handle || rs_engine_by_handle(source, handle))
		return;
	engine =
		maker && !rs_engine_is_unwanted(maker) ? rs_engine_new(source, maker->owner) : NULL;
	if (!engine) {
		rs_engine_detach_unknown(source, handle);
		if (maker)
			refuse_here(maker);
		return;
	}
	rs_engine_hold(engine, handle);
	rs_engine_take_thread(engine, request->data, request->data_size);
	engine->info.follows = maker->info.number;
	rs_engine_say(engine);
}

/* The guest has let go of all up to this handle: it had not heard of us for long. */
static void take_left(struct rs_source *source, uint64_t last)
{
	for (GList *l = source->engines.head, *next; l; l = next) {
		struct rs_engine *engine = l->data;

		next = l->next;
		if (!engine->held || engine->handle > last)
			continue;
		rs_engine_set_gone(engine);
		rs_engine_purge(engine);
	}
}

void rs_source_take_news(struct rs_source *source, const struct rs_hcall_request *request)
{
	const uint64_t kind = request->args[0], handle = request->args[1];
	struct rs_engine *engine = rs_engine_by_handle(source, handle);

	if (kind == RS_NEWS_LEFT) {
		take_left(source, handle);
		return;
	}
	if (kind == RS_NEWS_ATTACHED) {
		take_follower(source, rs_engine_by_handle(source, request->args[2]), request);
		return;
	}
	if (!engine &&
	    (kind == RS_NEWS_STOPPED || kind == RS_NEWS_STEPPED || kind == RS_NEWS_REFUSED))
		rs_engine_detach_unknown(source, handle);
	if (!engine)
		return;
	switch (kind) {
	case RS_NEWS_GONE:
		rs_engine_set_gone(engine);
		rs_engine_purge(engine);
		break;
	case RS_NEWS_STOPPED:
	case RS_NEWS_STEPPED:
		take_stop(engine, request);
		break;
	case RS_NEWS_REFUSED:
		refuse(engine, (uint32_t)MIN(request->args[2], UINT32_MAX));
		break;
	}
}

/* ---- ends ---- */

void rs_source_tend_engines(struct rs_source *source)
{
	for (GList *l = source->engines.head; l; l = l->next) {
		struct rs_engine *engine = l->data;

		if (rs_engine_is_unwanted(engine))
			rs_engine_detach(engine);
	}
}

void rs_source_give_engines_up(struct rs_source *source)
{
	for (GList *l = source->engines.head, *next; l; l = next) {
		struct rs_engine *engine = l->data;

		next = l->next;
		rs_engine_be_gone(engine);
		rs_engine_detach(engine);
		rs_engine_purge(engine);
	}
}

void rs_source_end_engines(struct rs_source *source)
{
	for (GList *l = source->engines.head, *next; l; l = next) {
		struct rs_engine *engine = l->data;

		next = l->next;
		rs_engine_set_gone(engine);
		rs_engine_purge(engine);
	}
}
