/* SPDX-License-Identifier: MIT */
/* Whether an event's filter lets it through. */
#include "judge.h"

#include "filter.h"
#include "filter_fields.h"
#include "where.h"

#define RS_FILTER_TRIES 4u

static const uint32_t no_words[1];
struct rs_native_pool rs_native = {.words = no_words};

typedef uint32_t (*judge_input)(const void *entry, const struct rs_filter_input *input);

/* What the code relies on. */
_Static_assert(sizeof(void *) != 8 ||
		       (offsetof(struct rs_filter_input, dyn) == RS_NATIVE_IN_DYN &&
			offsetof(struct rs_filter_input, comm) == RS_NATIVE_IN_COMM &&
			offsetof(struct rs_filter_input, pid) == RS_NATIVE_IN_PID &&
			offsetof(struct rs_filter_input, tgid) == RS_NATIVE_IN_TGID &&
			offsetof(struct rs_filter_input, cpu) == RS_NATIVE_IN_CPU &&
			offsetof(struct rs_dyn, data) == RS_NATIVE_DYN_DATA &&
			offsetof(struct rs_dyn, size) == RS_NATIVE_DYN_SIZE &&
			sizeof(struct rs_dyn) == RS_NATIVE_DYN_STRIDE),
	       "the input of native filters");
_Static_assert(RS_EVENT_ENABLED == 1, "what a native filter returns is what rs_judge() returns");

/* 0 or 1, or RS_JUDGE_OPEN: there is no code for it. */
static uint32_t judge_native(uint32_t id, const struct rs_filter_input *input)
{
	const struct rs_native_entry *entry =
		rs_native_find(id, input->entry_size | RS_NATIVE_INPUT << RS_NATIVE_KIND_SHIFT);

	if (entry && rs_load(&entry->dyn_count) <= input->dyn_count)
		return ((judge_input)((uintptr_t)rs_native.pool + rs_load(&entry->code)))(
			input->entry, input);
	entry = rs_native_find(id, input->entry_size);
	if (entry)
		return rs_native_judge(entry, input->entry);
	return RS_JUDGE_OPEN;
}

/*
 * The host may replace the program while it runs. The sequence number then changes, and the control
 * word is read anew.
 */
bool rs_core_wanted(const struct rs_event *event, uint32_t control,
		    const struct rs_filter_input *input)
{
	uint32_t judged = RS_JUDGE_OPEN;

	if (control >> RS_EVENT_FILTER_SHIFT)
		judged = judge_native(rs_load(&event->id), input);
	if (judged != RS_JUDGE_OPEN)
		return judged;
	for (uint32_t tries = 0; tries < RS_FILTER_TRIES; tries++) {
		uint32_t offset = (control >> RS_EVENT_FILTER_SHIFT) * RS_FILTER_GRAIN;
		const struct rs_filter_program *program;
		uint32_t sequence;
		bool yes;

		if (!offset)
			return true;
		if (offset > rs_core.filters_size ||
		    rs_core.filters_size - offset < sizeof(*program))
			return true;
		program = (const struct rs_filter_program *)(rs_core.filters + offset);
		/* Acquire: pairs with the host's release when it makes the number even. */
		sequence = rs_load_acquire(&program->sequence);
		if (rs_likely(!(sequence & 1) && rs_load(&program->event) == rs_load(&event->id))) {
			yes = rs_filter_run(program, rs_core.filters_size - offset, input);
			/* Pairs with the host's barrier between an odd number and new bytes. */
			rs_rmb();
			if (rs_likely(rs_load(&program->sequence) == sequence))
				return yes;
		}
		control = rs_event_control(event);
		if (!(control & RS_EVENT_ENABLED))
			return false;
	}
	return true;
}

/* For a record that will be cut: the filter judges what is kept, as one on the host does. */
static __attribute__((__noinline__)) bool wanted_cut(const struct rs_event *event, uint32_t control,
						     struct rs_filter_input *input, uint32_t room)
{
	uint32_t count = input->dyn_count < RS_MAX_FIELDS ? input->dyn_count : RS_MAX_FIELDS;
	uint32_t kept[RS_MAX_FIELDS];
	struct rs_dyn cut[RS_MAX_FIELDS];

