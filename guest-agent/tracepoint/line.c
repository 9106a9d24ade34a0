/* SPDX-License-Identifier: MIT */
/* Records as lines, and what their tasks are called: see ringside/tracepoint_snapshot.h. */
#include "core.h"
#include "escape.h"
#include "text.h"

#include <ringside/tracepoint_snapshot.h>

#define COMM_WIDTH 16u
#define TRIES 4u /* to read an entry that somebody is writing */

/* ---- names ---- */

/* Copies an entry that nobody is writing. False: somebody is, or it was never used. */
static bool copy_entry(struct rs_cmdline_entry *out, const struct rs_cmdline_entry *entry)
{
	uint64_t *to = (uint64_t *)(void *)out;
	const uint64_t *from = (const uint64_t *)(const void *)entry;

	for (uint32_t tries = 0; tries < TRIES; tries++) {
		/* Acquire: pairs with the writer's release, which makes it even. */
		uint32_t sequence = rs_load_acquire(&entry->sequence);

		if (!sequence)
			return false;
		if (sequence & 1)
			continue;
		for (uint32_t i = 0; i < sizeof(*out) / 8; i++)
			to[i] = rs_load(&from[i]);
		rs_rmb(); /* pairs with the writer's rs_wmb() before it writes */
		if (rs_load(&entry->sequence) == sequence)
			return true;
	}
	return false;
}

static bool is_before(uint32_t chain, uint64_t ts, uint32_t other_chain, uint64_t other_ts)
{
	return chain != other_chain ? chain < other_chain : ts < other_ts;
}

/* Of two names of one pid. In one tick the one with the higher number came later. */
static bool is_older(const struct rs_cmdline_entry *a, const struct rs_cmdline_entry *b)
{
	if (a->chain == b->chain && a->since == b->since)
		return a->number < b->number;
	return is_before(a->chain, a->since, b->chain, b->since);
}

/* The name that held then, and the one after it. */
struct names {
	struct rs_cmdline_entry then, next; /* sequence 0: there is none */
};

static void look_up(struct names *names, uint32_t pid, uint32_t chain, uint64_t ts)
{
	const uint8_t *bucket = rs_core.names.buckets;
	uint32_t step = rs_core.names.stride / RS_CMDLINE_WAYS;
	struct rs_cmdline_entry entry = {0};

	if (!rs_core.names.count)
		return;
	bucket += (uint64_t)rs_cmdline_hash(pid, rs_core.names.count) * rs_core.names.stride;
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		if (!copy_entry(&entry, (const void *)(bucket + (uint64_t)i * step)) ||
		    entry.pid != pid || entry.boot != rs_core.rings.boot)
			continue;
		if (is_before(chain, ts, entry.chain, entry.since)) {
			if (!names->next.sequence || is_older(&entry, &names->next))
				names->next = entry;
		} else if (!names->then.sequence || is_older(&names->then, &entry)) {
			names->then = entry;
		}
	}
}

/* Names between the two were replaced before anybody could see them. */
static bool has_gap(const struct names *names)
{
	uint32_t number = names->then.number;

	return names->next.sequence && number && names->next.number > number &&
	       names->next.number - number > 1;
}

void rs_tracepoint_comm(uint32_t pid, uint32_t chain, uint64_t ts, char comm[RS_COMM_LEN + 1])
{
	const char *name = pid ? "<...>" : "<idle>";
	struct names names = {.then = {.sequence = 0}};

	if (rs_agent_active())
		look_up(&names, pid, chain, ts);
	if (names.then.sequence && names.then.comm[0] && !has_gap(&names)) {
		__builtin_memcpy(comm, names.then.comm, RS_COMM_LEN);
		comm[RS_COMM_LEN] = 0;
		return;
	}
	rs_core_copy_text(comm, name, RS_COMM_LEN + 1);
}

/* ---- text ---- */

bool rs_tracepoint_parse(struct rs_tracepoint_record *record, const void *bytes, uint32_t size)
{
	struct rs_rec_header head;
	uint32_t said;

	if (size < sizeof(head))
		return false;
	__builtin_memcpy(&head, bytes, sizeof(head));
	said = head.size & RS_REC_SIZE_MASK;
	if (head.id < RS_FIRST_EVENT_ID || said < sizeof(head) || said > size)
		return false;
	*record = (struct rs_tracepoint_record){
		.ts = head.ts,
		.id = head.id,
		.payload = (const uint8_t *)bytes + sizeof(head),
		.size = said - (uint32_t)sizeof(head),
		.cut = head.size & RS_REC_CUT,
	};
	return true;
}

