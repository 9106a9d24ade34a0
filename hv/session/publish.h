/* SPDX-License-Identifier: MIT */
/*
 * Writes what the host tells the guest, in the right order: control words, filter programs and the
 * generation. shared/include/ringside/control.h and filter.h describe the protocol.
 *
 * Caller: the session, on its thread. The guest may be able to write these pages too (ivshmem). So
 * nothing is read back: every decision uses the private copies here.
 *
 * Filter space is divided into slots of a few sizes that never merge. So a slot's `sequence` has
 * the same address as long as the region lives. A guest may still run a program in a slot that is
 * being reused. It sees that word change, so it never takes another program's bytes for its own. A
 * freed slot is not used for a while, and the slot that was freed first is reused first.
 */
#ifndef RS_HV_SESSION_PUBLISH_H
#define RS_HV_SESSION_PUBLISH_H

#include "base/error.h"
#include <ringside/control.h>
#include <ringside/filter.h>
#include <stddef.h>

struct rs_publisher;

/* Where the sections lie in this process's mapping; all of it outlives the publisher. */
struct rs_publisher_map {
	struct rs_control *control;
	uint32_t *event_ctl;
	uint32_t event_capacity;
	uint8_t *filters;
	size_t filters_size;
	struct rs_clock_epoch *epochs;
	uint32_t epoch_capacity;
	uint32_t flags; /* RS_CONTROL_*, from the start */
};

/* A freed slot is left alone this long unless nothing else is left. */
#define RS_PUBLISH_QUARANTINE_US 100000

/* Never fails (GLib allocates). All control words become 0. */
struct rs_publisher *rs_publisher_create(const struct rs_publisher_map *map);
void rs_publisher_destroy(struct rs_publisher *publisher);

/*
 * Gives event `id` a new filter, or none when `program` is NULL, and publishes its word. The old
 * program stays in force until the word changes. `program` has program->size bytes.
 * -EINVAL: no such id, or a program that is not whole; -ENOSPC: no slot is free.
 */
int rs_publisher_set_filter(struct rs_publisher *publisher, uint32_t id,
			    const struct rs_filter_program *program, struct rs_error *err);

/* Sets bit 0 of the control word. -EINVAL: no such id. */
int rs_publisher_set_enabled(struct rs_publisher *publisher, uint32_t id, bool enabled,
			     struct rs_error *err);

/* Sets and clears RS_CONTROL_* flags. */
void rs_publisher_set_flags(struct rs_publisher *publisher, uint32_t set, uint32_t clear);

/*
 * Ends a batch: raises and returns the generation. Everything published before is seen by whoever
 * sees it.
 */
uint32_t rs_publisher_commit(struct rs_publisher *publisher);
uint32_t rs_publisher_generation(const struct rs_publisher *publisher);

/* Raises rs_control.nudge; agents of this host that sleep until it grows wake up. */
void rs_publisher_nudge(struct rs_publisher *publisher);

/* How the guest's clock runs from now on: see struct rs_clock_epoch. */
struct rs_epoch_start {
	uint64_t hz;       /* of the event clock; 0: unknown, nothing is begun */
	uint64_t ticks;    /* event clock at the base */
	uint64_t ns;       /* host's CLOCK_MONOTONIC there, less rs_region_header.origin_ns */
	uint64_t wall_ns;  /* CLOCK_REALTIME there; 0: unknown */
	uint64_t error_ns; /* `ns` may be wrong by so much */
	uint32_t flags;    /* RS_EPOCH_* */
};
void rs_publisher_begin_epoch(struct rs_publisher *publisher, const struct rs_epoch_start *start);
/* Begun so far, by earlier sessions too. */
uint32_t rs_publisher_epochs(const struct rs_publisher *publisher);
/* 0 until it is known. */
uint64_t rs_publisher_clock_hz(const struct rs_publisher *publisher);
/* Event clock to ns of trace time, at least 0; 0 while the rate is unknown. */
uint64_t rs_publisher_ns(const struct rs_publisher *publisher, uint64_t ticks);

/* Another boot of the guest: all words 0, all filters freed. The caller commits. */
void rs_publisher_reset(struct rs_publisher *publisher);

#endif