	room -= input->entry_size < room ? input->entry_size : room;
	rs_ring_share(input->dyn, count, event->info, room, kept);
	for (uint32_t i = 0; i < count; i++)
		cut[i] = (struct rs_dyn){input->dyn[i].data, kept[i]};
	input->dyn = cut;
	return rs_core_wanted(event, control, input);
}

__attribute__((__noinline__)) bool rs_judge_any(const struct rs_event *event, uint32_t control,
						const uint64_t *entry, uint32_t size,
						const struct rs_dyn *dyn, uint32_t dyn_count)
{
	uint32_t room = rs_core.raw ? RS_RAW_MAX - 8 : rs_rings_room(&rs_core.rings), whole = size;
	struct rs_where where;
	struct rs_filter_input input = {
		.entry = entry,
		.entry_size = size,
		.dyn = dyn,
		.dyn_count = dyn_count,
	};

	rs_find_out(&where);
	input.pid = where.pid;
	input.tgid = where.tgid;
	input.cpu = where.cpu;
	input.comm = where.comm;
	for (uint32_t i = 0; i < dyn_count; i++)
		whole += dyn[i].size;
	if (rs_unlikely(whole > room))
		return wanted_cut(event, control, &input, room);
	return rs_core_wanted(event, control, &input);
}

static inline uint32_t judged(const struct rs_filter_program *program, uint32_t sequence,
			      uint32_t verdict)
{
	rs_rmb(); /* pairs as in rs_core_wanted() */
	if (rs_unlikely(rs_load(&program->sequence) != sequence || !verdict))
		return RS_JUDGE_OPEN;
	return verdict == RS_FILTER_REJECT ? 0 : RS_EVENT_ENABLED;
}

/* Not inlined: so rs_judge() needs only registers that it need not save. */
static __attribute__((__noinline__)) uint32_t judge_fields(const struct rs_filter_program *program,
							   uint32_t count, const uint64_t *entry,
							   uint32_t size, uint32_t sequence)
{
	return judged(program, sequence, rs_filter_run_fields(program, count, entry, size));
}

static __attribute__((__noinline__)) uint32_t
judge_program(const struct rs_event *event, uint32_t control, const uint64_t *entry, uint32_t size)
{
	uint32_t offset = (control >> RS_EVENT_FILTER_SHIFT) * RS_FILTER_GRAIN;
	const struct rs_filter_program *program;
	uint32_t sequence, verdict, count, room = rs_core.filters_size - offset;

	if (rs_unlikely(offset >= rs_core.filters_size))
		return RS_JUDGE_OPEN;
	program = (const struct rs_filter_program *)(rs_core.filters + offset);
	sequence = rs_load_acquire(&program->sequence); /* pairs as in rs_core_wanted() */
	count = rs_load(&program->insn_count);
	/* `room` is at least RS_FILTER_GRAIN, which holds a header and one instruction. */
	if (rs_unlikely(sequence & 1 || rs_load(&program->event) != rs_load(&event->id) ||
			count - 1 >= (room - (uint32_t)sizeof(*program)) /
					     (uint32_t)sizeof(struct rs_filter_insn)))
		return RS_JUDGE_OPEN;
	verdict = rs_filter_run_unsigned(program, count, entry, size);
	if (!verdict)
		return judge_fields(program, count, entry, size, sequence);
	return judged(program, sequence, verdict);
}

uint32_t rs_judge(const struct rs_event *event, uint32_t control, const uint64_t *entry,
		  uint32_t size)
{
	const uint32_t id = rs_load(&event->id);
	const struct rs_native_entry *native = rs_native_find(id, size);

	if (rs_likely(native))
		return rs_native_judge(native, entry);
	/* There is code for it that asks for more than the fields. */
	if (rs_native_find(id, size | RS_NATIVE_INPUT << RS_NATIVE_KIND_SHIFT))
		return RS_JUDGE_OPEN;
	return judge_program(event, control, entry, size);
}
