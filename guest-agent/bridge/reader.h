/* SPDX-License-Identifier: MIT */
/*
 * Moves pages of ftrace's rings into ours. It takes out what the host's filters reject, counts
 * events, and says what was lost. One thread. Trust: the kernel's pages; the region's filters are
 * run as those of any event.
 */
#ifndef RS_BRIDGE_READER_H
#define RS_BRIDGE_READER_H

#include "catalog.h"
#include "names.h"

struct bridge_cpu {
	int pages;      /* trace_pipe_raw; -1: the CPU has gone */
	int stats;      /* -1 */
	uint64_t first; /* events so far, lost ones included */
	uint64_t lost;  /* of them */
};

struct bridge_reader {
	struct bridge_catalog *catalog;
	struct bridge_names names;
	struct bridge_cpu *cpus;
	uint32_t cpu_count;
	uint32_t part; /* bytes of a page in one record */
	uint8_t *page, *filtered;
	struct rs_agent_provider provider;
	struct rs_event *events; /* page, swept */
	uint64_t before;         /* event clock: when the last sweep began */
	uint32_t unsaid;         /* sweeps until all that was moved is said to have come */
};

/* Opens the rings of all CPUs. After bridge_tracefs_open(). False: they cannot be read. */
bool bridge_reader_open(struct bridge_reader *reader, struct bridge_catalog *catalog,
			const struct bridge_tracefs *fs);
/* Registers the bridge's own events. After rs_agent_init(). 0 or -RS_E*. */
int bridge_reader_register(struct bridge_reader *reader);
/*
 * Reads all rings to their ends. `now` is the event clock. Returns the bytes of pages that it has
 * read.
 */
uint64_t bridge_reader_drain(struct bridge_reader *reader, uint64_t now);
/*
 * Likewise, and says that all events up to the sweep before have come. Until `unsaid` is 0 again,
 * these are not all that were moved.
 */
uint64_t bridge_reader_sweep(struct bridge_reader *reader, uint64_t now);
/* Says what was lost and is not said yet. */
void bridge_reader_settle(struct bridge_reader *reader);
void bridge_reader_close(struct bridge_reader *reader);

/* The vCPU whose page is being moved: rs_trace_ops.cpu_id. */
uint32_t bridge_reader_cpu(void);

#endif
