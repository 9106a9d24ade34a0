/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "reader.h"

#include <core/core.h>
#include <core/filter.h>
#include <errno.h>
#include <fcntl.h>
#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <ringside/record.h>
#include <rs_port.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SWEEP_PAGES 4096u /* of one CPU and sweep, so that others get their turn */
#define ROOM 96u          /* what a record and its marks take beside the bytes */
#define PARTS 4u          /* records of a page of ours: so little of it stays empty */
#define UNSAID 3u         /* sweeps, from the one that moved an event to the one that says so */

static uint32_t current_cpu;

uint32_t bridge_reader_cpu(void)
{
	return current_cpu;
}

/* ---- the bridge's own events ---- */

#define FIELD(structure, field_, name_, type_, kind_, elem)                                        \
	{                                                                                          \
		.name = (name_), .type = (type_), .offset = offsetof(struct structure, field_),    \
		.size = sizeof(((struct structure *)0)->field_), .kind = (kind_),                  \
		.elem_size = (elem)                                                                \
	}

static const struct rs_field_info page_fields[] = {
	FIELD(rs_bridge_page, first, "first", "u64", RS_KIND_UINT, 0),
	FIELD(rs_bridge_page, count, "count", "u32", RS_KIND_UINT, 0),
	FIELD(rs_bridge_page, total, "total", "u32", RS_KIND_UINT, 0),
	FIELD(rs_bridge_page, offset, "offset", "u32", RS_KIND_UINT, 0),
	FIELD(rs_bridge_page, data, "data", "u8", RS_KIND_DYN_ARRAY, 1),
};
static const struct rs_field_info swept_fields[] = {
	FIELD(rs_bridge_swept, until, "until", "u64", RS_KIND_UINT, 0),
};
static const struct rs_event_info own[] = {
	{.system = RS_BRIDGE_SYSTEM,
	 .name = RS_BRIDGE_PAGE,
	 .print = "first=%u count=%u total=%u offset=%u",
	 .print_args = "first, count, total, offset",
	 .fields = page_fields,
	 .field_count = 5,
	 .entry_size = sizeof(struct rs_bridge_page)},
	{.system = RS_BRIDGE_SYSTEM,
	 .name = RS_BRIDGE_SWEPT,
	 .print = "until=%u",
	 .print_args = "until",
	 .fields = swept_fields,
	 .field_count = 1,
	 .entry_size = sizeof(struct rs_bridge_swept)},
};
enum { PAGE, SWEPT, OWN };

int bridge_reader_register(struct bridge_reader *reader)
{
	uint32_t room = rs_core.header.ring_page_size - RS_RING_PAGE_HEADER;

	reader->part = (room / PARTS - ROOM) & ~7u;
	memset(reader->events, 0, OWN * sizeof(*reader->events));
	for (uint32_t i = 0; i < OWN; i++)
		reader->events[i].info = &own[i];
	/* Another region is told of what comes from now on. */
	reader->unsaid = 0;
	for (uint32_t i = 0; i < reader->cpu_count; i++)
		reader->cpus[i].first = 0;
	memset(&reader->provider, 0, sizeof(reader->provider));
	reader->provider.name = RS_BRIDGE_SYSTEM;
	reader->provider.events = reader->events;
	reader->provider.events_end = reader->events + OWN;
	return rs_agent_register(&reader->provider);
}

/* ---- into our rings ---- */

static void emit_part(struct bridge_reader *reader, const struct rs_bridge_page *head,
		      uint32_t offset, uint32_t size)
{
	union {
		struct rs_bridge_page page;
		uint64_t words[sizeof(struct rs_bridge_page) / 8];
	} entry = {.page = *head};
	struct rs_dyn data = {.data = reader->filtered + offset, .size = size};

	entry.page.offset = offset;
	entry.page.data = rs_locator(sizeof(entry.page), size);
	rs_emit_entry(&reader->events[PAGE], RS_EVENT_ENABLED, entry.words, sizeof(entry.page),
		      &data, 1);
}

static void emit_page(struct bridge_reader *reader, struct bridge_cpu *cpu, uint32_t count,
		      uint32_t total)
{
	const struct rs_bridge_page head = {.first = cpu->first, .count = count, .total = total};
	uint32_t offset = 0;

	current_cpu = (uint32_t)(cpu - reader->cpus);
	do {
		uint32_t size = total - offset < reader->part ? total - offset : reader->part;

		emit_part(reader, &head, offset, size);
		offset += size;
	} while (offset < total);
	cpu->first += count;
}

static void emit_swept(struct bridge_reader *reader, uint64_t until)
{
	current_cpu = 0;
	rs_emit_entry(&reader->events[SWEPT], RS_EVENT_ENABLED, &until, sizeof(until), NULL, 0);
}

/* ---- what was lost ---- */

