/* SPDX-License-Identifier: MIT */
/*
 * Prints the trace of one or more sources as it comes, as text or JSON, in the order of time. `run`
 * and `attach` use it on their own regions, `trace` on the read-only ones that a session hands
 * over.
 *
 * A pump (rs-trace-pump.h) reads and decodes on a thread of its own, where lines are also made and
 * written. All functions here are called on the owner's thread; callbacks are called there too.
 */
#ifndef RS_HV_CLI_PRINTER_H
#define RS_HV_CLI_PRINTER_H

#include "base/error.h"
#include <rs-trace-ring.h>
#include <stdbool.h>

struct rs_printer;

/* What the header lines say. */
struct rs_printer_head {
	uint64_t entries, written;
	uint32_t cpus;
};

struct rs_printer_config {
	bool owner; /* regions are ours: arm the doorbell, consume in drop mode */
	bool json;
	bool short_names;  /* text: events without their system */
	bool source_names; /* text: each line's source, also if it is the only one */
	const struct rs_printer_head *head; /* text: header lines first; NULL: none */
	uint64_t count;                     /* stop after so many records; 0: never */
	int fd; /* where to, borrowed; -1: nowhere, what comes is consumed */
	void *data;
	/* A source that was to end is read; its region may go. May be NULL. */
	void (*ended)(void *data, void *source);
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

/* Adds what the rings of a region hold. */
void rs_printer_count(struct rs_printer_head *head, const RsTraceRegion *region);

/* It prints the header, and no more before it is started. */
struct rs_printer *rs_printer_create(const struct rs_printer_config *config);
/* Once. What was added before is printed in the order of time; see rs-trace-pump.h. */
void rs_printer_start(struct rs_printer *printer);
/*
 * Prints this one's records too. JSON names each line's source; text does once there has been more
 * than one. `region` outlives it, until `ended` or destroy. `source` is for `ended`. Returns its
 * number, or -EINVAL: the region is not ours to consume.
 */
int rs_printer_add(struct rs_printer *printer, const char *name, const RsTraceRegion *region,
		   RsTraceFrom from, void *source, struct rs_error *err);
/* Nothing is written any more to the source of that number: `ended` follows when it is read. */
void rs_printer_end(struct rs_printer *printer, int number);
/* The doorbell rang. */
void rs_printer_wake(struct rs_printer *printer);
/* Reads and prints what is still there, then ends the thread. Idempotent. NULL is accepted. */
void rs_printer_finish(struct rs_printer *printer, struct rs_printer_stats *stats);
/* Finishes if need be. NULL is accepted. */
void rs_printer_destroy(struct rs_printer *printer);

#endif
