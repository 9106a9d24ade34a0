/* SPDX-License-Identifier: MIT */
/*
 * A target that is a piece of memory, for tests: a guest-physical space of some bytes, with or
 * without page tables, that can be told to fail and that keeps account of what was done to it. One
 * thread.
 */
#ifndef RS_TESTS_FAKE_TARGET_H
#define RS_TESTS_FAKE_TARGET_H

#include "target/target.h"

struct fake_target {
	struct rs_target base;    /* first */
	struct rs_target_ops ops; /* base.ops points here: a test may take members away */
	uint8_t *ram;
	size_t size;
	uint64_t next_table; /* where fake_target_map puts the next page table */
	bool paused;
	unsigned int reads, writes, pauses, resumes;
	/* Writes while running, of a byte that is not `writable`, or over a byte that is not the
	 * patch's old one (not counted while writes fail: what they left is to be taken back). */
	unsigned int bad_writes;
	const uint8_t
		*writable; /* for each byte of ram, 0: must not be written; NULL: all may be */
	/* What is to go wrong: -errno to return, 0 nothing. */
	int fail_pause, fail_resume;
	int fail_write;
	unsigned int fail_write_after; /* writes that still succeed */
	unsigned int fail_write_count; /* and how many of those after them fail; 0: all */
	unsigned int fail_writes_done;
	uint8_t fail_write_bytes; /* bytes that a failing write leaves */
	/* Called in pause, before it returns: what a guest did at the last moment. */
	void (*on_pause)(struct fake_target *fake);
	void *data;
};

/* Physical (identity) memory. `ram` stays the caller's. */
void fake_target_init(struct fake_target *fake, uint8_t *ram, size_t size);
/* Takes read_phys away: as a hosted target, GVA = offset in ram + `base`. */
void fake_target_virtual(struct fake_target *fake, uint64_t base);

/*
 * Builds x86-64 page tables at next_table; returns nothing: the root is `root`, a page the test
 * chose.
 */
void fake_target_map(struct fake_target *fake, uint64_t root, uint64_t gva, uint64_t gpa,
		     unsigned int level);

#endif
