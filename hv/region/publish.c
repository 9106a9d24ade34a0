/* SPDX-License-Identifier: MIT */
#include "region/publish.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <linux/futex.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <rs-trace-clock.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Slot sizes: SLOT_MIN << class. */
#define SLOT_MIN 256u
#define SLOT_CLASSES 7u
_Static_assert(SLOT_MIN << (SLOT_CLASSES - 1) == RS_FILTER_MAX_SIZE, "the largest slot");

struct slot {
	uint32_t offset;   /* in the section */
	uint32_t sequence; /* as last stored: even, except while it is being written */
	gint64 freed_at;   /* monotonic, us */
	unsigned int class;
	struct part *part; /* where it lies */
};

/* The space is divided in two. A slot never leaves its part. */
struct part {
	uint32_t fresh, end;       /* offsets; the space between them was never used */
	GQueue free[SLOT_CLASSES]; /* of struct slot, oldest first; G_QUEUE_INIT is all zeros */
};

struct rs_publisher {
	struct rs_publisher_map map;
	uint32_t *words;          /* private copy of event_ctl */
	uint32_t *natives;        /* likewise of native words; NULL: there are none */
	struct slot **filter_of;  /* per event id; NULL: none */
	struct part common, kept; /* for everybody, and what is kept back from guests */
	GPtrArray *slots;         /* owns them all */
	uint32_t generation;
	uint32_t nudges;
	uint32_t flags;
	uint64_t hz;
	RsTraceClock *clock; /* the epochs that were published */
	uint32_t epochs;     /* begun so far */
	uint32_t chain;      /* the newest */
	uint64_t base;       /* event clock at the base of the newest epoch */
};

static void divide(struct rs_publisher *publisher)
{
	uint32_t all = (uint32_t)publisher->map.filters_size & ~(RS_FILTER_GRAIN - 1);
	uint32_t middle = (all - all / 4) & ~(RS_FILTER_GRAIN - 1);

	/* Offset 0 means "no filter". */
	publisher->common.fresh = MIN(RS_FILTER_GRAIN, middle);
	publisher->common.end = publisher->kept.fresh = middle;
	publisher->kept.end = all;
}

struct rs_publisher *rs_publisher_create(const struct rs_publisher_map *map)
{
	struct rs_publisher *publisher = g_new0(struct rs_publisher, 1);

	publisher->map = *map;
	publisher->clock = rs_trace_clock_new(0);
	/*
	 * Pages of an earlier session on this region name its epochs, so their numbers are not used
	 * again.
	 */
	publisher->epochs = rs_load(&map->control->epoch_count);
	publisher->chain = rs_load(&map->control->clock_chain);
	publisher->words = g_new0(uint32_t, map->event_capacity);
	publisher->natives = map->native ? g_new0(uint32_t, map->event_capacity) : NULL;
	publisher->filter_of = g_new0(struct slot *, map->event_capacity);
	publisher->slots = g_ptr_array_new_with_free_func(g_free);
	divide(publisher);
	publisher->generation = rs_load(&map->control->generation);
	publisher->nudges = rs_load(&map->control->nudge);
	publisher->flags = map->flags;
	rs_store(&map->control->flags, map->flags);
	for (uint32_t id = 0; id < map->event_capacity; id++) {
		if (map->native)
			rs_store(&map->native[id], 0);
		rs_store_release(&map->event_ctl[id], 0);
	}
	return publisher;
}

void rs_publisher_destroy(struct rs_publisher *publisher)
{
	if (!publisher)
		return;
	for (unsigned int i = 0; i < SLOT_CLASSES; i++) {
		g_queue_clear(&publisher->common.free[i]);
		g_queue_clear(&publisher->kept.free[i]);
	}
	g_ptr_array_unref(publisher->slots);
	g_free(publisher->filter_of);
	g_free(publisher->natives);
	g_free(publisher->words);
	rs_trace_clock_free(publisher->clock);
	g_free(publisher);
}

static struct slot *take_fresh(struct rs_publisher *publisher, struct part *part,
			       unsigned int class)
{
	uint32_t size = SLOT_MIN << class;
	struct slot *slot;

	if (part->end - part->fresh < size)
		return NULL;
	slot = g_new0(struct slot, 1);
	slot->part = part;
	slot->offset = part->fresh;
	/*
	 * An agent may have seen the value that an earlier session left here, so this one is
	 * larger.
	 */
	slot->sequence = (rs_load((uint32_t *)(publisher->map.filters + slot->offset)) + 3) & ~1u;
	slot->class = class;
	part->fresh += size;
	g_ptr_array_add(publisher->slots, slot);
	return slot;
}

/* A freed slot of this class or a larger one. `rested`: it must have been freed long enough ago. */
static struct slot *take_freed(struct part *part, unsigned int class, bool rested)
{
	gint64 now = g_get_monotonic_time();

	for (unsigned int i = class; i < SLOT_CLASSES; i++) {
		struct slot *slot = g_queue_peek_head(&part->free[i]);

		if (slot && (!rested || now - slot->freed_at >= RS_PUBLISH_QUARANTINE_US))
			return g_queue_pop_head(&part->free[i]);
	}
	return NULL;
}

