/* SPDX-License-Identifier: MIT */
/* Engines: which there are, and whose they are. */
#include "session/engines_private.h"

#include <errno.h>
#include <string.h>

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

void rs_engine_leave(struct rs_engine *engine)
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

void rs_engine_free(struct rs_engine *engine)
{
	let_go(engine);
	rs_engine_leave(engine);
	g_queue_unlink(&engine->info.source->engines, &engine->in_source);
	g_hash_table_remove(engines_of(engine)->numbers, GUINT_TO_POINTER(engine->info.number));
}

void rs_engine_purge(struct rs_engine *engine)
{
	if (engine->info.state == RS_ENGINE_GONE && !engine->calls && !engine->held &&
	    (engine->told || !engine->owner))
		rs_engine_free(engine);
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

/* ---- an owner's ---- */

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
		rs_engine_leave(engine);
		rs_engine_detach(engine);
		rs_engine_purge(engine);
	}
}

void rs_source_drop_engines(struct rs_source *source)
{
	rs_source_drop_engine_calls(source);
	for (GList *l = source->engines.head, *next; l; l = next) {
		next = l->next;
		rs_engine_free(l->data);
	}
	g_clear_pointer(&source->handles, g_hash_table_unref);
}