/* A number of the CPU's file `stats`. */
static uint64_t stat_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Events that ftrace has lost on this CPU so far, as it counts them itself. */
static uint64_t count_lost(const struct bridge_cpu *cpu)
{
	char text[1024];
	ssize_t n = cpu->stats >= 0 ? pread(cpu->stats, text, sizeof(text) - 1, 0) : -1;

	if (n <= 0)
		return cpu->lost;
	text[n] = 0;
	/* "commit overrun" has the same end as "overrun". */
	return stat_of(text, "\noverrun: ") + stat_of(text, "\ncommit overrun: ") +
	       stat_of(text, "\ndropped events: ");
}

/*
 * A page says that events were lost before it, and mostly how many. The kernel's own count is
 * exact, but may be ahead of the page. So their sum is never more than that, and in the end the
 * same.
 */
static void note_missed(struct bridge_cpu *cpu, uint64_t missed)
{
	uint64_t all = count_lost(cpu), more = all > cpu->lost ? all - cpu->lost : 0;

	if (missed > more)
		missed = more;
	cpu->lost += missed;
	cpu->first += missed;
}

void bridge_reader_settle(struct bridge_reader *reader)
{
	for (uint32_t i = 0; i < reader->cpu_count; i++) {
		struct bridge_cpu *cpu = &reader->cpus[i];
		uint64_t before = cpu->first;

		if (cpu->pages < 0)
			continue;
		note_missed(cpu, UINT64_MAX);
		if (cpu->first != before)
			emit_page(reader, cpu, 0, 0);
	}
}

/* ---- filters ---- */

#define DYN_MAX 16u

/* Strings of a record for the filter: locators count from the record's start. */
static uint32_t find_dynamic(const struct bridge_event *event,
			     const struct rs_ftrace_record *record, struct rs_dyn dyn[DYN_MAX])
{
	const struct rs_event_info *info = event->event->info;
	uint32_t n = 0, locator, at, size;

	for (uint32_t i = 0; i < info->field_count && n < DYN_MAX; i++) {
		const struct rs_field_info *field = &info->fields[i];

		if (field->kind < RS_KIND_DYN_ARRAY)
			continue;
		dyn[n] = (struct rs_dyn){.data = "", .size = 0};
		at = field->offset + RS_FTRACE_COMMON;
		if (at + 4 <= record->data_size) {
			locator = rs_ftrace_word(record->data + at);
			at = locator & 0xffff;
			size = locator >> 16;
			if (at <= record->data_size && size <= record->data_size - at)
				dyn[n] = (struct rs_dyn){.data = record->data + at, .size = size};
		}
		n++;
	}
	return n;
}

static bool is_wanted(struct bridge_reader *reader, const struct bridge_event *event,
		      const struct rs_ftrace_record *record, uint32_t cpu)
{
	uint64_t entry[RS_MAX_ENTRY_SIZE / 8];
	struct rs_dyn dyn[DYN_MAX];
	const struct rs_event_info *info = event->event->info;
	uint32_t pid = rs_ftrace_word(record->data + 4), control;
	const struct bridge_name *name = bridge_names_see(&reader->names, pid, record->ts);
	uint32_t have = record->data_size - RS_FTRACE_COMMON;
	struct rs_filter_input input = {.entry = entry,
					.entry_size = info->entry_size,
					.dyn = dyn,
					.pid = pid,
					.tgid = name->tgid,
					.cpu = cpu,
					.comm = name->comm};

	control = rs_event_control(event->event);
	/* What was recorded before the event went off is as it would have been. */
	if (!(control & RS_EVENT_ENABLED))
		control = event->last_on;
	if (!(control >> RS_EVENT_FILTER_SHIFT))
		return true;
	/* A record may be shorter than its event: what it lacks is zero. */
	memset(entry, 0, info->entry_size);
	memcpy(entry, record->data + RS_FTRACE_COMMON,
	       have < info->entry_size ? have : info->entry_size);
	input.dyn_count = find_dynamic(event, record, dyn);
	return rs_core_wanted(event->event, control, &input);
}

/* Takes out of the page what nobody wants. Returns the events that are left. */
static uint32_t filter_page(struct bridge_reader *reader, uint32_t cpu, uint32_t size,
			    uint64_t *missed)
{
	struct rs_ftrace_record record;
	struct rs_ftrace_walk walk;
	uint32_t count = 0;

	*missed = 0;
	if (!rs_ftrace_begin(&walk, reader->page, size))
		return 0;
	*missed = walk.missed;
	while (rs_ftrace_next(&walk, &record)) {
		const struct bridge_event *event = NULL;

		if (record.data_size >= RS_FTRACE_COMMON)
			event = reader->catalog->by_id[rs_ftrace_word(record.data) & 0xffff];
		if (event && is_wanted(reader, event, &record, cpu))
			count++;
		else
			rs_ftrace_drop(reader->filtered, &record);
	}
	return count;
}