/* Its provider stays registered until `place` is left. */
static const struct rs_event_info *info_of(uint32_t id, struct rs_crowd_place *place)
{
	const struct rs_event *event;

	*place = rs_crowd_enter(&rs_core.lookers);
	event = rs_event_by_id(id);
	return event ? event->info : NULL;
}

uint32_t rs_tracepoint_text(const struct rs_tracepoint_record *record, char *out, uint32_t size)
{
	struct rs_out text = {.out = out, .size = size};
	struct rs_crowd_place place;
	const struct rs_event_info *info = info_of(record->id, &place);

	rs_put_message(&text, info, record->payload, record->size, record->cut);
	rs_crowd_leave(place);
	return rs_put_end(&text);
}

/* Right-aligned. Escapes may make it longer, and then take the place of the blanks. */
static void put_comm(struct rs_out *out, const struct rs_tracepoint_record *record)
{
	char comm[RS_COMM_LEN + 1];
	struct rs_out counted = {.size = 0};
	uint32_t length = 0;

	rs_tracepoint_comm(record->pid, record->chain, record->ts, comm);
	while (comm[length])
		length++;
	rs_put_escaped(&counted, comm, length);
	if (counted.at < COMM_WIDTH)
		rs_put_fill(out, ' ', COMM_WIDTH - counted.at);
	rs_put_escaped(out, comm, length);
}

static void put_flags(struct rs_out *out, uint32_t context)
{
	uint32_t preempt = context >> RS_CTX_PREEMPT_SHIFT & RS_CTX_PREEMPT_MAX;
	uint32_t migrate = context >> RS_CTX_MIGRATE_SHIFT & RS_CTX_MIGRATE_MAX;
	uint32_t nested = (context & RS_CTX_SOFTIRQ ? 1 : 0) | (context & RS_CTX_HARDIRQ ? 2 : 0) |
			  (context & RS_CTX_NMI ? 4 : 0);

	rs_put(out, context & RS_CTX_IRQS_OFF ? 'd' : '.');
	rs_put(out, context & RS_CTX_NEED_RESCHED ? 'n' : '.');
	rs_put(out, ".shHzzZZ"[nested]);
	rs_put(out, ".123456789abcdef"[preempt]);
	rs_put(out, ".1234567"[migrate]);
}

static void put_name(struct rs_out *out, const struct rs_event_info *info, uint32_t id)
{
	if (info) {
		rs_put_text(out, info->system);
		rs_put(out, ':');
		rs_put_text(out, info->name);
	} else {
		rs_put(out, '#');
		rs_put_number(out, id, 0, ' ');
	}
	rs_put_text(out, ": ");
}

uint32_t rs_tracepoint_line(const struct rs_tracepoint_record *record, char *out, uint32_t size)
{
	struct rs_out line = {.out = out, .size = size};
	struct rs_crowd_place place;
	const struct rs_event_info *info = info_of(record->id, &place);
	uint32_t after_pid;

	put_comm(&line, record);
	rs_put(&line, '-');
	after_pid = line.at + 7;
	rs_put_number(&line, record->pid, 0, ' ');
	rs_put_fill(&line, ' ', line.at < after_pid ? after_pid - line.at : 0);
	rs_put_text(&line, " [");
	rs_put_number(&line, record->cpu, 3, '0');
	rs_put_text(&line, "] ");
	put_flags(&line, record->context);
	rs_put(&line, ' ');
	rs_put_number(&line, record->ns / 1000000000, 5, ' ');
	rs_put(&line, '.');
	rs_put_number(&line, record->ns / 1000 % 1000000, 6, '0');
	rs_put_text(&line, ": ");
	put_name(&line, info, record->id);
	rs_put_message(&line, info, record->payload, record->size, record->cut);
	rs_put(&line, '\n');
	rs_crowd_leave(place);
	return rs_put_end(&line);
}

uint32_t rs_tracepoint_header(const struct rs_snapshot *snapshot, char *out, uint32_t size)
{
	struct rs_out text = {.out = out, .size = size};

	rs_put_text(&text, "# tracer: nop\n#\n# entries-in-buffer/entries-written: ");
	rs_put_number(&text, snapshot->entries, 0, ' ');
	rs_put(&text, '/');
	rs_put_number(&text, snapshot->written, 0, ' ');
	rs_put_text(&text, "   #P:");
	rs_put_number(&text, snapshot->rings, 0, ' ');
	rs_put_text(&text, "\n#\n"
			   "#                                _-----=> irqs-off\n"
			   "#                               / _----=> need-resched\n"
			   "#                              | / _---=> hardirq/softirq\n"
			   "#                              || / _--=> preempt-depth\n"
			   "#                              ||| / _-=> migrate-disable\n"
			   "#                              |||| /     delay\n"
			   "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
			   "#              | |         |   |||||     |         |\n");
	return rs_put_end(&text);
}
