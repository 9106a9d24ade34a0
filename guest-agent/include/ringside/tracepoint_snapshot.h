/* SPDX-License-Identifier: MIT */
/*
 * Records as an OS reads them inside of the guest, with a host or without one: a snapshot of the
 * rings, each record's task as the agent's table of names has it, and text.
 *
 *	static uint8_t memory[65536] __attribute__((aligned(8)));
 *	struct rs_snapshot snapshot;
 *	struct rs_tracepoint_record record;
 *
 *	rs_snapshot_take(&snapshot, memory, sizeof(memory));
 *	while (rs_snapshot_next(&snapshot, &record))
 *		print(rs_tracepoint_line(&record, line, sizeof(line)));
 *
 * The lines are those of `ringside trace` for the same records, but for two things. Times count
 * from the moment when the agent attached. And characters that Unicode has not assigned are shown,
 * where the host shows \xNN.
 *
 * Trust: records may be hostile. What can write to the region, or hand records to the parser, need
 * not be this agent. So all that is read is copied or bounded first. Events are described by the
 * image itself, which is trusted.
 *
 * Threads: any context, and nobody waits. A snapshot and its memory belong to the caller.
 */
#ifndef RINGSIDE_TRACEPOINT_SNAPSHOT_H
#define RINGSIDE_TRACEPOINT_SNAPSHOT_H

#include <ringside/agent.h>
#include <ringside/cmdline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- records ---- */

struct rs_tracepoint_record {
	uint64_t ts;    /* event clock */
	uint64_t ns;    /* since the agent attached; in ticks if nobody told it their rate */
	uint32_t chain; /* clock chain of `ts` */
	uint32_t cpu;
	uint32_t pid;
	uint32_t tgid;    /* 0: not known */
	uint32_t context; /* RS_CTX_* */
	uint32_t id;      /* of the event */
	const void *payload;
	uint32_t size; /* of it, bytes */
	bool cut;      /* its end is missing */
};

/* ---- snapshots ---- */

struct rs_snapshot {
	uint64_t entries;  /* records in the snapshot */
	uint64_t written;  /* records ever written to the rings, of earlier boots too */
	uint64_t refused;  /* records that the rings refused, likewise */
	uint32_t left_out; /* pages that are missing, since somebody was writing to them */
	/* the agent's: */
	uint32_t rings;
	uint32_t pages; /* of each ring */
	uint32_t page_size;
	void *memory;
};

/* Bytes of memory for the newest `pages` pages of each ring; 0: no region is attached. */
uint64_t rs_snapshot_size(uint32_t pages);

/*
 * Copies as many of the newest pages of each ring as fit into `memory`, which is aligned to 8
 * bytes. Each page is as it was at one moment, but the pages of two rings need not be of the same
 * one. A page to which somebody is just writing is tried a few times, and then left out: the writer
 * may be what this has interrupted. Pages of earlier boots are not taken. 0; -RS_ENOTCONN: no
 * region; -RS_ENOSPC: not one page of each ring fits; -RS_EINVAL: the memory is not aligned.
 */
int rs_snapshot_take(struct rs_snapshot *snapshot, void *memory, uint64_t size);

/*
 * The next record, in the order of time. False: there is no further one. Its payload lies in the
 * snapshot's memory. Ask for its text soon: an event's id means another one some time after its
 * provider has gone.
 */
bool rs_snapshot_next(struct rs_snapshot *snapshot, struct rs_tracepoint_record *record);

/* ---- names ---- */

/*
 * What task `pid` was called at a time of this boot, as the table of names knows it (cmdline.h: it
 * holds a bounded number of names, and the newest of them). "<...>": not known; "<idle>": pid 0,
 * not known.
 */
void rs_tracepoint_comm(uint32_t pid, uint32_t chain, uint64_t ts, char comm[RS_COMM_LEN + 1]);

/* ---- text ---- */

/*
 * A record as event callbacks and ops.trace_pipe_push_raw_record get it: struct rs_rec_header, then
 * the payload. Where and when it was is not in it: 0, but for the low half of `ts`. False: these
 * bytes are no record.
 */
bool rs_tracepoint_parse(struct rs_tracepoint_record *record, const void *bytes, uint32_t size);

/*
 * The event's own text, by its print format; a whole line with a newline, as ftrace prints it; the
 * header above the lines. `out` gets as much as fits into `size` bytes together with a NUL, and may
 * be NULL if `size` is 0. Each returns the length of the whole text, at most 70,000 bytes.
 */
uint32_t rs_tracepoint_text(const struct rs_tracepoint_record *record, char *out, uint32_t size);
uint32_t rs_tracepoint_line(const struct rs_tracepoint_record *record, char *out, uint32_t size);
uint32_t rs_tracepoint_header(const struct rs_snapshot *snapshot, char *out, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
