/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "names.h"

#include "tracefs.h"

#include <core/core.h>
#include <fcntl.h>
#include <ringside/atomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBES 8u

void bridge_names_sweep(struct bridge_names *names, uint64_t now)
{
	names->sweep++;
	names->from = names->now;
	names->now = now;
}

void bridge_names_free(struct bridge_names *names)
{
	free(names->ended);
	names->ended = NULL;
}

/* The entry of the task, or the one that is to be its: a free one, or the oldest of a few. */
static struct bridge_name *entry_of(struct bridge_names *names, uint32_t pid)
{
	uint32_t at = pid * 0x9e3779b1u >> 16;
	struct bridge_name *oldest = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct bridge_name *entry = &names->table[(at + i) % BRIDGE_NAMES];

		if (entry->asked && entry->pid == pid)
			return entry;
		if (!oldest || entry->asked < oldest->asked)
			oldest = entry;
	}
	*oldest = (struct bridge_name){.pid = pid};
	return oldest;
}

static void take_comm(struct bridge_name *entry, const char *comm, size_t size)
{
	memset(entry->comm, 0, sizeof(entry->comm));
	memcpy(entry->comm, comm, size < sizeof(entry->comm) ? size : sizeof(entry->comm) - 1);
}

/* "Name:\tsh\n… Tgid:\t12\n…" */
static bool ask_proc(struct bridge_name *entry)
{
	char path[32], *text, *at;

	snprintf(path, sizeof(path), "/proc/%u/status", entry->pid);
	text = bridge_read(AT_FDCWD, path);
	if (!text)
		return false;
	at = strstr(text, "\nTgid:\t");
	if (at)
		entry->tgid = (uint32_t)strtoul(at + 7, NULL, 10);
	if (!strncmp(text, "Name:\t", 6))
		take_comm(entry, text + 6, strcspn(text + 6, "\n"));
	free(text);
	return at != NULL;
}

/* "12 sh\n13 cat\n…", of all tasks that ran lately. */
static bool ask_ended(struct bridge_names *names, struct bridge_name *entry)
{
	if (names->ended_at != names->sweep) {
		free(names->ended);
		names->ended = bridge_read(names->top, "saved_cmdlines");
		names->ended_at = names->sweep;
	}
	for (const char *at = names->ended; at && *at;) {
		char *end;
		unsigned long pid = strtoul(at, &end, 10);
		size_t length = strcspn(end, "\n");

		if (pid == entry->pid && *end == ' ') {
			take_comm(entry, end + 1, length - 1);
			return true;
		}
		at = end + length + (end[length] == '\n');
	}
	return false;
}

static void ask(struct bridge_names *names, struct bridge_name *entry, uint64_t ts)
{
	struct bridge_name was = *entry;
	uint32_t chain = rs_load(&rs_core.control->clock_chain);

	entry->asked = names->sweep;
	/* Rings are read one after the other: another one may have an earlier record of it. */
	if (!was.asked && names->from < ts)
		ts = names->from;
	if (!ask_proc(entry) && !was.asked)
		ask_ended(names, entry);
	if (entry->comm[0] && (!was.asked || memcmp(was.comm, entry->comm, RS_COMM_LEN)))
		rs_cmdline_note(&rs_core.names, entry->pid, entry->tgid, entry->comm, ts, chain);
}

const struct bridge_name *bridge_names_see(struct bridge_names *names, uint32_t pid, uint64_t ts)
{
	static const struct bridge_name idle = {.pid = 0};
	struct bridge_name *entry;

	if (!pid)
		return &idle;
	entry = entry_of(names, pid);
	if (!entry->asked || names->sweep - entry->asked >= BRIDGE_NAMES_AGE)
		ask(names, entry, ts);
	return entry;
}