static struct slot *take_unused(struct rs_publisher *publisher, struct part *part,
				unsigned int class)
{
	struct slot *slot = take_freed(part, class, true);

	return slot ? slot : take_fresh(publisher, part, class);
}

/* What is kept back is used last, since only the host can use it. */
static struct slot *take_slot(struct rs_publisher *publisher, uint32_t size, bool guest)
{
	unsigned int class = 0;
	struct slot *slot;

	while (SLOT_MIN << class < size)
		class ++;
	slot = take_unused(publisher, &publisher->common, class);
	if (!slot && !guest)
		slot = take_unused(publisher, &publisher->kept, class);
	/* There is no other slot. The sequence protocol alone makes early reuse safe. */
	if (!slot)
		slot = take_freed(&publisher->common, class, false);
	if (!slot && !guest)
		slot = take_freed(&publisher->kept, class, false);
	return slot;
}

static void free_slot(struct slot *slot)
{
	slot->freed_at = g_get_monotonic_time();
	g_queue_push_tail(&slot->part->free[slot->class], slot);
}

static void write_slot(struct rs_publisher *publisher, struct slot *slot,
		       const struct rs_filter_program *program)
{
	uint8_t *to = publisher->map.filters + slot->offset;
	const uint8_t *from = (const uint8_t *)program;
	uint32_t *sequence = (uint32_t *)to;
	uint32_t first;

	rs_store(sequence, slot->sequence + 1);
	/* The sequence is odd before any byte changes. Pairs with the agent's rs_rmb(). */
	rs_wmb();
	memcpy(&first, from + 4, 4);
	rs_store((uint32_t *)(to + 4), first);
	for (uint32_t at = 8; at < program->size; at += 8) {
		uint64_t word;

		memcpy(&word, from + at, 8);
		rs_store((uint64_t *)(to + at), word);
	}
	slot->sequence += 2;
	/* Pairs with the agent's acquire of `sequence` before it runs the program. */
	rs_store_release(sequence, slot->sequence);
}

static void store_word(struct rs_publisher *publisher, uint32_t id, uint32_t word)
{
	publisher->words[id] = word;
	/* Pairs with the agent's acquire load of its control word. */
	rs_store_release(&publisher->map.event_ctl[id], word);
}

static void store_native(struct rs_publisher *publisher, uint32_t id, uint32_t word)
{
	if (!publisher->natives || publisher->natives[id] == word)
		return;
	publisher->natives[id] = word;
	/* Release: what the word names is in the guest's text. */
	rs_store_release(&publisher->map.native[id], word);
}

static int check_id(const struct rs_publisher *publisher, uint32_t id, struct rs_error *err)
{
	if (id >= RS_FIRST_EVENT_ID && id < publisher->map.event_capacity)
		return 0;
	return rs_error_set(err, EINVAL, "event id %u has no control word", id);
}

static int set_filter(struct rs_publisher *publisher, uint32_t id,
		      const struct rs_filter_program *program, bool guest, struct rs_error *err)
{
	struct slot *slot = NULL, *old;
	uint32_t word;
	int ret = check_id(publisher, id, err);

	if (ret)
		return ret;
	if (program) {
		if (program->size < sizeof(*program) || program->size > RS_FILTER_MAX_SIZE ||
		    program->size % 8 || program->event != id)
			return rs_error_set(err, EINVAL, "a filter program that is not whole");
		slot = take_slot(publisher, program->size, guest);
		if (!slot)
			return rs_error_set(err, ENOSPC, "no space is left for filters%s",
					    guest ? " of the guest" : "");
		write_slot(publisher, slot, program);
	}
	/*
	 * Before the control word, whose release orders the two: whoever sees the new word, by an
	 * acquire, does not see the code of the old filter.
	 */
	store_native(publisher, id, 0);
	word = publisher->words[id] & (RS_EVENT_ENABLED | RS_EVENT_STACK_MASK);
	if (slot)
		word |= slot->offset / RS_FILTER_GRAIN << RS_EVENT_FILTER_SHIFT;
	store_word(publisher, id, word);
	old = publisher->filter_of[id];
	publisher->filter_of[id] = slot;
	if (old)
		free_slot(old);
	return 0;
}

int rs_publisher_set_filter(struct rs_publisher *publisher, uint32_t id,
			    const struct rs_filter_program *program, struct rs_error *err)
{
	return set_filter(publisher, id, program, false, err);
}

int rs_publisher_set_guest_filter(struct rs_publisher *publisher, uint32_t id,
				  const struct rs_filter_program *program, struct rs_error *err)
{
	return set_filter(publisher, id, program, true, err);
}

void rs_publisher_set_native(struct rs_publisher *publisher, uint32_t id, uint32_t word)
{
	if (!check_id(publisher, id, NULL) && publisher->filter_of[id])
		store_native(publisher, id, word);
}

