/* SPDX-License-Identifier: MIT */
/*
 * Writes what the host tells the guest, in the right order: control words, filter programs and the
 * generation. shared/include/ringside/control.h and filter.h describe the protocol.
 *
 * Caller: the session, on its thread. The guest may be able to write these pages too (ivshmem). So
 * nothing is read back: every decision uses the private copies here.
 *
 * Filter space is divided into slots of a few sizes that never merge. So a slot's `sequence` keeps
 * its address as long as the region lives. A guest may still run a program in a slot that is being
 * reused. It sees that word change, so it never takes another program's bytes for those of its own
 * program. A freed slot is not used for a while, and the slot that was freed first is reused first.
 * A quarter of the space is kept back: its slots never hold a program that a guest asked for, so a
 * guest cannot take all space from the host.
 */
#ifndef RS_HV_REGION_PUBLISH_H
#define RS_HV_REGION_PUBLISH_H

#include "base/error.h"
#include <ringside/control.h>
#include <ringside/filter.h>
#include <stdbool.h>
#include <stddef.h>

struct rs_publisher;

/* Where the sections lie in this process's mapping; all of it outlives the publisher. */
struct rs_publisher_map {
	struct rs_control *control;
	uint32_t *event_ctl;
	uint32_t event_capacity;
	uint8_t *filters;
	size_t filters_size;
	uint32_t *native; /* as many words as event_ctl; NULL: the region has none */
	struct rs_clock_epoch *epochs;
	uint32_t epoch_capacity;
	uint32_t flags; /* RS_CONTROL_*, from the start */
};

/* A freed slot is not used again for this many us, unless there is no other slot. */
#define RS_PUBLISH_QUARANTINE_US 100000

/* Never fails. All control words become 0. */
struct rs_publisher *rs_publisher_create(const struct rs_publisher_map *map);
void rs_publisher_destroy(struct rs_publisher *publisher);

/*
 * Gives event `id` a new filter, or none if `program` is NULL, and publishes its control word. The
 * old program stays in force until the word changes. `program` has program->size bytes. -EINVAL:
 * there is no such id, or the program is invalid. -ENOSPC: no slot is free.
 */
int rs_publisher_set_filter(struct rs_publisher *publisher, uint32_t id,
			    const struct rs_filter_program *program, struct rs_error *err);
/* The same for a program that only a guest asks for: takes no space that is kept back. */
int rs_publisher_set_guest_filter(struct rs_publisher *publisher, uint32_t id,
				  const struct rs_filter_program *program, struct rs_error *err);

/*
 * The native word (ringside/native.h) of an event that has a filter: what it names means the same
 * as that filter. A new filter, or none, makes it 0 again before it comes into force.
 */
void rs_publisher_set_native(struct rs_publisher *publisher, uint32_t id, uint32_t word);
uint32_t rs_publisher_native(const struct rs_publisher *publisher, uint32_t id);

/* Sets or clears RS_EVENT_ENABLED in the control word. -EINVAL: there is no such id. */
int rs_publisher_set_enabled(struct rs_publisher *publisher, uint32_t id, bool enabled,
			     struct rs_error *err);

/*
 * How many frames of the call stack go with each record, 0 for none, at most RS_STACK_MAX. Whatever
 * else is set, the number stays. -EINVAL: there is no such id.
 */
int rs_publisher_set_stack(struct rs_publisher *publisher, uint32_t id, uint32_t depth,
			   struct rs_error *err);

/* Sets and clears RS_CONTROL_* flags. */
void rs_publisher_set_flags(struct rs_publisher *publisher, uint32_t set, uint32_t clear);

/*
 * Ends a batch of changes: raises and returns the generation. Whoever sees the new generation sees
 * all that was published before.
 */
uint32_t rs_publisher_commit(struct rs_publisher *publisher);
uint32_t rs_publisher_generation(const struct rs_publisher *publisher);

/* Raises rs_control.nudge. Agents on this host that sleep on this word wake up. */
void rs_publisher_nudge(struct rs_publisher *publisher);

/* The word rs_control.switching: see target/target.h. */
uint32_t *rs_publisher_switching(struct rs_publisher *publisher);

/* How the event clock runs from now on: see struct rs_clock_epoch. */
struct rs_epoch_start {
	uint64_t hz;       /* of the event clock; 0: unknown, then no epoch begins */
	uint64_t ticks;    /* event clock at the base */
	uint64_t ns;       /* host's CLOCK_MONOTONIC there, less rs_region_header.origin_ns */
	uint64_t wall_ns;  /* CLOCK_REALTIME there; 0: unknown */
	uint64_t error_ns; /* `ns` may be wrong by this much; UINT64_MAX: unknown */
	bool continues;    /* the counter has not gone back, so the chain goes on */
};
void rs_publisher_begin_epoch(struct rs_publisher *publisher, const struct rs_epoch_start *start);
/* Epochs begun so far on this region, by earlier sessions too. */
uint32_t rs_publisher_epochs(const struct rs_publisher *publisher);
/* Rate of the newest epoch; 0: none has begun. */
uint64_t rs_publisher_clock_hz(const struct rs_publisher *publisher);
/*
 * Converts the event clock to ns of trace time. 0: the rate is unknown, or that time lies before 0.
 */
uint64_t rs_publisher_ns(const struct rs_publisher *publisher, uint64_t ticks);

/*
 * For another boot of the guest: sets all control words to 0 and frees all filters. The caller
 * commits.
 */
void rs_publisher_reset(struct rs_publisher *publisher);

#endif
