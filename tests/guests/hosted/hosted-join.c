/* SPDX-License-Identifier: MIT */
/*
 * hosted-join NAME STEP…: one of several processes that are traced together. Says on standard error
 * "NAME PID traced" or "NAME PID not traced: WHY", then does each step:
 *     emit N      N events, numbered on
 *     pace US     from now on so long between two events
 *     sleep MS
 *     await FILE  until it is there
 *     gate        until somebody switches gate:open on; in a Linux guest
 *     fork N      a child without execve emits N more, after its parent has gone
 *     exec ARG…   executes itself with these arguments
 *     load FILE   opens a plugin, which has an agent of its own, and lets it emit 100
 *     shut FILE   the same, and closes it
 *     both FILE FILE  opens two, and lets them emit 100 each in two threads at once
 *     hang        until it is killed
 *     leave       the first thread ends, and another one does the other steps
 * LAYOUT says in which order the event's fields lie: who decodes by the wrong description sees it.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <rs_hosted.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if LAYOUT
RS_TRACE_EVENT(join, step, TP_PROTO(const char *who, uint32_t n, uint32_t child),
	       TP_ARGS(who, n, child),
	       TP_STRUCT__entry(__field(u64, check), __string(who), __field(u32, child),
				__field(u32, n)),
	       TP_fast_assign(__entry->n = n; __entry->child = child; __assign_str(who, who);
			      __entry->check = n * 2654435761ull;),
	       TP_printk("who=%s n=%u child=%u check=%llu", who, n, child, check))
#else
RS_TRACE_EVENT(join, step, TP_PROTO(const char *who, uint32_t n, uint32_t child),
	       TP_ARGS(who, n, child),
	       TP_STRUCT__entry(__field(u32, n), __field(u32, child), __field(u64, check),
				__string(who)),
	       TP_fast_assign(__entry->n = n; __entry->child = child; __assign_str(who, who);
			      __entry->check = n * 2654435761ull;),
	       TP_printk("who=%s n=%u child=%u check=%llu", who, n, child, check))
#endif

#ifdef JOIN_STATIC
RS_TRACE_EVENT(gate, open, TP_PROTO(uint32_t n), TP_ARGS(n), TP_STRUCT__entry(__field(u32, n)),
	       TP_fast_assign(__entry->n = n;), TP_printk("n=%u", n))
#endif

static const char *name;
static uint32_t emitted, pace_us;

static void sleep_us(uint64_t us)
{
	struct timespec wait = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};

	while (nanosleep(&wait, &wait) && errno == EINTR)
		;
}

static void emit(uint32_t count, uint32_t child)
{
	while (count--) {
		trace_join_step(name, emitted++, child);
		if (pace_us)
			sleep_us(pace_us);
	}
}

static void await(const char *path)
{
	while (access(path, F_OK))
		sleep_us(1000);
}

#ifdef JOIN_STATIC
static void await_gate(void)
{
	while (!(rs_event_control(&rs_event_gate_open) & RS_EVENT_ENABLED))
		sleep_us(1000);
	trace_gate_open(emitted);
}
#endif

static void do_fork(uint32_t count)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		abort();
	if (pid)
		_exit(0);
	while (getppid() == parent)
		sleep_us(1000);
	sleep_us(50000); /* the host has had time to miss the parent */
	emit(count, 1);
}

#ifndef JOIN_STATIC
struct plugin {
	void *library;
	int (*work)(uint32_t count);
};

static struct plugin open_plugin(const char *path)
{
	struct plugin plugin = {.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};

	if (plugin.library)
		plugin.work = (int (*)(uint32_t))dlsym(plugin.library, "join_plugin_work");
	if (!plugin.work) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	return plugin;
}

static void *work(void *plugin)
{
	int ret = ((const struct plugin *)plugin)->work(100);

	fprintf(stderr, "plugin %d: %s\n", getpid(), rs_agent_strerror(ret));
	return NULL;
}

static void load(const char *path, bool shut)
{
	struct plugin plugin = open_plugin(path);

	work(&plugin);
	if (shut)
		dlclose(plugin.library);
}

static void load_both(char **paths)
{
	struct plugin plugins[2] = {open_plugin(paths[0]), open_plugin(paths[1])};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, work, &plugins[i]))
			abort();
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
#endif

static char **step(char **at);

static void *go_on(void *at)
{
	for (char **left = at; *left;)
		left = step(left);
	exit(0);
}

static void leave(char **at)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, go_on, at))
		abort();
	pthread_exit(NULL);
}

static char **step(char **at)
{
	const char *what = *at++;

	if (strcmp(what, "hang") == 0) {
		for (;;)
			pause();
	} else if (strcmp(what, "leave") == 0) {
		leave(at);
#ifdef JOIN_STATIC
	} else if (strcmp(what, "gate") == 0) {
		await_gate();
		return at;
#endif
	} else if (!*at) {
		fprintf(stderr, "hosted-join: %s what?\n", what);
		exit(2);
	} else if (strcmp(what, "emit") == 0) {
		emit((uint32_t)atoi(*at), 0);
	} else if (strcmp(what, "pace") == 0) {
		pace_us = (uint32_t)atoi(*at);
	} else if (strcmp(what, "sleep") == 0) {
		sleep_us((uint64_t)atoi(*at) * 1000);
	} else if (strcmp(what, "await") == 0) {
		await(*at);
	} else if (strcmp(what, "fork") == 0) {
		do_fork((uint32_t)atoi(*at));
#ifndef JOIN_STATIC
	} else if (strcmp(what, "load") == 0 || strcmp(what, "shut") == 0) {
		load(*at, *what == 's');
	} else if (strcmp(what, "both") == 0 && at[1]) {
		load_both(at++);
#endif
	} else if (strcmp(what, "exec") == 0) {
		execv("/proc/self/exe", at - 1);
		exit(4);
	} else {
		fprintf(stderr, "hosted-join: %s?\n", what);
		exit(2);
	}
	return at + 1;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc < 2)
		return 2;
	name = argv[1];
	ret = rs_hosted_init(name);
	if (ret)
		fprintf(stderr, "%s %d not traced: %s\n", name, getpid(), rs_agent_strerror(ret));
	else
		fprintf(stderr, "%s %d %s\n", name, getpid(),
			rs_hosted_active() ? "traced" : "not traced: no region is named");
	for (char **at = argv + 2; *at;)
		at = step(at);
	return 0;
}