/* ---- reading ---- */

/* Bytes of the page that are worth moving: those up to the last record. */
static uint32_t used_of(const struct bridge_reader *reader, uint32_t size)
{
	uint32_t length = rs_ftrace_word(reader->page + 8) & RS_FTRACE_LENGTH;

	return length < size - RS_FTRACE_HEADER ? RS_FTRACE_HEADER + length : size;
}

/* What was lost is in `first`, so that the page says nothing of it. */
static void forget_missed(struct bridge_reader *reader)
{
	uint32_t commit = rs_ftrace_word(reader->filtered + 8) & RS_FTRACE_LENGTH;

	memcpy(reader->filtered + 8, &commit, sizeof(commit));
}

static void move_page(struct bridge_reader *reader, struct bridge_cpu *cpu, uint32_t size)
{
	uint32_t used, count;
	uint64_t missed;

	if (size < RS_FTRACE_HEADER)
		return;
	used = used_of(reader, size);
	memcpy(reader->filtered, reader->page, size);
	count = filter_page(reader, (uint32_t)(cpu - reader->cpus), size, &missed);
	if (missed)
		note_missed(cpu, missed);
	if (!count)
		return;
	forget_missed(reader);
	emit_page(reader, cpu, count, used);
}

static uint64_t read_cpu(struct bridge_reader *reader, struct bridge_cpu *cpu)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < SWEEP_PAGES && cpu->pages >= 0; i++) {
		ssize_t n = read(cpu->pages, reader->page, RS_FTRACE_PAGE_MAX);

		if (n <= 0)
			break;
		move_page(reader, cpu, (uint32_t)n);
		bytes += used_of(reader, (uint32_t)n);
	}
	return bytes;
}

uint64_t bridge_reader_drain(struct bridge_reader *reader, uint64_t now)
{
	uint64_t bytes = 0;

	bridge_names_sweep(&reader->names, now);
	for (uint32_t i = 0; i < reader->cpu_count; i++)
		bytes += read_cpu(reader, &reader->cpus[i]);
	if (bytes)
		reader->unsaid = UNSAID;
	return bytes;
}

/*
 * An event has its time before it is whole, and may be interrupted in between. So what is later
 * than the sweep before this one may still come.
 */
uint64_t bridge_reader_sweep(struct bridge_reader *reader, uint64_t now)
{
	uint64_t bytes = bridge_reader_drain(reader, now);

	if (reader->unsaid) {
		emit_swept(reader, reader->before);
		reader->unsaid--;
	}
	reader->before = now;
	return bytes;
}

static void open_cpu(struct bridge_cpu *cpu, const struct bridge_tracefs *fs, uint32_t number)
{
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", number);
	cpu->pages = openat(fs->dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", number);
	cpu->stats = openat(fs->dir, path, O_RDONLY | O_CLOEXEC);
}

bool bridge_reader_open(struct bridge_reader *reader, struct bridge_catalog *catalog,
			const struct bridge_tracefs *fs)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	bool any = false;

	memset(reader, 0, sizeof(*reader));
	reader->catalog = catalog;
	reader->names.top = fs->top;
	reader->cpu_count = cpus > 0 && cpus <= (long)RS_MAX_CPUS ? (uint32_t)cpus : 1;
	reader->cpus = calloc(reader->cpu_count, sizeof(*reader->cpus));
	reader->page = malloc(RS_FTRACE_PAGE_MAX);
	reader->filtered = malloc(RS_FTRACE_PAGE_MAX);
	reader->events = aligned_alloc(_Alignof(struct rs_event), OWN * sizeof(struct rs_event));
	if (!reader->cpus || !reader->page || !reader->filtered || !reader->events) {
		bridge_reader_close(reader);
		return false;
	}
	for (uint32_t i = 0; i < reader->cpu_count; i++) {
		open_cpu(&reader->cpus[i], fs, i);
		any |= reader->cpus[i].pages >= 0;
	}
	if (!any) {
		fprintf(stderr, "ringside-guest: trace_pipe_raw cannot be read: %s\n",
			strerror(errno));
		bridge_reader_close(reader);
	}
	return any;
}

void bridge_reader_close(struct bridge_reader *reader)
{
	for (uint32_t i = 0; reader->cpus && i < reader->cpu_count; i++) {
		if (reader->cpus[i].pages >= 0)
			close(reader->cpus[i].pages);
		if (reader->cpus[i].stats >= 0)
			close(reader->cpus[i].stats);
	}
	free(reader->cpus);
	free(reader->page);
	free(reader->filtered);
	free(reader->events);
	bridge_names_free(&reader->names);
	memset(reader, 0, sizeof(*reader));
}
