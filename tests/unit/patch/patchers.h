/* SPDX-License-Identifier: MIT */
/* Patchers of a guest's text, and what their tests do with them again and again. */
#ifndef RS_TESTS_PATCH_PATCHERS_H
#define RS_TESTS_PATCH_PATCHERS_H

#include "guest.h"
#include "patch/patcher.h"
#include <glib.h>

/* Where a test's patcher has its journal. The folder is empty again after each test. */
extern char *patcher_journal;

void patchers_init(int *argc, char ***argv);
int patchers_run(void); /* what main() returns */

/* Patches from the host, and knows the guest's list of sites. */
struct rs_patcher *patcher_of(struct guest *guest, const char *journal);
void patcher_commit(struct rs_patcher *patcher, uint32_t expected_refused);
/* Sites of FIRST + 1: known, on; sites that are on of the providers 1 and 2. */
void patcher_check_counts(const struct rs_patcher *patcher, uint32_t known, uint32_t on,
			  uint32_t on_first, uint32_t on_second);
/* Two providers of two sites each, all of them on. Site i has event FIRST + i. */
struct rs_patcher *patcher_of_two(struct guest *guest);
/* The session is killed, and another one finds its journal. */
void patcher_kill(struct guest *guest, struct rs_patcher *patcher,
		  struct rs_journal_report *report);
/* The sites of guest->list from the n-th on, as those of another provider. */
struct rs_site_list guest_split(struct guest *guest, uint32_t n);

#endif
