/* SPDX-License-Identifier: MIT */
/* Engines of the host, in the task that serves: it does what the host asks, and has its news. */
#include "host-private.h"

#define STOPS_AT (RS_UTRACE_EVENT_ALL & ~RS_UTRACE_EVENT_NO_STOPS)

/* ---- commands ---- */

/* Writes a struct rs_cmd_thread; returns its size. */
static uint32_t describe(struct rs_utrace_thread *thread, uint8_t *to)
{
	struct rs_utrace_identity who;
	struct rs_cmd_thread out;

	rs_utrace_identify(thread, &who);
	__builtin_memset(&out, 0, sizeof(out));
	out.id = who.id;
	out.process = who.process;
	out.parent = who.parent;
	out.state = who.dead ? RS_THREAD_DEAD : RS_THREAD_ALIVE;
	__builtin_memcpy(out.comm, who.comm, sizeof(out.comm));
	__builtin_memcpy(to, &out, sizeof(out));
	return sizeof(out);
}

static int32_t list(struct rs_utrace_host *host, uint32_t after, struct rs_command_reply *reply)
{
	struct rs_utrace_thread *thread;
	uint32_t n = 0;
	int err = 0;

	for (; n < RS_CMD_THREADS_MAX; n++) {
		err = rs_utrace_next(host->os, after, &thread);
		if (err)
			break;
		after = thread->id;
		reply->size += describe(thread, reply->data + reply->size);
		rs_utrace_thread_put(thread);
	}
	reply->values[0] = sizeof(struct rs_cmd_thread);
	return err && err != -RS_ESRCH ? err : (int32_t)n;
}

/* The host has heard the last of this engine. Its thread may still be about to. */
static void let_go(struct rs_utrace_host_engine *e)
{
	e->held = false;
	rs_utrace_engine_put(&e->engine);
}

/* Events and flags that the host may ask for. */
static bool are_known(uint64_t events, uint64_t flags)
{
	return !(events & ~(uint64_t)STOPS_AT) && !(flags & ~(uint64_t)RS_ENGINE_FOLLOW);
}

static int32_t attach(struct rs_utrace_host *host, const struct rs_command *command,
		      struct rs_command_reply *reply)
{
	struct rs_utrace_host_engine *e;
	struct rs_utrace_thread *thread;
	int err;

	if (command->args[0] > UINT32_MAX || !are_known(command->args[1], command->args[2]))
		return -RS_EINVAL;
	err = rs_utrace_find(host->os, (uint32_t)command->args[0], &thread);
	if (err)
		return err;
	e = rs_utrace_take_engine(host);
	if (e)
		e->session = rs_load(&host->sessions);
	err = e ? rs_utrace_attach_taken(e, thread, (uint32_t)command->args[1],
					 (uint32_t)command->args[2])
		: -RS_ENOSPC;
	if (!err) {
		e->held = true;
		reply->values[0] = e->handle;
		reply->size = describe(thread, reply->data);
	}
	rs_utrace_thread_put(thread);
	return err;
}

static int32_t set_events(struct rs_utrace_host_engine *e, uint64_t events, uint64_t flags)
{
	int32_t err;

	if (!are_known(events, flags))
		return -RS_EINVAL;
	rs_store(&e->events, (uint32_t)events);
	rs_store(&e->flags, (uint32_t)flags);
	err = rs_utrace_set_events(&e->engine,
				   rs_utrace_host_events((uint32_t)events, (uint32_t)flags));
	/* The callback of a cleared one still runs: what it tells comes before the result. */
	if (err == -RS_EINPROGRESS)
		err = rs_utrace_barrier(&e->engine) == -RS_ESRCH ? -RS_ESRCH : 0;
	return err == -RS_EALREADY ? -RS_ESRCH : err;
}

static struct rs_utrace_host_engine *by_handle(struct rs_utrace_host *host, uint64_t handle)
{
	const uint32_t index = (uint32_t)handle - 1;

	if (index >= host->count || !handle || !host->engines[index].held ||
	    host->engines[index].handle != handle)
		return NULL;
	return &host->engines[index];
}

static int32_t run(struct rs_serve_handler *handler, const struct rs_command *command,
		   struct rs_command_reply *reply)
{
	struct rs_utrace_host *host =
		(void *)((char *)handler - offsetof(struct rs_utrace_host, handler));
	struct rs_utrace_host_engine *e;
	int32_t err;

	if (command->number == RS_CMD_THREADS)
		return list(host, (uint32_t)command->args[0], reply);
	if (command->number == RS_CMD_ENGINE_ATTACH)
		return attach(host, command, reply);
	e = by_handle(host, command->args[0]);
	if (!e)
		return -RS_EBADF;
	switch (command->number) {
	case RS_CMD_ENGINE_CONTROL:
		err = rs_utrace_host_control(e, command->args[1]);
		if (!err && command->args[1] == RS_UTRACE_DETACH)
			let_go(e);
		return err;
	case RS_CMD_ENGINE_SET_EVENTS:
		return set_events(e, command->args[1], command->args[2]);
	default:
		return rs_utrace_host_look(e, command, reply);
	}
}

/* ---- the host hears, or is gone ---- */

/*
 * What the thread has left word of; 0: nothing, or nothing yet: a thread whose callback still runs
 * has not said that it stops.
 */
