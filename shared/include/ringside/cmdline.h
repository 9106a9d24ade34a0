/* SPDX-License-Identifier: MIT */
/*
 * A table of tasks: pid → name and thread group. The agent keeps it, so that a trace line can name
 * its task.
 *
 * A pid hashes to a bucket. A bucket holds the last few tasks, each with the event-clock time from
 * which it is valid. So a reused pid has two entries, and a reader picks the newest entry that is
 * not younger than the event. A new entry replaces the oldest one.
 *
 * If a task changes its name faster than a reader looks, names are lost. The numbers of a pid's
 * names then have a gap, and a reader knows no name for the time before it. A count that begins
 * anew is no gap: the pid's entries were all replaced meanwhile.
 *
 * Each entry is a sequence lock: `sequence` is odd while it is being written. A writer claims it by
 * compare-and-swap, and takes the next entry if another vCPU holds this one. A reader that sees an
 * odd or changed sequence tries again a few times. Then it shows no name. After each write
 * rs_guest_info.cmdline_changes grows, so whoever follows looks at one word.
 */
#ifndef RINGSIDE_CMDLINE_H
#define RINGSIDE_CMDLINE_H

#include <ringside/grow.h>

struct rs_cmdline_entry { /* G */
	uint32_t sequence;
	uint32_t pid;
	uint64_t since; /* event clock */
	uint32_t tgid;  /* thread group, the process of the task; 0: not known */
	uint32_t boot;  /* rs_guest_info.boot and the clock chain that `since` belongs to */
	uint32_t chain;
	uint32_t number; /* names of this pid so far, this one included; 0: not known */
	char comm[RS_COMM_LEN];
};
RS_ASSERT_SIZE(struct rs_cmdline_entry, 64);
#define RS_CMDLINE_ENTRY_MIN_SIZE 64u
RS_ASSERT_GROWS(struct rs_cmdline_entry, RS_CMDLINE_ENTRY_MIN_SIZE);

#define RS_CMDLINE_WAYS 8u
struct rs_cmdline_bucket { /* G */
	struct rs_cmdline_entry way[RS_CMDLINE_WAYS];
};
RS_ASSERT_SIZE(struct rs_cmdline_bucket, 512);
#define RS_CMDLINE_BUCKET_MIN_SIZE (RS_CMDLINE_WAYS * RS_CMDLINE_ENTRY_MIN_SIZE)
RS_ASSERT_GROWS(struct rs_cmdline_bucket, RS_CMDLINE_BUCKET_MIN_SIZE);

/* A bucket grows with its entries, so its stride is a multiple of this. */
#define RS_CMDLINE_STRIDE_ALIGN (RS_CMDLINE_WAYS * RS_STRIDE_ALIGN)

static inline uint32_t rs_cmdline_hash(uint32_t pid, uint32_t buckets)
{
	return (uint32_t)((pid * 0x9e3779b1u) >> 8) & (buckets - 1);
}

#endif
