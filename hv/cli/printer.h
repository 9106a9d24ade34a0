/* SPDX-License-Identifier: MIT */
/*
 * Prints a region's trace as it comes, as text or JSON. `run` and `attach` use it on their own
 * region, `trace` on the read-only one that a session hands over.
 *
 * A pump (rs-trace-pump.h) reads and decodes on a thread of its own, where lines are also made and
 * written. All functions here are called on the owner's thread; `done` is called there too.
 */
#ifndef RS_HV_CLI_PRINTER_H
#define RS_HV_CLI_PRINTER_H

#include "base/error.h"
#include <rs-trace-ring.h>
#include <stdbool.h>

struct rs_printer;

struct rs_printer_config {
	const RsTraceRegion *region; /* outlives it */
	RsTraceFrom from;
	bool owner; /* it is our region: arm the doorbell, consume in drop mode */
	bool json;
	bool header;      /* text: the header lines first */
	bool short_names; /* text: events without their system */
	uint64_t count;   /* stop after so many records; 0: never */
	int fd;           /* where to, borrowed; -1: nowhere, what comes is consumed */
	void *data;
	/* It has come to an end by itself: count reached, or the reader of our output has gone. */
	void (*done)(void *data);
};

struct rs_printer_stats {
	uint64_t events; /* printed */
	uint64_t lost;
	uint64_t bad_records;
	bool closed; /* the other end of our output went away */
	int error;   /* errno of another failed write; 0 */
};

/* Starts at once. -EINVAL: the region is not the owner's to consume. */
int rs_printer_create(const struct rs_printer_config *config, struct rs_printer **out,
		      struct rs_error *err);
/* The doorbell rang. */
void rs_printer_wake(struct rs_printer *printer);
/* Reads and prints what is still there, then ends the thread. Idempotent. NULL is accepted. */
void rs_printer_finish(struct rs_printer *printer, struct rs_printer_stats *stats);
/* Finishes if need be. NULL is accepted. */
void rs_printer_destroy(struct rs_printer *printer);

#endif