uint32_t rs_publisher_native(const struct rs_publisher *publisher, uint32_t id)
{
	return publisher->natives && id < publisher->map.event_capacity ? publisher->natives[id]
									: 0;
}

int rs_publisher_set_enabled(struct rs_publisher *publisher, uint32_t id, bool enabled,
			     struct rs_error *err)
{
	int ret = check_id(publisher, id, err);

	if (ret)
		return ret;
	store_word(publisher, id,
		   (publisher->words[id] & ~RS_EVENT_ENABLED) | (enabled ? RS_EVENT_ENABLED : 0));
	return 0;
}

int rs_publisher_set_stack(struct rs_publisher *publisher, uint32_t id, uint32_t depth,
			   struct rs_error *err)
{
	uint32_t word;
	int ret = check_id(publisher, id, err);

	if (ret)
		return ret;
	word = (publisher->words[id] & ~RS_EVENT_STACK_MASK) | MIN(depth, RS_STACK_MAX)
								       << RS_EVENT_STACK_SHIFT;
	if (word != publisher->words[id])
		store_word(publisher, id, word);
	return 0;
}

void rs_publisher_set_flags(struct rs_publisher *publisher, uint32_t set, uint32_t clear)
{
	publisher->flags = (publisher->flags & ~clear) | set;
	rs_store_release(&publisher->map.control->flags, publisher->flags);
}

uint32_t rs_publisher_commit(struct rs_publisher *publisher)
{
	publisher->generation++;
	/* Pairs with the acquire load of a guest that patches itself. */
	rs_store_release(&publisher->map.control->generation, publisher->generation);
	return publisher->generation;
}

uint32_t rs_publisher_generation(const struct rs_publisher *publisher)
{
	return publisher->generation;
}

void rs_publisher_nudge(struct rs_publisher *publisher)
{
	uint32_t *word = &publisher->map.control->nudge;

	publisher->nudges++;
	/*
	 * Pairs with the acquire of an agent that is about to sleep. It sees the new value, or is
	 * woken up.
	 */
	rs_store_release(word, publisher->nudges);
	/* A process that maps this very page may sleep on the word. */
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t *rs_publisher_switching(struct rs_publisher *publisher)
{
	return &publisher->map.control->switching;
}

void rs_publisher_reset(struct rs_publisher *publisher)
{
	for (uint32_t id = RS_FIRST_EVENT_ID; id < publisher->map.event_capacity; id++) {
		store_native(publisher, id, 0);
		if (publisher->words[id])
			store_word(publisher, id, 0);
		if (publisher->filter_of[id])
			free_slot(publisher->filter_of[id]);
		publisher->filter_of[id] = NULL;
	}
}

void rs_publisher_begin_epoch(struct rs_publisher *publisher, const struct rs_epoch_start *start)
{
	struct rs_clock_epoch epoch = {
		.index = publisher->epochs,
		.chain = publisher->epochs,
		.tsc_base = start->ticks,
		.ns_base = start->ns,
		.wall_ns = start->wall_ns,
		.error_ns = start->error_ns,
	};
	struct rs_clock_epoch *shared;

	if (!start->hz || !publisher->map.epoch_capacity)
		return;
	if (start->continues && publisher->epochs && start->ticks >= publisher->base)
		epoch.chain = MIN(publisher->chain, epoch.index);
	publisher->hz = start->hz;
	publisher->chain = epoch.chain;
	publisher->base = epoch.tsc_base;
	rs_trace_clock_rate(start->hz, &epoch);
	rs_trace_clock_take(publisher->clock, &epoch, 1, epoch.index + 1);
	shared = &publisher->map.epochs[epoch.index % publisher->map.epoch_capacity];
	rs_store(&shared->index,
		 UINT32_MAX); /* a reader that copies the old epoch now finds a wrong number */
	rs_wmb();             /* pairs with the acquire of epoch_count and the check of the index */
	rs_store(&shared->chain, epoch.chain);
	rs_store(&shared->tsc_base, epoch.tsc_base);
	rs_store(&shared->ns_base, epoch.ns_base);
	rs_store(&shared->wall_ns, epoch.wall_ns);
	rs_store(&shared->mult, epoch.mult);
	rs_store(&shared->shift, epoch.shift);
	rs_store(&shared->error_ns, epoch.error_ns);
	rs_store_release(&shared->index, epoch.index);
	publisher->epochs++;
	/*
	 * Release: whoever sees the count sees the epochs below it. Pairs with a reader's acquire.
	 */
	rs_store_release(&publisher->map.control->epoch_count, publisher->epochs);
	rs_store_release(&publisher->map.control->clock_chain, epoch.chain);
}

uint32_t rs_publisher_epochs(const struct rs_publisher *publisher)
{
	return publisher->epochs;
}

uint64_t rs_publisher_clock_hz(const struct rs_publisher *publisher)
{
	return publisher->hz;
}

uint64_t rs_publisher_ns(const struct rs_publisher *publisher, uint64_t ticks)
{
	return publisher->hz ? rs_trace_clock_ns(publisher->clock, publisher->chain, ticks, NULL)
			     : 0;
}
