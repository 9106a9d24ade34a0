/* SPDX-License-Identifier: MIT */
/*
 * Prints a region's trace as it comes: reads every ring, decodes, merges in time order, writes text
 * or JSON. Used on the region itself by `run` and `attach`, and by `trace` on the read-only copy that a
 * session hands over: it needs nothing but the region.
 *
 * Threads: it has one of its own, so that a terminal or pipe that does not keep up holds up neither the guest
 * nor the session. All functions here are called on the owner's thread; `done` is called there too.
 */
#ifndef RS_HV_CLI_LIVE_H
#define RS_HV_CLI_LIVE_H

#include "base/error.h"
#include <rs-trace-ring.h>
#include <glib.h>

struct rs_live;

struct rs_live_config {
	const RsTraceRegion *region; /* outlives it */
	RsTraceFrom from;
	bool owner; /* it is our region: arm the doorbell, consume in drop mode */
	bool json;
	bool header;      /* text: the header lines first */
	bool short_names; /* text: events without their system */
	uint64_t count;   /* stop after so many records; 0: never */
	int fd;           /* where to, borrowed */
	void *data;
	/* It has come to an end by itself: count reached, or the reader of our output has gone. */
	void (*done)(void *data);
};

struct rs_live_stats {
	uint64_t events; /* printed */
	uint64_t lost;
	uint64_t bad_records;
	bool closed; /* the other end of our output went away */
	int error;   /* errno of another failed write; 0 */
};

int rs_live_create(const struct rs_live_config *config, struct rs_live **out, struct rs_error *err);
/* The doorbell rang. */
void rs_live_wake(struct rs_live *live);
/* Reads and prints what is still in the rings, then ends its thread. Idempotent. */
void rs_live_finish(struct rs_live *live, struct rs_live_stats *stats);
/* Finishes if need be. NULL is accepted. */
void rs_live_destroy(struct rs_live *live);

#endif
