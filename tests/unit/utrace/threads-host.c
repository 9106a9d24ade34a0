/* SPDX-License-Identifier: MIT */
/* The task that serves, of test-threads.c: commands of the host at random, and news. */
#include "threads.h"

#include <ringside/utrace_host.h>
#include <sched.h>
#include <string.h>

#define ENGINES 6u

/* What the host knows of an engine. */
struct known {
	uint64_t handle; /* 0: none */
	uint32_t events;
	bool asked;   /* STOP or INTERRUPT since it last went on */
	bool stepped; /* it went on by steps, or another one did and its signal is still to come */
	bool stopped; /* told, and not let go since */
	bool follows;
};

static struct rs_serve serve;
static struct rs_utrace_host host;
static struct rs_utrace_host_engine engines[ENGINES];
static struct known known[ENGINES];
static uint8_t out[RS_CMD_DATA];
static struct rs_command_reply reply;
static uint64_t last_handle;
static uint32_t dice = 65537;
static uint32_t attached, stops, ends, seen, losses, born;

void host_begin(const struct rs_utrace_os *os)
{
	rs_utrace_serve(&host, &serve, os, engines, ENGINES);
	CHECK(serve.handlers == &host.handler);
}

static int32_t ask(uint32_t number, uint64_t a, uint64_t b, uint64_t c, const void *data,
		   uint32_t size)
{
	const struct rs_command command = {
		.number = number, .args = {a, b, c}, .size = size, .data = data ? data : out};

	reply = (struct rs_command_reply){.data = out};
	return host.handler.run(&host.handler, &command, &reply);
}

/* ---- news ---- */

static struct known *find(uint64_t handle)
{
	for (uint32_t i = 0; i < ENGINES; i++)
		if (known[i].handle == handle)
			return &known[i];
	return NULL;
}

/* A thread stops for what the host has asked for, and for nothing else. */
static void check_stop(const struct known *k, uint64_t kind, uint64_t event)
{
	CHECK(event < RS_UTRACE_EVENTS);
	if (kind == RS_NEWS_STEPPED)
		CHECK(k->stepped && 1u << event & RS_UTRACE_EVENT_SIGNAL_ALL);
	else
		CHECK(k->asked || k->events & 1u << event);
}

/* A new thread has an engine like that of its maker. */
static void note_child(uint64_t handle, uint64_t parent)
{
	struct known *k = find(0), *maker = find(parent);

	born++;
	if (k && maker && maker->follows)
		*k = (struct known){.handle = handle, .events = maker->events, .follows = true};
	else
		CHECK(!ask(RS_CMD_ENGINE_CONTROL, handle, RS_UTRACE_DETACH, 0, NULL, 0));
}

static void read_news(void)
{
	struct rs_serve_news news;
	const uint64_t *args = news.args;

	while (host.handler.news(&host.handler, &news)) {
		struct known *k = find(args[1]);

		CHECK(args[1]);
		if (args[0] == RS_NEWS_LEFT) {
			CHECK(args[1] >= last_handle);
			continue;
		}
		if (args[0] == RS_NEWS_ATTACHED) {
			CHECK(!k && news.size == sizeof(struct rs_cmd_thread));
			note_child(args[1], args[2]);
			continue;
		}
		CHECK(k);
		if (args[0] == RS_NEWS_REFUSED) {
			CHECK(k->follows && args[2]);
			continue;
		}
		if (args[0] == RS_NEWS_GONE) {
			ends++;
			CHECK(ask(RS_CMD_ENGINE_REGISTERS, args[1], 0, 0, NULL, 0) == -RS_EBADF);
			k->handle = 0;
			continue;
		}
		CHECK(args[0] == RS_NEWS_STOPPED || args[0] == RS_NEWS_STEPPED);
		stops++;
		check_stop(k, args[0], args[2]);
		k->stopped = true;
	}
}

/* ---- commands ---- */

