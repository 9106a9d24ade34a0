/* SPDX-License-Identifier: MIT */
/* Commands of the host: one is fetched, carried out, and its result goes with the next request. */
#include "core.h"

#include <ringside/serve.h>

/* A task that was not run for long, since the guest stood still, has not listened for so long. */
#define LOOK_MS_MAX 1000u
#define CLOCK_HZ 2000000000ull /* of a clock whose rate is unknown */

void rs_serve_add(struct rs_serve *serve, struct rs_serve_handler *handler)
{
	handler->next = serve->handlers;
	serve->handlers = handler;
}

/* The session is gone, or another one speaks: what was done for it is undone, once. */
static void tell_gone(struct rs_serve *serve)
{
	if (!serve->served)
		return;
	serve->served = false;
	for (struct rs_serve_handler *h = serve->handlers; h; h = h->next)
		if (h->gone)
			h->gone(h);
}

static uint64_t ms(uint32_t n)
{
	return (rs_core.config.tsc_hz ? rs_core.config.tsc_hz : CLOCK_HZ) / 1000 * n;
}

static void listen(struct rs_serve *serve)
{
	uint64_t now = rs_core_time(), passed = now - serve->looked;

	serve->looked = now;
	serve->silence += passed < ms(LOOK_MS_MAX) ? passed : ms(LOOK_MS_MAX);
	if (serve->silence >= ms(RS_CMD_SILENCE_MS))
		tell_gone(serve);
}

static void heard(struct rs_serve *serve)
{
	serve->looked = rs_core_time();
	serve->silence = 0;
}

/* Nobody is owed a result any more. */
static void forget(struct rs_serve *serve)
{
	serve->asking = false;
	serve->args[0] = 0;
	serve->size = 0;
	serve->has_news = false;
	tell_gone(serve);
}

/* For the host an agent that begins anew is another boot, of which it knows nothing. */
static void begin_anew(struct rs_serve *serve)
{
	if (serve->asking)
		rs_hypercall_drop(&serve->ticket);
	if (serve->telling)
		rs_hypercall_drop(&serve->told);
	serve->telling = false;
	forget(serve);
	serve->epoch = rs_core.name_epoch;
}

/* Says what came of the last command, and asks for the next one. */
static int32_t ask(struct rs_serve *serve)
{
	int32_t ret = rs_hypercall_hopeless();

	if (ret) {
		forget(serve);
		return ret;
	}
	/* All slots may be taken just now. */
	if (rs_hypercall_begin(&serve->ticket, RS_HCALL_COMMAND, serve->args, serve->out,
			       serve->size)) {
		listen(serve);
		return 0;
	}
	serve->asking = true;
	heard(serve);
	return 1;
}

static void carry_out(struct rs_serve *serve, const struct rs_command *command)
{
	struct rs_command_reply reply = {.data = serve->out};
	struct rs_serve_handler *h = serve->handlers;
	int32_t result = -RS_ENOSYS;

	while (h && (command->number < h->first || command->number > h->last))
		h = h->next;
	if (h)
		result = h->run(h, command, &reply);
	serve->args[1] = (uint64_t)(int64_t)result;
	for (uint32_t i = 0; i < RS_CMD_ARGS; i++)
		serve->args[2 + i] = reply.values[i];
	serve->size = reply.size < RS_CMD_DATA ? reply.size : RS_CMD_DATA;
}

static void take(struct rs_serve *serve, const uint64_t values[6], uint32_t size)
{
	struct rs_command command = {
		.number = (uint32_t)values[1], .size = size, .data = serve->in};

	if (RS_CMD_SESSION(values[0]) != serve->session)
		tell_gone(serve);
	serve->session = RS_CMD_SESSION(values[0]);
	serve->args[0] = 0;
	serve->size = 0;
	if (!RS_CMD_COUNT(values[0]))
		return;
	serve->served = true;
	for (uint32_t i = 0; i < RS_CMD_ARGS; i++)
		command.args[i] = values[2 + i];
	serve->args[0] = values[0];
	carry_out(serve, &command);
}

/* ---- news ---- */

static bool find_news(struct rs_serve *serve)
{
	for (struct rs_serve_handler *h = serve->handlers; h && !serve->has_news; h = h->next) {
		__builtin_memset(serve->news.args, 0, sizeof(serve->news.args));
		serve->news.size = 0;
		serve->has_news = h->news && h->news(h, &serve->news);
	}
	return serve->has_news;
}

/* Nobody waits for an answer to news. So this only frees its slot. */
static bool is_telling(struct rs_serve *serve)
{
	int32_t result;

	if (serve->telling)
		serve->telling = !rs_hypercall_lost(&serve->told) &&
				 !rs_hypercall_poll(&serve->told, &result, NULL);
	return serve->telling;
}

/*
 * The host reads requests in any order. So news wait until it has taken what came of the last
 * command, and the next command waits until it has taken the news. 1: something was told. 0: there
 * is nothing to tell. -RS_EAGAIN: not yet.
 */
static int32_t tell_news(struct rs_serve *serve)
{
	if (is_telling(serve))
		return -RS_EAGAIN;
	if (!find_news(serve))
		return 0;
	if (!rs_hypercall_taken(&serve->ticket) ||
	    rs_hypercall_begin(&serve->told, RS_HCALL_NEWS, serve->news.args, serve->news.data,
			       serve->news.size))
		return -RS_EAGAIN;
	serve->has_news = false;
	serve->telling = true;
	return 1;
}

/* ---- steps ---- */

int32_t rs_serve_step(struct rs_serve *serve)
{
	uint32_t size = sizeof(serve->in);
	uint64_t values[6];
	int32_t result, told;

	if (serve->epoch != rs_core.name_epoch)
		begin_anew(serve);
	else if (serve->asking && rs_hypercall_lost(&serve->ticket))
		forget(serve);
	if (!serve->asking)
		return ask(serve);
	told = tell_news(serve);
	if (told > 0)
		return 1;
	if (told || !rs_hypercall_poll_data(&serve->ticket, &result, values, serve->in, &size)) {
		listen(serve);
		return 0;
	}
	serve->asking = false;
	heard(serve);
	if (result < 0) {
		forget(serve);
		return result;
	}
	take(serve, values, size);
	return 1;
}

int32_t rs_serve_run(struct rs_serve *serve)
{
	for (;;) {
		/* Acquire: pairs with the host's release, which follows the answer. */
		uint32_t nudge = rs_agent_active() ? rs_load_acquire(&rs_core.control->nudge) : 0;
		int32_t did = rs_serve_step(serve);

		if (did < 0)
			return did;
		if (!did)
			rs_hypercall_rest(nudge);
	}
}