static uint32_t word_of(struct rs_utrace_host_engine *e)
{
	const uint32_t kind = rs_load_acquire(&e->news);
	const int at = kind && kind != RS_NEWS_GONE ? rs_utrace_stopped_at(&e->engine) : 0;

	return at < 0 && at != -RS_EAGAIN ? 0 : kind;
}

/* Whether a callback has attached it, for a session that is still there. Now it is ours. */
static bool take_born(struct rs_utrace_host_engine *e)
{
	if (!rs_load(&e->born) || !__atomic_exchange_n(&e->born, 0, __ATOMIC_SEQ_CST))
		return false;
	e->held = true;
	return true;
}

/* A callback has attached it, and the host, which is still there, was not told. */
static bool is_born(const struct rs_utrace_host_engine *e)
{
	/* Acquire: pairs with the store of who has attached it. */
	return rs_load_acquire(&e->born) && e->session == e->host->sessions;
}

/* The host must know the engine that it follows. */
static bool may_be_told(const struct rs_utrace_host_engine *e)
{
	const struct rs_utrace_host_engine *maker = &e->host->engines[(uint32_t)e->parent - 1];

	return rs_load(&maker->handle) != e->parent || !rs_load(&maker->born);
}

static bool tell_born(struct rs_utrace_host_engine *e, struct rs_serve_news *news)
{
	if (!is_born(e) || !may_be_told(e) || !take_born(e))
		return false;
	news->args[0] = RS_NEWS_ATTACHED;
	news->args[1] = e->handle;
	news->args[2] = e->parent;
	news->size = describe(e->engine.thread, news->data);
	return true;
}

/* One that follows it to a new thread. */
static bool tell_child(const struct rs_utrace_host_engine *e, struct rs_serve_news *news)
{
	const struct rs_utrace_host *host = e->host;

	for (uint32_t i = 0; i < host->count; i++) {
		struct rs_utrace_host_engine *child = &host->engines[i];

		if (is_born(child) && child->parent == e->handle && tell_born(child, news))
			return true;
	}
	return false;
}

/*
 * Children that its thread made before it left word come first: with that word the host may let go
 * of it, and it could not know whose they are.
 */
static bool tell_word(struct rs_utrace_host_engine *e, struct rs_serve_news *news)
{
	uint32_t kind = e->held ? word_of(e) : 0;

	if (!kind)
		return false;
	if (tell_child(e, news))
		return true;
	/* Another word is told at the next step, after what came before that. */
	if (!__atomic_compare_exchange_n(&e->news, &kind, 0, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	news->args[0] = kind;
	news->args[1] = e->handle;
	news->args[2] = rs_load(&e->event);
	news->args[3] = (uint64_t)rs_load(&e->value);
	if (kind == RS_NEWS_STOPPED && news->args[2] == RS_UTRACE_EVENT_EXEC) {
		news->size = e->path_size;
		__builtin_memcpy(news->data, e->path, e->path_size);
	}
	if (kind == RS_NEWS_GONE)
		let_go(e);
	return true;
}

static bool tell_refused(struct rs_utrace_host_engine *e, struct rs_serve_news *news)
{
	const uint32_t refused = e->held ? rs_load(&e->refused) : 0;

	if (!e->held || refused == e->told)
		return false;
	e->told = refused;
	news->args[0] = RS_NEWS_REFUSED;
	news->args[1] = e->handle;
	news->args[2] = refused;
	return true;
}

/* A session that stood still must not take engines for attached that were given up meanwhile. */
static bool tell_left(struct rs_utrace_host *host, struct rs_serve_news *news)
{
	if (!host->left)
		return false;
	news->args[0] = RS_NEWS_LEFT;
	news->args[1] = host->left;
	host->left = 0;
	return true;
}

static bool news(struct rs_serve_handler *handler, struct rs_serve_news *news)
{
	struct rs_utrace_host *host =
		(void *)((char *)handler - offsetof(struct rs_utrace_host, handler));

	if (tell_left(host, news))
		return true;

	for (uint32_t i = 0; i < host->count; i++) {
		struct rs_utrace_host_engine *e =
			&host->engines[(host->next_news + i) % host->count];

		if (!tell_born(e, news) && !tell_refused(e, news) && !tell_word(e, news))
			continue;
		if (news->args[0] != RS_NEWS_ATTACHED)
			i++;
		host->next_news += i;
		return true;
	}
	return false;
}

static void gone(struct rs_serve_handler *handler)
{
	struct rs_utrace_host *host =
		(void *)((char *)handler - offsetof(struct rs_utrace_host, handler));

	/* Pairs with follow(): one of both sees what the other has stored. */
	__atomic_add_fetch(&host->sessions, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < host->count; i++) {
		struct rs_utrace_host_engine *e = &host->engines[i];

		if (!e->held && !take_born(e))
			continue;
		rs_utrace_host_detach(e);
		let_go(e);
		host->left = (uint64_t)rs_load(&host->lives) << 32 | UINT32_MAX;
	}
}

void rs_utrace_serve(struct rs_utrace_host *host, struct rs_serve *serve,
		     const struct rs_utrace_os *os, struct rs_utrace_host_engine *engines,
		     uint32_t count)
{
	host->serve = serve;
	host->os = os;
	host->engines = engines;
	host->count = count;
	host->handler.first = RS_CMD_THREADS;
	host->handler.last = RS_CMD_ENGINE_SET_EXIT;
	host->handler.run = run;
	host->handler.gone = gone;
	host->handler.news = news;
	rs_serve_add(serve, &host->handler);
}
