/* SPDX-License-Identifier: MIT */
/*
 * Checks that every target writes patches exactly: patches of each size at each alignment, in one
 * page and across two, change only their own bytes.
 */
#ifndef RS_TESTS_EXACT_H
#define RS_TESTS_EXACT_H

#include "target/target.h"

/*
 * The target must be paused. Uses two pages of its memory at `at` (page-aligned), and restores
 * them. `phys` and `next` are the physical addresses of these pages, in any order. {0} and {0}: the
 * target has no physical addresses.
 */
void exact_check(struct rs_target *target, rs_gva_t at, rs_gpa_t phys, rs_gpa_t next);

#endif
