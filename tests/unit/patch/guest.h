/* SPDX-License-Identifier: MIT */
/*
 * A guest's memory with a provider in it, for the patcher's tests: n sites of 64 bytes each, in
 * text mapped at TEXT; the site list and the event objects mapped at DATA.
 */
#ifndef RS_TESTS_PATCH_GUEST_H
#define RS_TESTS_PATCH_GUEST_H

#include "fake_target.h"
#include "patch/sites.h"
#include <ringside/descriptor.h>
#include <ringside/record.h>

#define TEXT 0xffffffff81000000ull
#define DATA 0xffffffff82000000ull
#define ROOT 0x1000u
#define TEXT_GPA 0x100000u
#define ELSEWHERE 0x300000u /* where a guest may move its first page of text */
#define DATA_GPA 0x200000u
#define RAM 0x400000u
#define FIRST RS_FIRST_EVENT_ID
#define EVENTS (DATA + 0x80000) /* uint32_t ids, 16 bytes apart */

struct guest {
	struct fake_target fake;
	uint8_t *ram;
	uint8_t *writable; /* the sites' bytes: a write of any other fails, see fake_target.h */
	struct rs_site_list list;
	uint32_t sites;
};

/* Site i belongs to event FIRST + i % events. */
void guest_init(struct guest *guest, uint32_t sites, uint32_t events);
void guest_deinit(struct guest *guest);
uint8_t *guest_text(struct guest *guest, uint32_t site); /* its five bytes */
uint64_t guest_site(uint32_t site);
uint64_t guest_jump(uint32_t site);
struct rs_site *guest_entry(struct guest *guest, uint32_t site);
bool guest_is_nop(struct guest *guest, uint32_t site);
bool guest_is_jmp(struct guest *guest, uint32_t site);
uint32_t guest_count_on(struct guest *guest);

/* The guest moves its first page of text from one place to another. */
void guest_move_text(struct guest *guest, uint64_t from, uint64_t to);

#endif
