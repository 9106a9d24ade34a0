/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "catalog.h"

#include <dirent.h>
#include <fcntl.h>
#include <ringside/control.h>
#include <ringside/name.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bridge_system {
	struct bridge_system *next;
	struct rs_agent_provider provider;
	struct bridge_format *formats;
	struct bridge_event *known;
	struct rs_event *events; /* aligned; as many as `count` */
	uint32_t count, room;
	char name[RS_NAME_MAX];
};

/* ---- reading ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_folder(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static bool grow(struct bridge_system *system)
{
	uint32_t room = system->room ? 2 * system->room : 8;
	struct bridge_format *more;

	if (system->count < system->room)
		return true;
	more = realloc(system->formats, room * sizeof(*more));
	if (!more)
		return false;
	system->formats = more;
	system->room = room;
	return true;
}

/* False: there is no memory. An event without the file `enable` cannot be had. */
static bool read_event(struct bridge_system *system, int dir, const char *name)
{
	char path[RS_NAME_MAX + 32];
	char *text;

	snprintf(path, sizeof(path), "%.250s/enable", name);
	if (faccessat(dir, path, W_OK, 0))
		return true;
	snprintf(path, sizeof(path), "%.250s/format", name);
	text = bridge_read(dir, path);
	if (!text)
		return true;
	if (!grow(system)) {
		free(text);
		return false;
	}
	if (bridge_format_parse(&system->formats[system->count], system->name, name, text))
		system->count++;
	free(text);
	return true;
}

static uint16_t count_dynamic(const struct rs_event_info *info)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < info->field_count; i++)
		n += info->fields[i].kind >= RS_KIND_DYN_ARRAY;
	return n;
}

static bool make_events(struct bridge_catalog *catalog, struct bridge_system *system)
{
	size_t count = system->count ? system->count : 1;

	system->known = calloc(count, sizeof(*system->known));
	system->events = aligned_alloc(_Alignof(struct rs_event), count * sizeof(struct rs_event));
	if (!system->known || !system->events)
		return false;
	memset(system->events, 0, count * sizeof(struct rs_event));
	for (uint32_t i = 0; i < system->count; i++) {
		const struct bridge_format *format = &system->formats[i];

		system->events[i].info = &format->info;
		system->known[i].event = &system->events[i];
		system->known[i].dyn_count = count_dynamic(&format->info);
		catalog->by_id[format->id] = &system->known[i];
	}
	system->provider.name = system->name;
	system->provider.events = system->events;
	system->provider.events_end = system->events + system->count;
	catalog->events += system->count;
	return true;
}

static bool read_system(struct bridge_catalog *catalog, int dir, const char *name)
{
	struct bridge_system *system;
	struct dirent **names = NULL;
	int sub, n;
	bool ok = true;

	if (!rs_is_name(name))
		return true;
	sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sub < 0)
		return true;
	system = calloc(1, sizeof(*system));
	n = system ? scandirat(sub, ".", &names, is_folder, by_name) : -1;
	for (int i = 0; i < n; i++) {
		if (i == 0)
			snprintf(system->name, sizeof(system->name), "%s", name);
		ok = ok && read_event(system, sub, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	close(sub);
	if (!system)
		return false;
	system->next = catalog->systems;
	catalog->systems = system;
	return ok && make_events(catalog, system);
}

bool bridge_catalog_read(struct bridge_catalog *catalog, const struct bridge_tracefs *fs)
{
	int dir = openat(fs->dir, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n;
	struct dirent **names = NULL;
	bool ok = true;

	memset(catalog, 0, sizeof(*catalog));
	if (dir < 0)
		return false;
	n = scandirat(dir, ".", &names, is_folder, by_name);
	/* Backwards, since each becomes the first of the list. */
	for (int i = n - 1; i >= 0; i--) {
		ok = ok && read_system(catalog, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	close(dir);
	return ok && catalog->events;
}

void bridge_catalog_free(struct bridge_catalog *catalog)
{
	struct bridge_system *system, *next;

	for (system = catalog->systems; system; system = next) {
		next = system->next;
		for (uint32_t i = 0; i < system->count; i++)
			bridge_format_deinit(&system->formats[i]);
		free(system->formats);
		free(system->known);
		free(system->events);
		free(system);
	}
	memset(catalog, 0, sizeof(*catalog));
}

/* ---- the agent's side ---- */

void bridge_catalog_register(struct bridge_catalog *catalog)
{
	catalog->refused = 0;
	for (struct bridge_system *system = catalog->systems; system; system = system->next) {
		int err = system->count ? rs_agent_register(&system->provider) : 0;

		if (!err)
			continue;
		catalog->refused += system->count;
		fprintf(stderr, "ringside-guest: the %u events of %s are left out: %s\n",
			system->count, system->name, rs_agent_strerror(err));
	}
}

/* ---- tracefs' side ---- */

static void set_event(const struct bridge_tracefs *fs, struct bridge_event *event, bool on)
{
	const struct rs_event_info *info = event->event->info;
	char path[2 * RS_NAME_MAX + 32], line[2 * RS_NAME_MAX + 128];
	int err;

	snprintf(path, sizeof(path), "events/%s/%s/enable", info->system, info->name);
	err = bridge_write(fs->dir, path, on ? "1" : "0");
	if (!err || event->broken)
		return;
	event->broken = true;
	snprintf(line, sizeof(line), "%s:%s cannot be switched %s: %s", info->system, info->name,
		 on ? "on" : "off", strerror(-err));
	fprintf(stderr, "ringside-guest: %s\n", line);
	rs_agent_log(line);
}

static void apply_event(const struct bridge_tracefs *fs, struct bridge_event *event, bool all_off)
{
	uint32_t word = all_off ? 0 : rs_event_control(event->event);
	bool on = word & RS_EVENT_ENABLED, was = event->word & RS_EVENT_ENABLED;

	event->word = word;
	if (on)
		event->last_on = word;
	if (on != was)
		set_event(fs, event, on);
}

void bridge_catalog_apply(struct bridge_catalog *catalog, const struct bridge_tracefs *fs,
			  bool all_off)
{
	for (struct bridge_system *system = catalog->systems; system; system = system->next)
		for (uint32_t i = 0; i < system->count; i++)
			apply_event(fs, &system->known[i], all_off);
}

bool bridge_catalog_is_on(const struct bridge_catalog *catalog)
{
	for (const struct bridge_system *system = catalog->systems; system; system = system->next)
		for (uint32_t i = 0; i < system->count; i++)
			if (system->known[i].word & RS_EVENT_ENABLED)
				return true;
	return false;
}