static void attach(void)
{
	const uint32_t events = roll(&dice, 1u << 14) & EVENTS_USED;
	const bool follows = roll(&dice, 2);
	struct known *k = find(0);
	int32_t err = ask(RS_CMD_ENGINE_ATTACH, 1 + roll(&dice, SLOTS), events, follows, NULL, 0);

	/* One that the host has left may still be with its thread. */
	CHECK(err == 0 || err == -RS_ESRCH || err == -RS_EALREADY || err == -RS_ENOSPC);
	if (err)
		return;
	CHECK(k && reply.size == sizeof(struct rs_cmd_thread));
	CHECK(reply.values[0] >> 32 > last_handle >> 32); /* none is given twice */
	last_handle = reply.values[0];
	*k = (struct known){.handle = last_handle, .events = events, .follows = follows};
	attached++;
}

static void tell(struct known *k, uint32_t action)
{
	int32_t err = ask(RS_CMD_ENGINE_CONTROL, k->handle, action, 0, NULL, 0);

	CHECK(err == 0 || err == -RS_ESRCH || (err == -RS_EAGAIN && !k->stopped));
	if (err == -RS_EAGAIN)
		return;
	switch (action) {
	case RS_UTRACE_STOP:
	case RS_UTRACE_INTERRUPT:
		k->asked = true;
		return;
	case RS_UTRACE_DETACH:
		CHECK(!err);
		CHECK(ask(RS_CMD_ENGINE_CONTROL, k->handle, action, 0, NULL, 0) == -RS_EBADF);
		k->handle = 0;
		return;
	default:
		k->asked = k->stopped = false;
		k->stepped |= action != RS_UTRACE_RESUME;
	}
}

static bool is_error_of_thread(int32_t err)
{
	return err == -RS_EAGAIN || err == -RS_ESRCH;
}

static void look(const struct known *k)
{
	uint64_t values[RS_REGISTERS_MAX] = {0};
	int32_t got = ask(RS_CMD_ENGINE_REGISTERS, k->handle, 0, 0, NULL, 0);

	if (got < 0) {
		CHECK(is_error_of_thread(got));
		return;
	}
	seen++;
	CHECK(got == RS_X86_64_REGISTERS && reply.size >= RS_X86_64_REGISTERS * 8);
	CHECK(reply.values[0] < RS_UTRACE_EVENTS);
	memcpy(values, out, RS_X86_64_REGISTERS * 8);
	values[RS_X86_64_RAX]++;
	got = ask(RS_CMD_ENGINE_SET_REGISTERS, k->handle, 1u << RS_X86_64_RAX, 0, values,
		  sizeof(values));
	CHECK(got == 0 || is_error_of_thread(got));
	got = ask(RS_CMD_ENGINE_SET_SYSCALL, k->handle, 9, 0, NULL, 0);
	CHECK(got == 0 || got == -RS_ENOENT || is_error_of_thread(got));
	got = ask(RS_CMD_ENGINE_MEMORY, k->handle, 0, 8, NULL, 0);
	CHECK(got == 8 || is_error_of_thread(got));
}

/* The session is gone. */
static void lose(void)
{
	host.handler.gone(&host.handler);
	memset(known, 0, sizeof(known));
	read_news();
	losses++;
}

static void do_one(void)
{
	static const uint8_t actions[] = {RS_UTRACE_STOP,       RS_UTRACE_INTERRUPT,
					  RS_UTRACE_SINGLESTEP, RS_UTRACE_RESUME,
					  RS_UTRACE_RESUME,     RS_UTRACE_DETACH};
	struct known *k = &known[roll(&dice, ENGINES)];

	if (!roll(&dice, 200))
		lose();
	else if (!k->handle)
		attach();
	else if (!roll(&dice, 3))
		look(k);
	else if (k->stopped || !roll(&dice, 4))
		tell(k, actions[roll(&dice, sizeof(actions))]);
}

void host_serve(const uint32_t *living)
{
	while (rs_load_acquire(living)) {
		read_news();
		do_one();
		sched_yield();
	}
	lose();
}

void host_check(void)
{
	printf("# host: %u engines, %u of children, %u stops, %u ends, %u looks, %u losses\n",
	       attached, born, stops, ends, seen, losses);
	for (uint32_t i = 0; i < ENGINES; i++)
		CHECK(!engines[i].handle && !engines[i].held);
	CHECK(attached && born && stops && ends && seen && losses);
}
