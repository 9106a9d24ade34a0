/* SPDX-License-Identifier: MIT */
/*
 * For domain_watch.py: prints what happens to a domain, a line each, and carries out the commands
 * of QEMU that it reads, a line each.
 *
 *     domain-watch URI NAME
 */
#include "libvirt/host.h"
#include "libvirt/monitor.h"

#include <glib-unix.h>
#include <stdio.h>
#include <string.h>

struct watcher {
	GMainLoop *loop;
	struct rs_monitor *monitor;
	GThread *thread;
};

static const char *const changes[] = {
	[RS_DOMAIN_STARTED] = "started",
	[RS_DOMAIN_STOPPED] = "stopped",
	[RS_DOMAIN_CRASHED] = "crashed",
	[RS_DOMAIN_REBOOTED] = "rebooted",
	[RS_DOMAIN_SUSPENDED] = "suspended",
	[RS_DOMAIN_RESUMED] = "resumed",
	[RS_DOMAIN_MIGRATED] = "migrated",
	[RS_DOMAIN_DEVICE_ADDED] = "added",
	[RS_DOMAIN_DEVICE_REMOVED] = "removed",
	[RS_DOMAIN_LOST] = "lost",
	[RS_DOMAIN_FOUND] = "found",
};

static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
	const struct watcher *watcher = data;

	g_assert_true(g_thread_self() == watcher->thread);
	printf("%s%s%s\n", changes[change], *detail ? ": " : "", detail);
}

static void on_event(void *data, const char *name, gint64 at, JsonObject *payload)
{
	printf("%s%s\n", name ? name : "closed", payload ? " +" : "");
}

static void call(struct watcher *watcher, const char *command)
{
	JsonNode *reply = NULL;
	struct rs_error err = {0};
	int ret = rs_monitor_call(watcher->monitor, command, NULL, 30000, &reply, &err);
	g_autofree char *text = ret ? NULL : json_to_string(reply, FALSE);

	if (ret)
		printf("answer %d: %s\n", ret, err.message);
	else
		printf("answer: %s\n", text);
	g_clear_pointer(&reply, json_node_unref);
}

static gboolean on_input(int fd, GIOCondition condition, void *data)
{
	struct watcher *watcher = data;
	char line[256];

	if (!fgets(line, sizeof(line), stdin)) {
		g_main_loop_quit(watcher->loop);
		return G_SOURCE_REMOVE;
	}
	call(watcher, g_strchomp(line));
	return G_SOURCE_CONTINUE;
}

static void nothing(void *data)
{
}

int main(int argc, char **argv)
{
	GArray *pids;
	struct watcher watcher = {.thread = g_thread_self()};
	struct rs_monitor_listener listener = {.data = &watcher, .event = on_event};
	struct rs_domain *domain = NULL;
	struct rs_error err = {0};

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	if (rs_domain_open(argv[1], argv[2], NULL, 30000, &domain, &err)) {
		printf("%s\n", err.message);
		return 1;
	}
	watcher.monitor = rs_domain_monitor_new(domain, &listener);
	if (rs_domain_monitor_keep(watcher.monitor, on_changed, &watcher, nothing, &err)) {
		printf("%s\n", err.message);
		return 1;
	}
	pids = rs_host_find_qemus(rs_domain_uuid(domain));
	printf("pid %d\n", pids->len == 1 ? (int)g_array_index(pids, pid_t, 0) : 0);
	g_array_unref(pids);
	watcher.loop = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(0, G_IO_IN | G_IO_HUP, on_input, &watcher);
	g_main_loop_run(watcher.loop);
	g_main_loop_unref(watcher.loop);
	rs_monitor_destroy(watcher.monitor);
	return 0;
}
